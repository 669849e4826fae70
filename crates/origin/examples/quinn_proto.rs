//! What a server upon quinn-proto can do at most: a fixed answer, with quinn-proto, rustls and our reactor, and no HTTP beyond what a
//! client must see. `quinn_proto PORT CERT KEY FILE` answers each request over HTTP/3 with the file.
//! `bench/run` has it beside the other servers.
#![allow(clippy::print_stdout, reason = "an example is a program")]

#[path = "../benches/quic/bare.rs"]
mod bare;

use bare::BareServer;
use endpoint::DatagramSettings;
use os::reactor::{Backend, Reactor, ReactorSettings, Stop};
use os::tcp::Sharing;
use os::udp::DatagramSocket;
use secure::{Ciphers, Identity, Pem, ServerTls, ServerTlsOptions};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [port, cert, key, file] = &words[..] else { return Err("PORT CERT KEY FILE".into()) };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse()?));
    // Whoever waits for the port looks for it over TCP.
    let _listener = TcpListener::bind(address)?;
    let pem = |path: &String| std::fs::read(path).map(|text| Pem::new(path.clone(), text));
    let identity = Identity::from_pem(&pem(cert)?, &pem(key)?)?;
    let tls =
        ServerTlsOptions { ciphers: Ciphers::Cheapest, ..ServerTlsOptions::new(vec![identity]) };
    let mut server = BareServer::new(&ServerTls::new(tls)?, &std::fs::read(file)?);
    let backend = if Backend::IoUring.probe().is_ok() { Backend::IoUring } else { Backend::Epoll };
    let settings = ReactorSettings { backend, ..ReactorSettings::default() };
    let mut reactor = Reactor::new(settings, Stop::new()?)?;
    let socket = DatagramSocket::bind(address, Sharing::Found, &DatagramSettings::default())?;
    reactor.listen_datagrams(socket);
    Ok(reactor.run(&mut server)?)
}
