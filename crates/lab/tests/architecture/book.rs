//! The book of `docs/` (mdBook): its contents and the links between its pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The targets of all links in Markdown, without the place within a page.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(|target| target.split('#').next().unwrap_or_default())
}

fn pages() -> BTreeSet<String> {
    let entries = std::fs::read_dir(docs()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md").collect()
}

#[test]
fn every_page_is_in_the_contents_once_and_every_entry_is_a_page() {
    let contents = std::fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    let listed: Vec<String> = links(&contents).map(str::to_owned).collect();
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(once, pages());
    assert_eq!(listed.len(), once.len(), "{listed:?}");
}

/// README.md says that it lists them all.
#[test]
fn the_page_of_jobs_names_every_page() {
    let jobs = std::fs::read_to_string(docs().join("README.md")).unwrap();
    let named: BTreeSet<String> = links(&jobs).map(str::to_owned).collect();
    let missing: Vec<String> =
        pages().into_iter().filter(|page| page != "README.md" && !named.contains(page)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The text of a page without its code: neither blocks nor what stands between backticks.
fn prose(text: &str) -> String {
    let outside = text.split("```").step_by(2).collect::<String>();
    outside.split('`').step_by(2).collect()
}

/// A reader of the book cannot click on `(docs/link.md)`.
#[test]
fn a_page_that_is_named_is_linked() {
    for page in pages() {
        let text = prose(&std::fs::read_to_string(docs().join(&page)).unwrap());
        // `[docs/link.md](link.md)` is a link.
        let linked =
            |rest: &str| rest.split_once(".md").is_some_and(|(_, end)| end.starts_with("]("));
        let bare = text.split("docs/").skip(1).filter(|rest| {
            let name =
                rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.').next();
            name.is_some_and(|name| pages().contains(name.trim_end_matches('.'))) && !linked(rest)
        });
        let bare: Vec<&str> = bare.filter_map(|rest| rest.lines().next()).collect();
        assert!(bare.is_empty(), "{page} names pages without a link: {bare:#?}");
    }
}

#[test]
fn links_between_pages_lead_to_a_file() {
    let mut followed = 0;
    for page in pages() {
        let text = std::fs::read_to_string(docs().join(&page)).unwrap();
        for target in links(&text).filter(|target| target.ends_with(".md")) {
            if !target.contains("://") {
                assert!(docs().join(target).exists(), "{page} links to {target}");
                followed += 1;
            }
        }
    }
    assert!(followed > pages().len(), "{followed} links");
}
