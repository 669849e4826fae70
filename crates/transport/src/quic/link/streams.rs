//! The streams and datagrams of one QUIC connection, as its machine needs them.

use super::{Link, error_code};
use bytes::Bytes;
use quinn_proto::{Dir, StreamId, VarInt, WriteError};

/// Bytes of a stream that have arrived.
pub(in crate::quic) struct Arrived {
    /// Pieces before the last one. Usually there are none.
    pub(in crate::quic) earlier: Vec<Bytes>,
    pub(in crate::quic) last: Option<Bytes>,
    pub(in crate::quic) end: StreamEnd,
}

/// What follows the bytes of a stream.
pub(in crate::quic) enum StreamEnd {
    /// More, later.
    Open,
    /// More, which is there already.
    Unread,
    Finished,
    Reset(u64),
}

/// How far a stream took bytes.
pub(in crate::quic) enum Taken {
    All,
    /// Flow control allows no more.
    Blocked,
    /// The stream is no more.
    Never,
}

impl Link {
    /// Hands over bytes of a stream, by reference.
    pub(in crate::quic) fn write(&mut self, stream: u64, chunks: &mut Vec<Bytes>) -> Taken {
        while !chunks.is_empty() {
            match self.quic.send_stream(id(stream)).write_chunks(chunks) {
                Ok(written) => {
                    self.waiting += written.bytes as u64;
                    if written.chunks == chunks.len() {
                        chunks.clear();
                    } else {
                        chunks.drain(..written.chunks);
                    }
                }
                Err(WriteError::Blocked) => return Taken::Blocked,
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => return Taken::Never,
            }
        }
        Taken::All
    }

    /// The next datagram that has come (RFC 9221).
    pub(in crate::quic) fn receive_datagram(&mut self) -> Option<Bytes> {
        self.quic.datagrams().recv()
    }

    /// Sends a datagram. Whether it arrives is not told; one that the path or the peer no longer takes is dropped.
    pub(in crate::quic) fn send_datagram(&mut self, datagram: Bytes) {
        if self.quic.datagrams().send_buffer_space() < datagram.len() {
            // The oldest ones are dropped for it.
            self.forget_waiting();
        }
        let bytes = datagram.len() as u64;
        if self.quic.datagrams().send(datagram, true).is_ok() {
            self.waiting += bytes;
        }
    }

    /// The largest payload of a datagram that peer and path take. None where the peer takes none.
    pub(in crate::quic) fn max_datagram(&mut self) -> Option<usize> {
        self.quic.datagrams().max_size()
    }

    /// Ends the sending side of a stream. It may be gone already: then the peer has been told by other means.
    pub(in crate::quic) fn finish(&mut self, stream: u64) {
        let finished = self.quic.send_stream(id(stream)).finish();
        if let (Ok(()), Some(answered)) = (finished, &mut self.answered) {
            answered.handle_sent(stream);
        }
        // The end may need a datagram of its own.
        self.waiting += 1;
    }

    /// Abandons the sending side.
    pub(in crate::quic) fn reset(&mut self, stream: u64, code: u64) {
        let _gone = self.quic.send_stream(id(stream)).reset(error_code(code));
        self.handle_gone(stream);
        self.forget_waiting();
    }

    /// The sending side of a stream is over: the peer has acknowledged all of it, or it was abandoned.
    pub(in crate::quic) fn handle_gone(&mut self, stream: u64) {
        if let Some(answered) = &mut self.answered {
            answered.handle_gone(stream);
        }
    }

    /// Asks the peer to send no more of the stream.
    pub(in crate::quic) fn stop(&mut self, stream: u64, code: u64) {
        let _gone = self.quic.recv_stream(id(stream)).stop(error_code(code));
    }

    /// Takes what arrived of a stream. None where the stream is no more.
    pub(in crate::quic) fn read(&mut self, stream: u64) -> Option<Arrived> {
        let mut stream = self.quic.recv_stream(id(stream));
        let mut incoming = stream.read(true).ok()?;
        let (mut earlier, mut last) = (Vec::new(), None);
        let end = loop {
            if earlier.len() + 1 == CHUNKS_A_TURN {
                break StreamEnd::Unread;
            }
            match incoming.next(usize::MAX) {
                Ok(Some(chunk)) => earlier.extend(last.replace(chunk.bytes)),
                Ok(None) => break StreamEnd::Finished,
                Err(quinn_proto::ReadError::Blocked) => break StreamEnd::Open,
                Err(quinn_proto::ReadError::Reset(code)) => break StreamEnd::Reset(code.into()),
            }
        };
        let _polled_anyway = incoming.finalize();
        if last.is_some() || !matches!(end, StreamEnd::Open) {
            self.stream_moves = self.stream_moves.wrapping_add(1);
        }
        Some(Arrived { earlier, last, end })
    }

    /// The code with which the peer has reset a stream, though nothing was read of it. It is told once.
    pub(in crate::quic) fn take_reset(&mut self, stream: u64) -> Option<u64> {
        let reset = self.quic.recv_stream(id(stream)).received_reset().ok()?;
        reset.map(u64::from)
    }

    /// The next stream that the peer opened.
    pub(in crate::quic) fn accept(&mut self, dir: Dir) -> Option<u64> {
        self.quic.streams().accept(dir).map(u64::from)
    }

    /// Opens a stream. The peer sees it by its first bytes.
    pub(in crate::quic) fn open(&mut self, dir: Dir) -> Option<u64> {
        self.quic.streams().open(dir).map(u64::from)
    }

    /// The streams that this side has opened or may answer on and whose bytes are not all acknowledged.
    pub(in crate::quic) fn send_streams(&mut self) -> u64 {
        self.quic.streams().send_streams() as u64
    }
}

fn id(stream: u64) -> StreamId {
    // Identifiers come from quinn-proto.
    StreamId::from(VarInt::from_u64(stream).unwrap_or(VarInt::MAX))
}

/// Chunks of a stream that are read before its reader is asked again whether it wants more.
const CHUNKS_A_TURN: usize = 64;
