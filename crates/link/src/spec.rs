//! The settings of a link, for each direction: a delay, a bottleneck with its queue, loss and jitter.

use crate::schedule::Schedule;
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
}

/// One direction of a link. The default passes everything at once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathSpec {
    /// From the bottleneck's end to the receiver, the same for every packet.
    pub delay: Duration,
    /// What limits the rate.
    pub bottleneck: Bottleneck,
    /// The limit of the queue before the bottleneck. Packets beyond it are dropped.
    pub queue: Queue,
    /// The probability that a packet is lost behind the bottleneck.
    pub loss: Probability,
    /// Each packet gets a further delay, uniform from zero to this.
    pub jitter: Duration,
    /// Whether packets may overtake each other because of jitter.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// They do: a packet waits for an earlier one that jitter delays.
    #[default]
    Kept,
    /// They may overtake.
    Free,
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
        write_pair(f, "loss", [down.loss, up.loss], Probability::ZERO, |p| p.to_string())?;
        write_pair(f, "jitter", [down.jitter, up.jitter], Duration::ZERO, |&j| span(j))?;
        write_pair(f, "order", [down.order, up.order], Order::Kept, |&order| {
            match order {
                Order::Kept => "kept",
                Order::Free => "free",
            }
            .to_owned()
        })
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
fn span(span: Duration) -> String {
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
        _ if down == up => write!(f, ", {name} {}", print(&down)),
        (false, false) => write!(f, ", {name} {} down, {} up", print(&down), print(&up)),
        (false, true) => write!(f, ", {name} {} down", print(&down)),
        (true, false) => write!(f, ", {name} {} up", print(&up)),
    }
}
