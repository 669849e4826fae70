//! `first-visit`: what others found of a connection's beginning over QUIC and TCP. Their sites and networks were not these, so no
//! ratio of ours is set beside one; each finding says which of ours it is judged by.

use super::check::{Check, finding};
use super::{Ours, Published, PublishedFinding, Question, findings_alone};
use crate::metric;

const FILE: &str = include_str!("../../../../experiments/published/first-visit.toml");

/// Our link, as `first-visit` names it.
const LINK: &str = "4g";

/// Our contenders whose first view is wholly HTTP/2: that the server speaks HTTP/3 is heard of by Alt-Svc.
const H2_COLD: &str = "cold-alt-svc";
const H2_RESUMED: &str = "resumed-alt-svc";

pub(super) fn compare(ours: &Ours<'_>) -> Option<Published> {
    findings_alone(FILE, findings(ours))
}

fn findings(ours: &Ours<'_>) -> Vec<PublishedFinding> {
    let workload = ours.experiment.workloads.first().map_or("", |workload| &workload.name);
    let question = |[a, b]: [&'static str; 2]| Question { workload, link: LINK, a, b };
    let time = |sides: [&'static str; 2]| (sides.join(" / "), (ours.ask)(question(sides)));
    let cold_sides = ["cold-known", H2_COLD];
    let first_byte_name = format!("{} of {}", metric::FIRST_BYTE_MS, cold_sides.join(" / "));
    let first_byte = (ours.ask_of)(metric::FIRST_BYTE_MS, question(cold_sides));
    let (cold_name, cold) = time(cold_sides);
    let (early_name, early) = time(["early-known", "cold-known"]);
    let (resumed_name, resumed) = time(["early-known", H2_RESUMED]);
    vec![
        finding(
            "the first byte comes sooner over HTTP/3 than over HTTP/2: after 176 ms instead of 201 (Cloudflare, 2020)",
            &[Check::faster(&first_byte_name, first_byte.as_ref())],
            "",
        ),
        finding(
            "a whole page takes a little longer over HTTP/3 than over HTTP/2 (Cloudflare, 2020)",
            &[Check::slower(&cold_name, cold.as_ref())],
            "Theirs was a blog over a fast network, HTTP/2 with BBR and HTTP/3 with CUBIC; ours is small, so that the handshake decides",
        ),
        finding(
            "where latency decides, QUIC gains most by connections that begin without a round trip (Chromium, 2015)",
            &[Check::faster(&early_name, early.as_ref())
                .tested("below 1; not that it is the most")],
            "",
        ),
        finding(
            "with 0-RTT QUIC is faster than HTTP/2 over TCP with TLS (Kakhki et al., 2017)",
            &[Check::faster(&resumed_name, resumed.as_ref())],
            "",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::Agreement;
    use crate::published::tests::{comparison, experiment, nothing};

    /// The verdicts where the first contender takes so much of the second one's time.
    fn verdicts(ratio_of: fn(&str, &str) -> f64) -> Vec<Agreement> {
        let experiment = experiment("first-visit");
        let answer = |question: Question<'_>| {
            let Question { workload, link, a, b } = question;
            assert!(experiment.workload(workload).is_some(), "{workload}");
            assert!(experiment.links.iter().any(|one| one.name == link), "{link}");
            assert!([a, b].iter().all(|one| experiment.contender(one).is_some()), "{a}, {b}");
            Some(comparison(ratio_of(a, b) * 0.98, ratio_of(a, b) * 1.02))
        };
        let ask_of = |_: &str, question: Question<'_>| answer(question);
        let ours = Ours { ask: &answer, ask_of: &ask_of, ..nothing(&experiment) };
        compare(&ours).unwrap().findings.into_iter().map(|finding| finding.verdict).collect()
    }

    #[test]
    fn each_finding_is_judged_by_the_contenders_that_it_is_about() {
        use Agreement::{CannotTell, Confirmed, NotConfirmed};
        assert_eq!(verdicts(|_, _| 0.7), [Confirmed, NotConfirmed, Confirmed, Confirmed],);
        assert_eq!(
            verdicts(|a, _| if a.starts_with("early") { 1.1 } else { 0.9 }),
            [Confirmed, NotConfirmed, NotConfirmed, NotConfirmed],
        );
        assert_eq!(verdicts(|_, _| 1.0), [CannotTell; 4]);
    }
}
