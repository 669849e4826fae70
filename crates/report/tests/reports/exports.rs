//! JSON, CSV and HAR, read back.

use crate::hostile;
use crate::simulated::Run;
use serde_json::Value;
use study::result::RunResult;

#[test]
fn the_result_reads_back_as_it_was_written() {
    for run in [Run::clean(), Run::troubled(), hostile()] {
        let text = report::json(&run.result);
        assert!(text.starts_with("{\n  \"schema\": \"wirelap.result/1\",\n  \"version\""));
        assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), run.result);
    }
}

/// RFC 4180, as little of it as reads it whole.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.push(chars.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {
                assert_eq!(chars.next(), Some('\n'));
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    assert!(row.is_empty() && field.is_empty(), "the last line ends");
    rows
}

#[test]
fn csv_has_a_line_a_trial_and_a_field_a_column() {
    for run in [Run::clean(), Run::troubled(), hostile()] {
        let table = parse_csv(&report::csv(&run.rows));
        assert_eq!(table.len(), run.rows.len() + 1);
        assert!(table.iter().all(|row| row.len() == table[0].len()));
        let column = |name: &str| table[0].iter().position(|n| n == name).unwrap();
        for (line, row) in table[1..].iter().zip(&run.rows) {
            let load = row.metrics.get("load_ms").map(f64::to_string).unwrap_or_default();
            assert_eq!(line[column("load_ms")], load);
            assert_eq!(line[column("seed")], row.plan.seed.to_string());
            assert!(line[column("started")].ends_with('Z'));
            let reason = row.outcome.reason().unwrap_or_default();
            assert!(
                line[column("reason")] == reason || line[column("reason")] == format!("'{reason}")
            );
        }
    }
}

#[test]
fn bencher_gets_the_median_of_each_cell_with_its_interval() {
    for run in [Run::clean(), Run::troubled(), hostile()] {
        let document: Value = serde_json::from_str(&report::bmf(&run.result)).unwrap();
        assert_eq!(document.as_object().unwrap().len(), run.result.cells.len());
        for cell in &run.result.cells {
            let id = cell.id();
            let name =
                format!("{}/{}/{}/{}", run.result.experiment, id.workload, id.link, id.contender);
            let measures = &document[name];
            assert_eq!(measures["trials"]["value"], cell.trials.all());
            assert_eq!(measures["failed_trials"]["value"], cell.trials.failed);
            let Some(summary) = cell.metrics.get("load_ms") else {
                assert!(cell.metrics.is_empty() && measures["load_ms"].is_null());
                continue;
            };
            let measure = &measures["load_ms"];
            assert_eq!(measure["value"], summary.median);
            assert_eq!(measure["lower_value"].as_f64(), summary.ci95.map(|[low, _]| low));
            assert_eq!(measure["upper_value"].as_f64(), summary.ci95.map(|[_, high]| high));
        }
    }
}

#[test]
fn no_field_of_text_starts_a_formula() {
    let table = parse_csv(&report::csv(&hostile().rows));
    let column = table[0].iter().position(|name| name == "workload").unwrap();
    assert!(table[1..].iter().all(|row| row[column].starts_with("'=")));
}

#[test]
fn har_entries_have_what_the_format_requires_and_their_timings_sum_up() {
    let run = Run::clean();
    let row = run.rows.iter().find(|row| row.plan.key == "page-50x5kB/3g/h1-tls/3").unwrap();
    let document: Value = serde_json::from_str(&report::har(row, "0.1.0")).unwrap();
    let log = &document["log"];
    assert_eq!(
        (log["version"].as_str(), log["creator"]["name"].as_str()),
        (Some("1.2"), Some("wirelap"))
    );
    assert_eq!(
        log["pages"][0]["pageTimings"]["onLoad"].as_f64(),
        row.metrics.get("load_ms").copied()
    );
    let mut other = row.clone();
    other.metrics.insert("dom_content_loaded_ms".to_owned(), 12.5);
    other.fetches[0].method = "POST".to_owned();
    other.fetches[2].method = "POST".to_owned();
    other.fetches[2].request_body_bytes = Some(300);
    let document: Value = serde_json::from_str(&report::har(&other, "0.1.0")).unwrap();
    assert_eq!(document["log"]["pages"][0]["pageTimings"]["onContentLoad"], 12.5);
    assert_eq!(document["log"]["entries"][0]["request"]["bodySize"], -1, "it is not known");
    assert_eq!(document["log"]["entries"][1]["request"]["bodySize"], 0);
    assert_eq!(document["log"]["entries"][2]["request"]["bodySize"], 300);
    let entries = log["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 51);
    let mut connects = 0;
    for entry in entries {
        assert_eq!(entry["pageref"], log["pages"][0]["id"]);
        for (part, names) in [
            (
                "request",
                &[
                    "method",
                    "url",
                    "httpVersion",
                    "cookies",
                    "headers",
                    "queryString",
                    "headersSize",
                    "bodySize",
                ][..],
            ),
            (
                "response",
                &[
                    "status",
                    "statusText",
                    "httpVersion",
                    "cookies",
                    "headers",
                    "content",
                    "redirectURL",
                    "headersSize",
                    "bodySize",
                ],
            ),
            ("timings", &["send", "wait", "receive"]),
        ] {
            names.iter().for_each(|name| assert!(!entry[part][*name].is_null(), "{part}.{name}"));
        }
        let timing = |name: &str| entry["timings"][name].as_f64().unwrap();
        let happened = |name| timing(name).max(0.0);
        let sum: f64 =
            ["blocked", "dns", "connect", "send", "wait", "receive"].map(happened).iter().sum();
        assert!((sum - entry["time"].as_f64().unwrap()).abs() < 1e-4, "{entry}");
        if timing("connect") > 0.0 {
            assert!(timing("ssl") > 0.0 && timing("ssl") < timing("connect"));
            connects += 1;
        }
    }
    assert_eq!(connects, 6);
    assert_eq!(entries[0]["request"]["queryString"][0]["name"], "images");
    assert_eq!(entries[0]["serverIPAddress"], "10.7.0.2");
}

#[test]
fn a_har_of_hostile_rows_is_still_json() {
    for row in &hostile().rows {
        assert!(serde_json::from_str::<Value>(&report::har(row, "0.1.0")).is_ok());
    }
}
