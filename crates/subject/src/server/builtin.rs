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
];

/// The files that they name by `from`.
const COMPANIONS: &[(&str, &str)] = &[(
    "../adapters/node/spdy-server.js",
    include_str!("../../../../adapters/node/spdy-server.js"),
)];

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

    #[test]
    fn every_built_in_declaration_reads_and_has_its_companions() {
        let servers = builtin_servers();
        for text in DECLARATIONS {
            ServerDeclaration::read(text, Path::new("")).unwrap();
        }
        let names: Vec<&str> = servers.iter().map(ServerDeclaration::name).collect();
        assert_eq!(names, ["nginx", "h2o", "caddy", "apache", "haproxy", "node-spdy"]);
        for server in &servers {
            assert!(!server.remedy().is_empty(), "{} has no remedy", server.name());
            let missing = server.companions().find(|path| companion(Path::new(path)).is_none());
            assert_eq!(missing, None, "{}", server.name());
        }
    }
}
