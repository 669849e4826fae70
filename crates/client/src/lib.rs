//! Our client as a sans-IO end point: a pool of connections as browsers keep it, and fetches with the
//! times of their phases.
//!
//! [`Client`] is driven like every end point (`proto::EndPoint`); what it is for is a [`Work`]:
//! [`FetchList`] or [`PageLoad`]. It knows no resolver, no file and no clock.

mod carrier;
mod client;
mod config;
mod failure;
mod fetch;
mod fetch_list;
mod hosts;
mod page_load;
mod pool;
mod profile;
mod redirect;
mod timers;
mod transport;
mod work;

pub use client::Client;
pub use config::{ClientConfig, KeepAlive, PoolLimits, Priorities, Timeouts};
pub use fetch::{FetchId, FetchSpec};
pub use fetch_list::{Answer, Bodies, FetchList};
pub use hosts::{Hosts, Place};
pub use page_load::PageLoad;
pub use profile::Profile;
pub use transport::{Offer, Protocol, Security, Transport};
pub use work::Work;
