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
