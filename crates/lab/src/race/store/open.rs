//! Opens a file of rows. The one rule: the file may be anybody's. It is read without being written to, ordinary tables
//! are demanded where views could compute without end (<https://www.sqlite.org/security.html>), and reading has a limit
//! of time and of rows.

use super::is_damage;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};
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
    let deadline = os::clock::now() + READING;
    opened.connection.progress_handler(LOOK, Some(move || os::clock::now() > deadline))?;
    Ok(opened)
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

/// Opens a file for reading alone. Where a log of rows stands beside it that were not folded into it, SQLite keeps an
/// index of that log in the folder; without one, nothing is made there.
fn read_only(
    path: &Path,
    prepare: impl Fn(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<Connection> {
    let name = path.to_string_lossy();
    let log = std::fs::metadata(format!("{name}-wal"));
    let immutable = if log.is_ok_and(|log| log.len() > 0) { "" } else { "&immutable=1" };
    // https://www.sqlite.org/uri.html, "URI Path"
    let place = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
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
