//! How a trial ends that leaves no figures.

use os::error::Os;
use study::record::Outcome;
use subject::Lacking;
use subject::server::Fault;

/// It did not work.
pub(crate) fn failed(reason: impl std::fmt::Display) -> Outcome {
    Outcome::Failed { reason: reason.to_string() }
}

/// The system refuses what it needs.
pub(crate) fn unsupported(error: Os) -> Outcome {
    let remedy = error.remedy().unwrap_or("see wirelap doctor").to_owned();
    Outcome::Unsupported { reason: error.to_string(), remedy }
}

/// A subject or its program is not there.
pub(crate) fn lacking(lacking: Lacking) -> Outcome {
    Outcome::Unsupported { reason: lacking.reason, remedy: lacking.remedy }
}

/// Whatever a fault of a server's makes of a trial.
pub(crate) fn faulty(fault: Fault) -> Outcome {
    match fault {
        Fault::Unsupported { reason, remedy } => Outcome::Unsupported { reason, remedy },
        Fault::Failed { reason } => Outcome::Failed { reason },
    }
}

/// Packets that cannot be kept are the disk's fault, and no contender's.
pub(crate) fn unsaved_capture(error: impl std::fmt::Display) -> Outcome {
    Outcome::Unsupported {
        reason: format!("the packets could not be kept: {error}"),
        remedy: "free some space on that disk, or race without --capture".to_owned(),
    }
}
