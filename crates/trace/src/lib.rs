//! The vocabulary of what happened: events that machines emit while they run, records that sum up a
//! fetch, a connection or a packet, and the sink they go to.
//!
//! Names follow qlog (draft-ietf-quic-qlog-main-schema) where it has one. There is no second way of
//! logging: waterfalls, packet captures and the answer to "why" are drawn from these.
//!
//! ```
//! use std::{cell::RefCell, rc::Rc};
//! use trace::{Event, Sink, Tracer};
//! use unit::Instant;
//!
//! #[derive(Default)]
//! struct Count(RefCell<u64>);
//! impl Sink for Count {
//!     fn record(&self, _at: Instant, _connection: u64, _event: &Event<'_>) {
//!         *self.0.borrow_mut() += 1;
//!     }
//! }
//! let count = Rc::new(Count::default());
//! let tracer = Tracer::to(count.clone()).for_connection(7);
//! tracer.emit(Instant::ZERO, || Event::FrameParsed { stream: 1, frame: "DATA", length: 5 });
//! Tracer::off().emit(Instant::ZERO, || unreachable!("without a sink no event is built"));
//! assert_eq!(*count.0.borrow(), 1);
//! ```

mod delivery;
mod event;
mod fetch;
mod header;
pub mod nanos;
mod packet;
mod protocol;
mod quic;
mod token;

pub use delivery::{
    AskedPriority, DeliveredPiece, DeliveryEnd, DeliveryRecord, PrioritySignal, PrioritySource,
    PushFate,
};
pub use event::{ControlFrame, Event, PrioritizedElement, Sink, Tracer};
pub use fetch::{
    CacheTally, ConnectionRecord, EarlyData, FetchOutcome, FetchRecord, HintTally, MadeAgain,
    Phases, PushTally, TlsRecord,
};
pub use header::{HeaderBytes, HeaderSize};
pub use packet::{Direction, Fate, Flow, PacketRecord, Passage, QuicMark, TcpMark, UdpMark};
pub use protocol::{Protocol, SpokenProtocol, TlsVersion};
pub use quic::{
    QuicAck, QuicConnectionId, QuicEcnCounts, QuicEnd, QuicErrorSpace, QuicFrame, QuicInitiator,
    QuicLossTrigger, QuicMetrics, QuicPacket, QuicPacketType, QuicParameter, QuicSpace,
    QuicStreamType, quic_error_name,
};
pub use token::TokenRecord;
