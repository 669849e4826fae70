//! Whether text is qlog as the drafts' schema has it. The schema is CDDL (RFC 8610), in `vectors/qlog`; cddl-cat validates.
//!
//! cddl-cat 0.7 lacks a part of CDDL that the drafts use. `prepared` writes it as what it stands for.

use cddl_cat::context::{BasicContext, LookupContext};
use cddl_cat::flatten::flatten_from_str;
use cddl_cat::json::validate_json;
use serde_json::Value;
use std::collections::BTreeMap;

/// The schema of the drafts that wirelap's files name.
pub struct Schema {
    rules: BasicContext,
}

/// A record that the schema does not allow.
#[derive(Debug)]
pub struct Refused {
    /// The record, as it stands in the file.
    pub record: String,
    /// What is wrong.
    pub why: String,
}

impl Schema {
    /// Reads the drafts.
    ///
    /// # Panics
    /// If a file in `vectors/qlog` is no CDDL.
    #[allow(clippy::expect_used, reason = "tests fail by panics")]
    pub fn of_the_drafts() -> Self {
        let rules = flatten_from_str(&prepared(&DRAFTS.concat()));
        Self { rules: BasicContext::new(rules.expect("vectors/qlog is CDDL")) }
    }

    /// Checks a file of JSON text sequences (RFC 7464): first its head, then an event a record. Gives the events.
    ///
    /// # Errors
    /// The first record that is not as the schema has it.
    pub fn check(&self, file: &str) -> Result<Vec<Value>, Refused> {
        let mut events = Vec::new();
        let mut records = file.split('\u{1e}');
        if let Some(before) = records.next().filter(|before| !before.is_empty()) {
            return Err(refused(before, "it does not begin with RS"));
        }
        let head = records.next().ok_or_else(|| refused("", "there is no head"))?;
        self.check_record(head, &["QlogFileSeq"])?;
        for record in records {
            events.push(self.check_event(record)?);
        }
        Ok(events)
    }

    /// Checks the record of an event, without its RS. Gives what it says.
    ///
    /// # Errors
    /// If the record is not as the schema has it.
    pub fn check_event(&self, record: &str) -> Result<Value, Refused> {
        // The drafts' own rule, and ours for its name.
        self.check_record(record, &["Event", "NamedEvent"])
    }

    fn check_record(&self, record: &str, rules: &[&str]) -> Result<Value, Refused> {
        if !record.ends_with('\n') {
            return Err(refused(record, "it does not end with LF"));
        }
        let value: Value = serde_json::from_str(record).map_err(|error| refused(record, error))?;
        for rule in rules {
            let rule = self.rules.lookup_rule(rule);
            let checked = rule.and_then(|rule| validate_json(rule, &value, &self.rules));
            checked.map_err(|error| refused(record, error))?;
        }
        Ok(value)
    }
}

fn refused(record: &str, why: impl ToString) -> Refused {
    Refused { record: record.to_owned(), why: why.to_string() }
}

/// The drafts' CDDL in the part of CDDL that cddl-cat has:
///
/// - A type socket (`$name`) is the choice of all that its `/=` add (RFC 8610 §3.9).
/// - A group socket (`$$name`) that no `//=` adds to is empty (RFC 8610 §3.9). The drafts add to none.
/// - A regular expression matches the whole text (RFC 8610 §3.8.3).
/// - `.default` says what a missing field means (RFC 8610 §3.8.6). It allows and forbids nothing.
fn prepared(cddl: &str) -> String {
    assert!(!cddl.contains("//="), "something adds to a group socket");
    let mut plain = String::new();
    let mut sockets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // The socket that the lines add to; a rule ends where the next line begins with a name.
    let mut open: Option<String> = None;
    for line in cddl.lines() {
        let line = line.split(';').next().unwrap_or_default();
        let line = line.split(" .default ").next().unwrap_or_default();
        if line.trim_start().starts_with("* $$") {
            continue;
        }
        let line = whole_text(line);
        let mut rest = line.as_str();
        if line.starts_with(|first: char| first == '$' || first.is_ascii_alphabetic()) {
            open = None;
            if let Some((socket, choices)) = line.split_once("/=") {
                sockets.entry(socket.trim().to_owned()).or_default().push(String::new());
                open = Some(socket.trim().to_owned());
                rest = choices;
            }
        }
        let choices = open.as_ref().and_then(|socket| sockets.get_mut(socket)?.last_mut());
        let text = choices.unwrap_or(&mut plain);
        text.push_str(rest);
        text.push('\n');
    }
    for (socket, choices) in sockets {
        plain.push_str(&format!("{socket} = {}\n", choices.join(" / ")));
    }
    plain
}

fn whole_text(line: &str) -> String {
    match line.split_once(".regexp \"") {
        Some((before, after)) => {
            let (expression, rest) = after.split_once('"').unwrap_or((after, ""));
            format!("{before}.regexp \"^({expression})$\"{rest}")
        }
        None => line.to_owned(),
    }
}

const DRAFTS: [&str; 4] = [
    include_str!("../../../vectors/qlog/main-schema-13.cddl"),
    include_str!("../../../vectors/qlog/quic-events-12.cddl"),
    include_str!("../../../vectors/qlog/h3-events-12.cddl"),
    include_str!("../../../vectors/qlog/names.cddl"),
];
