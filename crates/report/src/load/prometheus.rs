//! A load run in Prometheus's text format (version 0.0.4), for a node exporter's folder or a push gateway.

use std::fmt::{Display, Write as _};
use study::load::{LoadResult, TimeBuckets};

/// Counts, the histogram of answers' times, and facts of the run. `times` are those of all answers that count.
pub fn load_prometheus(result: &LoadResult, times: &TimeBuckets) -> String {
    let mut page = Page::default();
    let protocol = result.protocol.as_ref().map(ToString::to_string).unwrap_or_default();
    page.family("info", "gauge", "What ran.");
    page.value("info", &[("version", &result.version), ("protocol", &protocol)], 1);
    page.family("seconds", "gauge", "Seconds in which requests count.");
    page.value("seconds", &[], result.seconds);
    for (name, help, count) in [
        ("requests_total", "Requests.", result.whole.requests),
        ("answers_total", "Requests that were answered.", result.whole.answers),
        ("refused_total", "Answers that refused, by their status.", result.whole.refused),
        ("not_begun_total", "Requests that were due and never begun.", result.whole.not_begun),
        ("connections_total", "Connections opened.", result.connects.opened),
        ("received_bytes_total", "Bytes received over all connections.", result.received_bytes),
        ("sent_bytes_total", "Bytes sent over all connections.", result.sent_bytes),
    ] {
        page.family(name, "counter", help);
        page.value(name, &[], count);
    }
    for (name, help, label, counts) in [
        ("responses_total", "Answers by status.", "status", &result.statuses),
        ("errors_total", "Requests that failed, by kind.", "kind", &result.whole.errors),
        ("connect_errors_total", "Connects that failed.", "kind", &result.connects.errors),
    ] {
        page.family(name, "counter", help);
        for (value, count) in counts {
            page.value(name, &[(label, value)], count);
        }
    }
    page.family("latency_seconds", "histogram", "Times of answers.");
    for (bound, count) in &times.within {
        page.value("latency_seconds_bucket", &[("le", &bound.to_string())], count);
    }
    page.value("latency_seconds_bucket", &[("le", "+Inf")], times.count);
    page.value("latency_seconds_sum", &[], times.sum_seconds);
    page.value("latency_seconds_count", &[], times.count);
    page.0
}

/// Lines under construction. Every name begins with `wirelap_load_`.
#[derive(Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP wirelap_load_{name} {help}");
        let _ = writeln!(self.0, "# TYPE wirelap_load_{name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.0, "wirelap_load_{name}{labels} {value}");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tests::result;

    #[test]
    fn counts_and_a_histogram_are_written_in_the_text_format() {
        let within = vec![(0.001, 2), (0.0025, 9)];
        let times = TimeBuckets { within, count: 10, sum_seconds: 0.025 };
        let page = load_prometheus(&result(), &times);
        let values: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            values,
            [
                "wirelap_load_info{version=\"0.1.0\",protocol=\"h2\"} 1",
                "wirelap_load_seconds 2.5",
                "wirelap_load_requests_total 12",
                "wirelap_load_answers_total 10",
                "wirelap_load_refused_total 3",
                "wirelap_load_not_begun_total 0",
                "wirelap_load_connections_total 4",
                "wirelap_load_received_bytes_total 1000",
                "wirelap_load_sent_bytes_total 500",
                "wirelap_load_responses_total{status=\"200\"} 7",
                "wirelap_load_responses_total{status=\"503\"} 3",
                "wirelap_load_errors_total{kind=\"say \\\"no\\\"\"} 2",
                "wirelap_load_latency_seconds_bucket{le=\"0.001\"} 2",
                "wirelap_load_latency_seconds_bucket{le=\"0.0025\"} 9",
                "wirelap_load_latency_seconds_bucket{le=\"+Inf\"} 10",
                "wirelap_load_latency_seconds_sum 0.025",
                "wirelap_load_latency_seconds_count 10",
            ]
        );
        // Each family is told once, before its values.
        let types = page.lines().filter(|line| line.starts_with("# TYPE ")).count();
        assert_eq!(types, page.lines().filter(|line| line.starts_with("# HELP ")).count());
        assert!(
            page.ends_with('\n')
                && page.contains("# TYPE wirelap_load_latency_seconds histogram\n")
        );
    }
}
