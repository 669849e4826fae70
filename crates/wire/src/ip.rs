//! IPv4 and IPv6 packets with TCP or UDP in them: reading headers, and splitting super-packets (generic
//! segmentation offload) into the packets that a wire would carry.

mod ecn;
mod packet;
mod segment;
mod sum;

pub use ecn::set_congestion_experienced;
pub use packet::{IpError, Packet, TCP, UDP};
pub use segment::{PartialChecksum, Segments};
pub use sum::Sum;
