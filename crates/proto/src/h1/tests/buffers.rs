//! Buffers that go from connection to connection, and field lines that are known from an earlier request.

use super::*;
use crate::ServerConnection;
use proptest::prelude::*;

/// A server with buffers of its own, or with those of the pool.
fn serve(pool: &mut BufferPool, bytes: &[u8]) -> (Vec<Told>, String) {
    let mut server = server(ServerSettings::default());
    server.take_buffers(pool);
    let told = hear(&mut server, &[bytes]);
    for event in &told {
        if let Told::Request(stream, _, Fin::Last) = event {
            // Refused where the machine has answered already.
            let _answered = server.respond(StreamId(*stream), &ok(), Fin::Last);
        }
    }
    let said = say(&mut server);
    for event in &told {
        if let Told::Request(_, head, _) = event {
            server.recycle(Box::new(head.clone()));
        }
    }
    server.return_buffers(pool);
    (told, said)
}

#[test]
fn buffers_go_from_one_connection_to_the_next_once_nothing_is_under_way() {
    let mut pool = BufferPool::default();
    let bytes = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
    serve(&mut pool, bytes);
    assert_eq!(pool.len(), 1);
    let mut server = server(ServerSettings::default());
    server.take_buffers(&mut pool);
    assert_eq!(pool.len(), 0);
    hear(&mut server, &[bytes]);
    server.return_buffers(&mut pool);
    assert_eq!(pool.len(), 0, "a request is under way");
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    say(&mut server);
    server.return_buffers(&mut pool);
    assert_eq!(pool.len(), 1);
}

#[test]
fn a_request_that_differs_in_its_line_alone_is_read_as_if_it_were_the_first() {
    let mut pool = BufferPool::default();
    for line in
        ["GET /a", "HEAD /a?b=c", "DELETE /%20", "CONNECT /", "GET http://x/", "GET *", "GET /#"]
    {
        let bytes = format!("{line} HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\r\n").into_bytes();
        let known = serve(&mut pool, &bytes);
        assert_eq!(known, serve(&mut BufferPool::default(), &bytes), "{line}");
    }
}

#[test]
fn lines_with_secrets_do_not_stay_in_the_pool() {
    for (field, stays) in
        [("Accept: a=b", true), ("Cookie: a=b", false), ("Authorization: a=b", false)]
    {
        let mut pool = BufferPool::default();
        serve(&mut pool, format!("GET / HTTP/1.1\r\nHost: h\r\n{field}\r\n\r\n").as_bytes());
        assert_eq!(pool.keeps_lines(), stays, "{field}");
    }
}

#[test]
fn a_long_line_is_refused_behind_known_fields_too() {
    let mut pool = BufferPool::default();
    serve(&mut pool, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    let long = format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(8 * 1024));
    let (_, said) = serve(&mut pool, long.as_bytes());
    assert!(said.starts_with("HTTP/1.1 414"), "{said}");
}

fn line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "GET /a HTTP/1.1",
        "GET /b?c HTTP/1.1",
        "HEAD /a HTTP/1.1",
        "POST /a HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "GET http://other/a HTTP/1.1",
        "GET /a HTTP/1.0",
    ])
}

fn lines() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "Host: h\r\n",
        "Host: h\r\nAccept: */*\r\n",
        "Host: h\r\nConnection: close\r\n",
        "Host: h\r\nContent-Length: 2\r\n",
        "Host: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n",
        "Host: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n",
        "Host: other\r\nCookie: a=b\r\n",
        "Host: h\r\nHost: h\r\n",
    ])
}

proptest! {
    #[test]
    fn what_earlier_requests_were_changes_nothing_of_the_next(
        requests in proptest::collection::vec((line(), lines()), 1..20),
    ) {
        let mut pool = BufferPool::default();
        for (line, lines) in requests {
            let body = if lines.contains("Content-Length") { "ab" } else { "" };
            let bytes = format!("{line}\r\n{lines}\r\n{body}").into_bytes();
            prop_assert_eq!(serve(&mut pool, &bytes), serve(&mut BufferPool::default(), &bytes));
        }
    }
}
