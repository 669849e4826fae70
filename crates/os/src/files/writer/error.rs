//! Why a file was not written.

use crate::error::Os;
use secure::Digest;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a file did not get its name.
#[derive(Debug, Clone)]
pub enum WriteError {
    /// The system refused something.
    System(Arc<Os>),
    /// Another process is writing the same file.
    Busy(PathBuf),
    /// The content has another digest than expected. The file is removed.
    WrongDigest {
        /// Its final name.
        target: PathBuf,
        /// The digest that it was to have.
        expected: Digest,
        /// The digest that it has.
        got: Digest,
    },
    /// Another file has the name, and is to stay. What was written is removed.
    Taken(PathBuf),
    /// The writer was dropped before the file was whole.
    Unfinished(PathBuf),
}

impl WriteError {
    /// `error` was the answer to the attempt.
    pub(super) fn system(attempted: impl Into<String>, error: std::io::Error) -> Self {
        Self::System(Arc::new(Os::new(attempted, error)))
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(os) => match os.remedy() {
                Some(remedy) => write!(f, "{os}; {remedy}"),
                None => os.fmt(f),
            },
            Self::Busy(target) => write!(
                f,
                "{} is being downloaded by another process; wait for it, or choose another name",
                target.display()
            ),
            Self::WrongDigest { target, expected, got } => write!(
                f,
                "what came for {} is not the file expected: its SHA-256 is {got}, not {expected}; it was removed, and nothing else \
                 was changed",
                target.display()
            ),
            Self::Taken(target) => write!(
                f,
                "{} came while this one was written; it stays, and what was written is removed",
                target.display()
            ),
            Self::Unfinished(target) => write!(f, "{} is not whole", target.display()),
        }
    }
}

impl std::error::Error for WriteError {}
