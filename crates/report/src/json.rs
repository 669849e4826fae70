//! `result.json`: the study's result, with its keys in the order of its fields.

use study::load::LoadResult;
use study::result::RunResult;
use study::timer::TimerResult;

/// The text of `result.json`, with a newline at its end. The study must not produce values that JSON cannot represent.
/// If it did, the text would be the error instead of a document.
pub fn json(result: &RunResult) -> String {
    document(serde_json::to_string_pretty(result))
}

/// What `wirelap load --json` prints, likewise.
pub fn load_json(result: &LoadResult) -> String {
    document(serde_json::to_string_pretty(result))
}

/// The result of a run of the page timer, likewise.
pub fn timer_json(result: &TimerResult) -> String {
    document(serde_json::to_string_pretty(result))
}

fn document(written: serde_json::Result<String>) -> String {
    match written {
        Ok(text) => text + "\n",
        Err(error) => format!("{{\"error\": {:?}}}\n", error.to_string()),
    }
}
