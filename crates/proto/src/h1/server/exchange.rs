//! One request and its answer, from the server's side: how the answer is framed and whether the
//! connection survives it.

use crate::h1::head::{self, Request};
use crate::h1::outgoing::{Framing, Outgoing};
use crate::{Fin, Method, Misuse, ResponseHead, Status};
use wire::h1::{self, Version};

/// A request that has been taken, and the answer as far as it is given.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Boxed: it moves into an exchange and out of it again.
    pub(super) out: Box<Outgoing>,
    version: Version,
    asked: Asked,
    pub(super) expect: Continue,
    owner: Owner,
    pub(super) then: Then,
    /// Body bytes that the application has got and not consumed.
    pub(super) unconsumed: usize,
}

/// What of the request bears on its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// A body.
    Body,
    /// The head alone (HEAD).
    Head,
    /// A tunnel (CONNECT).
    Tunnel,
    /// Another protocol, if the server likes (Upgrade).
    Upgrade,
    /// It was granted.
    Switched,
}

/// Whether the client waits for 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Continue {
    NotAsked,
    Owed,
    /// It was sent, or made needless by the body.
    Said,
}

/// Whose answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Application,
    /// The machine's: an answer to what breaks the protocol.
    Machine,
}

/// What becomes of the connection after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    Close,
}

impl Exchange {
    /// `out` is empty: fresh, or what an earlier exchange has left.
    pub(super) fn new(request: &Request, persists: bool, out: Box<Outgoing>) -> Self {
        Self {
            out,
            version: request.version,
            asked: match request.head.method {
                Method::Head => Asked::Head,
                Method::Connect => Asked::Tunnel,
                _ if request.upgrade => Asked::Upgrade,
                _ => Asked::Body,
            },
            expect: if request.expects_continue { Continue::Owed } else { Continue::NotAsked },
            owner: Owner::Application,
            then: if persists { Then::GoOn } else { Then::Close },
            unconsumed: 0,
        }
    }

    /// The answer to a request that breaks the protocol.
    pub(super) fn refusal(status: u16) -> Self {
        let mut refusal = Self {
            out: Box::default(),
            version: Version::Http11,
            asked: Asked::Body,
            expect: Continue::NotAsked,
            owner: Owner::Machine,
            then: Then::Close,
            unconsumed: 0,
        };
        refusal.answer(status);
        refusal
    }

    /// Takes the exchange from the application: answers with `status` where nothing has been answered
    /// yet, else leaves the answer cut off.
    pub(super) fn fail(&mut self, status: u16) {
        self.owner = Owner::Machine;
        self.then = Then::Close;
        self.expect = Continue::Said;
        if self.out.awaits_head() { self.answer(status) } else { self.out.cut() }
    }

    fn answer(&mut self, status: u16) {
        self.out.put_head(None, |out| {
            h1::put_status_line(out, status);
            h1::put_field(out, b"content-length", b"0");
            h1::put_field(out, b"connection", b"close");
            h1::put_end(out);
        });
    }

    pub(super) fn is_applications(&self) -> bool {
        self.owner == Owner::Application
    }

    /// Counts body bytes that the application consumed; returns how many of them were owed.
    pub(super) fn consume(&mut self, bytes: usize) -> usize {
        let consumed = bytes.min(self.unconsumed);
        self.unconsumed -= consumed;
        consumed
    }

    /// Whether the bytes after the request may turn out to be another protocol's.
    pub(super) fn may_switch(&self) -> bool {
        matches!(self.asked, Asked::Tunnel | Asked::Upgrade) && self.out.awaits_head()
    }

    /// Whether they are.
    pub(super) fn has_switched(&self) -> bool {
        self.asked == Asked::Switched
    }

    pub(super) fn owes_continue(&self) -> bool {
        self.expect == Continue::Owed && self.out.awaits_head()
    }

    /// Some of the body came: there is no more use for 100.
    pub(super) fn body_came(&mut self) {
        if self.expect == Continue::Owed {
            self.expect = Continue::Said;
        }
    }

    /// Says 100 where it is owed.
    pub(super) fn say_continue(&mut self) {
        if self.owes_continue() {
            self.expect = Continue::Said;
            self.out.put_interim(|out| {
                h1::put_status_line(out, 100);
                h1::put_end(out);
            });
        }
    }

    /// Queues an informational response.
    pub(super) fn inform(&mut self, head: &ResponseHead) -> Result<(), Misuse> {
        if !self.out.awaits_head() {
            return Err(Misuse::OutOfOrder("an informational response after the final one"));
        }
        if !head.status.is_informational() || head.status.code() == 101 {
            return Err(Misuse::OutOfOrder("a final response is given by respond"));
        }
        head::check_fields(&head.fields).map_err(Misuse::Unsendable)?;
        // RFC 9110 §15.2: never to an HTTP/1.0 client.
        if self.version == Version::Http10 {
            return Ok(());
        }
        if head.status.code() == 100 {
            self.body_came();
        }
        self.out.put_interim(|out| {
            h1::put_status_line(out, head.status.code());
            head::put_fields(out, &head.fields);
            h1::put_end(out);
        });
        Ok(())
    }

    /// Queues the final head. `is_last_request`: no further request will be taken.
    pub(super) fn respond(
        &mut self,
        head: &ResponseHead,
        fin: Fin,
        is_last_request: bool,
    ) -> Result<(), Misuse> {
        if !self.out.awaits_head() {
            return Err(Misuse::OutOfOrder("a second response to one request"));
        }
        let validated = head.fields.validated();
        if validated.is_none() {
            head::check_fields(&head.fields).map_err(Misuse::Unsendable)?;
        }
        let plan = self.plan(head, fin)?;
        // RFC 9110 §10.1.1: a client that gets no 100 may or may not send the body: nobody can tell
        // where the next request begins.
        if is_last_request || self.expect == Continue::Owed || plan.framing == Some(Framing::Raw) {
            self.then = Then::Close;
        }
        let switches = plan.length == Length::Switch;
        // A validated list has no field of the connection.
        let offers = validated.is_none() && head.fields.find(b"upgrade").is_some();
        let connection: Option<&[u8]> = match self.then {
            _ if switches && head.status.code() == 101 => Some(b"upgrade"),
            _ if switches => None,
            // RFC 9110 §7.8: an Upgrade field is named by the Connection field.
            Then::Close if offers => Some(b"upgrade, close"),
            Then::GoOn if offers => Some(b"upgrade"),
            Then::Close => Some(b"close"),
            Then::GoOn if self.version == Version::Http10 => Some(b"keep-alive"),
            Then::GoOn => None,
        };
        self.out.put_head(plan.framing, |out| {
            h1::put_status_line(out, head.status.code());
            match (validated, plan.length) {
                (Some(fields), Length::Known(length))
                    if fields.content_length() == Some(length) =>
                {
                    out.extend_from_slice(fields.lines());
                }
                (_, length) => {
                    head::put_fields(out, &head.fields);
                    put_length(out, length);
                }
            }
            if let Some(option) = connection {
                h1::put_field(out, b"connection", option);
            }
            h1::put_end(out);
        });
        if switches {
            self.asked = Asked::Switched;
        }
        Ok(())
    }

    /// How the answer's body is framed (RFC 9112 §6.1, §6.2), and how the body is sent.
    fn plan(&self, head: &ResponseHead, fin: Fin) -> Result<Plan, Misuse> {
        let status = head.status;
        let declared = match head.fields.validated() {
            Some(fields) => fields.content_length(),
            None => head::declared_length(&head.fields).map_err(Misuse::Unsendable)?,
        };
        if self.switches(status)? {
            let framing = (fin == Fin::More).then_some(Framing::Raw);
            return Ok(Plan { framing, length: Length::Switch });
        }
        if status.forbids_body() && fin == Fin::More {
            return Err(Misuse::Unsendable("this status has no body (RFC 9112 §6.3)"));
        }
        let length = match (declared, fin) {
            // RFC 9110 §8.6: never in 204.
            _ if status.code() == 204 => Length::Unsaid,
            (Some(length), _) => Length::Known(length),
            (None, Fin::Last) if status.forbids_body() || self.asked == Asked::Head => {
                Length::Unsaid
            }
            (None, Fin::Last) => Length::Known(0),
            (None, Fin::More) if self.version == Version::Http11 => Length::Chunked,
            (None, Fin::More) => Length::Unsaid,
        };
        let framing = match (length, fin) {
            (_, Fin::Last) if self.asked == Asked::Head || status.forbids_body() => None,
            (Length::Known(length), Fin::Last) if length > 0 => {
                return Err(Misuse::OutOfOrder("fewer bytes than Content-Length said"));
            }
            (_, Fin::Last) => None,
            _ if self.asked == Asked::Head => Some(Framing::Unsent),
            (Length::Known(length), Fin::More) => Some(Framing::Exactly(length)),
            (Length::Chunked, Fin::More) => Some(Framing::Chunked),
            (Length::Unsaid | Length::Switch, Fin::More) => Some(Framing::Raw),
        };
        Ok(Plan { framing, length })
    }

    /// Whether this status makes the connection another protocol's.
    fn switches(&self, status: Status) -> Result<bool, Misuse> {
        match (status.code(), self.asked) {
            (101, Asked::Upgrade) => Ok(true),
            (200..300, Asked::Tunnel) => Ok(true),
            (101, _) => {
                Err(Misuse::Unsendable("nobody asked for another protocol (RFC 9110 §15.2.2)"))
            }
            _ if status.is_informational() => {
                Err(Misuse::OutOfOrder("an informational response is given by inform"))
            }
            _ => Ok(false),
        }
    }
}

/// Writes the fields that frame the body.
fn put_length(out: &mut Vec<u8>, length: Length) {
    match length {
        Length::Known(length) => head::put_length(out, length),
        Length::Chunked => h1::put_field(out, b"transfer-encoding", b"chunked"),
        Length::Unsaid | Length::Switch => {}
    }
}

struct Plan {
    /// None where no body follows.
    framing: Option<Framing>,
    length: Length,
}

/// What the head says about the body's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Known(u64),
    Chunked,
    Unsaid,
    /// The rest of the connection is not HTTP/1.1.
    Switch,
}
