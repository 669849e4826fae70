//! Links by name, by figures, or with the trace files that they name.

use crate::error::CliError;
use crate::inputs::regular::{self, LONGEST_TEXT};
use link::{LinkSpec, SpecError};
use std::path::PathBuf;
use study::experiment::LinkChoice;

/// The link that a choice stands for; `place` tells where a file that it names is.
pub(crate) fn link_spec(
    choice: &LinkChoice,
    place: impl Fn(&str) -> PathBuf,
) -> Result<LinkSpec, CliError> {
    match is_loopback(choice) {
        true => Ok(LinkSpec::default()),
        false => read_link(choice.text(), place),
    }
}

/// The link that is none: both ends on the loopback device of one fresh namespace.
pub(crate) const LOOPBACK: &str = "none";

/// Whether a choice is no link at all.
pub(crate) fn is_loopback(choice: &LinkChoice) -> bool {
    choice.text() == LOOPBACK
}

/// Reads a link, with its trace files.
pub(crate) fn read_link(text: &str, place: impl Fn(&str) -> PathBuf) -> Result<LinkSpec, CliError> {
    let load = |file: &str| {
        regular::read_text(&place(file), LONGEST_TEXT).map_err(|error| error.to_string())
    };
    let read = || {
        let link = LinkSpec::parse(text, load)?;
        link.check_settings(text)?;
        Ok(link)
    };
    read().map_err(|error| {
        let known: Vec<&str> = link::profiles().iter().map(|profile| profile.name).collect();
        let remedy = match &error {
            SpecError::UnknownProfile { name, .. } if name == LOOPBACK => {
                return CliError::misuse(format!("`{LOOPBACK}` is no link but the loopback device, which takes no settings; a race alone can have it"))
                    .remedy("give figures, such as rtt=60ms or udp=blocked");
            }
            SpecError::UnknownProfile { .. } => format!(
                "links with a name: {}; or give figures, such as rtt=60ms,down=10mbit,up=2mbit,loss=0.5%",
                known.join(", ")
            ),
            SpecError::NothingQueues { .. } => "add rate=, such as rate=10mbit, or a trace=".to_owned(),
            SpecError::NothingDelayed { key } => {
                format!("add jitter=, or hold back a share of the packets: {key}=1%/5ms")
            }
            SpecError::Unreadable { .. } => "check the path".to_owned(),
            SpecError::BadTrace { .. } => {
                "a trace has a whole number of milliseconds on each line, none less than the one before".to_owned()
            }
            _ => "such as rtt=60ms,down=10mbit,up=2mbit,loss=0.5%,queue=64kB".to_owned(),
        };
        CliError::misuse(error).remedy(remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_do_nothing_on_a_link_are_refused() {
        let read = |text: &str| {
            read_link(text, |file| PathBuf::from(file)).map_err(|error| error.to_string())
        };
        for (text, told) in [
            ("rtt=20ms,queue=20kB", "`queue=` does nothing without a rate"),
            ("down=1mbit,queue_up=20kB", "`queue_up=` does nothing without a rate"),
            ("rtt=9ms,reorder_down=yes", "`reorder_down=yes` does nothing without jitter"),
            ("jitter_up=1ms,reorder_down=yes", "`reorder_down=yes` does nothing without jitter"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
        for text in [
            "4g,queue=20kB",
            "down=1mbit,queue=20kB",
            "jitter_up=1ms,reorder=yes",
            "rtt=9ms,reorder=no",
            "rtt=9ms,reorder=1%/5ms",
        ] {
            assert!(read(text).is_ok(), "{text}: {:?}", read(text));
        }
    }
}
