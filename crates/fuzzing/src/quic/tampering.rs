//! A client's cryptography that changes what quinn-proto is about to send: handshake messages before they go, and packets
//! before they are sealed. So a client made of a library that keeps to RFC 9000 can break any of its rules.

use bytes::BytesMut;
use quinn_proto::crypto::{
    self, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use secure::QuicClientTls;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Another message in place of one.
pub type Edit = fn(&[u8]) -> Vec<u8>;

/// What is changed; each part once.
#[derive(Default)]
pub struct Plan {
    /// The ClientHello, a whole handshake message.
    pub hello: Option<Edit>,
    /// Handshake messages before the client's Finished.
    pub before_finished: &'static [u8],
    /// The same, after it.
    pub after_finished: &'static [u8],
    /// Frames in place of a packet's own, padded to its length. The first packet of this level that is large enough.
    pub frames: Option<(Level, Vec<u8>)>,
    /// Bits that are set in the first byte of the next packet of this level.
    pub first_byte: Option<(Level, u8)>,
    /// The next 1-RTT packet has no payload at all; its datagram is then cut to `cut` bytes.
    pub empty: bool,
    /// How long the datagram of that packet is.
    pub cut: Option<usize>,
    /// Packets that were changed.
    pub changed: u32,
}

/// How a packet is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// As early data (0-RTT).
    Early,
    /// By the keys of the handshake.
    Handshake,
    /// By the connection's own keys.
    OneRtt,
}

/// A plan that the client and its keys share.
#[derive(Clone, Default)]
pub struct SharedPlan(Arc<Mutex<Plan>>);

impl SharedPlan {
    /// The plan, while nobody else has it.
    pub fn lock(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client's settings under a plan.
pub struct TamperingTls {
    /// The settings.
    pub tls: Arc<QuicClientTls>,
    /// What is changed.
    pub plan: SharedPlan,
}

impl crypto::ClientConfig for TamperingTls {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        let inner = Arc::clone(&self.tls).start_session(version, server_name, parameters)?;
        Ok(Box::new(Session { inner, plan: self.plan.clone(), level: None }))
    }
}

struct Session {
    inner: Box<dyn crypto::Session>,
    plan: SharedPlan,
    /// That of the last keys; None before there are any.
    level: Option<Level>,
}

impl Session {
    fn wrapped(&self, level: Level, key: Box<dyn PacketKey>) -> Box<dyn PacketKey> {
        Box::new(Key { inner: key, level, plan: self.plan.clone() })
    }
}

impl crypto::Session for Session {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(id, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let (header, packet) = self.inner.early_crypto()?;
        Some((header, self.wrapped(Level::Early, packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(bytes)
    }

    /// The client believes that the server takes datagrams: what it sends in packets that are to be changed (RFC 9221).
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(parameters) = self.inner.transport_parameters()? else { return Ok(None) };
        let mut bytes = Vec::new();
        parameters.write(&mut bytes);
        bytes.extend_from_slice(TAKES_DATAGRAMS);
        // It cannot be there twice.
        let changed = TransportParameters::read(Side::Client, &mut bytes.as_slice());
        Ok(Some(changed.unwrap_or(parameters)))
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.inner.write_handshake(out);
        let mut plan = self.plan.lock();
        if self.level.is_none()
            && !out.is_empty()
            && let Some(edit) = plan.hello.take()
        {
            *out = edit(out);
            plan.changed += 1;
        }
        let mut keys = keys?;
        let level = match self.level {
            None => Level::Handshake,
            Some(_) => Level::OneRtt,
        };
        self.level = Some(level);
        if level == Level::OneRtt {
            plan.changed += u32::from(plan.before_finished.len() + plan.after_finished.len() > 0);
            out.splice(0..0, plan.before_finished.iter().copied());
            out.extend_from_slice(plan.after_finished);
        }
        drop(plan);
        keys.packet.local = self.wrapped(level, keys.packet.local);
        Some(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        // quinn-proto updates its keys after 10 to 1,000 packets for the first time.
        let keys = self.inner.next_1rtt_keys()?;
        Some(KeyPair { local: self.wrapped(Level::OneRtt, keys.local), remote: keys.remote })
    }

    fn is_valid_retry(&self, original: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(original, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

struct Key {
    inner: Box<dyn PacketKey>,
    level: Level,
    plan: SharedPlan,
}

impl Key {
    /// Changes a packet before it is sealed; gives the length of what is sealed, and of its header.
    fn change(&self, number: u64, packet: &mut [u8], header: usize) -> (usize, usize) {
        let mut plan = self.plan.lock();
        let payload = packet.len() - header - self.inner.tag_len();
        if let Some((_, bits)) = plan.first_byte.take_if(|(level, _)| *level == self.level) {
            packet[0] |= bits;
            plan.changed += 1;
        }
        let fits = |frames: &[u8]| frames.len() <= payload;
        let due = plan.frames.take_if(|(level, frames)| *level == self.level && fits(frames));
        if let Some((_, frames)) = due {
            packet[header..header + payload].fill(0);
            packet[header..header + frames.len()].copy_from_slice(&frames);
            plan.changed += 1;
        }
        if self.level == Level::OneRtt && payload > ENOUGH && std::mem::take(&mut plan.empty) {
            // A packet number of four bytes, so that the sample that protects the header is the tag itself.
            let short = usize::from(packet[0] & 3) + 1;
            let long = header - short + 4;
            packet[0] |= 3;
            packet[header - short..long].copy_from_slice(&(number as u32).to_be_bytes());
            plan.cut = Some(long + self.inner.tag_len());
            plan.changed += 1;
            return (long + self.inner.tag_len(), long);
        }
        (packet.len(), header)
    }
}

/// `max_datagram_frame_size` of 65,535 bytes (RFC 9221 §3): number, length, value.
const TAKES_DATAGRAMS: &[u8] = b"\x20\x04\x80\x00\xff\xff";

/// Payloads above this are those of the datagrams that the attack sends, not acknowledgements.
const ENOUGH: usize = 40;

impl PacketKey for Key {
    fn encrypt(&self, number: u64, packet: &mut [u8], header: usize) {
        let (length, header) = self.change(number, packet, header);
        self.inner.encrypt(number, &mut packet[..length], header);
    }

    fn decrypt(
        &self,
        number: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(number, header, payload)
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}
