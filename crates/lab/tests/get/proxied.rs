//! Downloads through Apache as a proxy, and curl's beside them.

use crate::bench::{Bench, Ran, Running};
use crate::server::{content, get, is_whole};
use crate::started::{certify, started};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use testing::peers::{free_port, program};

const USER: &str = "http://aladdin:open%20sesame@127.0.0.1";

/// Our server, and Apache as the proxy before it, which asks for a name and a password.
struct Proxied {
    bench: Bench,
    curl: String,
    proxy: u16,
    clear: String,
    tls: String,
    apache: Running,
    site: Running,
}

impl Proxied {
    fn new() -> Option<Self> {
        let (apache, curl) = (program("apache2")?, program("curl")?);
        let bench = Bench::new();
        std::fs::create_dir(bench.path("www")).unwrap();
        bench.write("www/file", content(300_000));
        if !certify(&bench) {
            return None;
        }
        let args = ["serve", "www", "--listen", "127.0.0.1:0", "--listen-tls", "127.0.0.1:0"];
        let tls = ["--cert", "cert.pem", "--key", "key.pem", "--threads", "1"];
        let mut site = bench.start(bench.wirelap(&[&args[..], &tls].concat()));
        let mut lines = BufReader::new(site.child.stdout.take().unwrap()).lines();
        let mut next = || format!("{}file", lines.next().unwrap().unwrap());
        let (clear, tls) = (next(), next());
        let password = bench.shell(&[], "openssl passwd -apr1 'open sesame'");
        bench.write("users", format!("aladdin:{}\n", password.out.trim()));
        let proxy = free_port();
        bench.write("httpd.conf", configuration(&bench, proxy, &tls));
        let config = bench.path("httpd.conf").display().to_string();
        let apache = started(&bench, (&apache, &["-f", &config, "-DFOREGROUND"]), proxy);
        Some(Self { bench, curl, proxy, clear, tls, apache, site })
    }

    fn curl(&self, args: &[&str]) -> Ran {
        let mut command = self.bench.command(&self.curl);
        command.args(["-sS", "--fail", "--cacert", "cert.pem", "-o", "by-curl"]).args(args);
        self.bench.start(command).end()
    }

    fn get(&self, args: &[&str]) -> Ran {
        get(&self.bench, &[&["--cacert", "cert.pem", "--retry", "0", "-v"], args].concat())
    }

    /// The requests that Apache has written down since the last look.
    fn log(&self) -> Vec<String> {
        // Apache writes a tunnel down when both sides have closed it.
        for _ in 0..250 {
            let log = std::fs::read_to_string(self.bench.path("access")).unwrap_or_default();
            if log.lines().count() > 0 && log.ends_with('\n') {
                self.bench.write("access", "");
                return log.lines().map(str::to_owned).collect();
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Vec::new()
    }

    fn end(self) {
        self.apache.signal("TERM");
        self.apache.end();
        self.site.signal("INT");
        self.site.end();
    }
}

fn configuration(bench: &Bench, port: u16, tls: &str) -> String {
    let folder = bench.folder.display();
    let modules = [
        "mpm_event",
        "authz_core",
        "authn_core",
        "authn_file",
        "authz_user",
        "auth_basic",
        "proxy",
        "proxy_http",
        "proxy_connect",
    ];
    let modules = modules
        .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"));
    let tunnels = tls.rsplit(':').next().unwrap().split('/').next().unwrap();
    format!(
        "{}ServerName localhost\nPidFile {folder}/pid\nDefaultRuntimeDir {folder}\n\
         Mutex file:{folder} default\nErrorLog {folder}/error\nUser www-data\nGroup www-data\n\
         Listen 127.0.0.1:{port}\nLogFormat \"%>s %r\" asked\nCustomLog {folder}/access asked\n\
         ProxyRequests On\nAllowCONNECT {tunnels}\n<Proxy \"*\">\nAuthType Basic\nAuthName x\n\
         AuthUserFile {folder}/users\nRequire valid-user\n</Proxy>\n",
        modules.concat()
    )
}

#[test]
fn a_proxy_is_told_whole_urls_over_http_and_opens_tunnels_for_https() {
    let Some(proxied) = Proxied::new() else { return };
    let proxy = format!("{USER}:{}", proxied.proxy);
    for (url, protocol) in [(&proxied.clear, "http/1.1"), (&proxied.tls, "h2")] {
        let ran = proxied.get(&["--proxy", &proxy, url]);
        ran.said(0, &[&format!("over {protocol}")]);
        assert!(!ran.err.contains("sesame"), "{}", ran.err);
        is_whole(&proxied.bench, "file", &content(300_000));
        let ours = proxied.log();
        assert_eq!(proxied.curl(&["--proxy", &proxy, url]).code, 0);
        assert_eq!(ours, proxied.log(), "curl asks the proxy for the same");
        let first = if protocol == "h2" { "200 CONNECT 127.0.0.1:" } else { "200 GET http://" };
        assert!(ours.len() == 1 && ours[0].starts_with(first), "{ours:?}");
    }
    proxied.end();
}

#[test]
fn a_proxy_that_refuses_is_named_with_its_reason() {
    let Some(proxied) = Proxied::new() else { return };
    let proxy = format!("127.0.0.1:{}", proxied.proxy);
    let asked = ["--proxy", &proxy];
    let ran = proxied.get(&[&asked[..], &[&proxied.tls]].concat());
    ran.said(1, &["by the proxy", "it answered 407", "http://user:password@"]);
    proxied.get(&[&asked[..], &[&proxied.clear]].concat()).said(1, &["407"]);
    assert_ne!(proxied.curl(&[&asked[..], &[&proxied.tls]].concat()).code, 0);
    // AllowCONNECT lists one port.
    let proxy = format!("{USER}:{}", proxied.proxy);
    proxied.get(&["--proxy", &proxy, "https://localhost:9/x"]).said(1, &["it answered 403"]);
    let nobody = format!("127.0.0.1:{}", free_port());
    proxied.get(&["--proxy", &nobody, &proxied.tls]).said(1, &["by the proxy", "refused"]);
    let ran = proxied.get(&["--proxy", &proxy, "--http3", &proxied.tls]);
    ran.said(2, &["h3 does not go through the proxy"]);
    let ran = proxied.get(&["--proxy", &proxy, "--http2-prior-knowledge", &proxied.clear]);
    ran.said(2, &["h2 does not go through the proxy"]);
    proxied.end();
}

/// A proxy that answers everything itself, so that its name alone tells whether it was asked. The answers of `wirelap get`
/// and of curl under `variables` to one URL: whether each asked it.
fn both_ask(bench: &Bench, curl: &str, (variables, url): (&[(&str, &str)], &str)) -> [bool; 2] {
    let asked = |program: &str, args: &[&str]| {
        let mut command = bench.command(program);
        for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
            command.env_remove(name).env_remove(name.to_uppercase());
        }
        command.args(args).arg(url).envs(variables.iter().copied());
        bench.start(command).end().out == "hi"
    };
    let ours = ["get", "-s", "-o", "-", "--retry", "0"];
    [asked(env!("CARGO_BIN_EXE_wirelap"), &ours), asked(curl, &["-s", "--max-time", "5"])]
}

#[test]
fn the_variables_of_proxies_are_read_as_curl_reads_them() {
    let Some(curl) = program("curl") else { return };
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
            crate::server::put(&mut stream, answer);
        }
    });
    // Nothing listens there, so that only the proxy can answer.
    let port = free_port();
    let (literal, name) =
        (format!("http://127.0.0.1:{port}/"), format!("http://localhost:{port}/"));
    let proxy = proxy.as_str();
    for (variables, url, expected) in [
        (&[("http_proxy", proxy)][..], &literal, true),
        (&[("HTTP_PROXY", proxy)], &literal, false),
        (&[("all_proxy", proxy)], &literal, true),
        (&[("ALL_PROXY", proxy)], &literal, true),
        (&[("https_proxy", proxy)], &literal, false),
        (&[("http_proxy", ""), ("all_proxy", proxy)], &literal, true),
        (&[("http_proxy", proxy), ("no_proxy", "localhost")], &name, false),
        (&[("http_proxy", proxy), ("no_proxy", ".LOCALHOST")], &name, false),
        (&[("http_proxy", proxy), ("no_proxy", "host")], &name, true),
        (&[("http_proxy", proxy), ("NO_PROXY", "*")], &name, false),
        (&[("http_proxy", proxy), ("no_proxy", "127.0.0.0/8")], &literal, false),
        (&[("http_proxy", proxy), ("no_proxy", "10.0.0.0/8,a b")], &literal, true),
    ] {
        assert_eq!(both_ask(&bench, &curl, (variables, url)), [expected; 2], "{variables:?}");
    }
    let flag = get(&bench, &["-s", "-o", "-", "--proxy", proxy, &name]);
    assert_eq!(flag.out, "hi", "{}", flag.err);
    get(&bench, &["--proxy", "socks5://a:secret@b", &name]).said(2, &["not by socks5"]);
}
