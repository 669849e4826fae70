//! The DevTools protocol over a pipe: JSON messages that end with a zero byte, commands with a number each, events in between
//! (chromedevtools.github.io/devtools-protocol). No call and no wait is longer than the deadline that the caller sets.

use super::ToolError;
use crate::tools::browser::{Event, Events, ended, read_json};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;
use unit::Instant;

/// The browser reads its descriptor 3 and writes its descriptor 4; a process is given only the first three, so a shell puts
/// them there.
const ON_PIPES: &str = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null";

/// How long it may take to end.
const END: Duration = Duration::from_secs(3);

/// A browser and the pipe to it. Dropping it ends it.
pub(crate) struct DevTools {
    child: Child,
    to: ChildStdin,
    messages: Receiver<Value>,
    events: Events,
    session: Option<String>,
    last_id: u64,
    deadline: Instant,
}

impl DevTools {
    /// Starts the browser `program`.
    pub(crate) fn start(program: &str, arguments: &[String]) -> Result<Self, ToolError> {
        Self::start_with(program, arguments, Stdio::inherit())
    }

    /// The same where nobody reads what the browser writes about itself.
    pub(crate) fn start_unheard(program: &str, arguments: &[String]) -> Result<Self, ToolError> {
        Self::start_with(program, arguments, Stdio::null())
    }

    fn start_with(program: &str, arguments: &[String], errors: Stdio) -> Result<Self, ToolError> {
        let mut command = Command::new("sh");
        command.args(["-c", ON_PIPES, "sh", program]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command
            .spawn()
            .map_err(|error| ToolError::Broken(format!("starting {program}: {error}")))?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(ToolError::Broken("the browser has no pipe".to_owned()));
        };
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut bytes = Vec::new();
            while from.read_until(0, &mut bytes).is_ok_and(|count| count > 0) {
                if bytes.last() == Some(&0) {
                    bytes.pop();
                }
                // What is no JSON is no message.
                let message = read_json(&bytes);
                bytes.clear();
                if message.is_ok_and(|message| sender.send(message).is_err()) {
                    break;
                }
            }
        });
        Ok(Self {
            child,
            to,
            messages,
            events: Events::default(),
            session: None,
            last_id: 0,
            deadline: os::clock::now(),
        })
    }

    /// Until when calls may take.
    pub(crate) fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    /// The page that `attached`, the result of `Target.attachToTarget`, names.
    pub(crate) fn use_session(&mut self, attached: &Value) -> Result<(), ToolError> {
        let session = attached["sessionId"].as_str().ok_or_else(|| {
            ToolError::Broken("the browser attached to its page without a session".to_owned())
        })?;
        self.session = Some(session.to_owned());
        Ok(())
    }

    /// A command to the browser; its result.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Result<Value, ToolError> {
        self.send(None, method, params)
    }

    /// A command to the page; its result.
    pub(crate) fn call_page(&mut self, method: &str, params: Value) -> Result<Value, ToolError> {
        self.send(self.session.clone(), method, params)
    }

    /// A command to the page whose result nobody waits for.
    pub(crate) fn tell_page(&mut self, method: &str, params: Value) -> Result<(), ToolError> {
        self.write(self.session.clone(), method, params).map(|_| ())
    }

    /// Writes a command; its number.
    fn write(
        &mut self,
        session: Option<String>,
        method: &str,
        params: Value,
    ) -> Result<u64, ToolError> {
        self.last_id += 1;
        let id = self.last_id;
        let mut command = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            command["sessionId"] = Value::String(session);
        }
        let mut bytes = serde_json::to_vec(&command).map_err(std::io::Error::from)?;
        bytes.push(0);
        self.to.write_all(&bytes).map_err(|error| {
            ToolError::Broken(format!("{method}: the browser is gone: {error}"))
        })?;
        Ok(id)
    }

    fn send(
        &mut self,
        session: Option<String>,
        method: &str,
        params: Value,
    ) -> Result<Value, ToolError> {
        let id = self.write(session, method, params)?;
        loop {
            let message = self.message(self.deadline)?.ok_or_else(|| {
                ToolError::Broken(format!("the browser did not answer {method} in time"))
            })?;
            if message["id"].as_u64() != Some(id) {
                self.events.keep(message);
                continue;
            }
            return match message.get("error") {
                None => Ok(message["result"].clone()),
                Some(error) => Err(ToolError::Broken(format!(
                    "{method}: {}",
                    error["message"].as_str().unwrap_or("refused")
                ))),
            };
        }
    }

    /// The next event; None when the deadline has passed.
    pub(crate) fn event(&mut self, deadline: Instant) -> Result<Option<Event>, ToolError> {
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
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Drops all events that have come.
    pub(super) fn forget_events(&mut self) {
        while self.messages.try_recv().is_ok() {}
        self.events = Events::default();
    }

    fn message(&mut self, deadline: Instant) -> Result<Option<Value>, ToolError> {
        let left = deadline.since(os::clock::now());
        match self.messages.recv_timeout(left) {
            Ok(message) => Ok(Some(message)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(ToolError::Broken(match ended(&mut self.child, os::clock::now() + END) {
                    Some(status) => format!("the browser ended by itself: {status}"),
                    None => "the browser closed its pipe".to_owned(),
                }))
            }
        }
    }

    /// Ends the browser and waits for it, so that what it used can be counted.
    pub(crate) fn close(mut self) {
        self.deadline = os::clock::now() + END;
        // It may be gone before it has answered.
        let _ = self.call("Browser.close", json!({}));
        // What is left is killed when it is dropped.
        let _ = ended(&mut self.child, self.deadline);
    }
}

impl Drop for DevTools {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
