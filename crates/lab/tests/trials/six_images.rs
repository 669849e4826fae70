//! A page of six images, and what its contenders come to.

use serde_json::Value;

/// One trial of a page of six images over 60 ms, to which contenders are added.
pub(crate) fn six_images(baseline: &str) -> String {
    format!(
        "name = \"six-images\"\ntitle = \"a page of six images\"\nquestion = \"what happens?\"\n\
         baseline = \"{baseline}\"\ntrials = 1\nwarmup = 0\n\
         [[workloads]]\nkind = \"page\"\nimages = 6\nbytes = 1000\n\
         [[links]]\nname = \"rtt=60ms,down=10mbit,up=10mbit\"\n"
    )
}

/// The median of a metric in a result of one workload and one link; 0 where the contender has no such metric.
pub(crate) fn median(result: &Value, contender: &str, metric: &str) -> f64 {
    let cells = result["cells"].as_array().unwrap();
    let cell = cells.iter().find(|cell| cell["contender"]["name"] == contender).unwrap();
    cell["metrics"][metric]["median"].as_f64().unwrap_or(0.0)
}
