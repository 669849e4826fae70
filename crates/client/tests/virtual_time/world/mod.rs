//! A client and the servers that it talks to, in virtual time, over a delay each way.

mod server;

use client::{Client, ClientConfig, FetchSpec, HostAddress, Transport, Work};
use proto::spdy;
use proto::{Fields, RequestHead, Status};
use secure::{
    Authority, AuthoritySpec, ClientTls, ClientTlsOptions, Resumption, ServerTls, ServerTlsOptions,
};
use server::HttpServer;
use sim::{ConnectOutcome, ConnectionPlan, Ended, Path, Pieces, Scripted, SocketTally};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use trace::HeaderBytes;
use unit::Instant;

/// One way.
pub(crate) const DELAY: Duration = Duration::from_millis(50);

/// When a world begins.
pub(crate) const START: Instant = Instant::from_nanos(1_000_000_000);

/// What a server does with a request.
pub(crate) enum Reply {
    /// Answers at once.
    Whole(Status, Fields, Vec<u8>),
    /// Answers after a while.
    Late(Duration, Vec<u8>),
    /// Sends these by itself, where client and protocol let it, then replies.
    With(Vec<Unasked>, Box<Reply>),
    /// Sends the head, half of the body, and nothing more.
    Half(Vec<u8>),
    /// Sends the head, half of the body, and closes the connection.
    Cut(Status, Fields, Vec<u8>),
    /// Sends the head, half of the body, and resets the connection after a while, without a word of TLS or HTTP.
    Reset(Duration, Vec<u8>),
    /// Answers at once, and goes on after the end of the body.
    Beyond(Vec<u8>, &'static [u8]),
    /// Says nothing.
    Silence,
    /// Closes the connection.
    Close,
    /// GOAWAY: this request and later ones are not processed. Then closes.
    GoAway,
    /// RST_STREAM with REFUSED_STREAM.
    Refuse,
    /// A DATA frame on the connection itself, which RFC 9113 §6.1 forbids.
    Violate,
}

/// What a server sends by itself.
pub(crate) enum Unasked {
    /// A push of a path of the request's origin.
    Push(&'static str, Vec<u8>),
    /// The same; its answer comes after a while.
    LatePush(Duration, &'static str, Vec<u8>),
    /// A promise of this request, which is never answered.
    Promise(RequestHead),
    /// 103 with these `Link` fields.
    Hints(&'static [&'static str]),
    /// Bytes that the server's machine knows nothing of.
    Raw(Vec<u8>),
}

/// The same, with a reply after it.
pub(crate) fn with(unasked: impl IntoIterator<Item = Unasked>, reply: Reply) -> Reply {
    Reply::With(unasked.into_iter().collect(), Box::new(reply))
}

pub(crate) fn ok(body: &[u8]) -> Reply {
    Reply::Whole(Status::OK, Fields::new(), body.to_vec())
}

pub(crate) fn redirect(status: u16, to: &str) -> Reply {
    Reply::Whole(Status::new(status).unwrap(), Fields::new().with("Location", to), b"moved".into())
}

/// A request as a server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub at: Instant,
    /// Number of the connection, in the order of opening.
    pub connection: usize,
    /// Number of the request on it.
    pub turn: usize,
    pub head: RequestHead,
}

/// What listens at every address.
#[derive(Clone)]
pub(crate) enum Listener {
    /// HTTP/1.1 or prior-knowledge HTTP/2 in the clear.
    Clear(Speaks),
    /// TLS with these settings; ALPN decides.
    Tls(ServerTls),
    /// TCP answers, and nothing more.
    Mute,
    /// Nobody listens.
    Refused,
    /// Not even TCP answers.
    Void,
}

#[derive(Clone, Copy)]
pub(crate) enum Speaks {
    Http1,
    /// One request a connection (`Connection: close`).
    Http1Once,
    Http2,
    Spdy(spdy::Version),
}

/// The servers, and what became of the client's sockets.
pub(crate) struct World {
    listener: Listener,
    server: Option<HttpServer>,
    seen_so_far: Rc<RefCell<Vec<Seen>>>,
    /// The time, at the end of the run.
    pub now: Instant,
    /// What the servers saw.
    pub seen: Vec<Seen>,
    /// Bytes that reach the client at a time.
    pub piece: usize,
    /// The most connections that were open at a time.
    pub most_open: usize,
    sockets: SocketTally,
    header_bytes: Vec<HeaderBytes>,
    /// The last bytes that reached a server, in the clear or not.
    pub last_sent: Vec<u8>,
    /// Whether the client's sockets take no more bytes.
    pub deaf: Rc<Cell<bool>>,
    /// So many of the first connections are reset when their first bytes come.
    pub resets: usize,
    /// When the client is asked to stop.
    pub stop_at: Option<Instant>,
}

impl World {
    pub(crate) fn new(listener: Listener, script: impl FnMut(&Seen) -> Reply + 'static) -> Self {
        let server = HttpServer::new(listener.clone(), Box::new(script));
        Self {
            listener,
            seen_so_far: server.seen(),
            server: Some(server),
            now: START,
            seen: Vec::new(),
            piece: usize::MAX,
            most_open: 0,
            sockets: SocketTally::default(),
            header_bytes: Vec::new(),
            last_sent: Vec::new(),
            deaf: Rc::default(),
            resets: 0,
            stop_at: None,
        }
    }

    /// Connections that were begun.
    pub(crate) fn opened(&self) -> usize {
        self.sockets.opened
    }

    /// Connections that the client has not closed.
    pub(crate) fn still_open(&self) -> usize {
        self.sockets.open
    }

    /// Drives `client` to its end.
    pub(crate) fn run<W: Work + 'static>(&mut self, client: Client<W>) -> Client<W> {
        let mut world = sim::World::new(1);
        let near = world.host("192.0.2.1", client);
        let mut server = self.server.take().expect("a world runs once");
        server.reset_first(self.resets);
        let far = world.listen("0.0.0.0:0", Scripted::new(server));
        world.connect(near, far, Path::delay(DELAY));
        let outcome = match self.listener {
            Listener::Refused => ConnectOutcome::Refuse,
            Listener::Void => ConnectOutcome::NoAnswer,
            Listener::Clear(_) | Listener::Tls(_) | Listener::Mute => ConnectOutcome::Accept,
        };
        world.plan_connections(far, move |_| ConnectionPlan {
            outcome,
            ..ConnectionPlan::default()
        });
        if self.piece < usize::MAX {
            world.split_reads(near, Pieces::Of(self.piece));
        }
        if let Some(at) = self.stop_at {
            world.run_until(at);
            world.stop(near);
        }
        let ended = world.run_while(|world| !world.is_finished(near) && !self.deaf.get());
        if ended == Ended::Stopped && !world.is_finished(near) {
            world.block_writes(near);
        }
        assert_eq!(world.run_until_finished(near), Ended::Finished, "the client waits for nothing");
        self.now = world.now();
        self.sockets = world.sockets(near);
        self.most_open = self.sockets.most_open;
        // What was said last reaches the servers, whom nobody asks any more.
        world.run_for(DELAY);
        let server = world.end_point(far).script();
        self.header_bytes = server.header_bytes();
        self.last_sent = server.last_heard().to_vec();
        self.seen = self.seen_so_far.borrow().clone();
        world.take(near)
    }

    /// What each server counts of heads.
    pub(crate) fn header_bytes(&self) -> Vec<HeaderBytes> {
        self.header_bytes.clone()
    }

    /// The paths that were asked for, in order.
    pub(crate) fn asked(&self) -> Vec<&str> {
        self.seen.iter().map(|seen| &*seen.head.path).collect()
    }
}
/// An authority for a.test and b.test, and TLS settings for both sides.
pub(crate) struct Trusted {
    pub server: ServerTls,
    options: ServerTlsOptions,
    authority: Authority,
}

impl Trusted {
    pub(crate) fn new(alpn: &[&str]) -> Self {
        Self::with(alpn, |options| options)
    }

    /// With changed settings of the server.
    pub(crate) fn with(
        alpn: &[&str],
        change: impl FnOnce(ServerTlsOptions) -> ServerTlsOptions,
    ) -> Self {
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let identity = authority.issue(&["a.test", "b.test"]).unwrap();
        let alpn = alpn.iter().map(|&name| name.to_owned()).collect();
        let options = ServerTlsOptions { alpn, ..ServerTlsOptions::new(vec![identity]) };
        let options = change(options);
        Self { server: ServerTls::new(options.clone()).unwrap(), options, authority }
    }

    /// A server with the same certificates that knows none of this one's sessions.
    pub(crate) fn forgotten(self) -> Self {
        Self { server: ServerTls::new(self.options.clone()).unwrap(), ..self }
    }

    /// A client that keeps sessions, or does not.
    pub(crate) fn resuming(&self, transport: Transport, resumption: Resumption) -> ClientConfig {
        let roots = vec![self.authority.root_pem()];
        let alpn = transport.alpn();
        let tls = ClientTlsOptions { roots, alpn, resumption, ..Default::default() };
        config_with(transport, tls)
    }

    pub(crate) fn config(&self, transport: Transport) -> ClientConfig {
        config_with(
            transport,
            ClientTlsOptions {
                roots: vec![self.authority.root_pem()],
                alpn: transport.alpn(),
                ..Default::default()
            },
        )
    }
}

/// A client's settings, all hosts at one address.
pub(crate) fn config(transport: Transport) -> ClientConfig {
    config_with(transport, ClientTlsOptions { alpn: transport.alpn(), ..Default::default() })
}

pub(crate) fn config_with(transport: Transport, tls: ClientTlsOptions) -> ClientConfig {
    let mut config = ClientConfig::new(transport, ClientTls::new(tls).unwrap());
    config.hosts.insert_default(HostAddress::Address([10, 0, 0, 2].into()));
    config
}

/// `count` fetches of `http://a.test/0` and so on.
pub(crate) fn fetches(count: usize) -> Vec<FetchSpec> {
    (0..count).map(|n| FetchSpec::get(format!("http://a.test/{n}").parse().unwrap())).collect()
}

/// Milliseconds from the beginning.
pub(crate) fn millis(at: Option<Instant>) -> u128 {
    at.unwrap().since(START).as_millis()
}
