//! `http3-loss`: what others found of HTTP/3 and HTTP/2 over links that lose packets, with and without a proxy. Their figures are
//! extremes over many runs, so no ratio of ours is set beside one; each finding says which of ours it is judged by.

use super::check::{Check, finding};
use super::{Ours, Published, PublishedFinding, Question, findings_alone};
use crate::comparison::Comparison;

const FILE: &str = include_str!("../../../../experiments/published/http3-loss.toml");

/// Our links, as `http3-loss` names them.
const WITHOUT_LOSS: &str = "10mbit";
const WITH_LOSS: &str = "10mbit-loss";
const WITH_PROXY: &str = "10mbit-loss-proxy";

pub(super) fn compare(ours: &Ours<'_>) -> Option<Published> {
    findings_alone(FILE, findings(ours))
}

fn findings(ours: &Ours<'_>) -> Vec<PublishedFinding> {
    let workload = ours.experiment.workloads.first().map_or("", |workload| &workload.name);
    // HTTP/3's time over HTTP/2's.
    let ask = |link| (ours.ask)(Question { workload, link, a: "h3", b: "h2" });
    let [none, loss, proxy]: [Option<Comparison>; 3] =
        [WITHOUT_LOSS, WITH_LOSS, WITH_PROXY].map(ask);
    let (none, loss, proxy) = (none.as_ref(), loss.as_ref(), proxy.as_ref());
    let (at_none, at_loss) = ("h3 / h2 without loss", "h3 / h2 at 10 % loss");
    vec![
        finding(
            "under heavy loss HTTP/3 is faster than HTTP/2, by 81.5 % at most",
            &[Check::faster(at_loss, loss)],
            "",
        ),
        finding(
            "loss slows HTTP/3 down less than HTTP/2",
            &[Check::smaller(at_loss, loss, at_none, none)],
            "",
        ),
        finding(
            "under loss a proxy in the path helps HTTP/2 (by 90 % at most, with BBR) more than HTTP/3",
            &[Check::smaller(at_loss, loss, "h3 / h2 at 10 % loss with a proxy", proxy)],
            "Their proxy was Envoy, which ends TLS and QUIC too; ours ends TCP alone, with CUBIC",
        ),
        finding(
            "on fast links HTTP/3 reaches a lower rate than HTTP/2, by 45.2 % at most (Zhang et al., WWW 2024)",
            &[],
            "No link of this experiment is fast: there the receiver's work for each packet decides",
        ),
    ]
}
