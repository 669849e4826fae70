//! What our run says to a question, and what became of the trials that were to answer it. Without a figure there are two
//! cases with different remedies: the trials were left out, or they ran and the audit refused them.

use super::{Ours, Question};
use crate::comparison::Comparison;
use crate::plan::CellId;
use crate::stats::{CONFIDENCE, blocks_for_any_interval};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The answer to one question. The default is that of trials that did not run.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    /// None where no block counts.
    pub(super) comparison: Option<Comparison>,
    /// The trials of both contenders; empty where those of one did not run.
    pub(super) cells: Vec<CellTrials>,
}

/// How the trials of one cell ended.
#[derive(Debug, Clone)]
pub(crate) struct CellTrials {
    pub(crate) id: CellId,
    /// All that ran, each block once.
    pub(crate) trials: u32,
    /// Why the audit refused trials, one reason for each.
    pub(crate) refusals: Vec<String>,
}

/// Trials that were to answer a question, and how many of them the audit refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedTrials {
    /// Trials that the audit refused.
    pub refused: u32,
    /// Trials that ran, refused ones included.
    pub trials: u32,
    /// The most frequent reason.
    pub reason: String,
}

/// What a claim could be judged by.
#[derive(Debug, Clone)]
pub(super) enum Basis {
    /// Trials were measured.
    Measured,
    /// The run has no such trials.
    NotRun,
    /// The audit refused so many trials that no interval is left.
    Refused(Vec<CellTrials>),
    /// Trials ran, and none was measured for another reason: they failed, or this machine cannot run them.
    NoFigure,
}

impl Ours<'_> {
    /// The answer by the deciding metric. There is no question where the run has no such workload or link.
    pub(super) fn answer(&self, question: Option<Question<'_>>) -> Answer {
        question.map_or_else(Answer::default, |question| Answer {
            comparison: (self.ask)(question),
            cells: (self.trials)(question),
        })
    }

    /// The answer by the metric of this name.
    pub(super) fn answer_by(&self, metric: &str, question: Option<Question<'_>>) -> Answer {
        question.map_or_else(Answer::default, |question| Answer {
            comparison: (self.ask_of)(metric, question),
            cells: (self.trials)(question),
        })
    }
}

impl Answer {
    pub(super) fn basis(&self) -> Basis {
        Basis::of(self.comparison.as_ref().map_or(0, |comparison| comparison.n), &self.cells)
    }

    /// The refused trials, where they are why there is no interval.
    pub(super) fn refused(&self) -> Option<RefusedTrials> {
        match self.basis() {
            Basis::Refused(cells) => RefusedTrials::of(&cells),
            Basis::Measured | Basis::NotRun | Basis::NoFigure => None,
        }
    }
}

impl Basis {
    /// Of so many blocks that count, and the trials behind them.
    pub(super) fn of(blocks: u32, cells: &[CellTrials]) -> Self {
        let refused = cells.iter().any(|cell| !cell.refusals.is_empty());
        match blocks as usize {
            few if refused && few < blocks_for_any_interval(1, 1.0 - CONFIDENCE) => {
                Self::Refused(cells.to_vec())
            }
            0 if cells.is_empty() => Self::NotRun,
            0 => Self::NoFigure,
            _ => Self::Measured,
        }
    }

    /// Of a claim about two answers: what is missing of either.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::NotRun, _) | (_, Self::NotRun) => Self::NotRun,
            (Self::Refused(a), Self::Refused(b)) => Self::Refused([a, b].concat()),
            (Self::Refused(cells), _) | (_, Self::Refused(cells)) => Self::Refused(cells),
            (Self::NoFigure, _) | (_, Self::NoFigure) => Self::NoFigure,
            (Self::Measured, Self::Measured) => Self::Measured,
        }
    }
}

impl RefusedTrials {
    /// Each cell counts once. None where no trial was refused.
    pub(super) fn of<'c>(cells: impl IntoIterator<Item = &'c CellTrials>) -> Option<Self> {
        let mut seen: Vec<&CellTrials> = Vec::new();
        for cell in cells {
            if seen.iter().all(|other| other.id != cell.id) {
                seen.push(cell);
            }
        }
        let mut reasons: BTreeMap<&str, u32> = BTreeMap::new();
        for reason in seen.iter().flat_map(|cell| &cell.refusals) {
            *reasons.entry(reason).or_default() += 1;
        }
        let (reason, _) = reasons.iter().max_by_key(|(_, count)| **count)?;
        Some(Self {
            refused: reasons.values().sum(),
            trials: seen.iter().map(|cell| cell.trials).sum(),
            reason: (*reason).to_owned(),
        })
    }
}

impl fmt::Display for RefusedTrials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} trials refused: {}", self.refused, self.trials, self.reason)
    }
}

#[cfg(test)]
impl From<Comparison> for Answer {
    fn from(comparison: Comparison) -> Self {
        Self { comparison: Some(comparison), cells: Vec::new() }
    }
}
