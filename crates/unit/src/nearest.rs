//! The nearest name to a misspelt one.
//!
//! The distance is Damerau-Levenshtein's in its optimal-string-alignment form: insertions, deletions, substitutions
//! and swaps of neighbours, which are the usual typing errors.

/// The candidate nearest to `name`, ignoring case; None where none is near enough, and where several are equally near:
/// which of them was meant is not known. The distance may be at most a third of the longer name's letters, and one edit is
/// always allowed.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = letters(name);
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|candidate| {
            let letters = letters(candidate);
            let allowed = (wanted.len().max(letters.len()) / 3).max(1);
            (distance(&wanted, &letters), allowed, candidate)
        })
        .filter(|(distance, allowed, _)| distance <= allowed)
        .map(|(distance, _, candidate)| (distance, candidate))
        .collect();
    near.sort_unstable();
    near.dedup();
    match near[..] {
        [(least, _), (next, _), ..] if least == next => None,
        [(_, nearest), ..] => Some(nearest),
        [] => None,
    }
}

fn letters(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).collect()
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substituted = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substituted.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_name() {
        assert_eq!(nearest("qiuck", ["quick", "published"]), Some("quick"));
        assert_eq!(nearest("WIFI", ["lan", "wifi"]), Some("wifi"));
        assert_eq!(nearest("h1tls", ["h1", "h1-tls", "h2"]), Some("h1-tls"));
    }

    #[test]
    fn what_is_far_from_everything_suggests_nothing() {
        assert_eq!(nearest("satellite", ["lan", "wifi", "3g"]), None);
        assert_eq!(nearest("", ["lan"]), None);
    }

    #[test]
    fn of_several_that_are_equally_near_none_is_suggested() {
        assert_eq!(nearest("h4", ["h1", "h2", "h3"]), None);
        assert_eq!(nearest("h4", ["h2", "h2"]), Some("h2"));
        assert_eq!(nearest("h3s", ["h1", "h2", "h3"]), Some("h3"));
    }

    #[test]
    fn a_swap_counts_once() {
        assert_eq!(distance(&letters("ab"), &letters("ba")), 1);
        assert_eq!(distance(&letters("kitten"), &letters("sitting")), 3);
    }
}
