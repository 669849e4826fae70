//! A delivery policy on one connection: early hints, links, pushes, CASPER cookies, the server's order. The one rule: a
//! pushed response goes the way of all responses, and pushes nothing itself.

use super::{Context, Session};
use crate::access::NotPushed;
use crate::answer::Plan;
use crate::body::Body;
use crate::delivery::{
    BlockingAssets, blocks_rendering, etag_of, is_tracked, media_type_of, promised_request,
    pushable, size_of,
};
use crate::exchange::{Exchange, Ledger};
use crate::learned::{Asset, is_html};
use crate::policy::{
    Assets, ByLink, CasperSettings, DeliveryPolicy, Heed, LearnedSettings, Link, PushPlace,
    Subject, Urgency,
};
use crate::shared::Shared;
use crate::site::host_of;
use proto::schedule::{Incremental, Priority};
use proto::{Fields, Fin, Method, Refused, RequestHead, ResponseHead, Status, StreamId};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::rc::Rc;
use transport::Protocol;
use wire::cache_digest::{self, CacheDigests, UrlHash};
use wire::casper::{self, Fingerprint};
use wire::golomb::BadSet;

/// What a connection knows of its pushes.
#[derive(Debug, Default)]
pub(super) struct ConnectionDelivery {
    /// Whether the client takes no pushes.
    refuses: bool,
    /// Hosts with paths that were pushed here: a client has them in its cache by now.
    pushed: HashSet<String>,
    /// What the client has by its cookies, and what it was sent since.
    casper: Option<Fingerprint>,
    /// Whether a request here has named something to push. Cookies are set from then on.
    has_triggered: bool,
}

/// A request that has something to push.
struct Parent<'a> {
    stream: StreamId,
    policy: &'a DeliveryPolicy,
    /// What it names itself, in the policy's words.
    targets: &'a [&'a str],
    /// Pushes that its list may still make.
    pushes_left: usize,
    /// Bytes that its list may still push; None for any number.
    bytes_left: Option<u64>,
    /// What the client has by this request's word.
    cached: CacheDigests,
    /// What its pushes name in their turn.
    nested: Vec<Nested>,
}

/// What a pushed response would push, if any did.
struct Nested {
    /// As the policy names it.
    target: String,
    /// Its host and path.
    name: String,
}

impl<'a> Parent<'a> {
    fn new(stream: StreamId, policy: &'a DeliveryPolicy, targets: &'a [&'a str]) -> Self {
        let pushes_left = policy.push.most;
        let bytes_left = policy.push.most_bytes;
        let (cached, nested) = (CacheDigests::default(), Vec::new());
        Self { stream, policy, targets, pushes_left, bytes_left, cached, nested }
    }

    /// Whether the client says that it has this response.
    fn is_cached(&self, request: &RequestHead, plan: &Plan) -> bool {
        if self.cached.is_empty() {
            return false;
        }
        let RequestHead { scheme, authority, path, .. } = request;
        let url = format!("{}://{authority}{path}", scheme.as_str());
        let response = etag_of(plan).map(|etag| UrlHash::of_response(&url, etag));
        self.cached.contains(UrlHash::of_url(&url), response)
    }
}

/// A push that the client was promised.
struct Promised {
    stream: StreamId,
    request: Box<RequestHead>,
    plan: Plan,
}

impl Session {
    /// Handles a request under a policy: what goes ahead of its answer, then the answer.
    pub(super) fn begin_delivery(&mut self, context: &mut Context<'_>, index: usize, fin: Fin) {
        let Some(delivery) = &context.shared.delivery else { return };
        let policy = delivery.policy();
        let Exchange { stream, ledger, .. } = &self.exchanges[index];
        let (stream, request) = (*stream, &ledger.request);
        let plan = context.shared.site.plan(context.now, request);
        if request.method == Method::Get {
            let (mut hints, mut push) = (Fields::new(), Vec::new());
            let page = assets_of(context, &policy, request, &plan);
            for rule in policy.matching(subject(request, media_type_of(&plan))) {
                push_links(&mut hints, &rule.hints);
                push.extend(rule.push.iter().map(String::as_str));
            }
            for asset in page.iter() {
                if asset.is_among(policy.learned.hints) {
                    push_links(&mut hints, asset.hint.as_slice());
                }
                push.extend(asset.path.as_deref().filter(|_| asset.is_among(policy.learned.push)));
            }
            if !hints.is_empty() {
                let head = ResponseHead { status: Status::EARLY_HINTS, fields: hints };
                // Refused where the protocol has no informational responses (HTTP/1.0, SPDY).
                let _unsaid = context.machine.inform(stream, &head);
            }
            self.read_cookies(context, index, policy.casper);
            self.push_all(context, &mut Parent::new(stream, &policy, &push));
        }
        let Some(index) = self.find(stream) else { return };
        self.carry_out(context, index, plan, fin);
    }

    /// Sends a response with what the policy adds to it, after the pushes that its links ask for.
    pub(super) fn deliver(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        head: &ResponseHead,
        body: Body,
    ) {
        let stream = self.exchanges[index].stream;
        let head = self.decorate(context, index, head);
        if let Some(index) = self.find(stream) {
            self.send_answer(context, index, &head, body);
        }
    }

    /// The head of a response with what the policy adds to it. Makes the pushes that its links ask for, and gives the stream its
    /// place.
    pub(super) fn decorate(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        head: &ResponseHead,
    ) -> ResponseHead {
        let mut head = head.clone();
        let Some(delivery) = &context.shared.delivery else { return head };
        let (policy, blocking_assets) = (delivery.policy(), delivery.blocking_assets);
        let Exchange { stream, ledger, .. } = &self.exchanges[index];
        if ledger.is_cut {
            return head;
        }
        let (stream, request) = (*stream, &ledger.request);
        let mut urgency = None;
        let media_type = head.fields.find_str("content-type").unwrap_or_default().to_owned();
        for rule in policy.matching(subject(request, &media_type)) {
            push_links(&mut head.fields, &rule.links);
            urgency = rule.urgency.or(urgency);
        }
        if policy.learned.links != Assets::Unused && is_html(&media_type) {
            let page = delivery.pages.known(request).unwrap_or_default();
            for asset in page.iter().filter(|asset| asset.is_among(policy.learned.links)) {
                let link = asset.link();
                link.iter().for_each(|link| head.fields.push(b"link", link.as_bytes()));
            }
        }
        // A push has the place that pushes have.
        let is_placed = ledger.pushed_with.is_some() && policy.push.place != PushPlace::After;
        if blocking_assets == BlockingAssets::First
            && blocks_rendering(&media_type)
            && !is_placed
            && !delivery.pages.is_free(request)
        {
            urgency = urgency.or(Some(FIRST));
        }
        if let Some(urgency) = urgency {
            self.decide(context, stream, urgency);
        }
        self.push_linked(context, stream, &head.fields);
        let Some(index) = self.find(stream) else { return head };
        if let Some(casper) = policy.casper {
            self.track(index, casper, &media_type);
            if let Some(cookie) = self.cookie(index) {
                head.fields.push(b"set-cookie", cookie.as_bytes());
            }
        }
        head
    }

    /// Pushes what the links of a response ask for, where the policy has it so.
    pub(super) fn push_linked(
        &mut self,
        context: &mut Context<'_>,
        stream: StreamId,
        fields: &Fields,
    ) {
        let Some(delivery) = &context.shared.delivery else { return };
        let policy = delivery.policy();
        let Some(index) = self.find(stream) else { return };
        let ledger = &self.exchanges[index].ledger;
        let by_link = policy.push.by_link == ByLink::Pushed
            && ledger.request.method == Method::Get
            && ledger.pushed_with.is_none()
            && !ledger.is_cut;
        if by_link {
            let links = preloads(fields);
            let links: Vec<&str> = links.iter().map(Link::target).collect();
            self.push_all(context, &mut Parent::new(stream, &policy, &links));
        }
    }

    /// Promises and answers what a request names.
    fn push_all(&mut self, context: &mut Context<'_>, parent: &mut Parent<'_>) {
        let targets = parent.targets;
        let takes_pushes =
            matches!(self.protocol, Protocol::Http2 | Protocol::Spdy31 | Protocol::Spdy3);
        if targets.is_empty() || !takes_pushes {
            return;
        }
        let state = self.delivery.get_or_insert_default();
        if state.refuses {
            return;
        }
        state.has_triggered = true;
        self.read_digests(context, parent);
        if let Some(target) = targets.get(MOST_NAMED) {
            skip(context, target, NotPushed::TooMany);
        }
        for target in targets.iter().take(MOST_NAMED) {
            if self.push(context, parent, target).is_break() {
                break;
            }
        }
        self.tell_nested(context, parent);
    }

    /// Tells what is left out because only a push names it: not what the request itself names, or was pushed before.
    fn tell_nested(&self, context: &mut Context<'_>, parent: &Parent<'_>) {
        let (Some(index), Some(state)) = (self.find(parent.stream), &self.delivery) else { return };
        let asked = &self.exchanges[index].ledger.request;
        for Nested { target, name } in &parent.nested {
            let is_it = |other: &RequestHead| name_of(other) == *name;
            let is_named = || {
                let own = parent.targets.iter();
                own.filter_map(|own| promised_request(asked, own)).any(|own| is_it(&own))
            };
            if !state.pushed.contains(name) && !is_it(asked) && !is_named() {
                skip(context, target, NotPushed::Nested);
            }
        }
    }

    /// Pushes one target. Breaks where the client takes no further pushes.
    fn push(
        &mut self,
        context: &mut Context<'_>,
        parent: &mut Parent<'_>,
        target: &str,
    ) -> ControlFlow<()> {
        const NEXT: ControlFlow<()> = ControlFlow::Continue(());
        let Some(index) = self.find(parent.stream) else { return ControlFlow::Break(()) };
        let asked = &self.exchanges[index].ledger.request;
        let Some(request) = promised_request(asked, target) else {
            skip(context, target, NotPushed::OtherOrigin);
            return NEXT;
        };
        if request.path == asked.path {
            // It is on its way: a rule for many paths may name one of them.
            return NEXT;
        }
        let state = self.delivery.get_or_insert_default();
        let name = name_of(&request);
        if state.pushed.contains(&name) {
            return NEXT;
        }
        let is_push = |exchange: &&Exchange| exchange.ledger.pushed_with.is_some();
        let open = self.exchanges.iter().filter(is_push).count();
        if state.pushed.len() >= MOST_PUSHED || open >= MOST_OPEN {
            skip(context, target, NotPushed::TooMany);
            return ControlFlow::Break(());
        }
        let plan = context.shared.site.plan(context.now, &request);
        let media_type = match pushable(&plan, &request.path) {
            Ok(media_type) => media_type,
            Err(why) => {
                skip(context, target, why);
                return NEXT;
            }
        };
        let is_known = state.casper.as_ref().is_some_and(|seen| seen.contains(&request.path));
        if parent.policy.casper.is_some_and(|casper| is_tracked(casper.tracking, &media_type))
            && is_known
        {
            return NEXT;
        }
        if parent.is_cached(&request, &plan) {
            return NEXT;
        }
        if parent.pushes_left == 0 {
            skip(context, target, NotPushed::TooMany);
            return ControlFlow::Break(());
        }
        // What ends the list is followed by what is needed later.
        let bytes_left = match (parent.bytes_left, size_of(&plan)) {
            (None, _) => None,
            (Some(left), Some(size)) if size <= left => Some(left - size),
            (Some(_), Some(_)) => return ControlFlow::Break(()),
            (Some(_), None) => {
                skip(context, target, NotPushed::UnknownSize);
                return ControlFlow::Break(());
            }
        };
        match context.machine.promise(parent.stream, &request) {
            Ok(stream) => {
                state.pushed.insert(name);
                parent.pushes_left -= 1;
                parent.bytes_left = bytes_left;
                let request = Box::new(request);
                self.answer_push(context, parent, Promised { stream, request, plan });
                NEXT
            }
            Err(Refused::NotAllowed) => {
                **state = ConnectionDelivery { refuses: true, ..ConnectionDelivery::default() };
                ControlFlow::Break(())
            }
            Err(Refused::Unsendable(_)) => {
                skip(context, target, NotPushed::Unsendable);
                NEXT
            }
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// Opens the exchange of a promise.
    fn answer_push(
        &mut self,
        context: &mut Context<'_>,
        parent: &mut Parent<'_>,
        promised: Promised,
    ) {
        let Promised { stream, request, plan } = promised;
        let delivery = context.shared.delivery.as_ref();
        // No heads are made to say again what was told, nor to find that the request names it, too.
        let is_known = |target: &str| {
            parent.targets.contains(&target)
                || delivery.is_none_or(|it| it.has_told(target, NotPushed::Nested))
        };
        for rule in parent.policy.matching(subject(&request, media_type_of(&plan))) {
            let new = rule.push.iter().filter(|target| !is_known(target));
            let nested = new.filter_map(|target| {
                let name = name_of(&promised_request(&request, target)?);
                Some(Nested { target: target.clone(), name })
            });
            parent.nested.extend(nested.filter(|nested| nested.name != name_of(&request)));
        }
        if let Some(log) = &context.shared.log {
            log.began(self.connection, stream.0);
        }
        let pushed_with = Some(parent.stream);
        let ledger = Ledger { pushed_with, ..Ledger::new(context.now, request) };
        let index = self.open(stream, ledger);
        match parent.policy.push.place {
            PushPlace::Before => self.decide(context, stream, FIRST),
            PushPlace::Interleaved => {
                // Of one urgency, what comes whole and what comes in parts have one half of the bytes each (`Rfc9218`), however many
                // streams that is.
                let shared = Urgency { incremental: Incremental::Parts, ..FIRST };
                self.decide(context, stream, FIRST);
                self.decide(context, parent.stream, shared);
            }
            PushPlace::After => {}
        }
        self.carry_out(context, index, plan, Fin::Last);
    }

    /// Gives a stream its place, whatever the client asks for.
    fn decide(&mut self, context: &mut Context<'_>, stream: StreamId, urgency: Urgency) {
        let Some(index) = self.find(stream) else { return };
        self.exchanges[index].ledger.decided = Some(urgency);
        context.machine.prioritise(stream, urgency.priority());
    }

    /// What the client has, by the cookies of a request.
    fn read_cookies(
        &mut self,
        context: &Context<'_>,
        index: usize,
        casper: Option<CasperSettings>,
    ) {
        let Some(CasperSettings { capacity, .. }) = casper else { return };
        let state = self.delivery.get_or_insert_default();
        let seen = state.casper.get_or_insert_with(|| Fingerprint::new(capacity));
        for cookies in self.exchanges[index].ledger.request.fields.all(b"cookie") {
            if let Some(why) = seen.merge_cookies(cookies) {
                tell_unreadable(context, self.connection, casper::COOKIE, why);
            }
        }
    }

    /// What the client has, by the cache digests of a request.
    fn read_digests(&self, context: &Context<'_>, parent: &mut Parent<'_>) {
        let Some(index) = self.find(parent.stream) else { return };
        if parent.policy.push.cache_digest == Heed::Ignored {
            return;
        }
        for field in self.exchanges[index].ledger.request.fields.all(cache_digest::FIELD.as_bytes())
        {
            if let Some(why) = parent.cached.merge_field(field) {
                tell_unreadable(context, self.connection, cache_digest::FIELD, why);
            }
        }
    }

    /// The client is sent a response.
    fn track(&mut self, index: usize, casper: CasperSettings, media_type: &str) {
        let Some(state) = &mut self.delivery else { return };
        if let (true, Some(seen)) = (state.has_triggered, &mut state.casper)
            && is_tracked(casper.tracking, media_type)
        {
            seen.insert(&self.exchanges[index].ledger.request.path);
        }
    }

    /// The cookie of a response that is about to be sent. A browser may ignore the fields of pushes, or take responses in
    /// another order than they were sent, so the cookie comes with the last of them only (github.com/h2o/h2o/issues/421).
    fn cookie(&self, index: usize) -> Option<String> {
        let state = self.delivery.as_ref().filter(|state| state.has_triggered)?;
        let seen = state.casper.as_ref().filter(|seen| !seen.is_empty())?;
        let is_push = |exchange: &&Exchange| exchange.ledger.pushed_with.is_some();
        let pushes = self.exchanges.iter().filter(is_push);
        let waiting = pushes.clone().filter(|push| push.ledger.answered.is_none()).count();
        let is_last = match self.exchanges[index].ledger.pushed_with {
            None => waiting == 0,
            Some(_) => waiting == 1 && pushes.count() == self.exchanges.len(),
        };
        is_last.then(|| seen.set_cookie())
    }
}

impl Urgency {
    fn priority(self) -> Priority {
        Priority::Decided { urgency: self.urgency, incremental: self.incremental }
    }
}

/// The host and path by which a connection remembers what was pushed.
fn name_of(request: &RequestHead) -> String {
    format!("{}{}", request.authority, request.path)
}

/// What rules are compared with.
fn subject<'a>(request: &'a RequestHead, media_type: &'a str) -> Subject<'a> {
    Subject { host: host_of(&request.authority), target: &request.path, media_type }
}

/// What the document that was asked for loads, where that makes a difference.
fn assets_of(
    context: &mut Context<'_>,
    policy: &DeliveryPolicy,
    request: &RequestHead,
    plan: &Plan,
) -> Rc<[Asset]> {
    let Shared { delivery, config, .. } = &mut *context.shared;
    let Some(delivery) = delivery else { return Rc::default() };
    // Which scripts a document waits for decides the order of their responses.
    let orders = delivery.blocking_assets == BlockingAssets::First;
    if policy.learned == LearnedSettings::default() && !orders {
        return Rc::default();
    }
    delivery.pages.of(context.now, request, plan, config.table.as_deref())
}

/// The links of a response that ask for pushes.
fn preloads(fields: &Fields) -> Vec<Link> {
    let values = fields.all(b"link").filter_map(|value| std::str::from_utf8(value).ok());
    values.flat_map(Link::all_of).filter(Link::pushes).collect()
}

fn push_links(fields: &mut Fields, links: &[Link]) {
    for link in links {
        fields.push(b"link", link.as_str().as_bytes());
    }
}

fn tell_unreadable(context: &Context<'_>, connection: u64, name: &str, why: BadSet) {
    if let Some(log) = &context.shared.log {
        log.unreadable(connection, name, why);
    }
}

pub(super) fn skip(context: &mut Context<'_>, target: &str, why: NotPushed) {
    let shared = &mut *context.shared;
    if let Some(delivery) = &mut shared.delivery {
        delivery.skip(shared.log.as_deref(), target, why);
    }
}

/// Before all that is not decided.
const FIRST: Urgency = Urgency { urgency: 1, incremental: Incremental::Whole };

/// Pushes of a connection that are open at a time: a client that reads nothing holds as many.
const MOST_OPEN: usize = 100;

/// Targets of one list that are looked at, whatever becomes of them.
const MOST_NAMED: usize = 1_024;

/// Targets that a connection remembers to have pushed.
const MOST_PUSHED: usize = 1_024;
