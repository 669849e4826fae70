//! Requests of the user's own, to wirelap's servers and to services that already run: a Python program, nginx, and
//! `wirelap serve`, each started by the test and touched by nothing but requests.

use crate::bench::{Bench, Ran, Running, is_spoilt, outcomes, record_of, trials_run_here, wirelap};
use crate::started::started;
use serde_json::Value;
use std::fs;
use testing::peers::{free_port, program};

/// Over a shorter round trip Node, whose first calls are slow, would work for most of the load.
const LINK: &str = "[[links]]\nname = \"rtt=40ms,down=20mbit,up=20mbit\"\n";

fn head(baseline: &str) -> String {
    format!(
        "name = \"own\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"{baseline}\"\ntrials = 1\nwarmup = 0\n\
         timeout = \"20s\"\n"
    )
}

fn contender(name: &str, transport: &str, more: &str) -> String {
    format!("[[contenders]]\nname = \"{name}\"\ntransport = \"{transport}\"\n{more}\n")
}

/// Races into the folder `out`. What is asked here is who was asked for what: a trial that a busy machine spoilt says it too.
fn race(bench: &Bench, what: &str, out: &str, more: &[&str]) -> Ran {
    let ran = bench.run(&[&["race", what, "--out", out], more].concat());
    ran.raced();
    ran
}

/// Every trial in the folder was measured, but for those that others on the machine spoilt.
fn all_sound(bench: &Bench, folder: &str) {
    for (key, outcome, reason) in outcomes(&bench.path(folder)) {
        let spoilt = is_spoilt(&outcome, reason.as_deref());
        assert!(outcome == "measured" || spoilt, "{key}: {outcome}: {reason:?}");
    }
}

/// Outcome and reason of the first trial of a contender; "measured" where nothing but a busy machine was in its way.
fn outcome(bench: &Bench, folder: &str, contender: &str) -> (String, String) {
    let mark = format!("/{contender}/");
    let rows = outcomes(&bench.path(folder));
    let (_, outcome, reason) = rows.into_iter().find(|(key, ..)| key.contains(&mark)).unwrap();
    if is_spoilt(&outcome, reason.as_deref()) {
        return ("measured".to_owned(), String::new());
    }
    (outcome, reason.unwrap_or_default())
}

/// What was asked for, in order, without scheme and host.
fn asked(record: &Value) -> Vec<String> {
    let target = |fetch: &Value| {
        let url = fetch["url"].as_str().unwrap();
        let rest = url.split_once("://").unwrap().1;
        rest[rest.find('/').unwrap()..].to_owned()
    };
    record["fetches"].as_array().unwrap().iter().map(target).collect()
}

/// An API of a few lines; each request goes to the file `asked`.
const SERVICE: &str = r#"
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with open("asked", "a") as log:
            print(self.command, self.path, self.headers["Host"], self.headers.get("X-Own"), body.decode(), file=log, flush=True)
        status = {"/orders": 201, "/gone": 302}.get(self.path, 200)
        said = b"x" * 500
        self.send_response(status)
        if status == 302: self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(said)
    do_GET = do_HEAD = do_POST = do_PUT = answer
    def log_message(self, *words): pass
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Api).serve_forever()
"#;

fn python_service(bench: &Bench) -> Option<(Running, u16)> {
    let python = program("python3")?;
    bench.write("service.py", SERVICE);
    let port = free_port();
    let arguments = ["service.py", &port.to_string()];
    Some((started(bench, (&python, &arguments), port), port))
}

fn end(service: Running) {
    service.signal("TERM");
    service.end();
}

/// Other people's clients that know contract 2.
const CLIENTS: [&str; 4] = ["curl", "node-fetch", "httpx", "go-http"];

#[test]
fn a_service_that_runs_gets_the_users_own_requests_and_what_it_answers_is_judged() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let Some((service, port)) = python_service(&bench) else { return };
    bench.write("order.json", "{\"order\":1}");
    let requests = "[[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 12\nname = \"shop\"\n\
        [[workloads.requests]]\npath = \"/items?page[1-3]=2\"\nheaders = { X-Own = \"mine\" }\nweight = 2\n\
        [[workloads.requests]]\npath = \"/orders\"\nbody_file = \"order.json\"\nstatus = 201\n\
        [[workloads.requests]]\npath = \"/gone\"\nstatus = 302\n";
    let server = format!("server = {{ at = \"127.0.0.1:{port}\", name = \"shop.test\" }}\n");
    bench.write(
        "own.toml",
        head("h1")
            + &server
            + requests
            + &contender("h1", "http/1.1", "")
            + &contender("one", "http/1.1", "settings = { connections = 1, keep_alive = false }")
            + &CLIENTS
                .map(|name| contender(name, "http/1.1", &format!("client = \"{name}\"")))
                .concat()
            + LINK,
    );
    race(&bench, "own.toml", "run", &[]);
    all_sound(&bench, "run");
    let own = record_of(&bench.path("run"), "h1");
    assert_eq!(asked(&own).len(), 12);
    for name in ["one"].into_iter().chain(CLIENTS) {
        assert_eq!(
            asked(&record_of(&bench.path("run"), name)),
            asked(&own),
            "{name}: another sequence"
        );
    }
    assert_eq!(own["settings"]["server version"], "not known");
    assert_eq!(own["settings"]["server at"], format!("127.0.0.1:{port}"));
    assert_eq!(own["metrics"].get("server_cpu_ms"), None, "what a relay used is no server's");
    let log = fs::read_to_string(bench.path("asked")).unwrap();
    for line in [
        "GET /items?page[1-3]=2 shop.test mine ",
        "POST /orders shop.test None {\"order\":1}",
        "GET /gone shop.test None ",
    ] {
        assert!(log.lines().any(|said| said == line), "no {line:?} in {log}");
    }
    assert!(!log.contains("/elsewhere"), "a redirect was followed");
    // One request before the race, and 12 in each trial.
    assert_eq!(log.lines().count() % 12, 1, "{log}");
    let told = bench.run(&["report", "run"]);
    for words in
        ["version, its settings and its processor time are not known", "POST /orders may change"]
    {
        let flat = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "no {words:?} in {}", told.out);
    }
    let page = fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(page.contains("a service that already runs"));
    end(service);
    assert_eq!(bench.alive(), [], "something is left");
}

/// Header fields are ASCII to it.
#[test]
fn httpx_is_answered_as_http_1_0_and_tells_what_it_cannot_send_as_that_fetchs_error() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let Some(python) = program("python3") else { return };
    let port = free_port();
    bench.write("small", "small");
    let serve = ["-m", "http.server", "-b", "127.0.0.1", &port.to_string()];
    let service = started(&bench, (&python, &serve), port);
    let httpx = contender("httpx", "http/1.1", "tls = \"none\"\nclient = \"httpx\"");
    let server = format!("server = {{ at = \"127.0.0.1:{port}\", name = \"shop.test\" }}\n");
    for (folder, headers) in [("plain", ""), ("accented", "headers = { X-Say = \"日本\" }\n")] {
        let requests = format!(
            "[[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 2\n\
             [[workloads.requests]]\npath = \"/small\"\n{headers}"
        );
        bench.write("own.toml", head("httpx") + &server + &requests + &httpx + LINK);
        race(&bench, "own.toml", folder, &[]);
    }
    all_sound(&bench, "plain");
    let (outcome, reason) = outcome(&bench, "accented", "httpx");
    assert_eq!(outcome, "failed", "{reason}");
    assert!(reason.contains("2 of 2 fetches failed") && reason.contains("ascii"), "{reason}");
    end(service);
}

#[test]
fn a_client_that_does_not_tell_of_a_redirect_does_not_follow_it_either() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let Some((service, port)) = python_service(&bench) else { return };
    let clients = [
        ("wget", "wget", "0 redirections exceeded"),
        ("chromium", "chromium-headless-shell", "the answer is a redirect"),
        ("firefox", "firefox-esr", "the answer is a redirect"),
    ];
    if clients.iter().any(|(_, needs, _)| program(needs).is_none()) {
        return;
    }
    let contenders = clients.map(|(name, ..)| {
        contender(name, "http/1.1", &format!("tls = \"none\"\nclient = \"{name}\""))
    });
    let server = format!("server = {{ at = \"127.0.0.1:{port}\", name = \"shop.test\" }}\n");
    let requests = "[[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 2\n\
        requests = [{ path = \"/gone\", status = 302 }]\n";
    bench.write("own.toml", head("wget") + &server + requests + &contenders.concat() + LINK);
    race(&bench, "own.toml", "run", &[]);
    for (name, _, words) in clients {
        let (outcome, reason) = outcome(&bench, "run", name);
        assert_eq!(outcome, "failed", "{name}: {reason}");
        assert!(reason.contains(words), "{name}: {reason}");
    }
    let log = fs::read_to_string(bench.path("asked")).unwrap();
    assert!(log.contains("GET /gone shop.test") && !log.contains("/elsewhere"), "{log}");
    end(service);
}

#[test]
fn an_answer_with_another_status_is_a_failed_call_told_with_method_path_and_status() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let Some((service, port)) = python_service(&bench) else { return };
    bench.write(
        "requests.toml",
        "[[request]]\nurl = \"http://shop.test/orders\"\nmethod = \"PUT\"\nstatus = 200\n",
    );
    bench.write(
        "own.toml",
        head("h1")
            + "[[workloads]]\nkind = \"calls\"\npattern = \"parallel\"\ncount = 3\nrequests = \"requests.toml\"\n"
            + &contender("h1", "http/1.1", &format!("server = {{ at = \"127.0.0.1:{port}\", name = \"shop.test\" }}"))
            + &contender("curl", "http/1.1", &format!("client = \"curl\"\nserver = {{ at = \"127.0.0.1:{port}\", name = \"shop.test\" }}"))
            + LINK,
    );
    let ran = bench.run(&["race", "own.toml", "--out", "run", "--trials", "6"]);
    assert!(ran.err.contains("PUT /orders may change the service's state"), "{ran:?}");
    let words = "PUT /orders was answered with status 201, and 200 was expected";
    for name in ["h1", "curl"] {
        let (outcome, reason) = outcome(&bench, "run", name);
        assert_eq!(outcome, "failed", "{name}: {reason}");
        assert!(reason.contains(words), "{name}: {reason}");
    }
    // Told at the first trial of each contender and not at every one, also where no bar is drawn.
    assert_eq!(ran.err.matches("\nfailed parallel-3x").count(), 2, "{ran:?}");
    let ended = "every trial of the first 4 blocks failed; the other 4 trials would fail too and do not run";
    assert!(ran.err.contains(ended), "{ran:?}");
    end(service);
}

#[test]
fn every_transport_of_calls_carries_bodies_to_a_service_and_back() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("www")).unwrap();
    let [clear, tls] = [free_port(), free_port()];
    let (clear_at, tls_at) = (format!("127.0.0.1:{clear}"), format!("127.0.0.1:{tls}"));
    let serve = [
        "serve",
        "www",
        "--spdy",
        "--threads",
        "1",
        "--listen",
        &clear_at,
        "--listen-tls",
        &tls_at,
        "--ca-out",
        "ca.pem",
        "--name",
        "shop.test",
    ];
    let service = started(&bench, (wirelap().to_str().unwrap(), &serve), tls);
    let requests = "[[workloads]]\nkind = \"calls\"\npattern = \"parallel\"\ncount = 8\n\
        requests = [{ path = \"/echo\", body = \"said and heard\" }, { path = \"/api?bytes=3000\" }]\n";
    let secure =
        format!("server = {{ at = \"https://{tls_at}\", name = \"shop.test\", ca = \"ca.pem\" }}");
    let plain = format!("server = {{ at = \"http://{clear_at}\" }}");
    let ways = [
        ("h1", "http/1.1", &plain),
        ("h1-tls", "http/1.1", &secure),
        ("h2", "h2", &secure),
        ("h2-clear", "h2", &plain),
        ("spdy", "spdy/3.1", &secure),
        ("spdy-clear", "spdy/3.1", &plain),
    ];
    let contenders: String =
        ways.iter().map(|(name, transport, server)| contender(name, transport, server)).collect();
    let others = CLIENTS.map(|client| {
        let more = format!("{secure}\nclient = \"{client}\"");
        contender(&format!("{client}-h2"), "h2", &more)
    });
    let contenders = contenders + &others.concat();
    bench.write(
        "own.toml",
        head("h1") + requests + &contenders + LINK + "[[links]]\nname = \"none\"\n",
    );
    race(&bench, "own.toml", "run", &[]);
    all_sound(&bench, "run");
    let own = asked(&record_of(&bench.path("run"), "h1"));
    assert!(own.iter().any(|path| path == "/echo") && own.iter().any(|path| path != "/echo"));
    let others = CLIENTS.map(|client| (format!("{client}-h2"), "h2"));
    let ours = ways.map(|(name, transport, _)| (name.to_owned(), transport));
    for (name, transport) in ours.into_iter().chain(others) {
        let row = record_of(&bench.path("run"), &name);
        assert_eq!(asked(&row), own, "{name}");
        for fetch in row["fetches"].as_array().unwrap() {
            let bytes = if fetch["url"].as_str().unwrap().ends_with("/echo") { 14 } else { 3000 };
            assert_eq!(fetch["body_bytes"], bytes, "{name}");
            // Node's fetch does not say what it spoke; the server's log vouches for it then.
            let is_silent = name.starts_with("node-fetch") && fetch["protocol"] == "";
            assert!(is_silent || fetch["protocol"] == transport, "{name}: {fetch}");
        }
    }
    end(service);
    assert_eq!(bench.alive(), [], "something is left");
}

/// nginx with TLS for shop.test, and the authority in `ca.pem`.
fn nginx_service(bench: &Bench, versions: &str) -> Option<(Running, u16)> {
    let nginx = program("nginx")?;
    let authority = secure::Authority::new(secure::AuthoritySpec::default()).unwrap();
    let identity = authority.issue(&["shop.test"]).unwrap();
    bench.write("cert.pem", identity.chain_pem());
    bench.write("key.pem", identity.key_pem());
    bench.write("ca.pem", &authority.root_pem().text);
    let (port, folder) = (free_port(), bench.folder.display());
    bench.write(
        "nginx.conf",
        format!(
            "daemon off; master_process off; pid {folder}/pid; error_log {folder}/error;
        events {{}}
        http {{ access_log {folder}/access; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;
          fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
          ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; ssl_protocols {versions};
          server {{ listen 127.0.0.1:{port} ssl http2; server_name shop.test;
            location /api/items {{ return 200 '[1, 2, 3]'; }} location / {{ return 404; }} }} }}"
        ),
    );
    let config = bench.path("nginx.conf").display().to_string();
    Some((started(bench, (&nginx, &["-e", "/dev/null", "-c", &config]), port), port))
}

#[test]
fn one_command_races_h1_against_h2_at_a_url_of_this_machine() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let Some((service, port)) = nginx_service(&bench, "TLSv1.2 TLSv1.3") else { return };
    let url = format!("https://127.0.0.1:{port}/api/items");
    let link = "rtt=10ms,down=20mbit,up=20mbit";
    let more = [
        "--server-name",
        "shop.test",
        "--cacert",
        "ca.pem",
        "-n",
        "4",
        "--contenders",
        "h1,h2",
        "--links",
        link,
        "--trials",
        "1",
    ];
    race(&bench, &url, "run", &more);
    all_sound(&bench, "run");
    let result: Value =
        serde_json::from_slice(&fs::read(bench.path("run/result.json")).unwrap()).unwrap();
    let workloads: Vec<&str> = result["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["workload"]["name"].as_str().unwrap())
        .collect();
    for name in ["serial-4xGET-api-items", "parallel-4xGET-api-items"] {
        assert_eq!(workloads.iter().filter(|one| **one == name).count(), 2, "{workloads:?}");
    }
    bench.run(&["race", "--again", "run", "--out", "again"]).raced();
    // Each fault is told before a folder is made, with what mends it.
    let fails = |args: &[&str], words: &[&str]| -> Ran {
        let ran = bench.run(&[&["race"], args, &["--out", "none"]].concat());
        ran.said(2, words);
        assert!(!bench.path("none").exists(), "{args:?}");
        ran
    };
    let trusted = ["--cacert", "ca.pem", "--server-name", "shop.test"];
    fails(
        &[&url, "--cacert", "ca.pem", "--server-name", "other.test"],
        &["h1 cannot ask the service", "other.test", "--server-name"],
    );
    fails(&[&url, "--server-name", "shop.test"], &["no secured connection", "--cacert"]);
    let clear = url.replace("https", "http");
    fails(
        &[&clear, "--server-name", "shop.test", "--contenders", "h1"],
        &["status 400", "h1 cannot ask"],
    );
    let missing = url.replace("items", "nothing").replace("/api", "");
    fails(
        &[&[missing.as_str()], &trusted[..]].concat(),
        &[
            "GET /nothing was answered with status 404, and 2xx was expected",
            "as the request's `status`",
        ],
    );
    fails(
        &[&[url.as_str(), "--contenders", "spdy"], &trusted[..]].concat(),
        &["spdy cannot ask the service"],
    );
    fails(&["http://127.0.0.1:1/"], &["127.0.0.1:1 cannot be reached", "start it"]);
    fails(&["https://example.org/"], &["wirelap race FILE.har"]);
    end(service);
}

#[test]
fn a_clear_service_without_h2_is_told_with_the_way_out() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let Some((service, port)) = python_service(&bench) else { return };
    let url = format!("http://127.0.0.1:{port}/items");
    let ran = bench.run(&["race", &url, "--contenders", "h1,h2", "--links", "4g", "--out", "none"]);
    ran.said(
        2,
        &["h2 cannot ask the service at 127.0.0.1", "few do", "https://", "--contenders h1"],
    );
    let https = format!("https://127.0.0.1:{port}/items");
    bench
        .run(&["race", &https, "-k", "--out", "none"])
        .said(2, &["no secured connection", "speaks TLS"]);
    assert!(!bench.path("none").exists());
    end(service);
}

#[test]
fn ones_own_requests_are_answered_by_the_origin_and_by_declared_servers_with_bytes() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let requests = |list: &str| {
        format!(
            "[[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 6\nbytes = \"3kB\"\nrequests = [{list}]\n"
        )
    };
    let contenders = contender("origin", "http/1.1", "")
        + &contender("origin-h2", "h2", "")
        + &contender("nginx", "http/1.1", "server = \"nginx\"");
    let gets = "{ path = \"/api/items?page=1\", headers = { Cookie = \"a=1\" } }, { path = \"/api/users/7\" }";
    bench.write("gets.toml", head("origin") + &requests(gets) + &contenders + LINK);
    race(&bench, "gets.toml", "run", &[]);
    let own = record_of(&bench.path("run"), "origin");
    assert!(own["fetches"].as_array().unwrap().iter().all(|fetch| fetch["body_bytes"] == 3000));
    for name in ["origin", "origin-h2", "nginx"] {
        let (outcome, reason) = outcome(&bench, "run", name);
        if outcome == "unsupported" {
            testing::skip(format!("{name}: {reason}"));
            continue;
        }
        assert_eq!(outcome, "measured", "{name}: {reason}");
        assert_eq!(asked(&record_of(&bench.path("run"), name)), asked(&own));
    }
    let posts = "{ path = \"/orders\", body = \"x\", status = 201 }, { path = \"/orders\", method = \"HEAD\" }";
    bench.write("posts.toml", head("origin") + &requests(posts) + &contenders + LINK);
    race(&bench, "posts.toml", "posts", &[]);
    for name in ["origin", "origin-h2"] {
        let (outcome, reason) = outcome(&bench, "posts", name);
        assert_eq!(outcome, "measured", "{name}: {reason}");
    }
    let (outcome, reason) = outcome(&bench, "posts", "nginx");
    assert_eq!(outcome, "unsupported");
    assert!(reason.contains("answered by a program") || reason.contains("not"), "{reason}");
}

#[test]
fn what_is_wrong_with_requests_or_services_is_told_with_its_place_before_anything_runs() {
    let bench = Bench::new();
    let workload = |requests: &str| {
        format!("[[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 2\n{requests}\n")
    };
    let served = contender("h1", "http/1.1", "server = { at = \"127.0.0.1:1\" }");
    let good = workload("requests = [{ path = \"/\" }]");
    let wrong: Vec<(String, String, &[&str])> = vec![
        (
            workload("requests = [{ pth = \"/\" }]"),
            served.clone(),
            &["line", "unknown field `pth`", "path"],
        ),
        (
            workload("requests = [{ path = \"/\", method = \"G T\" }]"),
            served.clone(),
            &["line", "`G T` is no method"],
        ),
        (
            workload("requests = [{ path = \"/\", body_file = \"gone\" }]"),
            served.clone(),
            &["gone", "No such file"],
        ),
        (workload("requests = \"gone.toml\""), served.clone(), &["gone.toml", "No such file"]),
        (workload("requests = []"), served.clone(), &["line", "at least one"]),
        (
            workload("requests = [{ path = \"/\" }]\nserver_time = \"5ms\""),
            served.clone(),
            &["line", "`server_time`"],
        ),
        (workload("bytes = 5"), served.clone(), &["line", "answers `calls` with `requests`"]),
        (good.clone(), contender("h1", "http/1.1", ""), &["line", "needs `bytes`"]),
        (
            good.clone(),
            contender("h1", "http/1.1", "server = { at = \"shop.test:80\" }"),
            &["line", "give the address"],
        ),
        (
            good.clone(),
            contender("h1", "http/1.1", "server = { att = \"127.0.0.1:1\" }"),
            &["line", "unknown field `att`"],
        ),
        (
            good.clone(),
            contender("h1", "h3", "client = \"curl\"\nserver = { at = \"127.0.0.1:1\" }"),
            &["line", "`h3` is over UDP"],
        ),
        (
            good.clone(),
            contender("h1", "http/1.1", "server = { at = \"http://127.0.0.1:1\" }\ntls = \"1.3\""),
            &["line", "different things"],
        ),
        (
            good.clone(),
            contender(
                "h1",
                "http/1.1",
                "tls = \"1.3\"\nserver = { at = \"127.0.0.1:1\", ca = \"gone.pem\" }",
            ),
            &["gone.pem"],
        ),
        (
            good.clone(),
            contender(
                "h1",
                "http/1.1",
                "server = { at = \"127.0.0.1:1\" }\nsettings = { server_nodelay = false }",
            ),
            &["line", "runs already"],
        ),
        (good, served, &["127.0.0.1:1 cannot be reached"]),
    ];
    for (workload, contender, words) in wrong {
        bench.write("own.toml", head("h1") + &workload + &contender + LINK);
        bench.run(&["race", "own.toml", "--out", "none"]).said(2, words);
        assert!(!bench.path("none").exists(), "{workload}{contender}");
    }
}
