//! Our downloader under a hostile server. It asserts what users rely on: a file counts as complete only when each of its
//! bytes was written since it last began, or was kept.

use crate::driver::{self, Bound};
use crate::http_client;
use client::{
    Beginning, Client, ClientConfig, Download, DownloadSettings, FileId, Joins, Kept, Modified,
    Strength,
};
use client::{Refusal, Sink, Version, Wanted};
use proto::Fields;
use std::collections::BTreeMap;
use unit::Ranges;

/// The first byte chooses the client's settings, the second those of the download; the rest is a script.
pub(crate) fn run(input: &[u8]) {
    if let [settings, own, script @ ..] = input {
        let config = http_client::config(*settings);
        driver::run(|| download(config, *own), BOUND, script);
    }
}

/// Two files, the first of which may be kept in part.
pub fn download(config: ClientConfig, settings: u8) -> Client<Download<Written>> {
    let settings_of = DownloadSettings {
        connections: 1 + usize::from(settings & 3),
        piece: 1024,
        ..DownloadSettings::default()
    };
    let has = |bit: u8| settings & bit != 0;
    let kept = has(4).then(|| {
        let tag = has(8).then(|| "\"a\"".to_owned());
        let date = "Sun, 06 Nov 1994 08:49:37 GMT".to_owned();
        let modified = has(16).then_some(Modified { date, strength: Strength::Weak });
        Kept { ranges: once(0..100), version: Version { length: Some(3000), tag, modified } }
    });
    let joins = if has(32) { Joins::DigestChecked } else { Joins::Validated };
    let wanted = ["http://a.test/a", "http://a.test/b"].map(http_client::url);
    let mut wanted: Vec<_> = wanted
        .map(|url| Wanted { url, fields: Fields::new(), kept: None, joins, slice: None })
        .into();
    wanted[0].kept = kept;
    Client::new(config, Download::new(settings_of, wanted, Written::default()))
}

/// Which bytes of which file were written.
#[derive(Debug, Default)]
pub struct Written {
    files: BTreeMap<FileId, Ranges>,
    buffer: Vec<u8>,
}

impl Sink for Written {
    fn begin(&mut self, file: FileId, beginning: Beginning<'_>) -> Result<(), Refusal> {
        self.files.insert(file, beginning.kept.clone());
        Ok(())
    }

    fn write(&mut self, file: FileId, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.filled(file, at, bytes.len())
    }

    fn receive_buffer(&mut self, _file: FileId, _at: u64, at_most: u64) -> Option<&mut [u8]> {
        let length = usize::try_from(at_most).map_or(4096, |at_most| at_most.min(4096));
        self.buffer.resize(length, 0);
        (length > 0).then_some(&mut self.buffer[..])
    }

    fn filled(&mut self, file: FileId, at: u64, bytes: usize) -> Result<(), Refusal> {
        let written = self.files.get_mut(&file).expect("a file begins before it is written");
        let end = at.checked_add(bytes as u64).expect("an offset within 64 bits");
        if bytes > 0 {
            written.insert(at..end);
        }
        Ok(())
    }

    fn complete(&mut self, file: FileId, length: u64) -> Result<(), Refusal> {
        let written = self.files.remove(&file).expect("a file begins before it is complete");
        assert!(length == 0 || written.covers(0..length), "{written:?} is not all of {length}");
        Ok(())
    }

    fn give_up(&mut self, file: FileId) {
        self.files.remove(&file);
    }
}

fn once(range: std::ops::Range<u64>) -> Ranges {
    let mut ranges = Ranges::default();
    ranges.insert(range);
    ranges
}

/// Nothing of a body is kept: as for a client with a few requests. Each range that is written apart from the others
/// takes an entry.
const BOUND: Bound = Bound { fixed: 2 * 1024 * 1024, connection: 512 * 1024, input: 64 };
