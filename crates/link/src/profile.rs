//! Named link profiles. The one rule: every figure names its source. A figure without one is marked "assumed".

use crate::spec::{Bottleneck, LinkSpec, PathSpec, Queue};
use crate::text::no_traces;
use std::time::Duration;
use unit::{BitRate, ByteSize};

/// A link with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Its name on the command line.
    pub name: &'static str,
    /// Rate from far to near.
    pub down: BitRate,
    /// Rate from near to far.
    pub up: BitRate,
    /// Round trip of the empty link, half of it each way.
    pub rtt: Duration,
    /// Queue, each way.
    pub queue: ByteSize,
    /// Further settings, as they stand on a command line.
    pub settings: &'static str,
    /// Where the figures are from.
    pub source: &'static str,
}

impl Profile {
    /// The specification of the link.
    pub fn spec(&self) -> LinkSpec {
        let way = |rate| PathSpec {
            delay: self.rtt / 2,
            bottleneck: Bottleneck::Rate(rate),
            queue: Queue::Bytes(self.queue),
            ..PathSpec::default()
        };
        let plain =
            LinkSpec { up: way(self.up), down: way(self.down), rebind: None, split_tcp: None };
        let whole = plain.with_settings(self.settings, no_traces);
        whole.unwrap_or_else(|_| unreachable!("a test reads the settings of every profile"))
    }
}

/// All profiles, the fastest first.
pub fn profiles() -> &'static [Profile] {
    &PROFILES
}

/// The profile called `name`.
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

static PROFILES: [Profile; 11] = [
    Profile {
        name: "lan",
        down: kbit(1_000_000),
        up: kbit(1_000_000),
        rtt: Duration::from_micros(400),
        queue: ByteSize(512_000),
        settings: "",
        source: "assumed: switched gigabit",
    },
    Profile {
        name: "fibre",
        down: kbit(120_000),
        up: kbit(20_000),
        rtt: Duration::from_millis(15),
        queue: ByteSize(225_000),
        settings: "",
        source: "Ookla, US fixed median, Q3 2021 (compare WebPageTest FIOS 20/5, 4 ms); queue assumed, 1 BDP down, as many bytes up",
    },
    Profile {
        name: "wifi",
        down: kbit(30_000),
        up: kbit(15_000),
        rtt: Duration::from_millis(22),
        queue: ByteSize(256_000),
        settings: "",
        source: "Firefox DevTools Wi-Fi (30/15, 2 ms) plus 20 ms of wired path; queue assumed",
    },
    Profile {
        name: "4g",
        down: kbit(9_000),
        up: kbit(9_000),
        rtt: Duration::from_millis(170),
        queue: ByteSize(192_000),
        settings: "",
        source: "WebPageTest 4G (LTE there: 12/12, 70 ms); queue assumed, 1 BDP",
    },
    Profile {
        name: "3g",
        down: kbit(1_600),
        up: kbit(768),
        rtt: Duration::from_millis(300),
        queue: ByteSize(60_000),
        settings: "",
        source: "WebPageTest 3G; queue assumed, 1 BDP down, as many bytes up",
    },
    Profile {
        name: "slow-4g",
        down: kbit(1_600),
        up: kbit(750),
        rtt: Duration::from_millis(150),
        queue: ByteSize(30_000),
        settings: "",
        source: "Lighthouse mobile throttling; queue assumed, 1 BDP down, as many bytes up",
    },
    Profile {
        name: "leo",
        down: kbit(87_000),
        up: kbit(13_500),
        rtt: Duration::from_millis(44),
        queue: ByteSize(480_000),
        settings: "",
        source: "Ookla, Starlink US median, Q3 2021; varies every 15 s in reality (arXiv 2310.09242); queue assumed, 1 BDP down, as many bytes up",
    },
    Profile {
        name: "geo",
        down: kbit(19_000),
        up: kbit(2_700),
        rtt: Duration::from_millis(660),
        queue: ByteSize(1_600_000),
        settings: "",
        source: "Ookla, HughesNet and Viasat medians, Q3 2021; proxies split TCP on such links, not QUIC (arXiv 2205.01554): to compare h3 fairly, race `geo,split_tcp=256kB`; queue assumed, 1 BDP down, as many bytes up",
    },
    Profile {
        name: "burst",
        down: kbit(9_000),
        up: kbit(9_000),
        rtt: Duration::from_millis(170),
        queue: ByteSize(192_000),
        settings: "loss=1%/8",
        source: "4g with Gilbert's bursts (BSTJ 39, 1960); 1 % in bursts of 8 packets assumed",
    },
    Profile {
        name: "smart-queue",
        down: kbit(30_000),
        up: kbit(15_000),
        rtt: Duration::from_millis(22),
        queue: ByteSize(1_000_000),
        settings: "aqm=fq_codel",
        source: "wifi behind a router with FQ-CoDel and ECN, RFC 8290's defaults; queue assumed, large enough not to matter",
    },
    Profile {
        name: "policed",
        down: kbit(30_000),
        up: kbit(15_000),
        rtt: Duration::from_millis(22),
        queue: ByteSize(256_000),
        settings: "policer_down=5mbit/64kB",
        source: "wifi behind a policer, as Flach et al. found them (SIGCOMM 2016); rate and burst assumed",
    },
];

const fn kbit(kilobits: u64) -> BitRate {
    match BitRate::new(kilobits * 1000) {
        Some(rate) => rate,
        None => panic!("a profile's rate is above zero"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_prints_its_figures() {
        let three_g = find("3g").unwrap().spec();
        assert_eq!(three_g.to_string(), "1.6/0.768 Mbit/s, RTT 300 ms, queue 60 kB");
        let lan = find("lan").unwrap().spec();
        assert_eq!(lan.to_string(), "1000/1000 Mbit/s, RTT 0.4 ms, queue 512 kB");
    }

    #[test]
    fn every_profile_names_a_source_and_no_two_share_a_name() {
        for (index, profile) in profiles().iter().enumerate() {
            assert!(profile.source.contains("assumed"), "no source gives queues: {}", profile.name);
            let spec = profile.spec();
            assert_eq!(LinkSpec::parse(&spec.canonical(), no_traces), Ok(spec));
            assert!(profiles()[..index].iter().all(|other| other.name != profile.name));
        }
    }
}
