//! Experiments, rows and statistics: values and pure functions, without IO, clock or printing.

pub mod experiment;
mod nearest;
pub mod plan;
pub mod reconcile;
pub mod record;
#[cfg(test)]
mod schema_file;

pub use nearest::nearest;
