//! The files that an experiment names: recorded pages, traces of links, declarations of clients and servers.

pub(crate) mod files;
pub(crate) mod har;
pub(crate) mod links;
pub(crate) mod servers;
pub(crate) mod subjects;
