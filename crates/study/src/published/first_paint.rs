//! `first-paint`: what H2O's author found of HTTP/2 until the first paint, against HTTP/1.1 and SPDY. The post shows its times as a
//! chart only, so no ratio of ours is set beside one; each finding says which of ours it is judged by.

use super::check::{Check, finding};
use super::{Ours, Published, PublishedFinding, Question, findings_alone};
use crate::comparison::Comparison;
use crate::metric;

const FILE: &str = include_str!("../../../../experiments/published/first-paint.toml");

pub(super) fn compare(ours: &Ours<'_>) -> Option<Published> {
    findings_alone(FILE, findings(ours))
}

/// Our link and contenders, as `first-paint` names them.
const LINK: &str = "100ms";
const REORDERED: &str = "h2 server-driven";
const FIREFOX: &str = "h2 firefox";

/// "Reduced by about 30 %".
const REDUCED_TO: f64 = 0.7;

fn findings(ours: &Ours<'_>) -> Vec<PublishedFinding> {
    let workload = ours.experiment.workloads.first().map_or("", |one| &one.name);
    let ask = |a, b| -> (String, Option<Comparison>) {
        let question = Question { workload, link: LINK, a, b };
        let what = format!("{} of {a} / {b}", metric::FIRST_PAINT_MS);
        (what, (ours.ask_of)(metric::FIRST_PAINT_MS, question))
    };
    let about = |b| {
        let (what, ours) = ask(REORDERED, b);
        Check::about(&what, ours.as_ref(), REDUCED_TO)
    };
    let sooner = |a| {
        let (what, ours) = ask(a, "h2");
        Check::faster(&what, ours.as_ref())
    };
    vec![
        finding(
            "HTTP/2 with the best settings reduces the time until the first paint by about 30 % against HTTP/1.1",
            &[about("h1-tls")],
            "The sizes of the post's files and the rate of its path are not published",
        ),
        finding(
            "HTTP/2 with the best settings reduces the time until the first paint by about 30 % against SPDY/3.1",
            &[about("spdy")],
            "SPDY came from nginx 1.9.1 there; here from our origin, which keeps to the levels that the client asks for",
        ),
        finding(
            "the reason: files that block rendering come before others, because Firefox asks for that, or because the server reprioritises what Chrome asks for",
            &[sooner(REORDERED), sooner(FIREFOX)],
            "",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Ratio, Verdict};
    use crate::experiment::{Experiment, builtin};
    use crate::published::Agreement;

    /// The verdicts where first paint of the reordering server takes so much of each other contender's time.
    fn verdicts(reordered_over: fn(&str) -> f64) -> Vec<Agreement> {
        let toml = builtin().iter().find(|one| one.name == "first-paint").unwrap().toml;
        let experiment: Experiment = toml.parse().unwrap();
        let ask_of = |_: &str, Question { workload, link, a, b }: Question<'_>| {
            assert!(experiment.workload(workload).is_some(), "{workload}");
            assert!(experiment.links.iter().any(|one| one.name == link), "{link}");
            assert!([a, b].iter().all(|one| experiment.contender(one).is_some()), "{a}, {b}");
            let ratio = reordered_over(b);
            Some(Comparison {
                n: 14,
                ratio: Some(Ratio(ratio)),
                ci95: Some([Ratio(ratio * 0.97), Ratio(ratio * 1.03)]),
                verdict: if ratio < 0.97 { Verdict::Faster } else { Verdict::Slower },
                ..Comparison::of_nothing()
            })
        };
        let ours = Ours {
            experiment: &experiment,
            ask: &|_| None,
            ask_of: &ask_of,
            figures: &|_, _| None,
            profiled: &|_, _| None,
            time: &|_| None,
            differ: &|_| None,
        };
        compare(&ours).unwrap().findings.into_iter().map(|finding| finding.verdict).collect()
    }

    #[test]
    fn what_was_published_is_confirmed_and_what_differs_is_not() {
        use Agreement::{Confirmed, NotConfirmed};
        assert_eq!(verdicts(|_| 0.7), [Confirmed; 3]);
        let as_spdy = |b: &str| if b == "spdy" { 1.0 } else { 0.7 };
        assert_eq!(verdicts(as_spdy), [Confirmed, NotConfirmed, Confirmed]);
        assert_eq!(verdicts(|_| 1.1), [NotConfirmed; 3]);
    }

    /// Figures of others that no experiment of ours runs again.
    #[test]
    fn every_figure_of_others_has_its_source_and_its_conditions() {
        let text = include_str!("../../../../experiments/published/delivery.toml");
        let table: toml::Table = text.parse().unwrap();
        let figures = table["figures"].as_array().unwrap();
        assert!(figures.len() >= 8);
        for figure in figures {
            for key in ["source", "subject", "conditions", "found"] {
                assert!(figure[key].as_str().is_some_and(|text| text.len() > 3), "{figure}");
            }
            let found = figure["found"].as_str().unwrap();
            assert!(found.contains(|c: char| c.is_ascii_digit()), "no figure: {found}");
        }
    }
}
