//! Times as a log of HDR histograms (version 2, as HdrHistogram's own tools read and merge it): one a stage, in
//! nanoseconds.

use super::run::LoadRun;
use client::load::Pace;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::error::Error;
use std::io::Write;
use std::time::{Duration, SystemTime};

/// Nanoseconds in what tools show: milliseconds.
const DIVISOR: f64 = 1e6;

/// Writes the log of a run at this pace, of which `span` counts.
pub(crate) fn write(
    out: &mut impl Write,
    ran: &LoadRun,
    pace: &Pace,
    span: Duration,
) -> Result<(), Box<dyn Error>> {
    let (tally, started) = (&ran.tally, ran.counts_from);
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment(concat!("wirelap ", env!("CARGO_PKG_VERSION"), " load: times in nanoseconds"))
        .with_start_time(SystemTime::UNIX_EPOCH + started)
        .with_base_time(SystemTime::UNIX_EPOCH + started)
        .with_max_value_divisor(DIVISOR)
        .begin_log_with(out, &mut serializer)
        .map_err(|error| format!("{error:?}"))?;
    let name = |number: usize| format!("stage{}", number + 1);
    let stretches = stretches(pace, span);
    for (number, (part, [from, until])) in tally.stages.iter().zip(stretches).enumerate() {
        let name = name(number);
        let tag = Tag::new(&name).filter(|_| tally.stages.len() > 1);
        log.write_histogram(part.latency.histogram(), from, until - from, tag)
            .map_err(|error| format!("{error:?}"))?;
    }
    Ok(())
}

/// From when until when each stage lasted, since what counts began.
fn stretches(pace: &Pace, span: Duration) -> Vec<[Duration; 2]> {
    let Pace::Open { stages, .. } = pace else { return vec![[Duration::ZERO, span]] };
    let mut from = Duration::ZERO;
    let stretch = |lasts: Option<Duration>| {
        let until = lasts.map_or(span, |lasts| from.saturating_add(lasts).min(span));
        [std::mem::replace(&mut from, until), until]
    };
    stages.iter().map(|stage| stage.lasts).map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::load::Spacing;

    #[test]
    fn each_stage_has_its_own_stretch_of_the_run() {
        let ms = Duration::from_millis;
        let stages = ["500:1s", "1000:500ms", "1000-9:1s", "9"];
        let stages = stages.map(|stage| stage.parse().unwrap()).to_vec();
        let pace = Pace::Open { stages, spacing: Spacing::Even };
        let told = |span| -> Vec<[u128; 2]> {
            let each = stretches(&pace, ms(span)).into_iter();
            each.map(|stretch| stretch.map(|time| time.as_millis())).collect()
        };
        assert_eq!(told(4_000), [[0, 1_000], [1_000, 1_500], [1_500, 2_500], [2_500, 4_000]]);
        let interrupted = [[0, 1_000], [1_000, 1_200], [1_200, 1_200], [1_200, 1_200]];
        assert_eq!(told(1_200), interrupted);
        assert_eq!(stretches(&Pace::Closed, ms(7)), [[ms(0), ms(7)]]);
    }
}
