//! Bytes in: the preface, frame headers, whole payloads, and DATA, whose bytes are handed on as they
//! come, borrowed from the input. What a frame means is the framing's business.

use super::{Over, Session};
use crate::multiplex::{
    BadData, Framing, Misplaced, Next, Payload, Reader, Role, Step, Timed, Timer,
};
use crate::{Event, Fin, StreamId};

/// The input's reader and where it stands.
#[derive(Debug)]
pub(super) struct Input<F: Framing> {
    reader: Reader<F::RawHeader>,
    reading: Reading<F::Header>,
}

/// Where in the input the reader stands.
#[derive(Debug)]
enum Reading<H> {
    /// In the client's preface, after so many bytes.
    Preface(usize),
    /// Before or in a frame header.
    Header,
    /// In a payload, or the part of one, that is taken whole.
    Payload(H, u32),
    /// In the bytes of a DATA frame.
    Data(Body),
    /// In bytes that are ignored, so many left.
    Skip(u32),
}

/// The header of a DATA frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataFrame {
    pub(crate) stream: u32,
    /// Bytes that count as credit.
    pub(crate) length: u32,
    /// Of them, what the application does not see: padding and its length (RFC 9113 §6.1).
    pub(crate) overhead: u32,
    pub(crate) fin: Fin,
}

/// A DATA frame whose bytes are being received.
#[derive(Debug)]
struct Body {
    stream: u32,
    left: u32,
    padding: u32,
    fin: Fin,
}

/// What a step of reading came to.
pub(super) enum Progress<'i> {
    /// Something was read.
    Made,
    /// The application has to hear of this.
    Event(Event<'i>),
    /// More bytes are needed.
    Starved,
}

/// Whether a message that ended kept its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Well,
    /// The stream was reset, and the application gets an event.
    Malformed,
}

impl<F: Framing> Input<F> {
    pub(super) fn new(role: Role) -> Self {
        let reading = match (role, F::preface()) {
            (Role::Server, Some(_)) => Reading::Preface(0),
            _ => Reading::Header,
        };
        Self { reader: Reader::default(), reading }
    }

    /// Whether the input ends within a frame.
    pub(super) fn is_amid_frame(&self) -> bool {
        self.reader.is_amid_header()
            || !matches!(self.reading, Reading::Header | Reading::Preface(0))
    }
}

impl<F: Framing> Session<F> {
    /// Reads on by one step.
    #[inline]
    pub(super) fn read<'i>(&mut self, input: &mut &'i [u8]) -> Result<Progress<'i>, Over> {
        match std::mem::replace(&mut self.input.reading, Reading::Header) {
            Reading::Preface(matched) => self.read_preface(matched, input),
            Reading::Header => match self.input.reader.header(input) {
                None => Ok(Progress::Starved),
                Some(raw) => {
                    let header = F::parse_header(&raw);
                    match F::on_header(self, header)? {
                        Next::Payload(length) => self.read_payload(header, length, input),
                        next => self.go_on(header, next, input),
                    }
                }
            },
            Reading::Payload(header, length) => self.read_payload(header, length, input),
            Reading::Data(body) => self.read_data(body, input),
            Reading::Skip(left) => Ok(self.skip(left, input)),
        }
    }

    /// Reads on after a frame header or a payload.
    fn go_on<'i>(
        &mut self,
        header: F::Header,
        next: Next,
        input: &mut &'i [u8],
    ) -> Result<Progress<'i>, Over> {
        match next {
            Next::Data(frame) => {
                let body = self.open_data(frame)?;
                self.read_data(body, input)
            }
            Next::Skip(length) => Ok(self.skip(length, input)),
            Next::Payload(length) => {
                self.input.reading = Reading::Payload(header, length);
                Ok(Progress::Made)
            }
            Next::Frame => Ok(Progress::Made),
        }
    }

    fn skip<'i>(&mut self, left: u32, input: &mut &'i [u8]) -> Progress<'i> {
        let take = input.len().min(left as usize);
        *input = &input[take..];
        let left = left - take as u32;
        if left == 0 {
            return Progress::Made;
        }
        self.input.reading = Reading::Skip(left);
        Progress::Starved
    }

    fn read_preface<'i>(
        &mut self,
        matched: usize,
        input: &mut &'i [u8],
    ) -> Result<Progress<'i>, Over> {
        let Some((preface, rule)) = F::preface() else { return Ok(Progress::Made) };
        let take = input.len().min(preface.len() - matched);
        let (head, rest) = input.split_at(take);
        if head != &preface[matched..matched + take] {
            return Err(self.fail(rule));
        }
        *input = rest;
        if matched + take == preface.len() {
            return Ok(Progress::Made);
        }
        self.input.reading = Reading::Preface(matched + take);
        Ok(Progress::Starved)
    }

    fn read_payload<'i>(
        &mut self,
        header: F::Header,
        length: u32,
        input: &mut &'i [u8],
    ) -> Result<Progress<'i>, Over> {
        let timed = F::TIMED == Timed::Payloads;
        let payload = self.input.reader.payload(length as usize, input);
        if timed && payload.is_some() {
            self.timers.cancel(Timer::HeaderBlock);
        }
        let next = match payload {
            None => {
                self.input.reading = Reading::Payload(header, length);
                if timed && !self.timers.is_set(Timer::HeaderBlock) {
                    self.expect_header_block();
                }
                return Ok(Progress::Starved);
            }
            Some(Payload::Borrowed(payload)) => F::on_payload(self, header, payload)?,
            Some(Payload::Gathered(payload)) => {
                let next = F::on_payload(self, header, &payload);
                self.input.reader.recycle(payload);
                next?
            }
        };
        match next {
            Next::Frame => Ok(Progress::Made),
            next => self.go_on(header, next, input),
        }
    }

    /// The rest of a header block has to come in time.
    pub(crate) fn expect_header_block(&mut self) {
        let at = self.now() + self.settings.head_timeout;
        self.timers.set(Timer::HeaderBlock, at);
    }

    /// Counts a DATA frame. One that must not be delivered names a stream that is not in the table.
    #[inline]
    fn open_data(&mut self, frame: DataFrame) -> Result<Body, Over> {
        if self.windows.receive(frame.length).is_err() {
            return Err(self.fail(F::RULES.connection_credit));
        }
        match self.streams.find_mut(frame.stream) {
            Some(stream) if stream.state().takes_data() => {
                let received = stream.receive_data(frame.length, frame.length - frame.overhead);
                self.account(frame, received)?;
            }
            _ => match F::misplaced_data(self.status(frame.stream)) {
                Misplaced::Connection(rule) => return Err(self.fail(rule)),
                Misplaced::Stream(rule) => {
                    self.credit_connection(frame.length);
                    self.fail_stream(frame.stream, rule)?;
                }
                Misplaced::Late => {
                    self.discarded += u64::from(frame.length - frame.overhead);
                    self.credit_connection(frame.length);
                    self.count_chatter()?;
                }
            },
        }
        Ok(Body {
            stream: frame.stream,
            left: frame.length - frame.overhead,
            padding: frame.overhead.saturating_sub(1),
            fin: frame.fin,
        })
    }

    /// What follows from a DATA frame that its stream has counted. Padding is given back at once (RFC
    /// 9113 §6.9.1).
    #[inline]
    fn account(&mut self, frame: DataFrame, received: Result<(), BadData>) -> Result<(), Over> {
        let DataFrame { stream: id, length, overhead, fin } = frame;
        if let Err(bad) = received {
            self.credit_connection(length);
            return self.fail_stream(
                id,
                match bad {
                    BadData::Credit => F::RULES.stream_credit,
                    BadData::BeforeHead => F::RULES.data_before_head,
                    BadData::TooLong => F::RULES.long_body,
                },
            );
        }
        if overhead > 0 {
            self.credit_connection(overhead);
            self.credit_stream(id, overhead);
        }
        if length == overhead && fin == Fin::More { self.count_chatter() } else { Ok(()) }
    }

    /// Hands bytes on.
    fn read_data<'i>(
        &mut self,
        mut body: Body,
        input: &mut &'i [u8],
    ) -> Result<Progress<'i>, Over> {
        let take = input.len().min(body.left as usize);
        if take == 0 && body.left > 0 {
            self.input.reading = Reading::Data(body);
            return Ok(Progress::Starved);
        }
        let (data, rest) = input.split_at(take);
        *input = rest;
        body.left -= take as u32;
        let (id, fin) = (body.stream, if body.left == 0 { body.fin } else { Fin::More });
        if body.left > 0 {
            self.input.reading = Reading::Data(body);
        } else if body.padding > 0 {
            self.input.reading = Reading::Skip(body.padding);
        }
        let stream = self.streams.find(id).filter(|stream| stream.state().takes_data());
        let Some(stream) = stream else { return Ok(Progress::Made) };
        let fin = match fin {
            Fin::More => Fin::More,
            Fin::Last if stream.is_short() => {
                self.fail_stream(id, F::RULES.short_body)?;
                return Ok(Progress::Made);
            }
            Fin::Last => self.end_with_data(id),
        };
        if data.is_empty() && fin == Fin::More {
            return Ok(Progress::Made);
        }
        Ok(Progress::Event(Event::Data { stream: StreamId(u64::from(id)), data, fin }))
    }

    /// The last DATA frame ends the stream. Trailers that came before it follow it: then the data is
    /// not the last.
    fn end_with_data(&mut self, id: u32) -> Fin {
        let trailers = self.framing.take_trailers(id);
        self.step(id, Step::ReceiveEnd);
        let Some(fields) = trailers else { return Fin::Last };
        let stream = StreamId(u64::from(id));
        self.events.push_before_closed(Event::Trailers { stream, fields });
        Fin::More
    }
}
