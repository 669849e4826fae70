//! The workload `echo` made concrete: where each message goes and what has to come back. Over a WebSocket all go to one
//! place; as requests, a number goes in the query and a text as the body.

use bytes::Bytes;
use client::{FetchSpec, Message, Pattern, WebSocketConfig};
use page::{Kind, Url, UrlError};
use proto::Method;
use proto::ws::{DeflateOffer, Writes};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use study::experiment::{EchoPattern, EchoWorkload, Side};
use study::plan::WorkFacts;
use unit::{ByteSize, Seed};

/// Messages to send, and what has to come back for each.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EchoTask {
    /// When each is sent.
    pub(crate) pattern: EchoPattern,
    /// The WebSocket that takes them.
    pub(crate) socket: Url,
    /// Where masks and nonce come from.
    pub(crate) seed: u64,
    /// The messages, in order.
    pub(crate) messages: Vec<EchoMessage>,
    /// Page views that they are dealt out to, one at least.
    #[serde(default)]
    pub(crate) views: u32,
}

/// One message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EchoMessage {
    /// What is sent.
    pub(crate) text: String,
    /// What has to come back.
    pub(crate) answer: String,
    /// Where it goes as a request.
    pub(crate) url: Url,
    /// Whether a request has the text as its body.
    pub(crate) posted: bool,
}

impl EchoTask {
    /// The messages of `workload` to `host`; what is drawn is `seed`'s.
    pub(crate) fn of(workload: &EchoWorkload, host: &str, seed: Seed) -> Result<Self, UrlError> {
        let posted = workload.bytes.is_some();
        let message = |nth| {
            let (text, answer) = workload.message(seed, nth);
            let url = match posted {
                true => format!("http://{host}/echo"),
                false => format!("http://{host}/double?number={text}"),
            };
            Ok(EchoMessage { text, answer, url: url.parse()?, posted })
        };
        let service = if posted { "echo" } else { "double" };
        Ok(Self {
            pattern: workload.pattern,
            socket: format!("http://{host}/ws/{service}").parse()?,
            seed: seed.child("web socket").0,
            messages: (0..workload.count).map(message).collect::<Result<_, _>>()?,
            views: workload.views.unwrap_or(1),
        })
    }

    pub(crate) fn pattern(&self) -> Pattern {
        match self.pattern {
            EchoPattern::Serial => Pattern::Serial,
            EchoPattern::Parallel => Pattern::Parallel,
        }
    }

    /// The messages that a WebSocket sends and receives, of each page view.
    pub(crate) fn views(&self) -> impl Iterator<Item = Vec<Message>> {
        let each = self.messages.len().div_ceil(self.views.max(1) as usize).max(1);
        self.messages.chunks(each).map(|view| view.iter().map(EchoMessage::message).collect())
    }

    /// The same as requests.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (FetchSpec, Message)> {
        self.messages.iter().map(|message| (message.request(), message.message()))
    }

    /// How `side`'s WebSocket is opened.
    pub(crate) fn web_socket(&self, side: Side) -> WebSocketConfig {
        WebSocketConfig {
            url: self.socket.clone(),
            deflate: deflate(side),
            writes: writes(side),
            compression_level: COMPRESSION_LEVEL,
            seed: Seed(self.seed),
        }
    }
}

impl EchoMessage {
    fn message(&self) -> Message {
        let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        Message { text: bytes(&self.text), answer: bytes(&self.answer) }
    }

    fn request(&self) -> FetchSpec {
        let mut spec = FetchSpec { kind: Kind::Xhr, ..FetchSpec::get(self.url.clone()) };
        if self.posted {
            spec.method = Method::Post;
            spec.body = Bytes::copy_from_slice(self.text.as_bytes());
            spec.fields.push(b"content-type", b"text/plain;charset=UTF-8");
            spec.fields.push(b"content-length", self.text.len().to_string().as_bytes());
        }
        spec
    }
}

/// zlib's own default, which the servers and browsers of the field leave as it is: a trial is about them.
pub(crate) const COMPRESSION_LEVEL: u32 = 6;

/// The compression that a side offers, or takes where it is offered.
pub(crate) fn deflate(side: Side) -> Option<DeflateOffer> {
    side.deflate.then(DeflateOffer::default)
}

/// How a side's frames leave.
pub(crate) fn writes(side: Side) -> Writes {
    if side.writes == 2 { Writes::Two } else { Writes::One }
}

/// What the plan may know of messages beforehand: while a serial one is on its way, the link of `rtt` is idle.
pub(crate) fn echo_facts(echo: &EchoWorkload, rtt: Duration) -> WorkFacts {
    // A frame, or a request whose fields are compressed. HTTP/1.1's are ten times as large, and spread over many rounds.
    const FRAME: u64 = 60;
    let bytes = (echo.bytes.map_or(0, |bytes| bytes.0) + FRAME) * u64::from(echo.count);
    // Connect, a WebSocket's handshake, and the messages.
    let waiting = match echo.pattern {
        EchoPattern::Serial => rtt * (2 * echo.views.unwrap_or(1) + echo.count),
        EchoPattern::Parallel => rtt * 3,
    };
    WorkFacts { bytes: ByteSize(bytes), waiting }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_goes_in_the_query_and_a_text_as_the_body() {
        let workload =
            EchoWorkload { pattern: EchoPattern::Serial, count: 2, bytes: None, views: None };
        let task = EchoTask::of(&workload, "a.test", Seed(1)).unwrap();
        let (request, message) = task.requests().nth(1).unwrap();
        assert_eq!(request.url.to_string(), "http://a.test/double?number=2");
        assert_eq!(
            (request.method, &message.text[..], &message.answer[..]),
            (Method::Get, &b"2"[..], &b"4"[..])
        );
        assert_eq!(task.socket.to_string(), "http://a.test/ws/double");
        let task =
            EchoTask::of(&EchoWorkload { bytes: Some(ByteSize(9)), ..workload }, "a.test", Seed(1));
        let task = task.unwrap();
        let (request, message) = task.requests().next().unwrap();
        assert_eq!((request.method, request.body.len()), (Method::Post, 9));
        assert_eq!(request.body, message.answer);
        assert_eq!(task.socket.to_string(), "http://a.test/ws/echo");
    }
}
