//! The number of a stream, the same type for every protocol.

/// Names a request and its response on one connection. For protocols with stream identifiers it is
/// the identifier; HTTP/1.1 counts its exchanges from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);
