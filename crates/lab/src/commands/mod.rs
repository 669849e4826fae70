//! The commands, a file each: what a command line asks for is done by the other folders, and what they find is printed
//! here.

pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod get;
pub(crate) mod link;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod race;
pub(crate) mod report;
pub(crate) mod serve;
pub(crate) mod subject;
