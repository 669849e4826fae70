mod judging;
mod search;

use super::*;
use crate::schema_file;
use hdrhistogram::Histogram;

#[test]
fn the_published_schema_is_that_of_the_type() {
    schema_file::check("load.schema.json", &load_schema());
}

fn times(millis: impl IntoIterator<Item = u64>) -> Histogram<u64> {
    let mut histogram = Histogram::new(3).unwrap();
    millis.into_iter().for_each(|ms| histogram.record(ms * 1_000_000).unwrap());
    histogram
}

#[test]
fn only_percentiles_are_told_that_have_a_time_beyond_them() {
    let summary = TimesSummary::of(&times(1..=100)).unwrap();
    let shares: Vec<f64> = summary.at.iter().map(|at| at.share).collect();
    assert_eq!(shares, [0.5, 0.75, 0.9, 0.95, 0.99]);
    assert!((summary.at(0.5).unwrap() / 50.0 - 1.0).abs() < 0.001);
    assert!((summary.max_ms / 100.0 - 1.0).abs() < 0.001);
    assert_eq!(TimesSummary::of(&times([])), None);
    let many = TimesSummary::of(&times((0..10_000).map(|n| 1 + n % 7))).unwrap();
    assert!(many.at(0.9999).is_some());
}

#[test]
fn an_objective_is_read_as_it_is_written_and_has_a_bound_on_errors() {
    let slo: Slo = "p99<50ms, p99.9<=0.2s".parse().unwrap();
    assert_eq!(slo.to_string(), "p99<50 ms,p99.9<200 ms,errors<0.1%");
    assert_eq!("max<1s,errors<5%".parse::<Slo>().unwrap().to_string(), "max<1 s,errors<5%");
    for wrong in ["", "p99", "p99<", "p99<50", "p0<1ms", "p100<1ms", "q<1ms", "errors<0", "p99>1ms"]
    {
        assert!(wrong.parse::<Slo>().is_err(), "{wrong}");
    }
}
