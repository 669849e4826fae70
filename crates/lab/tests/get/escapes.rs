//! What a server sends never reaches the terminal as a control character.

use crate::bench::{Bench, Ran};
use crate::server::{Server, get, put};

/// As the bytes of a field: a title, a clear screen by C0 and by C1 control, a bidirectional override.
const EVIL: &str = "\x1b]0;title\x07\x1b[2J\u{9b}2J\u{202e}\u{7f}";

/// No control byte but line feeds, and none of the characters beyond ASCII that a terminal obeys.
fn is_clean(ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        let obeyed =
            |c: &char| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c);
        assert_eq!(text.chars().find(obeyed), None, "{text:?}");
    }
}

#[test]
fn fields_of_a_server_are_printed_without_their_control_characters() {
    // h1 refuses control characters in a value, but not those beyond ASCII.
    let beyond_ascii = "\u{9b}2J\u{202e}";
    for evil in [EVIL, beyond_ascii] {
        for head in [
            format!("302 Found\r\nLocation: gopher://{evil}/x"),
            format!("302 Found\r\nLocation: http://127.0.0.1:1/{evil}"),
            format!("302 Found\r\nLocation: /{evil}"),
            format!("200 OK\r\nContent-Encoding: {evil}"),
            format!("503 {evil}\r\nRetry-After: {evil}"),
            format!("200 OK\r\nETag: {evil}\r\nContent-Range: {evil}"),
        ] {
            let bench = Bench::new();
            let server = Server::new(move |_, stream| {
                put(stream, format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n"))
            });
            for flags in [&["--json"][..], &["-v"]] {
                let url = server.url("/file");
                let ran = get(&bench, &[&[&url, "--retry", "0"], flags].concat());
                is_clean(&ran);
            }
        }
    }
}

#[test]
fn a_redirect_is_told_with_its_control_characters_written_out() {
    let bench = Bench::new();
    let server = Server::new(|_, stream| {
        put(
            stream,
            "HTTP/1.1 302 Found\r\nLocation: gopher://\u{9b}2J/\r\nContent-Length: 0\r\n\r\n",
        )
    });
    get(&bench, &[&server.url("/file")]).said(1, &["gopher://\\u{9b}2J/"]);
}
