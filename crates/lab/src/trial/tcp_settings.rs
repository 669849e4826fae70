//! What a contender asks of TCP: the sysctls of the namespaces, whether the kernel took them, and what the packets show.

use os::error::Os;
use os::net::TcpSettings;
use std::net::SocketAddr;
use std::time::Duration;
use study::experiment::{Contender, Terms};
use study::outcome::Outcome;
use study::reconcile::begun;
use trace::PacketRecord;
use unit::ByteSize;

const SLOW_START: &str = "net.ipv4.tcp_slow_start_after_idle";
const PACING_IN_SLOW_START: &str = "net.ipv4.tcp_pacing_ss_ratio";
const PACING: &str = "net.ipv4.tcp_pacing_ca_ratio";
/// Per cent of a congestion window in a round trip: quinn-proto's, after RFC 9002 §7.7.
const AS_QUIC: &str = "125";
/// The same in slow start: Linux's default, and what our controllers over QUIC have there. Less leaves a round's last packets to the
/// next one.
const IN_SLOW_START: &str = "200";
const ECN: &str = "net.ipv4.tcp_ecn";
/// As a client it is asked for, too.
const ASKED_FOR: &str = "1";
/// Whether a SYN that is sent again asks for it no more.
const ECN_FALLBACK: &str = "net.ipv4.tcp_ecn_fallback";
const KEPT: &str = "0";
const RECEIVE_BUFFER: &str = "net.ipv4.tcp_rmem";
const FAST_OPEN: &str = "net.ipv4.tcp_fastopen";
/// As client and as server (tcp(7)).
const BOTH_WAYS: &str = "3";

/// The sysctls of both ends that differ from what every trial has.
pub(crate) fn sysctls(contender: &Contender) -> Vec<(String, String)> {
    let settings = &contender.settings;
    let slow_start = (!settings.slow_start_after_idle).then_some((SLOW_START, "0"));
    let fast_open = settings.fast_open.then_some((FAST_OPEN, BOTH_WAYS));
    let pacing =
        settings.pacing.then_some([(PACING_IN_SLOW_START, IN_SLOW_START), (PACING, AS_QUIC)]);
    let ecn = asks_for_ecn(contender).then_some([(ECN, ASKED_FOR), (ECN_FALLBACK, KEPT)]);
    let several = ecn.into_iter().chain(pacing).flatten();
    let all = slow_start.into_iter().chain(fast_open).chain(several);
    let all = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
    all.chain(settings.pacing.then(|| receive_buffer(settings.stream_window))).collect()
}

/// Beside QUIC of our own, which always asks: a queue that marks would drop TCP's packets and mark QUIC's. Other people's QUIC
/// mostly does not.
fn asks_for_ecn(contender: &Contender) -> bool {
    let settings = &contender.settings;
    let is_own = contender.server.is_origin() && contender.client.is_none();
    settings.pacing && settings.terms == Terms::Equal && is_own
}

/// The buffer that TCP's receive window begins with: as much as a stream over QUIC may send. The usual 128 KiB grow too late for the
/// fifth round of slow start: of 160 packets the window let 148 at most through.
fn receive_buffer(window: ByteSize) -> (String, String) {
    let greatest = u64::from(TcpSettings::default().greatest_buffer);
    let first = window.0.clamp(USUAL_RECEIVE_BUFFER, greatest);
    (RECEIVE_BUFFER.to_owned(), format!("4096 {first} {greatest}"))
}

/// The kernel's default (tcp(7)).
const USUAL_RECEIVE_BUFFER: u64 = 131_072;

/// Fetches the cookies of `hosts`, from which the addresses are told that it was done from.
pub(crate) fn fetch_cookies(
    contender: &Contender,
    hosts: impl Iterator<Item = SocketAddr>,
    timeout: Duration,
) -> Result<Vec<SocketAddr>, Os> {
    match contender.settings.fast_open {
        true => hosts.map(|host| os::tcp::fetch_cookie(host, timeout)).collect(),
        false => Ok(Vec::new()),
    }
}

/// Takes out of the log what was said before the trial began.
pub(crate) fn forget(packets: &mut Vec<PacketRecord>, before: &[SocketAddr]) {
    packets.retain(|packet| {
        let ends = packet.flow.map(|flow| [flow.source, flow.destination]);
        ends.is_none_or(|ends| ends.iter().all(|end| !before.contains(end)))
    });
}

/// What the wire shows of Fast Open, where it was asked for: a fact for the row, and why the trial failed where no SYN
/// carried data.
pub(crate) fn seen(
    contender: &Contender,
    packets: &[PacketRecord],
) -> Option<(String, Option<Outcome>)> {
    contender.settings.fast_open.then(|| {
        let seen = begun(packets);
        let fact = format!("data in {} of {} SYNs", seen.with_data, seen.connections);
        let reason = "TCP Fast Open was asked for, but no SYN on the wire carried data".to_owned();
        let failed = (seen.with_data == 0).then_some(Outcome::Failed { reason });
        (fact, failed)
    })
}
