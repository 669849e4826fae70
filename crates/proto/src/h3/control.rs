//! The peer's unidirectional streams: its control stream and QPACK's two (RFC 9114 §6.2, §7.2; RFC 9204 §4.2).

use super::session::{Broken, Session, connection};
use super::settings::PeerSettings;
use super::traced::with_control_frame;
use crate::connection::Fin;
use crate::connection::{ConnectionState, Event};
use crate::error::Error;
use crate::h2::priority;
use crate::multiplex::status::Role;
use crate::multiplex::timers::Timer;
use crate::multiplexed_connection::{EarlyData, StreamAction};
use crate::schedule::Priority;
use crate::stream_id::StreamId;
use std::mem;
use trace::PrioritySource;
use wire::h3::{
    ErrorCode, Frame, FrameHeader, FrameKind, FrameReader, Read, StreamType, VarintReader,
};

/// A unidirectional stream of the peer.
#[derive(Debug)]
pub(super) enum Input {
    /// Its type has not come.
    Untyped(VarintReader),
    Control(Box<ControlFrame>),
    Encoder,
    Decoder,
}

impl Input {
    /// Whether it stays open as long as the connection (RFC 9114 §6.2.1, RFC 9204 §4.2).
    fn is_critical(&self) -> bool {
        matches!(self, Self::Control(_) | Self::Encoder | Self::Decoder)
    }
}

/// What of the control stream comes next.
#[derive(Debug, Default)]
pub(super) struct ControlFrame {
    reader: FrameReader,
    frame: Option<(FrameHeader, Vec<u8>)>,
}

const CRITICAL_STAYS: &str = "RFC 9114 §6.2.1: the stream stays open as long as the connection";

/// The largest frame of a control stream that is read. Larger ones of an unknown type are ignored as they come.
const LARGEST_FRAME: u64 = 16_384;
/// Unidirectional streams whose types have not come that a peer may have open.
const MOST_INPUTS: usize = 100;
/// Streams of unknown types that are remembered. The transport allows fewer at a time.
const MOST_IGNORED: usize = 32;

impl Session {
    /// Reads bytes of a unidirectional stream of the peer. All are taken.
    pub(super) fn read_unidirectional(
        &mut self,
        id: u64,
        bytes: &mut &[u8],
        fin: Fin,
    ) -> Result<(), Broken> {
        let mut input = match self.inputs.remove(&id) {
            Some(input) => input,
            None if self.ignored.contains(&id) => {
                *bytes = &[];
                if fin == Fin::Last {
                    self.ignored.retain(|&other| other != id);
                }
                return Ok(());
            }
            None if self.inputs.len() >= MOST_INPUTS => {
                let text = "RFC 9114 §10.5: more unidirectional streams than there are types";
                return Err(connection(ErrorCode::EXCESSIVE_LOAD, text));
            }
            None => Input::Untyped(VarintReader::default()),
        };
        if let Input::Untyped(varint) = &mut input
            && let Some(kind) = varint.read(bytes)
        {
            let Some(opened) = self.open_input(StreamType(kind))? else {
                *bytes = &[];
                return self.ignore_input(id, fin);
            };
            input = opened;
        }
        match &mut input {
            Input::Untyped(_) => {}
            Input::Control(frame) => self.read_control(id, frame, bytes)?,
            Input::Encoder => {
                self.headers.received.count(0, bytes.len());
                let followed = self.decoder.handle_instructions(bytes);
                followed.map_err(|e| {
                    connection(ErrorCode::QPACK_ENCODER_STREAM_ERROR, e.fault.text())
                })?;
                self.unblock()?;
                self.decoder.acknowledge_insertions();
                self.move_instructions();
            }
            Input::Decoder => {
                let followed = self.encoder.handle_instructions(bytes);
                followed.map_err(|e| {
                    connection(ErrorCode::QPACK_DECODER_STREAM_ERROR, e.fault.text())
                })?;
            }
        }
        *bytes = &[];
        match fin {
            Fin::Last if input.is_critical() => {
                Err(connection(ErrorCode::CLOSED_CRITICAL_STREAM, CRITICAL_STAYS))
            }
            Fin::Last => Ok(()),
            Fin::More => {
                self.inputs.insert(id, input);
                Ok(())
            }
        }
    }

    /// The peer abandoned a unidirectional stream.
    pub(super) fn lose_input(&mut self, id: u64) {
        self.ignored.retain(|&other| other != id);
        if self.inputs.remove(&id).is_some_and(|input| input.is_critical()) {
            self.fail_connection(ErrorCode::CLOSED_CRITICAL_STREAM, CRITICAL_STAYS);
        }
    }

    /// The peer wants no more of a unidirectional stream of ours.
    pub(super) fn lose_output(&mut self, id: u64) {
        if self.outputs.is_critical(id) {
            return self.fail_connection(ErrorCode::CLOSED_CRITICAL_STREAM, CRITICAL_STAYS);
        }
        self.outputs.abandon(id);
        // RFC 9000 §3.5.
        let (stream, code) = (StreamId(id), ErrorCode::NO_ERROR.0);
        self.actions.push_back(StreamAction::Reset { stream, code });
    }

    /// What a stream of this type is read as. None where the type is not known.
    fn open_input(&self, kind: StreamType) -> Result<Option<Input>, Broken> {
        let wrong = |text| Err(connection(ErrorCode::STREAM_CREATION_ERROR, text));
        let input = match kind {
            StreamType::CONTROL => Input::Control(Box::default()),
            StreamType::QPACK_ENCODER => Input::Encoder,
            StreamType::QPACK_DECODER => Input::Decoder,
            StreamType::PUSH if self.role == Role::Server => {
                return wrong("RFC 9114 §6.2.2: clients do not push");
            }
            StreamType::PUSH => {
                let text = "RFC 9114 §4.6: a push that was never allowed";
                return Err(connection(ErrorCode::ID_ERROR, text));
            }
            _ => return Ok(None),
        };
        let is_same = |other: &Input| mem::discriminant(other) == mem::discriminant(&input);
        if self.inputs.values().any(is_same) {
            return wrong("RFC 9114 §6.2.1: a second stream of this type");
        }
        Ok(Some(input))
    }

    /// Reading a stream of an unknown type is abandoned, and that is no error (RFC 9114 §6.2). It is remembered: pieces of it may be
    /// under way, and do not begin with a type.
    fn ignore_input(&mut self, id: u64, fin: Fin) -> Result<(), Broken> {
        self.count_chatter()?;
        let (stream, code) = (StreamId(id), ErrorCode::STREAM_CREATION_ERROR.0);
        self.actions.push_back(StreamAction::StopSending { stream, code });
        if fin == Fin::More {
            if self.ignored.len() >= MOST_IGNORED {
                self.ignored.pop_front();
            }
            self.ignored.push_back(id);
        }
        Ok(())
    }

    fn read_control(
        &mut self,
        stream: u64,
        control: &mut ControlFrame,
        bytes: &mut &[u8],
    ) -> Result<(), Broken> {
        loop {
            let (header, mut payload) = match control.frame.take() {
                Some(frame) => frame,
                None => match control.reader.read(bytes) {
                    Read::Incomplete => return Ok(()),
                    Read::Header(header) => {
                        self.check_control(header)?;
                        (header, Vec::new())
                    }
                },
            };
            let is_known = header.kind.name() != "unknown";
            let mut left = header.length - payload.len() as u64;
            if !is_known {
                // Nothing is kept of it: `header.length` is what is left.
                let ignored = left.min(bytes.len() as u64);
                *bytes = &bytes[ignored as usize..];
                left -= ignored;
                if left > 0 {
                    control.frame = Some((FrameHeader { length: left, ..header }, Vec::new()));
                    return Ok(());
                }
                self.count_chatter()?;
                continue;
            }
            let (part, rest) = bytes.split_at(left.min(bytes.len() as u64) as usize);
            *bytes = rest;
            payload.extend_from_slice(part);
            if (payload.len() as u64) < header.length {
                control.frame = Some((header, payload));
                return Ok(());
            }
            let frame = Frame::parse(header.kind, &payload);
            let frame = frame.map_err(|error| connection(error.code, error.rule))?;
            with_control_frame(&self.tracer, &frame, |frame| {
                self.tracer.emit(self.now, || trace::Event::ControlFrameParsed { stream, frame });
            });
            self.on_control(frame)?;
        }
    }

    /// What a frame's header alone can break on a control stream.
    fn check_control(&mut self, header: FrameHeader) -> Result<(), Broken> {
        let unexpected = |text| Err(connection(ErrorCode::FRAME_UNEXPECTED, text));
        match (header.kind, self.peer) {
            (FrameKind::SETTINGS, Some(_)) => unexpected("RFC 9114 §7.2.4: SETTINGS come once"),
            (FrameKind::SETTINGS, None) => check_length(header),
            (_, None) => {
                let text = "RFC 9114 §6.2.1: the control stream begins with SETTINGS";
                Err(connection(ErrorCode::MISSING_SETTINGS, text))
            }
            (FrameKind::DATA | FrameKind::HEADERS | FrameKind::PUSH_PROMISE, _) => {
                unexpected("RFC 9114 §7.2: the frame belongs to a request")
            }
            (kind, _) if kind.is_http2_only() => {
                unexpected("RFC 9114 §7.2.8: a frame of HTTP/2 that HTTP/3 does not have")
            }
            (FrameKind::MAX_PUSH_ID, _) if self.role == Role::Client => {
                unexpected("RFC 9114 §7.2.7: servers send no MAX_PUSH_ID")
            }
            (FrameKind::PRIORITY_UPDATE | FrameKind::PRIORITY_UPDATE_PUSH, _)
                if self.role == Role::Client =>
            {
                unexpected("RFC 9218 §7.2: servers send no PRIORITY_UPDATE")
            }
            (kind, _) if kind.name() == "unknown" => Ok(()),
            _ => check_length(header),
        }
    }

    fn on_control(&mut self, frame: Frame<'_>) -> Result<(), Broken> {
        match frame {
            Frame::Settings(list) => self.on_settings(PeerSettings::read(list)?),
            Frame::GoAway { id } => self.on_goaway(id),
            Frame::CancelPush { .. } => {
                let text = "RFC 9114 §7.2.3: a push that was never promised";
                Err(connection(ErrorCode::ID_ERROR, text))
            }
            Frame::MaxPushId { push } => {
                if self.max_push_id.is_some_and(|earlier| push < earlier) {
                    let text = "RFC 9114 §7.2.7: MAX_PUSH_ID is not less than before";
                    return Err(connection(ErrorCode::ID_ERROR, text));
                }
                self.max_push_id = Some(push);
                self.count_chatter()
            }
            Frame::PriorityUpdate { stream, value } => {
                self.on_priority_update(stream, priority::from_field(value))
            }
            Frame::PriorityUpdatePush { .. } => {
                let text = "RFC 9218 §7.2: a push that was never promised";
                Err(connection(ErrorCode::ID_ERROR, text))
            }
            // Refused by the header, or ignored.
            Frame::Data(_)
            | Frame::Headers(_)
            | Frame::PushPromise { .. }
            | Frame::Unknown { .. } => Ok(()),
        }
    }

    fn on_settings(&mut self, peer: PeerSettings) -> Result<(), Broken> {
        if let Some(remembered) = self.settings.remembered
            && self.facts.early_data != EarlyData::Rejected
        {
            peer.check_against(&remembered)?;
        }
        self.peer = Some(peer);
        self.timers.cancel(Timer::SettingsAck);
        self.encoder.set_limits(peer.encoder_limits(self.role));
        self.move_instructions();
        self.tracer.emit(self.now, || trace::Event::ConnectionReady { protocol: "h3" });
        Ok(())
    }

    fn on_goaway(&mut self, id: u64) -> Result<(), Broken> {
        let wrong = |text| Err(connection(ErrorCode::ID_ERROR, text));
        if self.role == Role::Client && !id.is_multiple_of(4) {
            return wrong("RFC 9114 §7.2.6: GOAWAY names a request");
        }
        if self.goaway_received.is_some_and(|earlier| id > earlier) {
            return wrong("RFC 9114 §5.2: GOAWAY names no later stream than before");
        }
        self.count_chatter()?;
        if self.goaway_received.replace(id).is_none() && self.state == ConnectionState::Open {
            self.state = ConnectionState::Draining;
            let last = (self.role == Role::Client).then(|| id.checked_sub(4).map(StreamId));
            self.events.push_back(Event::Draining { last: last.flatten() });
        }
        match self.role {
            // A client's GOAWAY names a push: of its requests some may still be under way (RFC 9114 §5.2).
            Role::Server => self.shut_down(),
            Role::Client => self.drop_refused(id),
        }
        self.close_if_drained();
        Ok(())
    }

    /// Client: the server takes no request from this one on.
    fn drop_refused(&mut self, first: u64) {
        let own = self.streams.iter().map(|(own, _)| own);
        let mut refused: Vec<u64> = own.filter(|&own| own >= first).collect();
        refused.sort_unstable();
        for id in refused {
            self.abandon_for(id, ErrorCode::REQUEST_CANCELLED, Error::Unprocessed);
        }
    }

    fn on_priority_update(&mut self, id: u64, priority: Priority) -> Result<(), Broken> {
        self.count_chatter()?;
        if !id.is_multiple_of(4) {
            let text = "RFC 9218 §7.2: PRIORITY_UPDATE names a request";
            return Err(connection(ErrorCode::ID_ERROR, text));
        }
        self.reopen_released();
        if self.is_scheduled(id) {
            self.rank(id, priority);
            self.note_priority(id, PrioritySource::PriorityUpdate, priority);
        } else if self.is_request_awaited(id) {
            self.note_priority(id, PrioritySource::PriorityUpdate, priority);
            self.forget_early(id);
            if self.early.len() >= MOST_EARLY {
                self.early.pop_front();
            }
            self.early.push_back((id, priority));
        }
        Ok(())
    }

    /// Server: whether the head of this request may still come.
    fn is_request_awaited(&self, id: u64) -> bool {
        id >= self.next_request || self.unseen.contains(&id) || self.streams.contains(id)
    }

    /// Drops what was said of a request before it came.
    pub(super) fn forget_early(&mut self, id: u64) {
        if !self.early.is_empty() {
            self.early.retain(|&(other, _)| other != id);
        }
    }
}

/// Priorities that are kept before their requests come (RFC 9218 §7.2).
const MOST_EARLY: usize = 128;

fn check_length(header: FrameHeader) -> Result<(), Broken> {
    if header.length > LARGEST_FRAME {
        let text = "RFC 9114 §10.5: a frame of the control stream that is too long";
        return Err(connection(ErrorCode::EXCESSIVE_LOAD, text));
    }
    Ok(())
}
