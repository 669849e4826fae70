//! What is found in HTML does not depend on how its bytes arrive.

use crate::{decode, reached};
use page::Scanner;

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(u8, &[u8])>(input) else { return };
    let (cut, bytes) = input;
    let whole = Scanner::new().feed(bytes);
    if !whole.is_empty() {
        reached::note_value();
    }
    let (first, second) = bytes.split_at(usize::from(cut).min(bytes.len()));
    let mut scanner = Scanner::new();
    let mut in_two = scanner.feed(first);
    in_two.extend(scanner.feed(second));
    assert_eq!(whole, in_two);
}
