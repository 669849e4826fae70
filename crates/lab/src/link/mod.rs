//! What is between two ends. A [`path::NetworkPath`] passes their packets on, through an emulated link or over loopback,
//! and logs each; a [`capture::Capture`] keeps them as pcapng. [`ports::Ports`] lead from this machine onto a link and
//! back, through [`relay::Relay`]s.

pub(crate) mod capture;
pub(crate) mod path;
pub(crate) mod ports;
pub(crate) mod relay;
pub(crate) mod relay_process;
