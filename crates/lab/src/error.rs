//! An error that ends a command: what is wrong, where, and how to fix it.

use os::error::Os;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// The exit codes of the trade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Something went wrong that is neither of the below.
    Failed = 1,
    /// The command line or a file that it names is wrong.
    Misuse = 2,
    /// The machine lacks something.
    Lacking = 3,
    /// Ctrl-C.
    Interrupted = 130,
}

/// Why a command ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CliError {
    exit: Exit,
    what: String,
    remedy: Option<String>,
}

impl CliError {
    /// The user can put it right by calling otherwise.
    pub(crate) fn misuse(what: impl fmt::Display) -> Self {
        Self::new(Exit::Misuse, what)
    }

    /// The machine must be put right.
    pub(crate) fn lacking(what: impl fmt::Display) -> Self {
        Self::new(Exit::Lacking, what)
    }

    /// A failure that could not be known beforehand.
    pub(crate) fn failed(what: impl fmt::Display) -> Self {
        Self::new(Exit::Failed, what)
    }

    /// The user stopped the command. `what` says what is kept and how to resume.
    pub(crate) fn interrupted(what: impl fmt::Display) -> Self {
        Self::new(Exit::Interrupted, what)
    }

    /// Adds the way out.
    pub(crate) fn remedy(mut self, remedy: impl fmt::Display) -> Self {
        self.remedy = Some(remedy.to_string());
        self
    }

    /// Says where it is, where that is known.
    pub(crate) fn within(self, place: Option<String>) -> Self {
        match place {
            Some(place) => Self { what: format!("{place}: {}", self.what), ..self },
            None => self,
        }
    }

    /// Adds a line after the way out.
    pub(crate) fn and(mut self, line: impl fmt::Display) -> Self {
        let before = self.remedy.map_or_else(String::new, |remedy| format!("{remedy}\n"));
        self.remedy = Some(format!("{before}{line}"));
        self
    }

    /// The process's exit code.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit as u8)
    }

    fn new(exit: Exit, what: impl fmt::Display) -> Self {
        Self { exit, what: what.to_string(), remedy: None }
    }
}

impl From<Os> for CliError {
    /// The system refused something, because the machine lacks it. With the remedy.
    fn from(error: Os) -> Self {
        let lacking = Self::lacking(&error);
        match error.remedy() {
            Some(remedy) => lacking.remedy(remedy),
            None => lacking,
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = if self.exit == Exit::Interrupted { "stopped" } else { "error" };
        write!(f, "{label}: {}", self.what)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n  {}", remedy.replace('\n', "\n  ")),
            None => Ok(()),
        }
    }
}

/// An I/O error on a file of the user's, with a remedy where its kind suggests one.
pub(crate) fn file(attempted: impl fmt::Display, error: &std::io::Error) -> CliError {
    use std::io::ErrorKind;
    let what = format!("{attempted}: {error}");
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => {
            CliError::misuse(what).remedy("check the path")
        }
        ErrorKind::AlreadyExists => {
            CliError::misuse(what).remedy("choose another name, or move away what has this one")
        }
        ErrorKind::InvalidInput => CliError::misuse(what).remedy("copy it into a file first"),
        // A text that is read is UTF-8.
        ErrorKind::InvalidData => CliError::misuse(what).remedy("write the file in UTF-8"),
        ErrorKind::FileTooLarge => CliError::misuse(what).remedy("name a smaller file"),
        ErrorKind::IsADirectory => CliError::misuse(what).remedy("name a file in it"),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => CliError::misuse(what)
            .remedy("choose a place that you may use, or change its permissions"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            CliError::lacking(what).remedy("free some space on that disk (see `df -h`)")
        }
        _ => CliError::failed(what),
    }
}

/// A path as a shell takes it.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./+,:@%".contains(c);
    if text.chars().all(is_plain) && !text.is_empty() {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_is_wrong_and_the_way_out() {
        let error = CliError::misuse("there is no link `5g`").remedy("did you mean `4g`?");
        assert_eq!(error.to_string(), "error: there is no link `5g`\n  did you mean `4g`?");
        assert_eq!(error.exit_code(), ExitCode::from(2));
    }

    #[test]
    fn a_path_is_told_as_a_shell_takes_it() {
        assert_eq!(quoted(Path::new("runs/quick-1")), "runs/quick-1");
        assert_eq!(quoted(Path::new("it's mine")), r"'it'\''s mine'");
    }

    #[test]
    fn a_name_that_is_taken_is_misuse() {
        let taken = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        let error = file("making F", &taken);
        assert_eq!(error.exit_code(), ExitCode::from(2));
        assert!(
            error.to_string().ends_with("\n  choose another name, or move away what has this one")
        );
    }

    #[test]
    fn a_text_that_is_not_utf_8_is_misuse() {
        let wrong = std::io::Error::from(std::io::ErrorKind::InvalidData);
        assert_eq!(file("reading F", &wrong).exit_code(), ExitCode::from(2));
    }

    #[test]
    fn a_full_disk_is_the_machines_lack() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert_eq!(file("writing rows", &full).exit_code(), ExitCode::from(3));
    }
}
