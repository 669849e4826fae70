//! Pushes that were promised and whose SYN_STREAM has not been queued. Where the answer's head comes
//! before the next bytes go, both are one SYN_STREAM, which is all that some clients understand.

use super::framing::{BlockFrame, fin_flag, put_block, syn_fields};
use super::head_out;
use crate::multiplex::{FrameWriter, Promise};
use crate::{Fin, RequestHead, ResponseHead};
use wire::spdy::{Encoder, FLAG_UNIDIRECTIONAL, FrameKind};

#[derive(Debug)]
pub(super) struct Pushes {
    waiting: Vec<(Promise, RequestHead)>,
    /// The level of every push.
    level: u8,
}

/// The head of a push's answer.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub(super) id: u32,
    pub(super) head: &'a ResponseHead,
    pub(super) fin: Fin,
}

impl Pushes {
    /// `level` is that of every push.
    pub(super) fn new(level: u8) -> Self {
        Self { waiting: Vec::new(), level }
    }

    pub(super) fn keep(&mut self, promise: Promise, head: RequestHead) {
        self.waiting.push((promise, head));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn waits(&self, id: u32) -> bool {
        self.waiting.iter().any(|(promise, _)| promise.promised == id)
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Queues the pushes whose answers nobody has begun; their heads come in HEADERS.
    pub(super) fn put_all(&mut self, out: &mut FrameWriter<'_>, encoder: &mut Encoder) {
        for (promise, head) in self.waiting.drain(..) {
            head_out::put_request(encoder, &head);
            let between = syn_fields(promise.parent, self.level);
            put_block(out, encoder, push_frame(promise, &between, Fin::More));
        }
    }

    /// Queues a push with its answer. Those promised before it go before it, since identifiers only
    /// grow.
    pub(super) fn put_with_answer(
        &mut self,
        out: &mut FrameWriter<'_>,
        encoder: &mut Encoder,
        answer: Answer<'_>,
    ) {
        let Answer { id, head: answer, fin } = answer;
        let at = self.waiting.iter().position(|(promise, _)| promise.promised == id);
        for (promise, head) in self.waiting.drain(..at.map_or(0, |at| at + 1)) {
            let fin = if promise.promised == id {
                head_out::put_push(encoder, &head, answer);
                fin
            } else {
                head_out::put_request(encoder, &head);
                Fin::More
            };
            let between = syn_fields(promise.parent, self.level);
            put_block(out, encoder, push_frame(promise, &between, fin));
        }
    }
}

/// The SYN_STREAM of a push.
fn push_frame<'a>(promise: Promise, between: &'a [u8], fin: Fin) -> BlockFrame<'a> {
    let flags = FLAG_UNIDIRECTIONAL | fin_flag(fin);
    BlockFrame { kind: FrameKind::SYN_STREAM, flags, id: promise.promised, between }
}
