//! The load engine: requests as many, or as often, as a plan says, and their times in histograms.
//!
//! A closed loop makes the next request when the one before it is answered: it finds what a server can do at most. An
//! open loop makes requests by a schedule of rates, whatever the server does, and counts each one's time from when it
//! was due: it finds what users meet. [`Load`] is an end point; several of them, a thread each, share a plan
//! ([`Share`]), and their [`Tally`]s add up.
//!
//! ```
//! use client::Transport;
//! use client::load::{Access, Exchange, Load, LoadPlan, Target};
//! use endpoint::{Action, EndPoint, SendBuf};
//! use proto::{Fields, Method};
//! use unit::Instant;
//!
//! let exchange = Exchange::Http { method: Method::Get, fields: Fields::new(), body: Default::default() };
//! let target = Target { url: "http://10.0.0.2/hello".parse()?, exchange, weight: 1 };
//! let access = Access::new(Transport::H1, secure::ClientTls::new(Default::default())?);
//! let mut load = Load::new(LoadPlan { requests: Some(2), ..LoadPlan::new(vec![target], access) });
//! load.handle_start(Instant::ZERO);
//! let Some(Action::Connect { socket, .. }) = load.poll_action() else { panic!("no connect") };
//! load.handle_connected(Instant::ZERO, socket, "10.0.0.1:50000".parse()?);
//! for _ in 0..2 {
//!     let mut sent = SendBuf::new();
//!     load.poll_transmit(Instant::ZERO, socket, &mut sent, 65_536);
//!     assert!(sent.to_vec().starts_with(b"GET /hello HTTP/1.1\r\n"));
//!     load.handle_bytes(Instant::ZERO, socket, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
//! }
//! assert!(load.is_finished());
//! assert_eq!(load.into_tally().whole().answers, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod connection;
mod encoding;
mod engine;
mod ledger;
mod pace;
mod plan;
mod server;
mod tally;
mod trend;

pub use encoding::{BadTally, Fields, TALLY_FORMAT, put_time, put_whole};
pub use engine::{Load, Watch};
pub use pace::{Share, Spacing, Stage};
pub use plan::{Access, Exchange, LoadPlan, Pace, Target};
pub use tally::{Connects, Fault, Faults, Interval, Part, Tally, Times};
pub use trend::{Growth, Trend};

#[cfg(test)]
mod tests;
