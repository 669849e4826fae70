//! Templates. `{name}` stands for a value, and `{{name}}` for the text `{name}`. Every other brace stands for itself,
//! because configurations are full of them. The one rule: an unknown name is an error.

use super::declaration::{FileTemplate, ServerDeclaration, Way};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use study::experiment::{Contender, Tls};

/// Addresses and files of a server: the values of its templates' names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSite {
    /// Where it listens.
    pub address: SocketAddr,
    /// The name that it is asked for by.
    pub host: String,
    /// The folder of the files that it serves.
    pub root: PathBuf,
    /// The certificate chain in PEM, leaf first.
    pub chain: PathBuf,
    /// The private key in PEM.
    pub key: PathBuf,
    /// Its own folder, for configuration, logs and everything else that it writes.
    pub folder: PathBuf,
}

/// A server ready to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Program and arguments.
    pub command: Vec<String>,
    /// What its environment has besides ours.
    pub environment: Vec<(String, String)>,
    /// Files to be written before the start, with their texts.
    pub files: Vec<(PathBuf, String)>,
    /// Files to be copied before the start: from, to.
    pub copies: Vec<(PathBuf, PathBuf)>,
}

/// How deep values may stand within values.
const DEEPEST: u32 = 8;

impl ServerSite {
    /// For trying templates out.
    pub(super) fn example() -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 80)),
            host: "origin.test".to_owned(),
            root: "/root".into(),
            chain: "/chain.pem".into(),
            key: "/key.pem".into(),
            folder: "/folder".into(),
        }
    }
}

impl ServerDeclaration {
    /// Its templates, expanded for a contender at a site.
    pub fn launch(&self, contender: &Contender, site: &ServerSite) -> Result<Launch, String> {
        expand_all(self, Way::of(contender), site)
    }
}

/// Everything of a declaration, expanded.
pub(super) fn expand_all(
    declaration: &ServerDeclaration,
    way: Way,
    site: &ServerSite,
) -> Result<Launch, String> {
    let values = Values::of(declaration, way, site);
    let command = declaration.command().iter().map(|word| values.expand(word));
    let environment = declaration.environment.iter();
    let environment = environment.map(|(name, text)| Ok((name.clone(), values.expand(text)?)));
    let (mut files, mut copies) = (Vec::new(), Vec::new());
    for FileTemplate { path, text, from } in &declaration.files {
        let path = site.folder.join(path.get_ref());
        match (text, from) {
            (Some(text), _) => files.push((path, values.expand(text)?)),
            (None, Some(from)) => copies.push((declaration.home().join(from.get_ref()), path)),
            (None, None) => {}
        }
    }
    // Values that are not used with this contender may be used with another.
    for value in &declaration.values {
        values.expand(&value.text)?;
    }
    Ok(Launch {
        command: command.collect::<Result<_, _>>()?,
        environment: environment.collect::<Result<_, String>>()?,
        files,
        copies,
    })
}

/// What placeholders stand for.
struct Values {
    /// Taken as they are.
    fixed: BTreeMap<&'static str, String>,
    /// Templates themselves.
    own: BTreeMap<String, String>,
}

impl Values {
    fn of(declaration: &ServerDeclaration, way: Way, site: &ServerSite) -> Self {
        let path = |path: &Path| path.display().to_string();
        let tls = match way.tls {
            Tls::None => "none",
            Tls::V1_2 => "1.2",
            Tls::V1_3 => "1.3",
        };
        let address = match site.address {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        };
        let fixed = [
            ("address", address),
            ("port", site.address.port().to_string()),
            ("host", site.host.clone()),
            ("root", path(&site.root)),
            ("chain", path(&site.chain)),
            ("key", path(&site.key)),
            ("folder", path(&site.folder)),
            ("here", path(declaration.home())),
            ("transport", way.transport.name().to_owned()),
            ("tls", tls.to_owned()),
        ];
        let mut own: BTreeMap<String, String> = BTreeMap::new();
        for value in &declaration.values {
            let chosen = own.entry(value.name.get_ref().clone()).or_default();
            if chosen.is_empty() && value.when.hold(way) {
                chosen.clone_from(&value.text);
            }
        }
        Self { fixed: fixed.into(), own }
    }

    fn expand(&self, template: &str) -> Result<String, String> {
        self.expand_at(template, 0)
    }

    fn expand_at(&self, template: &str, depth: u32) -> Result<String, String> {
        if depth > DEEPEST {
            return Err("a value stands within itself".to_owned());
        }
        let mut out = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(name) = name_within(rest, "{{", "}}") {
                out.push_str(&rest[1..name.len() + 3]);
                rest = &rest[name.len() + 4..];
            } else if let Some(name) = name_within(rest, "{", "}") {
                match (self.fixed.get(name), self.own.get(name)) {
                    (Some(text), _) => out.push_str(text),
                    (None, Some(text)) => out.push_str(&self.expand_at(text, depth + 1)?),
                    (None, None) => return Err(self.unknown(name)),
                }
                rest = &rest[name.len() + 2..];
            } else {
                out.push('{');
                rest = &rest[1..];
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    fn unknown(&self, name: &str) -> String {
        let known = self.fixed.keys().copied().chain(self.own.keys().map(String::as_str));
        let known: Vec<&str> = known.collect();
        format!(
            "nothing is known as `{{{name}}}`; known are {}; write `{{{{{name}}}}}` for the text itself",
            known.join(", ")
        )
    }
}

/// The name at the start of `text`, between these delimiters.
fn name_within<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let inner = text.strip_prefix(open)?;
    let name = &inner[..inner.find(|c: char| !c.is_ascii_lowercase() && c != '_')?];
    (!name.is_empty() && inner[name.len()..].starts_with(close)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        let own = [("listen", "listen {port};"), ("round", "{round}"), ("none", "")];
        Values {
            fixed: [("port", "443".to_owned()), ("root", "/a {port}".to_owned())].into(),
            own: own.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
        }
    }

    #[test]
    fn names_are_replaced_and_other_braces_stay() {
        let expand = |text: &str| values().expand(text);
        assert_eq!(expand("server { {listen} }").as_deref(), Ok("server { listen 443; }"));
        assert_eq!(
            expand("%{ssl}x").unwrap_err().split(';').next(),
            Some("nothing is known as `{ssl}`")
        );
        assert_eq!(expand("%{{ssl}}x {Host} {0} {").as_deref(), Ok("%{ssl}x {Host} {0} {"));
        assert_eq!(expand("{none}{{").as_deref(), Ok("{{"));
        assert_eq!(expand("{root}").as_deref(), Ok("/a {port}"), "a path is taken as it is");
        assert_eq!(expand("{$X} {a.b} {\n}").as_deref(), Ok("{$X} {a.b} {\n}"));
    }

    #[test]
    fn a_value_within_itself_ends() {
        assert!(values().expand("{round}").unwrap_err().contains("within itself"));
    }
}
