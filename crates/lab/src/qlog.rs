//! qlog files of our own ends: one for each connection over QUIC.

use crate::error::{self, CliError};
use report::{QlogConnection, QlogHead, QlogVantage};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use trace::{Event, Sink, Tracer};
use unit::Instant;

/// What a process's qlog files are called and hold.
#[derive(Debug, Clone)]
pub(crate) struct QlogSpec {
    /// The path of each file up to `-N.sqlog`, where N counts the connections from 0.
    pub(crate) stem: PathBuf,
    /// What the connections are part of.
    pub(crate) title: String,
    /// Which end this process is.
    pub(crate) vantage: QlogVantage,
}

impl QlogSpec {
    /// The files of one of several threads.
    pub(crate) fn of_thread(&self, index: usize) -> Self {
        let mut stem = self.stem.clone().into_os_string();
        stem.push(format!("-{index}"));
        Self { stem: stem.into(), ..self.clone() }
    }
}

/// The files that are open.
struct QlogFiles {
    spec: QlogSpec,
    /// The time since 1970 when our clock stood at zero, in milliseconds.
    zero_unix_ms: u64,
    files: RefCell<Files>,
}

#[derive(Default)]
struct Files {
    /// Connections so far.
    count: usize,
    /// By the connection's number.
    open: BTreeMap<u64, QlogFile>,
}

struct QlogFile {
    connection: QlogConnection,
    /// None once writing has failed: qlog is for looking at, and a full disk must not end a trial.
    out: Option<BufWriter<File>>,
}

/// Files in the folder that the user names, which is made where it is missing.
pub(crate) fn into_folder(
    folder: Option<&Path>,
    vantage: QlogVantage,
) -> Result<Option<QlogSpec>, CliError> {
    let Some(folder) = folder else { return Ok(None) };
    fs::create_dir_all(folder)
        .map_err(|error| error::file(format!("making {}", folder.display()), &error))?;
    let role = match vantage {
        QlogVantage::Client => "client",
        QlogVantage::Server => "server",
    };
    // The files of an earlier process are not in the way.
    let (time, process) = (os::clock::realtime().as_millis(), std::process::id());
    let stem = folder.join(format!("{time}-{process}-{role}"));
    Ok(Some(QlogSpec { stem, title: format!("wirelap {role}"), vantage }))
}

/// A tracer that writes files; off without a spec.
pub(crate) fn tracer(spec: Option<QlogSpec>) -> Tracer {
    let Some(spec) = spec else { return Tracer::off() };
    let zero = os::clock::realtime().saturating_sub(os::clock::now().since(Instant::ZERO));
    let zero_unix_ms = u64::try_from(zero.as_millis()).unwrap_or(u64::MAX);
    Tracer::to(Rc::new(QlogFiles { spec, zero_unix_ms, files: RefCell::default() }))
}

impl QlogFiles {
    fn open(&self, number: usize) -> Option<BufWriter<File>> {
        let mut path = self.spec.stem.clone().into_os_string();
        path.push(format!("-{number}.sqlog"));
        // Never through a symbolic link that somebody else has left.
        let file = OpenOptions::new().write(true).create_new(true).open(path).ok()?;
        let mut out = BufWriter::new(file);
        let (title, vantage) = (&*self.spec.title, self.spec.vantage);
        let head = QlogHead { title, vantage, zero_unix_ms: self.zero_unix_ms };
        out.write_all(head.record(env!("CARGO_PKG_VERSION")).as_bytes()).ok()?;
        Some(out)
    }
}

impl Sink for QlogFiles {
    fn record(&self, at: Instant, connection: u64, event: &Event<'_>) {
        let mut files = self.files.borrow_mut();
        if matches!(event, Event::QuicStarted { .. }) {
            let out = self.open(files.count);
            files.count += 1;
            // An earlier visit's connections have the same numbers, and are over.
            files.open.insert(connection, QlogFile { connection: QlogConnection::default(), out });
        }
        // Late packets of a closed connection are behind it. A server would run out of descriptors if it kept their files.
        if matches!(event, Event::QuicForgotten) {
            files.open.remove(&connection);
            return;
        }
        // What runs over TCP has no file.
        let Some(file) = files.open.get_mut(&connection) else { return };
        let Some(record) = file.connection.record(at, event) else { return };
        let written = file.out.as_mut().map(|out| out.write_all(record.as_bytes()));
        let is_over = matches!(event, Event::QuicClosed(_));
        let flushed = file.out.as_mut().filter(|_| is_over).map(|out| out.flush());
        if written.is_some_and(|done| done.is_err()) || flushed.is_some_and(|done| done.is_err()) {
            file.out = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::QuicEnd;

    /// Descriptors of this process that are files of `folder`.
    fn open_in(folder: &Path) -> usize {
        let fds = fs::read_dir("/proc/self/fd").unwrap();
        let files = fds.filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
        files.filter(|file| file.starts_with(folder)).count()
    }

    #[test]
    fn the_file_of_a_connection_is_open_until_the_connection_is_forgotten_and_is_whole_then() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (title, vantage) = ("many".to_owned(), QlogVantage::Server);
        let tracer = tracer(Some(QlogSpec { stem: folder.join("own"), title, vantage }));
        let at = Instant::from_nanos(1_000_000);
        for connection in 0..100 {
            let tracer = tracer.for_connection(connection);
            let remote = "10.0.0.1:443".parse().unwrap();
            tracer.emit(at, || Event::QuicStarted { local: None, remote });
            tracer.emit(at, || Event::QuicClosed(QuicEnd::IdleTimeout));
            // A record that is late.
            let frame = "DATA";
            tracer.emit(at, || Event::FrameParsed { stream: 0, frame, length: 1 });
            assert_eq!(open_in(&folder), 1);
            tracer.emit(at, || Event::QuicForgotten);
        }
        assert_eq!(open_in(&folder), 0);
        for connection in 0..100 {
            let text = fs::read_to_string(folder.join(format!("own-{connection}.sqlog"))).unwrap();
            assert_eq!(text.matches('\u{1e}').count(), 4, "{text}");
            assert!(text.ends_with("}\n"), "{text}");
        }
    }
}
