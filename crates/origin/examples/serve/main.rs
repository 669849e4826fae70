//! Serves a folder: `serve DIR [--listen ADDR] [--listen-tls ADDR] [--threads N] [--low-water BYTES] [--deep]`,
//! until its standard input ends. Addresses are printed, one a line, once they listen.
#![allow(clippy::print_stdout, reason = "an example is a program")]

#[path = "../../../lab/src/files_adapter.rs"]
mod files_adapter;

use endpoint::SocketSettings;
use files_adapter::FilesAdapter;
use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock};
use os::files::{CacheSettings, Root};
use os::process::{Cpu, CpuSet};
use os::reactor::{AdaptiveSendBuffer, Reactor, ReactorSettings, Stop};
use os::tcp::Listener;
use secure::{Authority, AuthoritySpec, Ciphers, ServerTls, ServerTlsOptions};
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let stop = Stop::new()?;
    let (config, shares) = listen(&arguments)?;
    let threads: Vec<_> = shares
        .into_iter()
        .enumerate()
        .map(|(index, listeners)| {
            let (config, stop, folder) = (config.clone(), stop.clone(), arguments.folder.clone());
            let (depth, cpus) = (arguments.depth, CpuSet::allowed());
            thread::spawn(move || {
                serve(config, stop, (folder, depth), (cpus.nth(index), listeners))
            })
        })
        .collect();
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    stop.stop();
    for thread in threads {
        thread.join().map_err(|_panic| "a thread panicked")??;
    }
    Ok(())
}

/// The origin's settings, and for each thread its own listeners on all addresses.
fn listen(arguments: &Arguments) -> Outcome<(OriginConfig, Vec<Vec<Listener>>)> {
    let authority = Authority::new(AuthoritySpec::default())?;
    let identity = authority.issue(&["localhost", "127.0.0.1", "::1"])?;
    let ciphers = Ciphers::Cheapest;
    let tls = ServerTlsOptions { ciphers, ..ServerTlsOptions::new(vec![identity]) };
    let tls = ServerTls::new(tls)?;
    let mut kinds = Vec::new();
    let mut shares: Vec<Vec<Listener>> = (0..arguments.threads).map(|_| Vec::new()).collect();
    let settings =
        SocketSettings { unsent_low_water: arguments.low_water, ..SocketSettings::default() };
    for (address, kind) in &arguments.listen {
        kinds.push(match kind {
            Kind::Clear => ListenerKind::Clear,
            Kind::Tls => ListenerKind::Tls(tls.clone()),
        });
        let listeners = Listener::bind_all(*address, arguments.threads, &settings)?;
        for (share, listener) in shares.iter_mut().zip(listeners) {
            share.push(listener);
        }
        if let Some(listener) = shares.first().and_then(|share| share.last()) {
            println!("{}", listener.local());
        }
    }
    let wall_clock = WallClock { at: os::clock::now(), unix: os::clock::realtime() };
    Ok((OriginConfig::new(kinds, wall_clock), shares))
}

/// One thread: its reactor, its origin, its files.
fn serve(
    config: OriginConfig,
    stop: Stop,
    (folder, depth): (PathBuf, AdaptiveSendBuffer),
    (cpu, listeners): (Option<Cpu>, Vec<Listener>),
) -> Outcome<()> {
    let root = Root::open(&folder, CacheSettings::default())?;
    let settings =
        ReactorSettings { cpu, adaptive_send_buffer: depth, ..ReactorSettings::default() };
    let mut reactor = Reactor::new(settings, stop)?;
    for listener in listeners {
        reactor.listen(listener)?;
    }
    let parts = Parts { files: Some(Box::new(FilesAdapter(root))), ..Parts::default() };
    Ok(reactor.run(&mut Origin::new(config, parts))?)
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Clear,
    Tls,
}

struct Arguments {
    folder: PathBuf,
    listen: Vec<(SocketAddr, Kind)>,
    threads: usize,
    low_water: u32,
    depth: AdaptiveSendBuffer,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let low_water = SocketSettings::default().unsent_low_water;
        let (listen, depth) = (Vec::new(), AdaptiveSendBuffer::Down);
        let mut read = Self { folder: ".".into(), listen, threads: 1, low_water, depth };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--listen" => read.listen.push((value()?.parse()?, Kind::Clear)),
                "--listen-tls" => read.listen.push((value()?.parse()?, Kind::Tls)),
                "--low-water" => read.low_water = value()?.parse()?,
                "--deep" => read.depth = AdaptiveSendBuffer::UpAndDown,
                "--threads" => read.threads = value()?.parse::<usize>()?.max(1),
                _ => read.folder = word.into(),
            }
        }
        Ok(read)
    }
}
