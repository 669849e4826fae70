//! Commands that a reader can paste into a shell. The one rule: names are quoted first for SQL and then for the shell
//! around it.

use std::fmt::Write;

/// The arguments as one line for a POSIX shell.
pub(crate) fn shell_line<S: AsRef<str>>(arguments: &[S]) -> String {
    let quoted: Vec<String> = arguments.iter().map(|a| shell_word(a.as_ref())).collect();
    quoted.join(" ")
}

/// The command that shows the rows which `query` selects from the run in `folder`.
pub(crate) fn rows(folder: &str, query: &str) -> String {
    let file = format!("{}/rows.sqlite", folder.trim_end_matches('/'));
    shell_line(&["sqlite3", "-header", "-column", &file, query])
}

/// The command that prints every trial's figures.
pub(crate) fn csv(folder: &str) -> String {
    shell_line(&["wirelap", "report", folder, "--csv"])
}

/// `text` as a string of SQL.
pub(crate) fn sql(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// `texts` as a list of SQL strings, in parentheses.
pub(crate) fn sql_list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut list = String::new();
    for text in texts {
        let separator = if list.is_empty() { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(list, "{separator}{}", sql(text));
    }
    format!("({list})")
}

fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    // POSIX.1-2017 XCU §2.2.2: nothing is special between single quotes but the single quote itself.
    if !word.contains('\'') {
        return format!("'{word}'");
    }
    // §2.2.3: four characters are special between double quotes, and shells with a history expand `!` too.
    if !word.contains(['"', '$', '`', '\\', '!']) {
        return format!("\"{word}\"");
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_stays_one_word() {
        assert_eq!(shell_line(&["wirelap", "race", "my page.har"]), "wirelap race 'my page.har'");
        assert_eq!(shell_word("$(reboot)'"), r"'$(reboot)'\'''");
        assert_eq!(shell_word("SELECT 'a'"), "\"SELECT 'a'\"");
        assert_eq!(shell_word("a;b"), "'a;b'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn a_hostile_name_stays_one_string_of_sql() {
        assert_eq!(sql("'; DROP TABLE trials; --"), "'''; DROP TABLE trials; --'");
        assert_eq!(sql_list(["a", "b'"].into_iter()), "('a', 'b''')");
    }
}
