//! Names of the metrics that trials have.

use crate::experiment::WorkloadKind;

/// From when the first fetch was queued to the last byte of what counts, in milliseconds.
pub const LOAD_MS: &str = "load_ms";
/// From when the first fetch was queued to the first byte of the document, in milliseconds.
pub const FIRST_BYTE_MS: &str = "first_byte_ms";
/// The mean of the calls' times, each from when it was to be made to its last byte, in milliseconds.
pub const MEAN_MS: &str = "mean_ms";
/// From when the first call was queued to the last byte of all, in milliseconds: the load time of calls.
pub const TOTAL_MS: &str = "total_ms";
/// From when the first message was queued to when one could be sent, in milliseconds: connect, TLS, a WebSocket's handshake.
pub const OPEN_MS: &str = "open_ms";
/// The longest of the calls' times, in milliseconds.
pub const MAX_MS: &str = "max_ms";
/// Connections whose TLS session was an earlier one's, taken up again.
pub const RESUMED: &str = "resumed_connections";
/// The connections that spoke `protocol`.
pub fn connections_by(protocol: &trace::SpokenProtocol) -> String {
    format!("{CONNECTIONS}:{protocol}")
}
/// From the start of the client's first process to the end of its last, in milliseconds; of one that was warmed
/// up, from when it was ready.
pub const WALL_MS: &str = "wall_ms";
/// From the start of a client's process until it began its work, in milliseconds, without the warm-up where it
/// tells how long that took; of all processes together.
pub const STARTUP_MS: &str = "startup_ms";
/// From the begin of the work to the last byte, as the client tells it, in milliseconds; of all processes
/// together.
pub const TRANSFER_MS: &str = "transfer_ms";
/// Processor time of both ends, in milliseconds.
pub const CPU_MS: &str = "cpu_ms";
/// Processor time of the client, in milliseconds.
pub const CLIENT_CPU_MS: &str = "client_cpu_ms";
/// Processor time of the server, in milliseconds.
pub const SERVER_CPU_MS: &str = "server_cpu_ms";
/// Processor seconds of the client for a GiB of bodies.
pub const CPU_PER_GIB: &str = "client_cpu_s_per_gib";
/// The greatest memory that a process of the client held, in bytes.
pub const PEAK_MEMORY: &str = "client_peak_memory";
/// The most memory that all processes of the client held at one time, in bytes, with the pages of files that they
/// were the first to touch; where a control group counted it.
pub const GROUP_MEMORY: &str = "client_group_memory";
/// 1 where every file's SHA-256 is right, else 0.
pub const SHA256_OK: &str = "sha256_ok";
/// Garbage collections of a managed runtime while it worked.
pub const GC_COUNT: &str = "gc_count";
/// Time that they took, in milliseconds.
pub const GC_MS: &str = "gc_ms";
/// The greatest use of a managed heap, in bytes.
pub const HEAP_PEAK: &str = "heap_peak";
/// Streams that a connection carried on average, pushes among them.
pub const STREAMS_PER_CONNECTION: &str = "streams_per_connection";
/// Streams that the server opened.
pub const PUSHED: &str = "pushed_streams";
/// Bytes of heads that the client sent, on the wire; what counts, [`trace::HeaderBytes`] says.
pub const HEADERS_SENT: &str = "header_bytes_sent";
/// The same before compression.
pub const HEADERS_SENT_PLAIN: &str = "header_bytes_sent_plain";
/// Bytes of heads that the client received, on the wire.
pub const HEADERS_RECEIVED: &str = "header_bytes_received";
/// The same before compression.
pub const HEADERS_RECEIVED_PLAIN: &str = "header_bytes_received_plain";
/// Bytes that the client took from its sockets.
pub const BYTES: &str = "bytes";
/// Connections opened.
pub const CONNECTIONS: &str = "connections";
/// Request rounds on the critical path.
pub const ROUNDS: &str = "rounds";
/// Waits for the far side on the critical path: request rounds, connects and handshakes.
pub const ROUND_TRIPS: &str = "round_trips";

/// The metrics that trials of a workload can have; those by protocol ([`connections_by`]) are left out.
pub fn names(kind: &WorkloadKind) -> Vec<&'static str> {
    let own: &[&[&'static str]] = match kind {
        WorkloadKind::Page(_) | WorkloadKind::Har(_) => &[OF_ALL, &[LOAD_MS]],
        WorkloadKind::Calls(_) => &[OF_ALL, OF_CALLS],
        WorkloadKind::Echo(_) => &[OF_ALL, OF_CALLS, &[OPEN_MS]],
        WorkloadKind::Download(_) => &[OF_ALL, OF_DOWNLOADS],
    };
    own.concat()
}

/// Whether trials of a workload can have the metric `name`.
pub fn is_of(name: &str, kind: &WorkloadKind) -> bool {
    let by_protocol = name.strip_prefix(CONNECTIONS).is_some_and(|rest| rest.starts_with(':'));
    by_protocol || names(kind).contains(&name)
}

const OF_ALL: &[&str] = &[
    FIRST_BYTE_MS,
    BYTES,
    CONNECTIONS,
    ROUNDS,
    ROUND_TRIPS,
    RESUMED,
    PUSHED,
    STREAMS_PER_CONNECTION,
    HEADERS_SENT,
    HEADERS_SENT_PLAIN,
    HEADERS_RECEIVED,
    HEADERS_RECEIVED_PLAIN,
    CPU_MS,
    CLIENT_CPU_MS,
    SERVER_CPU_MS,
    PEAK_MEMORY,
    GROUP_MEMORY,
];
const OF_CALLS: &[&str] = &[MEAN_MS, MAX_MS, TOTAL_MS];
const OF_DOWNLOADS: &[&str] =
    &[WALL_MS, STARTUP_MS, TRANSFER_MS, CPU_PER_GIB, SHA256_OK, GC_COUNT, GC_MS, HEAP_PEAK];
