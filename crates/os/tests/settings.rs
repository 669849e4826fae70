//! What listeners are set to, read back from the sockets that they accept.
#![allow(clippy::unwrap_used, reason = "a test's own machinery may panic")]

mod script;

use endpoint::{Action, CongestionControl, Nagle, SocketSettings};
use os::reactor::{Backend, Reactor, ReactorSettings, SocketStage, Stop};
use os::tcp::{Listener, Sharing, TcpFacts, probe_congestion_control};
use script::{Seen, scripted};
use std::cell::RefCell;
use std::fs;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::rc::Rc;
use std::thread;

with_each_backend! {
    settings_of_a_listener_are_read_back_from_accepted_sockets
    only_what_a_listener_on_loopback_accepts_gets_its_congestion_control
}

fn settings_of_a_listener_are_read_back_from_accepted_sockets(backend: Backend) {
    let settings = SocketSettings {
        unsent_low_water: 12_345,
        congestion_control: CongestionControl::Named("reno".to_owned()),
        nagle: Nagle::On,
        ..SocketSettings::default()
    };
    let facts = facts_of_an_accepted_socket(backend, ("127.0.0.1:0", "127.0.0.1"), &settings);
    for facts in facts {
        assert_eq!(facts.unsent_low_water, 12_345);
        assert_eq!(facts.congestion_control, "reno");
        assert!(!facts.no_delay);
        assert!(facts.segment_size > 500 && facts.congestion_window >= 1, "{facts:?}");
    }
}

/// What the kernel tells, at its beginning and its end, of a socket that a listener at `address` took from a peer
/// that connects to it by the address `by`.
fn facts_of_an_accepted_socket(
    backend: Backend,
    (address, by): (&str, &str),
    settings: &SocketSettings,
) -> [TcpFacts; 2] {
    let listener = Listener::bind(address.parse().unwrap(), Sharing::Found, settings).unwrap();
    let mut stream = TcpStream::connect((by, listener.local().port())).unwrap();
    let reactor_settings = ReactorSettings { backend, ..ReactorSettings::default() };
    let mut reactor = Reactor::new(reactor_settings, Stop::new().unwrap()).unwrap();
    reactor.listen(listener).unwrap();
    let facts = Rc::new(RefCell::new(Vec::new()));
    let keep = Rc::clone(&facts);
    reactor.observe(Box::new(move |_socket, stage, facts| {
        keep.borrow_mut().push((stage, facts.clone()));
    }));
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Accepted(socket) => {
            desk.act(Action::Close(socket));
            desk.act(Action::Finish);
        }
        other => panic!("{other:?}"),
    });
    let peer = thread::spawn(move || {
        stream.read_to_end(&mut Vec::new()).unwrap();
    });
    reactor.run(&mut end_point).unwrap();
    peer.join().unwrap();
    let (stages, facts): (Vec<_>, Vec<_>) = facts.take().into_iter().unzip();
    assert_eq!(stages, [SocketStage::Opened, SocketStage::Closing]);
    facts.try_into().unwrap()
}

fn only_what_a_listener_on_loopback_accepts_gets_its_congestion_control(backend: Backend) {
    let settings = SocketSettings {
        congestion_control: CongestionControl::OnLoopback("reno".to_owned()),
        ..SocketSettings::default()
    };
    let told = |listens, by| {
        let [opened, closing] = facts_of_an_accepted_socket(backend, (listens, by), &settings);
        assert_eq!(opened.congestion_control, closing.congestion_control);
        opened.congestion_control
    };
    assert_eq!(told("127.0.0.1:0", "127.0.0.1"), "reno");
    assert_eq!(told("[::1]:0", "::1"), "reno");
    let hosts = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    assert_eq!(told("0.0.0.0:0", "127.0.0.1"), hosts.trim());
    assert_eq!(told("[::]:0", "::1"), hosts.trim());
}

#[test]
fn a_congestion_control_that_is_not_there_is_refused_by_name() {
    probe_congestion_control("reno").unwrap();
    let error = probe_congestion_control("none-such").unwrap_err();
    assert_eq!(error.source.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("`none-such`"), "{error}");
}
