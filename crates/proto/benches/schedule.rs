//! What choosing costs, for each policy: streams of equal rank that take frames in turn, streams that are
//! ready for one frame at a time, and streams from opening to end.
//! `cargo bench -p proto --bench schedule`. With a policy, a case and a number of streams behind `--`
//! it runs that alone and says nothing, for a counter of instructions:
//! `valgrind --tool=callgrind target/release/deps/schedule-… auto frames 32`.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use proto::StreamId;
use proto::schedule::{Exclusive, Incremental, Policy, Priority, Scheduler};
use std::hint::black_box;
use std::time::Duration;

const FRAMES: usize = 100_000;
const FRAME: usize = 16_384;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Case {
    /// All streams stay ready: `next` and `sent`.
    Frames,
    /// A stream has one frame at a time: `ready`, `next`, `sent` and `blocked`.
    Wakes,
    /// A stream has one frame in all: as `Wakes`, with `insert` and `remove`.
    Requests,
}

const CASES: [(&str, Case); 3] =
    [("frames", Case::Frames), ("wakes", Case::Wakes), ("requests", Case::Requests)];

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [policy, case, streams] = asked.as_slice() {
        let policy = policy.parse().expect("a policy's name");
        let case =
            CASES.iter().find(|(name, _)| name == case).expect("frames, wakes or requests").1;
        run(policy, case, streams.parse().expect("a number of streams"));
        return;
    }
    println!("ns a frame     policy  {}", "      1     32   1000".repeat(CASES.len()));
    for policy in Policy::ALL {
        let mut line = format!("{policy:>21}  ");
        for (_, case) in CASES {
            for streams in [1, 32, 1000] {
                line += &format!(" {:>6.1}", cost(policy, case, streams));
            }
        }
        println!("{line}");
    }
}

/// Nanoseconds a frame: the least of some runs.
fn cost(policy: Policy, case: Case, streams: usize) -> f64 {
    let time = |_| {
        let before = cpu();
        run(policy, case, streams);
        cpu() - before
    };
    let least = (0..5).map(time).min().unwrap_or_default();
    least.as_nanos() as f64 / FRAMES as f64
}

fn run(policy: Policy, case: Case, streams: usize) {
    let mut scheduler = policy.scheduler();
    let mut names: Vec<StreamId> = (0..streams).map(|at| StreamId(2 * at as u64 + 1)).collect();
    for &stream in &names {
        open(&mut *scheduler, policy, stream);
        scheduler.ready(stream);
    }
    for frame in 0..FRAMES {
        let Some(stream) = black_box(scheduler.next()) else { return };
        scheduler.sent(stream, FRAME);
        if case == Case::Frames {
            continue;
        }
        scheduler.blocked(stream);
        let mut woken = stream;
        if case == Case::Requests {
            scheduler.remove(stream);
            woken = StreamId(2 * (streams + frame) as u64 + 1);
            open(&mut *scheduler, policy, woken);
            names.push(woken);
        }
        scheduler.ready(woken);
    }
}

/// Opens a stream with the signals that the policy heeds.
fn open(scheduler: &mut dyn Scheduler, policy: Policy, stream: StreamId) {
    let (parent, weight, exclusive) = (StreamId(0), 16, Exclusive::Shared);
    let priority = match policy {
        Policy::Rfc7540 => Priority::Dependency { parent, weight, exclusive },
        Policy::Rfc9218 => Priority::Urgency { urgency: 3, incremental: Incremental::Parts },
        Policy::Spdy => Priority::Level(3),
        Policy::Auto | Policy::Fifo | Policy::RoundRobin | Policy::ServerDriven => Priority::Unset,
    };
    scheduler.insert(stream, priority);
    if policy == Policy::ServerDriven {
        let incremental = Incremental::Parts;
        scheduler.reprioritise(stream, Priority::Decided { urgency: 1, incremental });
    }
}

/// What this thread has had of a processor: however busy the machine is, waiting is not in it.
fn cpu() -> Duration {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    let nanos = said.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanos.expect("nanoseconds stand first"))
}
