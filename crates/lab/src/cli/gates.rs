//! The flags of gates, the same for `race` and `compare`.

use super::Inconclusive;
use clap::{Args, ValueHint};
use std::path::PathBuf;
use study::gate::{GATE_ERROR, Gate, GateOutcome, Gates};

/// Gates: what must hold, and where the outcome is written (docs/gates.md).
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Gates")]
pub(crate) struct GateArgs {
    /// What must hold (repeatable): `METRIC<RATIO` or `METRIC>RATIO`. `compare` sets the later run over the earlier; `race`
    /// takes 'A/B METRIC<RATIO', or sets every contender over the baseline
    #[arg(long, value_name = "GATE")]
    pub(crate) gate: Vec<Gate>,
    /// The chance at most that any gate passes wrongly, and that any fails wrongly [default: 5%]
    #[arg(long, value_name = "SHARE", value_parser = parse_error, allow_negative_numbers = true)]
    pub(crate) gate_error: Option<f64>,
    /// What an inconclusive gate does to the exit code: nothing, or 4
    #[arg(long, value_enum, value_name = "OUTCOME", default_value_t)]
    pub(crate) inconclusive: Inconclusive,
    /// Write the gates as JUnit XML; what is inconclusive is skipped there
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,
    /// Write a summary as Markdown
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) markdown: Option<PathBuf>,
}

/// The exit code of gates that failed.
const FAILED: u8 = 1;
/// The exit code of gates that are inconclusive, where that is to fail.
const INCONCLUSIVE: u8 = 4;

impl GateArgs {
    /// The gates that were asked for.
    pub(crate) fn gates(&self) -> Gates {
        Gates { gates: self.gate.clone(), error: self.gate_error.unwrap_or(GATE_ERROR) }
    }

    /// The exit code of what the gates came to.
    pub(crate) fn exit_code(&self, outcome: GateOutcome) -> u8 {
        match (outcome, self.inconclusive) {
            (GateOutcome::Failed, _) => FAILED,
            (GateOutcome::Inconclusive, Inconclusive::Fail) => INCONCLUSIVE,
            _ => 0,
        }
    }
}

/// Reads the chance to be wrong: 5%, or 0.05. From a half on, an outcome would say no more than a coin.
pub(super) fn parse_error(text: &str) -> Result<f64, String> {
    let share: unit::Probability =
        text.parse().map_err(|error: unit::ParseError| error.to_string())?;
    match share.fraction() {
        fraction if fraction > 0.0 && fraction < 0.5 => Ok(fraction),
        _ => {
            Err("an error is the chance to be wrong, above 0% and below 50%: 5% is usual"
                .to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_chance_to_be_wrong_and_no_confidence() {
        assert_eq!(parse_error("5%"), Ok(0.05));
        assert_eq!(parse_error("0.01"), Ok(0.01));
        for wrong in ["0", "50%", "95%", "100%"] {
            let told = parse_error(wrong).unwrap_err();
            assert!(told.contains("above 0% and below 50%"), "{wrong}: {told}");
        }
    }
}
