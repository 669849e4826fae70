//! The client: fetches wait in the pool, go out on connections, and end as records.
//!
//! This file holds the fetches' way; `sockets` holds the connections' way, `events` what the
//! protocols' machines tell, and `settling` when a whole response counts. The one rule: whatever
//! happened, `pump` follows, and after it nothing that could be begun is left.

mod events;
mod settling;
mod sockets;

use crate::carrier::{Carrier, Life, Slot, Told};
use crate::config::{ClientConfig, KeepAlive, Priorities};
use crate::failure::Failure;
use crate::fetch::{Acted, Carried, Fetch, FetchId, Retried, State};
use crate::pool::{Origin, OriginId, Pool, Step};
use crate::profile;
use crate::timers::Wake;
use crate::work::Work;
use endpoint::{Action, SocketId};
use page::Url;
use proto::{Fin, Refused, RequestHead, StreamId};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;
use trace::Protocol;
use unit::Instant;

/// An end point that does the work `W` over connections of its own.
#[derive(Debug)]
pub struct Client<W> {
    config: ClientConfig,
    work: W,
    phase: Phase,
    pool: Pool,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    fetches: BTreeMap<FetchId, Fetch>,
    wake: Wake,
    /// Which of its addresses an origin is reached at, where that is not the first.
    detours: HashMap<OriginId, usize>,
    actions: VecDeque<Action>,
    next_fetch: u32,
    next_connection: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nobody has told the time yet.
    Idle,
    Running,
    /// All is done, but connections still have to say why they close; until then at most.
    Leaving {
        until: Instant,
    },
    Finished,
}

/// How long last words may take: a peer that takes no bytes does not hear them.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl<W: Work> Client<W> {
    /// A client that begins `work` as soon as it is driven.
    pub fn new(config: ClientConfig, work: W) -> Self {
        Self {
            pool: Pool::new(config.limits),
            config,
            work,
            phase: Phase::Idle,
            slots: Vec::new(),
            free: Vec::new(),
            fetches: BTreeMap::new(),
            wake: Wake::default(),
            detours: HashMap::new(),
            actions: VecDeque::new(),
            next_fetch: 0,
            next_connection: 0,
        }
    }

    /// The work as far as it is done.
    pub fn work(&self) -> &W {
        &self.work
    }

    /// The work, taken out.
    pub fn into_work(self) -> W {
        self.work
    }

    /// Whether `Action::Finish` was given.
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// Begins all that can be begun.
    fn pump(&mut self, now: Instant) {
        if self.is_ending() {
            return;
        }
        self.phase = Phase::Running;
        loop {
            while let Some(id) = self.work.poll_cancel() {
                self.abandon(now, id, Failure::Cancelled);
            }
            let id = FetchId(self.next_fetch);
            if let Some(spec) = self.work.poll_fetch(now, id) {
                self.next_fetch += 1;
                self.fetches.insert(id, Fetch::new(now, id, spec));
                self.admit(now, id);
                continue;
            }
            match self.pool.next_step() {
                Some(Step::Open(origin)) => self.open(now, origin),
                Some(Step::Send(fetch, socket)) => self.send(now, fetch, socket),
                Some(Step::Evict(socket)) => {
                    if let Some(slot) = self.take(socket) {
                        self.retire(now, slot);
                    }
                }
                None => break,
            }
        }
        if self.work.is_finished() && self.fetches.is_empty() {
            self.finish(now);
        }
    }

    /// Puts a fetch into its origin's queue.
    fn admit(&mut self, now: Instant, id: FetchId) {
        let Some(fetch) = self.fetches.get(&id) else { return };
        let origin = self.origin_of(&fetch.spec.url);
        if self.config.hosts.find(&origin.host, origin.port).is_none() {
            let failure = Failure::UnknownHost { host: origin.host };
            return self.end(now, id, Err(failure));
        }
        let known = self.config.transport.known(origin.scheme);
        let urgency = fetch.spec.priority.urgency;
        let origin = self.pool.enter(origin, known);
        self.pool.wait(origin, urgency, id);
        if let Some(due) = self.due(id) {
            self.wake.by(due);
        }
    }

    /// Whose connections a URL is fetched over: its own scheme and port, or those of the transport.
    fn origin_of(&self, url: &Url) -> Origin {
        let scheme = self.config.transport.scheme(url.scheme);
        Origin { scheme, host: url.host.clone(), port: url.port.unwrap_or(scheme.default_port()) }
    }

    fn place_in_pool(&mut self, url: &Url) -> OriginId {
        let origin = self.origin_of(url);
        let known = self.config.transport.known(origin.scheme);
        self.pool.enter(origin, known)
    }

    /// Makes the request of `id` on `socket`.
    fn send(&mut self, now: Instant, id: FetchId, socket: SocketId) {
        let Some(mut slot) = self.take(socket) else { return };
        if let Some(fetch) = self.fetches.get(&id) {
            let head = self.head(fetch, &slot.carrier);
            let fin = if fetch.spec.body.is_empty() { Fin::Last } else { Fin::More };
            let asked = match slot.carrier.machine() {
                Some(machine) => machine.request(now, &head, fin),
                None => Err(Refused::Draining),
            };
            match asked {
                Ok(stream) => self.sent(now, id, &mut slot.carrier, stream),
                Err(Refused::Full | Refused::Draining) => self.admit(now, id),
                Err(refused @ (Refused::Unsendable(_) | Refused::NotAllowed)) => {
                    let place = slot.carrier.place.clone();
                    let reason = refused.to_string();
                    self.end(now, id, Err(Failure::Unsendable { place, reason }));
                }
            }
        }
        self.put_back(now, slot);
    }

    /// The request of `id` is in the machine's hands.
    fn sent(&mut self, now: Instant, id: FetchId, carrier: &mut Carrier, stream: StreamId) {
        let Some(fetch) = self.fetches.get_mut(&id) else { return };
        fetch.sent(now, carried(carrier, stream, fetch.asked));
        if self.config.priorities == Priorities::Chromium {
            let rank = carrier.place_in_tree(fetch.spec.priority.urgency);
            if let Some(machine) = carrier.machine() {
                machine.prioritise(stream, rank);
            }
        }
        carrier.begin(stream, id, &fetch.spec);
        if let Some(due) = self.due(id) {
            self.wake.by(due);
        }
    }

    fn head(&self, fetch: &Fetch, carrier: &Carrier) -> RequestHead {
        let url = &fetch.spec.url;
        let scheme = self.config.transport.scheme(url.scheme);
        let mut fields = self.config.profile.fields(&fetch.spec, url);
        // Chromium sends the field over HTTP/2 (RFC 9218 §5); in SPDY's time there was none.
        if self.config.priorities != Priorities::Silent
            && carrier.record.protocol == Protocol::Http2
            && let Some(value) = profile::priority_value(fetch.spec.priority)
            && fields.find(b"priority").is_none()
        {
            fields.push(b"priority", value.as_bytes());
        }
        RequestHead {
            method: fetch.spec.method.clone(),
            fields,
            ..RequestHead::get(profile::scheme(scheme), url.authority(), url.path.clone())
        }
    }

    /// When a fetch is to be looked at: its own limit, or its stall.
    fn due(&self, id: FetchId) -> Option<Instant> {
        let fetch = self.fetches.get(&id)?;
        let whole = self.config.timeouts.whole.map(|limit| fetch.queued() + limit);
        match fetch.state {
            State::Waiting => whole,
            State::Active { socket, .. } => {
                // Responses that share a connection take turns: one that waits for others has not stalled.
                let heard = self.slots.get(socket.0).and_then(Option::as_ref);
                let heard = heard.map_or(fetch.progress, |slot| slot.carrier.heard);
                let stall = heard.max(fetch.progress) + self.config.timeouts.stall;
                Some(whole.map_or(stall, |whole| whole.min(stall)))
            }
        }
    }

    /// Looks whether a fetch takes too long.
    fn check_time(&mut self, now: Instant, id: FetchId) {
        let Some(due) = self.due(id) else { return };
        if due > now {
            return self.wake.by(due);
        }
        let Some(fetch) = self.fetches.get(&id) else { return };
        let failure = match (self.config.timeouts.whole, fetch.state) {
            (Some(limit), _) if fetch.queued() + limit <= now => Failure::TooSlow { limit },
            (_, State::Active { socket, .. }) => {
                let Some(Some(slot)) = self.slots.get(socket.0) else { return };
                Failure::Stalled {
                    place: slot.carrier.place.clone(),
                    span: self.config.timeouts.stall,
                }
            }
            (_, State::Waiting) => return,
        };
        self.abandon(now, id, failure);
    }

    /// Ends a fetch before its time, wherever it is.
    fn abandon(&mut self, now: Instant, id: FetchId, failure: Failure) {
        let Some(fetch) = self.fetches.get(&id) else { return };
        if let State::Active { socket, stream } = fetch.state
            && let Some(mut slot) = self.take(socket)
        {
            slot.carrier.exchanges.remove(&stream);
            if let Some(machine) = slot.carrier.machine() {
                machine.reset(now, stream);
            }
            self.put_back(now, slot);
        }
        self.end(now, id, Err(failure));
    }

    /// Ends a fetch that no connection carries (any more).
    fn end(&mut self, now: Instant, id: FetchId, outcome: Result<(), Failure>) {
        let Some(fetch) = self.fetches.remove(&id) else { return };
        if fetch.state == State::Waiting {
            let urgency = fetch.spec.priority.urgency;
            let origin = self.place_in_pool(&fetch.spec.url);
            self.pool.forget(origin, urgency, id);
        }
        let outcome = outcome.and_then(|()| fetch.check());
        if let Err(failure) = &outcome {
            self.work.handle_failure(now, id, failure.hope());
        }
        self.work.handle_end(now, id, fetch.into_record(now, outcome));
    }

    /// A connection let a fetch down: it goes back to the queue where it may, else it fails.
    fn let_down(&mut self, now: Instant, id: FetchId, acted: Acted, failure: Failure) {
        let ending = self.is_ending();
        let Some(fetch) = self.fetches.get_mut(&id) else { return };
        if !fetch.may_retry(acted) || ending {
            return self.end(now, id, Err(failure));
        }
        fetch.retried = Retried::Once;
        fetch.take_back();
        if acted == Acted::Perhaps {
            // What was kept as long as the dead one is likely to be dead too.
            let url = fetch.spec.url.clone();
            let origin = self.place_in_pool(&url);
            self.close_idle(now, origin);
        }
        self.admit(now, id);
    }

    /// Puts a connection back, tells the pool how it stands and the driver what it wants.
    fn put_back(&mut self, now: Instant, mut slot: Slot) {
        let Slot { layer, carrier, .. } = &mut slot;
        self.events(now, carrier, &mut &[][..]);
        if carrier.is_over(layer) || self.has_served(carrier) {
            return self.retire(now, slot);
        }
        self.rank(carrier);
        let socket = carrier.socket;
        if let Some(due) = carrier.due(self.config.timeouts.connect) {
            self.wake.by(due);
        }
        if carrier.told == Told::No && carrier.may_transmit(layer) {
            carrier.told = Told::Yes;
            self.actions.push_back(Action::Transmit(socket));
        }
        self.slots[socket.0] = Some(slot);
    }

    /// Whether the client closes a connection that it could go on with. HTTP/1.1 says so in the request, and
    /// its machine ends by itself.
    fn has_served(&self, carrier: &Carrier) -> bool {
        self.config.keep_alive == KeepAlive::Off
            && carrier.record.requests > 0
            && carrier.is_idle()
            && carrier.record.protocol != Protocol::Http1
    }

    /// All is done: closes what is open, and tells the driver once the last words are out.
    fn finish(&mut self, now: Instant) {
        self.phase = Phase::Leaving { until: now + LAST_WORDS };
        for index in 0..self.slots.len() {
            if let Some(slot) = self.slots[index].take() {
                match slot.life {
                    // It was closed before, for a reason that the peer is to hear: a GOAWAY, an alert.
                    Life::Closing => self.slots[index] = Some(slot),
                    Life::Live | Life::Gone => self.retire(now, slot),
                }
            }
        }
        self.leave();
    }

    /// Tells the driver, where no connection is left.
    fn leave(&mut self) {
        let leaving = matches!(self.phase, Phase::Leaving { .. });
        if leaving && self.slots.iter().all(Option::is_none) {
            self.phase = Phase::Finished;
            self.actions.push_back(Action::Finish);
        }
    }

    /// Whoever has not heard why by now is not told.
    fn leave_at_once(&mut self) {
        for index in 0..self.slots.len() {
            if let Some(slot) = self.slots[index].take() {
                self.release(slot);
            }
        }
    }

    fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Leaving { .. } | Phase::Finished)
    }
}

/// How the connection took a fetch that was asked for at `asked`.
fn carried(carrier: &Carrier, stream: StreamId, asked: Instant) -> Carried<'_> {
    let record = &carrier.record;
    let opened_for_it = record.requests == 0 && record.opened >= asked;
    Carried {
        socket: carrier.socket,
        connection: record.id,
        stream,
        protocol: &record.protocol,
        opening: opened_for_it.then_some((record.opened, record.connected, record.secured)),
    }
}
