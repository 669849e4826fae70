//! Servers that other people wrote, and our own: every one's own log has as many requests as were told, over every
//! protocol that both speak.

use crate::bench::{Bench, Running};
use crate::started::{self, certify, started};
use crate::{answered, load};
use std::fs;
use std::io::{BufRead, BufReader};
use std::time::Duration;
use testing::peers::{free_port, program};

/// More than a server takes on one connection as Debian ships it (1000), so that connections are replaced too.
const REQUESTS: &str = "5003";

fn site() -> Option<Bench> {
    let bench = Bench::new();
    fs::create_dir(bench.path("www")).unwrap();
    bench.write("www/hello", "hello, world\n");
    certify(&bench).then_some(bench)
}

/// Makes the requests and compares their number with what `logged` counts.
fn counts(
    bench: &Bench,
    url: &str,
    (flags, protocol): (&[&str], &str),
    logged: impl Fn() -> usize,
) {
    let before = logged();
    let args = [&["-k", "-n", REQUESTS, url], flags].concat();
    let (code, result) = load(bench, &args);
    assert_eq!((code, result["protocol"].as_str()), (0, Some(protocol)), "{result}");
    let told = answered(&result);
    assert_eq!(told.to_string(), REQUESTS, "{result:#}");
    assert_eq!(result["whole"]["body_bytes"], told * 13);
    // The last lines may still be on their way to the file.
    let all = (0..500).any(|_| {
        let all = (logged() - before) as u64 == told;
        if !all {
            std::thread::sleep(Duration::from_millis(20));
        }
        all
    });
    assert!(all, "{} requests in the server's log, {told} told: {flags:?}", logged() - before);
}

const PLAIN: (&[&str], &str) = (&["-c", "7"], "http/1.1");
const PRIOR: (&[&str], &str) = (&["-c", "3", "-m", "8", "--http2-prior-knowledge"], "h2");
const H1: (&[&str], &str) = (&["-c", "7", "--http1.1"], "http/1.1");
const H2: (&[&str], &str) = (&["-c", "3", "-m", "8", "--http2"], "h2");
const H2_THREADS: (&[&str], &str) = (&["-c", "4", "-t", "2", "-m", "8"], "h2");

fn lines(bench: &Bench, file: &str) -> usize {
    fs::read_to_string(bench.path(file)).map_or(0, |text| text.lines().count())
}

#[test]
fn nginx_logs_as_many_requests_as_are_told() {
    let Some(nginx) = program("nginx") else { return };
    let Some(bench) = site() else { return };
    let [clear, prior, tls] = [free_port(), free_port(), free_port()];
    let folder = bench.folder.display();
    let http = format!(
        "access_log {folder}/access;
          root {folder}/www; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
          server {{ listen 127.0.0.1:{clear}; listen 127.0.0.1:{tls} ssl http2; }}
          server {{ listen 127.0.0.1:{prior} http2; }}"
    );
    let nginx = started::nginx(&bench, &nginx, &http, tls);
    let logged = || lines(&bench, "access");
    counts(&bench, &format!("http://127.0.0.1:{clear}/hello"), PLAIN, logged);
    counts(&bench, &format!("http://127.0.0.1:{prior}/hello"), PRIOR, logged);
    for wish in [H1, H2, H2_THREADS] {
        counts(&bench, &format!("https://127.0.0.1:{tls}/hello"), wish, logged);
    }
    nginx.signal("TERM");
    nginx.end();
}

#[test]
fn h2o_logs_as_many_requests_as_are_told() {
    let Some(h2o) = program("h2o") else { return };
    let Some(bench) = site() else { return };
    let [clear, tls] = [free_port(), free_port()];
    let listen = |port: u16| format!("listen:\n  host: 127.0.0.1\n  port: {port}\n");
    let tls_too = "  ssl:\n    certificate-file: cert.pem\n    key-file: key.pem\n";
    let rest = "num-threads: 1\naccess-log: access\nhosts:\n  default:\n    paths:\n      /:\n        file.dir: www\n";
    // H2O takes the same key twice, which YAML does not.
    bench.write("h2o.conf", format!("{}{}{tls_too}{rest}", listen(clear), listen(tls)));
    let h2o = started(&bench, (&h2o, &["-c", "h2o.conf"]), tls);
    let logged = || lines(&bench, "access");
    for wish in [PLAIN, PRIOR] {
        counts(&bench, &format!("http://127.0.0.1:{clear}/hello"), wish, logged);
    }
    for wish in [H1, H2] {
        counts(&bench, &format!("https://127.0.0.1:{tls}/hello"), wish, logged);
    }
    h2o.signal("TERM");
    h2o.end();
}

#[test]
fn caddy_logs_as_many_requests_as_are_told() {
    let Some(caddy) = program("caddy") else { return };
    let Some(bench) = site() else { return };
    let [clear, tls] = [free_port(), free_port()];
    let folder = bench.folder.display();
    let server = format!(
        "  root * {folder}/www\n  file_server\n  log {{\n    output file {folder}/access\n  }}\n"
    );
    bench.write("Caddyfile", format!(
        "{{\n  admin off\n  auto_https off\n  storage file_system {folder}/store\n}}\nhttp://127.0.0.1:{clear} {{\n{server}}}\n\
         https://127.0.0.1:{tls} {{\n  tls {folder}/cert.pem {folder}/key.pem\n{server}}}\n"
    ));
    let args = ["run", "--adapter", "caddyfile", "--config", "Caddyfile"];
    let caddy = started(&bench, (&caddy, &args), tls);
    let logged = || lines(&bench, "access");
    counts(&bench, &format!("http://127.0.0.1:{clear}/hello"), PLAIN, logged);
    for wish in [H1, H2] {
        counts(&bench, &format!("https://127.0.0.1:{tls}/hello"), wish, logged);
    }
    caddy.signal("TERM");
    caddy.end();
}

#[test]
fn nghttpd_tells_of_as_many_requests_as_are_told() {
    let Some(nghttpd) = program("nghttpd") else { return };
    let Some(bench) = site() else { return };
    let port = free_port();
    // It tells each frame; a request is a HEADERS frame that it receives.
    let line = format!("exec {nghttpd} -v -d www -a 127.0.0.1 --no-tls {port} > frames");
    let nghttpd = started(&bench, ("sh", &["-c", &line]), port);
    let logged = || {
        let text = fs::read_to_string(bench.path("frames")).unwrap_or_default();
        text.matches("recv HEADERS frame").count()
    };
    counts(&bench, &format!("http://127.0.0.1:{port}/hello"), PRIOR, logged);
    nghttpd.signal("TERM");
    nghttpd.end();
}

/// Our own server, which tells each exchange on its standard output.
struct Own {
    serving: Running,
    urls: Vec<String>,
}

fn own(bench: &Bench) -> Own {
    let args = ["serve", "www", "-v", "--spdy", "--listen", "127.0.0.1:0", "--listen-tls"];
    let mut command = bench.wirelap(&args);
    command.args(["127.0.0.1:0", "--threads", "1"]);
    let mut serving = bench.start(command);
    let mut lines = BufReader::new(serving.child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap().trim_end_matches('/').to_owned();
    let urls = vec![next(), next()];
    let log = bench.path("own");
    // Each line is in the file before the next one is read.
    std::thread::spawn(move || {
        let mut file = fs::File::create(log).unwrap();
        for line in lines.map_while(Result::ok) {
            std::io::Write::write_all(&mut file, format!("{line}\n").as_bytes()).unwrap();
        }
    });
    Own { serving, urls }
}

#[test]
fn our_origin_tells_of_as_many_requests_as_are_told_over_each_protocol() {
    let Some(bench) = site() else { return };
    let own = own(&bench);
    let logged = || lines(&bench, "own");
    let [clear, tls] = [0, 1].map(|which| format!("{}/hello", own.urls[which]));
    for wish in [PLAIN, PRIOR, (&["-c", "2", "-m", "9", "--spdy"], "spdy/3.1")] {
        counts(&bench, &clear, wish, logged);
    }
    for wish in [H1, H2, H2_THREADS, (&["-c", "2", "-m", "9", "--spdy"], "spdy/3.1")] {
        counts(&bench, &tls, wish, logged);
    }
    // A connection for each request: 300 of them are enough.
    let (code, result) = load(&bench, &["--close", "-c", "3", "-n", "300", &clear]);
    assert_eq!((code, answered(&result)), (0, 300));
    assert!(result["connects"]["opened"].as_u64().unwrap() >= 300);
    own.serving.signal("INT");
    own.serving.end();
}

#[test]
fn our_origin_echoes_every_message_in_the_clear_and_over_tls() {
    let Some(bench) = site() else { return };
    let own = own(&bench);
    for url in &own.urls {
        let url = format!("{}/ws/echo", url.replacen("http", "ws", 1));
        let (code, result) = load(&bench, &["-k", "-c", "5", "-m", "4", "-n", "2000", &url]);
        assert_eq!((code, result["protocol"].as_str()), (0, Some("ws")));
        assert_eq!(answered(&result), 2_000);
        assert_eq!(result["whole"]["body_bytes"], 2_000 * 32);
    }
    own.serving.signal("INT");
    own.serving.end();
}

/// The folder of Node's packages, where `./peers install` has put them.
fn node_modules() -> Option<(String, String)> {
    let node = program("node")?;
    let home = std::env::var("HOME").unwrap_or_default();
    let cache = std::env::var("XDG_CACHE_HOME").unwrap_or(format!("{home}/.cache"));
    let modules = format!("{cache}/wirelap/peers/node/node_modules");
    if !std::path::Path::new(&modules).exists() {
        testing::skip("Node's modules are not installed: ./peers install");
        return None;
    }
    Some((node, modules))
}

#[test]
fn node_spdy_counts_as_many_requests_as_are_told() {
    let Some((node, modules)) = node_modules() else { return };
    let Some(bench) = site() else { return };
    let port = free_port();
    bench.write(
        "server.js",
        "const fs = require('fs'), [, , modules, port] = process.argv;\n\
         const options = { key: fs.readFileSync('key.pem'), cert: fs.readFileSync('cert.pem'), \
         spdy: { protocols: ['spdy/3.1'] } };\n\
         require(modules + '/spdy').createServer(options, (request, answer) => {\n\
         fs.appendFileSync('access', request.url + '\\n'); answer.end('hello, world\\n'); })\n\
         .listen(+port, '127.0.0.1');\n",
    );
    let args = ["server.js", &modules, &port.to_string()];
    let node = started(&bench, (&node, &args), port);
    let wish = (&["-c", "2", "-m", "4", "--spdy"][..], "spdy/3.1");
    counts(&bench, &format!("https://127.0.0.1:{port}/hello"), wish, || lines(&bench, "access"));
    node.signal("TERM");
    node.end();
}

#[test]
fn node_ws_counts_as_many_messages_as_are_told() {
    let Some((node, modules)) = node_modules() else { return };
    let bench = Bench::new();
    let port = free_port();
    bench.write(
        "server.js",
        "const fs = require('fs'), [, , modules, port] = process.argv;\n\
         const { WebSocketServer } = require(modules + '/ws');\n\
         new WebSocketServer({ host: '127.0.0.1', port: +port }).on('connection', socket =>\n\
         socket.on('message', (data, binary) => { fs.appendFileSync('access', data + '\\n');\n\
         socket.send(data, { binary }); }));\n",
    );
    let args = ["server.js", &modules, &port.to_string()];
    let node = started(&bench, (&node, &args), port);
    let url = format!("ws://127.0.0.1:{port}/");
    let (code, result) = load(&bench, &["-c", "4", "-m", "3", "-n", "1000", "--data", "hej", &url]);
    assert_eq!((code, answered(&result)), (0, 1_000));
    let messages = fs::read_to_string(bench.path("access")).unwrap();
    assert_eq!(messages.lines().filter(|line| *line == "hej").count(), 1_000);
    node.signal("TERM");
    node.end();
}
