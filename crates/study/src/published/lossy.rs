//! `lossy`: what others found of QUIC and TCP where packets are lost or come out of order. Their networks were not these, so no
//! ratio of ours is set beside one; each finding says which of ours it is judged by.

use super::check::{Check, finding};
use super::{Ours, Published, PublishedFinding, Question, findings_alone};
use crate::comparison::Comparison;

const FILE: &str = include_str!("../../../../experiments/published/lossy.toml");

/// Our links, as `lossy` names them.
const WITHOUT_LOSS: &str = "4g";
const WITH_LOSS: &str = "4g,loss=1%";
const REORDERED: &str = "4g,reorder=1%/3";

pub(super) fn compare(ours: &Ours<'_>) -> Option<Published> {
    findings_alone(FILE, findings(ours))
}

fn findings(ours: &Ours<'_>) -> Vec<PublishedFinding> {
    let workload = ours.experiment.workloads.first().map_or("", |workload| &workload.name);
    // HTTP/3's time over HTTP/2's.
    let ask = |link| (ours.ask)(Question { workload, link, a: "h3", b: "h2" });
    let [none, loss, reordered]: [Option<Comparison>; 3] =
        [WITHOUT_LOSS, WITH_LOSS, REORDERED].map(ask);
    let (none, loss) = (none.as_ref(), loss.as_ref());
    let (at_none, at_loss) = ("h3 / h2 without loss", "h3 / h2 at 1 % loss");
    vec![
        finding(
            "where packets are lost QUIC is faster than TCP with TLS (Kakhki et al., 2017)",
            &[Check::faster(at_loss, loss)],
            "",
        ),
        finding(
            "loss slows HTTP/3 down less than HTTP/2 (Liu et al., 2024)",
            &[Check::smaller(at_loss, loss, at_none, none)],
            "Theirs was up to 12 % at 10 Mbit/s: `http3-loss`",
        ),
        finding(
            "where packets come out of order QUIC is much slower than TCP, for it takes them for lost (Kakhki et al., 2017)",
            &[Check::slower("h3 / h2 with 1 % of packets 3 places late", reordered.as_ref())],
            "Google's QUIC of 2016 waited for three later packets, as RFC 9002 does; Linux's TCP learns how late packets come (RACK, RFC 8985)",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use crate::published::tests::{comparison, verdicts};
    use crate::published::{Agreement, Question};

    #[test]
    fn loss_and_reordering_are_judged_by_three_links() {
        use Agreement::{CannotTell, Confirmed, NotConfirmed};
        let with = |none: f64, loss: f64, reordered: f64| {
            verdicts("lossy", &move |question: Question<'_>| {
                let ratio = match question.link {
                    "4g" => none,
                    "4g,loss=1%" => loss,
                    "4g,reorder=1%/3" => reordered,
                    other => panic!("{other}"),
                };
                assert_eq!((question.a, question.b), ("h3", "h2"));
                Some(comparison(ratio * 0.98, ratio * 1.02))
            })
        };
        assert_eq!(with(1.0, 0.7, 1.4), [Confirmed, Confirmed, Confirmed]);
        assert_eq!(with(0.7, 1.1, 0.9), [NotConfirmed, NotConfirmed, NotConfirmed]);
        assert_eq!(with(0.8, 0.8, 1.0), [Confirmed, CannotTell, CannotTell]);
        assert_eq!(verdicts("lossy", &|_| None), [CannotTell; 3]);
    }
}
