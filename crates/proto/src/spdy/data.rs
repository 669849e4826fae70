//! DATA in. A frame's bytes are accounted when its header arrives and handed on as they come, borrowed
//! from the input.

use super::connection::{Core, Over, Place, Progress, Reading};
use crate::connection::{Event, Fin, StreamId};
use crate::multiplex::state::Step;
use crate::multiplex::streams::{BodyLength, Gone, Incoming};
use wire::spdy::{Frame, ResetCode};

/// A DATA frame whose bytes are being received.
#[derive(Debug)]
pub(super) struct Body {
    stream: u32,
    left: u32,
    fin: Fin,
}

/// FLAG_FIN in our words.
pub(super) fn fin(flag: bool) -> Fin {
    if flag { Fin::Last } else { Fin::More }
}

impl Core {
    /// Accounts a DATA frame. What must not be delivered names a stream that is not in the table.
    pub(super) fn open_data(&mut self, id: u32, length: u32, last: bool) -> Result<Body, Over> {
        if self.session.receive(length).is_err() {
            return Err(self.fail("SPDY/3.1 §2.6.8: more DATA than the session's credit"));
        }
        let body = Body { stream: id, left: length, fin: fin(last) };
        match self.place(id) {
            Place::Gone(Some(Gone::ResetByUs)) => {
                self.credit_session(length);
                self.chatter()?;
            }
            Place::Idle | Place::Gone(_) => {
                self.credit_session(length);
                let rule = "SPDY §2.2.2: DATA for a stream that is not open";
                self.fail_stream(id, ResetCode::INVALID_STREAM, rule)?;
            }
            Place::Live(state) if !state.takes_data() => {
                self.credit_session(length);
                let rule = "SPDY §2.3.6: DATA after the end of the stream";
                self.fail_stream(id, ResetCode::STREAM_ALREADY_CLOSED, rule)?;
            }
            Place::Live(_) => self.account(&body)?,
        }
        Ok(body)
    }

    /// Counts a DATA frame against its stream's credit and announced length.
    fn account(&mut self, body: &Body) -> Result<(), Over> {
        let Some(stream) = self.streams.find_mut(body.stream) else { return Ok(()) };
        let broken = match (&mut stream.incoming, stream.receive.receive(body.left)) {
            (_, Err(_)) => Some((
                ResetCode::FLOW_CONTROL_ERROR,
                "SPDY §2.6.8: more DATA than the stream's credit",
            )),
            (Incoming::Head, Ok(())) => {
                Some((ResetCode::PROTOCOL_ERROR, "SPDY §2.2.2: DATA before the head"))
            }
            (Incoming::Body(length), Ok(())) => match length.checked_sub(body.left) {
                Some(left) => {
                    *length = left;
                    None
                }
                None => Some((
                    ResetCode::PROTOCOL_ERROR,
                    "SPDY §3.2: more DATA than Content-Length says",
                )),
            },
        };
        if let Some((code, rule)) = broken {
            self.credit_session(body.left);
            return self.fail_stream(body.stream, code, rule);
        }
        stream.unconsumed += body.left;
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
        let (id, mut fin) = (body.stream, if body.left == 0 { body.fin } else { Fin::More });
        if body.left > 0 {
            self.reading = Reading::Data(body);
        }
        let live = self.streams.find(id).is_some_and(|stream| stream.state.takes_data());
        if !live || (data.is_empty() && fin == Fin::More) {
            return Ok(Progress::Made);
        }
        let stream = StreamId(u64::from(id));
        if fin == Fin::Last {
            let trailers = self.late.remove(&id);
            if self.end_receiving(id)? == Ended::Malformed {
                return Ok(Progress::Made);
            }
            if let Some(fields) = trailers {
                self.queue_before_close(Event::Trailers { stream, fields });
                fin = Fin::More;
                if data.is_empty() {
                    return Ok(Progress::Made);
                }
            }
        }
        Ok(Progress::Event(Event::Data { stream, data, fin }))
    }

    /// The peer's side of the stream ends.
    pub(super) fn end_receiving(&mut self, id: u32) -> Result<Ended, Over> {
        let short = self.streams.find(id).is_some_and(
            |stream| matches!(stream.incoming, Incoming::Body(BodyLength::Left(left)) if left > 0),
        );
        if short {
            let rule = "SPDY §3.2: less DATA than Content-Length says";
            self.fail_stream(id, ResetCode::PROTOCOL_ERROR, rule)?;
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
