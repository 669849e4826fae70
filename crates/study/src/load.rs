//! What a load run found, as values: its result and schema, objectives, and the search for the highest rate that holds
//! them. Percentiles are read from merged histograms, never averaged.

mod judge;
mod posterior;
mod result;
mod search;
mod slo;
mod slo_result;
mod times;

pub use judge::{BUSY, Checked, Judgement, ProbeFacts, Rates};
pub use result::{
    ClientCpu, ConnectsResult, EarlyDataResult, LOAD_SCHEMA, LoadResult, LoadSetting, LoopKind,
    PartResult, Second, SpacingKind, StageResult, TargetResult, load_schema,
};
pub use search::{Found, Search, Verdict};
pub use slo::Slo;
pub use slo_result::{Probe, SloAnswer, SloResult};
pub use times::{TimeAt, TimeBuckets, TimesSummary};

#[cfg(test)]
mod tests;
