//! `wirelap far` (hidden): the server's side of a trial. Takes its job, says when it listens, and
//! answers until it is told to stop.

use crate::job::{FarJob, FarReady, IdentityPem};
use crate::trouble::Trouble;
use origin::{ListenerKind, Origin, OriginConfig, Parts, Protocol, WallClock};
use os::reactor::{Reactor, ReactorSettings, Stop};
use os::tcp::{Listener, Sharing};
use proto::SocketSettings;
use secure::{Identity, Pem, Resumption, ServerTls, ServerTlsOptions, Versions};
use std::process::ExitCode;
use std::sync::Arc;
use study::experiment::{Contender, Tls, Transport};

/// Serves the job.
pub(crate) fn run() -> Result<ExitCode, Trouble> {
    let Some(job) = super::read_job::<FarJob>()? else { return Ok(ExitCode::FAILURE) };
    let tls = server_tls(&job)?;
    let mut kinds = Vec::new();
    // SIGTERM is how the worker ends this process: there is nothing to put away.
    let mut reactor =
        Reactor::new(ReactorSettings::default(), Stop::new().map_err(super::lacking)?)
            .map_err(super::lacking)?;
    let clear = job.listen.iter().map(|address| (address, ListenerKind::Clear));
    let secure = tls.iter().flat_map(|tls| {
        job.listen_tls.iter().map(move |address| (address, ListenerKind::Tls(tls.clone())))
    });
    for (address, kind) in clear.chain(secure) {
        let listener = Listener::bind(*address, Sharing::Found, &SocketSettings::default());
        reactor.listen(listener.map_err(super::lacking)?).map_err(super::lacking)?;
        kinds.push(kind);
    }
    let wall_clock = WallClock { at: os::clock::now(), unix: os::clock::realtime() };
    let mut config = OriginConfig::new(kinds, wall_clock);
    config.protocols = vec![protocol(&job.contender)];
    config.table = job.table.map(Arc::new);
    let mut origin = Origin::new(config, Parts::default());
    super::print_job(&FarReady {})?;
    reactor.run(&mut origin).map_err(super::lacking)?;
    Ok(ExitCode::SUCCESS)
}

fn server_tls(job: &FarJob) -> Result<Option<ServerTls>, Trouble> {
    if job.listen_tls.is_empty() {
        return Ok(None);
    }
    let identities = job.identities.iter().map(identity).collect::<Result<_, _>>()?;
    let options = ServerTlsOptions {
        alpn: vec![protocol(&job.contender).name.to_owned()],
        versions: versions(&job.contender),
        resumption: resumption(&job.contender),
        ..ServerTlsOptions::new(identities)
    };
    ServerTls::new(options).map(Some).map_err(Trouble::failed)
}

fn identity(pem: &IdentityPem) -> Result<Identity, Trouble> {
    let chain = Pem::new("the trial's chain", pem.chain.as_bytes());
    let key = Pem::new("the trial's key", pem.key.as_bytes());
    Identity::from_pem(&chain, &key).map_err(Trouble::failed)
}

/// The one protocol that a contender speaks, whether the client knows that beforehand or not.
fn protocol(contender: &Contender) -> Protocol {
    match contender.transport {
        Transport::Http1 => Protocol::HTTP_1_1,
        Transport::H2 => Protocol::HTTP_2,
        Transport::Spdy => Protocol::SPDY_3_1,
        Transport::Spdy3 => Protocol::SPDY_3,
    }
}

/// Exactly the TLS version that a contender names; both sides are held to it.
pub(crate) fn versions(contender: &Contender) -> Versions {
    match contender.tls {
        Tls::V1_2 => Versions::Tls12,
        Tls::None | Tls::V1_3 => Versions::Tls13,
    }
}

/// Whether tickets are given and taken; both sides are held to it.
pub(crate) fn resumption(contender: &Contender) -> Resumption {
    if contender.settings.resumption { Resumption::On } else { Resumption::Off }
}
