//! WebDriver BiDi (w3.org/TR/webdriver-bidi): JSON commands with a number each over a WebSocket, events in between. The browser
//! chooses the port and says it on its standard error. No call and no wait is longer than the deadline that the caller sets.

use super::socket::WebSocket;
use crate::tools::ToolError;
use crate::tools::browser::{Event, Events, ended, read_json};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;
use unit::Instant;

/// What stands before the address on standard error.
const LISTENING: &str = "WebDriver BiDi listening on ws://";

/// Where a session is opened.
const PATH: &str = "/session";

/// As good as now, for a socket whose reads have to wait for something.
const AT_ONCE: Duration = Duration::from_millis(1);

/// How long it may take to end.
const END: Duration = Duration::from_secs(3);

/// A browser and the WebSocket to it. Dropping it ends it.
pub(super) struct BiDi {
    child: Running,
    socket: WebSocket,
    events: Events,
    last_id: u64,
    deadline: Instant,
}

/// A process that is ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl BiDi {
    /// Starts a browser, which is to listen by the deadline.
    pub(super) fn start(mut command: Command, deadline: Instant) -> Result<Self, ToolError> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let spawned = command.spawn();
        let child =
            spawned.map_err(|error| ToolError::Broken(format!("starting {program}: {error}")))?;
        let mut child = Running(child);
        let Some(said) = child.0.stderr.take() else {
            return Err(ToolError::Broken("the browser has no standard error".to_owned()));
        };
        let address = match listening(said).recv_timeout(deadline.since(os::clock::now())) {
            Ok(address) => address,
            Err(RecvTimeoutError::Timeout) => {
                return Err(ToolError::Broken("the browser does not listen in time".to_owned()));
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.0.wait()?;
                return Err(ToolError::Broken(format!("the browser ended by itself: {status}")));
            }
        };
        let socket = WebSocket::open(address, PATH, deadline)
            .map_err(|error| ToolError::Broken(format!("the browser's WebSocket: {error}")))?;
        Ok(Self { child, socket, events: Events::default(), last_id: 0, deadline })
    }

    /// Until when calls may take.
    pub(super) fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    /// Sends a command, for whose answer nobody has to wait; its number.
    pub(super) fn post(&mut self, method: &str, params: Value) -> Result<u64, ToolError> {
        self.last_id += 1;
        let id = self.last_id;
        let command = json!({ "id": id, "method": method, "params": params });
        match self.socket.send(command.to_string()) {
            Ok(()) => Ok(id),
            Err(_) => Err(self.gone()),
        }
    }

    /// A command; its result, or why the browser refuses it.
    pub(super) fn ask(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<Result<Value, String>, ToolError> {
        let id = self.post(method, params)?;
        loop {
            let Some(mut message) = self.message(self.deadline)? else {
                return Err(ToolError::Broken(format!("the browser does not answer {method}")));
            };
            if message["id"].as_u64() != Some(id) {
                self.events.keep(message);
                continue;
            }
            return Ok(match message["type"].as_str() {
                Some("success") => Ok(message["result"].take()),
                _ => Err(message["message"].as_str().unwrap_or("refused").to_owned()),
            });
        }
    }

    /// A command that a browser that works does not refuse; its result.
    pub(super) fn call(&mut self, method: &str, params: Value) -> Result<Value, ToolError> {
        let answer = self.ask(method, params)?;
        answer.map_err(|refusal| ToolError::Broken(format!("{method}: {refusal}")))
    }

    /// The next event; None when the deadline has passed.
    pub(super) fn event(&mut self, deadline: Instant) -> Result<Option<Event>, ToolError> {
        loop {
            if let Some(event) = self.events.pop() {
                return Ok(Some(event));
            }
            match self.message(deadline)? {
                Some(message) => self.events.keep(message),
                None => return Ok(None),
            }
        }
    }

    /// Whether an event has come that was not taken.
    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Drops all events that have come.
    pub(super) fn forget_events(&mut self) -> Result<(), ToolError> {
        while self.message(os::clock::now() + AT_ONCE)?.is_some() {}
        self.events = Events::default();
        Ok(())
    }

    fn message(&mut self, deadline: Instant) -> Result<Option<Value>, ToolError> {
        let Ok(message) = self.socket.receive(deadline) else { return Err(self.gone()) };
        let Some(message) = message else { return Ok(None) };
        read_json(&message)
            .map(Some)
            .map_err(|error| ToolError::Broken(format!("the browser speaks no JSON: {error}")))
    }

    fn gone(&mut self) -> ToolError {
        ToolError::Broken(match ended(&mut self.child.0, os::clock::now() + END) {
            Some(status) => format!("the browser ended by itself: {status}"),
            None => "the browser closed its WebSocket".to_owned(),
        })
    }

    /// Ends the browser and waits for it, so that what it used can be counted.
    pub(super) fn close(mut self) {
        let deadline = os::clock::now() + END;
        self.deadline = deadline;
        // It may be gone before it has answered. What is left is killed when it is dropped.
        let _ = self.ask("browser.close", json!({}));
        let _ = ended(&mut self.child.0, deadline);
    }
}

/// Passes a browser's standard error on, and gives the address on it.
fn listening(said: ChildStderr) -> Receiver<SocketAddr> {
    let (sender, address) = mpsc::channel();
    std::thread::spawn(move || {
        // Once it is told, the end of the channel means nothing any more.
        let mut sender = Some(sender);
        let mut said = BufReader::new(said);
        let mut line = Vec::new();
        while said.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let found = address_on(&String::from_utf8_lossy(&line));
            if let (Some(address), Some(sender)) = (found, &sender) {
                let _ = sender.send(address);
            }
            if found.is_some() {
                sender = None;
            }
            // Whoever reads it may be gone.
            let _ = std::io::stderr().write_all(&line);
            line.clear();
        }
    });
    address
}

fn address_on(line: &str) -> Option<SocketAddr> {
    let (_, address) = line.split_once(LISTENING)?;
    address.trim_end().trim_end_matches('/').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_stands_on_standard_error() {
        let line = "WebDriver BiDi listening on ws://127.0.0.1:38845\n";
        assert_eq!(address_on(line), "127.0.0.1:38845".parse().ok());
        assert_eq!(address_on("*** You are running in headless mode.\n"), None);
    }

    #[test]
    fn a_program_that_ends_before_it_listens_is_told_by_its_status() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no display >&2; exit 3"]);
        let error = BiDi::start(command, os::clock::now() + Duration::from_secs(20)).err().unwrap();
        assert!(error.to_string().contains("ended by itself: exit status: 3"), "{error}");
    }
}
