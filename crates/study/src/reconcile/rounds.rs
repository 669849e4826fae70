//! How many packets the far side sent in each of its first rounds, from the link's log: slow start, counted. The one rule: TCP
//! and QUIC are counted alike, by what both show.
//!
//! The first round begins with what follows the first request. A round ends when the far side hears of the first packet of
//! that round that came: by TCP's acknowledgement, or over QUIC by the next packet of the client's. Packets count that carry a full
//! segment or nearly so; what is smaller has heads, tickets and the like.

use super::CLOCK_TOLERANCE;
use super::causes::{LEAST_FULL, is_before, payload, reversed};
use std::collections::HashMap;
use trace::{Direction, Fate, FetchRecord, Flow, PacketRecord};
use unit::Instant;

/// How many rounds are counted.
pub const FIRST_ROUNDS: usize = 5;

/// The packets of each of the first rounds on the flow that has most of them; zeros for rounds that there were not.
pub(super) fn first_rounds(
    packets: &[PacketRecord],
    fetches: &[FetchRecord],
) -> [u64; FIRST_ROUNDS] {
    let mut rounds = [0; FIRST_ROUNDS];
    let asked = fetches.iter().filter_map(|fetch| fetch.phases.sent).min();
    let (Some(flow), Some(asked)) = (busiest(packets), asked) else { return rounds };
    let down = of(packets, flow, |packet| payload(packet) >= LEAST_FULL);
    let up = of(packets, reversed(flow), |packet| delivered(packet).is_some());
    let request = up.iter().find(|packet| packet.at + CLOCK_TOLERANCE >= asked);
    let mut begins = request.and_then(|packet| delivered(packet));
    for round in &mut rounds {
        let Some(from) = begins else { break };
        let own = &down[down.partition_point(|packet| packet.at < from)..];
        let first = own.iter().find(|packet| delivered(packet).is_some());
        begins = first.and_then(|first| heard(first, &up));
        let before = |packet: &&&PacketRecord| begins.is_none_or(|next| packet.at < next);
        *round = own.iter().take_while(before).count() as u64;
    }
    rounds
}

/// The flow to the client with most full packets.
fn busiest(packets: &[PacketRecord]) -> Option<Flow> {
    let mut full: HashMap<Flow, u64> = HashMap::new();
    for packet in packets.iter().filter(|packet| packet.direction == Direction::Down) {
        if let Some(flow) = packet.flow.filter(|_| payload(packet) >= LEAST_FULL) {
            *full.entry(flow).or_default() += 1;
        }
    }
    full.into_iter().max_by_key(|(flow, count)| (*count, flow.destination)).map(|(flow, _)| flow)
}

/// Those packets of a flow, as they entered the link.
fn of(
    packets: &[PacketRecord],
    flow: Flow,
    is_meant: impl Fn(&PacketRecord) -> bool,
) -> Vec<&PacketRecord> {
    let own = packets.iter().filter(|packet| packet.flow == Some(flow) && is_meant(packet));
    let mut own: Vec<_> = own.collect();
    own.sort_by_key(|packet| packet.at);
    own
}

/// When the sender of `first` heard that it came; None where it did not, or nothing was heard.
fn heard(first: &PacketRecord, up: &[&PacketRecord]) -> Option<Instant> {
    let came = delivered(first)?;
    let tells = |packet: &&&PacketRecord| {
        packet.at >= came
            && match (packet.tcp, first.tcp) {
                (Some(back), Some(sent)) => {
                    let end = sent.sequence.wrapping_add(sent.payload);
                    !is_before(back.acknowledgement, end)
                }
                _ => true,
            }
    };
    up.iter().find(tells).and_then(|packet| delivered(packet))
}

fn delivered(packet: &PacketRecord) -> Option<Instant> {
    match packet.fate {
        Fate::Delivered { at } => Some(at),
        _ => None,
    }
}
