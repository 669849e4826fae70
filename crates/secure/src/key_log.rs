//! TLS secrets for packet analysers, in the NSS key log format (`SSLKEYLOGFILE`). The one rule: this
//! crate never opens a file; the lines go to a sink handed in.

use std::fmt::{Debug, Write};
use std::sync::Arc;

/// Takes the lines of a key log.
pub trait KeyLog: Debug + Send + Sync {
    /// One line, without its end: `LABEL CLIENT_RANDOM SECRET`.
    fn line(&self, line: &str);
}

/// Gives rustls's secrets to the sink as lines.
#[derive(Debug)]
struct Lines(Arc<dyn KeyLog>);

impl rustls::KeyLog for Lines {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut line =
            String::with_capacity(label.len() + 2 * (client_random.len() + secret.len()));
        line.push_str(label);
        for part in [client_random, secret] {
            line.push(' ');
            for byte in part {
                // Writing to a String cannot fail.
                let _ = write!(line, "{byte:02x}");
            }
        }
        self.0.line(&line);
    }
}

/// The sink as rustls wants it; None logs nothing.
pub(crate) fn for_rustls(sink: Option<&Arc<dyn KeyLog>>) -> Arc<dyn rustls::KeyLog> {
    match sink {
        Some(sink) => Arc::new(Lines(sink.clone())),
        None => Arc::new(rustls::NoKeyLog {}),
    }
}
