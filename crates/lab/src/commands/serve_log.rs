//! What `serve` tells of its exchanges: lines on its output, and the file of `--delivery-log`, a line of JSON for each stream
//! that ended. All threads write to that, a line a call.

use crate::console;
use crate::error::{self, CliError};
use origin::{AccessLog, AccessRecord, DeliveryLog, ExchangeEnd, SkippedPush};
use proto::{Error, ResponseHead};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trace::DeliveryRecord;
use wire::golomb::BadSet;

/// What is printed, and the delivery log, where there is one.
pub(super) struct Log {
    pub(super) printed: Printed,
    pub(super) delivery: Option<Rc<DeliveryLog>>,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Printed {
    /// A line an exchange, on standard output, and all that follows.
    Exchanges,
    /// A line for each push of a policy that is not made, on standard error.
    SkippedPushes,
}

impl AccessLog for Log {
    fn began(&self, connection: u64, stream: u64) {
        if let Some(delivery) = &self.delivery {
            delivery.began(connection, stream);
        }
    }

    fn answered(&self, connection: u64, stream: u64, head: &ResponseHead) {
        if let Some(delivery) = &self.delivery {
            delivery.answered(connection, stream, head);
        }
    }

    fn record(&self, record: &AccessRecord<'_>) {
        if let Some(delivery) = &self.delivery {
            delivery.record(record);
        }
        if self.printed == Printed::Exchanges {
            print_exchange(record);
        }
    }

    fn ended_by_error(&self, connection: u64, error: &Error) {
        // A client that goes away in the middle of something breaks no rule.
        let is_fault = matches!(error, Error::PeerViolation { .. });
        if self.printed == Printed::Exchanges && is_fault {
            let _ = console::print(&format!("connection {connection} ended: {error}\n"));
        }
    }

    fn unreadable(&self, connection: u64, name: &str, why: BadSet) {
        if self.printed == Printed::Exchanges {
            let _ = console::print(&format!("connection {connection}: {name} is ignored: {why}\n"));
        }
    }

    fn not_pushed(&self, SkippedPush { target, why }: &SkippedPush<'_>) {
        console::note(&format!("{target} is not pushed: {why}"));
    }
}

fn print_exchange(record: &AccessRecord<'_>) {
    let status = record.status.map_or("-".to_owned(), |status| status.to_string());
    let took = unit::format_duration(record.finished.since(record.received));
    let (protocol, method, authority) = (record.protocol, record.method, record.authority);
    let pushed = match (record.pushed_with, record.end) {
        (None, _) => String::new(),
        (Some(stream), ExchangeEnd::Done) => format!(" pushed with stream {stream}"),
        (Some(stream), _) => format!(" pushed with stream {stream}, cancelled"),
    };
    let line = format!(
        "{protocol} {method} {authority}{} {status} {} bytes {took}{pushed}\n",
        record.path, record.sent_bytes
    );
    let _ = console::print(&line);
}

/// The file, open for lines at its end.
#[derive(Debug, Clone)]
pub(super) struct DeliveryFile {
    file: Arc<File>,
    path: Arc<PathBuf>,
    /// That writing has failed, which is said once.
    has_failed: Arc<AtomicBool>,
}

impl DeliveryFile {
    /// The file at this path. What is in it stays, as in that of `SSLKEYLOGFILE`: it may be an earlier run's log, or no log at all.
    pub(super) fn open(path: &Path) -> Result<Self, CliError> {
        let unwritable =
            |error| error::file(format!("writing the delivery log {}", path.display()), &error);
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(unwritable)?;
        let (file, path) = (Arc::new(file), Arc::new(path.to_owned()));
        Ok(Self { file, path, has_failed: Arc::default() })
    }

    /// Adds a line. A full disk ends the log, and not the server.
    pub(super) fn add(&self, record: &DeliveryRecord) {
        let Ok(mut line) = serde_json::to_vec(record) else { return };
        line.push(b'\n');
        if let Err(error) = (&*self.file).write_all(&line)
            && !self.has_failed.swap(true, Ordering::Relaxed)
        {
            console::note(&format!("writing the delivery log {}: {error}", self.path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_delivery_log_holds_stays_when_it_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        DeliveryFile::open(&path).unwrap();
        std::fs::write(&path, "an earlier run\n").unwrap();
        DeliveryFile::open(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "an earlier run\n");
    }
}
