//! Looks before the end: the numbers of blocks at which a comparison may be judged, and the share of its error that
//! each look may spend (Lan and DeMets, "Discrete Sequential Boundaries for Clinical Trials", 1983). The spending
//! function is alpha·t of Kim and DeMets ("Design and Analysis of Group Sequential Tests Based on the Type I Error
//! Spending Rate Function", 1987).
//!
//! Bonferroni's inequality holds however the looks depend on each other. So a run that stops at any look,
//! for any reason, has spent no more than alpha. Using the dependence would gain little (a level of 5 % instead of 4
//! %) and would need a model. The intervals are the repeated ones of Jennison and Turnbull ("Interim Analyses: The
//! Repeated Confidence Interval Approach", 1989). Only the numbers of trials and comparisons decide.

/// A look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Blocks that are judged.
    pub blocks: u32,
    /// The share of the error that may be spent.
    pub share: f64,
}

/// The one look of a run that is not stopped early.
pub fn one_look(trials: u32) -> Vec<Look> {
    vec![Look { blocks: trials, share: 1.0 }]
}

/// The looks at up to `trials` blocks, for a comparison with `error` in all. The first comes as soon as its share pays
/// for an interval; each next one after half as many blocks again.
pub fn looks(trials: u32, error: f64) -> Vec<Look> {
    let share = |blocks: u32| f64::from(blocks) / f64::from(trials);
    // The widest interval of n blocks misses with 2/2^n.
    let pays = |blocks: u32| 2.0 / 2.0_f64.powi(blocks as i32) <= share(blocks) * error;
    let Some(first) = (1..trials).find(|&blocks| pays(blocks)) else { return one_look(trials) };
    let mut looks = Vec::new();
    let (mut blocks, mut spent) = (first, 0.0);
    // A look shortly before the end would save little and cost its share.
    while f64::from(blocks) <= LAST_EARLY_LOOK * f64::from(trials) {
        looks.push(Look { blocks, share: share(blocks) - spent });
        spent = share(blocks);
        blocks = blocks + blocks.div_ceil(2);
    }
    looks.push(Look { blocks: trials, share: 1.0 - spent });
    looks
}

const LAST_EARLY_LOOK: f64 = 0.8;
