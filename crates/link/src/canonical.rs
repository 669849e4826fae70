//! A spec as inline text, the form in which it is stored. Parsing the text gives an equal spec.

use crate::active::Discipline;
use crate::codel::{Codel, EcnMarks};
use crate::loss::Loss;
use crate::policer::{Policer, Udp};
use crate::spec::{Bottleneck, LinkSpec, Order, PathSpec, Queue, Reordering};
use std::time::Duration;
use trace::Direction;
use unit::{BitRate, ByteSize, Probability};

impl LinkSpec {
    /// The inline text of this spec: `parse` reads it back to an equal value, with the same traces.
    pub fn canonical(&self) -> String {
        let mut items = Vec::new();
        for direction in [Direction::Down, Direction::Up] {
            let way = match direction {
                Direction::Down => "down",
                Direction::Up => "up",
            };
            write_path(&mut items, way, self.path(direction));
        }
        items.extend(self.split_tcp.map(|split| {
            format!("split_tcp={}/{}", byte_size(split.buffer), probability(split.near_share))
        }));
        items.extend(self.rebind.map(|at| format!("rebind={}", duration(at))));
        items.join(",")
    }
}

fn write_path(items: &mut Vec<String>, way: &str, path: &PathSpec) {
    items.push(format!("delay_{way}={}", duration(path.delay)));
    match &path.bottleneck {
        Bottleneck::Unlimited => {}
        Bottleneck::Rate(rate) => items.push(format!("{way}={}", bit_rate(*rate))),
        Bottleneck::Trace { file, .. } => items.push(format!("trace_{way}={file}")),
    }
    match path.queue {
        Queue::Bytes(bytes) => items.push(format!("queue_{way}={}", byte_size(bytes))),
        queue @ Queue::Bdp(_) if queue == Queue::default() => {}
        Queue::Bdp(multiple) => items.push(format!("queue_{way}={multiple}bdp")),
    }
    items.extend(path.policer.map(|limit| format!("policer_{way}={}", policer(limit))));
    match path.udp {
        Udp::Allowed => {}
        Udp::Policed(limit) => items.push(format!("udp_rate_{way}={}", policer(limit))),
        Udp::Blocked => items.push(format!("udp_{way}=blocked")),
    }
    match path.discipline {
        Discipline::DropTail => {}
        Discipline::Codel(settings) => items.push(format!("aqm_{way}=codel{}", codel(settings))),
        Discipline::FqCodel(settings) => {
            items.push(format!("aqm_{way}=fq_codel{}", codel(settings)));
        }
    }
    if path.loss != Loss::NONE {
        items.push(format!("loss_{way}={}", loss(path.loss)));
    }
    if !path.jitter.is_zero() {
        items.push(format!("jitter_{way}={}", duration(path.jitter)));
    }
    match path.order {
        Order::Kept => {}
        Order::Free => items.push(format!("reorder_{way}=yes")),
        Order::Reordered { share, by } => {
            let by = match by {
                Reordering::Time(time) => duration(time),
                Reordering::Packets(packets) => packets.to_string(),
            };
            items.push(format!("reorder_{way}={}/{by}", probability(share)));
        }
    }
}

fn policer(Policer { rate, burst }: Policer) -> String {
    format!("{}/{}", bit_rate(rate), byte_size(burst))
}

fn codel(Codel { target, interval, ecn }: Codel) -> String {
    let ecn = match ecn {
        EcnMarks::Set => "mark",
        EcnMarks::Unused => "drop",
    };
    format!("/{}/{}/{ecn}", duration(target), duration(interval))
}

fn loss(loss: Loss) -> String {
    match loss {
        Loss::Independent(share) => probability(share),
        Loss::Bursts(bursts) => format!("{}/{}", probability(bursts.mean()), bursts.length()),
        Loss::GilbertElliott(chain) => {
            [chain.to_bad, chain.to_good, chain.bad, chain.good].map(probability).join("/")
        }
    }
}

fn duration(span: Duration) -> String {
    match u64::try_from(span.as_nanos()).unwrap_or(u64::MAX) {
        nanos if nanos % 1_000_000 == 0 => format!("{}ms", nanos / 1_000_000),
        nanos if nanos % 1_000 == 0 => format!("{}us", nanos / 1_000),
        nanos => format!("{nanos}ns"),
    }
}

fn bit_rate(rate: BitRate) -> String {
    match rate.bits_per_second() {
        bits if bits % 1_000_000 == 0 => format!("{}mbit", bits / 1_000_000),
        bits if bits % 1_000 == 0 => format!("{}kbit", bits / 1_000),
        bits => format!("{bits}bit"),
    }
}

fn byte_size(size: ByteSize) -> String {
    match size.0 {
        bytes if bytes % 1_000 == 0 => format!("{}kB", bytes / 1_000),
        bytes => format!("{bytes}B"),
    }
}

/// The fraction in per cent, without rounding: the decimal point of its shortest decimal text is moved by two places.
fn probability(chance: Probability) -> String {
    let text = chance.fraction().to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part = format!("{part:0<2}");
    let (hundredths, rest) = part.split_at(2);
    let percent = format!("{whole}{hundredths}");
    let percent = match percent.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    match rest {
        "" => format!("{percent}%"),
        rest => format!("{percent}.{rest}%"),
    }
}
