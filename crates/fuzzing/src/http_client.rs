//! Our clients over HTTP under a hostile server: a page load, calls, echoes with request bodies, and the load engine.

use crate::driver::{self, Bound};
use bytes::Bytes;
use client::load::{Access, Exchange, Load, LoadPlan, Target};
use client::{
    Calls, Client, ClientConfig, EchoRequests, FetchSpec, HostAddress, Message, PageLoad,
};
use client::{Offer, Pattern, Protocol, Push, Security, Surplus, Timeouts, Transport};
use page::{Browser, Url};
use proto::{Fields, Method};
use secure::ClientTls;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// A page load of a URL: what it needs is found in the server's bytes. The first byte chooses the settings, the rest is
/// a script.
pub(crate) fn page_load(input: &[u8]) {
    with_config(input, |config, script| driver::run(|| page(config), PAGE_BOUND, script));
}

/// Three calls, at once or one after another.
pub(crate) fn calls(input: &[u8]) {
    with_config(input, |config, script| driver::run(|| three_calls(config), BOUND, script));
}

/// Three echoes with request bodies.
pub(crate) fn echoes(input: &[u8]) {
    with_config(input, |config, script| driver::run(|| three_echoes(config), BOUND, script));
}

/// The load engine, over two connections.
pub(crate) fn load(input: &[u8]) {
    with_config(input, |config, script| {
        driver::run(|| engine(config.transport, config.tls.clone()), LOAD_BOUND, script);
    });
}

fn with_config(input: &[u8], run: impl FnOnce(ClientConfig, &[u8])) {
    if let Some((&settings, script)) = input.split_first() {
        run(config(settings), script);
    }
}

/// A client that loads a page.
pub fn page(config: ClientConfig) -> Client<PageLoad> {
    let url = url("http://a.test/");
    let load = PageLoad::new(|now| page::Load::browse(url, Browser::Chrome156, now));
    Client::new(config, load)
}

/// A client that loads a page which the origin makes to measure, with its images.
pub fn synthetic_page(config: ClientConfig) -> Client<PageLoad> {
    let url = url("http://a.test/page?images=5&bytes=3000");
    let load = PageLoad::new(|now| page::Load::browse(url, Browser::Chrome156, now));
    Client::new(config, load)
}

/// A client that asks for each of the origin's own routes that answers a GET.
pub fn routes(config: ClientConfig) -> Client<Calls> {
    let paths = [
        "/page?images=999",
        "/stream?count=99",
        "/poll?count=9&after=3&since=0",
        "/double?number=2",
        "/api?bytes=99999",
        "/image/1?bytes=9999",
    ];
    let specs = paths.map(|path| FetchSpec::get(url(&format!("http://a.test{path}"))));
    Client::new(config, Calls::new(specs, Pattern::Parallel))
}

/// A client that makes three calls.
pub fn three_calls(config: ClientConfig) -> Client<Calls> {
    let pattern = match config.surplus {
        Surplus::Dropped => Pattern::Parallel,
        Surplus::Blamed => Pattern::Staggered { every: Duration::from_millis(10) },
    };
    let specs = ["http://a.test/a", "http://a.test/b", "http://b.test/a"]
        .map(|path| FetchSpec::get(url(path)));
    Client::new(config, Calls::new(specs, pattern))
}

/// A client that makes three echoes.
pub fn three_echoes(config: ClientConfig) -> Client<EchoRequests> {
    let messages = [10, 100, 20_000].map(|length| {
        let text = Bytes::from(vec![b'x'; length]);
        let method = Method::Post;
        let spec = FetchSpec { method, body: text.clone(), ..FetchSpec::get(url(ECHO)) };
        (spec, Message { answer: text.clone(), text })
    });
    Client::new(config, EchoRequests::new(messages, Pattern::Serial))
}

/// A load engine with two connections, for HTTP and a WebSocket.
pub fn engine(transport: Transport, tls: ClientTls) -> Load {
    let mut access = Access::new(transport, tls);
    access.hosts.insert_default(SERVER);
    let get = Exchange::Http { method: Method::Get, fields: Fields::new(), body: Bytes::new() };
    let echo = Exchange::Echo { fields: Fields::new(), message: Bytes::from_static(b"message") };
    let targets = vec![
        Target { url: url("http://a.test/"), exchange: get, weight: 2 },
        Target { url: url("http://b.test/ws/echo"), exchange: echo, weight: 1 },
    ];
    Load::new(LoadPlan {
        connections: 2,
        streams: 3,
        requests: Some(20),
        duration: Some(Duration::from_secs(20)),
        ..LoadPlan::new(targets, access)
    })
}

/// The settings of a client: its transport by the lowest two bits, then push, then what is done with surplus bytes.
pub fn config(settings: u8) -> ClientConfig {
    // No target has datagrams: HTTP/3 is left out.
    let protocols = [Protocol::Http1, Protocol::Http2, Protocol::Spdy31, Protocol::Spdy3];
    let protocol = protocols[usize::from(settings % 4)];
    let transport = Transport { offer: Offer::Only(protocol), security: Security::Clear };
    let tls = TLS.with(Clone::clone);
    let mut config = ClientConfig::new(transport, tls);
    config.hosts.insert_default(SERVER);
    config.push = if settings & 4 != 0 { Push::Taken } else { Push::Refused };
    if settings & 8 != 0 {
        config.surplus = Surplus::Blamed;
    }
    let whole = Some(Duration::from_secs(100));
    config.timeouts = Timeouts { whole, ..Timeouts::default() };
    config
}

pub(crate) fn url(text: &str) -> Url {
    text.parse().expect("a URL of this file")
}

thread_local! {
    /// Made once, because it reads the roots.
    static TLS: ClientTls = ClientTls::new(Default::default()).expect("the default settings");
}

/// What a client with three requests may hold: the windows of HTTP/2 are for bytes that are handed on at once, so only
/// heads, HPACK's tables and request bodies are kept.
const BOUND: Bound = Bound { fixed: 2 * 1024 * 1024, connection: 512 * 1024, input: 64 };

/// A page load holds a record for each resource too, which ten bytes of HTML name, and a connection for each new host.
const PAGE_BOUND: Bound = Bound { input: 1024, ..BOUND };

/// The load engine has histograms of a fixed size.
const LOAD_BOUND: Bound = Bound { fixed: 8 * 1024 * 1024, ..BOUND };

const ECHO: &str = "http://a.test/echo";
const SERVER: HostAddress = HostAddress::Address(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)));
