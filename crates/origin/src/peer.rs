//! One accepted connection: TLS where there is some, then the protocol that it turns out to speak.

use crate::access::OpenedRecord;
use crate::config::Limits;
use crate::origin::Shared;
use crate::protocol::{Opening, Protocol, Recognised, recognise};
use crate::talk::Talk;
use endpoint::{Action, SendBuf, SocketId};
use proto::Scheme;
use secure::Layer;
use std::time::Duration;
use unit::Instant;

/// A connection.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) serial: u64,
    /// When the origin has promised itself to look after it.
    pub(crate) armed: Option<Instant>,
    layer: Layer,
    scheme: Scheme,
    stage: Stage,
    socket: Socket,
    accepted: Instant,
    /// When a byte went either way last.
    progress: Instant,
    /// Whether it was asked, after a long silence, to come to an end.
    warned: bool,
}

#[derive(Debug)]
enum Stage {
    /// The handshake is not over, or the first bytes do not tell the protocol yet.
    Arriving(Vec<u8>),
    /// The protocol is known.
    Talking(Talk),
    /// Nothing more will be said.
    Over,
}

/// What the driver was told of the socket.
#[derive(Debug, Default)]
struct Socket {
    paused: bool,
    /// The layer's last word was said.
    parted: bool,
    fin: bool,
}

impl Peer {
    pub(crate) fn new(now: Instant, serial: u64, layer: Layer) -> Self {
        let scheme = match layer {
            Layer::Clear => Scheme::Http,
            Layer::Tls(_) => Scheme::Https,
        };
        Self {
            serial,
            armed: None,
            layer,
            scheme,
            stage: Stage::Arriving(Vec::new()),
            socket: Socket::default(),
            accepted: now,
            progress: now,
            warned: false,
        }
    }

    pub(crate) fn handle_bytes(&mut self, now: Instant, shared: &mut Shared, bytes: &[u8]) {
        self.progress = now;
        let mut input = bytes;
        loop {
            match self.layer.handle_bytes(&mut input) {
                Ok(Some(plain)) => match &mut self.stage {
                    Stage::Arriving(seen) => seen.extend_from_slice(plain),
                    Stage::Talking(talk) => talk.handle_bytes(now, shared, plain),
                    Stage::Over => {}
                },
                Ok(None) => break,
                Err(error) => return self.fail(now, shared, &error.to_string()),
            }
        }
        self.recognise(now, shared);
        if let Stage::Talking(talk) = &mut self.stage {
            talk.take_up_backlog(now, shared);
        }
    }

    pub(crate) fn handle_eof(&mut self, now: Instant, shared: &mut Shared) {
        // A cut within TLS shows in the messages' own lengths (RFC 9112 §9.8), so it is not judged here.
        let _cut = self.layer.handle_eof();
        match &mut self.stage {
            Stage::Talking(talk) => talk.handle_eof(now, shared),
            stage => *stage = Stage::Over,
        }
    }

    /// Whether it had its warning and did not come to an end.
    pub(crate) fn is_out_of_patience(&self, now: Instant, limits: &Limits) -> bool {
        let may_end_well = match &self.stage {
            Stage::Arriving(_) => true,
            Stage::Talking(talk) => talk.quiet_since().is_some() && !self.warned,
            Stage::Over => false,
        };
        !may_end_well && self.patience(limits).is_some_and(|at| at <= now)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, shared: &mut Shared) {
        let limits = shared.config.limits;
        if self.patience(&limits).is_some_and(|at| at <= now) {
            self.warned = true;
            self.shutdown(now, shared);
        } else if let Stage::Talking(talk) = &mut self.stage {
            if talk.is_thinking() {
                // The peer was not silent; this side was.
                self.progress = now;
            }
            talk.handle_timeout(now, shared);
        }
    }

    /// When to look after this connection next.
    pub(crate) fn poll_timeout(&self, limits: &Limits) -> Option<Instant> {
        let own = match &self.stage {
            Stage::Talking(talk) => talk.poll_timeout(),
            _ => None,
        };
        match (self.patience(limits), own) {
            (Some(patience), Some(own)) => Some(patience.min(own)),
            (patience, own) => patience.or(own),
        }
    }

    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        out: &mut SendBuf,
        room: usize,
    ) {
        let before = out.len();
        // A second time where the first gave nothing: what it left behind may have made bytes.
        for _ in 0..2 {
            let Self { layer, stage, .. } = self;
            layer.poll_transmit(out, room, |plain, room| {
                if let Stage::Talking(talk) = stage {
                    talk.poll_transmit(now, plain, room);
                }
            });
            if let Stage::Talking(talk) = stage {
                talk.handle_transmitted(now, shared);
            }
            if out.len() > before {
                self.progress = now;
                return;
            }
        }
    }

    /// No more requests; those under way are finished.
    pub(crate) fn shutdown(&mut self, now: Instant, shared: &mut Shared) {
        match &mut self.stage {
            Stage::Talking(talk) => talk.shutdown(now, shared),
            stage => *stage = Stage::Over,
        }
    }

    /// The socket is gone.
    pub(crate) fn cut_off(&mut self, now: Instant, shared: &Shared) {
        if let Stage::Talking(talk) = &mut self.stage {
            talk.cut_off(now, shared);
        }
    }

    /// Whether `poll_transmit` would give bytes.
    pub(crate) fn wants_transmit(&self) -> bool {
        let above = match &self.stage {
            Stage::Talking(talk) => !self.layer.is_handshaking() && talk.wants_transmit(),
            _ => false,
        };
        !self.socket.fin && (above || self.layer.wants_transmit())
    }

    /// What the driver should do with the socket, now that nothing waits to be sent: at most one step
    /// of its way out. After `Close` and `Abort` the peer is to be forgotten.
    pub(crate) fn next_step(&mut self, socket: SocketId) -> Option<Action> {
        let is_over = match &self.stage {
            Stage::Arriving(_) => false,
            Stage::Talking(talk) => talk.is_over(),
            Stage::Over => true,
        };
        let is_last = is_over
            || matches!(&self.stage, Stage::Talking(talk) if talk.wants_shutdown() && !self.socket.fin);
        if is_last && !self.socket.parted {
            self.socket.parted = true;
            self.layer.close_notify();
            if self.wants_transmit() {
                return Some(Action::Transmit(socket));
            }
        }
        if is_over {
            return Some(Action::Close(socket));
        }
        if is_last {
            self.socket.fin = true;
            return Some(Action::Shutdown(socket));
        }
        None
    }

    /// Back-pressure: a change between reading and not reading.
    pub(crate) fn next_pause(&mut self, socket: SocketId) -> Option<Action> {
        let Stage::Talking(talk) = &self.stage else { return None };
        let paused = !talk.wants_read();
        if paused == self.socket.paused {
            return None;
        }
        self.socket.paused = paused;
        Some(if paused { Action::Pause(socket) } else { Action::Resume(socket) })
    }

    /// Finds out what is spoken, where that is not known yet.
    fn recognise(&mut self, now: Instant, shared: &mut Shared) {
        let Stage::Arriving(seen) = &mut self.stage else { return };
        if self.layer.is_handshaking() {
            return;
        }
        let agreed = self.layer.negotiated().and_then(|negotiated| negotiated.alpn);
        let ours = |fits: &dyn Fn(&Protocol) -> bool| {
            shared.config.protocols.iter().copied().find(|ours| fits(ours))
        };
        let spoken = match agreed {
            Some(name) => ours(&|protocol| protocol.name.as_bytes() == name),
            None => match recognise(seen) {
                Recognised::NotYet => return,
                Recognised::Speaks(protocol) => Some(protocol),
                // Nobody serves it any more who was not asked to; of its two versions the one named first is meant.
                Recognised::Spdy => ours(&Protocol::is_spdy),
                Recognised::Nothing => None,
            },
        };
        let Some(protocol) = spoken else {
            return self.fail(now, shared, "no protocol of the origin's");
        };
        if let Some(log) = &shared.log {
            let tls = self.layer.negotiated().map(|negotiated| negotiated.record());
            log.opened(&OpenedRecord { connection: self.serial, protocol: protocol.name, tls });
        }
        let seen = std::mem::take(seen);
        let mut talk = self.open(now, shared, protocol);
        talk.handle_bytes(now, shared, &seen);
        self.stage = Stage::Talking(talk);
    }

    fn open(&self, now: Instant, shared: &Shared, protocol: Protocol) -> Talk {
        let opening = Opening {
            now,
            scheme: self.scheme,
            limits: shared.config.limits,
            tracer: shared.tracer.for_connection(self.serial),
        };
        Talk::new(now, ((protocol.open)(opening), protocol.name), (self.serial, self.scheme))
    }

    fn fail(&mut self, now: Instant, shared: &Shared, reason: &str) {
        self.cut_off(now, shared);
        // The layer tells the peer by an alert of its own; a farewell would contradict it.
        self.socket.parted = true;
        self.stage = Stage::Over;
        let tracer = shared.tracer.for_connection(self.serial);
        tracer.emit(now, || trace::Event::ConnectionClosed { reason });
    }

    /// When patience with this connection ends.
    fn patience(&self, limits: &Limits) -> Option<Instant> {
        let (since, span): (Instant, Duration) = match &self.stage {
            Stage::Arriving(_) if self.layer.is_handshaking() => (self.accepted, limits.handshake),
            Stage::Arriving(seen) if !seen.is_empty() => (self.accepted, limits.head),
            Stage::Arriving(_) => (self.accepted, limits.idle),
            Stage::Over => (self.progress, limits.stall),
            Stage::Talking(talk) => match talk.quiet_since() {
                Some(since) => (since, limits.idle),
                None if talk.is_thinking() => return None,
                None => (self.progress, limits.stall),
            },
        };
        Some(since + span)
    }
}
