//! The layer between a protocol machine and its socket: none, or TLS, behind one interface.

use crate::error::TlsError;
use crate::tls::{Negotiated, RECORD, Tls};
use endpoint::SendBuf;

/// A clear or a secured byte stream.
#[derive(Debug)]
pub enum Layer {
    /// Bytes pass as they are.
    Clear,
    /// Bytes pass through TLS.
    Tls(Box<Secured>),
}

/// TLS and the plaintext that the machine above gave but no record has taken yet.
#[derive(Debug)]
pub struct Secured {
    tls: Tls,
    plain: SendBuf,
    /// Bytes of plaintext given to records so far.
    sent: usize,
}

/// Plaintext of a record when so much of it has been sent before, header and tag on top.
///
/// While the congestion window grows, a full record would span two flights, and nothing of it can be read before
/// the second one (I. Grigorik, "High Performance Browser Networking", ch. 4); with ten segments at first, three
/// round trips carry about 64 KiB, and in these a record fits one segment of 1448 bytes. A record of 16 KiB still
/// takes 82 ms at 1.6 Mbit/s, which finished answers in it, and a client that gives windows back as it reads, wait
/// for: up to 1 MiB, as Apache's H2TLSWarmUpSize has it, a record fits three segments. That costs 0.4 % more bytes
/// than full ones; Apache's own 1300 bytes for all of it would cost 1.6 %.
const fn record_after(sent: usize) -> usize {
    match sent {
        0..0x1_0000 => 1_400,
        0x1_0000..0x10_0000 => 4_300,
        _ => RECORD,
    }
}

impl Layer {
    /// A secured stream.
    pub fn secured(tls: Tls) -> Self {
        Self::Tls(Box::new(Secured { tls, plain: SendBuf::new(), sent: 0 }))
    }

    /// Takes bytes off the front of `input` and gives the next piece of plaintext, which is gone with
    /// the next call. Call until None: then `input` is empty.
    pub fn handle_bytes<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<&'a [u8]>, TlsError> {
        match self {
            Self::Clear => {
                let plain = std::mem::take(input);
                Ok((!plain.is_empty()).then_some(plain))
            }
            Self::Tls(secured) => secured.tls.handle_bytes(input),
        }
    }

    /// The peer's bytes are over: see [`Tls::handle_eof`].
    pub fn handle_eof(&mut self) -> Result<(), TlsError> {
        match self {
            Self::Clear => Ok(()),
            Self::Tls(secured) => secured.tls.handle_eof(),
        }
    }

    /// Appends about `limit` bytes at most to `out`. `pull` is the machine above: it appends about as
    /// many bytes as it is asked for, and is asked for one record at a time, so that it decides late.
    /// Records begin small and grow.
    pub fn poll_transmit(
        &mut self,
        out: &mut SendBuf,
        limit: usize,
        mut pull: impl FnMut(&mut SendBuf, usize),
    ) {
        let Self::Tls(secured) = self else { return pull(out, limit) };
        let Secured { tls, plain, sent } = &mut **secured;
        let end = out.len() + limit;
        tls.send(&mut SendBuf::new(), out);
        while tls.may_send() && out.len() < end {
            if plain.is_empty() {
                pull(plain, (end - out.len()).min(record_after(*sent)));
            }
            if plain.is_empty() {
                break;
            }
            let before = plain.len();
            tls.send(plain, out);
            if plain.len() == before {
                // A failed connection takes nothing more.
                break;
            }
            *sent += before - plain.len();
        }
    }

    /// Whether this layer itself holds bytes to send.
    pub fn wants_transmit(&self) -> bool {
        match self {
            Self::Clear => false,
            Self::Tls(secured) => {
                secured.tls.wants_send() || !secured.plain.is_empty() && secured.tls.may_send()
            }
        }
    }

    /// Whether the machine above may speak: there is no handshake, it is over, or early data may go.
    #[inline]
    pub fn may_send(&self) -> bool {
        match self {
            Self::Clear => true,
            Self::Tls(secured) => secured.tls.may_send(),
        }
    }

    /// Whether there is TLS.
    pub fn is_secured(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// Whether TLS's handshake is not over.
    pub fn is_handshaking(&self) -> bool {
        match self {
            Self::Clear => false,
            Self::Tls(secured) => secured.tls.is_handshaking(),
        }
    }

    /// Whether the peer has said, within the layer, that nothing more will come.
    pub fn peer_closed(&self) -> bool {
        match self {
            Self::Clear => false,
            Self::Tls(secured) => secured.tls.peer_closed(),
        }
    }

    /// Tells the peer, where the layer can, that nothing more will be sent. Follow with `poll_transmit`.
    pub fn close_notify(&mut self) {
        if let Self::Tls(secured) = self {
            secured.tls.close_notify();
        }
    }

    /// What TLS agreed on; None on a clear stream and during the handshake.
    pub fn negotiated(&self) -> Option<Negotiated<'_>> {
        match self {
            Self::Clear => None,
            Self::Tls(secured) => secured.tls.negotiated(),
        }
    }
}
