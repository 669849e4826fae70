//! The workload `echo`: small messages, each of which has to come back as it should. The one rule: an answer is
//! compared byte by byte, or a server that answers anything at all would seem to have done the work.

mod requests;
mod socket;

pub use requests::EchoRequests;
pub use socket::EchoSocket;

use bytes::Bytes;

/// A message, and what has to come back for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What is sent.
    pub text: Bytes,
    /// What has to come back.
    pub answer: Bytes,
}

impl Message {
    /// The rule that `got` breaks as an answer; None for the right one.
    fn broken_by(&self, got: &[u8]) -> Option<String> {
        (got != self.answer).then(|| {
            let (got, wanted) = (shown(got), shown(&self.answer));
            format!("an answer is its message's echo: `{got}` came back where `{wanted}` belongs")
        })
    }
}

/// As much of a message as a line bears.
fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(MOST) {
        None => text.into_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
