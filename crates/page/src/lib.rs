//! The page-load model.
mod graph;
mod number;
mod priority;
mod url;

pub use graph::{Answer, Counts, GraphError, Host, Kind, Page, Release, Resource, ResourceId, Table};
pub use priority::{Browser, Hint, Priority, Rank};
pub use url::{Scheme, Url, UrlError};
