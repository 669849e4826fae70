//! A WebSocket of a recorded page: the messages that the page sent are sent, those that its server sent are awaited, in
//! the recorded order. The one rule: a message that comes is judged by its length alone.

use crate::web_socket::stream::{WebSocketEvent, WebSocketSpec, WebSocketStream};
use bytes::Bytes;
use page::{Message, Sender};
use proto::ws::{MessageKind, Writes};
use proto::{Error, Event, RequestHead, Status, StreamId};
use std::fmt;
use std::sync::Arc;
use trace::Tracer;
use transport::{ClientMachine, Protocol};
use unit::{Instant, Seed};

/// A WebSocket and its script.
pub(crate) struct Talk {
    stream: WebSocketStream,
    messages: Arc<[Message]>,
    next: usize,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    /// It is open, and the message before the next one was sent or came at this time.
    Open {
        since: Instant,
    },
    /// All messages are exchanged.
    Closing,
}

/// What has happened.
#[derive(Debug)]
pub(crate) enum Step {
    /// It is open; the status of the response.
    Opened(Status),
    /// A message came.
    Received(Bytes),
    /// Every message has been sent or has come.
    Done,
    /// The server has closed it, as was wanted.
    Over,
    /// The server closed it before the script's end.
    Closed,
    /// The request cannot be sent; the reason.
    Unsendable(String),
    /// The server broke a rule, or refused the WebSocket.
    Failed(Error),
}

impl Talk {
    /// A WebSocket that `request` asks for.
    pub(crate) fn new(request: RequestHead, messages: Arc<[Message]>, tracer: Tracer) -> Self {
        let seed = Seed(0).child(&request.path);
        let spec = WebSocketSpec {
            request,
            deflate: None,
            writes: Writes::One,
            compression_level: 1,
            seed,
        };
        let stream = WebSocketStream::new(spec, tracer);
        Self { stream, messages, next: 0, stage: Stage::Opening }
    }

    /// Asks for it. None where the server's settings have not come yet, or where it cannot be asked for, which `poll`
    /// tells.
    pub(crate) fn ask(
        &mut self,
        now: Instant,
        machine: &mut ClientMachine,
        protocol: Protocol,
    ) -> Option<StreamId> {
        self.stream.ask(now, machine, protocol);
        self.stream.number()
    }

    /// Takes an event of its stream.
    pub(crate) fn handle_event(
        &mut self,
        now: Instant,
        machine: &mut ClientMachine,
        event: Event<'_>,
    ) {
        self.stream.handle_event(now, machine, event);
    }

    /// The next step; messages that are due are sent meanwhile.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Step> {
        self.stream.handle_timeout(now);
        if let Some(event) = self.stream.poll_event(now) {
            return match event {
                WebSocketEvent::Opened(status) => {
                    self.stage = Stage::Open { since: now };
                    Some(Step::Opened(status))
                }
                WebSocketEvent::Message(_, data) => {
                    self.received(now);
                    Some(Step::Received(data))
                }
                WebSocketEvent::Unsendable(reason) => Some(Step::Unsendable(reason)),
                WebSocketEvent::Failed(error) => Some(Step::Failed(error)),
                WebSocketEvent::Close(_) if self.stage != Stage::Closing => Some(Step::Closed),
                // The end of the bytes follows.
                WebSocketEvent::Close(_) => self.poll(now),
                WebSocketEvent::Over => Some(Step::Over),
            };
        }
        self.send_due(now);
        let is_done = self.next == self.messages.len() && matches!(self.stage, Stage::Open { .. });
        is_done.then(|| {
            self.stage = Stage::Closing;
            self.stream.close();
            Step::Done
        })
    }

    /// A message came: the script goes on behind the server's next one.
    fn received(&mut self, now: Instant) {
        let rest = self.messages[self.next..].iter();
        if let Some(ahead) = rest.clone().position(|message| message.from == Sender::Server) {
            // What the page sent before that is sent all the same, below.
            let passed = &self.messages[self.next..self.next + ahead];
            passed.iter().for_each(|message| send(&mut self.stream, message));
            self.next += ahead + 1;
        }
        self.stage = Stage::Open { since: now };
    }

    fn send_due(&mut self, now: Instant) {
        while self.due().is_some_and(|due| due <= now) && self.stream.takes_messages() {
            send(&mut self.stream, &self.messages[self.next]);
            self.next += 1;
            self.stage = Stage::Open { since: now };
        }
    }

    /// When the next message is to be sent; None where one is awaited.
    fn due(&self) -> Option<Instant> {
        let Stage::Open { since } = self.stage else { return None };
        let next = self.messages.get(self.next)?;
        (next.from == Sender::Client).then(|| since + next.after)
    }

    /// Hands frames over to the connection.
    pub(crate) fn write(&mut self, now: Instant, machine: &mut ClientMachine) {
        self.stream.write_frames(now, machine);
    }

    /// When `poll` is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        [self.due(), self.stream.poll_timeout()].into_iter().flatten().min()
    }
}

fn send(stream: &mut WebSocketStream, message: &Message) {
    let kind = match message.kind {
        page::MessageKind::Text => MessageKind::Text,
        page::MessageKind::Binary => MessageKind::Binary,
    };
    stream.send(kind, Bytes::copy_from_slice(&message.data));
}

impl fmt::Debug for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Talk").field("next", &self.next).field("stage", &self.stage).finish()
    }
}
