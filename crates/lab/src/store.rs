//! The rows of a run, in SQLite: one table of trials, each with its whole record as JSON, and views
//! that lay its metrics, fetches and connections out for `sqlite3`. One fact, one home: the views
//! read the record. One writer; what is committed survives whatever happens next.

use crate::trouble::{self, Trouble};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use std::path::{Path, PathBuf};
use study::record::{Outcome, RunHeader, TrialRecord};

/// The file of rows, open for writing.
pub(crate) struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Makes the file new.
    pub(crate) fn create(path: &Path, header: &RunHeader) -> Result<Self, Trouble> {
        let store = Self::open_file(path)?;
        store
            .connection
            .execute_batch(SCHEMA)
            .map_err(|error| store.trouble("laying out", &error))?;
        store
            .connection
            .execute("INSERT INTO run (header) VALUES (?1)", params![json(header)?])
            .map_err(|error| store.trouble("writing to", &error))?;
        Ok(store)
    }

    /// Opens the file of an earlier run.
    pub(crate) fn open(path: &Path) -> Result<Self, Trouble> {
        if !path.is_file() {
            return Err(Trouble::misuse(format!("{} is not there", path.display()))
                .remedy("give the folder of a run, as `wirelap race` made it"));
        }
        Self::open_file(path)
    }

    /// What the run is.
    pub(crate) fn header(&self) -> Result<RunHeader, Trouble> {
        let text: Option<String> = self
            .connection
            .query_row("SELECT header FROM run", [], |row| row.get(0))
            .optional()
            .map_err(|error| match error.sqlite_error_code() {
                // A query that is right elsewhere: there is no such table.
                Some(ErrorCode::Unknown) => self.damaged("it has no table of the run"),
                _ => self.trouble("reading", &error),
            })?;
        let text = text.ok_or_else(|| self.damaged("it has no header"))?;
        serde_json::from_str(&text).map_err(|error| self.damaged(&format!("its header: {error}")))
    }

    /// Adds a row, in place of an earlier one of the same trial.
    pub(crate) fn put(&mut self, record: &TrialRecord) -> Result<(), Trouble> {
        let (outcome, reason) = match &record.outcome {
            Outcome::Measured => ("measured", None),
            Outcome::Invalid { reason } => ("invalid", Some(reason)),
            Outcome::Failed { reason } => ("failed", Some(reason)),
            Outcome::Unsupported { reason, .. } => ("unsupported", Some(reason)),
        };
        let plan = &record.plan;
        self.connection
            .execute(
                "INSERT OR REPLACE INTO trials (key, workload, link, contender, block, place, warmup, \
                 seed, outcome, reason, started_unix_ms, duration_ms, record) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                params![
                    plan.key,
                    plan.cell.workload.name,
                    plan.cell.link.name,
                    plan.cell.contender.name,
                    plan.block,
                    plan.order,
                    plan.warmup,
                    // SQLite's integers are signed: a seed above 2^63 stands as text.
                    plan.seed.to_string(),
                    outcome,
                    reason,
                    record.started_unix_ms as i64,
                    record.duration_ms,
                    json(record)?,
                ],
            )
            .map(|_| ())
            .map_err(|error| self.trouble("writing to", &error))
    }

    /// Every row, in the order of running. Rows that cannot be read are named, and the rest is given.
    pub(crate) fn records(&self) -> Result<Rows, Trouble> {
        let read = || -> rusqlite::Result<Vec<(String, String)>> {
            let mut statement = self
                .connection
                .prepare("SELECT key, record FROM trials ORDER BY started_unix_ms, key")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        let texts = read().map_err(|error| self.trouble("reading", &error))?;
        let mut rows = Rows::default();
        for (key, text) in texts {
            match serde_json::from_str(&text) {
                Ok(record) => rows.records.push(record),
                Err(error) => rows.damaged.push(format!("{key}: {error}")),
            }
        }
        Ok(rows)
    }

    fn open_file(path: &Path) -> Result<Self, Trouble> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(path)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            // With WAL this loses nothing that a crash of the process could lose.
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            Ok(connection)
        };
        match open() {
            Ok(connection) => Ok(Self { connection, path: path.to_owned() }),
            Err(error) => Err(trouble_with(path, "opening", &error)),
        }
    }

    fn trouble(&self, attempted: &str, error: &rusqlite::Error) -> Trouble {
        trouble_with(&self.path, attempted, error)
    }

    fn damaged(&self, what: &str) -> Trouble {
        Trouble::failed(format!("{} is damaged: {what}", self.path.display()))
            .remedy("run the experiment again, or restore the file")
    }
}

/// What a file of rows holds.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Rows that were read.
    pub(crate) records: Vec<TrialRecord>,
    /// Rows that could not be, each with the reason.
    pub(crate) damaged: Vec<String>,
}

/// `PRAGMA user_version` 1. The views give times in milliseconds since the trial's first fetch was wished for.
const SCHEMA: &str = "
PRAGMA user_version = 1;
CREATE TABLE run (header TEXT NOT NULL);
CREATE TABLE trials (
  key TEXT PRIMARY KEY,
  workload TEXT NOT NULL, link TEXT NOT NULL, contender TEXT NOT NULL,
  block INTEGER NOT NULL, place INTEGER NOT NULL, warmup INTEGER NOT NULL, seed TEXT NOT NULL,
  outcome TEXT NOT NULL, reason TEXT,
  started_unix_ms INTEGER NOT NULL, duration_ms REAL NOT NULL,
  record TEXT NOT NULL
) WITHOUT ROWID;
CREATE VIEW metrics AS
  SELECT t.key, t.workload, t.link, t.contender, t.block, t.warmup, t.outcome, m.key AS metric, m.value
  FROM trials t, json_each(t.record, '$.metrics') m;
CREATE VIEW fetches AS
  WITH origin AS (
    SELECT t.key AS trial, min(f.value ->> '$.phases.queued') AS zero
    FROM trials t, json_each(t.record, '$.fetches') f GROUP BY t.key)
  SELECT t.key, t.link, t.contender, f.value ->> '$.id' AS id, f.value ->> '$.url' AS url,
    f.value ->> '$.connection' AS connection, f.value ->> '$.stream' AS stream,
    f.value ->> '$.protocol' AS protocol, f.value ->> '$.status' AS status,
    f.value ->> '$.body_bytes' AS body_bytes,
    (f.value ->> '$.phases.queued' - zero) / 1e6 AS queued_ms,
    (f.value ->> '$.phases.connect_start' - zero) / 1e6 AS connect_start_ms,
    (f.value ->> '$.phases.connected' - zero) / 1e6 AS connected_ms,
    (f.value ->> '$.phases.secured' - zero) / 1e6 AS secured_ms,
    (f.value ->> '$.phases.sent' - zero) / 1e6 AS sent_ms,
    (f.value ->> '$.phases.first_byte' - zero) / 1e6 AS first_byte_ms,
    (f.value ->> '$.phases.last_byte' - zero) / 1e6 AS last_byte_ms,
    f.value -> '$.outcome' AS outcome
  FROM trials t JOIN origin ON origin.trial = t.key, json_each(t.record, '$.fetches') f;
CREATE VIEW connections AS
  SELECT t.key, t.link, t.contender, c.value ->> '$.id' AS id, c.value ->> '$.authority' AS authority,
    c.value ->> '$.protocol' AS protocol, c.value ->> '$.tls.version' AS tls,
    c.value ->> '$.tls.resumed' AS resumed, c.value ->> '$.requests' AS requests,
    c.value ->> '$.pushed' AS pushed,
    c.value ->> '$.headers.sent.plain' AS header_octets_sent_plain,
    c.value ->> '$.headers.sent.coded' AS header_octets_sent,
    c.value ->> '$.headers.received.plain' AS header_octets_received_plain,
    c.value ->> '$.headers.received.coded' AS header_octets_received,
    c.value ->> '$.rounds' AS rounds, c.value ->> '$.bytes_sent' AS bytes_sent,
    c.value ->> '$.bytes_received' AS bytes_received
  FROM trials t, json_each(t.record, '$.connections') c;
";

fn json<T: serde::Serialize>(value: &T) -> Result<String, Trouble> {
    serde_json::to_string(value).map_err(|error| Trouble::failed(format!("writing a row: {error}")))
}

fn trouble_with(path: &Path, attempted: &str, error: &rusqlite::Error) -> Trouble {
    use std::io::ErrorKind;
    let attempted = format!("{attempted} {}", path.display());
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => trouble::file(attempted, &ErrorKind::StorageFull.into()),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            trouble::file(attempted, &ErrorKind::PermissionDenied.into())
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            Trouble::failed(format!("{attempted}: the file is damaged or is not a run's rows"))
                .remedy("run the experiment again, or restore the file")
        }
        // A full disk shows as this too where SQLite does not look at the cause.
        Some(ErrorCode::SystemIoFailure) if is_full(path) => {
            trouble::file(attempted, &ErrorKind::StorageFull.into())
        }
        _ => Trouble::failed(format!("{attempted}: {error}")),
    }
}

/// Whether the disk below `path` takes no more.
fn is_full(path: &Path) -> bool {
    let probe = path.with_extension("probe");
    let written = std::fs::write(&probe, [0; 64 * 1024]);
    let _ = std::fs::remove_file(&probe);
    written.is_err_and(|error| error.kind() == std::io::ErrorKind::StorageFull)
}
