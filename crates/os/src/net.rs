//! Two ends and an emulated link between them, made of namespaces, veth pairs and a forwarding loop.
//!
//! `near` and `far` are network namespaces. Each has one Ethernet device, the peer of which is in the caller's namespace.
//! A [`Forwarder`] moves frames from one to the other at the times that a [`link::Link`] gives. One single-threaded
//! process owns all of it. When that process ends, the kernel removes it.

mod bridge;
mod counters;
mod drops;
mod forwarder;
mod frame;
mod gso_batch;
mod headers;
mod host_names;
mod message;
mod namespace;
mod netfilter;
mod netlink;
mod offloads;
mod packet_queue;
mod packet_socket;
mod pair;
pub mod probe;
mod readiness;
mod settings;
mod stamp;
mod topology;
mod waiter;
mod watch;

pub use bridge::can_queue_packets;
pub use counters::{Lateness, LinkCounters, WayCounters};
pub use forwarder::{ForwardSpec, Forwarder, Observers, Segmentation, Stop, Stopped};
pub use frame::{Frame, FrameEvent, Frames};
pub use namespace::{Privilege, probe};
pub use pair::{Left, PairEnd, PairReport, PairSpec, StartHelpers, run_pair};
pub use readiness::{Listening, WaitFor, is_listened_on};
pub use settings::{Settings, TcpSettings};
pub use topology::{
    Addresses, NamesFor, Placement, ProxySpec, Reception, Side, SuperPackets, Topology,
    TopologySpec, Wiring,
};
pub use waiter::Core;
pub use watch::Watch;
