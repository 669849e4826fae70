//! Times as a log of HDR histograms (version 2, as HdrHistogram's own tools read and merge it): one a stage, in
//! nanoseconds.

use client::load::Tally;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::error::Error;
use std::io::Write;
use std::time::{Duration, SystemTime};

/// Nanoseconds in what tools show: milliseconds.
const DIVISOR: f64 = 1e6;

/// Writes the log.
pub(crate) fn write(
    out: &mut impl Write,
    tally: &Tally,
    started: Duration,
    span: Duration,
) -> Result<(), Box<dyn Error>> {
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment(concat!("wirelap ", env!("CARGO_PKG_VERSION"), " load: times in nanoseconds"))
        .with_start_time(SystemTime::UNIX_EPOCH + started)
        .with_base_time(SystemTime::UNIX_EPOCH + started)
        .with_max_value_divisor(DIVISOR)
        .begin_log_with(out, &mut serializer)
        .map_err(|error| format!("{error:?}"))?;
    let name = |number: usize| format!("stage{}", number + 1);
    for (number, part) in tally.stages.iter().enumerate() {
        let name = name(number);
        let tag = Tag::new(&name).filter(|_| tally.stages.len() > 1);
        log.write_histogram(part.latency.histogram(), Duration::ZERO, span, tag)
            .map_err(|error| format!("{error:?}"))?;
    }
    Ok(())
}
