//! `wirelap near` (hidden): the client's side of a trial. Takes its job, loads the page, and tells what
//! happened.

use crate::command::far::versions;
use crate::job::{NearJob, NearReport};
use crate::key_log;
use crate::trouble::Trouble;
use client::{
    Client, ClientConfig, Hosts, KeepAlive, PageLoad, Place, PoolLimits, Timeouts, Transport,
};
use os::reactor::{Moment, Reactor, ReactorSettings, Stop};
use os::tcp::TcpFacts;
use page::{Browser, Counts, Load, Page, ResourceId};
use proto::h2;
use secure::{ClientTls, ClientTlsOptions, Pem};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::rc::Rc;
use study::experiment::{Contender, Tls};

/// Does the job.
pub(crate) fn run() -> Result<ExitCode, Trouble> {
    let Some(job) = super::read_job::<NearJob>()? else { return Ok(ExitCode::FAILURE) };
    let config = config(&job)?;
    let page = job.page.clone();
    let work = PageLoad::new(move |now| Load::replay(&page, Browser::Chromium, now));
    let mut client = Client::new(config, work);
    let settings = Rc::new(RefCell::new(BTreeMap::new()));
    let mut reactor =
        Reactor::new(ReactorSettings::default(), Stop::new().map_err(super::lacking)?)
            .map_err(super::lacking)?;
    let witness = settings.clone();
    reactor.observe(Box::new(move |_, moment, facts| {
        note_facts(&mut witness.borrow_mut(), moment, facts)
    }));
    reactor.run(&mut client).map_err(super::lacking)?;
    drop(reactor);
    super::print_job(&report(&job.page, &client.into_work(), settings.take()))?;
    Ok(ExitCode::SUCCESS)
}

fn config(job: &NearJob) -> Result<ClientConfig, Trouble> {
    let contender = &job.contender;
    let transport = transport(contender);
    let tls = ClientTls::new(ClientTlsOptions {
        roots: vec![Pem::new("the trial's root certificate", job.root.as_bytes())],
        alpn: transport.alpn(),
        versions: versions(contender),
        key_log: key_log::open(job.key_log.as_deref())?,
        ..ClientTlsOptions::default()
    })
    .map_err(Trouble::failed)?;
    let settings = &contender.settings;
    let mut config = ClientConfig::new(transport, tls);
    config.hosts = hosts(job);
    config.keep_alive = if settings.keep_alive { KeepAlive::On } else { KeepAlive::Off };
    config.limits =
        PoolLimits { per_origin: settings.connections as usize, ..PoolLimits::default() };
    config.timeouts =
        Timeouts { connect: job.timeout, stall: job.timeout, whole: Some(job.timeout) };
    config.h2 = h2::Settings {
        stream_window: settings.stream_window.0 as u32,
        connection_window: settings.connection_window.0 as u32,
        ..h2::Settings::client()
    };
    Ok(config)
}

fn transport(contender: &Contender) -> Transport {
    use client::{Offer, Security};
    use study::experiment::Transport as Asked;
    Transport {
        offer: match contender.transport {
            Asked::Http1 => Offer::Http1,
            Asked::H2 => Offer::Http2,
        },
        security: match contender.tls {
            Tls::None => Security::Clear,
            Tls::V1_2 | Tls::V1_3 => Security::Tls,
        },
    }
}

fn hosts(job: &NearJob) -> Hosts {
    let mut hosts = Hosts::new();
    for (name, address) in &job.hosts {
        hosts.insert(name, Place::Address(*address));
    }
    hosts
}

/// What the kernel says of a connection: the same for all of them, so the last one's word is kept.
fn note_facts(settings: &mut BTreeMap<String, String>, moment: Moment, facts: &TcpFacts) {
    if moment == Moment::Opened {
        settings
            .insert("near socket congestion control".to_owned(), facts.congestion_control.clone());
        settings.insert("near socket segment size".to_owned(), facts.segment_size.to_string());
        settings
            .insert("near socket initial window".to_owned(), facts.congestion_window.to_string());
    }
}

fn report(page: &Page, load: &PageLoad, settings: BTreeMap<String, String>) -> NearReport {
    let resource = |id: u32| {
        let id: ResourceId = load.resource(client::FetchId(id))?;
        page.resource(id)
    };
    let mut report = NearReport {
        fetches: load.fetches().to_vec(),
        connections: load.connections().to_vec(),
        uncounted: Default::default(),
        server_time: BTreeMap::new(),
        settings,
    };
    report.fetches.sort_by_key(|fetch| fetch.id);
    report.connections.sort_by_key(|connection| connection.id);
    for fetch in &report.fetches {
        let Some(resource) = resource(fetch.id) else { continue };
        if resource.counts == Counts::AfterLoad {
            report.uncounted.insert(fetch.id);
        }
        if !resource.server_time.is_zero() {
            report.server_time.insert(fetch.id, resource.server_time);
        }
    }
    report
}
