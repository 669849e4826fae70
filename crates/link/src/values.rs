//! The values of a link's settings. The one rule: where a value has parts, slashes separate them.

use crate::active::Discipline;
use crate::codel::{Codel, EcnMarks};
use crate::loss::{Bursts, GilbertElliott, Loss};
use crate::policer::{Policer, Udp};
use crate::spec::{Order, Queue, Reordering, SplitTcp};
use std::time::Duration;
use unit::{BitRate, ByteSize, ParseError, Probability, parse_duration};

/// A policer's burst where none is given: 43 packets of 1500 bytes.
const USUAL_BURST: ByteSize = ByteSize(64_000);
/// A bucket that holds less than one packet would never let it pass.
const LEAST_BURST: ByteSize = ByteSize(1500);
/// Where a TCP proxy stands unless it is said: with half of the delay on either side. RFC 3135 leaves the place to the
/// network; a mobile operator's proxy is behind its radio network (Xu et al., PAM 2015), a satellite's behind the satellite.
const MIDWAY: f64 = 0.5;
/// The least buffer of a TCP proxy: Linux's initial window of ten segments fits (RFC 6928).
const LEAST_PROXY: ByteSize = ByteSize(16_000);
/// The longest time of an active queue or of a reordered packet: TCP would take more for a loss. The messages name it.
const LONGEST: Duration = Duration::from_secs(10);

pub(crate) fn parse_queue(value: &str) -> Result<Queue, ParseError> {
    const EXPECTED: &str = "a queue such as 64kB or 1.5bdp";
    let error = || ParseError::new(value, EXPECTED);
    match value.to_ascii_lowercase().strip_suffix("bdp") {
        None => value.parse::<ByteSize>().map(Queue::Bytes).map_err(|_| error()),
        Some(number) => {
            let multiple: f64 = number.trim().parse().map_err(|_| error())?;
            let sane = multiple.is_finite() && multiple.is_sign_positive();
            sane.then_some(Queue::Bdp(multiple)).ok_or_else(error)
        }
    }
}

/// `1%`, `1%/8` (bursts of eight on average), or the four parameters of Gilbert and Elliott's chain.
pub(crate) fn parse_loss(value: &str) -> Result<Loss, ParseError> {
    const EXPECTED: &str = "a share in per cent, such as 1%; with a mean burst of packets, 1%/8; or p/r/bad/good, 0.1%/20%/50%/0%";
    let error = || ParseError::new(value, EXPECTED);
    let parts: Vec<&str> = value.split('/').map(str::trim).collect();
    let share = |text| share(text).ok_or_else(error);
    match parts[..] {
        [all] => Ok(Loss::Independent(share(all)?)),
        [mean, length] => {
            let length = length.parse().map_err(|_| error())?;
            let possible =
                "a burst of at least one packet, and a loss that leaves space between such bursts";
            let bursts = Bursts::new(share(mean)?, length);
            bursts.map(Loss::Bursts).ok_or_else(|| ParseError::new(value, possible))
        }
        [to_bad, to_good, bad, good] => Ok(Loss::GilbertElliott(GilbertElliott {
            to_bad: share(to_bad)?,
            to_good: share(to_good)?,
            bad: share(bad)?,
            good: share(good)?,
        })),
        _ => Err(error()),
    }
}

/// In per cent. A bare `1` is ambiguous: one packet in a hundred, or every packet.
fn share(text: &str) -> Option<Probability> {
    let Some(number) = text.strip_suffix('%') else {
        return (text == "0").then_some(Probability::ZERO);
    };
    let number = number.trim_end();
    if number.contains(|c: char| !c.is_ascii_digit() && c != '.') {
        return None;
    }
    // The exponent shifts the decimal point, so that 0.57% is exactly 0.0057.
    Probability::new(format!("{number}e-2").parse().ok()?)
}

/// `yes`, `no`, or a share of packets and how far they are held back: `1%/5ms`, `1%/3`.
pub(crate) fn parse_order(value: &str) -> Result<Order, ParseError> {
    const EXPECTED: &str = "yes or no, or a share of packets with the time (at most 10s) or the number of packets that they are held back by: 1%/5ms, 1%/3";
    let error = || ParseError::new(value, EXPECTED);
    match (value, value.split_once('/')) {
        ("yes", _) => Ok(Order::Free),
        ("no", _) => Ok(Order::Kept),
        (_, None) => Err(error()),
        (_, Some((of, by))) => {
            let share = share(of.trim()).ok_or_else(error)?;
            let by = match by.trim().parse() {
                Ok(0) => return Err(error()),
                Ok(packets) => Reordering::Packets(packets),
                Err(_) => Reordering::Time(time(by).ok_or_else(error)?),
            };
            Ok(Order::Reordered { share, by })
        }
    }
}

/// A time that is neither none nor too long.
fn time(text: &str) -> Option<Duration> {
    parse_duration(text.trim()).ok().filter(|time| !time.is_zero() && *time <= LONGEST)
}

/// `codel`, `fq_codel/20ms/200ms/drop`: the name, the target and interval, and whether ECN is used.
pub(crate) fn parse_discipline(value: &str) -> Result<Discipline, ParseError> {
    const EXPECTED: &str = "none, codel or fq_codel, with a target and a longer interval, each at most 10s (codel/5ms/100ms), and with mark or drop (codel/drop) for packets that take ECN";
    let error = || ParseError::new(value, EXPECTED);
    let parts: Vec<&str> = value.split('/').map(str::trim).collect();
    let (&name, mut rest) = parts.split_first().ok_or_else(error)?;
    let mut codel = Codel::default();
    if let [target, interval, more @ ..] = rest {
        codel.target = time(target).ok_or_else(error)?;
        codel.interval = time(interval).filter(|i| *i > codel.target).ok_or_else(error)?;
        rest = more;
    }
    codel.ecn = match rest {
        [] | ["mark"] => EcnMarks::Set,
        ["drop"] => EcnMarks::Unused,
        _ => return Err(error()),
    };
    match name {
        "none" if parts.len() == 1 => Ok(Discipline::DropTail),
        "codel" => Ok(Discipline::Codel(codel)),
        "fq_codel" => Ok(Discipline::FqCodel(codel)),
        _ => Err(error()),
    }
}

/// `none`, or a buffer; with the share of the delay that lies between near and the proxy: `256kB/80%`.
pub(crate) fn parse_split_tcp(value: &str) -> Result<Option<SplitTcp>, ParseError> {
    const EXPECTED: &str = "none, or the buffer of a TCP proxy, at least 16kB, with the share of the delay that lies before it: 256kB, 256kB/80%";
    let error = || ParseError::new(value, EXPECTED);
    if value == "none" {
        return Ok(None);
    }
    let (buffer, near_share) = match value.split_once('/') {
        None => (value, Probability::new(MIDWAY).ok_or_else(error)?),
        Some((buffer, before)) => (buffer, share(before.trim()).ok_or_else(error)?),
    };
    let buffer = buffer.trim().parse::<ByteSize>().map_err(|_| error())?;
    (buffer >= LEAST_PROXY).then_some(Some(SplitTcp { buffer, near_share })).ok_or_else(error)
}

/// `none`, or a rate with a burst.
pub(crate) fn parse_policer(value: &str) -> Result<Option<Policer>, ParseError> {
    match value {
        "none" => Ok(None),
        _ => bucket(value).map(Some),
    }
}

fn bucket(value: &str) -> Result<Policer, ParseError> {
    const EXPECTED: &str = "a rate, or a rate with a burst of at least 1500B, such as 5mbit/64kB";
    let error = || ParseError::new(value, EXPECTED);
    let (rate, burst) = match value.split_once('/') {
        None => (value, USUAL_BURST),
        Some((rate, burst)) => (rate, burst.trim().parse::<ByteSize>().map_err(|_| error())?),
    };
    let rate = rate.trim().parse::<BitRate>().map_err(|_| error())?;
    let policer = Policer { rate, burst };
    (burst >= LEAST_BURST).then_some(policer).ok_or_else(error)
}

pub(crate) fn parse_udp(value: &str) -> Result<Udp, ParseError> {
    match value {
        "allowed" => Ok(Udp::Allowed),
        "blocked" => Ok(Udp::Blocked),
        _ => Err(ParseError::new(value, "allowed or blocked; for a rate there is udp_rate=")),
    }
}

/// As much UDP as a policer of this rate lets through.
pub(crate) fn parse_udp_rate(value: &str) -> Result<Udp, ParseError> {
    bucket(value).map(Udp::Policed)
}
