//! The built-in servers: the files of `subjects/` and the files beside them.

use super::declaration::ServerDeclaration;
use std::path::Path;

/// Their declarations, by file name.
const DECLARATIONS: &[&str] = &[
    include_str!("../../../../subjects/nginx.toml"),
    include_str!("../../../../subjects/h2o.toml"),
    include_str!("../../../../subjects/caddy.toml"),
    include_str!("../../../../subjects/apache.toml"),
    include_str!("../../../../subjects/haproxy.toml"),
    include_str!("../../../../subjects/node-spdy.toml"),
    include_str!("../../../../subjects/node-ws.toml"),
    include_str!("../../../../subjects/python-websockets.toml"),
    include_str!("../../../../subjects/jetty-12-server.toml"),
];

/// The files that they name by `from`.
const COMPANIONS: &[(&str, &str)] = &[
    ("../adapters/node/spdy-server.js", include_str!("../../../../adapters/node/spdy-server.js")),
    ("../adapters/node/ws-server.js", include_str!("../../../../adapters/node/ws-server.js")),
    (
        "../adapters/python/websockets_server.py",
        include_str!("../../../../adapters/python/websockets_server.py"),
    ),
];

/// The built-in servers, by name.
pub fn builtin_servers() -> Vec<ServerDeclaration> {
    let read = |text: &&str| ServerDeclaration::read(text, Path::new("")).ok();
    DECLARATIONS.iter().filter_map(read).collect()
}

/// The text of a file that a built-in declaration refers to.
pub(super) fn companion(path: &Path) -> Option<&'static str> {
    let found = COMPANIONS.iter().find(|(name, _)| Path::new(name) == path);
    found.map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::ServerSite;
    use study::experiment::Experiment;

    /// Chromium treats HTTP/3 as HTTP/1.1 until it is offered it, and fetches twice what it cannot keep.
    #[test]
    fn nginx_tells_other_peoples_clients_of_http3_and_that_they_may_keep_what_a_page_loads() {
        let servers = builtin_servers();
        let nginx = servers.iter().find(|server| server.name() == "nginx").unwrap();
        let configured = |contender: &str, recorded| {
            let text = format!(
                "name = \"e\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"c\"\n\
                 [[contenders]]\nname = \"c\"\n{contender}\n\
                 [[workloads]]\nkind = \"page\"\nimages = 1\nbytes = 1\n[[links]]\nname = \"lan\"\n"
            );
            let experiment: Experiment = text.parse().unwrap();
            let site = ServerSite::example(recorded);
            nginx.launch(&experiment.contenders[0], &site).unwrap().files[0].1.clone()
        };
        let offer = "add_header Alt-Svc 'h3=\":80\"; ma=86400' always;";
        for (contender, recorded, offers, keeps) in [
            ("transport = \"h3\"\nclient = \"curl\"", false, true, true),
            ("transport = \"h3\"\nclient = \"curl\"", true, true, false),
            ("transport = \"h2\"\nclient = \"curl\"", false, false, true),
            ("transport = \"h3\"", false, false, false),
        ] {
            let text = configured(contender, recorded);
            assert_eq!(text.contains(offer), offers, "{contender}: {text}");
            assert_eq!(text.contains("expires 1h;"), keeps, "{contender}: {text}");
        }
    }

    #[test]
    fn every_built_in_declaration_reads_and_has_its_companions() {
        let servers = builtin_servers();
        for text in DECLARATIONS {
            ServerDeclaration::read(text, Path::new("")).unwrap();
        }
        let names: Vec<&str> = servers.iter().map(ServerDeclaration::name).collect();
        assert_eq!(
            names,
            [
                "nginx",
                "h2o",
                "caddy",
                "apache",
                "haproxy",
                "node-spdy",
                "node-ws",
                "python-websockets",
                "jetty-12-server"
            ]
        );
        for server in &servers {
            assert!(!server.remedy().is_empty(), "{} has no remedy", server.name());
            let missing = server.companions().find(|path| companion(Path::new(path)).is_none());
            assert_eq!(missing, None, "{}", server.name());
        }
    }
}
