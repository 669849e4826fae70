//! The page model held against a browser, as text for the terminal.

use crate::number::duration;
use std::fmt::Write as _;
use study::metric;
use study::model_check::{CellCheck, ModelCheck};

/// Most misses and wrong pairs that are told one by one; the file has them all.
const MOST_TOLD: usize = 8;

/// What the comparison says: the errors, the order, and where the model misses.
pub fn model_check(check: &ModelCheck) -> String {
    let mut text =
        format!("The page model against {}, {} cells\n", check.browser, check.cells.len());
    for error in &check.errors {
        let _ = writeln!(
            text,
            "  {:<26} off by {:.1} % (median of {} cells), {:.1} % at most",
            words(&error.metric),
            error.median * 100.0,
            error.cells,
            error.greatest * 100.0
        );
    }
    let order = &check.order;
    let _ = match order.decided {
        0 => writeln!(text, "  {} decides no pair of contenders", check.browser),
        decided => writeln!(
            text,
            "  {:<26} {} of {decided} pairs as {} decides them ({:.0} %)",
            "order",
            order.right,
            check.browser,
            f64::from(order.right) * 100.0 / f64::from(decided)
        ),
    };
    for pair in order.wrong.iter().take(MOST_TOLD) {
        let _ = writeln!(
            text,
            "    {}, {}: {} before {}; the model says {}",
            pair.workload,
            pair.link,
            pair.faster,
            pair.slower,
            pair.model.word()
        );
    }
    let mut missed: Vec<&CellCheck> =
        check.cells.iter().filter(|cell| cell.missed_in.is_some()).collect();
    missed.sort_by(|one, other| worst(other).total_cmp(&worst(one)));
    for cell in missed.iter().take(MOST_TOLD) {
        let Some(missed) = cell.missed_in else { continue };
        let _ = writeln!(
            text,
            "    {}, {}, {}: {:.0} % off; most of it {}: {} in the model, {} in {}",
            cell.workload,
            cell.link,
            cell.contender,
            worst(cell) * 100.0,
            missed.phase.words(),
            duration(missed.times.model_ms),
            duration(missed.times.browser_ms),
            check.browser
        );
    }
    text
}

fn words(name: &str) -> &str {
    match name {
        metric::LOAD_MS => "load time",
        other => metric::words(other),
    }
}

/// The greatest error of a cell.
fn worst(cell: &CellCheck) -> f64 {
    cell.times.values().map(|times| times.error().abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::comparison::Verdict;
    use study::model_check::{LoadPhase, OrderCheck, PhaseMiss, TimeError, Times, WrongPair};

    #[test]
    fn the_errors_the_order_and_the_misses_are_told() {
        let times = Times { model_ms: 1_200.0, browser_ms: 1_000.0 };
        let check = ModelCheck {
            experiment: "pages".to_owned(),
            browser: "chromium".to_owned(),
            errors: vec![TimeError {
                metric: metric::FCP_MS.to_owned(),
                cells: 1,
                median: 0.2,
                greatest: 0.2,
            }],
            order: OrderCheck {
                decided: 4,
                right: 3,
                wrong: vec![WrongPair {
                    workload: "shop".to_owned(),
                    link: "3g".to_owned(),
                    faster: "tree".to_owned(),
                    slower: "fifo".to_owned(),
                    model: Verdict::Tie,
                }],
            },
            cells: vec![CellCheck {
                workload: "shop".to_owned(),
                link: "3g".to_owned(),
                contender: "tree".to_owned(),
                times: [(metric::FCP_MS.to_owned(), times)].into(),
                missed_in: Some(PhaseMiss { phase: LoadPhase::Document, times }),
            }],
        };
        let text = model_check(&check);
        for words in [
            "first contentful paint     off by 20.0 % (median of 1 cells), 20.0 % at most",
            "3 of 4 pairs as chromium decides them (75 %)",
            "shop, 3g: tree before fifo; the model says tie",
            "20 % off; most of it before the first byte of the document: 1.20 s in the model, 1.00 s in chromium",
        ] {
            assert!(text.contains(words), "{words} is not in:\n{text}");
        }
    }
}
