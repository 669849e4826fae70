//! One QUIC connection: its packets, its timers, and the way to what its machine needs of its streams. The one rule:
//! nothing here knows what the streams' bytes mean.

mod streams;

pub(in crate::quic) use streams::{Arrived, StreamEnd, Taken};

use super::ack_only::AckOnly;
use super::answered::Answered;
use super::clock::{from_std, to_std};
use super::congestion::ControllerState;
use super::facts::{QuicFacts, QuicTally};
use super::keep_alive::KeepAlive;
use super::memory::RememberedServer;
use super::moves::Moves;
use super::observer::Observer;
use super::socket::{QuicHandle, QuicInput, datagram_transmit};
use super::unproven::UnprovenAddress;
use crate::status::Traffic;
use bytes::Bytes;
use endpoint::DatagramTransmit;
use proto::h3::PeerSettings;
use quinn_proto::{Connection, ConnectionError, ConnectionHandle, Event, VarInt};
use secure::QuicHandshake;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;
use trace::Tracer;
use unit::Instant;

/// A QUIC connection.
pub struct Link {
    pub(super) handle: ConnectionHandle,
    pub(super) quic: Connection,
    /// Client: whom it connects to.
    pub(super) server: Option<RememberedServer>,
    /// Client: after how long quinn-proto sends a PING.
    pub(super) keep_alive: Option<Duration>,
    /// Server: the client's address, as long as it is not proven.
    pub(super) unproven: Option<UnprovenAddress>,
    /// Server: whether its socket counts it among those.
    pub(super) counts_as_unproven: bool,
    /// Server: where the client is, if its address has changed within the handshake. It is not proven then.
    moved_to: Option<SocketAddr>,
    moves: Moves,
    /// When it was closed, by either side.
    closed_at: Option<Instant>,
    /// Whether that is so long ago that nobody waits for late packets of the peer's any more.
    pub(super) is_forgotten: bool,
    /// A datagram that waits until the client's address is proven or has sent more.
    pub(super) kept_back: Option<(DatagramTransmit, Box<[u8]>)>,
    /// At least so many bytes of streams were handed over but are in no datagram yet.
    waiting: u64,
    /// How often something of a stream has come or gone.
    stream_moves: u32,
    /// When the pacer lets out a batch again. None where it does not keep anything back.
    resume_at: Option<Instant>,
    ack_only: AckOnly,
    /// Datagrams of the largest batch.
    largest_batch: u16,
    /// None for a client.
    answered: Option<Answered>,
    /// Where the connection is traced.
    observer: Option<Box<Observer>>,
}

impl Link {
    pub(super) fn new(handle: ConnectionHandle, quic: Connection) -> Self {
        let answered = Answered::new(&quic);
        Self {
            handle,
            quic,
            server: None,
            keep_alive: None,
            unproven: None,
            moved_to: None,
            moves: Moves::default(),
            closed_at: None,
            is_forgotten: false,
            kept_back: None,
            counts_as_unproven: false,
            waiting: 0,
            stream_moves: 0,
            resume_at: None,
            ack_only: AckOnly::default(),
            largest_batch: 0,
            answered,
            observer: None,
        }
    }

    /// Its place at its socket.
    pub fn handle(&self) -> QuicHandle {
        QuicHandle(self.handle.0)
    }

    /// The peer's address.
    pub fn remote(&self) -> SocketAddr {
        self.quic.remote_address()
    }

    /// What it sends by now.
    pub fn facts(&self) -> QuicFacts {
        let controller = self.controller();
        QuicFacts {
            congestion_control: controller.map_or("unknown", |own| own.name),
            congestion_window: controller.map_or(0, |own| own.window),
            datagram_size: self.quic.current_mtu(),
        }
    }

    /// Changes whenever bytes or the end of a stream were read, or bytes of one sent; not by other packets, which may be anybody's.
    pub fn stream_moves(&self) -> u32 {
        self.stream_moves
    }

    /// What it has done so far.
    pub fn tally(&self) -> QuicTally {
        let stats = self.quic.stats();
        QuicTally {
            largest_batch: self.largest_batch,
            datagram_size: self.quic.current_mtu(),
            mtu_probes: stats.path.sent_plpmtud_probes,
            ack_frequency_frames: stats.frame_tx.ack_frequency,
            peer_windows: self.handshake().and_then(|handshake| handshake.peer_windows),
        }
    }

    /// Tells the tracer of the packets, where the socket observes them.
    pub(super) fn trace_to(&mut self, now: Instant, tracer: &Tracer) {
        if !tracer.is_on() {
            return;
        }
        if let Some(tap) = self.handshake().and_then(|handshake| handshake.tap) {
            let observer = Observer::new(now, tap, tracer.clone(), &self.quic);
            self.observer = Some(Box::new(observer));
            self.observe(now);
        }
    }

    /// Tells of what happened in a call that is over.
    fn observe(&mut self, now: Instant) {
        if let Some(observer) = &mut self.observer {
            observer.handle_call(now, &self.quic);
        }
    }

    /// The connection is over.
    pub(super) fn handle_end(&mut self, now: Instant, reason: &ConnectionError) {
        if let Some(observer) = &mut self.observer {
            observer.handle_end(now, reason);
        }
    }

    /// The server has rejected early data.
    pub(super) fn handle_early_data_rejected(&mut self) {
        self.forget_waiting();
        if let Some(observer) = &mut self.observer {
            observer.forget_early_packets();
        }
    }

    /// A packet for this connection arrived.
    pub(super) fn handle_input(&mut self, now: Instant, input: QuicInput) {
        let QuicInput { event, remote, length, elsewhere } = input;
        let before = self.quic.remote_address();
        if remote != before && !self.moves.allow(now, remote) {
            return;
        }
        let frames = (elsewhere != self.moved_to).then(|| self.frames_received());
        if let Some(answered) = &mut self.answered {
            answered.handle_input(&mut self.quic);
        }
        self.quic.handle_event(*event);
        self.observe(now);
        self.note_closed(now);
        if self.quic.remote_address() != before {
            let padding = self.handshake().and_then(|handshake| handshake.padding);
            self.moves.handle_moved(now, before, &self.quic, padding);
        }
        if self.quic.remote_address() == remote {
            self.moves.handle_received(length);
        }
        if frames.is_some_and(|frames| frames < self.frames_received()) {
            self.follow(elsewhere);
        }
        if let Some(unproven) = &mut self.unproven {
            unproven.handle_received(length);
            let is_proven = || self.handshake().is_some_and(|handshake| handshake.proves_address);
            if self.moved_to.is_none() && (!self.is_handshaking() || is_proven()) {
                self.unproven = None;
            }
        }
    }

    /// Server: the client's address has changed. RFC 9000 §9 knows no such change before the handshake is over, and
    /// quinn-proto drops what comes from the new address until then; a NAT may forget a client all the same. So
    /// quinn-proto is told nothing of it, and what it sends goes where the client is. With the client's first packet
    /// after the handshake quinn-proto migrates, and validates the new path.
    fn follow(&mut self, to: Option<SocketAddr>) {
        self.moved_to = to;
        // Whoever copies a client's packet may have it come from any address.
        self.unproven = Some(UnprovenAddress::default());
    }

    /// Grows with each packet that was authentic and new.
    fn frames_received(&self) -> u64 {
        let frames = self.quic.stats().frame_rx;
        let control = frames.max_data + frames.new_connection_id + frames.retire_connection_id;
        frames.crypto + frames.acks + frames.ping + frames.stream + control
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.quic.handle_timeout(to_std(now));
        self.observe(now);
        self.note_closed(now);
        self.is_forgotten |= self.ends_at().is_some_and(|at| at <= now);
        self.resume_at = self.resume_at.filter(|at| now < *at);
    }

    pub(super) fn poll_timeout(&mut self) -> Option<Instant> {
        if self.is_forgotten {
            return None;
        }
        let times = [self.quic.poll_timeout().map(from_std), self.resume_at, self.ends_at()];
        times.into_iter().flatten().min()
    }

    fn note_closed(&mut self, now: Instant) {
        if self.closed_at.is_none() && self.is_closed() {
            self.closed_at = Some(now);
        }
    }

    /// When it is forgotten at the latest; None where it is not closed.
    fn ends_at(&self) -> Option<Instant> {
        self.closed_at.map(|at| at + KEPT_AFTER_CLOSE)
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.quic.poll()
    }

    /// Writes the next datagrams to `out`: one batch for the kernel's segmentation. None while the pacer gathers one.
    pub(super) fn poll_transmit(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        if self.is_gathering(now) && !self.is_closed() {
            return None;
        }
        if self.kept_back.is_some() {
            return self.send_kept_back(now, out);
        }
        let max = match &self.unproven {
            None => self.moves.batch(&self.quic, self.batch(max_datagrams)),
            // What comes next from the client allows more.
            Some(unproven) if unproven.credit() == 0 => return None,
            // Whether it is allowed shows once it is made.
            Some(_) => 1,
        };
        if let Some(answered) = &mut self.answered {
            answered.handle_transmit(&mut self.quic);
        }
        let transmit = self.moves.poll_transmit(now, &mut self.quic, max, out);
        let sent = transmit.as_ref().map_or(0, |transmit| transmit.size);
        if let Some(transmit) = &transmit {
            self.ack_only.handle_sent(sent, &mut self.quic);
            let datagrams = transmit.segment_size.map_or(1, |size| sent.div_ceil(size));
            self.largest_batch = self.largest_batch.max(datagrams as u16);
        }
        out.truncate(sent);
        if self.waiting > 0 && sent > 0 {
            self.stream_moves = self.stream_moves.wrapping_add(1);
        }
        self.waiting = self.waiting.saturating_sub(sent as u64);
        let latest = now + LONGEST_GATHERING;
        self.resume_at = match transmit {
            Some(_) => self.gathering_time(max).map(|time| latest.min(now + time)),
            // Its pacer has set a timer; what waits may also have been dropped by now.
            None => self.quic.poll_timeout().map(from_std).filter(|at| *at <= latest),
        };
        let transmit = transmit.as_ref().map(datagram_transmit);
        if let Some(transmit) = transmit
            && !self.allow_unproven(out.len())
        {
            // Only its own bytes: the driver's buffer is as large as a batch.
            self.kept_back = Some((transmit, out.as_slice().into()));
            out.clear();
            self.observer.iter_mut().for_each(|observer| observer.handle_kept_back());
            return None;
        }
        self.observe(now);
        let transmit = transmit?;
        if self.unproven.is_none() {
            return Some(transmit);
        }
        Some(self.redirected(transmit))
    }

    /// The datagram that was made, once the client's address allows its bytes.
    fn send_kept_back(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<DatagramTransmit> {
        let size = self.kept_back.as_ref()?.1.len();
        if !self.allow_unproven(size) {
            return None;
        }
        let (transmit, bytes) = self.kept_back.take()?;
        out.extend_from_slice(&bytes);
        self.observer.iter_mut().for_each(|observer| observer.handle_kept_back_sent(now));
        Some(self.redirected(transmit))
    }

    /// Whether so many bytes may go to the client's address. They are counted then.
    fn allow_unproven(&mut self, bytes: usize) -> bool {
        let Some(unproven) = &mut self.unproven else { return true };
        let is_allowed = bytes as u64 <= unproven.credit();
        if is_allowed {
            unproven.handle_sent(bytes);
        }
        is_allowed
    }

    /// The same datagram, to where the client is.
    fn redirected(&self, transmit: DatagramTransmit) -> DatagramTransmit {
        DatagramTransmit { remote: self.moved_to.unwrap_or(transmit.remote), ..transmit }
    }

    /// Whether the pacer has not gathered a batch yet.
    pub(super) fn is_gathering(&self, now: Instant) -> bool {
        self.resume_at.is_some_and(|at| now < at)
    }

    /// How long quinn-proto's pacer needs to let out what waits, one batch of `max` datagrams at most. It would let out
    /// each datagram as soon as there is credit for it, and a system call for each costs far more than its bytes. None
    /// where nothing waits, the congestion window keeps it back, or the path is slow.
    fn gathering_time(&self, max: usize) -> Option<Duration> {
        let mtu = u64::from(self.quic.current_mtu());
        if self.waiting == 0 || self.controller()?.allowance() < mtu {
            return None;
        }
        let window = self.quic.congestion_state().window().max(mtu);
        let time_of =
            |bytes: u64| self.quic.rtt().mul_f64(bytes as f64 / (PACER_GAIN * window as f64));
        // On a slow path there is no batch to gather.
        let is_worth = time_of(LEAST_GATHERED * mtu) <= LONGEST_GATHERING;
        is_worth.then(|| time_of(self.waiting.min(mtu * max as u64)))
    }

    /// The datagrams of a batch at most: the kernel takes no more than one largest datagram's bytes.
    fn batch(&self, max_datagrams: usize) -> usize {
        let fits = MAX_BATCH_BYTES / usize::from(self.quic.current_mtu());
        max_datagrams.min(fits).max(1)
    }

    /// How many bytes of streams congestion window and pacer let out now, at most those of one batch. quinn-proto does
    /// not change the order of what it has: what is handed over early cannot be overtaken.
    pub(super) fn demand(&self, max_datagrams: usize) -> usize {
        let Some(controller) = self.controller() else { return 0 };
        // Something waits for an acknowledgement or for the pacer.
        if self.waiting > 0 && controller.in_flight > 0 {
            return 0;
        }
        let mtu = usize::from(self.quic.current_mtu());
        let burst = self.pacer_burst(controller.window);
        let allowed = controller.allowance().min(burst) as usize / mtu;
        allowed.min(self.batch(max_datagrams)) * (mtu - OVERHEAD)
    }

    fn controller(&self) -> Option<ControllerState> {
        ControllerState::of(self.quic.congestion_state())
    }

    /// The bytes that quinn-proto's pacer lets out at once: those of 2 ms, between 10 and 256 datagrams.
    fn pacer_burst(&self, window: u64) -> u64 {
        let rtt = self.quic.rtt().as_nanos().max(1);
        let burst = u128::from(window) * PACER_INTERVAL / rtt;
        let mtu = u64::from(self.quic.current_mtu());
        u64::try_from(burst).unwrap_or(u64::MAX).clamp(10 * mtu, 256 * mtu)
    }

    /// What waited may have been dropped.
    pub(super) fn forget_waiting(&mut self) {
        self.waiting = 0;
    }

    /// Closes the connection with a code of the application's.
    pub(super) fn close(&mut self, now: Instant, code: u64, reason: &'static str) {
        self.quic.close(to_std(now), error_code(code), Bytes::from_static(reason.as_bytes()));
        self.note_closed(now);
    }

    /// Whether it was closed, by either side.
    pub(super) fn is_closed(&self) -> bool {
        self.quic.is_closed()
    }

    pub(super) fn is_server(&self) -> bool {
        self.quic.side().is_server()
    }

    /// Whether the handshake is not over.
    pub(super) fn is_handshaking(&self) -> bool {
        self.quic.is_handshaking()
    }

    /// Whether there are keys for early data (0-RTT).
    pub(super) fn has_early_data(&self) -> bool {
        self.quic.has_0rtt()
    }

    /// Sends the peer a packet that it acknowledges.
    pub(super) fn ping(&mut self) {
        self.quic.ping();
    }

    /// Client: how the connection is kept open beside quinn-proto's keep-alive.
    pub(super) fn keep_alive(
        &self,
        now: Instant,
        handshake: Option<&QuicHandshake>,
    ) -> Option<KeepAlive> {
        let usual = self.keep_alive?;
        KeepAlive::new(now, usual, handshake?.peer_idle_timeout?)
    }

    /// Client: keeps the server's settings, once they are known.
    pub(super) fn remember(&mut self, settings: impl FnOnce() -> Option<PeerSettings>) {
        if let Some(server) = &mut self.server {
            server.tell(settings);
        }
    }

    /// What TLS says of the handshake.
    pub(super) fn handshake(&self) -> Option<QuicHandshake> {
        let data = self.quic.crypto_session().handshake_data()?;
        data.downcast().ok().map(|handshake| *handshake)
    }

    /// Bytes of datagrams so far.
    pub(super) fn traffic(&self) -> Traffic {
        let stats = self.quic.stats();
        Traffic { received: stats.udp_rx.bytes, sent: stats.udp_tx.bytes }
    }
}

fn error_code(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

/// Header, packet number, tag and the header of a STREAM frame, at most about this.
const OVERHEAD: usize = 48;

/// The payload of the largest UDP datagram over IPv4.
const MAX_BATCH_BYTES: usize = 65_507;

/// In nanoseconds.
const PACER_INTERVAL: u128 = 2_000_000;

/// quinn-proto's pacer lets out so many congestion windows a round trip (RFC 9002 §7.7).
const PACER_GAIN: f64 = 1.25;

/// Datagrams that are worth waiting for.
const LEAST_GATHERED: u64 = 4;

/// What waits behind the pacer is held together for this long at most: acknowledgements wait with it.
const LONGEST_GATHERING: Duration = Duration::from_micros(500);

/// quinn-proto keeps a closed connection for three probe time-outs (RFC 9000 §10.2), with all that it has received and nobody has
/// read. A peer that acknowledges late makes them as long as it likes.
const KEPT_AFTER_CLOSE: Duration = Duration::from_secs(3);

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("handle", &self.handle).finish_non_exhaustive()
    }
}
