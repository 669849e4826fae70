//! Values that somebody else wrote: rows of a run's folder, what a worker received from a server, an experiment's file. The
//! one rule: every character that a terminal would obey is written out before anything is made of the value.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads JSON. Line feeds and tabs in its texts stay ([`unit::escape_lines`]).
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    if is_clean(text) {
        return serde_json::from_str(text);
    }
    let mut value = serde_json::from_str(text)?;
    clean(&mut value);
    serde_json::from_value(value)
}

/// The same value with clean texts.
pub(crate) fn cleaned<T: Serialize + DeserializeOwned>(value: &T) -> serde_json::Result<T> {
    from_json(&serde_json::to_string(value)?)
}

/// Whether no text in this JSON needs a change. JSON escapes control characters, so an escape may be one.
fn is_clean(json: &str) -> bool {
    let is_control = |escape: &str| escape.starts_with(['u', 'b', 'f', 'r']);
    let has_controls = json.contains('\\') && json.split('\\').skip(1).any(is_control);
    !has_controls && unit::escape_lines(json) == json
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = unit::escape_lines(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            fields.extend(old.into_iter().map(|(name, mut value)| {
                clean(&mut value);
                (unit::escape_lines(&name).into_owned(), value)
            }));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn texts_and_names_are_cleaned_wherever_they_stand() {
        let json = "{\"a\\u001b[2J\": [{\"b\": \"x\\u009by\\nz\"}], \"c\": \"\u{202e}d\", \"e\": \"\\u00fc\"}";
        let value: BTreeMap<String, Value> = from_json(json).unwrap();
        assert_eq!(value["a\\u{1b}[2J"][0]["b"], "x\\u{9b}y\nz");
        assert_eq!((&value["c"], &value["e"]), (&"\\u{202e}d".into(), &"\u{fc}".into()));
        assert_eq!(cleaned(&"\x07".to_owned()).unwrap(), "\\u{7}");
    }
}
