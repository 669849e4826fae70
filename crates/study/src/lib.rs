//! Room `study`.
