//! The page-load model.
mod graph;
pub mod har;
mod load;
mod noise;
mod number;
mod priority;
mod scan;
mod synthetic;
mod url;

pub use graph::{
    Answer, Counts, GraphError, Host, Kind, Page, Release, Resource, ResourceId, Table,
};
pub use load::{FetchStart, History, Load, Milestones};
pub use noise::noise;
pub use priority::{Browser, Hint, Priority, Rank};
pub use scan::{Found, Scanner};
pub use synthetic::{IMAGE_PATH, PAGE_PATH, QueryError, Synthetic, SyntheticError, SyntheticImage};
pub use url::{Scheme, Url, UrlError};
