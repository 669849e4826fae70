//! curl: one process for all fetches. It gets them by a file of options, and reports by `--write-out '%{json}'`.

use super::drive::{Parsed, Stream, ToolRun, silent};
use super::{Emit, ToolError, target, tls_name};
use crate::contract::{
    Fetch, FetchLine, Job, OutputLine, Pattern, Tls, Transport, UnsupportedLine,
};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use trace::Protocol;

/// A file in the working directory of the adapter, which belongs to the trial.
const OPTIONS: &str = "curl.options";

/// curl's own limit, from its source (`MAX_PARALLEL`).
const MOST_PARALLEL: u32 = 300;

/// The most fetches at once if one connection carries many.
const MULTIPLEXED: u32 = 100;

/// curl's exit codes for an option that it does not support (2 and 4).
const REFUSED: [i32; 2] = [2, 4];

pub(super) fn run(job: &Job, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    if job.transport == Transport::H3 {
        has_http3(&Command::new("curl").arg("--version").output()?.stdout)?;
    }
    let options = options(job)?;
    fs::write(OPTIONS, options)?;
    fetch(job, emit)
}

/// Whether the curl with this version output was built with HTTP/3. Most distributions leave that out.
fn has_http3(version: &[u8]) -> Result<(), ToolError> {
    let version = String::from_utf8_lossy(version);
    let features = version.lines().find_map(|line| line.strip_prefix("Features:"));
    if features.unwrap_or_default().split_whitespace().any(|feature| feature == "HTTP3") {
        return Ok(());
    }
    let name = version.split(" (").next().unwrap_or("this curl");
    Err(ToolError::Unsupported(UnsupportedLine {
        reason: format!("{name} is built without HTTP/3"),
        // Any curl will do whose `--version` names the feature HTTP3.
        remedy: Some(
            r#"./peers install-current && export PATH="$(./peers current):$PATH""#.to_owned(),
        ),
    }))
}

fn fetch(job: &Job, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    let mut command = Command::new("curl");
    // -q comes first: the user's .curlrc must not change what is measured.
    command.arg("-q").arg("-K").arg(OPTIONS);
    if let Some(key_log) = &job.key_log {
        command.env("SSLKEYLOGFILE", key_log);
    }
    let mut tool = ToolRun::begin(emit, "curl", job.key_log.is_some())?;
    let mut sockets: BTreeMap<(String, u16), u32> = BTreeMap::new();
    let mut missing: BTreeSet<u32> = job.fetches.iter().map(|fetch| fetch.id).collect();
    let mut asked_at = None;
    let status = tool.run(command, Stream::Error, |at, text| {
        // With several transfers at once, curl prints a progress table's head before the first line.
        let json = text.find('{').map_or("", |at| &text[at..]);
        let Ok(output) = serde_json::from_str::<WriteOut>(json) else { return Parsed::Nothing };
        let Some(fetch) = job.fetches.get(output.urlnum) else { return Parsed::Nothing };
        missing.remove(&fetch.id);
        let next = sockets.len() as u32;
        let connection = (output.local_port > 0)
            .then(|| *sockets.entry((output.local_ip.clone(), output.local_port)).or_insert(next));
        let mut line = output.line(fetch.id, at, connection, job.tls);
        if job.pattern == Pattern::Parallel {
            // All were asked for when curl began, and those beyond its connections waited. What ends first is of those that
            // began at once.
            line.started_ms = line.started_ms.min(*asked_at.get_or_insert(line.started_ms));
        }
        Parsed::Line(OutputLine::Fetch(line))
    })?;
    if status.code().is_some_and(|code| REFUSED.contains(&code))
        && missing.len() == job.fetches.len()
    {
        return Err(ToolError::Broken(format!(
            "this curl does not know what {} needs (exit code {})",
            job.transport,
            status.code().unwrap_or_default()
        )));
    }
    for id in missing {
        let at = tool.now_ms();
        tool.emit(OutputLine::Fetch(failed(id, at, silent("curl", status))))?;
    }
    tool.end(Some(sockets.len() as u32))
}

fn failed(id: u32, at: f64, error: String) -> FetchLine {
    FetchLine { error: Some(error), ..FetchLine::at(id, at, at) }
}

/// curl's options, one a line.
fn options(job: &Job) -> Result<String, ToolError> {
    let mut text =
        String::from("silent\ngloboff\nnoproxy = \"*\"\nwrite-out = \"%{stderr}%{json}\\n\"\n");
    text.push_str(match (job.transport, job.tls) {
        (Transport::Http1, _) => "http1.1\n",
        (Transport::H2, Tls::None) => "http2-prior-knowledge\n",
        (Transport::H2, _) => "http2\n",
        (Transport::H3, _) => "http3-only\n",
        (other, _) => return Err(ToolError::unable(format!("curl does not speak {other}"))),
    });
    text.push_str(match job.tls {
        Tls::None => "",
        Tls::V1_2 => "tlsv1.2\ntls-max = \"1.2\"\n",
        Tls::V1_3 => "tlsv1.3\n",
    });
    if let Some(trust) = &job.trust {
        let _ = writeln!(text, "cacert = \"{}\"", escaped(&trust.to_string_lossy()));
    }
    if !job.resumption && job.tls != Tls::None {
        text.push_str("no-sessionid\n");
    }
    match (job.keep_alive, job.transport) {
        (true, _) => {}
        (false, Transport::Http1) => text.push_str("header = \"Connection: close\"\n"),
        (false, other) => {
            return Err(ToolError::unable(format!(
                "curl keeps a connection of {other} within a run"
            )));
        }
    }
    let _ = writeln!(text, "max-time = {:.3}", job.timeout().as_secs_f64());
    match job.pattern {
        Pattern::Serial => {}
        Pattern::Parallel => {
            let most = match job.transport {
                Transport::Http1 => job.connections.min(MOST_PARALLEL),
                _ => MULTIPLEXED,
            };
            if most > 1 && job.fetches.len() > 1 {
                let _ = writeln!(text, "parallel\nparallel-max = {most}");
            }
        }
        Pattern::Staggered { .. } => {
            return Err(ToolError::unable(
                "curl starts no transfer while another one is under way, by the clock",
            ));
        }
    }
    // A request's own options hold for all URLs up to `next`, which takes back whatever was set before.
    let is_plain = job.fetches.iter().all(Fetch::is_plain_get);
    let shared = text.clone();
    for (place, fetch) in job.fetches.iter().enumerate() {
        if place > 0 && !is_plain {
            let _ = write!(text, "next\n{shared}");
        }
        let file = escaped(&target(job, fetch.file.as_deref()));
        let _ = writeln!(text, "url = \"{}\"\noutput = \"{file}\"", escaped(&fetch.url));
        text.push_str(&request_options(fetch));
    }
    Ok(text)
}

/// What a request says beside its URL.
fn request_options(fetch: &Fetch) -> String {
    let mut text = String::new();
    for (name, value) in &fetch.headers {
        // curl takes a name with a semicolon for a field without a value.
        let field = if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") };
        let _ = writeln!(text, "header = \"{}\"", escaped(&field));
    }
    if let Some(file) = &fetch.body_file {
        let _ = writeln!(text, "data-binary = \"@{}\"", escaped(&file.to_string_lossy()));
        if !fetch.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type")) {
            // It would say that this is a form.
            text.push_str("header = \"Content-Type:\"\n");
        }
    }
    match fetch.method.as_deref() {
        None => {}
        // A response to HEAD has no body, whatever its length says.
        Some("HEAD") => text.push_str("head\n"),
        Some(method) => {
            let _ = writeln!(text, "request = \"{}\"", escaped(method));
        }
    }
    text
}

/// As it stands between quotes in a file of options.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t")
}

/// What `%{json}` holds; times are seconds since the transfer began.
#[derive(Debug, Deserialize)]
struct WriteOut {
    urlnum: usize,
    exitcode: i32,
    errormsg: Option<String>,
    http_code: u16,
    http_version: String,
    local_ip: String,
    local_port: u16,
    num_connects: u32,
    size_download: u64,
    time_connect: f64,
    time_appconnect: f64,
    time_pretransfer: f64,
    time_starttransfer: f64,
    time_total: f64,
}

impl WriteOut {
    /// A line that came at `ended`.
    fn line(&self, id: u32, ended: f64, connection: Option<u32>, tls: Tls) -> FetchLine {
        let started = (ended - self.time_total * 1e3).max(0.0);
        let at =
            |seconds: f64| (seconds > 0.0).then(|| (started + seconds * 1e3).clamp(started, ended));
        let opened = self.num_connects > 0;
        let base = FetchLine {
            connection,
            connected_ms: at(self.time_connect).filter(|_| opened),
            secured_ms: at(self.time_appconnect).filter(|_| opened),
            sent_ms: at(self.time_pretransfer),
            first_byte_ms: at(self.time_starttransfer),
            ..FetchLine::at(id, started, ended)
        };
        if self.exitcode != 0 {
            let reason = self.errormsg.clone().unwrap_or_default();
            let error = Some(format!("{reason} (curl's exit code {})", self.exitcode));
            return FetchLine { error, ..base };
        }
        FetchLine {
            status: Some(self.http_code),
            protocol: protocol(&self.http_version).map(|protocol| protocol.name().to_owned()),
            bytes: Some(self.size_download),
            // It must use exactly this version, or the connection fails.
            tls: tls_name(tls).map(str::to_owned),
            ..base
        }
    }
}

fn protocol(version: &str) -> Option<Protocol> {
    match version {
        "1.1" => Some(Protocol::Http1),
        "2" => Some(Protocol::Http2),
        "3" => Some(Protocol::Http3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::browser::tests::job;

    #[test]
    fn braces_of_urls_and_quotes_of_paths_mean_themselves() {
        let mut job = job(&["https://far/small?f[1-3]={a,b}"]);
        job.trust = Some("/a \"b\"/root.pem".into());
        job.output = Some("/a \"b\"".into());
        job.fetches[0].file = Some("0".to_owned());
        let text = options(&job).unwrap();
        for line in [
            "globoff",
            "url = \"https://far/small?f[1-3]={a,b}\"",
            r#"cacert = "/a \"b\"/root.pem""#,
            r#"output = "/a \"b\"/0""#,
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in {text}");
        }
    }

    #[test]
    fn what_a_request_says_becomes_options_that_curl_reads_back() {
        let mut fetch = Fetch::get(0, "http://far/orders".to_owned(), None);
        assert_eq!(request_options(&fetch), "");
        fetch.method = Some("PUT".to_owned());
        fetch.headers = [("X-Say", "a \"b\" \\"), ("X-Empty", "")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        fetch.body_file = Some("/tmp/order.json".into());
        assert_eq!(
            request_options(&fetch),
            "header = \"X-Empty;\"\nheader = \"X-Say: a \\\"b\\\" \\\\\"\n\
             data-binary = \"@/tmp/order.json\"\nheader = \"Content-Type:\"\nrequest = \"PUT\"\n"
        );
        fetch.headers.insert("content-type".to_owned(), "text/plain".to_owned());
        assert!(!request_options(&fetch).contains("Content-Type:"));
    }

    #[test]
    fn a_curl_without_http3_is_told_by_its_own_name_with_the_remedy() {
        let with = b"curl 8.23.0 (x86_64-pc-linux-gnu) libcurl/8.23.0 ngtcp2/1.20.0\n\
            Features: alt-svc HTTP2 HTTP3 HTTPS-proxy\n";
        assert!(has_http3(with).is_ok());
        // The name of another feature, and HTTP3 elsewhere, are none.
        for without in [
            &b"curl 7.88.1 (x86_64-pc-linux-gnu) libcurl/7.88.1 HTTP3\nFeatures: HTTP2 HTTP3000\n"
                [..],
            b"curl 7.88.1 (x86_64-pc-linux-gnu)\n",
        ] {
            let Err(ToolError::Unsupported(line)) = has_http3(without) else {
                panic!("it has none")
            };
            assert_eq!(line.reason, "curl 7.88.1 is built without HTTP/3");
            assert!(line.remedy.unwrap().starts_with("./peers install-current && "));
        }
    }
}
