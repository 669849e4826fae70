//! One TLS connection, either role. The one rule: it never holds more plaintext than one record's
//! worth in either direction, so that the scheduler above decides late.

use crate::client_tls::ClientTls;
use crate::early::Early;
use crate::error::TlsError;
use crate::server_name::{FirstRecord, Given};
use crate::server_tls::ServerTls;
use endpoint::SendBuf;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, HandshakeKind, ServerConnection};
use std::io::{BufRead, IoSlice, Write};
use trace::{EarlyData, TlsRecord, TlsVersion};

/// A TLS connection without a socket.
#[derive(Debug)]
pub struct Tls {
    connection: Connection,
    server: String,
    /// Bytes of the plaintext handed out last, which the next call takes away.
    lent: usize,
    early: Early,
    /// Whether that plaintext was early data.
    lent_early: bool,
    failure: Option<TlsError>,
    peer_closed: bool,
    /// Whether close_notify was sent.
    has_closed: bool,
    /// A server's look at the name that the client asks for; None once that is done.
    first: Option<FirstRecord>,
}

/// What a handshake agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Negotiated<'a> {
    version: rustls::ProtocolVersion,
    /// Cipher suite, by rustls's name (`TLS13_…` for 1.3).
    suite: &'static str,
    /// Application protocol; None where none was agreed on.
    pub alpn: Option<&'a [u8]>,
    /// Whether an earlier session was resumed.
    pub resumed: bool,
    /// What became of data sent within the handshake.
    pub early_data: EarlyData,
}

impl Tls {
    /// The client's side, towards `server_name` (a host name or an IP address without a port).
    pub fn client(settings: &ClientTls, server_name: &str) -> Result<Self, TlsError> {
        let bare = server_name.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| TlsError::BadName(server_name.to_owned()))?;
        let connection = ClientConnection::new(settings.config.clone(), name)
            .map_err(|error| TlsError::from_rustls(error, bare))?;
        Ok(Self::new(connection.into(), bare))
    }

    /// The server's side.
    pub fn server(settings: &ServerTls) -> Result<Self, TlsError> {
        let connection = ServerConnection::new(settings.config.clone())
            .map_err(|error| TlsError::from_rustls(error, CLIENT))?;
        let first = Some(FirstRecord::default());
        Ok(Self { first, ..Self::new(connection.into(), CLIENT) })
    }

    fn new(mut connection: Connection, server: &str) -> Self {
        // `send` bounds what is queued; rustls's own bound would cut records short.
        connection.set_buffer_limit(None);
        Self {
            early: Early::new(&mut connection),
            connection,
            server: server.to_owned(),
            lent: 0,
            lent_early: false,
            failure: None,
            peer_closed: false,
            has_closed: false,
            first: None,
        }
    }

    /// Takes bytes off the front of `cipher` and gives the next piece of plaintext, which is gone
    /// with the next call. Call until None: then `cipher` is empty. An error is final; alerts that
    /// tell the peer of it wait in `send`.
    pub fn handle_bytes(&mut self, cipher: &mut &[u8]) -> Result<Option<&[u8]>, TlsError> {
        if self.lent > 0 {
            self.connection.reader().consume(self.lent);
            self.lent = 0;
        }
        if self.lent_early {
            self.early.forget_received();
            self.lent_early = false;
        }
        loop {
            if !self.early.received().is_empty() {
                self.lent_early = true;
                return Ok(Some(self.early.received()));
            }
            self.lent = self.waiting();
            if self.lent > 0 {
                return Ok(self.connection.reader().into_first_chunk().ok());
            }
            if let Some(failure) = &self.failure {
                return Err(failure.clone());
            }
            if cipher.is_empty() || self.peer_closed || self.ignores_input() {
                // Bytes after close_notify mean nothing (RFC 8446 §6.1).
                *cipher = &[];
                return Ok(None);
            }
            self.take(cipher);
        }
    }

    /// Whether a server has sent its last byte: what its client still sends is answered by nobody. rustls 0.23 would send an
    /// alert after close_notify where it cannot be decrypted, which a debug assertion of its own takes for a fault.
    fn ignores_input(&self) -> bool {
        self.has_closed && matches!(self.connection, Connection::Server(_))
    }

    /// Decrypts some more. An error is kept until the plaintext before it is handed out.
    fn take(&mut self, cipher: &mut &[u8]) {
        let Some(first) = &mut self.first else { return self.process(cipher) };
        let given = first.take(cipher);
        if matches!(given, Given::Nothing) {
            return;
        }
        self.first = None;
        match given {
            Given::Nothing => {}
            Given::AsItCame(begun) => self.process_all(&begun),
            Given::Renamed(record) => record.with_transcript(|record| self.process_all(record)),
        }
    }

    fn process_all(&mut self, mut cipher: &[u8]) {
        while !cipher.is_empty() && self.failure.is_none() {
            self.process(&mut cipher);
        }
    }

    fn process(&mut self, cipher: &mut &[u8]) {
        if let Err(error) = self.connection.read_tls(cipher) {
            self.failure = Some(TlsError::PeerViolation { what: error.to_string() });
            return;
        }
        match self.connection.process_new_packets() {
            Ok(state) => self.peer_closed |= state.peer_has_closed(),
            Err(error) => self.failure = Some(TlsError::from_rustls(error, &self.server)),
        }
        self.early.handle_progress(&mut self.connection);
    }

    fn waiting(&mut self) -> usize {
        // The reader's error means "nothing yet" or "nothing more": both are no bytes.
        self.connection.reader().fill_buf().map_or(0, <[u8]>::len)
    }

    /// The peer's bytes are over. An error where they ended before their time: within the handshake,
    /// or without close_notify. Whether the latter matters depends on what was being said: a message
    /// with a length is whole without it.
    pub fn handle_eof(&mut self) -> Result<(), TlsError> {
        match (self.peer_closed, self.connection.is_handshaking()) {
            (true, _) => Ok(()),
            (false, true) => Err(TlsError::ClosedInHandshake),
            (false, false) => Err(TlsError::Truncated),
        }
    }

    /// Appends to `out` the records that TLS itself owes (handshake, alerts, tickets), then at most
    /// one record of application data from the front of `plain`. During the handshake `plain` waits, but for early data.
    pub fn send(&mut self, plain: &mut SendBuf, out: &mut SendBuf) {
        self.flush(out);
        if let Some(mut rejected) = self.early.take_rejected() {
            while !rejected.is_empty() && self.write(&mut rejected, out) > 0 {}
        }
        if plain.is_empty() || !self.may_send() {
            return;
        }
        match &self.connection {
            Connection::Client(client) if client.is_handshaking() => {
                self.early.send(plain, &mut self.connection);
                self.flush(out);
            }
            _ => {
                self.write(plain, out);
            }
        }
    }

    /// Writes a record of application data; returns how many bytes it took.
    fn write(&mut self, plain: &mut SendBuf, out: &mut SendBuf) -> usize {
        let taken = {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let filled = one_record(plain, &mut slices);
            // handle_bytes has returned this error already.
            self.connection.writer().write_vectored(&slices[..filled]).unwrap_or(0)
        };
        plain.advance(taken);
        self.flush(out);
        taken
    }

    fn flush(&mut self, out: &mut SendBuf) {
        let connection = &mut self.connection;
        while connection.wants_write() {
            // Writing to a vector cannot fail.
            out.put_with(|arena| drop(connection.write_tls(arena)));
        }
    }

    /// Whether TLS itself owes bytes.
    pub fn wants_send(&self) -> bool {
        self.connection.wants_write() || self.early.was_rejected()
    }

    /// Tells the peer that nothing more will be sent (RFC 8446 §6.1); `send` carries it.
    pub fn close_notify(&mut self) {
        self.has_closed = true;
        self.connection.send_close_notify();
    }

    /// Whether the peer has said that nothing more will come.
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Whether the handshake is not over.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether application data may be sent: the handshake is over, or the data may go early.
    pub fn may_send(&self) -> bool {
        !self.connection.is_handshaking() || self.early.may_send()
    }

    /// What was agreed on, once the handshake is over. A server that takes early data knows it before.
    pub fn negotiated(&self) -> Option<Negotiated<'_>> {
        if self.connection.is_handshaking() && !self.early.is_taking() {
            return None;
        }
        Some(Negotiated {
            version: self.connection.protocol_version()?,
            suite: self.connection.negotiated_cipher_suite()?.suite().as_str().unwrap_or("unknown"),
            alpn: self.connection.alpn_protocol(),
            resumed: self.connection.handshake_kind() == Some(HandshakeKind::Resumed),
            early_data: self.early.outcome(),
        })
    }
}

impl<'a> Negotiated<'a> {
    /// QUIC has TLS 1.3 alone (RFC 9001 §4.2).
    pub(crate) fn over_quic(
        suite: &'static str,
        alpn: Option<&'a [u8]>,
        resumed: bool,
        early_data: EarlyData,
    ) -> Self {
        Self { version: rustls::ProtocolVersion::TLSv1_3, suite, alpn, resumed, early_data }
    }
}

impl Negotiated<'_> {
    /// TLS 1.3 or 1.2.
    pub fn version(&self) -> TlsVersion {
        match self.version {
            rustls::ProtocolVersion::TLSv1_3 => TlsVersion::V1_3,
            _ => TlsVersion::V1_2,
        }
    }

    /// The cipher suite's IANA name.
    pub fn cipher(&self) -> String {
        // rustls names 1.3 suites TLS13_…, IANA names them TLS_….
        match self.suite.strip_prefix("TLS13_") {
            Some(rest) => format!("TLS_{rest}"),
            None => self.suite.to_owned(),
        }
    }

    /// As a row.
    pub fn record(&self) -> TlsRecord {
        TlsRecord {
            version: self.version(),
            cipher: self.cipher(),
            alpn: String::from_utf8_lossy(self.alpn.unwrap_or_default()).into_owned(),
            resumed: self.resumed,
            early_data: self.early_data,
        }
    }
}

/// Plaintext bytes of the largest record (RFC 8446 §5.1).
pub(crate) const RECORD: usize = 16 * 1024;

/// Pieces that are gathered into one record.
const SLICES: usize = 32;

/// What a server calls its peer in errors.
const CLIENT: &str = "the client";

/// Points `slices` at the first record's worth of `plain`; returns how many it took.
fn one_record<'a>(plain: &'a SendBuf, slices: &mut [IoSlice<'a>]) -> usize {
    let mut left = RECORD;
    let mut filled = 0;
    for (slot, chunk) in slices.iter_mut().zip(plain.chunks()) {
        let part = &chunk[..chunk.len().min(left)];
        *slot = IoSlice::new(part);
        left -= part.len();
        filled += 1;
        if left == 0 {
            break;
        }
    }
    filled
}
