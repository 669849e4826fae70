//! What a browser needs of a server besides bytes: media types by which it takes them for what they are.

use crate::bench::{Bench, trials_run_here};
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
        ("noise", "", "image=image/avif page=text/html"),
    ] {
        bench.write("types.toml", format!("{HEAD}{PAGE}{parts}{asked}"));
        bench.run(&["race", "types.toml", "--out", run]);
        for server in servers {
            let (_, told) = outcome(&bench, run, &format!("asked-{server}"));
            assert!(told.ends_with(types), "{server}: {told}");
        }
    }
}
