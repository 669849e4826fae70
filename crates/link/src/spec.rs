//! The settings of a link, for each direction: a delay, a bottleneck with its queue, loss and jitter.

use crate::active::Discipline;
use crate::loss::Loss;
use crate::policer::{Policer, Udp};
use crate::schedule::Schedule;
use crate::words;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use trace::Direction;
use unit::{BitRate, ByteSize, Probability, format_duration};

/// An emulated path between near and far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkSpec {
    /// From near to far.
    pub up: PathSpec,
    /// From far to near.
    pub down: PathSpec,
    /// Near's NAT loses its state so long after the first packet: from then on near's ports are others for far, and
    /// what far sends to the old ones is dropped.
    pub rebind: Option<Duration>,
    /// A proxy in the path that ends TCP's connections.
    pub split_tcp: Option<SplitTcp>,
}

/// A proxy that ends each TCP connection of near's and opens one of its own to far (RFC 3135 §2.4). It reads nothing above TCP.
/// What is not TCP passes it by. A [`Link`](crate::Link) does not know it: a driver runs the two [halves](LinkSpec::halves) and puts
/// the proxy between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitTcp {
    /// The most that it holds of one connection and direction: this much in its receive window, and as much read and waiting.
    pub buffer: ByteSize,
    /// The share of each direction's delay that lies between near and the proxy. Bottleneck, queue, policers, loss, jitter and
    /// reordering lie there too.
    pub near_share: Probability,
}

/// One direction of a link. The default passes everything at once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathSpec {
    /// From the bottleneck's end to the receiver, the same for every packet.
    pub delay: Duration,
    /// What limits the rate.
    pub bottleneck: Bottleneck,
    /// Drops what exceeds a rate, before the queue.
    pub policer: Option<Policer>,
    /// What of UDP is let through, before the queue.
    pub udp: Udp,
    /// The limit of the queue before the bottleneck. Packets beyond it are dropped.
    pub queue: Queue,
    /// Who leaves the queue first, and who is dropped from it.
    pub discipline: Discipline,
    /// Packets that are lost behind the bottleneck.
    pub loss: Loss,
    /// Each packet gets a further delay, uniform from zero to this.
    pub jitter: Duration,
    /// Whether packets may overtake each other.
    pub order: Order,
}

/// What limits a path's rate. Rates count IP bytes.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Bottleneck {
    /// No limit, and no queue.
    #[default]
    Unlimited,
    /// A constant rate.
    Rate(BitRate),
    /// A recorded schedule.
    Trace {
        /// The file, as the user wrote it.
        file: String,
        /// Its contents.
        schedule: Arc<Schedule>,
    },
}

/// The limit of a drop-tail queue. The packet in service does not count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Queue {
    /// In bytes.
    Bytes(ByteSize),
    /// In bandwidth-delay products of this path's mean rate and the link's round trip.
    Bdp(f64),
}

/// Whether packets leave a path in the order of their arrival.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Order {
    /// They do: a packet waits for an earlier one that jitter delays.
    #[default]
    Kept,
    /// They may overtake where jitter delays an earlier one.
    Free,
    /// This share of packets is held back, and others overtake them.
    Reordered {
        /// The share.
        share: Probability,
        /// How far each is held back.
        by: Reordering,
    },
}

/// How far a packet is held back (RFC 4737 §4 measures both).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reordering {
    /// By this time.
    Time(Duration),
    /// Until so many later packets have left, but no longer than [`LONGEST_HOLD`].
    Packets(u32),
}

/// The most that a packet is held back for packets behind it. Where none come, it goes on then.
pub const LONGEST_HOLD: Duration = Duration::from_millis(100);

impl Order {
    /// Whether packets are held back until others have passed.
    pub(crate) fn holds_for_packets(self) -> bool {
        matches!(self, Self::Reordered { by: Reordering::Packets(_), .. })
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::Bdp(1.0)
    }
}

/// A queue given in BDPs holds at least one initial window (RFC 6928: ten segments). Otherwise a short path would drop
/// packets in the first burst of every connection.
const LEAST_BDP_QUEUE: ByteSize = ByteSize(10 * 1500);

impl LinkSpec {
    /// The path of one direction.
    pub fn path(&self, direction: Direction) -> &PathSpec {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// Delay up plus delay down: the round trip of an empty link, without jitter and serialisation.
    pub fn rtt(&self) -> Duration {
        self.up.delay.saturating_add(self.down.delay)
    }

    /// The parts of a path with a TCP proxy: from near to the proxy, and from the proxy to far, which only delays. None
    /// without a proxy.
    pub fn halves(&self) -> Option<[Self; 2]> {
        let share = self.split_tcp?.near_share.fraction();
        let [mut near, mut far] = [Self { split_tcp: None, ..self.clone() }, Self::default()];
        for way in Direction::BOTH {
            let (whole, queue) = (self.path(way).delay, self.queue_limit(way));
            let path = near.path_mut(way);
            path.delay = whole.mul_f64(share);
            // A bandwidth-delay product is that of the whole path.
            path.queue = queue.map_or(path.queue, Queue::Bytes);
            far.path_mut(way).delay = whole.saturating_sub(path.delay);
        }
        Some([near, far])
    }

    fn path_mut(&mut self, direction: Direction) -> &mut PathSpec {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    /// The queue's bound in bytes; None where the path has no bottleneck to queue at.
    pub fn queue_limit(&self, direction: Direction) -> Option<ByteSize> {
        let path = self.path(direction);
        let rate = path.bottleneck.mean_rate()?;
        Some(match path.queue {
            Queue::Bytes(bytes) => bytes,
            Queue::Bdp(multiple) => {
                let product = rate.bytes_in(self.rtt()).0 as f64 * multiple;
                LEAST_BDP_QUEUE.max(ByteSize(product.round() as u64))
            }
        })
    }

    /// Whether a packet's fate depends on more of it than its length: ECN, its flow, whether it is UDP.
    pub fn reads_headers(&self) -> bool {
        self.rebind.is_some()
            || Direction::BOTH.iter().any(|&way| {
                let path = self.path(way);
                path.discipline != Discipline::DropTail || path.udp != Udp::Allowed
            })
    }

    /// Whether some packets meet their fate only after they have entered: in active queues, and where they are held back
    /// until others have passed.
    pub fn decides_late(&self) -> bool {
        Direction::BOTH.iter().any(|&way| {
            let path = self.path(way);
            let is_active = path.discipline != Discipline::DropTail;
            (is_active && self.queue_limit(way).is_some()) || path.order.holds_for_packets()
        })
    }

    /// Whether it does nothing but delay, and all packets of a direction alike. Then several packets in one meet the same
    /// fate as each alone. With jitter they do not: each draws its own.
    pub fn only_delays(&self) -> bool {
        let plain = |&way: &Direction| {
            let path = self.path(way);
            path.jitter.is_zero()
                && path.loss.mean() == 0.0
                && path.policer.is_none()
                && path.udp == Udp::Allowed
                && !matches!(path.order, Order::Reordered { .. })
        };
        let is_whole = self.rebind.is_none() && self.split_tcp.is_none();
        self.is_unlimited() && is_whole && Direction::BOTH.iter().all(plain)
    }

    /// Whether neither direction has a bottleneck, so that super-packets need not be split.
    pub fn is_unlimited(&self) -> bool {
        Direction::BOTH.iter().all(|&way| self.path(way).bottleneck == Bottleneck::Unlimited)
    }
}

impl Bottleneck {
    /// The rate, or a schedule's mean; None where there is no limit.
    pub fn mean_rate(&self) -> Option<BitRate> {
        match self {
            Self::Unlimited => None,
            Self::Rate(rate) => Some(*rate),
            Self::Trace { schedule, .. } => Some(schedule.mean_rate()),
        }
    }
}

impl fmt::Display for LinkSpec {
    /// `1.6/0.768 Mbit/s, RTT 300 ms, queue 60 kB`: down before up, as access links are sold.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_rates(f, self)?;
        write!(f, ", RTT {}", span(self.rtt()))?;
        // An odd round trip differs by half a nanosecond between its ways: that is not an asymmetry.
        if self.up.delay.abs_diff(self.down.delay) > Duration::from_nanos(1) {
            write!(f, " ({} down, {} up)", span(self.down.delay), span(self.up.delay))?;
        }
        let limits = [Direction::Down, Direction::Up].map(|way| self.queue_limit(way));
        match limits {
            [Some(down), Some(up)] if down == up => write!(f, ", queue {down}")?,
            [Some(down), Some(up)] => write!(f, ", queue {down} down, {up} up")?,
            [Some(down), None] => write!(f, ", queue {down} down")?,
            [None, Some(up)] => write!(f, ", queue {up} up")?,
            [None, None] => {}
        }
        let (up, down) = (&self.up, &self.down);
        for (name, [down, up]) in [
            ("", [down.discipline, up.discipline].map(words::discipline)),
            ("policer ", [down.policer, up.policer].map(words::policer)),
            ("UDP ", [down.udp, up.udp].map(words::udp)),
            ("loss ", [down.loss, up.loss].map(words::loss)),
        ] {
            write_pair(f, name, [down, up], None, |text| {
                text.clone().unwrap_or_else(|| "usual".into())
            })?;
        }
        write_pair(f, "jitter ", [down.jitter, up.jitter], Duration::ZERO, |&j| span(j))?;
        write_pair(f, "order ", [down.order, up.order], Order::Kept, |&order| words::order(order))?;
        if let Some(SplitTcp { buffer, near_share }) = self.split_tcp {
            write!(f, ", TCP ended by a proxy of {buffer} behind {near_share} of the delay")?;
        }
        self.rebind.map_or(Ok(()), |at| write!(f, ", near's ports change after {}", span(at)))
    }
}

fn write_rates(f: &mut fmt::Formatter<'_>, link: &LinkSpec) -> fmt::Result {
    match (&link.down.bottleneck, &link.up.bottleneck) {
        (Bottleneck::Unlimited, Bottleneck::Unlimited) => write!(f, "no rate limit"),
        (Bottleneck::Rate(down), Bottleneck::Rate(up)) => {
            write!(f, "{}/{} Mbit/s", megabits(*down), megabits(*up))
        }
        (down, up) => write!(f, "{} down, {} up", one_rate(down), one_rate(up)),
    }
}

fn one_rate(bottleneck: &Bottleneck) -> String {
    match bottleneck {
        Bottleneck::Unlimited => "no rate limit".to_owned(),
        Bottleneck::Rate(rate) => rate.to_string(),
        Bottleneck::Trace { file, schedule } => {
            let mean = schedule.mean_rate().bits_per_second() as f64 / 1e6;
            format!("trace {file} (mean {mean:.3} Mbit/s)")
        }
    }
}

fn megabits(rate: BitRate) -> f64 {
    rate.bits_per_second() as f64 / 1e6
}

/// A duration as it was set, with every digit.
pub(crate) fn span(span: Duration) -> String {
    match span {
        span if span.is_zero() => "0 ms".to_owned(),
        span if span < Duration::from_micros(1) => format_duration(span),
        span => format!("{} ms", span.as_nanos() as f64 / 1e6),
    }
}

/// The values of down and up where they are not `usual`; one value where both are the same.
fn write_pair<T: PartialEq>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    [down, up]: [T; 2],
    usual: T,
    print: impl Fn(&T) -> String,
) -> fmt::Result {
    match (down == usual, up == usual) {
        (true, true) => Ok(()),
        _ if down == up => write!(f, ", {name}{}", print(&down)),
        (false, false) => write!(f, ", {name}{} down, {} up", print(&down), print(&up)),
        (false, true) => write!(f, ", {name}{} down", print(&down)),
        (true, false) => write!(f, ", {name}{} up", print(&up)),
    }
}
