//! Letters of five by seven pixels with two more below the line, drawn for this project: printable ASCII. Any other letter is
//! a question mark.

/// A line a letter: the letter, then its rows from the top: seven, or nine where it reaches below the line.
const LETTERS: &str = include_str!("font.txt");

/// Pixels from one letter to the next, the gap included.
pub(super) const ADVANCE: usize = 6;

/// Rows of the tallest letter.
pub(super) const HEIGHT: usize = 9;

/// The pixels of `letter` that are set, as column and row. A blank has none.
pub(super) fn pixels(letter: char) -> impl Iterator<Item = (usize, usize)> {
    let rows = match letter {
        ' ' => "",
        _ => rows(letter).or_else(|| rows('?')).unwrap_or(""),
    };
    let row = |(y, row): (usize, &'static str)| {
        row.bytes().enumerate().filter(|(_, pixel)| *pixel == b'#').map(move |(x, _)| (x, y))
    };
    rows.split(' ').enumerate().flat_map(row)
}

fn rows(letter: char) -> Option<&'static str> {
    LETTERS.lines().find_map(|line| line.strip_prefix(letter)?.strip_prefix(' '))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_printable_letter_has_rows_of_five_pixels_and_no_two_look_the_same() {
        let mut shapes = BTreeSet::new();
        for letter in '!'..='~' {
            let rows: Vec<&str> =
                rows(letter).unwrap_or_else(|| panic!("no {letter}")).split(' ').collect();
            let is_row = |row: &&str| row.len() == 5 && row.bytes().all(|b| b == b'#' || b == b'.');
            assert!(
                matches!(rows.len(), 7 | HEIGHT) && rows.iter().all(is_row),
                "{letter}: {rows:?}"
            );
            assert!(shapes.insert(rows), "{letter} looks like another");
        }
        assert_eq!(LETTERS.lines().count(), shapes.len());
    }

    #[test]
    fn a_letter_that_is_not_drawn_is_a_question_mark() {
        let shape = |letter| pixels(letter).collect::<Vec<_>>();
        assert_eq!(shape('é'), shape('?'));
        assert_eq!(shape(' '), []);
        assert_eq!(shape('-'), [(0, 3), (1, 3), (2, 3), (3, 3), (4, 3)]);
    }
}
