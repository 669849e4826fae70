//! `result.json`: the study's value as it is, with its keys in the order of its fields.

use study::load::LoadResult;
use study::result::RunResult;

/// The text of `result.json`, with a new line at its end. Values that JSON cannot hold are the study's to avoid;
/// should one be there, the text says so in place of a document.
pub fn json(result: &RunResult) -> String {
    document(serde_json::to_string_pretty(result))
}

/// What `wirelap load --json` prints, likewise.
pub fn load_json(result: &LoadResult) -> String {
    document(serde_json::to_string_pretty(result))
}

fn document(written: serde_json::Result<String>) -> String {
    match written {
        Ok(text) => text + "\n",
        Err(error) => format!("{{\"error\": {:?}}}\n", error.to_string()),
    }
}
