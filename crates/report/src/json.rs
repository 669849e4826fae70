//! `result.json`: the study's value as it is, with its keys in the order of its fields.

use study::result::RunResult;

/// The text of `result.json`, with a new line at its end. Values that JSON cannot hold are the study's to avoid;
/// should one be there, the text says so in place of a document.
pub fn json(result: &RunResult) -> String {
    match serde_json::to_string_pretty(result) {
        Ok(text) => text + "\n",
        Err(error) => format!("{{\"error\": {:?}}}\n", error.to_string()),
    }
}
