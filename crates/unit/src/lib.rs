//! Quantities, time and seeds: the values that every other crate counts in.
//!
//! A rate is not a size and a probability is not a percentage; each is a type of its own that parses
//! what people write (`1.6mbit`, `64kB`, `0.5%`, `60ms`) and says what it expected when it cannot. [`escape`] makes text of other people's safe to print, and
//! [`nearest`] finds the name that was meant.
//!
//! ```
//! use unit::{BitRate, ByteSize, Instant, Seed};
//! use std::time::Duration;
//!
//! let rate: BitRate = "9mbit".parse()?;
//! let packet: ByteSize = "1500B".parse()?;
//! assert_eq!(rate.time_for(packet), Duration::from_nanos(1_333_333));
//! assert_eq!(Instant::ZERO + rate.time_for(packet), Instant::from_nanos(1_333_333));
//! assert_eq!(Seed(7).child("loss").draw(3), Seed(7).child("loss").draw(3));
//! # Ok::<(), unit::ParseError>(())
//! ```

mod bit_rate;
mod byte_size;
mod counted;
mod escape;
mod nearest;
mod parse;
mod probability;
mod ranges;
mod seed;
mod time;

pub use bit_rate::BitRate;
pub use byte_size::ByteSize;
pub use counted::counted;
pub use escape::{escape, escape_bytes, escape_json, escape_lines, is_unsafe};
pub use nearest::nearest;
pub use parse::ParseError;
pub use probability::Probability;
pub use ranges::{NoRanges, Ranges};
pub use seed::{Random, Seed};
pub use time::{Instant, format_duration, parse_duration};
