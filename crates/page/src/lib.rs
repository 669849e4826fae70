//! The page-load model.
mod graph;
mod load;
mod number;
mod priority;
mod scan;
mod url;

pub use graph::{
    Answer, Counts, GraphError, Host, Kind, Page, Release, Resource, ResourceId, Table,
};
pub use load::{FetchStart, History, Load, Milestones};
pub use priority::{Browser, Hint, Priority, Rank};
pub use scan::{Found, Scanner};
pub use url::{Scheme, Url, UrlError};
