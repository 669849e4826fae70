//! What is found in HTML does not depend on how its bytes arrive.
#![no_main]

use libfuzzer_sys::fuzz_target;
use page::Scanner;

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, bytes) = input;
    let whole = Scanner::new().feed(bytes);
    let (first, second) = bytes.split_at(usize::from(cut).min(bytes.len()));
    let mut scanner = Scanner::new();
    let mut in_two = scanner.feed(first);
    in_two.extend(scanner.feed(second));
    assert_eq!(whole, in_two);
});
