//! The files that an experiment names: recorded pages, traces of links, declarations of clients and servers, delivery
//! policies. They are read beside the experiment's file first. A run's folder keeps copies, and its trials read only those.

pub(crate) mod files;
pub(crate) mod har;
pub(crate) mod links;
pub(crate) mod policy;
pub(crate) mod regular;
pub(crate) mod requests;
pub(crate) mod servers;
pub(crate) mod site;
pub(crate) mod subjects;
