//! The fast path of a client that only counts: a complete response whose head equals the previous one. The one rule:
//! wherever the events could tell anything else, nothing is taken.

use super::{Asked, Client, Input, Response};
use crate::{ConnectionState, CountOnly, Repeated};
use unit::Instant;
use wire::h1::BodyLength;

impl CountOnly for Client {
    fn take_repeated(&mut self, now: Instant, input: &mut &[u8]) -> Option<Repeated> {
        let (cached, exchange) = (self.cached_head.as_ref()?, self.exchange.as_ref()?);
        let rest = input.strip_prefix(&cached.bytes[..])?;
        let is_plain = self.state == ConnectionState::Open
            && self.input == Input::Open
            && self.reader.is_empty()
            && self.events.is_empty()
            && matches!(exchange.response, Response::Awaited)
            && exchange.asked == Asked::Body
            && self.out.is_over();
        let (head, status) = (cached.bytes.len(), cached.response.head.status);
        let has_body = !status.is_informational() && !status.forbids_body();
        if !is_plain || !has_body || !cached.response.persists {
            return None;
        }
        let body = match cached.response.length.as_ref().ok()? {
            BodyLength::Empty => 0,
            BodyLength::Exactly(length) => usize::try_from(*length).ok()?,
            BodyLength::Chunked | BodyLength::UntilClose => return None,
        };
        *input = rest.get(body..)?;
        let stream = self.stream();
        self.log.head_received(now, stream, head);
        if body > 0 {
            self.log.body_received(now, stream, body as u64);
        }
        self.end_response();
        Some(Repeated { stream, status, body })
    }
}
