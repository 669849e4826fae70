//! Fetches URLs over real sockets and prints when each phase ended:
//! `cargo run -p client --example fetch -- [-k] [--http1.1|--http2] [--cacert FILE] [--page] URL…`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what it does")]

use client::{
    Bodies, Client, ClientConfig, FetchList, FetchSpec, HostAddress, Offer, PageLoad, Protocol,
    Records, Security, Transport, Work,
};
use os::reactor::{Reactor, ReactorSettings, Stop};
use page::{Browser, Load, Url};
use secure::{ClientTls, ClientTlsOptions, Pem, Trust};
use std::error::Error;
use std::net::ToSocketAddrs;
use std::process::ExitCode;
use unit::{Instant, format_duration};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut offer = Offer::OrHttp1(Protocol::Http2);
    let mut tls = ClientTlsOptions::default();
    let mut urls: Vec<Url> = Vec::new();
    let mut as_page = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-k" => tls.trust = Trust::Anyone,
            "--http1.1" => offer = Offer::Only(Protocol::Http1),
            "--http2" => offer = Offer::Only(Protocol::Http2),
            "--page" => as_page = true,
            "--cacert" => {
                let file = arguments.next().ok_or("--cacert needs a file")?;
                tls.roots.push(Pem::new(file.clone(), std::fs::read(file)?));
            }
            url => urls.push(url.parse()?),
        }
    }
    let transport = Transport { offer, security: Security::AsUrl };
    tls.alpn = transport.alpn();
    let mut config = ClientConfig::new(transport, ClientTls::new(tls)?);
    for url in &urls {
        let bare = url.host.trim_matches(['[', ']']);
        let address = (bare, url.port()).to_socket_addrs()?.next().ok_or("no address")?;
        config.hosts.insert(bare, HostAddress::Address(address.ip()));
    }
    if as_page {
        let url = urls.into_iter().next().ok_or("a page needs a URL")?;
        let load = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
        let load = drive(Client::new(config, load))?;
        print(&load.records);
        println!("{:?}", load.milestones());
    } else {
        let list = FetchList::new(urls.into_iter().map(FetchSpec::get), Bodies::Discard);
        let list = drive(Client::new(config, list))?;
        print(&list.records);
    }
    Ok(())
}

fn drive<W: Work>(mut client: Client<W>) -> Result<W, Box<dyn Error>> {
    Reactor::new(ReactorSettings::default(), Stop::new()?)?.run(&mut client)?;
    Ok(client.into_work())
}

fn print(records: &Records) {
    for fetch in &records.fetches {
        let phases = fetch.phases;
        let after = |at: Option<Instant>| {
            at.map_or("-".to_owned(), |at| format_duration(at.since(phases.queued)))
        };
        println!(
            "{} {} {} bytes over {}: connected {}, secured {}, sent {}, first byte {}, last byte {} ({:?})",
            fetch.url,
            fetch.status.unwrap_or_default(),
            fetch.body_bytes,
            fetch.protocol,
            after(phases.connected),
            after(phases.secured),
            after(phases.sent),
            after(phases.first_byte),
            after(phases.last_byte),
            fetch.outcome,
        );
    }
    for connection in &records.connections {
        println!("{connection:?}");
    }
}
