//! What requests and responses of a recording say besides method, URL, status, type and length: fields, the bytes that a
//! request sends, the messages of a WebSocket.

use crate::number;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use unit::ByteSize;

/// A field of a request or a response.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// Its name, in lower case.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Field {
    /// A field that every protocol can carry: a name of token characters in lower case, and a value without control
    /// characters (RFC 9110 §5.1, §5.5). None of another one.
    pub fn new(name: &str, value: &str) -> Option<Self> {
        const OTHERS: &[u8] = b"!#$%&'*+-.^_`|~";
        let is_token = |b: u8| b.is_ascii_alphanumeric() || OTHERS.contains(&b);
        let value = value.trim_matches([' ', '\t']);
        let is_value = value.bytes().all(|b| b == b'\t' || (b >= b' ' && b != 0x7f));
        let fits = !name.is_empty() && name.bytes().all(is_token) && is_value;
        fits.then(|| Self { name: name.to_ascii_lowercase(), value: value.to_owned() })
    }
}

/// What a request says besides its method and its URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Fields that the answer depends on: `Range`, the validators of a conditional request, the type of the body.
    pub fields: Vec<Field>,
    /// Bytes of its body.
    #[serde(with = "number::bytes")]
    pub body: ByteSize,
}

impl Asked {
    /// Whether it says nothing of its own.
    pub fn is_plain(&self) -> bool {
        self.fields.is_empty() && self.body == ByteSize::ZERO
    }
}

/// What a response says besides its status, its type and its length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Answered {
    /// Fields: `Location` of a redirect, `Content-Range` of a part, `Cache-Control` of what is not to be used again, and of a recorded
    /// site all that say something to a browser.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// How long the body takes to come, evenly, where it is made as it goes (server-sent events); None: as fast as the
    /// link takes it.
    #[serde(with = "number::nanos::option", skip_serializing_if = "Option::is_none")]
    pub streamed: Option<Duration>,
    /// The messages of a WebSocket, in their order; None where it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Message>>,
    /// The file of a recorded site's folder that has the decoded body; None where the body is not kept. Of a stream that went on
    /// after the load it has more than that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The path as it was recorded, where the replay has another one for it: a URL that answered differently before. None
    /// where it is the replay's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_path: Option<String>,
}

impl Answered {
    /// Whether it says nothing of its own.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// The value of a field, by its name in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.name == name).map(|field| field.value.as_str())
    }
}

/// A message of a WebSocket. It is sent once all before it have been sent or have come.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// Who sends it.
    pub from: Sender,
    /// Whether it is text.
    pub kind: MessageKind,
    /// How much later than the one before it; the first one, than the opening.
    #[serde(with = "number::nanos")]
    pub after: Duration,
    /// Its payload.
    #[serde(with = "number::base64")]
    pub data: Vec<u8>,
}

/// Who sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// The page.
    Client,
    /// The server.
    Server,
}

/// What a message is (RFC 6455 §5.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// UTF-8.
    Text,
    /// Bytes.
    Binary,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_would_break_a_head_is_none() {
        let field = Field::new("Location", " /there ").unwrap();
        assert_eq!((field.name.as_str(), field.value.as_str()), ("location", "/there"));
        for (name, value) in [
            ("", "x"),
            ("a b", "x"),
            (":status", "200"),
            ("x", "a\r\nSet-Cookie: b"),
            ("x", "a\0"),
            ("x\n", "a"),
        ] {
            assert_eq!(Field::new(name, value), None, "{name:?}: {value:?}");
        }
    }

    #[test]
    fn messages_survive_their_file() {
        let message = Message {
            from: Sender::Server,
            kind: MessageKind::Binary,
            after: Duration::from_millis(3),
            data: vec![0, 255, 7],
        };
        let answered = Answered { messages: Some(vec![message]), ..Answered::default() };
        let text = serde_json::to_string(&answered).unwrap();
        assert_eq!(serde_json::from_str::<Answered>(&text).unwrap(), answered);
        assert!(!answered.is_plain() && Answered::default().is_plain());
    }
}
