//! What a load run found, as values: its result and schema, objectives, and the search for the highest rate that holds
//! them. Percentiles are read from merged histograms, never averaged.

mod result;
mod search;
mod slo;
mod times;

pub use result::{
    ClientCpu, ConnectsResult, LOAD_SCHEMA, LoadResult, LoadSetting, LoopKind, PartResult, Second,
    SloResult, SpacingKind, StageResult, TargetResult, load_schema,
};
pub use search::{Probe, Search};
pub use slo::{Checked, Slo};
pub use times::{TimeAt, TimesSummary};

#[cfg(test)]
mod tests;
