//! The workload `stream`: tokens that the server sends one by one, each when it is due. The one rule: number, order,
//! bytes and due times of all tokens are checked against what the stream's seed says.

mod event_stream;
mod requests;
mod socket;

pub use event_stream::{EventStream, ServerEvent};
pub use requests::{Delivery, StreamRequests};
pub use socket::StreamSocket;

use page::{SyntheticStream, Token};
use trace::TokenRecord;
use unit::Instant;

/// The tokens of one stream so far.
#[derive(Debug)]
struct Arrivals {
    stream: SyntheticStream,
    tokens: Vec<TokenRecord>,
}

impl Arrivals {
    fn new(stream: SyntheticStream) -> Self {
        Self { stream, tokens: Vec::new() }
    }

    fn is_complete(&self) -> bool {
        self.tokens.len() == self.stream.count as usize
    }

    /// Takes the next token; an error says how it differs from the expected one.
    fn take(&mut self, now: Instant, text: &str) -> Result<(), String> {
        let wrong = |what: &str| {
            let number = self.tokens.len();
            Err(format!("token {number} of stream {}: {what}", self.stream.name))
        };
        if self.is_complete() {
            return wrong("there is one more than was asked for");
        }
        let Some(token) = Token::parse(text) else { return wrong("its text has another form") };
        if token.stream != self.stream.name || token.number as usize != self.tokens.len() {
            let (number, stream) = (token.number, token.stream);
            return wrong(&format!("token {number} of stream {stream} came in its place"));
        }
        if token.text(self.stream.bytes) != text {
            return wrong("its bytes are others");
        }
        let planned = self.tokens.last().map(|last| last.due + self.stream.gap(token.number));
        if planned.is_some_and(|planned| planned != token.due) {
            return wrong("the server says another time than the stream's seed");
        }
        let Token { stream, number, due } = token;
        self.tokens.push(TokenRecord { stream, number, due, received: now });
        Ok(())
    }

    /// Why the stream is not whole; None where it is.
    fn lack(&self) -> Option<String> {
        (!self.is_complete())
            .then(|| format!("{} of {} tokens came", self.tokens.len(), self.stream.count))
    }
}
