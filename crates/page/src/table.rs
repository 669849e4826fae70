//! The responses of the origins of a page, by URL.

use crate::exchange::Answered;
use crate::number;
use crate::resource::{Method, Resource};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use unit::ByteSize;

/// What the origins of a page answer, by host and path. The answer to a request is always the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    hosts: BTreeMap<String, BTreeMap<String, Answer>>,
}

/// One answer of an origin.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Bytes of body; the Content-Length alone where the request is a HEAD.
    #[serde(with = "number::bytes")]
    pub body: ByteSize,
    /// How long to think before answering.
    #[serde(with = "number::nanos")]
    pub server_time: Duration,
    /// Media type; empty for none.
    pub content_type: String,
    /// How often one load of the page asks for it.
    pub requests: u32,
    /// How many of those are GETs.
    #[serde(default)]
    pub gets: u32,
    /// The method that it answers; a GET's answers HEAD, too.
    #[serde(default)]
    pub method: Method,
    /// What else it says.
    #[serde(default, skip_serializing_if = "Answered::is_plain")]
    pub answered: Answered,
}

impl Answer {
    /// The answer to a resource's request. How often it is asked for, and by which method, its table counts.
    pub(crate) fn of(resource: &Resource) -> Self {
        Self {
            status: resource.status,
            body: resource.body,
            server_time: resource.server_time,
            content_type: resource.content_type.clone(),
            requests: 0,
            gets: 0,
            method: match resource.method {
                Method::Head => Method::Get,
                method => method,
            },
            answered: resource.answered.clone(),
        }
    }
}

impl Table {
    /// The answer for `path` (with its query) on `host` (without port, in lower case).
    pub fn answer(&self, host: &str, path: &str) -> Option<&Answer> {
        self.hosts.get(host)?.get(path)
    }

    /// Has `host` answer `path` (with its query) so, in place of what it answered before.
    pub fn insert(&mut self, host: &str, path: &str, answer: Answer) {
        self.hosts.entry(host.to_owned()).or_default().insert(path.to_owned(), answer);
    }

    /// The host names, sorted.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.keys().map(String::as_str)
    }

    /// Whether one of the answers is a WebSocket.
    pub fn has_web_sockets(&self) -> bool {
        self.iter().any(|(_, _, answer)| answer.answered.messages.is_some())
    }

    /// Every answer with its host and path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &Answer)> {
        self.hosts.iter().flat_map(|(host, paths)| {
            paths.iter().map(move |(path, answer)| (host.as_str(), path.as_str(), answer))
        })
    }
}

impl Table {
    pub(crate) fn of(resources: &[Resource]) -> Self {
        let mut table = Self::default();
        for resource in resources {
            let paths = table.hosts.entry(resource.url.host.clone()).or_default();
            let path = resource.url.path.clone();
            let answer = paths.entry(path).or_insert_with(|| Answer::of(resource));
            answer.requests += 1;
            answer.gets += u32::from(resource.method == Method::Get);
        }
        table
    }
}
