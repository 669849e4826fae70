//! Messages in: heads, promises and trailers that the framing has read, given to their streams and to
//! the application.

use super::receive::Ended;
use super::{Over, Session};
use crate::multiplex::{BodyLength, Framing, Gone, Opener, OpeningPriority, Step, Stream};
use crate::schedule::Priority;
use crate::{Event, Fields, Fin, RequestHead, ResponseHead, Status, StreamId};
use trace::PrioritySource;

/// A head, and the length that it announces for its body.
#[derive(Debug, Clone)]
pub(crate) struct Received<H> {
    pub(crate) head: H,
    pub(crate) content_length: Option<u64>,
}

impl<H> Received<H> {
    /// The same, on the heap.
    pub(crate) fn boxed(self) -> Received<Box<H>> {
        let Self { head, content_length } = self;
        Received { head: Box::new(head), content_length }
    }
}

impl<F: Framing> Session<F> {
    /// The peer opens a stream. Tells whether it is ignored: our GOAWAY has named the last stream.
    pub(crate) fn admit(&mut self, id: u32) -> Admission {
        self.streams.note_peer(id);
        self.guard.useful();
        if self.draining.is_final() {
            self.streams.remember(id, Gone::ResetByUs);
            return Admission::Ignored;
        }
        if self.peer_streams_are_full() { Admission::Full } else { Admission::Granted }
    }

    /// Whether the peer has opened as many streams as it may.
    pub(crate) fn peer_streams_are_full(&self) -> bool {
        self.streams.active(Opener::Peer) >= self.settings.max_concurrent_streams as usize
    }

    /// A request came.
    #[inline]
    pub(crate) fn receive_request(
        &mut self,
        id: u32,
        fin: Fin,
        read: Received<Box<RequestHead>>,
        priority: OpeningPriority,
    ) -> Result<(), Over> {
        let length = BodyLength::of(read.content_length);
        if fin == Fin::Last && length.is_short() {
            return self.fail_stream(id, F::RULES.no_body);
        }
        let windows = self.new_windows();
        let mut stream = Stream::opened(Opener::Peer, &[Step::ReceiveHeaders], fin, windows);
        stream.expect_body(length);
        self.streams.insert(id, stream);
        self.order.open(id, priority);
        let by = match priority.frame {
            Priority::Level(_) => PrioritySource::SynStream,
            _ => PrioritySource::Headers,
        };
        self.log.priority_received(id, by, priority.frame);
        if let Some(field) = priority.field {
            self.log.priority_received(id, PrioritySource::Field, field.priority());
        }
        let stream = StreamId(u64::from(id));
        self.events.push(Event::Request { stream, head: read.head, fin });
        Ok(())
    }

    /// The peer has promised a stream.
    pub(crate) fn note_promised(&mut self, id: u32) {
        self.streams.note_peer(id);
    }

    /// Whether there are more streams, promised ones too, than promises are taken for.
    pub(crate) fn is_crowded(&self) -> bool {
        self.streams.len() > 2 * self.settings.max_concurrent_streams as usize
    }

    /// A promise came, on a stream that the peer may open.
    pub(crate) fn receive_promise(&mut self, parent: u32, id: u32, head: Box<RequestHead>) {
        let windows = self.new_windows();
        let mut stream = Stream::opened(Opener::Peer, F::RECEIVED_PROMISE, Fin::More, windows);
        stream.note_method(&head.method);
        self.streams.insert(id, stream);
        let (parent, stream) = (StreamId(u64::from(parent)), StreamId(u64::from(id)));
        self.events.push(Event::Promise { parent, stream, head });
    }

    /// An informational response came. Each is heard, but only so many without anything else.
    pub(crate) fn receive_informational(
        &mut self,
        id: u32,
        head: ResponseHead,
    ) -> Result<(), Over> {
        self.count_chatter()?;
        self.step(id, Step::ReceiveHeaders);
        let stream = StreamId(u64::from(id));
        self.events.push(Event::Informational { stream, head });
        Ok(())
    }

    /// A final response came.
    #[inline]
    pub(crate) fn receive_response(
        &mut self,
        id: u32,
        fin: Fin,
        read: Received<ResponseHead>,
    ) -> Result<(), Over> {
        let Received { head, content_length } = read;
        let Some(stream) = self.streams.advance(id, Step::ReceiveHeaders) else { return Ok(()) };
        self.guard.useful();
        stream.expect_response_body(head.status, content_length);
        if fin == Fin::More || self.end_receiving(id)? == Ended::Well {
            let stream = StreamId(u64::from(id));
            self.events.push_before_closed(Event::Response { stream, head, fin });
        }
        Ok(())
    }

    /// Trailers came, and the end of the stream with them.
    pub(crate) fn receive_trailers(&mut self, id: u32, fields: Fields) -> Result<(), Over> {
        if self.end_receiving(id)? == Ended::Well {
            let stream = StreamId(u64::from(id));
            self.events.push_before_closed(Event::Trailers { stream, fields });
        }
        Ok(())
    }

    /// The peer's side of the stream ends.
    pub(super) fn end_receiving(&mut self, id: u32) -> Result<Ended, Over> {
        if self.streams.find(id).is_some_and(Stream::is_short) {
            self.fail_stream(id, F::RULES.short_body)?;
            return Ok(Ended::Malformed);
        }
        self.step(id, Step::ReceiveEnd);
        Ok(Ended::Well)
    }

    /// Answers a request that the application never sees.
    pub(crate) fn answer_unseen(&mut self, id: u32, status: Status) {
        self.queue_response(id, Opener::Peer, &ResponseHead::new(status), Fin::Last);
    }

    /// Remembers a stream that ended without ever being in the table.
    pub(crate) fn forget_answered(&mut self, id: u32) {
        self.streams.remember(id, Gone::Ended);
    }
}

/// Whether a stream that the peer opens is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Granted,
    /// The peer has as many streams as it may have.
    Full,
    /// It is above the last stream that our GOAWAY names (RFC 9113 §6.8, SPDY §2.6.6).
    Ignored,
}
