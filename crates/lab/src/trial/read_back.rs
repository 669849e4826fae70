//! What each end says that it sends by, for the row, and whether that is what the contender asked for. The names of these settings
//! stand here alone: `near …` and `far …`.

use super::tcp_settings::sysctls;
use os::reactor::SocketStage;
use os::tcp::TcpFacts;
use secure::PeerWindows;
use std::collections::BTreeMap;
use study::experiment::Contender;
use study::outcome::Outcome;
use transport::{QuicFacts, QuicTally};

/// What the kernel says of an end's connection: the same for all of them, so the last one's word is kept. A connection that
/// begins with its first bytes (Fast Open) gets its congestion control with them: it is asked again at the end.
pub(crate) fn note_socket(
    end: &str,
    stage: SocketStage,
    facts: &TcpFacts,
) -> Vec<(String, String)> {
    let mut told = vec![(socket_control(end), facts.congestion_control.clone())];
    if stage == SocketStage::Opened {
        told.extend([
            (format!("{end} socket nodelay"), facts.no_delay.to_string()),
            (format!("{end} socket paced"), facts.paced.to_string()),
            (format!("{end} socket segment size"), facts.segment_size.to_string()),
            (format!("{end} socket initial window"), facts.congestion_window.to_string()),
        ]);
    }
    told
}

/// What a side's connection over QUIC began to send by, for the row.
pub(crate) fn note_quic(end: &str, facts: &QuicFacts) -> [(String, String); 3] {
    let packets = facts.congestion_window / u64::from(facts.datagram_size).max(1);
    [
        (quic_control(end), facts.congestion_control.to_owned()),
        (format!("{end} quic initial window"), packets.to_string()),
        (format!("{end} quic datagram size"), facts.datagram_size.to_string()),
    ]
}

/// What a side's connection over QUIC did, and what the other side allowed it, for the row.
pub(crate) fn tallied([end, other]: [&str; 2], tally: &QuicTally) -> Vec<(String, String)> {
    let mut told = vec![
        (format!("{end} quic largest batch"), tally.largest_batch.to_string()),
        (format!("{end} quic last datagram size"), tally.datagram_size.to_string()),
        (format!("{end} quic mtu probes"), tally.mtu_probes.to_string()),
        (format!("{end} quic ack frequency frames"), tally.ack_frequency_frames.to_string()),
    ];
    if let Some(PeerWindows { connection, stream }) = tally.peer_windows {
        told.push((format!("{other} quic connection window"), connection.to_string()));
        told.push((format!("{other} quic stream window"), stream.to_string()));
    }
    told
}

/// Whether a setting is of those that [`note_quic`] and [`tallied`] tell.
pub(super) fn is_of_quic(setting: &str) -> bool {
    setting.contains(" quic ")
}

/// Why a trial must not stand under its contender's name: `settings` as they were read back differ from what was asked
/// for. None where they are in force, or nobody could read them.
pub(crate) fn refused(
    contender: &Contender,
    settings: &BTreeMap<String, String>,
) -> Option<Outcome> {
    let control = contender.settings.congestion_control.name();
    let asked = ["near", "far"].into_iter().flat_map(|end| {
        let sysctls = sysctls(contender).into_iter();
        let mut asked: Vec<(String, String)> =
            sysctls.map(|(name, value)| (format!("{end} {name}"), value)).collect();
        if settings.contains_key(&format!("{end} IPv4 route")) {
            // By route; the loopback device of a trial without a link has none of its own.
            asked.push((socket_control(end), control.to_owned()));
        }
        asked.push((quic_control(end), control.to_owned()));
        asked
    });
    asked.into_iter().find_map(|(name, value)| {
        let told = settings.get(&name).filter(|told| **told != value)?;
        Some(Outcome::Unsupported {
            reason: format!("{name}: {value} was asked for, but it is {told}"),
            remedy: "leave this setting of the contender away".to_owned(),
        })
    })
}

fn socket_control(end: &str) -> String {
    format!("{end} socket congestion control")
}

fn quic_control(end: &str) -> String {
    format!("{end} quic congestion control")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(transport: &str) -> Contender {
        let toml = format!(
            "name = \"e\"\ntitle = \"\"\nquestion = \"\"\nbaseline = \"c\"\n[[workloads]]\nkind = \"page\"\nimages = 1\n\
             bytes = 10\n[[links]]\nname = \"lan\"\n[[contenders]]\nname = \"c\"\ntransport = \"{transport}\"\n\
             settings = {{ congestion_control = \"reno\" }}\n"
        );
        toml.parse::<study::experiment::Experiment>().unwrap().contenders.remove(0)
    }

    fn told(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        settings.iter().map(owned).collect()
    }

    #[test]
    fn the_congestion_control_of_each_end_is_held_to_what_was_asked_for() {
        let routes = [("near IPv4 route", "r"), ("far IPv4 route", "r")];
        for (transport, kind) in [("h2", "socket"), ("h3", "quic")] {
            let contender = contender(transport);
            for end in ["near", "far"] {
                let name = format!("{end} {kind} congestion control");
                let with = |value| told(&[&routes[..], &[(name.as_str(), value)]].concat());
                assert_eq!(refused(&contender, &with("reno")), None);
                let Some(Outcome::Unsupported { reason, .. }) = refused(&contender, &with("cubic"))
                else {
                    panic!("{name} is not looked at")
                };
                assert_eq!(reason, format!("{name}: reno was asked for, but it is cubic"));
            }
        }
        // The loopback device decides for TCP, where there is no link.
        let loopback = told(&[("far socket congestion control", "cubic")]);
        assert_eq!(refused(&contender("h2"), &loopback), None);
    }
}
