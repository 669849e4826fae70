//! How HTTP/3 is found, made concrete: who listens, what is offered, when TCP begins, and the view after the first.

use super::contender::protocol_of;
use super::earlier_visit::EarlierVisit;
use super::job::{FarJob, NearJob, NearReport, NextTimes, NextView};
use super::near::{ALT_SVC, do_task};
use super::read_back::is_of_quic;
use crate::error::CliError;
use client::ClientConfig;
use link::{LinkSpec, Udp};
use std::time::Duration;
use study::experiment::{Contender, FirstVisit};
use study::outcome::Outcome;
use trace::{FetchOutcome, FetchRecord};
use transport::Protocol;
use unit::Instant;

/// The protocol over TLS of TCP, of a contender that may speak HTTP/3 beside it; else the one protocol that it speaks.
pub(super) fn over_tls(contender: &Contender) -> Result<Protocol, CliError> {
    match contender.settings.first_visit.uses_tcp() {
        true => Ok(Protocol::Http2),
        false => protocol_of(contender.transport),
    }
}

/// How much later than QUIC TCP begins over a round trip of `rtt`. Chromium waits for 1.5 of the server's round trips where
/// QUIC has worked on the network before, and not at all where it has not (net/quic/quic_session_pool.cc,
/// `GetTimeDelayForWaitingJob`).
pub(super) fn head_start(contender: &Contender, rtt: Duration) -> Duration {
    let settings = &contender.settings;
    match settings.first_visit {
        FirstVisit::Race if settings.temperature.resumes() => rtt * 3 / 2,
        _ => Duration::ZERO,
    }
}

/// The link of a contender. An error: it cannot drop UDP, or drops it where nothing but UDP carries the contender.
pub(super) fn link_of(
    contender: &Contender,
    mut link: LinkSpec,
    is_loopback: bool,
) -> Result<LinkSpec, Outcome> {
    let first_visit = contender.settings.first_visit;
    if first_visit != FirstVisit::UdpBlocked {
        let drops_udp = [&link.up, &link.down].iter().any(|way| way.udp == Udp::Blocked);
        if drops_udp && contender.transport.is_over_quic() && !first_visit.races() {
            return Err(Outcome::Unsupported {
                reason: "the link drops UDP, which carries HTTP/3: of this view or of the next"
                    .to_owned(),
                remedy: "`first_visit = \"race\"` has TCP beside it".to_owned(),
            });
        }
        return Ok(link);
    }
    if is_loopback {
        return Err(Outcome::Unsupported {
            reason: "`first_visit = \"udp-blocked\"` needs a link that drops UDP".to_owned(),
            remedy: "race it over another link than `none`".to_owned(),
        });
    }
    (link.down.udp, link.up.udp) = (Udp::Blocked, Udp::Blocked);
    Ok(link)
}

/// The port that `Alt-Svc` offers HTTP/3 on. Other people's clients get the offer over HTTP/3, too: until Chromium 156 has
/// heard it, it holds requests over HTTP/3 back as over HTTP/1.1, two at a time while scripts in the head block.
pub(super) fn alt_svc(job: &FarJob) -> Option<u16> {
    let contender = &job.contender;
    let offers = contender.settings.first_visit == FirstVisit::AltSvc || contender.client.is_some();
    job.listen_quic.first().filter(|_| offers).map(std::net::SocketAddr::port)
}

/// Does the task once more over HTTP/3, which the first view's answers have offered. None where a fetch of the first view failed.
pub(super) fn next_view(
    config: ClientConfig,
    job: &NearJob,
    first: &NearReport,
) -> Result<Option<NextView>, CliError> {
    if first.fetches.iter().any(|fetch| fetch.outcome != FetchOutcome::Done) {
        return Ok(None);
    }
    let began = os::clock::now();
    if !first.settings.contains_key(ALT_SVC) {
        let reason = "no answer of the first view offered h3 by Alt-Svc".to_owned();
        let (settings, connections) = Default::default();
        return Ok(Some(NextView { began, times: Err(reason), settings, connections }));
    }
    let config = ClientConfig { transport: client::Transport::H3, ..config };
    let next = do_task(config, EarlierVisit::none(), job)?;
    let times = times(&next.fetches, began);
    let settings = next.settings.into_iter().filter(|(name, _)| is_of_quic(name)).collect();
    Ok(Some(NextView { began, times, settings, connections: next.connections }))
}

/// How long a next view of these fetches took; else why it failed.
fn times(fetches: &[FetchRecord], began: Instant) -> Result<NextTimes, String> {
    for fetch in fetches {
        if let FetchOutcome::Failed(reason) = &fetch.outcome {
            return Err(format!("the next view failed: {reason}"));
        }
        if fetch.protocol != trace::Protocol::Http3 {
            return Err(format!("the next view spoke {}", fetch.protocol));
        }
    }
    let queued = fetches.iter().map(|fetch| fetch.phases.queued).min().unwrap_or(began);
    let last = fetches.iter().filter_map(|fetch| fetch.phases.last_byte).max();
    let first_byte = study::reconcile::first_byte(fetches);
    Ok(NextTimes {
        load: last.unwrap_or(queued).since(queued),
        first_byte: first_byte.unwrap_or(queued).since(queued),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::job::tests::order;

    fn contender(settings: &str) -> Contender {
        let text = format!("transport = \"h3\"\nsettings = {{ {settings} }}");
        order("kind = \"page\"\nimages = 1\nbytes = 10", &text).plan.cell.contender
    }

    #[test]
    fn other_peoples_clients_are_offered_http3_where_it_is_spoken() {
        let offered = |contender: &str| {
            let order = order("kind = \"page\"\nimages = 1\nbytes = 10", contender);
            let contender = order.plan.cell.contender;
            let listen_quic = match contender.transport.is_over_quic() {
                true => vec!["127.0.0.1:8443"],
                false => Vec::new(),
            };
            let job = serde_json::json!({
                "listen": [], "listen_tls": [], "listen_quic": listen_quic,
                "identities": [], "table": null, "root": null, "contender": contender,
            });
            alt_svc(&serde_json::from_value(job).unwrap())
        };
        assert_eq!(offered("transport = \"h3\"\nclient = \"curl\""), Some(8443));
        assert_eq!(offered("transport = \"h2\"\nclient = \"curl\""), None);
        assert_eq!(offered("transport = \"h3\""), None);
        let found = "transport = \"h3\"\nsettings = { first_visit = \"alt-svc\" }";
        assert_eq!(offered(found), Some(8443));
    }

    #[test]
    fn tcp_speaks_http2_where_http3_has_to_be_found() {
        for (way, protocol) in [
            ("known", Protocol::Http3),
            ("https-record", Protocol::Http3),
            ("alt-svc", Protocol::Http2),
            ("race", Protocol::Http2),
            ("udp-blocked", Protocol::Http2),
        ] {
            let found = over_tls(&contender(&format!("first_visit = \"{way}\""))).unwrap();
            assert_eq!(found, protocol, "{way}");
        }
    }

    #[test]
    fn quic_has_a_head_start_where_an_earlier_visit_has_shown_that_it_works() {
        let rtt = Duration::from_millis(100);
        for (settings, expected) in [
            ("first_visit = \"race\"", 0),
            ("first_visit = \"race\", temperature = \"resumed\"", 150),
            ("first_visit = \"race\", temperature = \"early\"", 150),
            ("first_visit = \"udp-blocked\", temperature = \"early\"", 0),
        ] {
            let found = head_start(&contender(settings), rtt);
            assert_eq!(found, Duration::from_millis(expected), "{settings}");
        }
    }

    #[test]
    fn a_link_drops_udp_for_that_contender_alone_and_no_link_cannot() {
        let lan = || LinkSpec::parse("rtt=10ms", link::no_traces).unwrap();
        let blocked = contender("first_visit = \"udp-blocked\"");
        let link = link_of(&blocked, lan(), false).unwrap();
        assert_eq!((link.down.udp, link.up.udp), (Udp::Blocked, Udp::Blocked));
        assert_eq!(link_of(&contender("first_visit = \"race\""), lan(), false), Ok(lan()));
        let drops = || LinkSpec::parse("rtt=10ms,udp_down=blocked", link::no_traces).unwrap();
        assert_eq!(link_of(&contender("first_visit = \"race\""), drops(), false), Ok(drops()));
        let known = link_of(&contender("first_visit = \"known\""), drops(), false);
        assert!(matches!(known, Err(Outcome::Unsupported { .. })));
        let none = link_of(&blocked, LinkSpec::default(), true);
        assert!(matches!(none, Err(Outcome::Unsupported { .. })));
    }
}
