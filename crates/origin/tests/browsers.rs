//! Browsers as peers: pages over HTTP/3, WebSockets by Upgrade and over HTTP/2, and the pushes that only those of another
//! period take. How it went is read from the origin's access log; a page with a WebSocket tells it by a request.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use bytes::Bytes;
use endpoint::SendBuf;
use origin::ExchangeEnd;
use proto::schedule::RoundRobin;
use proto::{
    ByteStreamConnection, Connection, Event, Fin, RequestHead, ResponseHead, Scheme,
    ServerConnection, Status, h2,
};
use secure::{Authority, AuthoritySpec, Layer, ServerTls, ServerTlsOptions, Tls};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use support::{FAR, Folder, Serving, peer, run_text};
use testing::peers::{has, kept, run};
use trace::Tracer;

/// What the page says where all went well, as it stands in the target of its request.
const WELL: &str = "/said?right%203%20of%203%2C%201000%20true%2C%20permessage-deflate";

/// No browser takes as long to start, unless it hangs.
const HANGS: Duration = Duration::from_secs(60);

/// A browser under way, ended with the test.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// The clear page's URL with the protocol that its socket is carried by, and the secured one's.
fn pages(serving: &Serving) -> [(String, &'static str); 2] {
    [(serving.url("/ws.html"), "http/1.1"), (serving.tls_url("/ws.html"), "h2")]
}

fn site() -> Folder {
    let site = Folder::new();
    std::fs::copy(peer("ws_page.html"), site.root().join("ws.html")).unwrap();
    site
}

/// Waits until the page has told; gives the protocol that carried its WebSocket.
fn carried(serving: &Serving) -> String {
    let mut carried = None;
    loop {
        let line = serving.log.recv_timeout(HANGS).expect("the page tells how it went");
        match line.path.as_str() {
            "/ws/echo" => carried = Some(line.protocol),
            path if path.starts_with("/said?") => {
                assert_eq!(path, WELL);
                return carried.expect("a socket before the word of how it went");
            }
            _ => {}
        }
    }
}

/// The arguments by which a Chromium prints a page once it is loaded, whatever its certificate.
fn dumping(profile: &Path) -> Vec<String> {
    let mut arguments = loading(profile);
    arguments.push("--ignore-certificate-errors".to_owned());
    arguments
}

/// The same where the certificate counts.
fn loading(profile: &Path) -> Vec<String> {
    let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"];
    let mut arguments: Vec<String> = flags.map(str::to_owned).into();
    arguments.push(format!("--user-data-dir={}", profile.display()));
    arguments
}

fn chromium_opens_websockets(program: &str) {
    let site = site();
    let serving = Serving::start(&site.root());
    for (url, protocol) in pages(&serving) {
        let said = run(Command::new(program).args(dumping(&site.base().join("profile"))).arg(&url));
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.contains("right 3 of 3, 1000 true, permessage-deflate"), "{url}: {said}");
        assert_eq!(carried(&serving), protocol);
    }
}

#[test]
fn chromium_opens_websockets_by_upgrade_and_over_http_2() {
    if has("chromium", "--version", "apt-get install chromium") {
        chromium_opens_websockets("chromium");
    }
}

#[test]
fn chromium_of_2021_opens_websockets_by_upgrade_and_over_http_2() {
    if let Some(program) = kept("bin/chromium-92") {
        chromium_opens_websockets(&program.display().to_string());
    }
}

#[test]
fn firefox_opens_websockets_by_upgrade_and_over_http_2() {
    let here = [
        has("firefox-esr", "--version", "apt-get install firefox-esr"),
        has("openssl", "version", "apt-get install openssl"),
    ];
    if here != [true; 2] {
        return;
    }
    let site = site();
    let serving = Serving::start(&site.root());
    for (url, protocol) in pages(&serving) {
        let profile = site.base().join(format!("profile-{}", protocol.replace('/', "-")));
        firefox_profile(&profile, "");
        trust_as_it_is(&profile, serving.tls);
        let _running = firefox(&profile, &url);
        assert_eq!(carried(&serving), protocol, "{url}");
    }
}

fn firefox(profile: &Path, url: &str) -> Browser {
    let mut firefox = Command::new("firefox-esr");
    firefox.args(["--headless", "--no-remote", "--profile"]).arg(profile).arg(url);
    firefox.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Browser(firefox.spawn().unwrap())
}

/// A profile that asks nobody anything, with more settings.
fn firefox_profile(folder: &Path, more: &str) {
    const OFF: [&str; 6] = [
        "browser.shell.checkDefaultBrowser",
        "browser.aboutwelcome.enabled",
        "datareporting.policy.dataSubmissionEnabled",
        "network.captive-portal-service.enabled",
        "network.connectivity-service.enabled",
        "dom.security.https_first",
    ];
    std::fs::create_dir_all(folder).unwrap();
    let off: String = OFF.map(|name| format!("user_pref(\"{name}\", false);\n")).concat();
    std::fs::write(folder.join("user.js"), off + more).unwrap();
}

/// Has a profile take the certificate of `secured`, whoever has issued it.
fn trust_as_it_is(profile: &Path, secured: SocketAddr) {
    const SHA_256: &str = "OID.2.16.840.1.101.3.4.2.1";
    let print = format!(
        "openssl s_client -connect {secured} </dev/null 2>/dev/null | openssl x509 -noout -fingerprint -sha256"
    );
    let printed = run_text("sh", &["-c", &print]);
    let print = printed.trim().rsplit('=').next().unwrap();
    let line = format!("127.0.0.1:{}:\t{SHA_256}\t{print}\t\n", secured.port());
    std::fs::write(profile.join("cert_override.txt"), line).unwrap();
}

/// A folder with a page of a hundred images. The page tells how many of them the browser has whole.
fn hundred_images() -> Folder {
    let site = Folder::new();
    let image = |number: usize| {
        let filling = "x".repeat(5_000);
        let head = "<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'>";
        format!("{head}<rect width='10' height='{number}'/><!-- {filling} --></svg>")
    };
    let mut page = "<!doctype html><title>100</title>".to_owned();
    for number in 0..100 {
        std::fs::write(site.root().join(format!("{number}.svg")), image(number)).unwrap();
        page.push_str(&format!("<img src=/{number}.svg>\n"));
    }
    page.push_str(
        "<script>
          onload = () => {
            document.title = [...document.images].filter(image => image.naturalWidth == 10).length + ' are there';
            fetch('/said?' + document.title);
          }
        </script>",
    );
    std::fs::write(site.root().join("hundred.html"), page).unwrap();
    site
}

/// Waits until page and images were served, each of the 101 whole and over HTTP/3.
fn all_came_over_http3(serving: &Serving, site: &Folder) {
    let paths = (0..100).map(|number| format!("/{number}.svg"));
    let length = |path: &str| std::fs::metadata(site.root().join(&path[1..])).unwrap().len();
    let due = paths.chain(["/hundred.html".to_owned()]).map(|path| (path.clone(), length(&path)));
    let mut due: BTreeMap<String, u64> = due.collect();
    while !due.is_empty() {
        let line = serving.log.recv_timeout(HANGS);
        let line = line.unwrap_or_else(|_| panic!("{} of 101 were not asked for", due.len()));
        // A browser asks for an icon, too.
        if let Some(length) = due.remove(&line.path) {
            let found = (&*line.protocol, line.status, line.sent, line.end);
            assert_eq!(found, ("h3", Some(200), length, ExchangeEnd::Done), "{}", line.path);
        }
    }
}

/// A synthetic page with every part, in a frame. Once it is loaded the title tells what a browser made of it: the images by
/// their pixels and the colour of the middle one, the scripts that ran, the import, and what is in the viewport.
const FRAMED: &str = "<!doctype html><title>?</title>
    <iframe id=frame width=800 height=600 src='/page?images=2&bytes=5000&css=2&imports=1&scripts=1&async=1&defer=1\
&modules=1&fonts=1&below_fold=1&hero=140000'></iframe>
    <script>
      frame.onload = () => {
        const page = frame.contentDocument, canvas = document.createElement('canvas').getContext('2d');
        const images = [...page.images].map(image => {
          canvas.clearRect(0, 0, 9, 9);
          canvas.drawImage(image, 0, 0);
          return image.naturalWidth + 'x' + image.naturalHeight + ' ' + canvas.getImageData(1, 1, 1, 1).data;
        });
        const place = image => image.getBoundingClientRect().bottom <= 600 ? 'in view' : 'below';
        document.title = [
          ...images, frame.contentWindow.parts + ' scripts',
          page.styleSheets[1].cssRules[0].styleSheet.href.includes('/style/100.css') ? 'imported' : 'alone',
          ...[...page.images].map(place),
        ].join(', ');
      };
    </script>";

#[test]
fn chromium_paints_the_images_of_a_page_with_parts_and_runs_its_scripts() {
    if !has("chromium", "--version", "apt-get install chromium") {
        return;
    }
    let site = Folder::new();
    std::fs::write(site.root().join("framed.html"), FRAMED).unwrap();
    let serving = Serving::start(&site.root());
    let profile = site.base().join("profile");
    let said =
        run(Command::new("chromium").args(dumping(&profile)).arg(serving.url("/framed.html")));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let expected = "<title>120x90 0,0,0,255, 120x90 0,0,0,255, 600x400 0,0,0,255, 600x400 0,0,0,255, 4 scripts, \
                    imported, in view, in view, below, in view</title>";
    assert!(said.contains(expected), "{said}");
}

/// What Chromium knows a certificate by that it is to take: the digest of its public key.
fn public_key_digest(secured: SocketAddr) -> String {
    let digest = format!(
        "openssl s_client -connect {secured} </dev/null 2>/dev/null | openssl x509 -noout -pubkey \
         | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | openssl base64"
    );
    run_text("sh", &["-c", &digest]).trim().to_owned()
}

#[test]
fn chromium_opens_a_page_of_a_hundred_images_over_http_3() {
    let here = [
        has("chromium", "--version", "apt-get install chromium"),
        has("openssl", "version", "apt-get install openssl"),
    ];
    if here != [true; 2] {
        return;
    }
    let site = hundred_images();
    let serving = Serving::start(&site.root());
    let at = format!("{FAR}:{}", serving.quic.port());
    let mut chromium = Command::new("chromium");
    chromium.args(loading(&site.base().join("profile"))).args([
        format!("--origin-to-force-quic-on={at}"),
        format!("--host-resolver-rules=MAP {FAR} 127.0.0.1"),
        format!("--ignore-certificate-errors-spki-list={}", public_key_digest(serving.tls)),
        format!("https://{at}/hundred.html"),
    ]);
    let said = String::from_utf8_lossy(&run(&mut chromium).stdout).into_owned();
    assert!(said.contains("<title>100 are there</title>"), "{said}");
    all_came_over_http3(&serving, &site);
}

#[test]
fn firefox_opens_a_page_of_a_hundred_images_over_http_3() {
    let here = [
        has("firefox-esr", "--version", "apt-get install firefox-esr"),
        has("certutil", "-H", "apt-get install libnss3-tools"),
    ];
    if here != [true; 2] {
        return;
    }
    let site = hundred_images();
    let serving = Serving::start(&site.root());
    let profile = site.base().join("profile");
    let preferences = [
        // As if an earlier visit had told it (Alt-Svc).
        (
            "network.http.http3.alt-svc-mapping-for-testing",
            format!("\"{FAR};h3=:{}\"", serving.quic.port()),
        ),
        ("network.dns.localDomains", format!("\"{FAR}\"")),
        ("network.http.http3.disable_when_third_party_roots_found", "false".to_owned()),
        ("network.http.http3.force-use-alt-svc-mapping-for-testing", "true".to_owned()),
        // It would begin over TCP, too, where QUIC takes longer than 100 ms, or race the two from the start.
        ("network.http.http3.backup_timer_delay", "60000".to_owned()),
        ("network.http.happy_eyeballs_enabled", "false".to_owned()),
    ];
    let lines = preferences.map(|(name, value)| format!("user_pref(\"{name}\", {value});\n"));
    firefox_profile(&profile, &lines.concat());
    let root = site.base().join("root.pem");
    std::fs::write(&root, &serving.root).unwrap();
    let store = format!("sql:{}", profile.display());
    run(Command::new("certutil").args(["-N", "--empty-password", "-d", &store]));
    run(Command::new("certutil")
        .args(["-A", "-n", "wirelap", "-t", "C,,", "-d", &store, "-i"])
        .arg(&root));
    let url = format!("https://{FAR}:{}/hundred.html", serving.tls.port());
    let _running = firefox(&profile, &url);
    all_came_over_http3(&serving, &site);
    let mut lines = std::iter::from_fn(|| serving.log.recv_timeout(HANGS).ok());
    let said = lines.find(|line| line.path.starts_with("/said?"));
    assert_eq!(said.map(|line| line.path).as_deref(), Some("/said?100%20are%20there"));
}

/// Chromium took pushes until version 106. The script that this page runs was never asked for, and the
/// browser's own log says where it had it from.
#[test]
fn chromium_of_2021_runs_a_script_that_our_http_2_pushed() {
    let Some(program) = kept("bin/chromium-92") else { return };
    let folder = Folder::new();
    let (address, asked) = serve_pushing();
    let log = folder.base().join("net-log.json");
    let said = run(Command::new(program)
        .args(dumping(&folder.base().join("profile")))
        .arg(format!("--log-net-log={}", log.display()))
        .arg(format!("https://{address}/")));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("<p>pushed</p>"), "{said}");
    let asked: Vec<String> = asked.try_iter().collect();
    assert!(asked.contains(&"/".to_owned()) && !asked.contains(&"/pushed.js".to_owned()));
    let log: serde_json::Value = serde_json::from_slice(&std::fs::read(log).unwrap()).unwrap();
    let adopted = &log["constants"]["logEventTypes"]["HTTP2_STREAM_ADOPTED_PUSH_STREAM"];
    let events = log["events"].as_array().unwrap();
    let adoption = events.iter().find(|event| event["type"] == *adopted).unwrap();
    assert!(adoption["params"]["url"].as_str().unwrap().ends_with("/pushed.js"), "{adoption}");
}

const PAGE: &[u8] = b"<!doctype html><body><script src=/pushed.js></script>";
const SCRIPT: &[u8] = b"document.body.innerHTML = '<p>' + ['push', 'ed'].join('') + '</p>';";

/// An HTTP/2 server that pushes a script with its page, and tells every path that it is asked for. As long as
/// the test runs, a thread a connection.
fn serve_pushing() -> (SocketAddr, Receiver<String>) {
    let authority = Authority::new(AuthoritySpec::default()).unwrap();
    let identity = authority.issue(&["localhost", "127.0.0.1"]).unwrap();
    let alpn = vec!["h2".to_owned()];
    let options = ServerTlsOptions { alpn, ..ServerTlsOptions::new(vec![identity]) };
    let tls = ServerTls::new(options).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        for tcp in listener.incoming().flatten() {
            let (layer, sender) = (Layer::secured(Tls::server(&tls).unwrap()), sender.clone());
            std::thread::spawn(move || push_on(tcp, layer, &sender));
        }
    });
    (address, asked)
}

/// Serves a connection until the browser is through with it.
fn push_on(mut tcp: TcpStream, mut layer: Layer, asked: &Sender<String>) {
    let (settings, turns) = (h2::Settings::server(), Box::new(RoundRobin::default()));
    let mut server = h2::Server::new(os::clock::now(), settings, turns, Tracer::off());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let mut out = SendBuf::new();
        layer.poll_transmit(&mut out, 1 << 20, |plain, limit| {
            server.poll_transmit(os::clock::now(), plain, limit);
        });
        if out.chunks().any(|chunk| tcp.write_all(chunk).is_err()) {
            return;
        }
        let Ok(length @ 1..) = tcp.read(&mut buffer) else { return };
        let mut cipher = &buffer[..length];
        while let Ok(Some(mut plain)) = layer.handle_bytes(&mut cipher) {
            while let Some(event) = server.handle_bytes(os::clock::now(), &mut plain) {
                if let Event::Request { stream, head, .. } = event {
                    let _nobody_reads = asked.send(head.path.clone());
                    answer(&mut server, stream, &head);
                }
            }
        }
    }
}

fn answer(server: &mut h2::Server, stream: proto::StreamId, head: &RequestHead) {
    if head.path != "/" {
        let nothing = ResponseHead::new(Status::new(404).unwrap());
        return server.respond(stream, &nothing, Fin::Last).unwrap();
    }
    let promised = RequestHead::get(Scheme::Https, head.authority.as_str(), "/pushed.js");
    let pushed = server.promise(stream, &promised).unwrap();
    for (stream, kind, body) in [(stream, "text/html", PAGE), (pushed, "text/javascript", SCRIPT)] {
        let mut found = ResponseHead::new(Status::OK);
        found.fields.push(b"content-type", kind.as_bytes());
        server.respond(stream, &found, Fin::More).unwrap();
        server.send(stream, Bytes::from_static(body), Fin::Last).unwrap();
    }
}
