//! Pushes and early hints of other people's servers in a page load: H2O's with its CASPER cookie, nghttpd's, Apache's and nginx's.

use client::{
    Absence, Cache, Client, ClientConfig, Cookies, HostAddress, PageLoad, Push, Transport,
};
use os::reactor::{Reactor, ReactorSettings, Stop};
use page::{Browser, Load};
use secure::{Authority, AuthoritySpec, ClientTls, ClientTlsOptions};
use std::fs::Permissions;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;
use testing::is_root;
use testing::peers::current;
use trace::{FetchOutcome, HintTally};
use unit::Seed;

/// Two pages that share a style sheet, a certificate, and the server that serves them; all gone with it.
struct Site {
    folder: TempDir,
    authority: Authority,
    server: Option<Child>,
    port: u16,
}

impl Site {
    fn new() -> Self {
        let folder = TempDir::with_prefix("wirelap-test-").unwrap();
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let identity = authority.issue(&["localhost", "127.0.0.1"]).unwrap();
        let www = folder.path().join("www");
        std::fs::create_dir(&www).unwrap();
        for page in ["one", "two"] {
            let html = format!(
                "<!doctype html><link rel=stylesheet href=/style.css><script src=/{page}.js></script>"
            );
            std::fs::write(www.join(format!("{page}.html")), html).unwrap();
            std::fs::write(www.join(format!("{page}.js")), ";".repeat(10_000)).unwrap();
        }
        std::fs::write(www.join("style.css"), " ".repeat(20_000)).unwrap();
        // Old files are fresh for long (RFC 9111 §4.2.2).
        let style = std::fs::File::options().write(true).open(www.join("style.css")).unwrap();
        style.set_modified(UNIX_EPOCH).unwrap();
        std::fs::write(folder.path().join("chain.pem"), identity.chain_pem()).unwrap();
        std::fs::write(folder.path().join("key.pem"), identity.key_pem()).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { folder, authority, server: None, port }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Waits until the program listens; false, and a skip, without it.
    fn start(&mut self, command: &mut Command, install: &str) -> bool {
        let log = std::fs::File::create(self.path("log")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).process_group(0);
        match command.spawn() {
            Ok(child) => self.server = Some(child),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                testing::skip(format_args!("{:?}: {install}", command.get_program()));
                return false;
            }
            Err(error) => panic!("{command:?}: {error}"),
        }
        for _ in 0..1_000 {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{}", std::fs::read_to_string(self.path("log")).unwrap());
    }

    fn url(&self, page: &str) -> String {
        format!("https://localhost:{}/{page}", self.port)
    }

    fn settings(&self) -> ClientConfig {
        let tls = ClientTlsOptions {
            roots: vec![self.authority.root_pem()],
            alpn: Transport::H2.alpn(),
            ..ClientTlsOptions::default()
        };
        let mut config = ClientConfig::new(Transport::H2, ClientTls::new(tls).unwrap());
        config.hosts.insert("localhost", HostAddress::Address([127, 0, 0, 1].into()));
        ClientConfig { push: Push::Taken, cookies: Some(Cookies::new()), ..config }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            // Servers have workers, which outlive a killed master.
            let group = format!("-{}", server.id());
            let _gone = Command::new("kill").args(["-KILL", "--", &group]).status();
            let _gone = server.wait();
        }
    }
}

/// A view of a page, and the cookies after it.
fn view(settings: ClientConfig, url: String, cache: Cache) -> (PageLoad, Option<Cookies>) {
    let url = url.parse().unwrap();
    let load = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    let mut client = Client::new(settings, load.with_cache(cache));
    let mut reactor = Reactor::new(ReactorSettings::default(), Stop::new().unwrap()).unwrap();
    reactor.run(&mut client).unwrap();
    let cookies = client.cookies().cloned();
    let page = client.into_work();
    for fetch in &page.records.fetches {
        assert_eq!(fetch.outcome, FetchOutcome::Done, "{fetch:?}");
    }
    assert!(page.milestones().load.is_some());
    (page, cookies)
}

/// The paths that came by push, in the order in which the page asked for them.
fn pushed(page: &PageLoad) -> Vec<&str> {
    let mut pushed: Vec<_> = page.records.fetches.iter().filter(|fetch| fetch.pushed).collect();
    pushed.sort_by_key(|fetch| fetch.id);
    pushed.into_iter().map(|fetch| &fetch.url[fetch.url.rfind('/').unwrap()..]).collect()
}

#[test]
fn h2os_casper_cookie_comes_back_and_h2o_pushes_only_the_rest() {
    let mut site = Site::new();
    // As root it would become somebody else, who may not read here.
    let user = if is_root() { "user: root\n" } else { "" };
    let links = |page: &str| {
        format!("</style.css>; rel=preload; as=style\\n</{page}.js>; rel=preload; as=script")
    };
    let configuration = format!(
        "{user}num-threads: 1\npid-file: {}\ntemp-buffer-path: {}\nhosts:\n  default:\n    \
         listen:\n      host: 127.0.0.1\n      port: {}\n      ssl:\n        certificate-file: {}\n        \
         key-file: {}\n    http2-casper:\n      capacity-bits: 13\n      tracking-types: blocking-assets\n    \
         paths:\n      \"/\":\n        mruby.handler: |\n          Proc.new do |env|\n            \
         page = {{\"/one.html\" => \"{}\", \"/two.html\" => \"{}\"}}[env[\"PATH_INFO\"]]\n            \
         [399, page ? {{\"link\" => page}} : {{}}, []]\n          end\n        file.dir: {}\n",
        site.path("pid"),
        site.folder.path().display(),
        site.port,
        site.path("chain.pem"),
        site.path("key.pem"),
        links("one"),
        links("two"),
        site.path("www"),
    );
    std::fs::write(site.path("h2o.conf"), configuration).unwrap();
    let mut command = Command::new("h2o");
    command.args(["-m", "worker", "-c", &site.path("h2o.conf")]);
    if !site.start(&mut command, "apt-get install h2o") {
        return;
    }
    let (first, cookies) = view(site.settings(), site.url("one.html"), Cache::new());
    assert_eq!(pushed(&first), ["/style.css", "/one.js"]);
    assert_ne!(cookies, Some(Cookies::new()));
    let absence = Absence { away: Duration::ZERO, evicted: 0, seed: Seed(1) };
    let cache = first.into_cache().unwrap().after(absence);
    let settings = ClientConfig { cookies, ..site.settings() };
    let (next, _) = view(settings, site.url("two.html"), cache.clone());
    assert_eq!(pushed(&next), ["/two.js"]);
    let connection = &next.records.connections[0];
    assert_eq!((connection.pushed, connection.requests), (1, 1), "the style sheet is in the cache");
    assert_eq!(next.cached().fresh, 1);
    // Without the cookie it pushes blindly, and the client cancels what it has.
    let (blind, _) = view(site.settings(), site.url("two.html"), cache);
    let connection = &blind.records.connections[0];
    assert_eq!((connection.pushed, connection.pushes.used, connection.pushes.cancelled), (2, 1, 1));
}

#[test]
fn nghttpds_pushes_are_taken() {
    let mut site = Site::new();
    let mut command = Command::new("nghttpd");
    command.args(["-a", "127.0.0.1", "-d", &site.path("www")]);
    command.arg("--push=/one.html=/style.css,/one.js,/two.js");
    command.args([&site.port.to_string(), &site.path("key.pem"), &site.path("chain.pem")]);
    if !site.start(&mut command, "apt-get install nghttp2-server") {
        return;
    }
    let (page, _) = view(site.settings(), site.url("one.html"), Cache::new());
    assert_eq!(pushed(&page), ["/style.css", "/one.js"]);
    let connection = &page.records.connections[0];
    assert_eq!((connection.requests, connection.pushed), (1, 3));
    let pushes = connection.pushes;
    assert_eq!((pushes.used, pushes.cancelled + pushes.unused), (2, 1));
    let without = ClientConfig { push: Push::Refused, ..site.settings() };
    let (page, _) = view(without, site.url("one.html"), Cache::new());
    assert_eq!((page.records.connections[0].requests, page.records.connections[0].pushed), (3, 0));
}

#[test]
fn apaches_early_hint_is_followed_and_its_push_is_taken() {
    let mut site = Site::new();
    let modules = ["mpm_event", "authz_core", "mime", "ssl", "http2"]
        .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"));
    // Apache does not serve as root, so as root it becomes somebody else, who must be able to read the files.
    let user = if is_root() { "User nobody\nGroup nogroup\n" } else { "" };
    // The hint comes long before the page finds the style sheet.
    let html = format!("<!--{}--><link rel=stylesheet href=/style.css>", "x".repeat(2_000_000));
    std::fs::write(site.folder.path().join("www/long.html"), html).unwrap();
    std::fs::set_permissions(site.folder.path(), Permissions::from_mode(0o755)).unwrap();
    let configuration = format!(
        "{user}ServerName localhost\nPidFile pid\nErrorLog errors\nMutex sem\nListen 127.0.0.1:{}\n{}\
         TypesConfig /etc/mime.types\nSSLEngine on\nSSLCertificateFile chain.pem\nSSLCertificateKeyFile key.pem\n\
         Protocols h2\nDocumentRoot www\nH2EarlyHints on\n<Location \"/long.html\">\n\
         H2EarlyHint Link \"</style.css>; rel=preload; as=style\"\n</Location>\n",
        site.port,
        modules.concat(),
    );
    std::fs::write(site.path("apache.conf"), configuration).unwrap();
    let mut command = Command::new("apache2");
    command.args(["-d", &site.path(""), "-f", &site.path("apache.conf"), "-DFOREGROUND"]);
    if !site.start(&mut command, "apt-get install apache2") {
        return;
    }
    let refusing = ClientConfig { push: Push::Refused, ..site.settings() };
    let (page, _) = view(refusing, site.url("long.html"), Cache::new());
    assert_eq!(page.hints(), HintTally { fetches: 1, used: 1, ..HintTally::default() });
    assert_eq!((page.records.connections[0].requests, page.records.connections[0].pushed), (2, 0));
    // Apache pushes the same file to a client that takes it. The hint asks for it, and gets the push.
    let (page, _) = view(site.settings(), site.url("long.html"), Cache::new());
    assert_eq!(pushed(&page), ["/style.css"]);
    assert_eq!((page.records.connections[0].requests, page.records.connections[0].pushed), (1, 1));
}

/// Answers pages by HTTP/1.1 as an application server does that thinks: a 103 at once, the page 100 ms later.
fn thinking_upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let mut lines = BufReader::new(&connection).lines().map_while(Result::ok);
            if lines.find(String::is_empty).is_none() {
                continue;
            }
            let hint =
                "HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload; as=style\r\n\r\n";
            let html = "<!doctype html><link rel=stylesheet href=/style.css>";
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{html}",
                html.len()
            );
            let _gone = (&connection).write_all(hint.as_bytes());
            std::thread::sleep(Duration::from_millis(100));
            let _gone = (&connection).write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn an_early_hint_that_nginx_passes_on_is_followed() {
    let mut site = Site::new();
    let Some(nginx) = current("nginx") else { return };
    let user = if is_root() { "user root;\n" } else { "" };
    let configuration = format!(
        "{user}daemon off;\npid pid;\nerror_log stderr;\nevents {{}}\nhttp {{\n access_log off;\n types {{ text/css css; }}\n \
         client_body_temp_path body;\n proxy_temp_path proxy;\n fastcgi_temp_path fastcgi;\n uwsgi_temp_path uwsgi;\n \
         scgi_temp_path scgi;\n server {{\n  listen 127.0.0.1:{} ssl;\n  http2 on;\n  ssl_certificate chain.pem;\n  \
         ssl_certificate_key key.pem;\n  root www;\n  location = /thinks.html {{\n   early_hints 1;\n   \
         proxy_http_version 1.1;\n   proxy_pass http://{};\n  }}\n }}\n}}\n",
        site.port,
        thinking_upstream(),
    );
    std::fs::write(site.path("nginx.conf"), configuration).unwrap();
    let mut command = Command::new(nginx);
    command.args(["-p", &site.path(""), "-c", &site.path("nginx.conf"), "-e", "stderr"]);
    if !site.start(&mut command, "./peers install") {
        return;
    }
    let (page, _) = view(site.settings(), site.url("thinks.html"), Cache::new());
    assert_eq!(page.hints(), HintTally { fetches: 1, used: 1, ..HintTally::default() });
    let of =
        |path: &str| page.records.fetches.iter().find(|fetch| fetch.url.ends_with(path)).unwrap();
    let (style, document) = (of("/style.css").phases, of("/thinks.html").phases);
    assert!(style.last_byte < document.last_byte, "it came while the server thought");
}
