//! The workload `echo`: small messages that the server has to send back. The one rule: each answer is compared byte by
//! byte. Otherwise a server that answers anything would seem to do the work.

mod requests;
mod socket;

pub use requests::EchoRequests;
pub use socket::EchoSocket;

use bytes::Bytes;

/// A message and its expected answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The message.
    pub text: Bytes,
    /// The expected answer.
    pub answer: Bytes,
}

impl Message {
    /// How `got` differs from the expected answer; None where it does not.
    fn broken_by(&self, got: &[u8]) -> Option<String> {
        (got != self.answer).then(|| {
            let (got, wanted) = (shown(got), shown(&self.answer));
            format!("an answer is its message's echo: `{got}` came back where `{wanted}` belongs")
        })
    }
}

/// The beginning of a message, short enough for an error line.
fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(MOST) {
        None => text.into_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
