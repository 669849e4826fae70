//! One server under load: its address, the requests to send to it, and those that wait for a connection.

use super::connection::{LoadConnection, PendingRequest};
use super::plan::{Exchange, LoadPlan, turns};
use page::{Scheme, Url};
use std::collections::VecDeque;
use std::net::SocketAddr;
use unit::Instant;

#[derive(Debug)]
pub(super) struct Server {
    /// Scheme, host and port, of one of the targets there.
    pub(super) url: Url,
    pub(super) scheme: Scheme,
    /// Where it is; the next attempt goes to the one that `next_remote` names.
    pub(super) remotes: Vec<SocketAddr>,
    pub(super) next_remote: usize,
    /// The first target there, by which WebSockets are opened; None where requests are made.
    pub(super) web_socket: Option<usize>,
    /// Targets there, in the order in which they take turns.
    order: Vec<usize>,
    turn: usize,
    /// Requests that are to be made again, then those that are due and wait for a connection.
    pub(super) again: VecDeque<PendingRequest>,
    pub(super) waiting: VecDeque<PendingRequest>,
    /// Connections that could take a request, by number. One that cannot after all is passed over.
    free: VecDeque<usize>,
}

impl Server {
    /// The servers of a plan's targets, and which of them each target is on.
    pub(super) fn of(plan: &LoadPlan) -> (Vec<Self>, Vec<usize>) {
        let mut servers: Vec<Self> = Vec::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        let homes = plan.homes();
        for ((number, target), &home) in plan.targets.iter().enumerate().zip(&homes) {
            let url = &target.url;
            // Servers are numbered in the order of their first targets.
            if home == servers.len() {
                let is_echo = matches!(target.exchange, Exchange::Echo { .. });
                servers.push(Self {
                    url: url.clone(),
                    scheme: plan.access.transport.scheme(url.scheme),
                    remotes: plan.access.hosts.find_all(&url.host, url.port()),
                    next_remote: 0,
                    web_socket: is_echo.then_some(number),
                    order: Vec::new(),
                    turn: 0,
                    again: VecDeque::new(),
                    waiting: VecDeque::new(),
                    free: VecDeque::new(),
                });
                members.push(Vec::new());
            }
            members[home].push(number);
        }
        for (server, members) in servers.iter_mut().zip(members) {
            let weights: Vec<u32> =
                members.iter().map(|&number| plan.targets[number].weight).collect();
            server.order = turns(&weights).into_iter().map(|turn| members[turn]).collect();
            server.turn = plan.share.turn(plan.share.index, server.order.len());
        }
        (servers, homes)
    }

    /// The target whose turn it is.
    pub(super) fn next_target(&mut self) -> usize {
        let target = self.order.get(self.turn).copied().unwrap_or(0);
        self.turn = if self.turn + 1 < self.order.len() { self.turn + 1 } else { 0 };
        target
    }

    /// The first target there.
    pub(super) fn first_target(&self) -> usize {
        self.order.first().copied().unwrap_or(0)
    }

    /// A connection could take a request.
    pub(super) fn list(&mut self, number: usize, connection: &mut LoadConnection) {
        if !connection.listed {
            connection.listed = true;
            self.free.push_back(number);
        }
    }

    /// A connection that can take a request of `streams` at a time.
    pub(super) fn unlist(
        &mut self,
        connections: &mut [LoadConnection],
        streams: usize,
    ) -> Option<usize> {
        while let Some(number) = self.free.pop_front() {
            let Some(connection) = connections.get_mut(number) else { continue };
            connection.listed = false;
            if connection.takes_request(streams) {
                return Some(number);
            }
        }
        None
    }

    /// What waits, the oldest first.
    pub(super) fn pop(&mut self) -> Option<PendingRequest> {
        self.again.pop_front().or_else(|| self.waiting.pop_front())
    }

    /// Takes out what was due before `overdue`.
    pub(super) fn pop_overdue(&mut self, overdue: Instant) -> Option<PendingRequest> {
        for queue in [&mut self.again, &mut self.waiting] {
            if queue.front().is_some_and(|request| request.due <= overdue) {
                return queue.pop_front();
            }
        }
        None
    }
}
