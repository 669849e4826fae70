//! An error of the system in one sentence, with a remedy where one is known.

use std::fmt;
use std::io;

/// The system refused something.
#[derive(Debug)]
pub struct Os {
    /// What was attempted; it is shown after "cannot": `listen on 127.0.0.1:80`.
    pub attempted: String,
    /// The system's answer.
    pub source: io::Error,
    remedy: Option<&'static str>,
}

impl Os {
    /// `source` was the answer to the attempt.
    pub fn new(attempted: impl Into<String>, source: io::Error) -> Self {
        Self { attempted: attempted.into(), source, remedy: None }
    }

    /// The last system call of this thread failed in the attempt.
    pub fn last(attempted: impl Into<String>) -> Self {
        Self::new(attempted, io::Error::last_os_error())
    }

    /// Sets the remedy, where the caller knows a better one than the error number gives.
    pub fn with_remedy(mut self, remedy: &'static str) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// What the user can do about it.
    pub fn remedy(&self) -> Option<&'static str> {
        if self.remedy.is_some() {
            return self.remedy;
        }
        match self.source.raw_os_error()? {
            libc::EADDRINUSE => Some(
                "another program listens there (see `ss -ltnp`): stop it or choose another port; 0 takes a free one",
            ),
            libc::EADDRNOTAVAIL => {
                Some("no interface of this machine has that address (see `ip address`)")
            }
            libc::EMFILE => Some("raise the limit on open files: `ulimit -n 65536`"),
            libc::ENFILE => Some("raise the system's limit on open files: `sysctl fs.file-max`"),
            libc::ENOSPC => Some("free space on the disk (see `df -h`)"),
            _ => None,
        }
    }
}

// The sentence includes the source, so `source()` stays None. A chain printed in full would say it twice.
impl fmt::Display for Os {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.attempted, self.source)
    }
}

impl std::error::Error for Os {}
