//! The rows of a run, in SQLite: one table of trials, each with its whole record as JSON, and views
//! that lay its metrics, fetches, connections and deliveries out for `sqlite3`. One fact, one home: the views
//! read the record. One writer; what is committed survives whatever happens next.

mod open;

use crate::error::{self, CliError};
use crate::foreign;
use open::Opened;
use os::replace::NewFile;
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use study::outcome::Outcome;
use study::record::{ROWS_SCHEMA, RunHeader, TrialRecord};

/// The file of rows, open for writing.
pub(crate) struct Store {
    connection: Connection,
    path: PathBuf,
    /// Whether it is damaged so that it can be read in parts, and not be written to.
    truncated: bool,
    /// The file's device and number.
    identity: Option<(u64, u64)>,
}

impl Store {
    /// Makes the file new.
    pub(crate) fn create(path: &Path, header: &RunHeader) -> Result<Self, CliError> {
        let store = Self::to_write(path)?;
        store
            .connection
            .execute_batch(SCHEMA)
            .map_err(|error| store.error("laying out", &error))?;
        store
            .connection
            .execute("INSERT INTO run (header) VALUES (?1)", params![json(header)?])
            .map_err(|error| store.error("writing to", &error))?;
        Ok(store)
    }

    /// Opens the file of an earlier run, to go on with it.
    pub(crate) fn open_whole(path: &Path) -> Result<Self, CliError> {
        // What is wrong with it is found while nothing is written to it.
        let store = Self::open(path)?;
        if store.truncated {
            return Err(store.damaged("it is truncated and takes no more rows"));
        }
        open::check_layout(&store.connection, SCHEMA)
            .map_err(|error| store.error("reading", &error))?
            .map_err(|what| store.damaged(&what))?;
        drop(store);
        Self::to_write(path)
    }

    /// Opens the file of an earlier run, to read what it holds. The file may be somebody else's: see [`open`].
    pub(crate) fn open(path: &Path) -> Result<Self, CliError> {
        check_files(path)?;
        let Opened { connection, truncated } =
            open::to_read(path).map_err(|error| file_error(path, "opening", &error))?;
        let store = Self::of(connection, path, truncated);
        match open::check_tables(&store.connection) {
            Ok(Ok(())) => Ok(store),
            Ok(Err(what)) => Err(store.damaged(&what)),
            // What can be read of it is known from its rows.
            Err(_) if store.truncated => Ok(store),
            Err(error) => Err(store.error("reading", &error)),
        }
    }

    /// What the run is.
    pub(crate) fn header(&self) -> Result<RunHeader, CliError> {
        let text: Option<String> = self
            .connection
            .query_row("SELECT header FROM run", [], |row| row.get(0))
            .optional()
            .map_err(|error| match self.truncated {
                true => self.damaged("its header cannot be read"),
                false => self.unread("the run", &error),
            })?;
        let text = text.ok_or_else(|| self.damaged("it has no header"))?;
        let broken = |error| self.damaged(&format!("its header: {error}"));
        let header: serde_json::Value = foreign::from_json(&text).map_err(broken)?;
        match header["schema"].as_str() {
            None | Some(ROWS_SCHEMA) => serde_json::from_value(header).map_err(broken),
            Some(other) => Err(self.of_another_version(&format!("`{other}`"), &header)),
        }
    }

    /// Writes down what the run has become.
    pub(crate) fn set_header(&mut self, header: &RunHeader) -> Result<(), CliError> {
        self.connection
            .execute("UPDATE run SET header = ?1", params![json(header)?])
            .map(|_| ())
            .map_err(|error| self.error("writing to", &error))
    }

    /// Adds a row, in place of an earlier one of the same trial.
    pub(crate) fn put(&mut self, record: &TrialRecord) -> Result<(), CliError> {
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
            .map_err(|error| self.error("writing to", &error))
    }

    /// Whether the file is still what the run's folder has under its name. SQLite notices nothing: it goes on writing to a
    /// file that nobody can open any more.
    pub(crate) fn check_place(&self) -> Result<(), CliError> {
        if identity(&self.path) == self.identity {
            return Ok(());
        }
        let what = format!("{} was deleted or replaced while the race ran", self.path.display());
        Err(CliError::failed(what).remedy("race again, and leave the run's folder alone meanwhile"))
    }

    /// Every row, in the order of running. What cannot be read is named, and the rest is given: rows before a
    /// damaged place of the file, and those behind it.
    pub(crate) fn records(&self) -> Result<Rows, CliError> {
        let mut rows = Rows::default();
        let mut seen = BTreeSet::new();
        if let Err(error) = self.scan("ASC", &mut rows, &mut seen) {
            if !self.is_damage(&error) {
                return Err(self.unread("trials", &error));
            }
            rows.damaged.push(format!("a place in {}: {error}", self.path.display()));
            // From the other end up to the same place; that it is met again is known.
            let _ = self.scan("DESC", &mut rows, &mut seen);
        }
        let started = |record: &TrialRecord| (record.started_unix_ms, record.plan.key.clone());
        rows.records.sort_by_cached_key(started);
        Ok(rows)
    }

    /// Adds the rows that are not `seen` yet, by key up or down, as far as the file can be read. A row of which a
    /// part is missing is stepped over.
    fn scan(
        &self,
        way: &str,
        rows: &mut Rows,
        seen: &mut BTreeSet<String>,
    ) -> rusqlite::Result<()> {
        let mut done = 0;
        while let Err(error) = self.scan_from(way, &mut done, rows, seen) {
            let query = format!("SELECT key FROM trials ORDER BY key {way} LIMIT 1 OFFSET ?1");
            let key: Option<String> =
                self.connection.query_row(&query, [done], |row| row.get(0)).optional()?;
            let Some(key) = key.filter(|_| self.is_damage(&error)) else { return Err(error) };
            done += 1;
            if seen.insert(key.clone()) {
                rows.damaged.push(format!("{key}: {error}"));
            }
        }
        Ok(())
    }

    /// Goes on behind the first `done` rows, and counts on.
    fn scan_from(
        &self,
        way: &str,
        done: &mut i64,
        rows: &mut Rows,
        seen: &mut BTreeSet<String>,
    ) -> rusqlite::Result<()> {
        let query = format!("SELECT key, record FROM trials ORDER BY key {way} LIMIT -1 OFFSET ?1");
        let mut statement = self.connection.prepare(&query)?;
        let mut found = statement.query([*done])?;
        while let Some(row) = found.next()? {
            let text = |column| -> rusqlite::Result<String> {
                Ok(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?).into_owned())
            };
            let (key, record) = (text(0)?, text(1)?);
            *done += 1;
            if !seen.insert(key.clone()) {
                continue;
            }
            match foreign::from_json(&record) {
                Ok(record) => rows.records.push(record),
                Err(error) => rows.damaged.push(format!("{key}: {error}")),
            }
        }
        Ok(())
    }

    /// Whether the file is at fault, and not the system. Of one that is cut short anything may be wrong.
    fn is_damage(&self, error: &rusqlite::Error) -> bool {
        self.truncated || is_damage(error)
    }

    fn to_write(path: &Path) -> Result<Self, CliError> {
        let connection =
            open::to_write(path).map_err(|error| file_error(path, "opening", &error))?;
        Ok(Self::of(connection, path, false))
    }

    fn of(connection: Connection, path: &Path, truncated: bool) -> Self {
        Self { connection, path: path.to_owned(), truncated, identity: identity(path) }
    }

    /// Why a query of ours brought nothing.
    fn unread(&self, table: &str, error: &rusqlite::Error) -> CliError {
        match error.sqlite_error_code() {
            // It is right elsewhere: there is no such table.
            Some(ErrorCode::Unknown) => self.damaged(&format!("it has no table of {table}")),
            _ => self.error("reading", error),
        }
    }

    fn error(&self, attempted: &str, error: &rusqlite::Error) -> CliError {
        file_error(&self.path, attempted, error)
    }

    /// Nothing is wrong with rows that another wirelap wrote, and nothing may be read into them.
    fn of_another_version(&self, layout: &str, header: &serde_json::Value) -> CliError {
        let maker = match header["version"].as_str() {
            Some(version) => format!("wirelap {version}, which made it"),
            None => "the wirelap that made it".to_owned(),
        };
        let file = self.path.display();
        CliError::misuse(format!("{file} follows {layout}, and this wirelap reads `{ROWS_SCHEMA}`"))
            .remedy(format!("read it with {maker}"))
    }

    fn damaged(&self, what: &str) -> CliError {
        CliError::misuse(format!("{} is damaged: {what}", self.path.display()))
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

/// `PRAGMA user_version` 1. The views give times in milliseconds since the trial's first fetch was queued; `counted` has the keys of
/// the trials that count, as `study::blocks::counted` chooses them.
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
CREATE VIEW counted AS
  WITH attempts AS (
    SELECT workload, link, block, record ->> '$.plan.attempt' AS attempt,
      row_number() OVER (PARTITION BY workload, link, block
        ORDER BY sum(outcome <> 'invalid') DESC, record ->> '$.plan.attempt') AS place
    FROM trials WHERE NOT warmup GROUP BY workload, link, block, record ->> '$.plan.attempt')
  SELECT t.key FROM trials t JOIN attempts a
    ON a.workload = t.workload AND a.link = t.link AND a.block = t.block AND a.attempt = t.record ->> '$.plan.attempt'
  WHERE a.place = 1 AND NOT t.warmup;
CREATE VIEW fetches AS
  WITH origin AS (
    SELECT t.key AS trial, min(f.value ->> '$.phases.queued') AS zero
    FROM trials t, json_each(t.record, '$.fetches') f GROUP BY t.key)
  SELECT t.key, t.link, t.contender, f.value ->> '$.id' AS id, f.value ->> '$.url' AS url,
    f.value ->> '$.method' AS method,
    f.value ->> '$.connection' AS connection, f.value ->> '$.stream' AS stream,
    f.value ->> '$.protocol' AS protocol, f.value ->> '$.status' AS status,
    f.value ->> '$.pushed' AS pushed, f.value ->> '$.hinted' AS hinted,
    coalesce(f.value ->> '$.cached', 0) AS cached,
    f.value -> '$.made_again' AS made_again,
    f.value ->> '$.body_bytes' AS body_bytes, f.value ->> '$.request_body_bytes' AS request_body_bytes,
    (f.value ->> '$.phases.queued' - zero) / 1e6 AS queued_ms,
    (f.value ->> '$.phases.connect_start' - zero) / 1e6 AS connect_start_ms,
    (f.value ->> '$.phases.connected' - zero) / 1e6 AS connected_ms,
    (f.value ->> '$.phases.secured' - zero) / 1e6 AS secured_ms,
    (f.value ->> '$.phases.allowed' - zero) / 1e6 AS allowed_ms,
    (f.value ->> '$.phases.sent' - zero) / 1e6 AS sent_ms,
    (f.value ->> '$.phases.first_byte' - zero) / 1e6 AS first_byte_ms,
    (f.value ->> '$.phases.last_byte' - zero) / 1e6 AS last_byte_ms,
    f.value -> '$.outcome' AS outcome
  FROM trials t JOIN origin ON origin.trial = t.key, json_each(t.record, '$.fetches') f;
CREATE VIEW connections AS
  SELECT t.key, t.link, t.contender, c.value ->> '$.id' AS id, c.value ->> '$.authority' AS authority,
    c.value ->> '$.protocol' AS protocol, c.value ->> '$.tls.version' AS tls,
    c.value ->> '$.tls.resumed' AS resumed, c.value ->> '$.tls.early_data' AS early_data,
    c.value ->> '$.requests' AS requests,
    c.value ->> '$.pushed' AS pushed, c.value ->> '$.pushes.used' AS pushes_used,
    c.value ->> '$.pushes.cancelled' AS pushes_cancelled, c.value ->> '$.pushes.unused' AS pushes_unused,
    c.value ->> '$.pushes.bytes' AS push_bytes, c.value ->> '$.pushes.wasted_bytes' AS push_wasted_bytes,
    c.value ->> '$.headers.sent.plain' AS header_bytes_sent_plain,
    c.value ->> '$.headers.sent.coded' AS header_bytes_sent,
    c.value ->> '$.headers.received.plain' AS header_bytes_received_plain,
    c.value ->> '$.headers.received.coded' AS header_bytes_received,
    c.value ->> '$.rounds' AS rounds, c.value ->> '$.bytes_sent' AS bytes_sent,
    c.value ->> '$.bytes_received' AS bytes_received
  FROM trials t, json_each(t.record, '$.connections') c;
CREATE VIEW deliveries AS
  WITH origin AS (
    SELECT t.key AS trial, min(f.value ->> '$.phases.queued') AS zero
    FROM trials t, json_each(t.record, '$.fetches') f GROUP BY t.key)
  SELECT t.key, t.link, t.contender, d.value ->> '$.connection' AS connection,
    d.value ->> '$.stream' AS stream, d.value ->> '$.path' AS path,
    d.value ->> '$.media_type' AS media_type, d.value ->> '$.status' AS status,
    d.value -> '$.asked' AS asked, d.value ->> '$.policy' AS policy,
    d.value -> '$.decided' AS decided, d.value ->> '$.pushed_with' AS pushed_with,
    d.value ->> '$.push' AS push, d.value ->> '$.bytes' AS bytes, d.value ->> '$.end' AS ended_how,
    (d.value ->> '$.requested' - zero) / 1e6 AS requested_ms,
    (d.value ->> '$.answered' - zero) / 1e6 AS answered_ms,
    (d.value ->> '$.first_byte' - zero) / 1e6 AS first_byte_ms,
    (d.value ->> '$.ended' - zero) / 1e6 AS ended_ms
  FROM trials t JOIN origin ON origin.trial = t.key, json_each(t.record, '$.deliveries') d;
";

fn json<T: serde::Serialize>(value: &T) -> Result<String, CliError> {
    serde_json::to_string(value)
        .map_err(|error| CliError::failed(format!("writing a row: {error}")))
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()))
}

/// The file of rows and what SQLite keeps beside it are regular files, or are not there. A symbolic link could lead to
/// any file of the user's.
fn check_files(path: &Path) -> Result<(), CliError> {
    let Ok(facts) = std::fs::symlink_metadata(path) else {
        return Err(CliError::misuse(format!("{} is not there", path.display()))
            .remedy("give the folder of a run, as `wirelap race` made it"));
    };
    let side = |mark: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(mark);
        PathBuf::from(name)
    };
    let sides = ["-wal", "-shm", "-journal"].map(side);
    let is_wrong = |file: &&PathBuf| {
        std::fs::symlink_metadata(file).is_ok_and(|facts| !facts.file_type().is_file())
    };
    let wrong = match facts.file_type().is_file() {
        true => sides.iter().find(is_wrong).map(PathBuf::as_path),
        false => Some(path),
    };
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(CliError::misuse(format!("{} is no regular file", wrong.display()))
            .remedy("give the folder of a run, as `wirelap race` made it")),
    }
}

fn file_error(path: &Path, attempted: &str, error: &rusqlite::Error) -> CliError {
    use std::io::ErrorKind;
    let attempted = format!("{attempted} {}", path.display());
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => error::file(attempted, &ErrorKind::StorageFull.into()),
        _ if is_read_only(error) => unwritable(attempted),
        _ if is_damage(error) => {
            CliError::misuse(format!("{attempted}: the file is damaged or is not a run's rows"))
                .remedy("run the experiment again, or restore the file")
        }
        // A full disk shows as this too where SQLite does not look at the cause.
        Some(ErrorCode::SystemIoFailure) if is_full(path) => {
            error::file(attempted, &ErrorKind::StorageFull.into())
        }
        Some(ErrorCode::OperationInterrupted) => {
            CliError::failed(format!("{attempted}: it takes too long"))
                .remedy("is it the file of a run? `wirelap race` makes none that takes so long")
        }
        _ => CliError::failed(format!("{attempted}: {error}")),
    }
}

/// Whether the system, or whoever set the file's rights, forbids what was tried.
fn is_read_only(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly))
}

fn unwritable(attempted: String) -> CliError {
    error::file(attempted, &std::io::ErrorKind::PermissionDenied.into())
}

/// Whether the file is at fault, and not the system.
fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether the disk below `path` takes no more.
fn is_full(path: &Path) -> bool {
    let probe = NewFile::beside(path);
    let written = probe.and_then(|mut probe| probe.file().write_all(&[0; 64 * 1024]));
    written.is_err_and(|error| error.kind() == std::io::ErrorKind::StorageFull)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::FetchRecord;
    use unit::Instant;

    #[test]
    fn the_view_of_fetches_tells_which_a_cache_answered() {
        let rows = Connection::open_in_memory().unwrap();
        rows.execute_batch(SCHEMA).unwrap();
        let fetch = |id: u32| FetchRecord::new(id, "https://a.test/".to_owned(), Instant::ZERO);
        let fetches = [fetch(0), FetchRecord { cached: true, ..fetch(1) }];
        let record = serde_json::json!({ "fetches": fetches }).to_string();
        let sql = "INSERT INTO trials VALUES ('k', 'w', 'l', 'a', 0, 0, 0, '', 'measured', NULL, 0, 0, ?1)";
        rows.execute(sql, params![record]).unwrap();
        let mut query = rows.prepare("SELECT cached FROM fetches ORDER BY id").unwrap();
        let cached: Vec<bool> =
            query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(cached, [false, true]);
    }

    #[test]
    fn of_each_block_the_attempt_counts_of_which_most_was_let_pass_and_of_two_the_first() {
        let rows = Connection::open_in_memory().unwrap();
        rows.execute_batch(SCHEMA).unwrap();
        let blocks = [
            (0, [("measured", "measured"), ("measured", "measured")], 0),
            (1, [("measured", "invalid"), ("measured", "failed")], 1),
            (2, [("measured", "invalid"), ("invalid", "measured")], 0),
        ];
        for (block, attempts, _) in blocks {
            for (attempt, (a, b)) in attempts.into_iter().enumerate() {
                for (contender, outcome) in [("a", a), ("b", b)] {
                    let key = format!("{contender}/{block}~{attempt}");
                    let record = format!("{{\"plan\": {{\"attempt\": {attempt}}}}}");
                    let sql = "INSERT INTO trials VALUES (?1, 'w', 'l', ?2, ?3, 0, 0, '', ?4, NULL, 0, 0, ?5)";
                    rows.execute(sql, params![key, contender, block, outcome, record]).unwrap();
                }
            }
        }
        let warmup = "INSERT INTO trials VALUES ('w', 'w', 'l', 'a', 9, 0, 1, '', 'measured', NULL, 0, 0, '{\"plan\": {\"attempt\": 0}}')";
        rows.execute(warmup, []).unwrap();
        let mut query = rows.prepare("SELECT key FROM counted ORDER BY key").unwrap();
        let keys: Vec<String> =
            query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let expected: Vec<String> = ["a", "b"]
            .iter()
            .flat_map(|contender| {
                blocks.iter().map(move |(block, _, counts)| format!("{contender}/{block}~{counts}"))
            })
            .collect();
        assert_eq!(keys, expected);
    }
}
