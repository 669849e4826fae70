//! A question that a published measurement left open: why something took longer than it should have, and how much of
//! that excess each cause explains that our run switched on or off. The one rule: each cause is judged by its interval
//! alone, and stays open where the interval is too wide.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An open question and the causes that were tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenQuestion {
    /// What was asked.
    pub question: String,
    /// The excess to explain, in milliseconds per message.
    pub excess_ms: f64,
    /// Each cause by itself.
    pub causes: Vec<Cause>,
    /// The answer that follows from the causes.
    pub answer: String,
}

/// A cause that was switched on or off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The setting.
    pub what: String,
    /// The contender that has the setting.
    pub contender: String,
    /// What it adds to a message, in milliseconds; None where it was not run.
    pub added_ms: Option<f64>,
    /// The 95 % interval of `added_ms`, by itself; None with too few blocks.
    pub ci95: Option<[f64; 2]>,
    /// `added_ms` and the ends of its interval as shares of the excess.
    pub share: Option<[f64; 3]>,
    /// How much of the excess it explains.
    pub verdict: Explains,
}

/// How much of an excess a cause explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Explains {
    /// All of it: the interval lies between 75 % and 125 % of the excess.
    Whole,
    /// Some of it: the interval lies above zero and below 75 % of the excess.
    Part,
    /// Nothing: the interval lies within a tenth of the excess around zero, or below.
    Nothing,
    /// The interval lies above 125 % of the excess: the cause cannot have affected every message.
    TooMuch,
    /// The interval is too wide, or it was not run.
    CannotTell,
}

/// A paired difference of two contenders per message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Difference {
    /// The Hodges-Lehmann estimate, in milliseconds.
    pub(crate) estimate: f64,
    /// Its 95 % interval by itself; None where there are too few blocks.
    pub(crate) ci95: Option<[f64; 2]>,
}

impl Cause {
    pub(super) fn of(
        what: &str,
        contender: &str,
        excess_ms: f64,
        added: Option<&Difference>,
    ) -> Self {
        let ci95 = added.and_then(|added| added.ci95);
        let share = added
            .zip(ci95)
            .map(|(added, [low, high])| [added.estimate, low, high].map(|ms| ms / excess_ms));
        let verdict = match share {
            None => Explains::CannotTell,
            Some([_, _, high]) if high < SLIGHT => Explains::Nothing,
            Some([_, low, high]) if low > 1.0 - ABOUT && high < 1.0 + ABOUT => Explains::Whole,
            Some([_, low, _]) if low > 1.0 + ABOUT => Explains::TooMuch,
            Some([_, low, high]) if low > 0.0 && high < 1.0 - ABOUT => Explains::Part,
            Some(_) => Explains::CannotTell,
        };
        Self {
            what: what.to_owned(),
            contender: contender.to_owned(),
            added_ms: added.map(|added| added.estimate),
            ci95,
            share,
            verdict,
        }
    }

    /// What follows, in words.
    pub fn words(&self) -> String {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        match (self.verdict, self.share) {
            (Explains::Whole, Some([share, ..])) => format!("explains it: {}", percent(share)),
            (Explains::Part, Some([_, low, high])) => {
                format!("explains {} to {} of it", percent(low), percent(high))
            }
            (Explains::Nothing, _) => "explains none of it".to_owned(),
            // The less it adds to a message, the more messages it may have struck.
            (Explains::TooMuch, Some([share, low, _])) => format!(
                "too much: {share:.1} times the excess, so it affected at most {} of the messages",
                percent(1.0 / low)
            ),
            _ if self.added_ms.is_none() => "cannot tell: not measured".to_owned(),
            _ => "cannot tell: the interval is too wide".to_owned(),
        }
    }
}

impl OpenQuestion {
    pub(super) fn of(question: &str, excess_ms: f64, causes: Vec<Cause>) -> Self {
        let answer = answer(excess_ms, &causes);
        Self { question: question.to_owned(), excess_ms, causes, answer }
    }
}

/// Two sentences with their figures: which cause adds as much to each message, and what the others add. Causes are named by
/// their contenders, whose table stands beside the answer.
fn answer(excess_ms: f64, causes: &[Cause]) -> String {
    if causes.iter().all(|cause| cause.verdict == Explains::CannotTell) {
        let unmeasured = causes.iter().filter(|cause| cause.added_ms.is_none()).count();
        return match (unmeasured, causes.len() - unmeasured) {
            (_, 0) => "Cannot tell: no cause was measured.".to_owned(),
            (0, _) => "Cannot tell: every interval is too wide.".to_owned(),
            (some, others) => format!(
                "Cannot tell: {some} of {} causes were not measured, and the intervals of the others are too wide.",
                some + others
            ),
        };
    }
    let of = |verdict: Explains| -> Vec<&Cause> {
        causes.iter().filter(|cause| cause.verdict == verdict).collect()
    };
    let whole = of(Explains::Whole);
    let first = match whole.len() {
        0 => format!(
            "Cannot tell: none of {} causes that were switched adds {excess_ms:.1} ms to each message.",
            causes.len()
        ),
        1 => format!(
            "{} to each message, as much as the {excess_ms:.1} ms in question, which does not prove that it was the cause.",
            adding(&whole)
        ),
        _ => format!(
            "Cannot tell between {}: each is as much as the {excess_ms:.1} ms in question.",
            adding(&whole)
        ),
    };
    let others = [
        (
            Explains::TooMuch,
            ", which is more than all of it: that can have struck a part of the messages at most",
        ),
        (Explains::Part, ", which is a part of it"),
        (Explains::Nothing, ", which is next to nothing"),
    ];
    let mut clauses: Vec<String> = Vec::new();
    for (verdict, says) in others {
        let causes = of(verdict);
        if !causes.is_empty() {
            clauses.push(format!("{}{says}", adding(&causes)));
        }
    }
    let open: Vec<&str> =
        of(Explains::CannotTell).iter().map(|cause| cause.contender.as_str()).collect();
    if !open.is_empty() {
        clauses.push(format!("{} could not be told", open.join(", ")));
    }
    match clauses.is_empty() {
        true => first,
        false => format!("{first} Of the others, {}.", clauses.join("; ")),
    }
}

/// `a adds 40.1 ms`, `a, b and c add 0.0 to 0.2 ms`: the estimates, least and greatest.
fn adding(causes: &[&Cause]) -> String {
    let names: Vec<&str> = causes.iter().map(|cause| cause.contender.as_str()).collect();
    let added = || causes.iter().filter_map(|cause| cause.added_ms);
    let (least, most) =
        (added().fold(f64::INFINITY, f64::min), added().fold(f64::NEG_INFINITY, f64::max));
    match names.as_slice() {
        [one] => format!("{one} adds {}", range(least, most)),
        [several @ .., last] => {
            format!("{} and {last} add {}", several.join(", "), range(least, most))
        }
        [] => String::new(),
    }
}

/// `0.1 to 0.2 ms`; of what is printed as zero: `less than 0.05 ms`.
fn range(least: f64, most: f64) -> String {
    let [low, high] = [least, most].map(|ms| format!("{ms:.1}"));
    match (least.abs().max(most.abs()) < 0.05, low == high) {
        (true, _) => "less than 0.05 ms".to_owned(),
        (_, true) => format!("{high} ms"),
        (_, false) => format!("{low} to {high} ms"),
    }
}

/// "About" the excess is from three quarters to five quarters of it.
const ABOUT: f64 = 0.25;
/// A cause of less than a tenth of the excess explains nothing.
const SLIGHT: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(low: f64, high: f64) -> Cause {
        let estimate = 0.5 * (low + high);
        Cause::of("c", "c", 10.0, Some(&Difference { estimate, ci95: Some([low, high]) }))
    }

    #[test]
    fn an_interval_explains_all_a_part_nothing_or_too_much_or_does_not_tell() {
        use Explains::{CannotTell, Nothing, Part, TooMuch, Whole};
        let cases = [
            ((9.0, 11.0), Whole),
            ((2.0, 3.0), Part),
            ((-0.2, 0.3), Nothing),
            ((-5.0, -4.0), Nothing),
            ((50.0, 60.0), TooMuch),
            ((-1.0, 3.0), CannotTell),
            ((7.0, 14.0), CannotTell),
        ];
        for ((low, high), expected) in cases {
            assert_eq!(cause(low, high).verdict, expected, "{low} to {high}");
        }
        let alone = Difference { estimate: 10.0, ci95: None };
        assert_eq!(Cause::of("c", "c", 10.0, Some(&alone)).verdict, CannotTell);
        assert_eq!(Cause::of("c", "c", 10.0, None).words(), "cannot tell: not measured");
    }

    #[test]
    fn what_adds_too_much_tells_how_many_messages_it_can_have_struck() {
        assert!(cause(49.0, 51.0).words().ends_with("at most 20 % of the messages"));
        let wide = cause(13.0, 20.0).words();
        assert_eq!(
            wide,
            "too much: 1.6 times the excess, so it affected at most 77 % of the messages"
        );
    }

    #[test]
    fn the_answer_is_that_nobody_can_tell_unless_one_cause_alone_fits() {
        let of = |causes: Vec<Cause>| OpenQuestion::of("why?", 10.0, causes).answer;
        assert_eq!(
            of(vec![cause(9.0, 11.0), cause(0.0, 0.2)]),
            "c adds 10.0 ms to each message, as much as the 10.0 ms in question, which does not prove that it was the cause. \
             Of the others, c adds 0.1 ms, which is next to nothing."
        );
        assert!(of(vec![cause(9.0, 11.0), cause(9.0, 11.0)]).starts_with("Cannot tell between"));
        assert_eq!(
            of(vec![cause(0.0, 0.2), cause(50.0, 60.0), cause(40.0, 50.0), cause(-1.0, 3.0)]),
            "Cannot tell: none of 4 causes that were switched adds 10.0 ms to each message. Of the others, c and c add 45.0 to \
             55.0 ms, which is more than all of it: that can have struck a part of the messages at most; c adds 0.1 ms, which is next to nothing; \
             c could not be told."
        );
        let unmeasured = || Cause::of("c", "c", 10.0, None);
        let wide = || cause(-1.0, 3.0);
        for (causes, expected) in [
            (vec![unmeasured(), unmeasured()], "Cannot tell: no cause was measured."),
            (vec![wide(), wide()], "Cannot tell: every interval is too wide."),
            (vec![unmeasured(), wide()], "Cannot tell: 1 of 2 causes were not measured, and"),
        ] {
            let answer = of(causes);
            assert!(answer.starts_with(expected), "{answer}");
        }
    }
}
