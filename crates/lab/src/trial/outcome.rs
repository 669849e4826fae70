//! Outcomes of a trial that has no figures.

use os::error::Os;
use study::outcome::Outcome;
use subject::Lacking;
use subject::server::ServerFailure;

/// It did not work.
pub(crate) fn failed(reason: impl std::fmt::Display) -> Outcome {
    Outcome::Failed { reason: reason.to_string() }
}

/// The trial's own machinery broke, and not the contender: the trial is run again.
pub(crate) fn broken_instrument(reason: impl std::fmt::Display) -> Outcome {
    Outcome::Invalid { reason: reason.to_string() }
}

/// The system refuses what it needs.
pub(crate) fn unsupported(error: Os) -> Outcome {
    let remedy = error.remedy().unwrap_or("see wirelap doctor").to_owned();
    Outcome::Unsupported { reason: error.to_string(), remedy }
}

/// A subject or its program is not there.
pub(crate) fn subject_lacking(lacking: Lacking) -> Outcome {
    Outcome::Unsupported { reason: lacking.reason, remedy: lacking.remedy }
}

/// The server was not started, or failed.
pub(crate) fn server_failed(failure: ServerFailure) -> Outcome {
    match failure {
        ServerFailure::Unsupported { reason, remedy } => Outcome::Unsupported { reason, remedy },
        ServerFailure::Failed { reason } => Outcome::Failed { reason },
    }
}

/// Packets that cannot be kept are the disk's fault, and no contender's.
pub(crate) fn unsaved_capture(error: impl std::fmt::Display) -> Outcome {
    Outcome::Unsupported {
        reason: format!("the packets could not be kept: {error}"),
        remedy: "free some space on that disk, or race without --capture".to_owned(),
    }
}
