//! What other people's QPACK encoders made of recorded header lists (github.com/qpackers/qifs, the folder `qpack-05`, whose format RFC
//! 9204 kept), read where it lies: `../shared/qifs` from the repository's root, or `WIRELAP_QIFS`. A clone that lacks it skips these tests.

#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use wire::Fields;
use wire::qpack::{Decoded, Decoder, DecoderLimits, Error};

fn folder() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a test may read where its data lies")]
    let named = std::env::var_os("WIRELAP_QIFS").map(PathBuf::from);
    let usual = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/qifs");
    let path = named.unwrap_or_else(usual);
    if path.is_dir() {
        return Some(path);
    }
    testing::skip(format_args!("{} is not there", path.display()));
    None
}

/// A block of an encoder's output: the stream, 0 for the encoder stream, and its bytes.
type Blocks = Vec<(u64, Vec<u8>)>;

fn blocks(mut file: &[u8]) -> Blocks {
    let mut blocks = Vec::new();
    while let Some((head, rest)) = file.split_at_checked(12) {
        let stream = u64::from_be_bytes(head[..8].try_into().unwrap());
        let length = u32::from_be_bytes(head[8..].try_into().unwrap()) as usize;
        let (block, rest) = rest.split_at(length);
        blocks.push((stream, block.to_vec()));
        file = rest;
    }
    assert!(file.is_empty());
    blocks
}

/// The header lists of a QIF file, in the order of their streams.
fn lists(qif: &str) -> Vec<Fields> {
    let text = qif.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let list = |lines: &str| {
        let fields = lines.lines().map(|line| line.split_once('\t').unwrap_or((line, "")));
        fields.fold(Fields::new(), |list, (name, value)| list.with(name, value))
    };
    text.split("\n\n").filter(|lines| !lines.trim().is_empty()).map(list).collect()
}

/// A decoder whose table has its capacity from the start, as the files' format has it: RFC 9204's has to be told (§4.3.1).
fn at_capacity(limits: DecoderLimits) -> Decoder {
    let mut decoder = Decoder::new(limits);
    let (mut rest, mut instruction) = (limits.max_capacity, vec![0x3f]);
    if rest < 31 {
        instruction = vec![0x20 | rest as u8];
    } else {
        rest -= 31;
        while rest >= 128 {
            instruction.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        instruction.push(rest as u8);
    }
    decoder.handle_instructions(&instruction).unwrap();
    decoder
}

/// Decodes all blocks; what waits for the table is tried again after each instruction. Gives the lists by stream.
fn decode(decoder: &mut Decoder, blocks: &Blocks) -> Result<BTreeMap<u64, Fields>, Error> {
    let (mut done, mut waiting) = (BTreeMap::new(), Blocks::new());
    for (stream, bytes) in blocks {
        match stream {
            0 => decoder.handle_instructions(bytes)?,
            stream => waiting.push((*stream, bytes.clone())),
        }
        let mut left = Blocks::new();
        for (stream, section) in waiting {
            let mut list = Fields::new();
            match decoder.decode(stream, &section, usize::MAX, |field| list.push_field(field))? {
                Decoded::Whole { .. } => drop(done.insert(stream, list)),
                Decoded::Blocked { .. } => left.push((stream, section)),
            }
        }
        waiting = left;
        assert!(waiting.len() <= decoder.limits().blocked_streams, "more streams wait than may");
        decoder.take_instructions();
    }
    Ok(done)
}

/// What the name says: NAME.out.CAPACITY.BLOCKED.ACKNOWLEDGED.
fn limits(name: &str) -> Option<(&str, DecoderLimits)> {
    let (qif, numbers) = name.split_once(".out.")?;
    let mut numbers = numbers.split('.').map(|number| number.parse().ok());
    let (max_capacity, blocked_streams) = (numbers.next()??, numbers.next()??);
    Some((qif, DecoderLimits { max_capacity, blocked_streams }))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_encoding_of_qifs_decodes_to_its_header_lists() {
    let Some(folder) = folder() else { return };
    let mut sources: HashMap<String, Vec<Fields>> = HashMap::new();
    let mut decoded = 0;
    for encoder in files(&folder.join("encoded/qpack-05")).iter().filter(|path| path.is_dir()) {
        for file in files(encoder) {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let Some((qif, limits)) = limits(&name) else { continue };
            if qif == "examples" {
                // The draft's own, whose lists are not there.
                continue;
            }
            let expected = sources.entry(qif.to_owned()).or_insert_with(|| {
                lists(&fs::read_to_string(folder.join(format!("qifs/{qif}.qif"))).unwrap())
            });
            let blocks = blocks(&fs::read(&file).unwrap());
            let found = decode(&mut at_capacity(limits), &blocks)
                .unwrap_or_else(|error| panic!("{}: {error:?}", file.display()));
            assert!(found.values().eq(expected.iter()), "{}: other lists", file.display());
            decoded += 1;
        }
    }
    println!("qifs: {decoded} encodings decode");
    assert!(decoded >= 500, "{decoded} of 528 encodings are there");
}

/// Entries 0 and 62 of the static table, which it did not have when these were written.
const VALID_NOW: [&str; 2] = ["err9", "err10"];

#[test]
fn each_broken_encoding_of_qifs_is_an_error() {
    let Some(folder) = folder() else { return };
    let files = files(&folder.join("encoded/errors"));
    assert_eq!(files.len(), 12);
    for file in files {
        let blocks = blocks(&fs::read(&file).unwrap());
        let limits = DecoderLimits { max_capacity: 4096, blocked_streams: 100 };
        let found = decode(&mut at_capacity(limits), &blocks);
        let is_valid_now = VALID_NOW.iter().any(|name| file.ends_with(name));
        assert_eq!(found.is_ok(), is_valid_now, "{}: {found:?}", file.display());
    }
}
