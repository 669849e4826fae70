//! Commands of the application.

use super::Session;
use crate::multiplex::framing::number;
use crate::multiplex::{
    BodyLength, Ending, Framing, Gone, Opener, OpeningPriority, Prioritised, Promise, Step, Stream,
};
use crate::schedule::Priority;
use crate::{Fields, Fin, Misuse, Refused, RequestHead, ResponseHead, SendCredit, StreamId};
use bytes::Bytes;
use unit::Instant;

impl<F: Framing> Session<F> {
    pub(crate) fn request(
        &mut self,
        now: Instant,
        head: &RequestHead,
        fin: Fin,
    ) -> Result<StreamId, Refused> {
        self.log.set_now(now);
        self.check_open()?;
        let limit = self.framing.peer().max_concurrent_streams as usize;
        if self.streams.active(Opener::We) >= limit {
            return Err(Refused::Full);
        }
        self.framing.check_request(head)?;
        let windows = self.new_windows();
        let mut stream = Stream::opened(Opener::We, &[Step::SendHeaders], fin, windows);
        stream.note_head_sent();
        stream.note_method(&head.method);
        if fin == Fin::Last {
            stream.end_with_head();
        }
        let id = self.streams.take_identifier();
        self.streams.insert(id, stream);
        if fin == Fin::More {
            // Without a body there is nothing to schedule.
            self.order.open(id, OpeningPriority::default());
        }
        let (framing, mut writer) = self.writer();
        framing.put_request(&mut writer, id, head, fin);
        Ok(StreamId(u64::from(id)))
    }

    /// The same, with a priority.
    pub(crate) fn request_at(
        &mut self,
        now: Instant,
        head: &RequestHead,
        fin: Fin,
        priority: Priority,
    ) -> Result<StreamId, Refused> {
        let is_told = self.framing.open_at(priority);
        let asked = self.request(now, head, fin);
        if asked.is_err() {
            self.framing.open_at(Priority::Unset);
        }
        let stream = asked?;
        match is_told {
            true => self.order.change(stream, priority),
            false => self.prioritise(stream, priority),
        }
        Ok(stream)
    }

    /// No stream is opened whose number is this one or a lower one.
    pub(crate) fn open_after(&mut self, id: u32) {
        self.streams.open_after(id);
    }

    /// How many further requests may be made right now.
    pub(crate) fn available_streams(&self) -> usize {
        if !self.draining.is_open() {
            return 0;
        }
        let limit = self.framing.peer().max_concurrent_streams as usize;
        let left = limit.saturating_sub(self.streams.active(Opener::We));
        left.min(self.streams.identifiers_left())
    }

    pub(crate) fn inform(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), Misuse> {
        if let Some(why) = F::NO_INFORMATIONAL {
            number(stream).and_then(|id| self.streams.find(id)).ok_or(Misuse::UnknownStream)?;
            return Err(Misuse::Unsendable(why));
        }
        if !head.status.is_informational() || head.status.code() == 101 {
            return Err(Misuse::Unsendable("an informational status is 100 or 102 to 199"));
        }
        let (id, opener) = self.answerable(stream, head)?;
        self.queue_response(id, opener, head, Fin::More);
        Ok(())
    }

    pub(crate) fn respond(
        &mut self,
        stream: StreamId,
        head: &ResponseHead,
        fin: Fin,
    ) -> Result<(), Misuse> {
        if head.status.is_informational() {
            return Err(Misuse::Unsendable("a final status is 200 or above"));
        }
        let (id, opener) = self.answerable(stream, head)?;
        self.queue_response(id, opener, head, fin);
        if let Some(field) = F::priority_field(&head.fields) {
            self.order.merge_response(id, field);
        }
        let Some(stream) = self.streams.advance(id, Step::SendHeaders) else { return Ok(()) };
        stream.note_head_sent();
        if fin == Fin::Last {
            stream.outgoing_mut().end(Ending::Last);
            self.finish_sending(id);
        }
        Ok(())
    }

    /// Checks that a head can be sent on the stream now.
    fn answerable(&self, stream: StreamId, head: &ResponseHead) -> Result<(u32, Opener), Misuse> {
        let id = number(stream).ok_or(Misuse::UnknownStream)?;
        let stream = self.streams.find(id).ok_or(Misuse::UnknownStream)?;
        if stream.has_sent_head() {
            return Err(Misuse::OutOfOrder("a head after the head"));
        }
        self.framing.check_fields(&head.fields)?;
        Ok((id, stream.opener()))
    }

    pub(crate) fn promise(
        &mut self,
        parent: StreamId,
        head: &RequestHead,
    ) -> Result<StreamId, Refused> {
        let answers =
            |stream: &Stream| stream.opener() == Opener::Peer && stream.state().gives_data();
        let open = number(parent).filter(|&id| self.streams.find(id).is_some_and(answers));
        let Some(parent) = open.filter(|_| self.framing.peer().takes_push) else {
            return Err(Refused::NotAllowed);
        };
        self.check_open()?;
        let ours =
            self.streams.select(|_, stream| stream.opener() == Opener::We && stream.is_live());
        if ours.len() >= self.framing.peer().max_concurrent_streams as usize {
            return Err(Refused::Full);
        }
        self.framing.check_request(head)?;
        let windows = self.new_windows();
        let mut stream = Stream::opened(Opener::We, F::SENT_PROMISE, Fin::More, windows);
        stream.expect_body(BodyLength::None);
        let promised = self.streams.take_identifier();
        self.streams.insert(promised, stream);
        self.order.open_promised(promised, parent);
        let (framing, mut writer) = self.writer();
        framing.put_promise(&mut writer, Promise { parent, promised }, head);
        Ok(StreamId(u64::from(promised)))
    }

    fn check_open(&self) -> Result<(), Refused> {
        match self.draining.is_open() && self.streams.has_identifiers() {
            true => Ok(()),
            false => Err(Refused::Draining),
        }
    }

    pub(crate) fn consume(&mut self, stream: StreamId, bytes: usize) {
        let Some(id) = number(stream) else { return };
        let Some(stream) = self.streams.find_mut(id) else { return };
        let bytes = stream.give_back(bytes);
        let over = !stream.is_live() && stream.unconsumed() == 0;
        let increment = stream.credit(bytes);
        if let Some(increment) = increment {
            self.queue(&F::window_update_frame(id, increment));
        }
        self.credit_connection(bytes);
        if over {
            self.streams.remove(id);
        }
    }

    pub(crate) fn send(&mut self, stream: StreamId, data: Bytes, fin: Fin) -> Result<(), Misuse> {
        let now = self.now();
        let (id, stream) = self.sendable(stream)?;
        stream.outgoing_mut().push(data, fin);
        if stream.outgoing().bytes() > 0 {
            let update = stream.update_readiness(now);
            self.apply(id, update);
        } else if fin == Fin::Last {
            // Nothing to schedule: the end needs no credit.
            self.queue(&F::end_frame(id));
            self.finish_sending(id);
        }
        Ok(())
    }

    pub(crate) fn send_trailers(
        &mut self,
        stream: StreamId,
        fields: &Fields,
    ) -> Result<(), Misuse> {
        self.framing.check_fields(fields)?;
        let (id, stream) = self.sendable(stream)?;
        let outgoing = stream.outgoing_mut();
        outgoing.end(Ending::Trailers(Box::new(fields.clone())));
        if outgoing.bytes() == 0 {
            self.finish_sending(id);
        }
        Ok(())
    }

    fn sendable(&mut self, stream: StreamId) -> Result<(u32, &mut Stream), Misuse> {
        let id = number(stream).ok_or(Misuse::UnknownStream)?;
        let stream = self.streams.find_mut(id).ok_or(Misuse::UnknownStream)?;
        if !stream.has_sent_head() {
            return Err(Misuse::OutOfOrder("a body before its head"));
        }
        if !stream.takes_more() {
            return Err(Misuse::OutOfOrder("bytes after the end"));
        }
        Ok((id, stream))
    }

    pub(crate) fn unsent(&self, stream: StreamId) -> usize {
        let stream = number(stream).and_then(|id| self.streams.find(id));
        stream.map_or(0, |stream| stream.outgoing().bytes())
    }

    pub(crate) fn send_credit(&self, stream: StreamId) -> SendCredit {
        let of_stream = number(stream).and_then(|id| self.streams.find(id)).map_or(0, |stream| {
            stream.outgoing().credit().saturating_sub(stream.outgoing().bytes())
        });
        SendCredit { stream: of_stream, connection: self.windows.available() }
    }

    pub(crate) fn keep_turn(&mut self, stream: StreamId) {
        if let Some(stream) = number(stream).and_then(|id| self.streams.find_mut(id)) {
            stream.outgoing_mut().keep_turn();
        }
    }

    pub(crate) fn reset(&mut self, now: Instant, stream: StreamId) {
        self.log.set_now(now);
        let Some((id, stream)) = number(stream).and_then(|id| Some((id, self.streams.find(id)?)))
        else {
            return;
        };
        if !stream.is_live() {
            // Its bytes are all that is left of it.
            let unconsumed = stream.unconsumed();
            self.streams.remove(id);
            self.credit_connection(unconsumed);
            return;
        }
        let code = F::abandon(self.role, stream.state());
        let (framing, mut writer) = self.writer();
        framing.before_transmit(&mut writer);
        self.queue_reset(id, code);
        self.drop_stream(id, Gone::ResetByUs);
        self.close_if_drained();
    }

    pub(crate) fn prioritise(&mut self, stream: StreamId, priority: Priority) {
        self.order.change(stream, priority);
        let Some(id) = number(stream).filter(|_| !self.draining.is_closed()) else { return };
        let (opener, status) = (self.opener(id), self.status(id));
        let of = Prioritised { id, opener, status, role: self.role };
        let (framing, mut writer) = self.writer();
        framing.put_priority(&mut writer, of, priority);
    }
}
