//! The search for the first bad one among commits, oldest first, of which the last is said to be bad and the one before the
//! first is good. Each comparison is statistical: the error of all is divided evenly among as many as there can be, so
//! that by Bonferroni's inequality the answer is wrong with at most that error, if a commit that is bad makes all later
//! ones bad too.

use std::collections::BTreeSet;

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    /// The first that is not known to be good.
    first: usize,
    /// The first that is known to be bad, or the last one.
    last: usize,
    /// Whether the last one was judged.
    is_last_judged: bool,
    /// Those that cannot be judged, because they do not build.
    skipped: BTreeSet<usize>,
    comparisons: u32,
    most: u32,
}

/// What a comparison says of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// As good as the good one, within the gate.
    Good,
    /// The gate failed.
    Bad,
    /// It cannot be built.
    Skipped,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Compare this one.
    Compare(usize),
    /// The first bad one.
    Found(usize),
    /// Between those two, both counted, is the first bad one; the others cannot be built, or the error is spent.
    Between(usize, usize),
    /// The last one is not bad.
    NoneBad,
}

impl Search {
    /// A search among `commits`, of which there is one at least.
    pub fn new(commits: usize) -> Self {
        Self {
            first: 0,
            last: commits.saturating_sub(1),
            is_last_judged: false,
            skipped: BTreeSet::new(),
            comparisons: 0,
            // The last one, to see that it is bad at all, and half of what is left each time.
            most: 1 + commits.max(1).next_power_of_two().ilog2(),
        }
    }

    /// How many comparisons there can be.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// The error that each of them may have, of `error` in all.
    pub fn error_of_each(&self, error: f64) -> f64 {
        error / f64::from(self.most)
    }

    /// What is to be done next.
    pub fn next(&self) -> Step {
        if !self.is_last_judged {
            return Step::Compare(self.last);
        }
        if self.first > self.last {
            return Step::NoneBad;
        }
        if self.first == self.last {
            return Step::Found(self.last);
        }
        // Those before the last; the one in the middle leaves as many on either side.
        let middle = self.first + (self.last - self.first - 1) / 2;
        let left = (self.first..self.last).filter(|index| !self.skipped.contains(index));
        match left.min_by_key(|index| index.abs_diff(middle)) {
            Some(next) if self.comparisons < self.most => Step::Compare(next),
            _ => Step::Between(self.first, self.last),
        }
    }

    /// Takes in what was found of a commit.
    pub fn tell(&mut self, index: usize, judgement: Judgement) {
        self.comparisons += u32::from(judgement != Judgement::Skipped);
        self.is_last_judged |= index == self.last;
        match judgement {
            Judgement::Good => self.first = index + 1,
            Judgement::Bad => self.last = index,
            Judgement::Skipped => {
                self.skipped.insert(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches among `commits` where those from `bad` on are bad and `broken` do not build. Gives the end and how many
    /// were compared.
    fn search(commits: usize, bad: usize, broken: &[usize]) -> (Step, u32) {
        let mut search = Search::new(commits);
        loop {
            match search.next() {
                Step::Compare(index) if broken.contains(&index) => {
                    search.tell(index, Judgement::Skipped)
                }
                Step::Compare(index) if index >= bad => search.tell(index, Judgement::Bad),
                Step::Compare(index) => search.tell(index, Judgement::Good),
                end => return (end, search.comparisons),
            }
        }
    }

    #[test]
    fn the_first_bad_one_is_found_wherever_it_is_within_the_comparisons_promised() {
        for commits in 1..70 {
            let most = Search::new(commits).most();
            assert_eq!(most, 1 + (commits as f64).log2().ceil() as u32);
            for bad in 0..commits {
                let (end, comparisons) = search(commits, bad, &[]);
                assert_eq!(end, Step::Found(bad), "{bad} of {commits}");
                assert!(comparisons <= most, "{comparisons} of {most} for {bad} of {commits}");
            }
        }
    }

    #[test]
    fn a_last_one_that_is_good_ends_the_search() {
        assert_eq!(search(8, 8, &[]), (Step::NoneBad, 1));
    }

    #[test]
    fn what_does_not_build_is_stepped_over_and_told() {
        assert_eq!(search(8, 5, &[3]).0, Step::Found(5));
        assert_eq!(search(8, 5, &[4]).0, Step::Between(4, 5));
        assert_eq!(search(3, 1, &[0, 1]).0, Step::Between(0, 2));
    }

    #[test]
    fn the_errors_of_all_comparisons_sum_to_the_error() {
        let search = Search::new(12);
        assert_eq!(search.most(), 5);
        assert!((search.error_of_each(0.05) * 5.0 - 0.05).abs() < 1e-12);
    }
}
