//! Any file gives a page or an error, with and without dependencies; a page can be served and loaded.

use crate::reached;
use page::har::{self, Dependencies, HarOptions};

pub(crate) fn run(file: &[u8]) {
    for dependencies in [Dependencies::Inferred, Dependencies::Flat] {
        let options = HarOptions { dependencies, ..HarOptions::default() };
        if let Ok(recording) = har::parse(file, options) {
            let table = recording.page.table();
            for resource in recording.page.resources() {
                assert!(table.answer(&resource.url.host, &resource.url.path).is_some());
            }
            assert!(!recording.assumptions.sentences().is_empty());
            reached::note_value();
        }
    }
}
