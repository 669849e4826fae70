//! DATA in. A frame's bytes are accounted when its header arrives and handed on as they come,
//! borrowed from the input. Padding counts as credit too, and is given back at once (RFC 9113 §6.9.1).

use super::connection::{Core, Over, Place, Progress, Reading};
use crate::connection::{Event, Fin, StreamId};
use crate::multiplex::state::{State, Step};
use crate::multiplex::streams::{BodyLength, Gone, Incoming};
use wire::h2::{ErrorCode, FLAG_END_STREAM, Frame, FrameHeader};

/// A DATA frame whose bytes are being received.
#[derive(Debug)]
pub(super) struct Body {
    stream: u32,
    left: u32,
    padding: u32,
    fin: Fin,
}

impl Core {
    /// A padded DATA frame has shown its Pad Length.
    pub(super) fn begin_data<'i>(
        &mut self,
        header: FrameHeader,
        padding: Option<u8>,
    ) -> Result<Progress<'i>, Over> {
        self.reading = Reading::Data(self.open_data(header, padding)?);
        Ok(Progress::Made)
    }

    /// Accounts a DATA frame. What must not be delivered names a stream that is not in the table.
    pub(super) fn open_data(
        &mut self,
        header: FrameHeader,
        padding: Option<u8>,
    ) -> Result<Body, Over> {
        let id = header.stream;
        let overhead = padding.map_or(0, |padding| 1 + u32::from(padding));
        let Some(left) = header.length.checked_sub(overhead) else {
            let rule = "RFC 9113 §6.1: more padding than payload";
            return Err(self.fail(ErrorCode::PROTOCOL_ERROR, rule));
        };
        if self.receive_window.receive(header.length).is_err() {
            let rule = "RFC 9113 §6.9: more DATA than the connection's credit";
            return Err(self.fail(ErrorCode::FLOW_CONTROL_ERROR, rule));
        }
        let fin = if header.has(FLAG_END_STREAM) { Fin::Last } else { Fin::More };
        let body = Body { stream: id, left, padding: overhead.saturating_sub(1), fin };
        match self.place(id) {
            Place::Idle | Place::Live(State::ReservedLocal | State::ReservedRemote) => {
                let rule = "RFC 9113 §5.1: DATA on a stream that has not begun";
                return Err(self.fail(ErrorCode::PROTOCOL_ERROR, rule));
            }
            Place::Gone(gone) => {
                self.credit_connection(header.length);
                match gone {
                    Some(Gone::ResetByUs) => self.chatter()?,
                    _ => self.late_data(id)?,
                }
            }
            Place::Live(state) if !state.takes_data() => {
                self.credit_connection(header.length);
                self.late_data(id)?;
            }
            Place::Live(_) => self.account(header, &body)?,
        }
        Ok(body)
    }

    fn late_data(&mut self, id: u32) -> Result<(), Over> {
        let rule = "RFC 9113 §6.1: DATA after the end of the stream";
        self.fail_stream(id, ErrorCode::STREAM_CLOSED, rule)
    }

    /// Counts a DATA frame against its stream's credit and announced length.
    fn account(&mut self, header: FrameHeader, body: &Body) -> Result<(), Over> {
        let Some(stream) = self.streams.find_mut(body.stream) else { return Ok(()) };
        let broken = match (&mut stream.incoming, stream.receive.receive(header.length)) {
            (_, Err(_)) => Some((
                ErrorCode::FLOW_CONTROL_ERROR,
                "RFC 9113 §6.9: more DATA than the stream's credit",
            )),
            (Incoming::Head, Ok(())) => {
                Some((ErrorCode::PROTOCOL_ERROR, "RFC 9113 §8.1: DATA before the head"))
            }
            (Incoming::Body(length), Ok(())) => match length.checked_sub(body.left) {
                Some(left) => {
                    *length = left;
                    None
                }
                None => Some((
                    ErrorCode::PROTOCOL_ERROR,
                    "RFC 9113 §8.1.1: more DATA than Content-Length says",
                )),
            },
        };
        if let Some((code, rule)) = broken {
            self.credit_connection(header.length);
            return self.fail_stream(body.stream, code, rule);
        }
        stream.unconsumed += body.left;
        if header.length > body.left {
            self.credit_connection(header.length - body.left);
            self.credit_stream(body.stream, header.length - body.left);
        }
        if body.left == 0 && body.fin == Fin::More { self.chatter() } else { Ok(()) }
    }

    /// Hands bytes on.
    pub(super) fn read_data<'i>(
        &mut self,
        mut body: Body,
        input: &mut &'i [u8],
    ) -> Result<Progress<'i>, Over> {
        let take = input.len().min(body.left as usize);
        if take == 0 && body.left > 0 {
            self.reading = Reading::Data(body);
            return Ok(Progress::Starved);
        }
        let (data, rest) = input.split_at(take);
        *input = rest;
        body.left -= take as u32;
        let (id, fin) = (body.stream, if body.left == 0 { body.fin } else { Fin::More });
        if body.left > 0 {
            self.reading = Reading::Data(body);
        } else if body.padding > 0 {
            self.reading = Reading::Skip(body.padding);
        }
        let live = self.streams.find(id).is_some_and(|stream| stream.state.takes_data());
        if !live || (data.is_empty() && fin == Fin::More) {
            return Ok(Progress::Made);
        }
        if fin == Fin::Last && self.end_receiving(id)? == Ended::Malformed {
            return Ok(Progress::Made);
        }
        Ok(Progress::Event(Event::Data { stream: StreamId(u64::from(id)), data, fin }))
    }

    /// The peer's side of the stream ends.
    pub(super) fn end_receiving(&mut self, id: u32) -> Result<Ended, Over> {
        let short = self.streams.find(id).is_some_and(
            |stream| matches!(stream.incoming, Incoming::Body(BodyLength::Left(left)) if left > 0),
        );
        if short {
            let rule = "RFC 9113 §8.1.1: less DATA than Content-Length says";
            self.fail_stream(id, ErrorCode::PROTOCOL_ERROR, rule)?;
            return Ok(Ended::Malformed);
        }
        self.step(id, Step::ReceiveEnd);
        Ok(Ended::Well)
    }

    /// Gives bytes back to a stream's window.
    pub(super) fn credit_stream(&mut self, id: u32, bytes: u32) {
        let Some(stream) = self.streams.find_mut(id) else { return };
        // A stream that the peer has ended needs no credit.
        if stream.state.takes_data()
            && let Some(increment) = stream.receive.consume(bytes)
        {
            self.queue(Frame::WindowUpdate { stream: id, increment });
        }
    }
}

/// Whether a message that ended kept its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Well,
    /// The stream was reset, and the application hears of it.
    Malformed,
}
