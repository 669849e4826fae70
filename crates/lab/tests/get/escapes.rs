//! What a server sends never reaches the terminal as a control character, nor what a client sends over HTTP/3.

use crate::bench::{Bench, Ran, wirelap};
use crate::server::{Server, get, put};
use crate::started::{certify, started};
use testing::peers::{current, free_port};

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

#[test]
fn fields_of_a_server_over_http2_and_http3_are_printed_without_their_control_characters() {
    let Some(nginx) = current("nginx") else { return };
    let bench = Bench::new();
    if !certify(&bench) {
        return;
    }
    let (port, folder) = (free_port(), bench.folder.display().to_string());
    let config = format!(
        "daemon off; master_process off; pid {folder}/pid; error_log /dev/null; events {{}}
        http {{ access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;
          fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
          ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
          server {{ listen 127.0.0.1:{port} quic; listen 127.0.0.1:{port} ssl; http2 on;
            location /redirect {{ return 302 \"gopher://{EVIL}/x\"; }}
            location /encoded {{ add_header Content-Encoding \"{EVIL}\"; return 200 body; }}
            location /tag {{ add_header ETag \"{EVIL}\"; add_header Retry-After \"{EVIL}\"; return 200 body; }}
            location /busy {{ add_header Retry-After \"{EVIL}\" always; return 503; }} }} }}"
    );
    bench.write("nginx.conf", config);
    let config = format!("{folder}/nginx.conf");
    let server = started(&bench, (&nginx, &["-e", "/dev/null", "-c", &config]), port);
    for (version, spoken) in [("--http2", "h2"), ("--http3", "h3")] {
        for path in ["redirect", "encoded", "tag", "busy"] {
            let url = format!("https://localhost:{port}/{path}");
            for flags in [&["--json"][..], &["-v"]] {
                let get_it = [version, "--cacert", "cert.pem", "--retry", "0", &url];
                let ran = get(&bench, &[&get_it, flags].concat());
                is_clean(&ran);
                let tells = matches!(path, "redirect" | "encoded");
                assert!(!tells || ran.err.contains("title"), "{version} {path}: {ran:?}");
            }
            let load = ["load", "-k", version, "-n", "3", "-c", "1", &url];
            let ran = bench.run(&load);
            is_clean(&ran);
            assert!(ran.out.contains(spoken), "{ran:?}");
        }
    }
    server.signal("TERM");
    server.end();
}

#[test]
fn a_request_over_http3_is_logged_without_its_control_characters() {
    let Some(curl) = current("curl") else { return };
    let bench = Bench::new();
    if !certify(&bench) {
        return;
    }
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let both = ["--listen-tls", &address, "--listen-quic", &address];
    let serve = ["serve", ".", "-v", "--cert", "cert.pem", "--key", "key.pem"];
    let program = wirelap().display().to_string();
    let server = started(&bench, (&program, &[&serve[..], &both].concat()), port);
    let url = format!("https://localhost:{port}/");
    let request = |more: &[&str]| {
        let mut command = bench.command(&curl);
        command.args(["-sS", "-k", "--http3-only", "--max-time", "30", "-o", "body"]).args(more);
        bench.start(command).end()
    };
    for evil in [EVIL, "\u{9b}2J\u{202e}"] {
        let (path, field, method) =
            (format!("/{evil}"), format!("X: {evil}"), format!("GE{evil}T"));
        for malformed in [["--request-target", &path], ["-X", &method]] {
            request(&[&malformed[..], &[&url]].concat());
        }
        request(&["-H", &field, &format!("{url}owned")]);
    }
    server.signal("TERM");
    let ran = server.end();
    assert!(ran.code == 0 && ran.out.contains("h3 GET ") && ran.out.contains("owned"), "{ran:?}");
    is_clean(&ran);
}
