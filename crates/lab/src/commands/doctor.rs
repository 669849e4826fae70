//! `wirelap doctor`: what is missing on this machine, and the one command that fixes it.

use crate::calibrate::{CalibrationKind, calibrate};
use crate::cli::DoctorArgs;
use crate::console;
use crate::environment;
use crate::error::CliError;
use crate::inputs::servers::Servers;
use crate::machine;
use crate::race::quiet;
use serde_json::json;
use std::fmt::Write as _;
use std::process::ExitCode;
use study::calibration::Calibration;
use subject::PEERS;
use subject::server::ServerDeclaration;

/// Checks and prints the results. Exit code 3 if a race cannot run.
pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, CliError> {
    let busy = load(quiet::who_is_busy());
    let findings = [trials(), holding(), cores(), busy, clock(), accounts(), servers(), peers()];
    let lacking = findings.iter().any(|finding| finding.state == State::Lacking);
    let measure = || {
        console::note("calibrating: half a minute, longer while other programs use the machine");
        calibrate(CalibrationKind::Full)
    };
    let calibrates = args.calibrate && !lacking;
    match args.json {
        true => {
            let calibration = calibrates.then(measure).transpose()?;
            console::print_json(&as_json(&findings, calibration.as_ref()))?;
        }
        false => {
            console::print(&as_text(&findings))?;
            if calibrates {
                console::print(&report::calibration(&measure()?))?;
            }
        }
    }
    Ok(if lacking { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

/// One thing looked at.
struct Finding {
    name: &'static str,
    state: State,
    what: String,
    /// The command that fixes it; empty where there is nothing to fix.
    remedy: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// As it should be.
    Good,
    /// Races run, but something is less than it could be.
    Fair,
    /// Races cannot run.
    Lacking,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Lacking => "LACKING",
        }
    }
}

fn trials() -> Finding {
    let name = "namespaces and links";
    match os::net::probe() {
        Ok(_) => {
            let what = if machine::is_root() {
                "can be made, as root"
            } else {
                "can be made, without root"
            };
            Finding { name, state: State::Good, what: what.to_owned(), remedy: String::new() }
        }
        Err(error) => Finding {
            name,
            state: State::Lacking,
            what: error.to_string(),
            remedy: error.remedy().unwrap_or("run as root").to_owned(),
        },
    }
}

fn holding() -> Finding {
    let (state, what, remedy) = match os::net::can_queue_packets() {
        true => (
            State::Good,
            "are held by the kernel where a link of less than 1 ms neither limits nor loses",
            "",
        ),
        false => (
            State::Fair,
            "are copied to wirelap and back on every link, which is slower (the kernel cannot hold them)",
            "sudo modprobe -a br_netfilter nfnetlink_queue nft_queue",
        ),
    };
    Finding { name: "packets", state, what: what.to_owned(), remedy: remedy.to_owned() }
}

fn cores() -> Finding {
    let count = machine::cores();
    let (state, remedy) = match count {
        0 | 1 => (
            State::Fair,
            "use a machine with two cores or more: on one, link and ends wait for each other",
        ),
        _ => (State::Good, ""),
    };
    Finding { name: "cores", state, what: count.to_string(), remedy: remedy.to_owned() }
}

/// Whether other programs keep races from counting, as `who` says.
fn load(who: Option<String>) -> Finding {
    let (state, what, remedy) = match who {
        None => (State::Good, "quiet".to_owned(), ""),
        Some(who) => (
            State::Fair,
            format!("busy: {who}; the audit refuses times that this disturbs"),
            "race while the machine does nothing else",
        ),
    };
    Finding { name: "other programs", state, what, remedy: remedy.to_owned() }
}

fn clock() -> Finding {
    let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = std::fs::read_to_string(file).unwrap_or_default().trim().to_owned();
    // Reading these traps into the hypervisor or the chipset, which takes microseconds each time.
    let slow = ["hpet", "acpi_pm", "jiffies"].contains(&source.as_str());
    Finding {
        name: "clock",
        state: if slow { State::Fair } else { State::Good },
        remedy: if slow {
            "boot with clocksource=tsc where the machine has a stable one".to_owned()
        } else {
            String::new()
        },
        what: source,
    }
}

fn accounts() -> Finding {
    let (name, groups) = ("control groups", os::cgroup::ParentGroups::of_this_process());
    let (state, what, remedy) = match groups.refused() {
        None => (State::Good, "can be made", ""),
        Some(why) => (State::Fair, why, "systemd-run --user --scope wirelap …"),
    };
    let remedy = if machine::is_root() { "" } else { remedy };
    Finding { name, state, what: what.to_owned(), remedy: remedy.to_owned() }
}

fn servers() -> Finding {
    let (name, folders) = ("servers to race", environment::program_folders());
    let (servers, peers) = (Servers::builtin(), environment::peers_folder());
    let (here, missing): (Vec<_>, Vec<_>) =
        servers.all().partition(|server| server.is_here(&folders, &peers).is_ok());
    let told = |server: &&ServerDeclaration| {
        let version = server.version(&folders).unwrap_or_else(|| "version unknown".to_owned());
        format!("{} ({version})", server.name())
    };
    let mut what = here.iter().map(told).collect::<Vec<_>>().join(", ");
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|server| server.name()).collect();
        what.push_str(&format!(
            "{}not found: {}",
            if here.is_empty() { "" } else { "; " },
            names.join(", ")
        ));
    }
    let mut remedies: Vec<&str> = Vec::new();
    for server in &missing {
        if !remedies.contains(&server.remedy()) {
            remedies.push(server.remedy());
        }
    }
    let state = if missing.is_empty() { State::Good } else { State::Fair };
    Finding { name, state, what, remedy: remedies.join("\n") }
}

fn peers() -> Finding {
    let folders = environment::program_folders();
    let missing: Vec<&str> = PEERS
        .iter()
        .filter(|peer| peer.find(&folders).is_none())
        .map(|peer| peer.program)
        .collect();
    let here = PEERS.len() - missing.len();
    match missing.is_empty() {
        true => Finding {
            name: "peers for the tests",
            state: State::Good,
            what: format!("all {here} are here"),
            remedy: String::new(),
        },
        false => Finding {
            name: "peers for the tests",
            state: State::Fair,
            what: format!(
                "{here} are here; not found: {} (races do not need them)",
                missing.join(", ")
            ),
            remedy: "./peers install".to_owned(),
        },
    }
}

fn as_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let _ = writeln!(text, "{:<8} {:<22} {}", finding.state.word(), finding.name, finding.what);
        for line in finding.remedy.lines() {
            let _ = writeln!(text, "{:<8} {:<22}   mend it: {line}", "", "");
        }
    }
    let verdict = match findings.iter().any(|finding| finding.state == State::Lacking) {
        true => "Races cannot run here yet.",
        false => "Races can run here: wirelap race quick",
    };
    let _ = writeln!(text, "\n{verdict}");
    text
}

fn as_json(findings: &[Finding], calibration: Option<&Calibration>) -> String {
    let rows: Vec<_> = findings
        .iter()
        .map(|finding| {
            json!({
                "name": finding.name,
                "state": finding.state.word().to_ascii_lowercase(),
                "what": finding.what,
                "remedy": (!finding.remedy.is_empty()).then_some(&finding.remedy),
            })
        })
        .collect();
    format!(
        "{:#}\n",
        json!({
            "findings": rows,
            "calibration": calibration,
            "conclusion": calibration.map(report::conclusion),
        })
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_told_with_who_is_busy() {
        let text = as_text(&[load(Some("java takes 70 % of a core".to_owned()))]);
        assert!(
            text.starts_with("fair     other programs         busy: java takes 70 %"),
            "{text}"
        );
        assert!(text.contains("mend it: race while the machine does nothing else"), "{text}");
        assert!(as_text(&[load(None)]).starts_with("good     other programs         quiet\n"));
    }
}
