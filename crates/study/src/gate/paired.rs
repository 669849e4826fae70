//! The ratio of two contenders of one race and its interval, from the blocks that they share.

use super::RatioEvidence;
use crate::stats::{Detectable, WalshAverages, spread};
use crate::verdict::{Stage, repeated_interval};
use std::f64::consts::PI;

/// What the looks at a comparison so far say of its ratio; `allowed` is what the place may miss on either side.
pub fn paired(stages: &[Stage], allowed: f64, detectable: &mut Detectable) -> RatioEvidence {
    let Some(last) = stages.last() else {
        return RatioEvidence::none("nothing was looked at".to_owned());
    };
    let n = last.paired.blocks();
    let walsh = WalshAverages::of(last.paired.logs());
    let sigma = spread(&walsh, n);
    let deviations = detectable.deviations(n, last.level.rank);
    RatioEvidence {
        n: u32::try_from(n).unwrap_or(u32::MAX),
        estimate: walsh.estimate(),
        interval: repeated_interval(stages),
        error: stages.iter().map(|stage| stage.level.error / 2.0).sum(),
        detectable: deviations.zip(sigma).map(|(deviations, sigma)| deviations * sigma),
        noise: sigma.map(|sigma| sigma * (PI / 3.0).sqrt()),
        // The widest interval of n blocks misses with 2^-n on either side.
        least: (1.0 / (allowed * last.share)).log2().ceil() as u32,
        allowed,
        obstacle: None,
        refused: None,
    }
    .with_noise_of_its_interval()
}
