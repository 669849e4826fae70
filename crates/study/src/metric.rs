//! Names of the metrics that trials have.

use crate::audit;
use crate::experiment::{PageMetric, WorkloadKind};
use crate::outcome::Outcome;
use std::collections::BTreeMap;

/// What is counted, and does not depend on how busy the machine is.
pub const COUNTS: [&str; 4] = [ROUND_TRIPS, CONNECTIONS, BYTES, RETRANSMITTED];
/// Whether a metric is a count that a busy machine does not change.
pub fn is_count(name: &str) -> bool {
    let by_protocol = protocol_of(name).is_some();
    let others = [
        ROUNDS,
        HANDSHAKE_ROUND_TRIPS,
        RESUMED,
        EARLY_ACCEPTED,
        EARLY_REJECTED,
        OPEN_CONNECTIONS,
        PUSHED,
    ];
    by_protocol || COUNTS.contains(&name) || others.contains(&name) || OF_VIEWS.contains(&name)
}

/// Whether a trial of this outcome has a figure of `metric`: a measured one has, and one whose times alone the audit
/// refused has its counts.
pub fn stands(metric: &str, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Measured => true,
        Outcome::Invalid { reason } => is_count(metric) && audit::is_about_time(reason),
        Outcome::Failed { .. } | Outcome::Unsupported { .. } => false,
    }
}

/// The figure of a metric in those of a trial. Some counts are left out where there is nothing to count: they are 0 in
/// trials that have what is recorded along with them, and unknown in others.
pub fn figure(metrics: &BTreeMap<String, f64>, name: &str) -> Option<f64> {
    let is_zero = || match name {
        MADE_AGAIN | OPEN_CONNECTIONS => metrics.contains_key(ROUNDS),
        EARLY_ACCEPTED | EARLY_REJECTED => metrics.contains_key(PUSHED),
        PUSHES_USED | PUSHES_CANCELLED | PUSHES_UNUSED => metrics.get(PUSHED) == Some(&0.0),
        // Where the connections of one protocol are known, those of all are.
        _ if protocol_of(name).is_some() => {
            metrics.get(CONNECTIONS) == Some(&0.0)
                || metrics.keys().any(|other| protocol_of(other).is_some())
        }
        _ => false,
    };
    metrics.get(name).copied().or_else(|| is_zero().then_some(0.0))
}

/// When a page could be parsed and painted, as the page model or a browser says.
pub const PAINT_TIMES: [&str; 7] =
    [UNLOAD_MS, FIRST_PAINT_MS, BLANK_MS, FCP_MS, LCP_MS, SPEED_INDEX_MS, DOM_CONTENT_LOADED_MS];

/// What browsers tell of a page, and the page model does not.
pub const OF_BROWSERS: [&str; 2] = [CLS, LONG_TASKS_MS];

/// When the files that a page needs before it can be painted were there.
pub const ASSET_TIMES: [&str; 3] = [STYLESHEETS_MS, SCRIPTS_MS, FONTS_MS];

/// What a metric is called in reports; its own name where it has no other.
pub fn words(metric: &str) -> &str {
    match metric {
        STYLESHEETS_MS => "last render-blocking style sheet",
        SCRIPTS_MS => "last render-blocking script",
        FONTS_MS => "last font",
        UNLOAD_MS => "unload of the page before",
        FIRST_PAINT_MS => "first paint",
        BLANK_MS => "blank screen",
        FCP_MS => "first contentful paint",
        LCP_MS => "largest contentful paint",
        DOM_CONTENT_LOADED_MS => "DOMContentLoaded",
        SPEED_INDEX_MS => "speed index",
        CLS => "cumulative layout shift",
        LONG_TASKS_MS => "long tasks",
        ROUND_TRIPS => "round trips",
        CONNECTIONS => "connections",
        BYTES => "bytes received",
        RETRANSMITTED => "bytes sent again",
        WASTED => "body bytes received in vain",
        other => other,
    }
}

/// Load time: from when the first fetch was queued to the last byte of what counts, in milliseconds.
pub const LOAD_MS: &str = "load_ms";
/// From when the first fetch was queued to the first byte of the document, in milliseconds.
pub const FIRST_BYTE_MS: &str = "first_byte_ms";
/// From when the first fetch was queued to the last byte of the last render-blocking style sheet, in milliseconds.
pub const STYLESHEETS_MS: &str = "stylesheets_ms";
/// The same of the last script that blocks rendering or parsing.
pub const SCRIPTS_MS: &str = "scripts_ms";
/// The same of the last web font.
pub const FONTS_MS: &str = "fonts_ms";
/// From when the first fetch was queued to the first byte of the document's body: the page before it goes.
pub const UNLOAD_MS: &str = "unload_ms";
/// From when the first fetch was queued until the page could be painted.
pub const FIRST_PAINT_MS: &str = "first_paint_ms";
/// From unload to first paint: how long the screen is blank.
pub const BLANK_MS: &str = "blank_ms";
/// First Contentful Paint: text or an image.
pub const FCP_MS: &str = "fcp_ms";
/// Largest Contentful Paint: the largest text or image in the viewport.
pub const LCP_MS: &str = "lcp_ms";
/// DOMContentLoaded: everything is parsed, and deferred scripts are there.
pub const DOM_CONTENT_LOADED_MS: &str = "dom_content_loaded_ms";
/// Speed Index: the mean time at which a pixel of the viewport looks as it will in the end.
pub const SPEED_INDEX_MS: &str = "speed_index_ms";
/// Cumulative Layout Shift: the largest session window of layout shifts, as browsers tell it. No unit.
pub const CLS: &str = "cls";
/// The time that a browser's tasks of over 50 ms took together, in milliseconds.
pub const LONG_TASKS_MS: &str = "long_tasks_ms";
/// The mean time of a call, from when it was due to its last byte, in milliseconds.
pub const MEAN_MS: &str = "mean_ms";
/// From when the first call was queued to the last byte of the last, in milliseconds: the load time of calls.
pub const TOTAL_MS: &str = "total_ms";
/// From when the first message was queued until one could be sent, in milliseconds: connect, TLS, a WebSocket's
/// handshake.
pub const OPEN_MS: &str = "open_ms";
/// From when a stream was asked for, connection opening included, to its first token, in milliseconds; the mean of all
/// streams.
pub const FIRST_TOKEN_MS: &str = "first_token_ms";
/// The median time between two tokens of a stream as they arrived, in milliseconds.
pub const GAP_P50_MS: &str = "gap_p50_ms";
/// The 99th percentile of the same.
pub const GAP_P99_MS: &str = "gap_p99_ms";
/// The median time from when the server had a token until the client had it, in milliseconds.
pub const LATENCY_P50_MS: &str = "latency_p50_ms";
/// The 99th percentile of the same.
pub const LATENCY_P99_MS: &str = "latency_p99_ms";
/// The same less the link's delay towards the client: what queues, losses, protocols and both ends added.
pub const LATENCY_BEYOND_LINK_P99_MS: &str = "latency_beyond_link_p99_ms";
/// Gaps that are more than 200 ms longer than the time between the two tokens at the server.
pub const STALLS: &str = "stalls";
/// The time of the first call, which opens the connection, in milliseconds.
pub const FIRST_MS: &str = "first_ms";
/// The mean time of the calls after the first, in milliseconds; absent where there is one call.
pub const REST_MS: &str = "rest_ms";
/// The longest time of a call, in milliseconds.
pub const MAX_MS: &str = "max_ms";
/// Connections that resumed an earlier TLS session.
pub const RESUMED: &str = "resumed_connections";
/// Connections whose early data (0-RTT) the server has processed.
pub const EARLY_ACCEPTED: &str = "early_accepted_connections";
/// Connections whose early data the server has dropped, so that it was sent again after the handshake.
pub const EARLY_REJECTED: &str = "early_rejected_connections";
/// Connections that stood open when the work began.
pub const OPEN_CONNECTIONS: &str = "open_connections";
/// The metric that counts connections over `protocol`.
pub fn connections_by(protocol: &trace::SpokenProtocol) -> String {
    format!("{CONNECTIONS}:{protocol}")
}
/// The name of the protocol whose connections a metric counts; None for any other metric.
pub fn protocol_of(metric: &str) -> Option<&str> {
    metric.strip_prefix(CONNECTIONS)?.strip_prefix(':')
}
/// From the start of the client's first process to the end of its last, in milliseconds. After a warm-up it counts
/// from when the process was ready.
pub const WALL_MS: &str = "wall_ms";
/// How long a client took to build its client object, as it reports it, in milliseconds, all processes added up.
pub const CLIENT_MS: &str = "client_ms";
/// [`WALL_MS`] less [`CLIENT_MS`], of clients that report it.
pub const WALL_WITHOUT_CLIENT_MS: &str = "wall_without_client_ms";
/// System calls of a client, in a warm-up that was profiled.
pub const SYSTEM_CALLS: &str = "system_calls";
/// Those among them that copy bytes from the kernel into the program.
pub const SYSTEM_READS: &str = "system_calls_reading";
/// Those that copy bytes from the program into the kernel.
pub const SYSTEM_WRITES: &str = "system_calls_writing";
/// Those that move bytes within the kernel: sendfile, splice.
pub const SYSTEM_IN_KERNEL: &str = "system_calls_in_kernel";
/// From the start of a client's process until it began its work, in milliseconds, all processes added up. The warm-up
/// is subtracted where the client reports how long it took.
pub const STARTUP_MS: &str = "startup_ms";
/// From the beginning of the work to the last byte, as the client reports it, in milliseconds, all processes added up.
pub const TRANSFER_MS: &str = "transfer_ms";
/// Processor time of both ends, in milliseconds.
pub const CPU_MS: &str = "cpu_ms";
/// Processor time of the client, in milliseconds.
pub const CLIENT_CPU_MS: &str = "client_cpu_ms";
/// Processor time of the server, in milliseconds.
pub const SERVER_CPU_MS: &str = "server_cpu_ms";
/// Processor seconds of the client for a GiB of bodies.
pub const CPU_PER_GIB: &str = "client_cpu_s_per_gib";
/// The peak resident memory of one client process, in bytes.
pub const PEAK_MEMORY: &str = "client_peak_memory";
/// The peak memory of all client processes together, in bytes, page cache that they touched first included. Only where
/// a control group counted it.
pub const GROUP_MEMORY: &str = "client_group_memory";
/// 1 where every file's SHA-256 is right, else 0.
pub const SHA256_OK: &str = "sha256_ok";
/// Garbage collections of a managed runtime during the work.
pub const GC_COUNT: &str = "gc_count";
/// Time that garbage collection took, in milliseconds.
pub const GC_MS: &str = "gc_ms";
/// The peak use of a managed heap, in bytes.
pub const HEAP_PEAK: &str = "heap_peak";
/// The mean number of streams on a connection, pushed ones included.
pub const STREAMS_PER_CONNECTION: &str = "streams_per_connection";
/// Streams that the server pushed.
pub const PUSHED: &str = "pushed_streams";
/// Pushes that a fetch took.
pub const PUSHES_USED: &str = "pushes_used";
/// Pushes that either side cancelled before a fetch took them.
pub const PUSHES_CANCELLED: &str = "pushes_cancelled";
/// Pushes that no fetch took.
pub const PUSHES_UNUSED: &str = "pushes_unused";
/// Fetches that began for a `Link` field, before the page knew of them.
pub const HINTED: &str = "hinted_fetches";
/// Those of them that the page did not need.
pub const HINTS_UNUSED: &str = "hints_unused";
/// Requests of a browser that a recorded site answered by the nearest recorded query.
pub const REPLAY_NEAREST: &str = "replay_nearest";
/// Requests of a browser that nothing in a recorded site matched.
pub const REPLAY_MISSED: &str = "replay_missed";
/// WebSockets of a recorded site that a browser did not open.
pub const REPLAY_SOCKETS_MISSED: &str = "replay_sockets_missed";
/// Recorded fetches of a site that a browser did not ask for.
pub const REPLAY_NOT_ASKED: &str = "replay_not_asked";
/// Body bytes that were received and not used: of pushes that no fetch took, and of hinted fetches that the page did not
/// need.
pub const WASTED: &str = "wasted_bytes";
/// Responses of an earlier view that were used without asking.
pub const CACHE_FRESH: &str = "cache_fresh";
/// Responses of an earlier view that the server said were current (304).
pub const CACHE_REVALIDATED: &str = "cache_revalidated";
/// Bytes of bodies that came from the cache.
pub const CACHED_BYTES: &str = "cached_bytes";
/// Header bytes that the client sent, as on the wire. [`trace::HeaderBytes`] says which bytes count.
pub const HEADERS_SENT: &str = "header_bytes_sent";
/// The same before compression.
pub const HEADERS_SENT_PLAIN: &str = "header_bytes_sent_plain";
/// Header bytes that the client received, as on the wire.
pub const HEADERS_RECEIVED: &str = "header_bytes_received";
/// The same before compression.
pub const HEADERS_RECEIVED_PLAIN: &str = "header_bytes_received_plain";
/// Bytes that the client read from its sockets.
pub const BYTES: &str = "bytes";
/// Bytes of TCP payload that were sent again, both ways together.
pub const RETRANSMITTED: &str = "retransmitted_bytes";
/// Fetches that were made again because their connection was lost. Absent where there are none.
pub const MADE_AGAIN: &str = "fetches_made_again";
/// Connections opened.
pub const CONNECTIONS: &str = "connections";
/// Request round trips on the critical path.
pub const ROUNDS: &str = "rounds";
/// Load time of the view after the one that is judged, in milliseconds, where `first_visit` has one.
pub const NEXT_LOAD_MS: &str = "next_load_ms";
/// From when that view's first fetch was queued to the first byte of its document, in milliseconds.
pub const NEXT_FIRST_BYTE_MS: &str = "next_first_byte_ms";
/// All round trips on the critical path: connects, handshakes, requests, and waits for a peer to allow a stream.
pub const ROUND_TRIPS: &str = "round_trips";
/// Round trips of connects and handshakes on the critical path.
pub const HANDSHAKE_ROUND_TRIPS: &str = "handshake_round_trips";

/// The time of a page that decides.
pub fn of_page(time: PageMetric) -> &'static str {
    match time {
        PageMetric::Load => LOAD_MS,
        PageMetric::Unload => UNLOAD_MS,
        PageMetric::FirstPaint => FIRST_PAINT_MS,
        PageMetric::Fcp => FCP_MS,
        PageMetric::Lcp => LCP_MS,
        PageMetric::DomContentLoaded => DOM_CONTENT_LOADED_MS,
        PageMetric::SpeedIndex => SPEED_INDEX_MS,
    }
}

/// The metrics that trials of a workload can have; those by protocol ([`connections_by`]) are left out.
pub fn names(kind: &WorkloadKind) -> Vec<&'static str> {
    let own: &[&[&'static str]] = match kind {
        WorkloadKind::Page(_) | WorkloadKind::Har(_) => {
            &[OF_ALL, &[LOAD_MS], &ASSET_TIMES, &PAINT_TIMES, &OF_BROWSERS]
        }
        WorkloadKind::Calls(_) => &[OF_ALL, OF_CALLS],
        WorkloadKind::Echo(_) => &[OF_ALL, OF_CALLS, &[OPEN_MS]],
        WorkloadKind::Stream(_) => &[OF_ALL, OF_STREAMS],
        WorkloadKind::Download(_) => &[OF_ALL, OF_DOWNLOADS],
    };
    own.concat()
}

/// Whether trials of a workload can have the metric `name`.
pub fn is_of(name: &str, kind: &WorkloadKind) -> bool {
    protocol_of(name).is_some() || names(kind).contains(&name)
}

const OF_STREAMS: &[&str] = &[
    FIRST_TOKEN_MS,
    GAP_P50_MS,
    GAP_P99_MS,
    LATENCY_P50_MS,
    LATENCY_P99_MS,
    LATENCY_BEYOND_LINK_P99_MS,
    STALLS,
    TOTAL_MS,
    OPEN_MS,
];

const OF_ALL: &[&str] = &[
    NEXT_LOAD_MS,
    NEXT_FIRST_BYTE_MS,
    FIRST_BYTE_MS,
    BYTES,
    CONNECTIONS,
    MADE_AGAIN,
    ROUNDS,
    ROUND_TRIPS,
    HANDSHAKE_ROUND_TRIPS,
    RESUMED,
    EARLY_ACCEPTED,
    EARLY_REJECTED,
    OPEN_CONNECTIONS,
    PUSHED,
    PUSHES_USED,
    PUSHES_CANCELLED,
    PUSHES_UNUSED,
    HINTED,
    HINTS_UNUSED,
    WASTED,
    REPLAY_NEAREST,
    REPLAY_MISSED,
    REPLAY_NOT_ASKED,
    REPLAY_SOCKETS_MISSED,
    CACHE_FRESH,
    CACHE_REVALIDATED,
    CACHED_BYTES,
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
/// What becomes of what a server sends by itself.
const OF_VIEWS: &[&str] = &[
    PUSHES_USED,
    PUSHES_CANCELLED,
    PUSHES_UNUSED,
    HINTED,
    HINTS_UNUSED,
    WASTED,
    CACHE_FRESH,
    CACHE_REVALIDATED,
    CACHED_BYTES,
];
const OF_CALLS: &[&str] = &[MEAN_MS, FIRST_MS, REST_MS, MAX_MS, TOTAL_MS];
const OF_DOWNLOADS: &[&str] = &[
    WALL_MS,
    WALL_WITHOUT_CLIENT_MS,
    CLIENT_MS,
    STARTUP_MS,
    TRANSFER_MS,
    CPU_PER_GIB,
    SHA256_OK,
    GC_COUNT,
    GC_MS,
    HEAP_PEAK,
];
