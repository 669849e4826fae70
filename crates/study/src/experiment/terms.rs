//! Whether TCP and QUIC of one experiment have the same settings, so that protocol and tuning come apart. Each contender over
//! one of them needs a counterpart over the other whose packets, window, controller and receive windows are the same.

use super::contender::Contender;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trace::Protocol;

/// What TCP and QUIC of one experiment have in common, so that protocol and tuning come apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Terms {
    /// Packets of one size, one initial window, one congestion control, and pacing at one rate.
    #[default]
    Equal,
    /// What each has by itself: Linux does not pace TCP, and quinn-proto begins with datagrams of 1,200 bytes and tries
    /// larger ones.
    AsShipped,
}

impl Terms {
    pub(super) fn is_equal(&self) -> bool {
        *self == Self::Equal
    }
}

/// What `own` has otherwise than the contender over the other transport that is most like it: `initial window 32, where h2 has
/// 10`. Empty where one has all the same.
pub(super) fn unmatched(own: &Contender, contenders: &[Contender]) -> Vec<String> {
    // One that speaks both is its own counterpart.
    if own.settings.terms != Terms::Equal || uses_tcp(own) == uses_quic(own) {
        return Vec::new();
    }
    let counterparts = || {
        let is_other =
            |one: &&Contender| if uses_tcp(own) { uses_quic(one) } else { uses_tcp(one) };
        contenders.iter().filter(is_other)
    };
    let equal = counterparts().filter(|other| other.settings.terms == Terms::Equal);
    if let Some(least) = equal.map(|other| differences(own, other)).min_by_key(Vec::len) {
        return least;
    }
    // TCP beside QUIC as it is shipped is the host's, and has no terms.
    let as_shipped = counterparts().filter(|_| uses_quic(own));
    as_shipped.take(1).map(|other| format!("{} is as it is shipped", other.name)).collect()
}

fn uses_quic(contender: &Contender) -> bool {
    contender.transport.is_over_quic()
}

fn uses_tcp(contender: &Contender) -> bool {
    !uses_quic(contender) || contender.settings.first_visit.uses_tcp()
}

fn differences(own: &Contender, other: &Contender) -> Vec<String> {
    let (mine, theirs) = (&own.settings, &other.settings);
    let client = |one: &Contender| one.foreign_client().unwrap_or("wirelap").to_owned();
    let mut all = vec![
        ("client", client(own), client(other)),
        ("MTU", mine.mtu.to_string(), theirs.mtu.to_string()),
        ("initial window", mine.initial_window.to_string(), theirs.initial_window.to_string()),
        (
            "congestion control",
            mine.congestion_control.name().to_owned(),
            theirs.congestion_control.name().to_owned(),
        ),
    ];
    // Other people's clients have windows of their own, which nobody tells.
    if [own, other].iter().all(|one| one.foreign_client().is_none()) {
        let [stream, others_stream] = [mine, theirs].map(|one| one.stream_window.to_string());
        all.push(("stream window", stream, others_stream));
        if [own, other].iter().all(|one| has_connection_window(one)) {
            let [whole, others] = [mine, theirs].map(|one| one.connection_window.to_string());
            all.push(("connection window", whole, others));
        }
    }
    let differ = all.into_iter().filter(|(_, mine, theirs)| mine != theirs);
    differ
        .map(|(what, mine, theirs)| format!("{what} {mine}, where {} has {theirs}", other.name))
        .collect()
}

fn has_connection_window(contender: &Contender) -> bool {
    matches!(
        contender.transport.protocol(),
        Protocol::Http2
            | Protocol::Http3
            | Protocol::Spdy31
            | Protocol::WebSocketH2
            | Protocol::WebSocketH3
    )
}

#[cfg(test)]
mod tests {
    use crate::experiment::Experiment;

    /// What the contenders of these tables lack, in their order.
    fn unmatched(contenders: &[(&str, &str, &str)]) -> Vec<Vec<String>> {
        let mut toml = "name = \"x\"\ntitle = \"x\"\nquestion = \"x\"\nbaseline = \"a\"\nmargin = 0.05\nseed = 1\n\
                        timeout = \"1s\"\ntrials = 8\nwarmup = 0\n[[workloads]]\nkind = \"page\"\nimages = 1\n\
                        bytes = \"1kB\"\n[[links]]\nname = \"lan\"\n"
            .to_owned();
        for (name, transport, settings) in contenders {
            toml += &format!(
                "[[contenders]]\nname = \"{name}\"\ntransport = \"{transport}\"\nsettings = {{ {settings} }}\n"
            );
        }
        let experiment: Experiment = toml.parse().unwrap();
        let all = &experiment.contenders;
        all.iter().map(|one| one.among(all).settings.unmatched).collect()
    }

    #[test]
    fn each_side_says_what_no_contender_of_the_other_has() {
        let none: Vec<String> = Vec::new();
        assert_eq!(unmatched(&[("a", "h2", ""), ("b", "h3", "")]), [none.clone(), none.clone()]);
        let [a, b] = &unmatched(&[("a", "h2", ""), ("b", "h3", "initial_window = 32")])[..] else {
            panic!("two")
        };
        assert_eq!(*a, ["initial window 10, where b has 32"]);
        assert_eq!(*b, ["initial window 32, where a has 10"]);
    }

    #[test]
    fn one_counterpart_of_several_is_enough() {
        let knobs = "congestion_control = \"reno\", mtu = 1280";
        let [a, b, c] = &unmatched(&[("a", "h2", ""), ("b", "h3", ""), ("c", "h3", knobs)])[..]
        else {
            panic!("three")
        };
        assert!(a.is_empty() && b.is_empty());
        assert_eq!(
            *c,
            ["MTU 1280, where a has 1500", "congestion control reno, where a has cubic"]
        );
    }

    #[test]
    fn another_client_is_a_difference_and_its_windows_are_its_own() {
        let none: Vec<String> = Vec::new();
        // The rest of the line is the contender's own.
        let [h2, h3] = ["h2\"\nclient = \"curl", "h3\"\nclient = \"curl"];
        let small = "stream_window = \"100kB\", connection_window = \"1MB\"";
        let beside = unmatched(&[("a", h2, small), ("b", "h3", "")]);
        assert_eq!(
            beside,
            [vec!["client curl, where b has wirelap"], vec!["client wirelap, where a has curl"]]
        );
        assert_eq!(unmatched(&[("a", h2, small), ("b", h3, "")]), [none.clone(), none]);
        let own = "h2\"\nclient = \"wirelap-get";
        assert!(unmatched(&[("a", own, ""), ("b", "h3", "")]).iter().all(Vec::is_empty));
    }

    #[test]
    fn there_is_nothing_to_match_without_the_other_transport_or_as_shipped() {
        let none: Vec<String> = Vec::new();
        let (wide, shipped) = ("initial_window = 32", "terms = \"as-shipped\"");
        for contenders in [
            [("a", "h2", ""), ("b", "http/1.1", wide)],
            [("a", "h3", ""), ("b", "h3", wide)],
            [("a", "h2", wide), ("b", "h3", shipped)],
            [("a", "h3", ""), ("b", "h3", "first_visit = \"alt-svc\"")],
            // Neither HTTP/1.1 nor SPDY/3 has a window for the connection.
            [("a", "http/1.1", ""), ("b", "h3", "connection_window = \"1MB\"")],
            [("a", "spdy/3", ""), ("b", "h3", "connection_window = \"1MB\"")],
        ] {
            assert_eq!(unmatched(&contenders), [none.clone(), none.clone()], "{contenders:?}");
        }
        let beside_shipped = unmatched(&[("a", "h2", shipped), ("b", "h3", wide)]);
        assert_eq!(beside_shipped, [none, vec!["a is as it is shipped".to_owned()]]);
    }
}
