//! What a browser needs of a server besides bytes: media types, `Alt-Svc` over HTTP/3, and leave to keep what it was given.

use crate::bench::{Bench, trials_run_here};
use crate::http3::path_of_current_releases;
use crate::servers::{HEAD, PAGE, contender, outcome};
use std::fs;
use std::process::Command;

/// A client that is none: it says which media types it is given, in the reason why it does not do its work.
const TYPES: &str = r#"
import http.client, json, ssl, sys
from urllib.parse import urlsplit
tls, told = ssl._create_unverified_context(), {}
for fetch in json.load(sys.stdin)["fetches"]:
    url = urlsplit(fetch["url"])
    asked = http.client.HTTPSConnection(url.netloc, context=tls)
    asked.request("GET", url.path + "?" + url.query)
    given = asked.getresponse().getheader("content-type") or "nothing"
    told[url.path.split("/")[1]] = given.split(";")[0].replace("application/javascript", "text/javascript")
    asked.close()
reason = " ".join(f"{name}={told[name]}" for name in sorted(told))
print(json.dumps({"event": "unsupported", "reason": reason}))
sys.exit(127)
"#;

#[test]
fn every_server_gives_the_media_types_by_which_a_browser_takes_a_page() {
    if !trials_run_here() {
        return;
    }
    if Command::new("python3").arg("--version").output().is_err() {
        return testing::skip("python3 is not installed");
    }
    let bench = Bench::new();
    fs::create_dir_all(bench.path("subjects")).unwrap();
    bench.write("subjects/types.py", TYPES);
    bench.write(
        "subjects/types.toml",
        "name = \"types\"\nrole = \"client\"\ncommand = [\"python3\", \"{here}/types.py\"]\n\
         transports = [\"http/1.1\"]\nworkloads = [\"page\"]\n",
    );
    let servers = ["origin", "nginx", "h2o", "caddy", "apache", "node-spdy"];
    let asking = |server: &str| {
        contender(&format!("asked-{server}"), server, "http/1.1", "1.3") + "client = \"types\"\n"
    };
    let asked: String = servers.iter().map(|server| asking(server)).collect();
    let parts = "css = 1\nscripts = 1\nfonts = 1\nhero = \"60kB\"\n";
    for (run, parts, types) in [
        (
            "parts",
            parts,
            "font=font/woff2 page=text/html picture=image/png script=text/javascript style=text/css",
        ),
        ("plain", "", "image=image/png page=text/html"),
    ] {
        bench.write("types.toml", format!("{HEAD}{PAGE}{parts}{asked}"));
        bench.run(&["race", "types.toml", "--out", run]);
        for server in servers {
            let (_, told) = outcome(&bench, run, &format!("asked-{server}"));
            assert!(told.ends_with(types), "{server}: {told}");
        }
    }
}

/// A client that is none, and asks by curl: it says what it is told of HTTP/3 and of keeping what it is given.
const CARING: &str = r#"
import json, subprocess, sys
job, told = json.load(sys.stdin), {}
way = "--http3-only" if job["transport"] == "h3" else "--http2"
for fetch in job["fetches"]:
    ask = ["curl", way, "-sS", "--cacert", job["trust"], "-D", "-", "-o", "/dev/null", fetch["url"]]
    heads = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.lower()
    fields = dict(line.split(": ", 1) for line in heads.splitlines() if ": " in line)
    name = fetch["url"].split("/")[3].split("?")[0]
    told[name] = (fields.get("alt-svc", "no"), fields.get("cache-control", "no"))
reason = " ".join(f"{name}: {offer}, {keep}." for name, (offer, keep) in sorted(told.items()))
print(json.dumps({"event": "unsupported", "reason": reason}))
sys.exit(127)
"#;

#[test]
fn other_peoples_clients_hear_of_http3_over_it_and_may_keep_what_a_page_loads() {
    if !trials_run_here() {
        return;
    }
    let Some(path) = path_of_current_releases() else {
        return testing::skip("nginx and curl with HTTP/3 are not installed: ./peers install");
    };
    let bench = Bench::new();
    fs::create_dir_all(bench.path("subjects")).unwrap();
    bench.write("subjects/caring.py", CARING);
    bench.write(
        "subjects/caring.toml",
        "name = \"caring\"\nrole = \"client\"\ncommand = [\"python3\", \"{here}/caring.py\"]\n\
         transports = [\"h2\", \"h3\"]\nworkloads = [\"page\"]\n",
    );
    let cases = [("origin", "h3"), ("origin", "h2"), ("nginx", "h3"), ("nginx", "h2")];
    let asking = |(server, transport): &(&str, &str)| {
        contender(&format!("{server}-{transport}"), server, transport, "1.3")
            + "client = \"caring\"\n"
    };
    let asked: String = cases.iter().map(asking).collect();
    bench.write("caring.toml", format!("{HEAD}{PAGE}css = 1\n{asked}"));
    let mut race = bench.wirelap(&["race", "caring.toml", "--out", "run"]);
    race.env("PATH", path);
    bench.start(race).end();
    for (server, transport) in cases {
        let (_, told) = outcome(&bench, "run", &format!("{server}-{transport}"));
        let offer = if transport == "h3" { "h3=\":443\"; ma=86400" } else { "no" };
        for said in [
            format!("page: {offer}, no."),
            format!("picture: {offer}, max-age=3600."),
            format!("style: {offer}, max-age=3600."),
        ] {
            assert!(told.contains(&said), "{server} over {transport}: {told}, not {said}");
        }
    }
}
