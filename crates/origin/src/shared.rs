//! The state that all connections of a thread use.

use crate::access::AccessLog;
use crate::budget::Budgets;
use crate::buffer_pool::BufferPool;
use crate::config::OriginConfig;
use crate::delivery::Delivery;
use crate::files::Files;
use crate::replay::Replay;
use crate::response_cache::CachedResponse;
use crate::site::{BeyondFiles, Site};
use crate::upstream::Upstream;
use crate::wall_clock::DateField;
use proto::{Fields, ResponseHead, Status};
use std::fmt;
use std::rc::Rc;
use trace::Tracer;
use transport::ServerSettings;
use unit::Instant;

/// Parts of an origin that belong to its thread alone.
#[derive(Default)]
pub struct Parts {
    /// Static files; None serves none.
    pub files: Option<Box<dyn Files>>,
    /// Takes a record of each exchange.
    pub log: Option<Rc<dyn AccessLog>>,
    /// Takes the trace events of the connections.
    pub tracer: Tracer,
    /// A recorded site, from which browsers are answered in place of all else.
    pub replay: Option<Rc<Replay>>,
}

/// The state that all connections use.
pub(crate) struct Shared {
    pub(crate) config: OriginConfig,
    pub(crate) site: Site,
    pub(crate) log: Option<Rc<dyn AccessLog>>,
    /// What is sent besides responses, and in which order; None where the client alone decides.
    pub(crate) delivery: Option<Box<Delivery>>,
    pub(crate) tracer: Tracer,
    pub(crate) buffers: BufferPool,
    /// What all connections hold.
    pub(crate) budgets: Budgets,
    /// Bytes of all echoes that wait until the clients read them.
    pub(crate) echoes: usize,
    /// The application server, where there is one.
    pub(crate) upstream: Option<Box<Upstream>>,
    /// What all connections speak and are set to.
    pub(crate) transport: Rc<ServerSettings>,
    /// Small answers over QUIC since a UDP socket was last given all that it had to send.
    pub(crate) small_answers: usize,
    /// When a visit was over whose connections are all to end.
    pub(crate) visit_over: Option<Instant>,
    date: DateField,
    /// The value of the field.
    alt_svc: Option<String>,
}

impl Shared {
    /// The state of an origin without connections.
    pub(crate) fn new(config: OriginConfig, parts: Parts, upstream: Option<Box<Upstream>>) -> Self {
        let beyond_files = match &upstream {
            Some(_) => BeyondFiles::Application,
            None => BeyondFiles::OwnTargets,
        };
        Self {
            site: Site::new(parts.files, config.table.clone(), config.max_age)
                .with_wall_clock(config.wall_clock)
                .with_timer(config.timer.clone())
                .with_visits(config.visits)
                .with_replay(parts.replay)
                .with_beyond_files(beyond_files),
            upstream,
            date: DateField::new(config.wall_clock),
            // RFC 7838 §3.1: for a day.
            alt_svc: config.alt_svc.map(|port| format!("h3=\":{port}\"; ma=86400")),
            transport: Rc::new(config.transport()),
            delivery: Delivery::of(&config),
            config,
            log: parts.log,
            tracer: parts.tracer,
            buffers: BufferPool::default(),
            budgets: Budgets::default(),
            echoes: 0,
            small_answers: 0,
            visit_over: None,
        }
    }

    /// The head of a cached response, with the present date.
    pub(crate) fn cached_head(
        &mut self,
        now: Instant,
        cached: &CachedResponse,
    ) -> Rc<ResponseHead> {
        let second = self.config.wall_clock.seconds(now);
        cached.head(second, |fields| self.head(now, cached.status(), fields))
    }

    /// The head of the application's response, with the date and the name of this server where it has said neither.
    pub(crate) fn forwarded_head(
        &mut self,
        now: Instant,
        forwarded: &ResponseHead,
    ) -> ResponseHead {
        let mut head = self.head(now, forwarded.status, &Fields::new());
        let own = std::mem::take(&mut head.fields);
        for field in own.iter() {
            if forwarded.fields.find(field.name).is_none() {
                head.fields.push_field(field);
            }
        }
        forwarded.fields.iter().for_each(|field| head.fields.push_field(field));
        head
    }

    /// A response head with the fields that every response gets.
    pub(crate) fn head(&mut self, now: Instant, status: Status, fields: &Fields) -> ResponseHead {
        let mut head = ResponseHead::new(status);
        head.fields.push(b"date", self.date.at(now).as_bytes());
        head.fields.push(b"server", self.config.server.as_bytes());
        if let Some(alt_svc) = &self.alt_svc {
            head.fields.push(b"alt-svc", alt_svc.as_bytes());
        }
        for field in fields.iter() {
            head.fields.push_field(field);
        }
        head
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("config", &self.config).finish_non_exhaustive()
    }
}
