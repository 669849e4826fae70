//! What the names in a server's templates stand for.

use super::declaration::{EachOf, EachTemplate, FileTemplate, ServerDeclaration, Way};
use crate::template;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use study::experiment::{Contender, Tls};

/// Addresses and files of a server: the values of its templates' names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSite {
    /// What it serves first, which is all but where a page was recorded.
    pub host: HostSite,
    /// Its other hosts.
    pub other_hosts: Vec<HostSite>,
    /// Who answers what files cannot, by HTTP/1.1 without TLS; None where files are enough.
    pub upstream: Option<SocketAddr>,
    /// Whether it serves a recorded page.
    pub is_recorded: bool,
    /// A folder of its own, for configuration, logs and what else it keeps.
    pub folder: PathBuf,
}

/// One host at one of its ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSite {
    /// The name that it is asked for by.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// The folder of the files that it serves.
    pub root: PathBuf,
    /// The certificate chain in PEM, leaf first.
    pub chain: PathBuf,
    /// The private key in PEM.
    pub key: PathBuf,
    /// Those of its files that stand at a path of their own; none: all of `root`, by their names.
    pub files: Vec<RecordedFile>,
}

/// A file that answers a recorded path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFile {
    /// What is asked for, without a query: letters, digits and `-._~/` alone.
    pub path: String,
    /// Its media type.
    pub content_type: String,
    /// Its name in the host's `root`.
    pub name: String,
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
    /// All hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &HostSite> {
        std::iter::once(&self.host).chain(&self.other_hosts)
    }

    /// For trying templates out.
    pub(super) fn example(recorded: bool) -> Self {
        let file = RecordedFile {
            path: "/a.png".to_owned(),
            content_type: "image/png".to_owned(),
            name: "0".to_owned(),
        };
        let host = HostSite {
            name: "origin.test".to_owned(),
            address: SocketAddr::from(([127, 0, 0, 1], 80)),
            root: "/root".into(),
            chain: "/chain.pem".into(),
            key: "/key.pem".into(),
            files: if recorded { vec![file] } else { Vec::new() },
        };
        Self {
            host,
            other_hosts: Vec::new(),
            upstream: Some(SocketAddr::from(([127, 0, 0, 1], 8080))),
            is_recorded: recorded,
            folder: "/folder".into(),
        }
    }
}

impl ServerDeclaration {
    /// Its templates, expanded for a contender at a site.
    pub fn launch(&self, contender: &Contender, site: &ServerSite) -> Result<Launch, String> {
        expand_all(self, Way::of(contender, site.is_recorded), site)
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
        values.expand_somewhere(&value.text)?;
    }
    for each in &declaration.each {
        values.expand_somewhere(&format!("{{{}}}", each.name.get_ref()))?;
    }
    Ok(Launch {
        command: command.collect::<Result<_, _>>()?,
        environment: environment.collect::<Result<_, String>>()?,
        files,
        copies,
    })
}

/// What placeholders stand for.
struct Values<'a> {
    site: &'a ServerSite,
    /// Taken as they are.
    fixed: BTreeMap<&'static str, String>,
    /// Templates themselves.
    own: BTreeMap<&'a str, Own<'a>>,
}

/// A placeholder of a declaration's own.
#[derive(Clone, Copy)]
enum Own<'a> {
    Text(&'a str),
    Each(&'a EachTemplate),
}

/// What a template is expanded for: within an `[[each]]`, one host and one of its files.
#[derive(Clone, Copy)]
struct Scope<'a> {
    host: &'a HostSite,
    number: usize,
    file: Option<&'a RecordedFile>,
    depth: u32,
}

impl<'a> Values<'a> {
    fn of(declaration: &'a ServerDeclaration, way: Way, site: &'a ServerSite) -> Self {
        let tls = match way.tls {
            Tls::None => "none",
            Tls::V1_2 => "1.2",
            Tls::V1_3 => "1.3",
        };
        let fixed = [
            ("folder", shown(&site.folder)),
            ("here", shown(declaration.home())),
            ("transport", way.transport.name().to_owned()),
            ("tls", tls.to_owned()),
            ("upstream", site.upstream.map_or_else(String::new, |address| address.to_string())),
        ];
        let mut own: BTreeMap<&str, Own<'_>> = BTreeMap::new();
        for value in &declaration.values {
            let chosen = own.entry(value.name.get_ref()).or_insert(Own::Text(""));
            if matches!(chosen, Own::Text("")) && value.when.hold(way) {
                *chosen = Own::Text(&value.text);
            }
        }
        own.extend(declaration.each.iter().map(|each| (&**each.name.get_ref(), Own::Each(each))));
        Self { site, fixed: fixed.into(), own }
    }

    fn expand(&self, template: &str) -> Result<String, String> {
        self.expand_in(template, Scope { host: &self.site.host, number: 0, file: None, depth: 0 })
    }

    /// Expands what may stand within an `[[each]]` alone.
    fn expand_somewhere(&self, template: &str) -> Result<String, String> {
        let file = self.site.host.files.first();
        self.expand_in(template, Scope { host: &self.site.host, number: 0, file, depth: 0 })
    }

    fn expand_in(&self, template: &str, scope: Scope<'_>) -> Result<String, String> {
        if scope.depth > DEEPEST {
            return Err("a value stands within itself".to_owned());
        }
        template::expand(template, |_, name| self.value(name, scope).map(Some))
    }

    fn value(&self, name: &str, scope: Scope<'_>) -> Result<String, String> {
        if let Some(text) = scope.value(name) {
            return Ok(text);
        }
        if let Some(text) = self.fixed.get(name) {
            return Ok(text.clone());
        }
        let within = Scope { depth: scope.depth + 1, ..scope };
        match self.own.get(name) {
            Some(Own::Text(text)) => self.expand_in(text, within),
            Some(Own::Each(each)) => {
                let pieces: Result<Vec<String>, String> = match each.of {
                    EachOf::Host => (0..)
                        .zip(self.site.hosts())
                        .map(|(number, host)| {
                            self.expand_in(&each.text, Scope { host, number, file: None, ..within })
                        })
                        .collect(),
                    EachOf::File => {
                        let files = scope.host.files.iter();
                        files
                            .map(|file| {
                                self.expand_in(&each.text, Scope { file: Some(file), ..within })
                            })
                            .collect()
                    }
                };
                Ok(pieces?.join(&each.between))
            }
            None => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let known = OF_A_HOST.into_iter().chain(self.fixed.keys().copied());
        template::unknown(name, known.chain(self.own.keys().copied()))
    }
}

/// The placeholders of a host, known everywhere.
const OF_A_HOST: [&str; 7] = ["address", "chain", "host", "key", "number", "port", "root"];

/// Whether a placeholder has a meaning of wirelap's own.
pub(super) fn is_taken(name: &str) -> bool {
    const OTHERS: [&str; 8] =
        ["file", "folder", "here", "path", "tls", "transport", "type", "upstream"];
    OF_A_HOST.contains(&name) || OTHERS.contains(&name)
}

impl Scope<'_> {
    fn value(&self, name: &str) -> Option<String> {
        let address = self.host.address;
        Some(match name {
            "address" => match address {
                SocketAddr::V4(address) => address.ip().to_string(),
                SocketAddr::V6(address) => format!("[{}]", address.ip()),
            },
            "port" => address.port().to_string(),
            "host" => self.host.name.clone(),
            "root" => shown(&self.host.root),
            "chain" => shown(&self.host.chain),
            "key" => shown(&self.host.key),
            "number" => self.number.to_string(),
            "path" => self.file?.path.clone(),
            "type" => self.file?.content_type.clone(),
            "file" => self.file?.name.clone(),
            _ => return None,
        })
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expands `template` for the example, with these values of the declaration's own.
    fn expand(template: &str) -> Result<String, String> {
        let declaration = ServerDeclaration::read(
            "name = \"t\"\nrole = \"server\"\ncommand = [\"t\"]\nclear = [\"http/1.1\"]\n\
             [[values]]\nname = \"listen\"\ntext = \"listen {port};\"\n\
             [[values]]\nname = \"none\"\ntext = \"\"\n\
             [[each]]\nname = \"sites\"\nof = \"host\"\nbetween = \" | \"\ntext = \"{number} {host}: {listen} {files}\"\n\
             [[each]]\nname = \"files\"\nof = \"file\"\ntext = \"{path} is {root}/{file}, {type};\"\n",
            Path::new(""),
        )
        .unwrap();
        let mut site = ServerSite::example(true);
        site.host.root = "/a {port}".into();
        let other =
            HostSite { name: "other.test".to_owned(), files: Vec::new(), ..site.host.clone() };
        site.other_hosts.push(other);
        let way = declaration.all_ways()[0];
        Values::of(&declaration, way, &site).expand(template)
    }

    #[test]
    fn names_are_replaced_and_other_braces_stay() {
        assert_eq!(expand("server { {listen} }").as_deref(), Ok("server { listen 80; }"));
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
    fn each_host_and_each_of_its_files_has_its_text() {
        assert_eq!(
            expand("{sites}").as_deref(),
            Ok(
                "0 origin.test: listen 80; /a.png is /a {port}/0, image/png; | 1 other.test: listen 80; "
            )
        );
        assert!(expand("{path}").unwrap_err().contains("`{path}`"), "there is no file here");
    }

    #[test]
    fn a_value_is_not_named_as_what_stands_for_something_already() {
        let text = |name: &str, table: &str| {
            format!(
                "name = \"t\"\nrole = \"server\"\ncommand = [\"t\"]\nclear = [\"http/1.1\"]\n{table}\nname = \"{name}\"\ntext = \"\"\n"
            )
        };
        let known = ServerDeclaration::read(&text("mine", "[[values]]"), Path::new("")).unwrap();
        let site = ServerSite::example(true);
        let values = Values::of(&known, known.all_ways()[0], &site);
        let of_a_file = ["file", "path", "type"];
        for name in values.fixed.keys().copied().chain(OF_A_HOST).chain(of_a_file) {
            for table in ["[[values]]", "[[each]]\nof = \"host\""] {
                let error = ServerDeclaration::read(&text(name, table), Path::new("")).unwrap_err();
                let expected = format!("`{name}` stands for something already");
                assert!(error.message.contains(&expected), "{error}");
            }
        }
    }

    #[test]
    fn a_value_within_itself_ends() {
        let text = "name = \"t\"\nrole = \"server\"\ncommand = [\"{round}\"]\nclear = [\"http/1.1\"]\n\
                    [[values]]\nname = \"round\"\ntext = \"{round}\"\n";
        let error = ServerDeclaration::read(text, Path::new("")).unwrap_err();
        assert!(error.message.contains("within itself"), "{error}");
    }
}
