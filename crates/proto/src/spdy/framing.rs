//! What SPDY brings to a session: its frames, codes and rules, and how messages become frames.

use super::head_out;
use super::pushes::{Answer, Pushes};
use super::settings::{DEFAULT_WINDOW, PeerSettings, Settings, Version};
use crate::multiplex::framing;
use crate::multiplex::{
    Answered, ConnectionWindows, Endowment, FrameWriter, Framing, Gone, Misplaced, Next, Opener,
    OutgoingFrame, Over, PeerLimits, Prioritised, Promise, Role, Rule, Rules, Session,
    SessionSettings, State, Step, StreamStatus, Timed, rule,
};
use crate::schedule::Priority;
use crate::{Fields, Fin, IdMap, Misuse, Refused, RequestHead, ResponseHead};
use wire::spdy::{
    Decoder, Encoder, FLAG_FIN, Frame, FrameHeader, FrameKind, GoAwayCode, HEADER_LENGTH,
    ResetCode, Setting, Subject,
};

/// SPDY's part of a session.
#[derive(Debug)]
pub(super) struct Spdy {
    pub(super) settings: Settings,
    pub(super) peer: PeerSettings,
    pub(super) decoder: Decoder,
    encoder: Encoder,
    /// Fields that came in HEADERS behind the head, reported as trailers when the stream ends.
    pub(super) late: IdMap<u32, Fields>,
    /// Pushes that wait for their answers' heads.
    pushes: Pushes,
    /// The next PING that we send.
    next_ping: u32,
}

impl Spdy {
    /// A session that begins with these settings.
    pub(super) fn session(endowment: Endowment, settings: Settings) -> Session<Self> {
        let settings = settings.bounded();
        let common = SessionSettings {
            stream_window: settings.stream_window,
            max_concurrent_streams: settings.max_concurrent_streams,
            data_frame_size: settings.data_frame_size,
            send_low_water: settings.send_low_water,
            head_timeout: settings.head_timeout,
            stall_timeout: settings.stall_timeout,
            keep_alive: settings.keep_alive,
            limits: settings.limits.clone(),
        };
        let windows = match settings.version {
            Version::V3 => ConnectionWindows::UNCOUNTED,
            Version::V3_1 => ConnectionWindows::counted(DEFAULT_WINDOW, settings.session_window),
        };
        let framing = Self {
            peer: PeerSettings::new(settings.persisted.clone()),
            decoder: Decoder::new(),
            encoder: Encoder::new(settings.effort),
            late: IdMap::default(),
            pushes: Pushes::new(settings.default_priority),
            // SPDY §2.6.5: the client's identifiers are odd, the server's even.
            next_ping: endowment.role.first_stream(),
            settings,
        };
        Session::new(endowment, framing, common, windows)
    }

    /// Whether a PING of ours had this identifier, or a later one.
    pub(super) fn has_pinged(&self, id: u32) -> bool {
        id < self.next_ping
    }
}

impl Framing for Spdy {
    type RawHeader = [u8; HEADER_LENGTH];
    type Header = FrameHeader;
    type Frame<'a> = Frame<'a>;
    type ConnectionCode = GoAwayCode;
    type StreamCode = ResetCode;

    const RULES: Rules<GoAwayCode, ResetCode> = RULES;
    const SENT_PROMISE: &'static [Step] = &[Step::SendPromise, Step::SendHeaders];
    const RECEIVED_PROMISE: &'static [Step] = &[Step::ReceivePromise, Step::ReceiveHeaders];
    const GOAWAY_NAMES_NONE: Option<u32> = None;
    const TIMED: Timed = Timed::Payloads;
    const NO_INFORMATIONAL: Option<&'static str> = Some("SPDY has no informational responses");

    fn preface() -> Option<(&'static [u8], Rule<GoAwayCode>)> {
        None
    }

    /// SETTINGS, and the credit that the session's window has above its initial size.
    fn greet(session: &mut Session<Self>) {
        let role = session.role;
        let (framing, mut out) = session.writer();
        let settings = &framing.settings;
        out.log().connection_ready(settings.version.alpn());
        let list = settings.first(role);
        out.log().frame_created(0, "SETTINGS", 4 + list.len() * 8);
        Setting::encode_all(&list, out.buffer());
        let increment = settings.session_window - DEFAULT_WINDOW;
        if settings.version == Version::V3_1 && increment > 0 {
            out.queue(&Frame::WindowUpdate { stream: 0, increment });
        }
    }

    fn parse_header(raw: &Self::RawHeader) -> FrameHeader {
        FrameHeader::parse(raw)
    }

    fn frame_length(bytes: &[u8]) -> Option<usize> {
        let header = bytes.first_chunk()?;
        Some(HEADER_LENGTH + FrameHeader::parse(header).length as usize)
    }

    fn on_header(session: &mut Session<Self>, header: FrameHeader) -> Result<Next, Over> {
        session.on_header(header)
    }

    fn on_payload(
        session: &mut Session<Self>,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<Next, Over> {
        session.on_payload(header, payload).map(|()| Next::Frame)
    }

    fn misplaced_data(status: StreamStatus) -> Misplaced<GoAwayCode, ResetCode> {
        match status {
            StreamStatus::Gone(Some(Gone::ResetByUs)) => Misplaced::Late,
            StreamStatus::Idle | StreamStatus::Gone(_) => {
                let text = "SPDY §2.2.2: DATA for a stream that is not open";
                Misplaced::Stream(rule(ResetCode::INVALID_STREAM, text))
            }
            StreamStatus::Live(_) => {
                let text = "SPDY §2.3.6: DATA after the end of the stream";
                Misplaced::Stream(rule(ResetCode::STREAM_ALREADY_CLOSED, text))
            }
        }
    }

    fn take_trailers(&mut self, id: u32) -> Option<Fields> {
        self.late.remove(&id)
    }

    fn peer(&self) -> PeerLimits {
        PeerLimits {
            max_concurrent_streams: self.peer.max_concurrent_streams,
            initial_window: self.peer.initial_window,
            max_frame_size: u32::MAX,
            // A client that lets us open no streams takes no pushes.
            takes_push: self.peer.max_concurrent_streams > 0,
        }
    }

    fn check_request(&mut self, head: &RequestHead) -> Result<(), Refused> {
        head_out::check_request(head).map_err(Refused::Unsendable)
    }

    fn check_fields(&self, fields: &Fields) -> Result<(), Misuse> {
        head_out::check_fields(fields).map_err(Misuse::Unsendable)
    }

    fn put_request(&mut self, out: &mut FrameWriter<'_>, id: u32, head: &RequestHead, fin: Fin) {
        head_out::put_request(&mut self.encoder, head);
        let between = &syn_fields(0, self.settings.default_priority);
        let (kind, flags) = (FrameKind::SYN_STREAM, fin_flag(fin));
        put_block(out, &mut self.encoder, BlockFrame { kind, flags, id, between });
    }

    fn put_response(
        &mut self,
        out: &mut FrameWriter<'_>,
        to: Answered,
        head: &ResponseHead,
        fin: Fin,
    ) {
        let kind = match to.opener {
            Opener::Peer => FrameKind::SYN_REPLY,
            Opener::We if self.pushes.waits(to.id) => {
                let answer = Answer { id: to.id, head, fin };
                self.pushes.put_with_answer(out, &mut self.encoder, answer);
                return;
            }
            // SPDY §3.3.1: the SYN_STREAM has gone ahead.
            Opener::We => FrameKind::HEADERS,
        };
        head_out::put_response(&mut self.encoder, head);
        let (flags, id) = (fin_flag(fin), to.id);
        put_block(out, &mut self.encoder, BlockFrame { kind, flags, id, between: &[] });
    }

    fn put_trailers(&mut self, out: &mut FrameWriter<'_>, id: u32, fields: &Fields) {
        head_out::put_trailers(&mut self.encoder, fields);
        let (kind, flags) = (FrameKind::HEADERS, FLAG_FIN);
        put_block(out, &mut self.encoder, BlockFrame { kind, flags, id, between: &[] });
    }

    fn put_promise(&mut self, _out: &mut FrameWriter<'_>, promise: Promise, head: &RequestHead) {
        self.pushes.keep(promise, head.clone());
    }

    /// Sets the level of a SYN_STREAM that still waits; there is no other way to tell the peer.
    fn put_priority(&mut self, out: &mut FrameWriter<'_>, of: Prioritised, priority: Priority) {
        if of.opener != Opener::We || !matches!(of.status, StreamStatus::Live(_)) {
            return;
        }
        let level = priority.level().unwrap_or(self.settings.default_priority);
        let bytes = out.buffer();
        let mut at = 0;
        while let Some(length) = Self::frame_length(&bytes[at..]) {
            let frame = &mut bytes[at..];
            let syn = FrameHeader::control(FrameKind::SYN_STREAM, 0, 0).bytes();
            let opens =
                frame[..4] == syn[..4] && frame[HEADER_LENGTH..].starts_with(&of.id.to_be_bytes());
            if let Some(priority) = frame.get_mut(HEADER_LENGTH + 8).filter(|_| opens) {
                *priority = level << 5;
                return;
            }
            at += length;
        }
    }

    fn before_transmit(&mut self, out: &mut FrameWriter<'_>) {
        self.pushes.put_all(out, &mut self.encoder);
    }

    fn has_kept_frames(&self) -> bool {
        !self.pushes.is_empty()
    }

    fn forget_stream(&mut self, id: u32) {
        self.late.remove(&id);
    }

    fn forget_all(&mut self) {
        self.late.clear();
        self.pushes.clear();
    }

    fn keep_alive_ping(&mut self) -> Frame<'static> {
        let id = self.next_ping;
        self.next_ping = id.wrapping_add(2);
        Frame::Ping(id)
    }

    fn abandon(_role: Role, _state: State) -> ResetCode {
        ResetCode::CANCEL
    }

    fn reset_frame(id: u32, code: ResetCode) -> Frame<'static> {
        Frame::ResetStream { stream: id, code }
    }

    fn window_update_frame(id: u32, increment: u32) -> Frame<'static> {
        Frame::WindowUpdate { stream: id, increment }
    }

    fn goaway_frame(last: u32, code: GoAwayCode, _debug: &str) -> Frame<'_> {
        Frame::GoAway { last, code }
    }

    fn end_frame(id: u32) -> Frame<'static> {
        Frame::Data { stream: id, data: &[], fin: true }
    }

    fn data_header(id: u32, length: usize, fin: Fin) -> Self::RawHeader {
        let (subject, flags) = (Subject::Data { stream: id }, fin_flag(fin));
        FrameHeader { subject, flags, length: length as u32 }.bytes()
    }
}

/// A frame that ends with a header block.
#[derive(Debug)]
pub(super) struct BlockFrame<'a> {
    pub(super) kind: FrameKind,
    pub(super) flags: u8,
    pub(super) id: u32,
    /// What stands between the stream and the block.
    pub(super) between: &'a [u8],
}

/// Queues a frame with the block that was put into the encoder.
pub(super) fn put_block(out: &mut FrameWriter<'_>, encoder: &mut Encoder, frame: BlockFrame<'_>) {
    let BlockFrame { kind, flags, id, between } = frame;
    let plain = encoder.plain_size();
    let buffer = out.buffer();
    let start = buffer.len();
    buffer.extend_from_slice(&[0; HEADER_LENGTH]);
    buffer.extend_from_slice(&id.to_be_bytes());
    buffer.extend_from_slice(between);
    let begin = buffer.len();
    encoder.finish(buffer);
    let (coded, length) = (buffer.len() - begin, buffer.len() - start - HEADER_LENGTH);
    let header = FrameHeader::control(kind, flags, length as u32);
    buffer[start..start + HEADER_LENGTH].copy_from_slice(&header.bytes());
    out.log().block_sent(id, plain, coded);
    out.log().frame_created(id, kind.name(), length);
}

/// What stands between the stream and the block of a SYN_STREAM (SPDY §2.6.1).
pub(super) fn syn_fields(associated: u32, level: u8) -> [u8; 6] {
    let [a, b, c, d] = associated.to_be_bytes();
    [a, b, c, d, level << 5, 0]
}

/// FLAG_FIN where the stream ends.
pub(super) fn fin_flag(fin: Fin) -> u8 {
    if fin == Fin::Last { FLAG_FIN } else { 0 }
}

impl OutgoingFrame for Frame<'_> {
    const HEADER_LENGTH: usize = HEADER_LENGTH;

    fn encode(&self, out: &mut Vec<u8>) {
        Frame::encode(self, out);
    }

    fn stream(&self) -> u32 {
        Frame::stream(self)
    }

    fn name(&self) -> &'static str {
        Frame::name(self)
    }
}

impl framing::ErrorCode for GoAwayCode {
    fn number(self) -> u64 {
        u64::from(self.0)
    }

    fn name(self) -> &'static str {
        Self::name(self)
    }
}

impl framing::ErrorCode for ResetCode {
    fn number(self) -> u64 {
        u64::from(self.0)
    }

    fn name(self) -> &'static str {
        Self::name(self)
    }
}

/// SPDY §2.4.1: GOAWAY knows PROTOCOL_ERROR alone.
const RULES: Rules<GoAwayCode, ResetCode> = Rules {
    connection_credit: broken("SPDY/3.1 §2.6.8: more DATA than the session's credit"),
    stream_credit: flow("SPDY §2.6.8: more DATA than the stream's credit"),
    data_before_head: protocol("SPDY §2.2.2: DATA before the head"),
    long_body: protocol("SPDY §3.2: more DATA than Content-Length says"),
    short_body: protocol("SPDY §3.2: less DATA than Content-Length says"),
    no_body: protocol("SPDY §3.2.1: a Content-Length without DATA"),
    connection_window: broken("SPDY §2.6.8: a window above 2^31 - 1"),
    stream_window: flow("SPDY §2.6.8: a window above 2^31 - 1"),
    initial_window: broken("SPDY §2.6.8: a window above 2^31 - 1"),
    // SPDY §2.4.2: a RST_STREAM is no cause for one of ours.
    idle_reset: None,
    idle_window_update: None,
    // SPDY acknowledges no SETTINGS.
    settings_timeout: None,
    too_much: GoAwayCode::PROTOCOL_ERROR,
    too_slow: GoAwayCode::OK,
    header_wait: "the end of a control frame",
    no_error: GoAwayCode::OK,
    cancel: ResetCode::CANCEL,
    refused: ResetCode::REFUSED_STREAM,
};

const fn flow(text: &'static str) -> Rule<ResetCode> {
    rule(ResetCode::FLOW_CONTROL_ERROR, text)
}

const fn protocol(text: &'static str) -> Rule<ResetCode> {
    rule(ResetCode::PROTOCOL_ERROR, text)
}

/// A rule whose breach ends the session.
pub(super) const fn broken(text: &'static str) -> Rule<GoAwayCode> {
    rule(GoAwayCode::PROTOCOL_ERROR, text)
}
