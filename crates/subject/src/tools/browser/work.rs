//! Calls and messages from a page: a script that makes them, and its times as lines of the contract. It runs in a document of the
//! server's origin that the adapter itself answers: nothing has passed over the link when the work begins.

use super::Zero;
use crate::contract::{DoneLine, Fetch, FetchLine, Job, OutputLine, Pattern, Transport};
use crate::tools::{Emit, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

/// The document that the script runs in. Without the link, a browser would ask for an icon.
pub(crate) const BLANK: &str =
    "<!doctype html><title>wirelap</title><link rel=\"icon\" href=\"data:,\">";

/// The origin's document: the job's first URL up to its path, by the scheme that a page has.
pub(crate) fn document(job: &Job) -> String {
    let origin = job.fetches.first().map(Fetch::origin).unwrap_or_default();
    match origin.strip_prefix("ws") {
        // `ws` is beside `http` as `wss` is beside `https`.
        Some(rest) => format!("http{rest}/"),
        None => format!("{origin}/"),
    }
}

/// Asks for all of `urls` at once, and waits for the answers.
pub(crate) fn ask_all(urls: &[String]) -> String {
    format!(
        "Promise.all({}.map(url => fetch(url, {{cache: 'no-store'}}).then(answer => answer.text()))).then(() => 'done')",
        json!(urls)
    )
}

/// Does the work in the page; a promise of one JSON text. Times are milliseconds since the page's `timeOrigin`.
const WORK: &str = r#"(async spec => {
  const now = () => performance.now();
  const rows = spec.items.map(() => ({}));
  performance.setResourceTimingBufferSize(spec.items.length + 100);
  // The clock's own steps: the shortest of some.
  let resolution = Infinity;
  for (let nth = 0; nth < 10; nth++) {
    const before = now();
    let after = before;
    while (after === before) after = now();
    resolution = Math.min(resolution, after - before);
  }
  const ask = async (item, row, due) => {
    row.start = due ?? now();
    try {
      const posted = item.text === null ? {} : { method: 'POST', body: item.text };
      row.sent = now();
      const answer = await fetch(item.url, { ...posted, redirect: 'manual' });
      row.first = now();
      const body = item.answer === null ? null : await answer.text();
      row.bytes = body === null ? (await answer.arrayBuffer()).byteLength : new TextEncoder().encode(body).length;
      row.end = now();
      row.status = answer.status;
      if (answer.type === 'opaqueredirect') row.error = 'the answer is a redirect, whose status no page is told';
      if (body !== null && body !== item.answer) row.error = `came back as ${body.slice(0, 60)}`;
    } catch (error) {
      row.end = now();
      row.error = String(error);
    }
  };
  const requests = async () => {
    if (spec.serial) {
      for (let nth = 0; nth < rows.length; nth++) await ask(spec.items[nth], rows[nth]);
    } else {
      const due = now();
      await Promise.all(rows.map((row, nth) => ask(spec.items[nth], row, due)));
    }
    const spoken = new Map();
    for (const entry of performance.getEntriesByType('resource')) spoken.set(entry.name, entry.nextHopProtocol);
    rows.forEach((row, nth) => { row.protocol = spoken.get(spec.items[nth].url) || null; });
  };
  const messages = () => new Promise(done => {
    const [opening, ...sent] = rows;
    const texts = spec.items.slice(1);
    opening.start = now();
    const socket = new WebSocket(spec.items[0].url);
    let next = 0, back = 0;
    const send = due => {
      sent[next].start = due;
      sent[next].sent = now();
      socket.send(texts[next].text);
      next++;
    };
    const fail = error => {
      for (const row of rows) if (row.end === undefined) { row.start ??= opening.start; row.end = now(); row.error = error; }
      done();
    };
    socket.onopen = () => {
      opening.first = opening.end = now();
      opening.status = 101;
      // The first is due when the work begins, as a request is that waits for its connection.
      do send(opening.start); while (!spec.serial && next < texts.length);
    };
    socket.onmessage = event => {
      const row = sent[back], text = texts[back];
      row.first = row.end = now();
      row.bytes = new TextEncoder().encode(event.data).length;
      if (event.data !== text.answer) row.error = `came back as ${String(event.data).slice(0, 60)}`;
      back++;
      if (back === texts.length) { socket.onclose = null; socket.close(); done(); }
      else if (spec.serial) send(row.end);
    };
    socket.onerror = () => fail('the WebSocket failed');
    socket.onclose = event => fail(`the WebSocket was closed (${event.code})`);
  });
  const late = new Promise(done => setTimeout(done, spec.timeout));
  await Promise.race([spec.socket ? messages() : requests(), late]);
  for (const row of rows) {
    row.start ??= now();
    if (row.end === undefined) { row.end = now(); row.error = 'no answer in time'; }
  }
  return JSON.stringify({ origin_ms: performance.timeOrigin, resolution_ms: resolution, rows });
})"#;

/// The script of a job.
pub(crate) fn script(job: &Job) -> String {
    let item = |fetch: &Fetch| {
        let message = fetch.message.as_ref();
        json!({
            "url": fetch.url,
            "text": message.and_then(|message| message.text.as_ref()),
            "answer": message.map(|message| &message.answer),
        })
    };
    let spec = json!({
        "serial": job.pattern == Pattern::Serial,
        "socket": job.transport == Transport::WebSocket,
        "timeout": job.timeout_ms,
        "items": job.fetches.iter().map(item).collect::<Vec<Value>>(),
    });
    format!("{WORK}({spec})")
}

/// What the script gave.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Told {
    /// `timeOrigin`, in milliseconds of the wall clock.
    origin_ms: f64,
    /// The shortest step of the page's clock.
    resolution_ms: f64,
    rows: Vec<Row>,
}

/// A request or a message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Row {
    start: f64,
    sent: Option<f64>,
    first: Option<f64>,
    end: f64,
    status: Option<u16>,
    #[serde(default)]
    bytes: u64,
    protocol: Option<String>,
    error: Option<String>,
}

impl Told {
    /// Reads it.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        super::read_json(text.as_bytes())
            .map_err(|error| ToolError::Broken(format!("what the page did: {error}")))
    }

    /// Emits a line for each fetch of the job, and `done`.
    pub(crate) fn tell(&self, job: &Job, zero: Zero, emit: &mut Emit<'_>) -> Result<(), ToolError> {
        for line in self.lines(job, zero.wall_ms()) {
            emit(OutputLine::Fetch(line))?;
        }
        let clock_resolution_ms = Some(self.resolution_ms);
        emit(OutputLine::Done(DoneLine { clock_resolution_ms, ..DoneLine::default() }))?;
        Ok(())
    }

    /// A line for each fetch of the job. `zero_wall_ms` is the contract's zero in milliseconds of the wall clock.
    fn lines(&self, job: &Job, zero_wall_ms: f64) -> Vec<FetchLine> {
        let is_socket = job.transport == Transport::WebSocket;
        let line = |(nth, (fetch, row)): (usize, (&Fetch, &Row))| {
            let at = |ms: f64| (ms + self.origin_ms - zero_wall_ms).max(0.0);
            let end = at(row.end);
            let is_message = is_socket && nth > 0 && row.error.is_none();
            FetchLine {
                status: row.status.filter(|_| row.error.is_none()),
                error: row.error.clone(),
                protocol: match is_socket {
                    true => Some(job.transport.name().to_owned()),
                    false => row.protocol.clone(),
                },
                sent_ms: row.sent.map(at),
                first_byte_ms: row.first.map(at),
                bytes: Some(row.bytes),
                message: is_message,
                ..FetchLine::at(fetch.id, at(row.start), end)
            }
        };
        job.fetches.iter().zip(&self.rows).enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Message;
    use crate::tools::browser::tests::job;

    #[test]
    fn the_document_is_of_the_origin_that_is_asked() {
        for (url, document_url) in [
            ("https://far.test/api?call=1", "https://far.test/"),
            ("ws://far.test:8080/ws/echo", "http://far.test:8080/"),
            ("wss://far.test/ws/echo", "https://far.test/"),
        ] {
            assert_eq!(document(&job(&[url])), document_url);
        }
    }

    #[test]
    fn a_script_has_what_is_sent_and_what_has_to_come_back() {
        let mut job = job(&["http://far.test/double?number=1", "http://far.test/echo"]);
        job.pattern = Pattern::Serial;
        job.fetches[0].message = Some(Message { text: None, answer: "2".to_owned() });
        job.fetches[1].message =
            Some(Message { text: Some("a".to_owned()), answer: "a".to_owned() });
        let script = script(&job);
        let spec = script.rsplit_once("})(").unwrap().1.strip_suffix(')').unwrap();
        let spec: Value = serde_json::from_str(spec).unwrap();
        assert_eq!((&spec["serial"], &spec["socket"]), (&json!(true), &json!(false)));
        let first = json!({"url": "http://far.test/double?number=1", "text": null, "answer": "2"});
        assert_eq!(spec["items"][0], first);
        assert_eq!(spec["items"][1]["text"], "a");
    }

    #[test]
    fn messages_of_a_socket_have_no_status_and_what_failed_has_none_either() {
        let mut job =
            job(&["ws://far.test/ws/double", "ws://far.test/ws/double", "ws://far.test/ws/double"]);
        job.transport = Transport::WebSocket;
        let told = Told::parse(
            r#"{"origin_ms": 1000.0, "resolution_ms": 0.1, "rows": [
                {"start": 1.0, "first": 40.0, "end": 40.0, "status": 101},
                {"start": 1.0, "sent": 40.0, "first": 60.0, "end": 60.0, "bytes": 1},
                {"start": 60.0, "sent": 60.1, "end": 80.0, "error": "no answer in time"}]}"#,
        )
        .unwrap();
        let lines = told.lines(&job, 990.0);
        let facts: Vec<_> = lines
            .iter()
            .map(|line| {
                (line.status, line.message, line.error.is_some(), line.started_ms, line.ended_ms)
            })
            .collect();
        assert_eq!(
            facts,
            [
                (Some(101), false, false, 11.0, 50.0),
                (None, true, false, 11.0, 70.0),
                (None, false, true, 70.0, 90.0)
            ]
        );
        assert_eq!(lines[1].protocol.as_deref(), Some("ws"));
        assert!(Told::parse("{}").is_err());
    }
}
