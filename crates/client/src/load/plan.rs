//! The plan of a load run: targets, rates and durations. Plain values; the caller has checked them.

use super::pace::{Share, Spacing, Stage};
use crate::profile::same_origin;
use crate::{ClientConfig, Hosts, KeepAlive, Priorities, Profile, Transport};
use bytes::Bytes;
use page::Url;
use proto::{Fields, Method};
use secure::ClientTls;
use std::time::Duration;
use unit::Seed;

/// What one engine does.
#[derive(Debug, Clone)]
pub struct LoadPlan {
    /// What is asked for.
    pub targets: Vec<Target>,
    /// Connections, spread over the servers of the targets.
    pub connections: usize,
    /// Requests under way on each. HTTP/1.1 has one at a time, whatever stands here.
    pub streams: usize,
    /// Who decides when a request is made.
    pub pace: Pace,
    /// Requests of all engines together, those of the warm-up not counted; None for no bound.
    pub requests: Option<u64>,
    /// How long requests are begun, after the warm-up; None for no bound.
    pub duration: Option<Duration>,
    /// What is done before anything counts.
    pub warm_up: Duration,
    /// How long an answer may take from when its request was due.
    pub timeout: Duration,
    /// Requests that may be due and wait for a connection, of all engines together. What falls due beyond that is
    /// counted and not made.
    pub most_waiting: u64,
    /// This engine's part.
    pub share: Share,
    /// Where WebSockets' masks come from.
    pub seed: Seed,
    /// How servers are reached and spoken to.
    pub access: Access,
}

/// How servers are reached and spoken to: what engines on several threads can share.
#[derive(Debug, Clone)]
pub struct Access {
    /// What is spoken.
    pub transport: Transport,
    /// TLS settings. The names in its ALPN list must be those of [`Transport::alpn`].
    pub tls: ClientTls,
    /// Where names lead.
    pub hosts: Hosts,
    /// Whether a connection serves more than one request.
    pub keep_alive: KeepAlive,
    /// How long TCP's and TLS's handshakes may take together.
    pub connect_timeout: Duration,
}

impl Access {
    /// Addresses written as such alone, and connections that are kept.
    pub fn new(transport: Transport, tls: ClientTls) -> Self {
        let (hosts, keep_alive) = (Hosts::new(), KeepAlive::On);
        Self { transport, tls, hosts, keep_alive, connect_timeout: Duration::from_secs(10) }
    }

    /// The same as a client's settings, of which pools, redirects and profiles do not count.
    pub(super) fn config(&self) -> ClientConfig {
        let connect = self.connect_timeout;
        let mut config = ClientConfig::new(self.transport, self.tls.clone());
        config.timeouts.connect = connect;
        config.hosts = self.hosts.clone();
        config.keep_alive = self.keep_alive;
        config.profile = Profile::Bare;
        config.priorities = Priorities::Silent;
        config
    }
}

/// Who decides when a request is made.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// The answer to the one before it.
    Closed,
    /// A schedule.
    Open {
        /// Its rates, of all engines together.
        stages: Vec<Stage>,
        /// How requests are spaced.
        spacing: Spacing,
    },
}

/// A request that is made again and again.
#[derive(Debug, Clone)]
pub struct Target {
    /// Where.
    pub url: Url,
    /// What is done there.
    pub exchange: Exchange,
    /// How often it is made beside others.
    pub weight: u32,
}

impl Target {
    /// Whether it goes over the same connections: requests share those of their origin, and messages the WebSockets of one URL that
    /// are opened with the same fields.
    fn shares_connections(&self, other: &Self) -> bool {
        match (&self.exchange, &other.exchange) {
            (Exchange::Http { .. }, Exchange::Http { .. }) => same_origin(&self.url, &other.url),
            (Exchange::Echo { fields, .. }, Exchange::Echo { fields: others, .. }) => {
                same_origin(&self.url, &other.url)
                    && self.url.path == other.url.path
                    && fields == others
            }
            (Exchange::Http { .. }, Exchange::Echo { .. })
            | (Exchange::Echo { .. }, Exchange::Http { .. }) => false,
        }
    }
}

/// What an exchange is.
#[derive(Debug, Clone)]
pub enum Exchange {
    /// A request and its answer.
    Http {
        /// Method.
        method: Method,
        /// Fields of the user's own.
        fields: Fields,
        /// Empty for none.
        body: Bytes,
    },
    /// A message over a WebSocket, and its echo. The URL has the http scheme in place of WebSocket's own.
    Echo {
        /// Fields of the handshake.
        fields: Fields,
        /// The text.
        message: Bytes,
    },
}

/// About a hundred megabytes of waiting requests.
const MOST_WAITING: u64 = 1_000_000;

impl LoadPlan {
    /// How many servers the targets are on. Each thread of an engine needs a connection to each of them.
    pub fn servers(&self) -> usize {
        self.homes().into_iter().max().map_or(0, |last| last + 1)
    }

    /// The server of each target, by number. They are numbered in the order of their first targets.
    pub(super) fn homes(&self) -> Vec<usize> {
        let mut firsts: Vec<&Target> = Vec::new();
        let home = |target| {
            let known = firsts.iter().position(|first: &&Target| first.shares_connections(target));
            known.unwrap_or_else(|| {
                firsts.push(target);
                firsts.len() - 1
            })
        };
        self.targets.iter().map(home).collect()
    }

    /// A closed loop of one request at a time over one connection, without an end.
    pub fn new(targets: Vec<Target>, access: Access) -> Self {
        Self {
            targets,
            connections: 1,
            streams: 1,
            pace: Pace::Closed,
            requests: None,
            duration: None,
            warm_up: Duration::ZERO,
            timeout: Duration::from_secs(10),
            most_waiting: MOST_WAITING,
            share: Share::WHOLE,
            seed: Seed(0),
            access,
        }
    }
}

/// The order in which targets with such weights take turns: each as often as it weighs, and spread as evenly as that
/// can be done in one round.
pub(super) fn turns(weights: &[u32]) -> Vec<usize> {
    let divisor = weights.iter().copied().fold(0, gcd).max(1);
    let weights: Vec<i64> = weights.iter().map(|weight| i64::from(weight / divisor)).collect();
    let total: i64 = weights.iter().sum();
    let mut credit = vec![0; weights.len()];
    let mut order = Vec::new();
    for _ in 0..total {
        for (credit, weight) in credit.iter_mut().zip(&weights) {
            *credit += weight;
        }
        // The first of the greatest, so that the order is the same everywhere.
        let best = (0..credit.len()).rev().max_by_key(|&index| credit[index]).unwrap_or(0);
        credit[best] -= total;
        order.push(best);
    }
    order
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_take_turns_by_weight_and_do_not_bunch() {
        assert_eq!(turns(&[1, 1]), [0, 1]);
        assert_eq!(turns(&[2, 2, 2]), [0, 1, 2]);
        assert_eq!(turns(&[3, 1]), [0, 0, 1, 0]);
        assert_eq!(turns(&[30, 10]), [0, 0, 1, 0]);
    }
}
