//! `wirelap relay` (hidden): relays connections for `wirelap link`, for services that already run, and as the TCP proxy of a
//! trial's link. Its standard input is a socket over which it is handed its listeners; when that closes, it ends. A proxy
//! then prints the times of its event loop, for the audit.

use crate::console;
use crate::error::CliError;
use crate::link::relay::{Relay, Targets};
use crate::link::relay_process::RelayJob;
use crate::trial::near::timed;
use os::handover;
use os::reactor::{Reactor, ReactorSettings, Stop};
use os::tcp::Listener;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

/// How long bytes of a connection that has ended may take to leave: the link may be slow.
const FLUSH: Duration = Duration::from_secs(600);
/// The same for a trial's proxy: when it is asked to end, client and server have.
const PROXY_FLUSH: Duration = Duration::from_millis(50);

/// Relays until it is asked to stop.
pub(crate) fn run() -> Result<ExitCode, CliError> {
    let Some(message) = handover::receive(std::io::stdin().as_fd())? else {
        return Ok(ExitCode::FAILURE);
    };
    let job: RelayJob = serde_json::from_slice(&message.bytes).map_err(CliError::failed)?;
    os::process::raise_descriptors();
    let stop = Stop::new()?;
    let is_proxy = matches!(job.targets, Targets::AsAsked { .. });
    let settings = match is_proxy {
        true => ReactorSettings { flush: PROXY_FLUSH, ..timed() },
        false => ReactorSettings { flush: FLUSH, ..ReactorSettings::default() },
    };
    let mut reactor = Reactor::new(settings, stop.clone())?;
    for listener in message.descriptors {
        reactor.listen(Listener::from_fd(listener)?)?;
    }
    std::thread::spawn(move || {
        let _ = os::process::wait_readable(std::io::stdin().as_fd(), None);
        stop.stop();
    });
    let mut relay = Relay::new(
        job.targets,
        Box::new(|route, error| {
            let service = &route.service;
            console::note(&format!(
                "link: {service} cannot be reached ({error}): its clients are reset; start the service, or check its port"
            ));
        }),
    );
    reactor.run(&mut relay)?;
    if is_proxy {
        console::print_job(&reactor.loop_times())?;
    }
    Ok(ExitCode::SUCCESS)
}
