//! The emulated path, sans-IO: packets go in with their arrival time, come out when the model says,
//! and every fate is decided by the spec, the seed and the arrival times alone.
//!
//! ```
//! use link::{Link, LinkSpec, no_traces};
//! use trace::{Direction, Fate};
//! use unit::{ByteSize, Instant, Seed};
//!
//! let spec = LinkSpec::parse("rtt=60ms,down=12mbit,up=2mbit", no_traces)?;
//! let mut link = Link::new(&spec, Seed(1));
//! let fate = link.handle_packet(Instant::ZERO, Direction::Down, "packet", ByteSize(1500));
//! let due = Instant::from_nanos(31_000_000); // 1 ms of serialisation, then 30 ms of delay
//! assert_eq!(fate, Some(Fate::Delivered { at: due }));
//! assert_eq!(link.poll_timeout(), Some(due));
//! assert_eq!(link.poll_deliver(due).map(|delivery| delivery.packet), Some("packet"));
//! # Ok::<(), link::SpecError>(())
//! ```

mod active;
mod canonical;
mod codel;
mod departures;
mod header;
mod held;
mod loss;
mod machine;
mod path;
mod policer;
mod profile;
mod schedule;
mod service;
mod spec;
mod text;
mod values;
mod words;

pub use active::Discipline;
pub use codel::{Codel, EcnMarks};
pub use header::PacketHeader;
pub use loss::{Bursts, GilbertElliott, Loss};
pub use machine::{Decision, Delivery, Link};
pub use policer::{Policer, Udp};
pub use profile::{Profile, find, profiles};
pub use schedule::{Schedule, ScheduleError};
pub use spec::{Bottleneck, LONGEST_HOLD, LinkSpec, Order, PathSpec, Queue, Reordering, SplitTcp};
pub use text::{SpecError, no_traces, trace_files, with_trace_files};
