//! What needs the operating system: a reactor that drives end points over sockets, files, the clock, processes, network
//! namespaces and the forwarder of an emulated link. The only crate with file descriptors and `unsafe`.

mod buffer_pool;
pub mod busiest;
pub mod cgroup;
pub mod clock;
mod descriptor;
pub mod error;
pub mod files;
pub mod handover;
pub mod machine;
pub mod memory;
pub mod net;
pub mod process;
pub mod process_tree;
pub mod reactor;
pub mod replace;
pub mod signal;
pub mod tcp;
pub mod udp;
