//! Drives end points in virtual time: the same [`endpoint::EndPoint`]s that the reactor drives over sockets.
//!
//! A [`World`] holds hosts, the paths between them and an agenda of what happens when. Nothing sleeps and nothing is
//! random but for the seed: the same world gives the same run, event for event.
//!
//! The transport is a perfect byte stream for now. A connect takes one round trip; bytes travel in segments through the
//! path's [`link::Link`], so that serialisation and queueing are real; buffers are bounded at both ends; nothing is lost
//! or reordered, and acknowledgements cost nothing. Datagrams meet the link as it is, with its loss, its full queue and its
//! NAT that forgets (`rebind`).
//!
//! ```
//! use sim::{Path, Scripted, Transcript, World};
//! use std::time::Duration;
//!
//! let mut world = World::new(1);
//! let near = world.host("10.0.0.1", Scripted::new(Transcript::default()));
//! let far = world.listen("10.0.0.2:80", Scripted::new(Transcript::default()));
//! world.connect(near, far, Path::delay(Duration::from_millis(50)));
//! let socket = world.with(near, |near| near.connect("10.0.0.2:80"));
//! world.with(near, |near| near.send(socket, b"hello"));
//! world.run();
//! // A connect is there and back, the bytes go there.
//! assert_eq!(world.elapsed(), Duration::from_millis(150));
//! assert_eq!(world.end_point(far).script().received(socket), b"hello");
//! ```

mod act;
mod agenda;
mod arrive;
mod connect;
mod datagram;
mod fault;
mod host;
mod nat;
mod packet;
mod path;
mod read;
mod scripted;
mod stream;
mod world;
mod write;

pub use fault::{Attempt, ConnectOutcome, ConnectionPlan, Pieces, StreamFault};
pub use host::{Host, HostId, SocketTally};
pub use path::Path;
pub use scripted::{Connections, Script, Scripted, Transcript};
pub use world::{Ended, World};
