//! One connection's TLS handshake over QUIC.

use super::keys::{
    early_keys, handshake_keys, initial_keys, one_rtt_keys, retry_tag, updated_keys,
};
use super::padding::PaddingSwitch;
use super::tap::{Observed, PacketTap, PeerWindows, idle_timeout, read_parameters};
use crate::error::TlsError;
use crate::tls::Negotiated;
use quinn_proto::crypto::{self, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError, TransportErrorCode};
use rustls::quic::{Connection, KeyChange, Secrets, Suite};
use rustls::{AlertDescription, HandshakeKind};
use std::any::Any;
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trace::{EarlyData, QuicInitiator};

/// What `quinn_proto::crypto::Session::handshake_data` gives, boxed, at any time of a handshake.
#[derive(Debug, Clone)]
pub struct QuicHandshake {
    /// None while it is not known.
    suite: Option<&'static str>,
    alpn: Option<Vec<u8>>,
    resumed: bool,
    early_data: EarlyData,
    /// What the peer's transport parameters allow; None before they came.
    pub peer_windows: Option<PeerWindows>,
    /// After how long without a packet the peer ends the connection; None for never, and before its transport parameters came.
    pub peer_idle_timeout: Option<Duration>,
    /// Server: whether a Handshake packet of the client's was opened, so that its address is its own (RFC 9000 §8.1).
    pub proves_address: bool,
    /// Why the handshake failed, where it did.
    pub failure: Option<TlsError>,
    /// What shows the connection's packets in clear, where they are observed.
    pub tap: Option<PacketTap>,
    /// Server: leaves the padding off packets.
    pub padding: Option<PaddingSwitch>,
}

impl QuicHandshake {
    /// What was agreed on, once that is known.
    pub fn negotiated(&self) -> Option<Negotiated<'_>> {
        let (suite, alpn) = (self.suite?, self.alpn.as_deref());
        Some(Negotiated::over_quic(suite, alpn, self.resumed, self.early_data))
    }
}

pub(super) struct Session {
    handshake: Handshake,
    initial: Suite,
    server: String,
    /// Whether quinn-proto was notified that ALPN is known.
    is_known: bool,
    next: Option<Secrets>,
    /// Whether keys for early data were there.
    had_early_keys: AtomicBool,
    /// Whether the tap has the peer's transport parameters.
    has_told_parameters: AtomicBool,
    /// Whether a Handshake packet was opened.
    handshake_opened: Arc<AtomicBool>,
    failure: Option<TlsError>,
    tap: Option<PacketTap>,
    /// None for a client.
    padding: Option<PaddingSwitch>,
}

enum Handshake {
    /// rustls's state: about 3 kB.
    Running(Box<Connection>),
    /// Server: the handshake is over and all tickets are sent, so that TLS has nothing to say or hear any more.
    Over(Agreed),
}

/// What a handshake has agreed on so far.
#[derive(Clone)]
struct Agreed {
    /// None while it is not known.
    suite: Option<&'static str>,
    alpn: Option<Vec<u8>>,
    resumed: bool,
    early_data: EarlyData,
    peer_windows: Option<PeerWindows>,
    peer_idle_timeout: Option<Duration>,
}

impl Session {
    /// A handshake that begins. `server` is what errors call the peer.
    pub(super) fn new(
        connection: Connection,
        initial: Suite,
        server: &str,
        tap: Option<PacketTap>,
    ) -> Self {
        let padding = match &connection {
            Connection::Client(_) => None,
            Connection::Server(_) => Some(PaddingSwitch::default()),
        };
        Self {
            handshake: Handshake::Running(Box::new(connection)),
            initial,
            server: server.to_owned(),
            is_known: false,
            next: None,
            had_early_keys: AtomicBool::new(false),
            has_told_parameters: AtomicBool::new(false),
            handshake_opened: Arc::default(),
            failure: None,
            tap,
            padding,
        }
    }

    /// rustls's state, as long as it is kept.
    fn connection(&self) -> Option<&Connection> {
        match &self.handshake {
            Handshake::Running(connection) => Some(connection),
            Handshake::Over(_) => None,
        }
    }

    fn agreed(&self) -> Agreed {
        match &self.handshake {
            Handshake::Running(connection) => self.agreed_by(connection),
            Handshake::Over(agreed) => agreed.clone(),
        }
    }

    fn agreed_by(&self, connection: &Connection) -> Agreed {
        // A client with early data already knows the suite of its session; the server has agreed to nothing yet.
        let is_known = matches!(connection, Connection::Server(_)) || !connection.is_handshaking();
        let suite = connection.negotiated_cipher_suite().filter(|_| is_known);
        Agreed {
            suite: suite.map(|suite| suite.suite().as_str().unwrap_or("unknown")),
            alpn: connection.alpn_protocol().map(<[u8]>::to_vec),
            resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
            early_data: self.early_data(connection),
            peer_windows: peer_windows(connection),
            peer_idle_timeout: connection.quic_transport_parameters().and_then(idle_timeout),
        }
    }

    /// What became of early data. A server whose TLS has rejected it has no keys for it.
    fn early_data(&self, connection: &Connection) -> EarlyData {
        match connection {
            _ if !self.had_early_keys.load(Ordering::Relaxed) => EarlyData::None,
            Connection::Client(client) if !client.is_early_data_accepted() => EarlyData::Rejected,
            Connection::Client(_) | Connection::Server(_) => EarlyData::Accepted,
        }
    }

    /// Drops a server's TLS state once its last message is written.
    fn drop_when_over(&mut self) {
        if let Some(connection @ Connection::Server(_)) = self.connection()
            && !connection.is_handshaking()
        {
            self.handshake = Handshake::Over(self.agreed_by(connection));
        }
    }

    fn fail(&mut self, error: rustls::Error, alert: Option<AlertDescription>) -> TransportError {
        let code = match alert {
            Some(alert) => TransportErrorCode::crypto(alert.into()),
            None => TransportErrorCode::PROTOCOL_VIOLATION,
        };
        let reason = error.to_string();
        self.failure = Some(TlsError::from_rustls(error, &self.server));
        TransportError { code, frame: None, reason }
    }
}

fn peer_windows(connection: &Connection) -> Option<PeerWindows> {
    let peer = match connection {
        Connection::Client(_) => Side::Server,
        Connection::Server(_) => Side::Client,
    };
    connection.quic_transport_parameters().map(|bytes| PeerWindows::told_by(peer, bytes))
}

impl crypto::Session for Session {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        initial_keys(&self.initial, id, side, self.tap.as_ref())
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let Agreed { suite, alpn, resumed, early_data, peer_windows, peer_idle_timeout } =
            self.agreed();
        Some(Box::new(QuicHandshake {
            suite,
            alpn,
            resumed,
            early_data,
            peer_windows,
            peer_idle_timeout,
            proves_address: self.handshake_opened.load(Ordering::Relaxed),
            failure: self.failure.clone(),
            tap: self.tap.clone(),
            padding: self.padding.clone(),
        }))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let keys = self.connection().and_then(Connection::zero_rtt_keys);
        self.had_early_keys.store(keys.is_some(), Ordering::Relaxed);
        keys.map(|keys| early_keys(keys, self.tap.as_ref()))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        match self.connection()? {
            Connection::Client(client) => Some(client.is_early_data_accepted()),
            Connection::Server(_) => None,
        }
    }

    fn is_handshaking(&self) -> bool {
        self.connection().is_some_and(|connection| connection.is_handshaking())
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let Handshake::Running(connection) = &mut self.handshake else {
            // RFC 8446 §4.6: after the handshake a client sends no message that a server has not asked for, and over QUIC
            // no KeyUpdate (RFC 9001 §6).
            let error = rustls::Error::General("a TLS message after the handshake".to_owned());
            return Err(self.fail(error, Some(AlertDescription::UnexpectedMessage)));
        };
        if let Err(error) = connection.read_hs(bytes) {
            let alert = connection.alert();
            return Err(self.fail(error, alert));
        }
        let is_known = connection.alpn_protocol().is_some() || !connection.is_handshaking();
        let tell = is_known && !self.is_known;
        self.is_known |= is_known;
        Ok(tell)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(connection) = self.connection() else { return Ok(None) };
        let side = match connection {
            Connection::Client(_) => Side::Client,
            Connection::Server(_) => Side::Server,
        };
        let Some(bytes) = connection.quic_transport_parameters() else { return Ok(None) };
        // Until a client's handshake is over they are those that a ticket remembers of an earlier connection (RFC 9000 §7.4.1).
        let is_known = matches!(connection, Connection::Server(_)) || !connection.is_handshaking();
        if let Some(tap) = &self.tap
            && is_known
            && !self.has_told_parameters.swap(true, Ordering::Relaxed)
        {
            tap.note(Observed::Parameters(QuicInitiator::Remote, read_parameters(bytes)));
        }
        Ok(Some(TransportParameters::read(side, &mut Cursor::new(bytes))?))
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let Handshake::Running(connection) = &mut self.handshake else { return None };
        let change = connection.write_hs(out);
        if change.is_none() && out.is_empty() {
            self.drop_when_over();
        }
        let keys = match change? {
            KeyChange::Handshake { keys } => {
                let has_opened = Arc::clone(&self.handshake_opened);
                return Some(handshake_keys(keys, has_opened, self.tap.as_ref()));
            }
            KeyChange::OneRtt { keys, next } => {
                self.next = Some(next);
                keys
            }
        };
        Some(one_rtt_keys(keys, self.tap.as_ref(), self.padding.as_ref()))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let (tap, padding) = (self.tap.as_ref(), self.padding.as_ref());
        self.next.as_mut().map(|next| updated_keys(next.next_packet_keys(), tap, padding))
    }

    fn is_valid_retry(&self, original: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        let Some((rest, tag)) = payload.split_last_chunk::<16>() else { return false };
        retry_tag(original, &[header, rest].concat()) == *tag
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        let connection = self.connection().ok_or(ExportKeyingMaterialError)?;
        let exported = connection.export_keying_material(output, label, Some(context));
        exported.map(drop).map_err(|_| ExportKeyingMaterialError)
    }
}
