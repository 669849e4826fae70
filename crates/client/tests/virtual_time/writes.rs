//! How frames leave a client over HTTP/2: Chromium writes each by itself, so that a request is a packet of its own.

use crate::world::START;
use client::{Client, PageLoad, Transport};
use endpoint::{Action, EndPoint, SendBuf, SocketId};
use page::{Browser, Load};
use proto::schedule::RoundRobin;
use proto::{
    ByteStreamConnection, Connection, Event, Fields, Fin, ResponseHead, ServerConnection, Status,
    h2,
};
use trace::Tracer;

const PAGE: &[u8] = b"<!doctype html><body><img src=0.png><img src=1.png><img src=2.png>";

const HEADERS: u8 = 1;

#[test]
fn chromium_writes_each_frame_by_itself() {
    let writes = writes(Browser::Chrome156);
    assert!(writes.iter().all(|write| write.len() == 1), "{writes:?}");
    assert_eq!(writes.concat().iter().filter(|kind| **kind == HEADERS).count(), 3);
}

#[test]
fn another_client_writes_what_it_has() {
    let writes = writes(Browser::Firefox153);
    assert_eq!(writes.len(), 1, "{writes:?}");
    assert_eq!(writes[0].iter().filter(|kind| **kind == HEADERS).count(), 3);
}

/// The kinds of frames in each write that follows the document.
fn writes(browser: Browser) -> Vec<Vec<u8>> {
    let mut config = crate::world::config(Transport::H2_CLEAR);
    config.browser = browser;
    let url = "http://a.test/".parse().unwrap();
    let load = PageLoad::new(move |now| Load::browse(url, browser, now));
    let mut client = Client::new(config, load);
    client.handle_start(START);
    let Some(Action::Connect { socket, remote, .. }) = client.poll_action() else {
        panic!("it connects first");
    };
    client.handle_connected(START, socket, remote);
    let greeting = written(&mut client, socket).concat();

    let turns = Box::new(RoundRobin::default());
    let mut server = h2::Server::new(START, h2::Settings::server(), turns, Tracer::off());
    let mut input = &greeting[..];
    while let Some(event) = server.handle_bytes(START, &mut input) {
        if let Event::Request { stream, .. } = event {
            let head = ResponseHead { status: Status::OK, fields: Fields::new() };
            server.respond(stream, &head, Fin::More).unwrap();
            server.send(stream, PAGE.into(), Fin::Last).unwrap();
        }
    }
    let mut answer = SendBuf::new();
    server.poll_transmit(START, &mut answer, 64 * 1024);
    let answer: Vec<u8> = answer.chunks().flatten().copied().collect();
    client.handle_bytes(START, socket, &answer);
    written(&mut client, socket).iter().map(|write| kinds(write)).collect()
}

/// What the client sends, write by write.
fn written(client: &mut Client<PageLoad>, socket: SocketId) -> Vec<Vec<u8>> {
    let mut writes = Vec::new();
    loop {
        let mut out = SendBuf::new();
        client.poll_transmit(START, socket, &mut out, 64 * 1024);
        if out.is_empty() {
            return writes;
        }
        writes.push(out.chunks().flatten().copied().collect());
    }
}

/// RFC 9113 §4.1: a length of three bytes, then the kind.
fn kinds(mut frames: &[u8]) -> Vec<u8> {
    let mut kinds = Vec::new();
    while let [a, b, c, kind, ..] = *frames {
        kinds.push(kind);
        frames = &frames[9 + u32::from_be_bytes([0, a, b, c]) as usize..];
    }
    kinds
}
