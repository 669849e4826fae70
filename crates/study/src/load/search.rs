//! The search for the highest rate that holds an objective, as a state machine fed with the result of each probe. The
//! one rule: a rate fails when two probes failed, because one may have met a disturbance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One rate that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// Requests a second.
    pub rate: f64,
    /// Whether the objective held.
    pub held: bool,
}

/// Where a search stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The highest rate that held, and the lowest that failed for good.
    held: Option<f64>,
    failed: Option<f64>,
    next: Option<f64>,
    /// Whether the next rate has failed once.
    doubt: bool,
    probes: Vec<Probe>,
}

/// The search ends where what held and what failed are so close.
const CLOSE: f64 = 1.05;

/// No rate below this is tried, in requests a second.
const LEAST: f64 = 1.0;

/// No more probes than this: doublings from 1 to a hundred million, each doubted once, would need them.
const MOST: usize = 60;

impl Search {
    /// A search that begins at that rate, in requests a second.
    pub fn new(first: f64) -> Self {
        let next = Some(first.max(LEAST));
        Self { held: None, failed: None, next, doubt: false, probes: Vec::new() }
    }

    /// The rate to try next; None when the search is over.
    pub fn next(&self) -> Option<f64> {
        self.next
    }

    /// What the probe at that rate came to.
    pub fn heard(&mut self, held: bool) {
        let Some(rate) = self.next else { return };
        self.probes.push(Probe { rate, held });
        if !held && !self.doubt {
            self.doubt = true;
            return;
        }
        self.doubt = false;
        match held {
            true => self.held = Some(rate),
            false => self.failed = Some(rate),
        }
        self.next = match (self.held, self.failed) {
            (Some(held), None) => Some(held * 2.0),
            (None, Some(failed)) => Some(failed / 2.0).filter(|rate| *rate >= LEAST),
            // The middle of a ratio is its geometric mean.
            (Some(held), Some(failed)) => {
                Some((held * failed).sqrt()).filter(|_| failed / held > CLOSE)
            }
            (None, None) => None,
        };
        if self.probes.len() >= MOST {
            self.next = None;
        }
    }

    /// The highest rate that held.
    pub fn best(&self) -> Option<f64> {
        self.held
    }

    /// All that were tried.
    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }
}
