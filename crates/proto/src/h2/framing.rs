//! What HTTP/2 brings to a session: its frames, codes and rules, and how messages become frames.

use super::codec::HeaderCodec;
use super::head_out;
use super::headers::PartialBlock;
use super::priority;
use super::settings::{DEFAULT_TABLE, DEFAULT_WINDOW, PeerSettings, PrioritySignal, Settings};
use crate::multiplex::framing;
use crate::multiplex::{
    Announcement, Answered, ConnectionWindows, Endowment, FrameWriter, Framing, Gone, Misplaced,
    Next, Opener, OutgoingFrame, Over, PeerLimits, Prioritised, Promise, Role, Rule, Rules,
    Session, SessionSettings, State, Step, StreamStatus, Timed, Timer, rule,
};
use crate::recent_blocks::EncodedBlock;
use crate::schedule::{Priority, PriorityField};
use crate::{Fields, Fin, Misuse, Refused, RequestHead, ResponseHead};
use wire::h2::{
    Dependency, ErrorCode, FLAG_END_HEADERS, FLAG_END_STREAM, FLAG_PRIORITY, Frame, FrameHeader,
    FrameKind, HEADER_LENGTH, LAST_STREAM, PREFACE, Setting,
};

/// What our own PINGs carry.
pub(super) const DRAIN_PING: [u8; 8] = *b"draining";
pub(super) const KEEP_ALIVE_PING: [u8; 8] = *b"keepaliv";

/// HTTP/2's part of a connection.
#[derive(Debug)]
pub(super) struct Http2 {
    /// The place of the next request in the tree.
    opening: Option<Dependency>,
    pub(super) settings: Settings,
    pub(super) peer: PeerSettings,
    pub(super) codec: HeaderCodec,
    /// A header block that goes on in CONTINUATION.
    pub(super) partial: Option<PartialBlock>,
}

impl Http2 {
    /// A connection that begins with these settings.
    pub(super) fn session(endowment: Endowment, settings: Settings) -> Session<Self> {
        let settings = settings.bounded();
        let common = SessionSettings {
            // Ours is in force once the peer has acknowledged it (RFC 9113 §6.5.3).
            stream_window: DEFAULT_WINDOW,
            max_concurrent_streams: settings.max_concurrent_streams,
            data_frame_size: settings.data_frame_size,
            send_low_water: settings.send_low_water,
            head_timeout: settings.head_timeout,
            stall_timeout: settings.stall_timeout,
            keep_alive: settings.keep_alive,
            limits: settings.limits.clone(),
        };
        let windows = ConnectionWindows::counted(DEFAULT_WINDOW, settings.connection_window);
        let codec = HeaderCodec::new(DEFAULT_TABLE as usize, settings.max_header_list_size);
        let framing =
            Self { peer: PeerSettings::default(), codec, partial: None, opening: None, settings };
        Session::new(endowment, framing, common, windows)
    }

    /// Queues a header block in a frame like `first`, and CONTINUATION where the peer's frames, of at
    /// most `most` bytes, are too small (RFC 9113 §6.10).
    fn put_block(out: &mut FrameWriter<'_>, most: usize, first: First<'_>, block: &[u8]) {
        let First { mut header, mut prefix } = first;
        let mut rest = block;
        loop {
            let (fragment, left) = rest.split_at(rest.len().min(most - prefix.len()));
            header.length = (prefix.len() + fragment.len()) as u32;
            if left.is_empty() {
                header.flags |= FLAG_END_HEADERS;
            }
            let buffer = out.buffer();
            buffer.extend_from_slice(&header.bytes());
            buffer.extend_from_slice(prefix);
            buffer.extend_from_slice(fragment);
            out.log().frame_created(header.stream, header.kind.name(), header.length as usize);
            if left.is_empty() {
                return;
            }
            header.kind = FrameKind::CONTINUATION;
            header.flags = 0;
            prefix = &[];
            rest = left;
        }
    }
}

/// The frame that a header block begins in.
struct First<'a> {
    header: FrameHeader,
    /// What stands before the block.
    prefix: &'a [u8],
}

/// HEADERS without a length yet.
fn headers(id: u32, fin: Fin) -> FrameHeader {
    let flags = if fin == Fin::Last { FLAG_END_STREAM } else { 0 };
    FrameHeader { length: 0, kind: FrameKind::HEADERS, flags, stream: id }
}

/// Queues HEADERS with a block.
fn put_headers(
    out: &mut FrameWriter<'_>,
    most: usize,
    header: FrameHeader,
    block: EncodedBlock<'_>,
) {
    out.log().block_sent(header.stream, block.plain, block.bytes.len());
    Http2::put_block(out, most, First { header, prefix: &[] }, block.bytes);
}

impl Framing for Http2 {
    type RawHeader = [u8; HEADER_LENGTH];
    type Header = FrameHeader;
    type Frame<'a> = Frame<'a>;
    type ConnectionCode = ErrorCode;
    type StreamCode = ErrorCode;

    const RULES: Rules<ErrorCode, ErrorCode> = RULES;
    const SENT_PROMISE: &'static [Step] = &[Step::SendPromise];
    const RECEIVED_PROMISE: &'static [Step] = &[Step::ReceivePromise];
    const GOAWAY_NAMES_NONE: Option<u32> = Some(LAST_STREAM);
    const TIMED: Timed = Timed::HeaderBlocks;
    const NO_INFORMATIONAL: Option<&'static str> = None;

    fn preface() -> Option<(&'static [u8], Rule<ErrorCode>)> {
        Some((PREFACE, protocol("RFC 9113 §3.4: not the connection preface")))
    }

    /// Preface, SETTINGS, and the credit that the connection's window has above its initial size.
    fn greet(session: &mut Session<Self>) {
        let role = session.role;
        let (framing, mut out) = session.writer();
        let settings = &framing.settings;
        if role == Role::Client {
            out.put_preface(PREFACE);
        }
        let list = settings.first(role);
        out.log().frame_created(0, "SETTINGS", list.len() * 6);
        Setting::encode_all(&list, out.buffer());
        if settings.connection_window > DEFAULT_WINDOW {
            let increment = settings.connection_window - DEFAULT_WINDOW;
            out.queue(&Frame::WindowUpdate { stream: 0, increment });
        }
        let mut last_group = 0;
        for (stream, dependency) in settings.announced_groups(role) {
            out.queue(&Frame::Priority { stream, dependency });
            last_group = last_group.max(stream);
        }
        session.open_after(last_group);
        let acknowledged_by = session.now() + session.framing.settings.settings_timeout;
        session.timers.set(Timer::SettingsAck, acknowledged_by);
    }

    fn parse_header(raw: &Self::RawHeader) -> FrameHeader {
        FrameHeader::parse(raw)
    }

    fn frame_length(bytes: &[u8]) -> Option<usize> {
        let header = bytes.first_chunk()?;
        Some(HEADER_LENGTH + FrameHeader::parse(header).length as usize)
    }

    #[inline]
    fn on_header(session: &mut Session<Self>, header: FrameHeader) -> Result<Next, Over> {
        session.on_header(header)
    }

    fn on_payload(
        session: &mut Session<Self>,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<Next, Over> {
        session.on_payload(header, payload)
    }

    fn misplaced_data(status: StreamStatus) -> Misplaced<ErrorCode, ErrorCode> {
        match status {
            StreamStatus::Idle
            | StreamStatus::Live(State::ReservedLocal | State::ReservedRemote) => {
                Misplaced::Connection(protocol(
                    "RFC 9113 §5.1: DATA on a stream that has not begun",
                ))
            }
            StreamStatus::Gone(Some(Gone::ResetByUs)) => Misplaced::Late,
            StreamStatus::Gone(_) | StreamStatus::Live(_) => {
                let text = "RFC 9113 §6.1: DATA after the end of the stream";
                Misplaced::Stream(rule(ErrorCode::STREAM_CLOSED, text))
            }
        }
    }

    fn peer(&self) -> PeerLimits {
        PeerLimits {
            max_concurrent_streams: self.peer.max_concurrent_streams,
            initial_window: self.peer.initial_window,
            max_frame_size: self.peer.max_frame_size,
            takes_push: self.peer.enable_push,
        }
    }

    fn check_request(&mut self, head: &RequestHead) -> Result<(), Refused> {
        let limit = self.peer.max_header_list_size;
        if self.codec.has_sent(head) {
            return Ok(());
        }
        if head.protocol.is_some() && !self.peer.enable_connect_protocol {
            let has_spoken = self.peer.have_come;
            return Err(if has_spoken { Refused::NotAllowed } else { Refused::TooEarly });
        }
        head_out::check_request(head, limit).map_err(Refused::Unsendable)
    }

    fn check_fields(&self, fields: &Fields) -> Result<(), Misuse> {
        head_out::check_response(fields, self.peer.max_header_list_size).map_err(Misuse::Unsendable)
    }

    fn put_request(&mut self, out: &mut FrameWriter<'_>, id: u32, head: &RequestHead, fin: Fin) {
        let most = self.peer.max_frame_size as usize;
        let mut header = headers(id, fin);
        let dependency = self.opening.take().map(Dependency::bytes);
        if dependency.is_some() {
            header.flags |= FLAG_PRIORITY;
        }
        let prefix = dependency.as_ref().map_or(&[][..], |bytes| bytes);
        let block = self.codec.encode_request(head);
        out.log().block_sent(header.stream, block.plain, block.bytes.len());
        Self::put_block(out, most, First { header, prefix }, block.bytes);
    }

    fn open_at(&mut self, priority: Priority) -> bool {
        self.opening = match (self.settings.priority_signal, priority) {
            (
                PrioritySignal::Dependencies | PrioritySignal::Both,
                Priority::Dependency { parent, weight, exclusive },
            ) => priority::to_dependency(parent, weight, exclusive),
            _ => None,
        };
        self.opening.is_some()
    }

    fn put_response(
        &mut self,
        out: &mut FrameWriter<'_>,
        to: Answered,
        head: &ResponseHead,
        fin: Fin,
    ) {
        let most = self.peer.max_frame_size as usize;
        put_headers(out, most, headers(to.id, fin), self.codec.encode_response(head));
    }

    fn put_trailers(&mut self, out: &mut FrameWriter<'_>, id: u32, fields: &Fields) {
        let most = self.peer.max_frame_size as usize;
        put_headers(out, most, headers(id, Fin::Last), self.codec.encode_trailers(fields));
    }

    fn put_promise(&mut self, out: &mut FrameWriter<'_>, promise: Promise, head: &RequestHead) {
        let Promise { parent, promised } = promise;
        let most = self.peer.max_frame_size as usize;
        let block = self.codec.encode_request(head);
        out.log().block_sent(promised, block.plain, block.bytes.len());
        let kind = FrameKind::PUSH_PROMISE;
        let header = FrameHeader { length: 0, kind, flags: 0, stream: parent };
        let prefix = &promised.to_be_bytes();
        Self::put_block(out, most, First { header, prefix }, block.bytes);
    }

    fn priority_field(fields: &Fields) -> Option<PriorityField> {
        priority::of_fields(fields)
    }

    fn put_priority(&mut self, out: &mut FrameWriter<'_>, of: Prioritised, priority: Priority) {
        let unknown = of.status == StreamStatus::Idle && of.opener == Opener::Peer;
        if of.role == Role::Server || unknown {
            return;
        }
        match (self.settings.priority_signal, priority) {
            (
                PrioritySignal::Dependencies | PrioritySignal::Both,
                Priority::Dependency { parent, weight, exclusive },
            ) => {
                if let Some(dependency) = priority::to_dependency(parent, weight, exclusive) {
                    out.queue(&Frame::Priority { stream: of.id, dependency });
                }
            }
            (
                PrioritySignal::Urgencies | PrioritySignal::Both,
                Priority::Urgency { urgency, incremental },
            ) => {
                let value = priority::to_field(urgency, incremental);
                out.queue(&Frame::PriorityUpdate { prioritised: of.id, value: value.as_bytes() });
            }
            _ => {}
        }
    }

    fn recycle_request(&mut self, head: Box<RequestHead>) {
        self.codec.recycle(head);
    }

    fn recycle_response(&mut self, head: ResponseHead) {
        self.codec.recycle_fields(head.fields);
    }

    fn forget_all(&mut self) {
        self.partial = None;
    }

    /// RFC 9113 §6.8: requests that are under way are still taken.
    fn announce_shutdown(&self, role: Role) -> Option<Announcement<Self>> {
        let code = ErrorCode::NO_ERROR;
        let frames =
            [Frame::GoAway { last: LAST_STREAM, code, debug: b"" }, Frame::Ping(DRAIN_PING)];
        let patience = self.settings.drain_timeout;
        (role == Role::Server).then_some(Announcement { frames, patience })
    }

    fn keep_alive_ping(&mut self) -> Frame<'static> {
        Frame::Ping(KEEP_ALIVE_PING)
    }

    /// RFC 9113 §8.1: after the whole answer, the rest of the request is not needed.
    fn abandon(role: Role, state: State) -> ErrorCode {
        match (role, state) {
            (Role::Server, State::HalfClosedLocal) => ErrorCode::NO_ERROR,
            _ => ErrorCode::CANCEL,
        }
    }

    fn reset_frame(id: u32, code: ErrorCode) -> Frame<'static> {
        Frame::ResetStream { stream: id, code }
    }

    fn window_update_frame(id: u32, increment: u32) -> Frame<'static> {
        Frame::WindowUpdate { stream: id, increment }
    }

    fn goaway_frame(last: u32, code: ErrorCode, debug: &str) -> Frame<'_> {
        Frame::GoAway { last, code, debug: debug.as_bytes() }
    }

    fn end_frame(id: u32) -> Frame<'static> {
        Frame::Data { stream: id, data: &[], end_stream: true, padding: None }
    }

    fn data_header(id: u32, length: usize, fin: Fin) -> Self::RawHeader {
        let flags = if fin == Fin::Last { FLAG_END_STREAM } else { 0 };
        let (length, kind) = (length as u32, FrameKind::DATA);
        FrameHeader { length, kind, flags, stream: id }.bytes()
    }
}

impl OutgoingFrame for Frame<'_> {
    const HEADER_LENGTH: usize = HEADER_LENGTH;

    fn encode(&self, out: &mut Vec<u8>) {
        Frame::encode(self, out);
    }

    fn stream(&self) -> u32 {
        match *self {
            Self::Data { stream, .. }
            | Self::ResetStream { stream, .. }
            | Self::WindowUpdate { stream, .. }
            | Self::Priority { stream, .. } => stream,
            _ => 0,
        }
    }

    fn name(&self) -> &'static str {
        self.kind().name()
    }
}

impl framing::ErrorCode for ErrorCode {
    fn number(self) -> u64 {
        u64::from(self.0)
    }

    fn name(self) -> &'static str {
        Self::name(self)
    }
}

const RULES: Rules<ErrorCode, ErrorCode> = Rules {
    connection_credit: flow("RFC 9113 §6.9: more DATA than the connection's credit"),
    stream_credit: flow("RFC 9113 §6.9: more DATA than the stream's credit"),
    data_before_head: protocol("RFC 9113 §8.1: DATA before the head"),
    long_body: protocol("RFC 9113 §8.1.1: more DATA than Content-Length says"),
    short_body: protocol("RFC 9113 §8.1.1: less DATA than Content-Length says"),
    no_body: protocol("RFC 9113 §8.1.1: a Content-Length without DATA"),
    connection_window: flow("RFC 9113 §6.9.1: a window above 2^31 - 1"),
    stream_window: flow("RFC 9113 §6.9.1: a window above 2^31 - 1"),
    initial_window: flow("RFC 9113 §6.9.2: a window above 2^31 - 1"),
    idle_reset: Some(protocol("RFC 9113 §6.4: RST_STREAM on an idle stream")),
    idle_window_update: Some(protocol("RFC 9113 §5.1: WINDOW_UPDATE on an idle stream")),
    settings_timeout: Some(rule(
        ErrorCode::SETTINGS_TIMEOUT,
        "RFC 9113 §6.5.3: SETTINGS were not acknowledged in time",
    )),
    too_much: ErrorCode::ENHANCE_YOUR_CALM,
    too_slow: ErrorCode::ENHANCE_YOUR_CALM,
    header_wait: "the end of a header block",
    no_error: ErrorCode::NO_ERROR,
    cancel: ErrorCode::CANCEL,
    refused: ErrorCode::REFUSED_STREAM,
};

const fn flow(text: &'static str) -> Rule<ErrorCode> {
    rule(ErrorCode::FLOW_CONTROL_ERROR, text)
}

/// A rule whose breach is a PROTOCOL_ERROR.
pub(super) const fn protocol(text: &'static str) -> Rule<ErrorCode> {
    rule(ErrorCode::PROTOCOL_ERROR, text)
}
