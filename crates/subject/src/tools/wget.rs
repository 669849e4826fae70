//! wget: one process, one connection, HTTP/1.1. It reports by the line that `-nv` prints for each file.

use super::drive::{Parsed, Stream, ToolRun, silent};
use super::{Emit, ToolError, rename};
use crate::contract::{FetchLine, Job, OutputLine, Pattern, Tls, Transport};
use std::collections::{BTreeSet, VecDeque};
use std::process::Command;
use trace::Protocol;

pub(super) fn run(job: &Job, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    if job.transport != Transport::Http1 {
        return Err(ToolError::unable("wget speaks HTTP/1.1 alone"));
    }
    if let Pattern::Staggered { .. } = job.pattern {
        return Err(ToolError::unable("wget makes one fetch after another"));
    }
    let command = command(job);
    let mut tool = ToolRun::begin(emit, "wget", false)?;
    let mut missing: BTreeSet<u32> = job.fetches.iter().map(|fetch| fetch.id).collect();
    let mut started = 0.0;
    let mut words = Words::default();
    let status = tool.run(command, Stream::Error, |at, text| {
        let Some((url, bytes)) = saved(text) else {
            words.add(text);
            return Parsed::Nothing;
        };
        let asked = job.fetches.iter().find(|f| f.url == url && missing.contains(&f.id));
        let Some(fetch) = asked else { return Parsed::Nothing };
        missing.remove(&fetch.id);
        let line = FetchLine {
            // It saves a body only with status 200. Anything else is an error to it.
            status: Some(200),
            protocol: Some(Protocol::Http1.name().to_owned()),
            bytes: Some(bytes),
            ..FetchLine::at(fetch.id, started, at)
        };
        // It does one after another. Of `parallel` all were asked for when the first was.
        if job.pattern == Pattern::Serial {
            started = at;
        }
        Parsed::Line(OutputLine::Fetch(line))
    })?;
    for fetch in job.fetches.iter().filter(|fetch| missing.contains(&fetch.id)) {
        let at = tool.now_ms();
        let error = Some(words.after(silent("wget", status)));
        tool.emit(OutputLine::Fetch(FetchLine { error, ..FetchLine::at(fetch.id, at, at) }))?;
    }
    rename(job)?;
    tool.end(None)
}

/// The last that wget said beside what it saved: why it did not save the rest.
#[derive(Default)]
struct Words(VecDeque<String>);

impl Words {
    /// Enough for the causes of a few fetches.
    const MOST: usize = 4;

    fn add(&mut self, line: &str) {
        let is_summary = ["FINISHED --", "Total wall clock time:", "Downloaded:"];
        if line.is_empty() || is_summary.iter().any(|summary| line.starts_with(summary)) {
            return;
        }
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back(line.to_owned());
    }

    fn after(&self, error: String) -> String {
        let words = self.0.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        if words.is_empty() { error } else { format!("{error}; its last words: {words}") }
    }
}

fn command(job: &Job) -> Command {
    let mut command = Command::new("wget");
    command.args([
        "--no-config",
        "--no-proxy",
        "--no-hsts",
        "-nv",
        "--tries=1",
        "--max-redirect=0",
    ]);
    command.arg(format!("--timeout={:.3}", job.timeout().as_secs_f64()));
    match job.tls {
        Tls::None => {}
        Tls::V1_2 => drop(command.arg("--secure-protocol=TLSv1_2")),
        Tls::V1_3 => drop(command.arg("--secure-protocol=TLSv1_3")),
    }
    if let Some(trust) = &job.trust {
        command.arg("--ca-certificate").arg(trust);
    }
    if !job.keep_alive {
        command.arg("--no-http-keep-alive");
    }
    match &job.output {
        // One -O would hold all bodies, so each file keeps its URL's name until the end.
        Some(folder) => command.arg("-P").arg(folder),
        None => command.args(["-O", "/dev/null"]),
    };
    command.args(job.fetches.iter().map(|fetch| &fetch.url));
    command
}

/// `2026-01-01 00:00:00 URL:https://host/path [80000/80000] -> "file" [1]`
fn saved(line: &str) -> Option<(&str, u64)> {
    let (_, rest) = line.split_once(" URL:")?;
    let (url, rest) = rest.split_once(" [")?;
    let (bytes, _) = rest.split_once(']')?;
    let bytes = bytes.split('/').next()?.parse().ok()?;
    Some((url, bytes))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_words_tell_why_nothing_was_saved() {
        let mut words = super::Words::default();
        assert_eq!(words.after("exit code 4".to_owned()), "exit code 4");
        for number in 0..4 {
            words.add(&format!("failed: {number}"));
        }
        for line in ["http://a.test/b:", "", "FINISHED --2026-01-01 00:00:00--"] {
            words.add(line);
        }
        assert_eq!(
            words.after("exit code 4".to_owned()),
            "exit code 4; its last words: failed: 1 failed: 2 failed: 3 http://a.test/b:"
        );
    }

    #[test]
    fn a_line_of_wget_names_what_was_saved() {
        let line = r#"2026-01-01 00:00:00 URL:http://a.test/b [80000/80000] -> "b" [1]"#;
        assert_eq!(super::saved(line), Some(("http://a.test/b", 80_000)));
        let unsized_line = r#"2026-01-01 00:00:00 URL:http://a.test/b [12] -> "b" [1]"#;
        assert_eq!(super::saved(unsized_line), Some(("http://a.test/b", 12)));
        assert_eq!(super::saved("2026-01-01 00:00:00 ERROR 404: Not Found."), None);
    }
}
