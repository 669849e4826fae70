//! The page-load model: which resources a page has, what makes each of them known, how a browser ranks
//! them, and when the page is loaded. It speaks of fetches only, never of how they travel.
//!
//! A page is synthetic ([`Synthetic`]), or recorded ([`har`]); a [`Load`] takes the events of its fetches
//! and an absolute time, and gives fetches to start.
//!
//! ```
//! use page::{Browser, Load, Synthetic};
//! use unit::Instant;
//!
//! let synthetic: Synthetic = "/page?images=2&bytes=5000".parse()?;
//! let (begin, end) = (Instant::ZERO, Instant::from_nanos(60_000_000));
//! let mut load = Load::browse("http://far/page?images=2".parse()?, Browser::Chrome156, begin);
//! let document = load.poll_fetch(begin).expect("the document is known from the beginning");
//! load.handle_body(document.id, synthetic.html().as_bytes(), end);
//! load.handle_done(document.id, end);
//! while let Some(image) = load.poll_fetch(end) {
//!     assert!(image.url.path.starts_with("/image/"));
//!     load.handle_done(image.id, end);
//! }
//! assert_eq!(load.milestones().load, Some(end));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod browser;
mod exchange;
mod graph;
pub mod har;
mod link;
mod load;
mod noise;
mod number;
mod padding;
mod png;
mod priority;
mod resource;
mod scan;
mod source;
mod stream;
mod synthetic;
mod table;
mod url;

pub use browser::{Browser, CHROMIUM_WEIGHTS, Class, Evidence, Group, Place, Raise, Signals};
pub use exchange::{Answered, Asked, Field, Message, MessageKind, Sender};
pub use graph::{GraphError, Page};
pub use link::LinkSource;
pub use load::{ExpectedResponse, FetchStart, History, Load, Milestones, PaintTimes};
pub use noise::noise;
pub use padding::Padding;
pub use png::Pixels;
pub use priority::{Hint, Priority, Rank};
pub use resource::{Blocks, Fold, Host, Kind, Method, Release, Resource, ResourceId};
pub use scan::{CrossOrigin, FetchMode, Found, Purpose, Scanner};
pub use source::PageSource;
pub use stream::{LARGEST_TOKEN, LEAST_TOKEN, StreamError, SyntheticStream, Token};
pub use synthetic::{
    IMAGE_PATH, PAGE_PATH, PartPiece, Parts, QueryError, Synthetic, SyntheticError, SyntheticHtml,
    SyntheticImage, SyntheticPart,
};
pub use table::{Answer, Table};
pub use url::{Scheme, Url, UrlError};
