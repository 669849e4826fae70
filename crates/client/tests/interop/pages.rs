//! A page of a hundred images from other people's servers over loopback, where they are installed.

use client::{
    Bodies, Client, ClientConfig, FetchList, FetchSpec, HostAddress, PageLoad, Transport,
};
use os::reactor::{Reactor, ReactorSettings, Stop};
use page::{Browser, Load};
use secure::{
    Authority, AuthoritySpec, ClientTls, ClientTlsOptions, Identity, Resumption, Trust, Versions,
};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use testing::peers::{current, free_port, program};
use trace::{EarlyData, FetchOutcome};

const IMAGES: usize = 100;
const IMAGE: usize = 5_000;

/// A site, its certificate and the server that serves it; all gone with it.
struct Site {
    folder: TempDir,
    authority: Authority,
    identity: Identity,
    children: Vec<Child>,
}

impl Site {
    fn new() -> Self {
        let kept = TempDir::with_prefix("wirelap-test-").unwrap();
        let folder = kept.path();
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let identity = authority.issue(&["localhost", "127.0.0.1"]).unwrap();
        std::fs::create_dir_all(folder.join("www")).unwrap();
        let images = (0..IMAGES).map(|n| format!("<img src={n}.png>")).collect::<String>();
        std::fs::write(folder.join("www/index.html"), format!("<body>{images}")).unwrap();
        for n in 0..IMAGES {
            std::fs::write(folder.join(format!("www/{n}.png")), [n as u8; IMAGE]).unwrap();
        }
        std::fs::write(folder.join("chain.pem"), identity.chain_pem()).unwrap();
        std::fs::write(folder.join("key.pem"), identity.key_pem()).unwrap();
        Self { folder: kept, authority, identity, children: Vec::new() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn start(&mut self, program: &str, arguments: &[&str], port: u16) {
        let child = Command::new(program)
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.children.push(child);
        for _ in 0..250 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{program} does not listen on port {port}");
    }

    fn nginx(&mut self, listen: &str) -> u16 {
        let port = free_port();
        let folder = self.folder.path().to_str().unwrap();
        let text = format!(
            "daemon off; master_process off; pid {folder}/pid; error_log {folder}/error;
            events {{}}
            http {{ access_log off; types {{ text/html html; image/png png; }}
              client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;
              fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
              ssl_certificate {folder}/chain.pem; ssl_certificate_key {folder}/key.pem;
              ssl_protocols TLSv1.2 TLSv1.3;
              server {{ listen 127.0.0.1:{port} {listen}; root {folder}/www;
                location /moved {{ return 302 /index.html; }} }} }}"
        );
        std::fs::write(self.folder.path().join("nginx.conf"), text).unwrap();
        let config = self.path("nginx.conf");
        self.start("nginx", &["-e", "/dev/null", "-c", &config], port);
        port
    }

    /// The current nginx, which takes early data over TCP and QUIC.
    fn early_nginx(&mut self, program: &str) -> u16 {
        let port = free_port();
        let folder = self.folder.path().to_str().unwrap();
        let text = format!(
            "daemon off; master_process off; pid {folder}/pid; error_log {folder}/error;
            events {{}}
            http {{ access_log off; types {{ text/html html; image/png png; }}
              client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;
              fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
              ssl_certificate {folder}/chain.pem; ssl_certificate_key {folder}/key.pem;
              ssl_protocols TLSv1.3; ssl_early_data on; http2 on;
              server {{ listen 127.0.0.1:{port} ssl; listen 127.0.0.1:{port} quic;
                root {folder}/www; add_header early $ssl_early_data; }} }}"
        );
        std::fs::write(self.folder.path().join("nginx.conf"), text).unwrap();
        let config = self.path("nginx.conf");
        self.start(program, &["-e", "/dev/null", "-c", &config], port);
        port
    }

    /// The current Caddy: HTTP/3, and early data over it.
    fn early_caddy(&mut self, program: &str) -> u16 {
        let port = free_port();
        let folder = self.folder.path().to_str().unwrap();
        let text = format!(
            "{{\n admin off\n auto_https off\n skip_install_trust\n storage file_system {folder}/caddy\n}}\n\
             https://localhost:{port} {{\n tls {folder}/chain.pem {folder}/key.pem\n \
             root * {folder}/www\n file_server\n}}\n"
        );
        std::fs::write(self.folder.path().join("Caddyfile"), text).unwrap();
        let config = self.path("Caddyfile");
        let arguments = ["run", "--adapter", "caddyfile", "--config", &config];
        self.start(program, &arguments, port);
        port
    }

    fn h2o(&mut self) -> u16 {
        let port = free_port();
        let text = format!(
            "listen:\n  host: 127.0.0.1\n  port: {port}\n  ssl:\n    certificate-file: {}\n    \
             key-file: {}\nnum-threads: 1\nhosts:\n  default:\n    paths:\n      /:\n        \
             file.dir: {}\n",
            self.path("chain.pem"),
            self.path("key.pem"),
            self.path("www"),
        );
        std::fs::write(self.folder.path().join("h2o.conf"), text).unwrap();
        let config = self.path("h2o.conf");
        self.start("h2o", &["-c", &config], port);
        port
    }

    fn config(&self, transport: Transport) -> ClientConfig {
        self.config_with(transport, ClientTlsOptions::default())
    }

    fn config_with(&self, transport: Transport, tls: ClientTlsOptions) -> ClientConfig {
        let roots = match tls.trust {
            Trust::Roots => vec![self.authority.root_pem()],
            Trust::Anyone => Vec::new(),
        };
        let tls = ClientTlsOptions { roots, alpn: transport.alpn(), ..tls };
        let mut config = ClientConfig::new(transport, ClientTls::new(tls).unwrap());
        config.hosts.insert("localhost", HostAddress::Address([127, 0, 0, 1].into()));
        config
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Fetches an image; what became of early data on its connection.
fn early_fetch(config: &ClientConfig, port: u16) -> EarlyData {
    let url = format!("https://localhost:{port}/7.png").parse().unwrap();
    let list = FetchList::new([FetchSpec::get(url)], Bodies::Discard);
    let mut client = Client::new(config.clone(), list);
    let mut reactor = Reactor::new(ReactorSettings::default(), Stop::new().unwrap()).unwrap();
    reactor.run(&mut client).unwrap();
    let records = client.into_work().records;
    let fetch = &records.fetches[0];
    assert_eq!((&fetch.outcome, fetch.body_bytes), (&FetchOutcome::Done, IMAGE as u64));
    let [connection] = &records.connections[..] else { panic!("one connection") };
    connection.tls.as_ref().unwrap().early_data
}

/// The second visit sends its request within the handshake.
fn assert_early(site: &Site, transport: Transport, port: u16) {
    let tls = ClientTlsOptions { resumption: Resumption::Early, ..Default::default() };
    let config = site.config_with(transport, tls);
    let visits = [(); 2].map(|()| early_fetch(&config, port));
    assert_eq!(visits, [EarlyData::None, EarlyData::Accepted], "{transport:?}");
}

#[test]
fn nginx_takes_early_data_over_tcp_and_quic() {
    let Some(nginx) = current("nginx") else { return };
    let mut site = Site::new();
    let port = site.early_nginx(&nginx);
    for transport in [Transport::H1_TLS, Transport::H2, Transport::H3] {
        assert_early(&site, transport, port);
    }
}

#[test]
fn caddy_takes_early_data_over_quic() {
    let Some(caddy) = current("caddy") else { return };
    let mut site = Site::new();
    let port = site.early_caddy(&caddy);
    assert_early(&site, Transport::H3, port);
}

fn load(config: ClientConfig, url: String) -> PageLoad {
    let url = url.parse().unwrap();
    let load = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    let mut client = Client::new(config, load);
    let mut reactor = Reactor::new(ReactorSettings::default(), Stop::new().unwrap()).unwrap();
    reactor.run(&mut client).unwrap();
    client.into_work()
}

/// The whole page came, each image with its bytes, over so many connections.
fn is_whole(page: &PageLoad, protocol: &str, connections: usize) {
    for fetch in &page.records.fetches {
        assert_eq!(fetch.outcome, FetchOutcome::Done, "{fetch:?}");
        assert_eq!((fetch.status, fetch.protocol.name()), (Some(200), protocol), "{fetch:?}");
        let image = fetch.url.ends_with(".png");
        assert!(!image || fetch.body_bytes == IMAGE as u64, "{fetch:?}");
    }
    assert_eq!(page.records.fetches.len(), IMAGES + 1);
    assert_eq!(page.records.connections.len(), connections);
    assert!(page.milestones().load.is_some());
    let received: u64 = page.records.connections.iter().map(|c| c.bytes_received).sum();
    assert!(received > (IMAGES * IMAGE) as u64, "{received}");
}

#[test]
fn nginx_serves_the_page_in_the_clear_and_over_tls() {
    if program("nginx").is_none() {
        return;
    }
    let mut site = Site::new();
    let port = site.nginx("");
    let page = load(site.config(Transport::H1), format!("http://localhost:{port}/"));
    is_whole(&page, "http/1.1", 6);
    let mut config = site.config(Transport::H1);
    config.keep_alive = client::KeepAlive::Off;
    let page = load(config, format!("http://localhost:{port}/"));
    is_whole(&page, "http/1.1", IMAGES + 1);
    let page = load(site.config(Transport::H1), format!("http://localhost:{port}/moved"));
    is_whole(&page, "http/1.1", 6);
    // Fetches stand in the order of their ends, and an image may be there before the end of its document.
    let moved = page.records.fetches.iter().find(|fetch| fetch.redirects > 0).unwrap();
    assert_eq!((moved.redirects, moved.url.ends_with("/index.html")), (1, true), "{moved:?}");

    let mut site = Site::new();
    let port = site.nginx("ssl");
    let page = load(site.config(Transport::BROWSER), format!("https://localhost:{port}/"));
    is_whole(&page, "http/1.1", 6);
    for (versions, expected) in [(Versions::Tls12, "TLSv1.2"), (Versions::Tls13, "TLSv1.3")] {
        let tls = ClientTlsOptions { versions, ..Default::default() };
        let config = site.config_with(Transport::H1_TLS, tls);
        let page = load(config, format!("https://localhost:{port}/"));
        is_whole(&page, "http/1.1", 6);
        let tls: Vec<_> = page.records.connections.iter().filter_map(|c| c.tls.clone()).collect();
        assert!(tls.iter().all(|tls| tls.version.name() == expected), "{tls:?}");
        // The first handshake of six gave tickets to those that came after it.
        assert!(tls.iter().any(|tls| !tls.resumed), "{tls:?}");
    }
}

#[test]
fn nginx_serves_the_page_over_http2_by_alpn_and_by_prior_knowledge() {
    if program("nginx").is_none() {
        return;
    }
    for (listen, transport, scheme) in
        [("ssl http2", Transport::BROWSER, "https"), ("http2", Transport::H2_CLEAR, "http")]
    {
        let mut site = Site::new();
        let port = site.nginx(listen);
        let page = load(site.config(transport), format!("{scheme}://localhost:{port}/"));
        is_whole(&page, "h2", 1);
        // One round where the images were asked for before the end of the document was there.
        let rounds = page.records.connections[0].rounds;
        assert!((1..=2).contains(&rounds), "{rounds} rounds");
    }
}

#[test]
fn h2o_serves_the_page_over_http2() {
    if program("h2o").is_none() {
        return;
    }
    let mut site = Site::new();
    let port = site.h2o();
    for priorities in
        [client::Priorities::Browser, client::Priorities::Field, client::Priorities::Silent]
    {
        let mut config = site.config(Transport::H2);
        config.priorities = priorities;
        let page = load(config, format!("https://localhost:{port}/"));
        is_whole(&page, "h2", 1);
        let tls = page.records.connections[0].tls.as_ref().unwrap();
        assert_eq!((tls.version.name(), &*tls.alpn), ("TLSv1.3", "h2"));
    }
}

#[test]
fn nghttpd_serves_the_page_with_and_without_tls() {
    if program("nghttpd").is_none() {
        return;
    }
    let mut site = Site::new();
    let (www, key, chain) = (site.path("www"), site.path("key.pem"), site.path("chain.pem"));
    let port = free_port();
    let number = port.to_string();
    site.start("nghttpd", &["-a", "127.0.0.1", "-d", &www, "--no-tls", &number], port);
    let page = load(site.config(Transport::H2_CLEAR), format!("http://localhost:{port}/"));
    is_whole(&page, "h2", 1);
    let port = free_port();
    let number = port.to_string();
    site.start("nghttpd", &["-a", "127.0.0.1", "-d", &www, &number, &key, &chain], port);
    let page = load(site.config(Transport::H2), format!("https://localhost:{port}/"));
    is_whole(&page, "h2", 1);
}

#[test]
fn a_wrong_certificate_is_told_and_k_lets_it_pass() {
    if program("nginx").is_none() {
        return;
    }
    let mut site = Site::new();
    let port = site.nginx("ssl http2");
    let tls = ClientTlsOptions { trust: Trust::Anyone, ..Default::default() };
    let page = load(site.config_with(Transport::H2, tls), format!("https://localhost:{port}/"));
    is_whole(&page, "h2", 1);
    let other = Site::new();
    assert_ne!(other.identity.key_pem(), site.identity.key_pem());
    let mut config = other.config(Transport::H2);
    config.hosts.insert("elsewhere.example", HostAddress::Address([127, 0, 0, 1].into()));
    let page = load(config, format!("https://localhost:{port}/"));
    let why = |page: &PageLoad| match &page.records.fetches[0].outcome {
        FetchOutcome::Failed(why) => why.clone(),
        FetchOutcome::Done => panic!("{page:?}"),
    };
    assert!(why(&page).contains("skip the check with -k"), "{}", why(&page));
    let mut config = site.config(Transport::H2);
    config.hosts.insert("elsewhere.example", HostAddress::Address([127, 0, 0, 1].into()));
    let page = load(config, format!("https://elsewhere.example:{port}/"));
    assert!(why(&page).contains("it is for localhost, 127.0.0.1"), "{}", why(&page));
    assert!(why(&page).contains("ask for one of those names, or skip the check with -k"));
}
