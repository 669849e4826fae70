//! A result in Bencher Metric Format, for dashboards that keep figures over time
//! (<https://bencher.dev/docs/reference/bencher-metric-format/>).

use serde_json::{Map, Value, json};
use study::result::RunResult;

/// A benchmark for each cell, `experiment/workload/link/contender`, with the median of every metric as a measure. The bounds are
/// those of the median's 95 % interval, where there were enough trials for one. `trials` and `failed_trials` are there without a
/// figure, too: medians leave out what failed.
pub fn bmf(result: &RunResult) -> String {
    let mut benchmarks = Map::new();
    for cell in &result.cells {
        let id = cell.id();
        let measures = cell.metrics.iter().map(|(name, summary)| {
            let mut figures = json!({ "value": summary.median });
            if let Some([low, high]) = summary.ci95 {
                figures["lower_value"] = low.into();
                figures["upper_value"] = high.into();
            }
            (name.clone(), figures)
        });
        let mut measures: Map<String, Value> = measures.collect();
        measures.insert("trials".to_owned(), json!({ "value": cell.trials.all() }));
        measures.insert("failed_trials".to_owned(), json!({ "value": cell.trials.failed }));
        let name = format!("{}/{}/{}/{}", result.experiment, id.workload, id.link, id.contender);
        benchmarks.insert(name, Value::Object(measures));
    }
    format!("{:#}\n", Value::Object(benchmarks))
}
