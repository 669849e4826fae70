//! What is found in HTML does not depend on how its octets arrive.
#![no_main]

use libfuzzer_sys::fuzz_target;
use page::Scanner;

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, octets) = input;
    let whole = Scanner::new().feed(octets);
    let (first, second) = octets.split_at(usize::from(cut).min(octets.len()));
    let mut scanner = Scanner::new();
    let mut in_two = scanner.feed(first);
    in_two.extend(scanner.feed(second));
    assert_eq!(whole, in_two);
});
