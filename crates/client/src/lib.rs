//! Our client as a sans-IO end point: a pool of connections with a browser's rules, and fetches with the times of
//! their phases.
//!
//! [`Client`] is driven like every end point (`endpoint::EndPoint`). Its purpose is a [`Work`]: [`FetchList`],
//! [`PageLoad`], [`Calls`] or [`Download`]. A [`Conversation`] speaks over a WebSocket, driven by a
//! [`WebSocketClient`]. None of them knows a resolver, a file or a clock.
//!
//! ```
//! use client::{Bodies, Client, ClientConfig, FetchId, FetchList, FetchSpec, Transport};
//! use endpoint::{Action, EndPoint, SendBuf};
//! use unit::Instant;
//!
//! let list = FetchList::new([FetchSpec::get("http://10.0.0.2/hello".parse()?)], Bodies::Keep);
//! let tls = secure::ClientTls::new(Default::default())?;
//! let mut client = Client::new(ClientConfig::new(Transport::H1, tls), list);
//! client.handle_start(Instant::ZERO);
//! let Some(Action::Connect { socket, .. }) = client.poll_action() else { panic!("no connect") };
//! client.handle_connected(Instant::ZERO, socket, "10.0.0.1:50000".parse()?);
//! let mut sent = SendBuf::new();
//! client.poll_transmit(Instant::ZERO, socket, &mut sent, 65_536);
//! assert!(sent.to_vec().starts_with(b"GET /hello HTTP/1.1\r\n"));
//! client.handle_bytes(Instant::ZERO, socket, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
//! assert!(client.is_finished());
//! assert_eq!(client.work().answer(FetchId(0)).map(|answer| &answer.body[..]), Some(&b"hi"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alt_svc;
mod cache;
mod calls;
mod client;
mod config;
mod connection;
mod cookies;
mod download;
mod echo;
mod failure;
mod fetch;
mod fetch_list;
mod hosts;
mod link_field;
pub mod load;
mod open_first;
mod own_socket;
mod page_load;
mod pool;
mod preload;
mod profile;
mod proxy;
mod push;
mod records;
mod redirect;
mod stream;
mod talk;
mod timers;
mod transport_choice;
mod web_socket;
mod work;

pub use cache::{Absence, Cache};
pub use calls::{Calls, Pattern};
pub use client::Client;
pub use config::{
    ClientConfig, Downgrades, EarlyHints, KeepAlive, LostFetches, PoolLimits, Priorities, Push,
    Race, Raises, ReceiveWindows, Surplus, Timeouts,
};
pub use cookies::Cookies;
pub use download::{
    Beginning, Download, DownloadSettings, FileId, Joins, Kept, Modified, NoValidator, Note,
    Refusal, Report, Retry, Sink, Slice, Strength, Version, Wanted,
};
pub use echo::{EchoRequests, EchoSocket, Message};
pub use failure::{Hope, STOPPED};
pub use fetch::{ExpectedStatus, FetchId, FetchSpec};
pub use fetch_list::{Answer, Bodies, FetchList};
pub use hosts::{HostAddress, Hosts, Resolver};
pub use open_first::OpenFirst;
pub use page_load::PageLoad;
pub use profile::Profile;
pub use proxy::{Exceptions, Proxies, Proxy};
pub use records::Records;
pub use stream::{Delivery, EventStream, ServerEvent, StreamRequests, StreamSocket};
pub use transport::{Offer, Protocol};
pub use transport_choice::{Security, Transport};
pub use web_socket::{Conversation, WebSocketClient, WebSocketConfig};
pub use work::Work;
