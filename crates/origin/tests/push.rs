//! Delivery policies with other people's programs: nghttp, node, node-spdy, libcurl, Chromium, and H2O as the peer of the
//! CASPER cookie.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use origin::{
    ByLink, CasperSettings, DeliveryPolicy, ExchangeEnd, Heed, PushSettings, Rule, Tracking,
};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::{Folder, Serving, peer, run_text};
use testing::peers::{has, kept, run};
use wire::cache_digest::{Digest, UrlHash, Validators};
use wire::casper::{Capacity, Fingerprint};

const NGHTTP2: &str = "apt-get install nghttp2-client";
const LINKS: [&str; 3] =
    ["</app.js>; rel=preload", "</style.css>; rel=preload", "</pic.png>; rel=preload"];

/// A page with a style, a script and a picture.
fn site() -> Folder {
    let folder = Folder::new();
    let root = folder.root();
    let page = "<!doctype html><link rel=stylesheet href=/style.css><p>waiting</p><script src=/app.js></script>\
                <img src=/pic.png>";
    std::fs::write(root.join("index.html"), page).unwrap();
    std::fs::write(root.join("style.css"), " ".repeat(20_000)).unwrap();
    let script = "document.querySelector('p').textContent = ['pu', 'shed'].join('');";
    std::fs::write(root.join("app.js"), script).unwrap();
    std::fs::write(root.join("pic.png"), vec![1; 30_000]).unwrap();
    folder
}

/// What is linked is pushed.
fn by_link(tracking: Option<Tracking>) -> DeliveryPolicy {
    let rule = Rule {
        path: Some("/index.html".parse().unwrap()),
        links: LINKS.iter().map(|link| link.parse().unwrap()).collect(),
        ..Rule::default()
    };
    let casper =
        tracking.map(|tracking| CasperSettings { capacity: Capacity::default(), tracking });
    let push = PushSettings { by_link: ByLink::Pushed, ..PushSettings::default() };
    DeliveryPolicy { rules: vec![rule], push, casper, ..DeliveryPolicy::default() }
}

/// The script is pushed, the style hinted.
fn by_list() -> DeliveryPolicy {
    let rule = Rule {
        path: Some("/index.html".parse().unwrap()),
        push: vec!["/app.js".to_owned(), "/style.css".to_owned()],
        hints: vec!["</style.css>; rel=preload; as=style".parse().unwrap()],
        ..Rule::default()
    };
    DeliveryPolicy { rules: vec![rule], ..DeliveryPolicy::default() }
}

/// What nghttp was sent where it says this cookie: the paths of the promises, and the CASPER cookie's value.
fn nghttp(url: &str, cookie: Option<&str>) -> (Vec<String>, Option<String>) {
    let cookie = cookie.map(|cookie| format!("cookie: h2o_casper={cookie}"));
    let said = said_by_nghttp(url, cookie.as_deref());
    let cookie = said.split("set-cookie: h2o_casper=").nth(1).map(|rest| {
        let (value, attributes) = rest.lines().next().unwrap().split_once("; ").unwrap();
        assert_eq!(attributes, wire::casper::ATTRIBUTES);
        value.to_owned()
    });
    (promised(&said), cookie)
}

fn said_by_nghttp(url: &str, field: Option<&str>) -> String {
    let mut command = Command::new("nghttp");
    command.args(["-nv", "--no-verify-peer", url]);
    if let Some(field) = field {
        command.args(["-H", field]);
    }
    String::from_utf8_lossy(&run(&mut command).stdout).into_owned()
}

/// The paths of the promises.
fn promised(said: &str) -> Vec<String> {
    let promised = said.lines().filter(|line| line.contains("recv (stream_id="));
    promised.filter_map(|line| line.split(" :path: ").nth(1).map(str::to_owned)).collect()
}

#[test]
fn nghttp_takes_pushes_clear_and_over_tls() {
    if !has("nghttp", "--version", NGHTTP2) {
        return;
    }
    let site = site();
    let serving = Serving::start_delivering(&site.root(), by_list());
    for url in [serving.url("/index.html"), serving.tls_url("/index.html")] {
        assert_eq!(nghttp(&url, None), (vec!["/app.js".to_owned(), "/style.css".to_owned()], None));
        let table = run_text("nghttp", &["-ns", "--no-verify-peer", &url]);
        let pushed = table.lines().filter(|line| line.contains('*') && line.contains(" 200 "));
        assert_eq!(pushed.count(), 2, "{table}");
        let refused = run_text("nghttp", &["-ns", "--no-push", "--no-verify-peer", &url]);
        assert!(!refused.contains("/app.js"), "{refused}");
    }
    let lines: Vec<_> = serving.log.try_iter().collect();
    let pushed: Vec<_> = lines.iter().filter(|line| line.pushed_with.is_some()).collect();
    assert_eq!((lines.len(), pushed.len()), (6 + 8, 8));
    assert!(pushed.iter().all(|line| line.status == Some(200) && line.end == ExchangeEnd::Done));
}

#[test]
fn node_takes_pushes_and_hints() {
    if !has("node", "--version", "apt-get install nodejs") {
        return;
    }
    let site = site();
    let serving = Serving::start_delivering(&site.root(), by_list());
    for url in [serving.url(""), serving.tls_url("")] {
        let said = run_text("node", &[&peer("push.mjs"), &url, "/index.html"]);
        let lines: Vec<&str> = said.lines().map(str::trim).collect();
        let page = std::fs::metadata(site.root().join("index.html")).unwrap().len();
        let script = std::fs::metadata(site.root().join("app.js")).unwrap().len();
        let expected = [
            "early 103 </style.css>; rel=preload; as=style".to_owned(),
            format!("page 200 {page}"),
            format!("pushed /app.js 200 {script}"),
            "pushed /style.css 200 20000".to_owned(),
        ];
        assert_eq!(lines, expected, "{url}");
    }
}

#[test]
fn node_spdy_takes_pushes() {
    if !has("node", "--version", "apt-get install nodejs") {
        return;
    }
    let Some(modules) = node_modules() else { return };
    let site = site();
    let serving = Serving::start_delivering(&site.root(), by_list());
    let mut command = Command::new("node");
    command.env("NODE_PATH", modules).arg("--no-deprecation").arg(peer("spdy_push.js"));
    let said = run(command.arg(serving.clear.port().to_string()).arg("/index.html"));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let page = std::fs::metadata(site.root().join("index.html")).unwrap().len();
    let script = std::fs::metadata(site.root().join("app.js")).unwrap().len();
    assert_eq!(said, format!("pushed /app.js {script}\npushed /style.css 20000\npage {page}\n"));
}

fn node_modules() -> Option<PathBuf> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
    let path = PathBuf::from(run_text(&peers.display().to_string(), &["node-path"]).trim());
    if path.join("spdy-transport").is_dir() {
        return Some(path);
    }
    testing::skip(format_args!("node-spdy is not installed: ./peers install"));
    None
}

#[test]
fn curl_hears_of_hints_over_http_1_2_and_3() {
    let site = site();
    let serving = Serving::start_delivering(&site.root(), by_list());
    let link = "link: </style.css>; rel=preload; as=style";
    for (way, name) in [("--http1.1", "HTTP/1.1"), ("--http2", "HTTP/2")] {
        let url = serving.tls_url("/index.html?delay_ms=20");
        let said = run_text("curl", &["-skD", "-", "-o", "/dev/null", way, &url]);
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].starts_with(&format!("{name} 103")), "{said}");
        assert_eq!(lines[1..3], [link, ""], "{said}");
        assert!(lines[3].starts_with(&format!("{name} 200")), "{said}");
    }
    let Some(folder) = kept("curl") else { return };
    let url = serving.quic_url("/index.html?delay_ms=20");
    let folder = folder.display().to_string();
    let said = run_text("python3", &[&peer("http3_hints.py"), &folder, &url]);
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    assert_eq!(lines, ["HTTP/3 103", link, "HTTP/3 200"]);
}

/// H2O under way, ended with the test.
struct H2o {
    child: Child,
    address: SocketAddr,
}

impl Drop for H2o {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

impl H2o {
    /// H2O with the same site, links and tracking as [`by_link`]; None, and a skip, without it.
    fn start(site: &Folder, tracking: &str) -> Option<Self> {
        if !has("h2o", "--version", "apt-get install h2o") {
            return None;
        }
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let base = site.base().display();
        // As root it would become somebody else, who may not read here.
        let user = if run_text("id", &["-u"]).trim() == "0" { "user: root\n" } else { "" };
        let links = LINKS.join("\\n");
        let configuration = format!(
            "{user}num-threads: 1\npid-file: {base}/h2o.pid\ntemp-buffer-path: {base}\nhosts:\n  default:\n    \
             listen:\n      host: 127.0.0.1\n      port: {}\n    http2-casper:\n      capacity-bits: 13\n      \
             tracking-types: {tracking}\n    paths:\n      \"/\":\n        mruby.handler: |\n          \
             Proc.new do |env|\n            \
             [399, env[\"PATH_INFO\"] == \"/index.html\" ? {{\"link\" => \"{links}\"}} : {{}}, []]\n          end\n        \
             file.dir: {base}/www\n",
            address.port()
        );
        let file = site.base().join("h2o.conf");
        std::fs::write(&file, configuration).unwrap();
        let mut command = Command::new("h2o");
        command.args(["-m", "worker", "-c"]).arg(&file);
        let log = std::fs::File::create(site.base().join("h2o.log")).unwrap();
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let h2o = Self { child, address };
        for _ in 0..1_000 {
            if TcpStream::connect(address).is_ok() {
                return Some(h2o);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{}", std::fs::read_to_string(site.base().join("h2o.log")).unwrap());
    }
}

/// H2O and the origin with the same site: the same promises and cookies, whoever wrote the cookie that a client shows.
#[test]
fn h2o_and_the_origin_push_alike_and_read_each_others_cookies() {
    if !has("nghttp", "--version", NGHTTP2) {
        return;
    }
    for (name, tracking) in [("blocking-assets", Tracking::BlockingAssets), ("all", Tracking::All)]
    {
        let site = site();
        let Some(h2o) = H2o::start(&site, name) else { return };
        let serving = Serving::start_delivering(&site.root(), by_link(Some(tracking)));
        let theirs = format!("http://{}/index.html", h2o.address);
        let ours = serving.url("/index.html");
        let first = nghttp(&theirs, None);
        assert_eq!(first.0, ["/app.js", "/style.css", "/pic.png"], "{name}");
        assert_eq!(nghttp(&ours, None), first, "{name}");
        let cookie = first.1.unwrap();
        let mut only_script = Fingerprint::new(Capacity::default());
        only_script.insert("/app.js");
        let mut page_and_style = Fingerprint::new(Capacity::default());
        page_and_style.insert("/index.html");
        page_and_style.insert("/style.css");
        let shown = [
            cookie,
            only_script.value(),
            page_and_style.value(),
            Fingerprint::new(Capacity::default()).value(),
        ];
        for shown in &shown {
            let told = nghttp(&theirs, Some(shown));
            assert_eq!(nghttp(&ours, Some(shown)), told, "{name} {shown}");
            assert!(shown.is_empty() || told.0.len() < 3, "{told:?}");
        }
    }
}

/// H2O reads cache digests of the same draft. Its `ETag`s are not ours, so both are told of URLs alone.
#[test]
fn h2o_and_the_origin_leave_out_what_a_cache_digest_names() {
    if !has("nghttp", "--version", NGHTTP2) {
        return;
    }
    let site = site();
    let Some(h2o) = H2o::start(&site, "all") else { return };
    let policy = by_link(None);
    let push = PushSettings { cache_digest: Heed::Heeded, ..policy.push.clone() };
    let serving = Serving::start_delivering(&site.root(), DeliveryPolicy { push, ..policy });
    let theirs = format!("http://{}", h2o.address);
    let (named, flags) =
        (["/style.css", "/pic.png"], ["", "; complete", "; stale", "; complete; x"]);
    for flags in flags {
        for count in 0..=named.len() {
            let pushed = |base: &str| {
                let urls = named[..count].iter().map(|path| format!("{base}{path}"));
                let hashes: Vec<UrlHash> = urls.map(|url| UrlHash::of_url(&url)).collect();
                let digest = Digest::new(Validators::Left, &hashes, 20).value();
                let field = format!("cache-digest: {digest}{flags}");
                promised(&said_by_nghttp(&format!("{base}/index.html"), Some(&field)))
            };
            let ours = pushed(serving.url("").trim_end_matches('/'));
            assert_eq!(ours, pushed(&theirs), "{count}{flags}");
            let is_heeded = !flags.contains("stale") && !flags.contains('x');
            assert_eq!(ours.len(), if is_heeded { 3 - count } else { 3 }, "{ours:?} {flags}");
        }
    }
}

/// Chromium took pushes until version 106. It asks for nothing that was pushed.
#[test]
fn chromium_of_2021_asks_for_nothing_that_was_pushed() {
    let Some(program) = kept("bin/chromium-92") else { return };
    let site = site();
    let serving = Serving::start_delivering(&site.root(), by_link(Some(Tracking::BlockingAssets)));
    let profile = format!("--user-data-dir={}", site.base().join("profile").display());
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--ignore-certificate-errors",
        "--dump-dom",
    ];
    let said =
        run(Command::new(program).args(flags).arg(profile).arg(serving.tls_url("/index.html")));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("<p>pushed</p>"), "{said}");
    let lines: Vec<_> = serving.log.try_iter().collect();
    for path in ["/app.js", "/style.css", "/pic.png"] {
        let of_path: Vec<_> = lines.iter().filter(|line| line.path == path).collect();
        assert_eq!(of_path.len(), 1, "{of_path:?}");
        assert!(of_path[0].pushed_with.is_some() && of_path[0].end == ExchangeEnd::Done);
    }
}
