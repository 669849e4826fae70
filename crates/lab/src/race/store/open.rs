//! Opens a file of rows. The one rule: the file may be anybody's. It is read without being written to, ordinary tables
//! are demanded where views could compute without end (<https://www.sqlite.org/security.html>), and reading has a limit
//! of time and of rows.

use super::is_damage;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// An open file of rows.
pub(super) struct Opened {
    pub(super) connection: Connection,
    /// Whether it is damaged so that it can be read in parts.
    pub(super) truncated: bool,
}

/// How long all reading of a file may take. A run of a thousand pages is read in some seconds.
const READING: Duration = Duration::from_secs(300);

/// Instructions of SQLite's between two looks at the clock: about a millisecond.
const LOOK: i32 = 100_000;

/// Bytes of a text at most. The record of a page of ten thousand files has some ten million.
const LONGEST_TEXT: i32 = 256 << 20;

/// Rows of a table at most: a hundred times those of a run of a thousand pages and ten contenders.
const MOST_ROWS: u32 = 1_000_000;

/// Opens it for reading, and makes nothing in its folder where it can be helped.
pub(super) fn to_read(path: &Path) -> rusqlite::Result<Opened> {
    let mut opened = match read_only(path, |_| Ok(())) {
        // One that is cut short is refused as a whole, unless its first page's word on its size is let pass
        // (https://www.sqlite.org/pragma.html#pragma_writable_schema).
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            let connection = read_only(path, |connection| {
                connection.pragma_update(None, "writable_schema", "ON")
            })?;
            Opened { connection, truncated: true }
        }
        opened => Opened { connection: opened?, truncated: false },
    };
    limit_time(&mut opened.connection, READING)?;
    Ok(opened)
}

/// Ends whatever the connection computes once `span` is over.
fn limit_time(connection: &mut Connection, span: Duration) -> rusqlite::Result<()> {
    let deadline = os::clock::now() + span;
    connection.progress_handler(LOOK, Some(move || os::clock::now() > deadline))
}

/// Opens it for writing, or makes it.
pub(super) fn to_write(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    protect(&connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // With WAL this loses nothing that a crash of the process could lose.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

/// Whether `run` and `trials` are ordinary tables with plain columns; says what is wrong otherwise. A view, a virtual
/// table or a computed column runs what its maker wrote.
pub(super) fn check_tables(connection: &Connection) -> rusqlite::Result<Result<(), String>> {
    for table in ["run", "trials"] {
        let query = "SELECT type = 'table' AND rootpage > 0 FROM sqlite_schema WHERE name = ?1";
        let mut statement = connection.prepare(query)?;
        let found: Vec<bool> =
            statement.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
        if found.is_empty() {
            return Ok(Err(format!("it has no table of {table}")));
        }
        let query = "SELECT count(*) FROM pragma_table_xinfo(?1) WHERE hidden != 0";
        let computed: u32 = connection.query_row(query, [table], |row| row.get(0))?;
        if found.contains(&false) || computed > 0 {
            return Ok(Err(format!("`{table}` is no ordinary table, and is not read")));
        }
        let query = format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT ?1)");
        let rows: u32 = match connection.query_row(&query, [MOST_ROWS + 1], |row| row.get(0)) {
            // Rows before and behind a damaged place can be read.
            Err(error) if is_damage(&error) => continue,
            counted => counted?,
        };
        if rows > MOST_ROWS {
            return Ok(Err(format!("`{table}` has more than {MOST_ROWS} rows, and is not read")));
        }
    }
    Ok(Ok(()))
}

/// Whether the file has the tables of `schema` and nothing beside them that SQLite would run when a row is written: a
/// trigger, an index over an expression, a table's CHECK. Says what is wrong otherwise. Views run only where they are read.
pub(super) fn check_layout(
    connection: &Connection,
    schema: &str,
) -> rusqlite::Result<Result<(), String>> {
    let made = Connection::open_in_memory()?;
    made.execute_batch(schema)?;
    let (expected, found) = (layout(&made)?, layout(connection)?);
    let other = expected.symmetric_difference(&found).next();
    Ok(other.map_or(Ok(()), |(name, _)| {
        Err(format!("`{name}` is not as a race lays it out, and no row is added"))
    }))
}

/// Name and SQL of whatever takes part in writing a row.
fn layout(connection: &Connection) -> rusqlite::Result<BTreeSet<(String, String)>> {
    let query = "SELECT name, sql FROM sqlite_schema WHERE type != 'view' AND sql IS NOT NULL";
    let mut statement = connection.prepare(query)?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Opens a file for reading alone. Where a log of rows stands beside it that were not folded into it, SQLite keeps an
/// index of that log in the folder; without one, nothing is made there.
fn read_only(
    path: &Path,
    prepare: impl Fn(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<Connection> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let log = std::fs::metadata(log);
    let immutable = if log.is_ok_and(|log| log.len() > 0) { "" } else { "&immutable=1" };
    // https://www.sqlite.org/uri.html, "URI Path"
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"%?#".contains(&byte);
    let bytes = path.as_os_str().as_bytes().iter();
    let place: String = bytes
        .map(|byte| match is_plain(*byte) {
            true => char::from(*byte).to_string(),
            false => format!("%{byte:02x}"),
        })
        .collect();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let uri = format!("file:{place}?mode=ro{immutable}");
    let connection = Connection::open_with_flags(uri, flags)?;
    protect(&connection)?;
    prepare(&connection)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

fn protect(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_TEXT)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of rows in its folder, and connections that read and write it.
    fn both() -> (tempfile::TempDir, [Connection; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.sqlite");
        let writer = to_write(&file).unwrap();
        writer.execute_batch("CREATE TABLE run (header TEXT)").unwrap();
        let reader = to_read(&file).unwrap().connection;
        (folder, [reader, writer])
    }

    fn error_of(connection: &Connection, query: &str) -> ErrorCode {
        let failed = connection.query_row(query, [], |_| Ok(())).unwrap_err();
        failed.sqlite_error_code().unwrap()
    }

    #[test]
    fn the_schema_of_a_file_is_not_trusted_and_its_texts_are_limited() {
        let (_folder, connections) = both();
        for connection in &connections {
            let trusted: bool =
                connection.query_row("PRAGMA trusted_schema", [], |row| row.get(0)).unwrap();
            assert!(!trusted);
            let longer = format!("SELECT zeroblob({})", LONGEST_TEXT + 1);
            assert_eq!(error_of(connection, &longer), ErrorCode::TooBig);
        }
    }

    #[test]
    fn reading_ends_when_its_time_is_over() {
        let (_folder, [mut reader, _]) = both();
        limit_time(&mut reader, Duration::ZERO).unwrap();
        let endless =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
        assert_eq!(error_of(&reader, endless), ErrorCode::OperationInterrupted);
    }
}
