//! Blocks that are compressed by fields, inflated by the zlib that is beneath Python.

#![allow(clippy::unwrap_used, reason = "a test that cannot say what it tests has failed")]

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::process::{Command, Stdio};
use wire::spdy::{DICTIONARY, Effort, Encoder};

/// Reads a dictionary and blocks as hexadecimal lines, and says what they inflate to.
const INFLATE: &str = "
import sys, zlib
dictionary, *blocks = (bytes.fromhex(line) for line in sys.stdin)
inflate = zlib.decompressobj(zdict=dictionary)
for block in blocks:
    print(inflate.decompress(block).hex())
";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// A list as it stands in a block before compression.
fn plain(fields: &[(String, String)]) -> Vec<u8> {
    let mut plain = (fields.len() as u32).to_be_bytes().to_vec();
    for text in fields.iter().flat_map(|(name, value)| [name, value]) {
        plain.extend((text.len() as u32).to_be_bytes());
        plain.extend(text.as_bytes());
    }
    plain
}

/// Requests of a page's kind: most of each stood in the one before, some of it long ago, some never.
fn lists() -> Vec<Vec<(String, String)>> {
    let accepts = ["text/html,*/*;q=0.8", "image/webp,*/*", "*/*", "text/css"];
    let list = |turn: usize| {
        let mut fields = vec![
            (":host", format!("www{}.example.test", turn % 3)),
            (":path", format!("/assets/{:x}/{turn}.png", turn * turn * 7919 % 65_537)),
            (":version", "HTTP/1.1".to_owned()),
            ("accept", accepts[turn * 7 % 4].to_owned()),
            ("cookie", format!("session={}", turn / 50)),
            ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/32.0.1700.77".to_owned()),
        ];
        if turn.is_multiple_of(97) {
            fields.push(("x-long", "\u{e9}long".repeat(turn * 13 % 8000)));
        }
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    };
    (0..2000).map(list).collect()
}

#[test]
fn zlib_inflates_what_is_compressed_by_fields_over_many_windows() {
    let mut python = match Command::new("python3")
        .args(["-c", INFLATE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
    {
        Ok(python) => python,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return testing::skip("python3 is not installed: apt-get install python3");
        }
        Err(error) => panic!("{error}"),
    };
    let (lists, mut encoder) = (lists(), Encoder::new(Effort::Fields));
    let mut said = hex(DICTIONARY);
    for fields in &lists {
        encoder.begin();
        for (name, value) in fields {
            encoder.field(name.as_bytes(), value.as_bytes());
        }
        let mut block = Vec::new();
        encoder.finish(&mut block);
        write!(said, "\n{}", hex(&block)).unwrap();
    }
    let mut input = python.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(said.as_bytes()));
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let heard = String::from_utf8(output.stdout).unwrap();
    let expected: Vec<String> = lists.iter().map(|fields| hex(&plain(fields))).collect();
    assert!(expected.iter().map(String::len).sum::<usize>() / 2 > 10 * 32 * 1024);
    assert!(heard.lines().eq(expected.iter()), "zlib reads something else");
}
