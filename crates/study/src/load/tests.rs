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

#[test]
fn an_objective_holds_where_every_condition_does() {
    let slo: Slo = "p90<95ms,mean<60ms,errors<1%".parse().unwrap();
    let holds = |times: &Histogram<u64>, errors| {
        slo.check(times, errors).iter().map(|checked| checked.holds).collect::<Vec<_>>()
    };
    assert_eq!(holds(&times(1..=100), 0.0), [true, true, true]);
    assert_eq!(holds(&times(1..=100), 0.01), [true, true, false]);
    assert_eq!(holds(&times(20..=119), 0.0), [false, false, true]);
    assert_eq!(holds(&times([]), 0.0), [false, false, true], "no answer keeps no time");
}

/// Runs a search against a service that holds up to `capacity`, and fails now and then for no reason of its own.
fn found(
    first: f64,
    capacity: f64,
    mut bad_moment: impl FnMut(usize) -> bool,
) -> (Option<f64>, usize) {
    let mut search = Search::new(first);
    while let Some(rate) = search.next() {
        let held = rate <= capacity && !bad_moment(search.probes().len());
        search.heard(held);
    }
    (search.best(), search.probes().len())
}

#[test]
fn a_search_comes_within_five_percent_from_below() {
    for first in [1.0, 100.0, 1e6] {
        for capacity in [3.0, 777.0, 12_345.0, 9e5] {
            let (best, probes) = found(first, capacity, |_| false);
            let best = best.unwrap();
            assert!(best <= capacity && best * 1.05 >= capacity, "{first} {capacity}: {best}");
            assert!(probes <= 60, "{probes}");
        }
    }
}

#[test]
fn one_bad_moment_does_not_end_a_search() {
    let (best, _) = found(100.0, 12_345.0, |probe| probe == 3);
    assert!(best.unwrap() * 1.05 >= 12_345.0);
}

#[test]
fn where_nothing_holds_nothing_is_found_and_the_search_ends() {
    let (best, probes) = found(1_000.0, 0.0, |_| false);
    assert_eq!(best, None);
    assert!(probes <= 22, "{probes}");
    // One that always holds is ended too.
    assert!(found(1.0, f64::INFINITY, |_| false).1 <= 60);
}
