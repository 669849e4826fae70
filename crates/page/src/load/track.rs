//! One resource in a load: its state, and the resources that wait for it.

use super::ExpectedResponse;
use crate::browser::Class;
use crate::exchange::{Asked, Message};
use crate::priority::{Hint, Rank};
use crate::resource::{Blocks, Fold, Kind, Method, ResourceId};
use crate::scan::Scanner;
use crate::url::Url;
use std::sync::Arc;
use std::time::Duration;
use unit::Instant;

/// One resource of a page in a load.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) url: Url,
    pub(super) kind: Kind,
    pub(super) hint: Hint,
    /// What it is to the browser; None until it is released, and where a recording says its priority.
    pub(super) class: Option<Class>,
    pub(super) think: Duration,
    pub(super) method: Method,
    pub(super) expected: Option<ExpectedResponse>,
    pub(super) asked: Arc<Asked>,
    /// The messages of a WebSocket; None where it is none.
    pub(super) messages: Option<Arc<[Message]>>,
    pub(super) blocks: Blocks,
    pub(super) pixels: Option<u32>,
    pub(super) fold: Fold,
    /// Where it stands in the main document, in bytes from its beginning; None where the document does not name it.
    pub(super) offset: Option<u64>,
    pub(super) state: State,
    pub(super) history: History,
    pub(super) received: u64,
    /// Known children by the offset at which the parser finds them, in descending order.
    pub(super) parsed: Vec<(u64, ResourceId)>,
    /// Known children that wait for the whole.
    pub(super) completed: Vec<ResourceId>,
    /// The scanner of a document that is read from the wire.
    pub(super) scanner: Option<Scanner>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    Unknown,
    Thinking,
    Ready,
    InFlight,
    Done,
    Failed(String),
    Abandoned,
}

/// What happened to one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct History {
    /// Whose arrival made it known; None for a root.
    pub released_by: Option<ResourceId>,
    /// It became known.
    pub found: Option<Instant>,
    /// It was handed out to be fetched.
    pub started: Option<Instant>,
    /// Its head arrived.
    pub first_byte: Option<Instant>,
    /// The first byte of its body arrived.
    pub first_body_byte: Option<Instant>,
    /// It arrived whole, failed or was abandoned.
    pub ended: Option<Instant>,
}

impl Track {
    pub(super) fn new(url: Url, kind: Kind) -> Self {
        Self {
            url,
            kind,
            hint: Hint::None,
            class: None,
            think: Duration::ZERO,
            method: Method::Get,
            expected: None,
            asked: Arc::default(),
            messages: None,
            blocks: Blocks::Nothing,
            pixels: None,
            fold: Fold::Unknown,
            offset: None,
            state: State::Unknown,
            history: History::default(),
            received: 0,
            parsed: Vec::new(),
            completed: Vec::new(),
            scanner: None,
        }
    }

    /// Its response begins anew.
    pub(super) fn begin_again(&mut self) {
        self.history.first_byte = None;
        self.history.first_body_byte = None;
        self.received = 0;
        self.scanner = self.scanner.take().map(|_| Scanner::new());
    }

    /// Whether it is an image that can be seen, in flight and not urgent yet.
    pub(super) fn can_be_raised(&self) -> bool {
        let is_urgent =
            matches!(self.hint, Hint::Raised | Hint::Recorded(Rank::High | Rank::VeryHigh));
        let is_seen = self.kind == Kind::Image && self.fold == Fold::Above;
        is_seen && self.state == State::InFlight && !is_urgent
    }

    /// The children that still wait, in the order in which the parser would find them.
    pub(super) fn take_children(&mut self) -> Vec<ResourceId> {
        let mut children: Vec<_> = self.parsed.drain(..).rev().map(|(_, id)| id).collect();
        children.append(&mut self.completed);
        children
    }
}
