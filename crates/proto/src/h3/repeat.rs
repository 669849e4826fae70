//! Requests of the same bytes as one before, and small responses that the application allows for all of them. Such a request needs
//! neither a head nor a stream here: its response, encoded before, waits for the transport as it is (`released.rs`). The one rule:
//! what is sent, and in which order, is what the application would have sent. So it is done only on a connection on which nothing else
//! is under way.

use super::message::Head;
use super::session::{Broken, Session};
use crate::connection::Fin;
use crate::h2::priority;
use crate::multiplex::status::Role;
use crate::recent_blocks::ReceivedAt;
use crate::stream_id::StreamId;
use bytes::Bytes;
use unit::Instant;
use wire::h3::{FrameKind, parse_varint};
use wire::qpack::{Encoder, References};

/// What is known of requests that may come again.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// The stream whose request the application hears of now, where its section came before.
    pub(super) request: Option<(u64, ReceivedAt)>,
    /// The response head that was sent last, where it was sent before.
    pub(super) response: Option<SentHead>,
    /// Requests that were answered here since the application asked.
    answered: usize,
}

/// A response head that was sent as it was encoded before.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentHead {
    pub(super) stream: u64,
    pub(super) references: References,
    /// Bytes of its fields before and after compression.
    pub(super) sizes: [usize; 2],
}

/// A response that may be sent again.
#[derive(Debug, Clone)]
pub(super) struct Response {
    /// Its frames: HEADERS, and DATA where it has a body.
    frames: Bytes,
    head: SentHead,
    has_body: bool,
    /// From then on the application is asked again.
    until: Instant,
}

impl Response {
    /// Whether it may be sent now.
    fn may_go(&self, now: Instant, encoder: &Encoder) -> bool {
        now < self.until && encoder.can_repeat(&self.head.references)
    }
}

impl Session {
    /// The response that the application has just given to this stream may be sent again.
    pub(super) fn allow_repeats(&mut self, stream: StreamId, until: Instant) {
        let Repeats { request, response, .. } = &mut self.repeats;
        let (Some((of, at)), Some(head)) = (request.take(), response.take()) else { return };
        if [of, head.stream] != [stream.0; 2] {
            return;
        }
        let Some(stream) = self.streams.get(stream.0) else { return };
        let Some(frames) = stream.whole_response() else { return };
        let known = self.received.get_mut(at);
        let is_known =
            |known: &Response| known.frames == frames && known.may_go(self.now, &self.encoder);
        if known.response.as_ref().is_some_and(is_known) {
            return;
        }
        // Who has asked for a place of its own gets it from the scheduler.
        if let Head::Request(request) = &known.head
            && priority::of_fields(&request.head.fields).is_none()
        {
            let (frames, has_body) =
                (Bytes::copy_from_slice(frames), only_section(frames).is_none());
            known.response = Some(Response { frames, head, has_body, until });
        }
    }

    /// How many requests were answered here since the last call.
    pub(super) fn take_repeats(&mut self) -> usize {
        std::mem::take(&mut self.repeats.answered)
    }

    /// Answers a request that equals one before, where the response to that may be sent again. Tells whether it did.
    pub(super) fn answer_again(&mut self, id: u64, input: &[u8], fin: Fin) -> Result<bool, Broken> {
        let is_request = self.role == Role::Server && id & 0b11 == 0;
        if !is_request || fin == Fin::More || !self.is_quiet() {
            return Ok(false);
        }
        // A request of which the client has said how it ranks goes by that.
        if self.overtakes_released(id) || self.early.iter().any(|&(early, _)| early == id) {
            return Ok(false);
        }
        let Some(section) = only_section(input) else { return Ok(false) };
        let version = self.decoder.table_version();
        let Some(at) = self.received.place(version, section) else { return Ok(false) };
        let (plain, known) = self.received.get(at);
        let may_go = |known: &&Response| known.may_go(self.now, &self.encoder);
        let Some(response) = known.response.as_ref().filter(may_go) else { return Ok(false) };
        let Response { frames, head, has_body, .. } = response.clone();
        let required = known.required;
        if !self.meet(id)? {
            return Ok(true);
        }
        self.decoder.acknowledge_section(id, required);
        self.move_instructions();
        self.headers.received.count(plain, section.len());
        self.guard.useful();
        if has_body {
            self.guard.useful();
        }
        self.encoder.repeat(id, head.references);
        let [plain, coded] = head.sizes;
        self.headers.sent.count(plain, coded);
        self.repeats.answered += 1;
        self.put_released(id, frames);
        Ok(true)
    }

    /// Whether nothing is under way but responses that were released.
    fn is_quiet(&self) -> bool {
        self.streams.is_empty() && self.may_release()
    }
}

/// The field section of a HEADERS frame that is all of `input`.
fn only_section(input: &[u8]) -> Option<&[u8]> {
    let mut rest = input;
    let (kind, length) = (parse_varint(&mut rest)?, parse_varint(&mut rest)?);
    (FrameKind(kind) == FrameKind::HEADERS && length == rest.len() as u64).then_some(rest)
}
