//! The figures of RFC 7540 §5.3, and the tree against a model written from its text.

mod figures;
mod model;
mod properties;
