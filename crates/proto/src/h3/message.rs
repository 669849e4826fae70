//! Field sections: decoded, held while they are blocked, then given to their stream (RFC 9114 §4, RFC 9204 §2.2).

use super::repeat::Response;
use super::session::{Broken, Session, connection};
use super::stream::{BlockedSection, Message, Stream};
use crate::connection::{Event, Fin};
use crate::h2::head::{ExtendedConnect, HeadReader, Kind};
use crate::h2::priority;
use crate::message::{Method, RequestHead, ResponseHead, Status};
use crate::multiplex::session::Received;
use crate::multiplex::status::Role;
use crate::multiplexed_connection::{Backlog, StreamAction};
use crate::recent_blocks::EncodedBlock;
use crate::schedule::{Priority, PriorityField};
use crate::stream_id::StreamId;
use trace::PrioritySource;
use wire::Fields;
use wire::h3::ErrorCode;
use wire::hpack::plain_size;
use wire::qpack::Decoded;

/// What a section was read as.
#[derive(Debug, Clone)]
pub(super) enum Head {
    Request(Received<Box<RequestHead>>),
    Response(Received<ResponseHead>),
}

/// The head of a section that came, by the entries that it needs.
#[derive(Debug)]
pub(super) struct ReceivedHead {
    pub(super) head: Head,
    /// The Required Insert Count.
    pub(super) required: u64,
    /// The response that may be sent to all requests of this section.
    pub(super) response: Option<Response>,
}

/// Bytes of blocked sections that a connection keeps at most. A hundred requests of a browser's have a tenth of it.
const MOST_BLOCKED_BYTES: usize = 256 * 1024;

impl Session {
    /// A whole field section; `fin` tells whether the stream ends after it.
    pub(super) fn on_section(
        &mut self,
        id: u64,
        section: &[u8],
        fin: Fin,
    ) -> Result<Option<Event<'static>>, Broken> {
        self.repeats.request = None;
        let Some(stream) = self.streams.get(id) else { return Ok(None) };
        let kind = match (stream.message, self.role) {
            (Message::Head, Role::Server) => Kind::Request,
            (Message::Head, Role::Client) => Kind::Response,
            _ => Kind::Trailers,
        };
        if let Some(head) = self.find_received(id, kind, section) {
            if fin == Fin::More {
                self.repeats.request = None;
            }
            return self.on_head(id, head, fin).map(Some);
        }
        let limit = self.settings.max_field_section_size;
        let mut spare = match kind {
            Kind::Request => self.buffers.head(),
            Kind::Response | Kind::Trailers => None,
        };
        let buffers = match &mut spare {
            Some(head) => std::mem::take(&mut **head),
            None => self.spare_buffers(),
        };
        let (mut reader, mut plain) = (HeadReader::with_buffers(buffers, kind), 0);
        let decoded = self.decoder.decode(id, section, limit, |field| {
            plain += plain_size(field);
            reader.field(field);
        });
        let decoded = decoded.map_err(|error| {
            connection(ErrorCode::QPACK_DECOMPRESSION_FAILED, error.fault.text())
        })?;
        let (size, required) = match decoded {
            Decoded::Blocked { required } => return self.block(id, required, section, fin),
            Decoded::Whole { size, required } => (size, required),
        };
        let block = EncodedBlock { bytes: section, plain };
        self.note_section(id, block);
        if size > limit {
            return self.on_large_head(id, kind, fin);
        }
        let wrong = |rule| Broken::Stream(ErrorCode::MESSAGE_ERROR, rule);
        let head = match kind {
            Kind::Request => {
                let extended = match self.settings.enable_connect_protocol {
                    true => ExtendedConnect::Offered,
                    false => ExtendedConnect::NotOffered,
                };
                let read = reader.request(extended).map_err(wrong)?;
                if read.head.authority.is_empty() {
                    return Err(wrong("RFC 9114 §4.3.1: neither :authority nor Host"));
                }
                let Received { head, content_length } = read;
                let mut boxed = spare.unwrap_or_default();
                *boxed = head;
                Head::Request(Received { head: boxed, content_length })
            }
            Kind::Response => Head::Response(reader.response().map_err(wrong)?),
            Kind::Trailers => {
                let fields = reader.trailers().map_err(wrong)?;
                return self.on_trailers(id, fields, fin).map(Some);
            }
        };
        let version = self.decoder.table_version();
        let read = || ReceivedHead { head: head.clone(), required, response: None };
        self.received.note(version, block, read);
        self.on_head(id, head, fin).map(Some)
    }

    /// The buffers of a response's fields that are done with.
    fn spare_buffers(&mut self) -> RequestHead {
        RequestHead { fields: std::mem::take(&mut self.spare_fields), ..RequestHead::default() }
    }

    /// The head of a section that came before, where no entry has come to the dynamic table since: it need not be decoded
    /// and checked again. It is acknowledged and counted.
    fn find_received(&mut self, id: u64, kind: Kind, section: &[u8]) -> Option<Head> {
        let at = self.received.place(self.decoder.table_version(), section)?;
        let (plain, known) = self.received.get(at);
        let head = match (kind, &known.head) {
            (Kind::Request, Head::Request(known)) => {
                let mut head = self.buffers.head().unwrap_or_default();
                head.copy_from(&known.head);
                Head::Request(Received { head, content_length: known.content_length })
            }
            (Kind::Response, head @ Head::Response(_)) => head.clone(),
            _ => return None,
        };
        let required = known.required;
        self.repeats.request = (kind == Kind::Request).then_some((id, at));
        self.decoder.acknowledge_section(id, required);
        self.note_section(id, EncodedBlock { bytes: section, plain });
        Some(head)
    }

    /// A section was read.
    fn note_section(&mut self, id: u64, section: EncodedBlock<'_>) {
        if let Some(stream) = self.streams.get_mut(id) {
            stream.head_began = None;
        }
        self.move_instructions();
        let EncodedBlock { bytes, plain } = section;
        self.headers.received.count(plain, bytes.len());
        let (plain, coded) = (plain as u64, bytes.len() as u64);
        self.tracer.emit(self.now, || trace::Event::HeaderBlock { stream: id, plain, coded });
    }

    fn on_head(&mut self, id: u64, head: Head, fin: Fin) -> Result<Event<'static>, Broken> {
        match head {
            Head::Request(head) => self.on_request(id, head, fin),
            Head::Response(head) => self.on_response(id, head, fin),
        }
    }

    /// The section waits for the dynamic table.
    fn block(
        &mut self,
        id: u64,
        required: u64,
        section: &[u8],
        fin: Fin,
    ) -> Result<Option<Event<'static>>, Broken> {
        if self.blocked.len() >= self.settings.qpack_blocked_streams {
            let text = "RFC 9204 §2.1.2: more streams are blocked than may be";
            return Err(connection(ErrorCode::QPACK_DECOMPRESSION_FAILED, text));
        }
        let held = |id: &u64| self.streams.get(*id)?.blocked.as_ref().map(|one| one.section.len());
        if self.blocked.iter().filter_map(held).sum::<usize>() + section.len() > MOST_BLOCKED_BYTES
        {
            let text = "RFC 9204 §7.3: blocked field sections of more bytes than are kept";
            return Err(Broken::Stream(ErrorCode::EXCESSIVE_LOAD, text));
        }
        if let Some(stream) = self.streams.get_mut(id) {
            let is_last = fin == Fin::Last;
            let (section, deferred) = (section.to_vec(), Vec::new());
            stream.blocked = Some(BlockedSection { required, section, deferred, is_last });
            self.blocked.insert(id);
        }
        Ok(None)
    }

    /// Goes on with the streams whose entries have come, in the order of their numbers.
    pub(super) fn unblock(&mut self) -> Result<(), Broken> {
        let inserted = self.decoder.inserted();
        let is_free = |blocked: &BlockedSection| blocked.required <= inserted;
        let streams = &self.streams;
        let blocked = |id: &u64| streams.get(*id).and_then(|stream| stream.blocked.as_ref());
        let free = self.blocked.iter().copied().filter(|id| blocked(id).is_some_and(is_free));
        for id in free.collect::<Vec<_>>() {
            let Some(stream) = self.streams.get_mut(id) else { continue };
            let Some(blocked) = stream.blocked.take() else { continue };
            self.blocked.remove(&id);
            let BlockedSection { section, deferred, is_last, .. } = blocked;
            let fin = if is_last { Fin::Last } else { Fin::More };
            let now = if deferred.is_empty() { fin } else { Fin::More };
            match self.on_section(id, &section, now) {
                Ok(event) => self.events.extend(event),
                Err(broken @ Broken::Connection(..)) => return Err(broken),
                Err(broken @ Broken::Stream(..)) => {
                    self.fail(id, broken);
                    continue;
                }
            }
            let stream = StreamId(id);
            if !deferred.is_empty() {
                self.backlog.push_back(Backlog { stream, bytes: deferred, fin });
            }
            self.actions.push_back(StreamAction::Read { stream });
        }
        Ok(())
    }

    /// To a request that is too large a server says 431 (RFC 6585 §5); all else is reset.
    fn on_large_head(
        &mut self,
        id: u64,
        kind: Kind,
        fin: Fin,
    ) -> Result<Option<Event<'static>>, Broken> {
        let status = Status::new(431).filter(|_| kind == Kind::Request);
        let Some(status) = status else {
            let text = "RFC 9114 §4.2.2: a field section larger than our limit";
            return Err(Broken::Stream(ErrorCode::EXCESSIVE_LOAD, text));
        };
        self.open_in_scheduler(id, None);
        self.write_response(id, &ResponseHead::new(status), Fin::Last);
        if let Some(stream) = self.streams.get_mut(id) {
            stream.message = Message::Over;
        }
        if fin == Fin::More {
            // RFC 9204 §2.2.2.2: trailers that refer to the table may come, and are not read.
            self.decoder.cancel_stream(id);
            self.move_instructions();
        }
        let (stream, code) = (StreamId(id), ErrorCode::NO_ERROR.0);
        self.actions.push_back(StreamAction::StopSending { stream, code });
        Ok(None)
    }

    fn on_request(
        &mut self,
        id: u64,
        read: Received<Box<RequestHead>>,
        fin: Fin,
    ) -> Result<Event<'static>, Broken> {
        self.guard.useful();
        let Received { head, content_length } = read;
        if let Some(stream) = self.streams.get_mut(id) {
            stream.message = Message::Body;
            stream.is_tunnel = head.method == Method::Connect;
            stream.body_left = content_length;
        }
        self.open_in_scheduler(id, priority::of_fields(&head.fields));
        if fin == Fin::Last {
            // A request without its body ends the stream before the application hears of it.
            self.finish_message(id)?;
        }
        Ok(Event::Request { stream: StreamId(id), head, fin })
    }

    /// A PRIORITY_UPDATE that came early goes before the `priority` field (RFC 9218 §7).
    pub(super) fn open_in_scheduler(&mut self, id: u64, field: Option<PriorityField>) {
        let early = self.early.iter().position(|&(other, _)| other == id);
        let early = early.and_then(|at| self.early.remove(at)).map(|(_, priority)| priority);
        let field = field.map(PriorityField::priority);
        let said = early.or(field);
        if said.is_some() {
            // It need not follow what waits.
            self.reopen_released();
        }
        self.scheduler.insert(StreamId(id), Priority::Unset);
        if let Some(priority) = said {
            self.rank(id, priority);
        }
        if let Some(field) = field {
            self.note_priority(id, PrioritySource::Field, field);
        }
    }

    /// Whether the scheduler knows a stream. A server tells it of a request once the head is read: a `priority` field is in it.
    pub(super) fn is_scheduled(&self, id: u64) -> bool {
        let is_read = |stream: &Stream| stream.message != Message::Head;
        self.streams.get(id).is_some_and(|stream| self.role == Role::Client || is_read(stream))
    }

    /// Client or application say how a stream ranks.
    pub(super) fn rank(&mut self, id: u64, priority: Priority) {
        self.scheduler.reprioritise(StreamId(id), priority);
        if let Some(stream) = self.streams.get_mut(id) {
            stream.is_ranked = true;
        }
    }

    /// The peer has said how a stream ranks.
    pub(super) fn note_priority(&self, stream: u64, by: PrioritySource, said: Priority) {
        if let (true, Some(asked)) = (self.tracer.is_on(), said.asked()) {
            self.tracer.emit(self.now, || trace::Event::PriorityReceived { stream, by, asked });
        }
    }

    fn on_response(
        &mut self,
        id: u64,
        read: Received<ResponseHead>,
        fin: Fin,
    ) -> Result<Event<'static>, Broken> {
        let (Received { head, content_length }, stream) = (read, StreamId(id));
        if head.status.is_informational() {
            if fin == Fin::Last {
                let text = "RFC 9114 §4.1: the stream ends before the final response";
                return Err(Broken::Stream(ErrorCode::MESSAGE_ERROR, text));
            }
            self.count_chatter()?;
            return Ok(Event::Informational { stream, head });
        }
        self.guard.useful();
        if let Some(entry) = self.streams.get_mut(id) {
            entry.message = Message::Body;
            let is_tunnel = entry.is_tunnel && head.status.code() / 100 == 2;
            entry.is_tunnel = is_tunnel;
            // RFC 9110 §6.4.1: such a length tells of a body that does not come.
            let has_none = entry.asked_for_head || head.status.forbids_body();
            entry.body_left =
                if has_none { Some(0) } else { content_length.filter(|_| !is_tunnel) };
        }
        if fin == Fin::Last {
            self.finish_message(id)?;
        }
        Ok(Event::Response { stream, head, fin })
    }

    fn on_trailers(&mut self, id: u64, fields: Fields, fin: Fin) -> Result<Event<'static>, Broken> {
        if let Some(stream) = self.streams.get_mut(id) {
            if stream.body_left.is_some_and(|left| left > 0) {
                let text = "RFC 9114 §4.1.2: less body than Content-Length says";
                return Err(Broken::Stream(ErrorCode::MESSAGE_ERROR, text));
            }
            stream.message = Message::Trailers;
        }
        if fin == Fin::Last {
            self.finish_message(id)?;
        }
        Ok(Event::Trailers { stream: StreamId(id), fields })
    }
}
