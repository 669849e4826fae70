//! Serves the test site over HTTP/2 with prior knowledge on a clear port: `h2_server [ADDRESS:PORT]`.

#[path = "../tests/support/mod.rs"]
mod support;

use proto::h2::{Server, Settings};
use proto::schedule::RoundRobin;
use std::net::TcpListener;
use trace::Tracer;

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(address)?;
    loop {
        let (tcp, _) = listener.accept()?;
        std::thread::spawn(move || {
            let turns = Box::new(RoundRobin::default());
            let now = support::drive::now();
            let server = Server::new(now, Settings::server(), turns, Tracer::off());
            support::site::serve(&tcp, server)
        });
    }
}
