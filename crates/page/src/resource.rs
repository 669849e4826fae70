//! The parts of a page: resources, what reveals each of them to the browser, and the hosts that serve them.

use crate::exchange::{Answered, Asked};
use crate::number;
use crate::priority::Hint;
use crate::url::Url;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use unit::ByteSize;

/// Number of a resource within its page, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResourceId(pub u32);

impl ResourceId {
    /// The index in a list of resources.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a resource is to the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// HTML: the page itself or a frame in it.
    Document,
    /// CSS.
    Stylesheet,
    /// JavaScript.
    Script,
    /// A picture.
    Image,
    /// A web font.
    Font,
    /// What a script asked for.
    Xhr,
    /// Sound or video.
    Media,
    /// Anything else.
    Other,
}

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// The response has a body.
    #[default]
    Get,
    /// The response has none, whatever its Content-Length says (RFC 9110 §9.3.2).
    Head,
    /// The request may have a body, as that of those below.
    Post,
    /// Stores what it sends.
    Put,
    /// Changes a part of what is there.
    Patch,
    /// Removes.
    Delete,
    /// Asks what is allowed: a preflight of CORS.
    Options,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 7] =
        [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Options];

    /// As it stands in a request.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }

    /// Whether a replay's request sends the recorded body.
    pub(crate) fn has_body(self) -> bool {
        !matches!(self, Self::Get | Self::Head)
    }

    /// The method of this name; None of one that a replay does not make.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name().eq_ignore_ascii_case(name))
    }
}

/// What reveals to the browser that it needs a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// The load itself: known from the beginning.
    Navigation,
    /// The parser found it after `offset` bytes of `by` (0: it was in the response's head).
    Parsed {
        /// The document being parsed.
        by: ResourceId,
        /// Bytes of its body.
        #[serde(with = "number::bytes")]
        offset: ByteSize,
    },
    /// The whole of `by` had arrived.
    Completed {
        /// The initiator.
        by: ResourceId,
    },
}

impl Release {
    /// The initiator, where there is one.
    pub fn initiator(self) -> Option<ResourceId> {
        match self {
            Self::Navigation => None,
            Self::Parsed { by, .. } | Self::Completed { by } => Some(by),
        }
    }
}

/// What waits for a resource (HTML §4.2.4, §4.12.1): the steps of a document that cannot go on without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocks {
    /// Nothing: images, async scripts, preloads, frames.
    #[default]
    Nothing,
    /// The first paint, and scripts that stand after it: a style sheet. One that stands in the body holds up scripts
    /// alone.
    Painting,
    /// The parser, at the place where it stands: a classic script without `async` or `defer`.
    Parsing,
    /// DOMContentLoaded: a deferred script or a module script.
    DomContentLoaded,
}

/// Where a resource is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fold {
    /// Nobody laid the page out: a recording has no layout.
    #[default]
    Unknown,
    /// In the viewport.
    Above,
    /// Below it: the user has to scroll.
    Below,
}

/// One thing to fetch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Where it is asked for.
    pub url: Url,
    /// What it is to the page.
    pub kind: Kind,
    /// How it is asked for.
    #[serde(default)]
    pub method: Method,
    /// The status that the origin answers with and the client checks.
    #[serde(default = "ok")]
    pub status: u16,
    /// The media type in the origin's response; empty for none.
    pub content_type: String,
    /// The Content-Length that the origin gives: the bytes of the body, where the response has one.
    #[serde(with = "number::bytes")]
    pub body: ByteSize,
    /// How long the origin thinks before it answers.
    #[serde(with = "number::nanos")]
    pub server_time: Duration,
    /// What makes it known.
    pub release: Release,
    /// The time between discovery and request.
    #[serde(with = "number::nanos")]
    pub think: Duration,
    /// What was said about its importance.
    pub hint: Hint,
    /// What waits for it.
    #[serde(default)]
    pub blocks: Blocks,
    /// CSS pixels that it covers: of a document, its own text; of a font, the text in it. None where nothing says so.
    #[serde(default)]
    pub pixels: Option<u32>,
    /// Where these are.
    #[serde(default)]
    pub fold: Fold,
    /// What its request says besides the method and the URL.
    #[serde(default, skip_serializing_if = "Asked::is_plain")]
    pub asked: Asked,
    /// What its response says besides the status, the type and the length.
    #[serde(default, skip_serializing_if = "Answered::is_plain")]
    pub answered: Answered,
}

impl Resource {
    /// Bytes of body that the client gets and checks: none in the response to HEAD. Of a WebSocket those of the messages
    /// that come.
    pub fn received_body(&self) -> ByteSize {
        match self.method {
            Method::Head => ByteSize::ZERO,
            _ => self.body,
        }
    }

    /// Its path and query as they were recorded.
    pub fn recorded_path(&self) -> &str {
        self.answered.recorded_path.as_deref().unwrap_or(&self.url.path)
    }

    /// Whether it is a WebSocket.
    pub fn is_web_socket(&self) -> bool {
        self.answered.messages.is_some()
    }

    /// Whether a client that can only be told a URL makes the same of it: a GET without anything of its own, and an answer
    /// that leads nowhere else.
    pub fn is_plain_get(&self) -> bool {
        self.method == Method::Get
            && self.asked.is_plain()
            && !self.is_web_socket()
            && !(300..400).contains(&self.status)
    }
}

fn ok() -> u16 {
    200
}

/// One host that the page fetches from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Requests that go to it.
    pub requests: u32,
    /// The round trip of the recording, for information only. A replay uses the round trip of its link.
    #[serde(with = "number::nanos::option", default)]
    pub recorded_rtt: Option<Duration>,
    /// The host whose connections its requests shared in the recording (RFC 9113 §9.1.1); None where they had their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares_with: Option<String>,
}
