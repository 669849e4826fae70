//! The TOML of a server subject. It is checked as a whole when it is read. Its templates are expanded once for every
//! combination that it claims to support, so that a mistake shows before anything runs.

use super::log::LogFormat;
use super::program;
use super::running::ServerFailure;
use super::template::{self, ServerSite};
use os::process::{EndSignal, User};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use study::experiment::{Contender, ORIGIN, Tls, Transport};
use toml::Spanned;

/// A server, as its file declares it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerDeclaration {
    /// The name that a contender uses.
    name: Spanned<String>,
    /// Always "server". A client's declaration has another format.
    #[serde(rename = "role")]
    _role: Role,
    /// Program and arguments.
    command: Spanned<Vec<String>>,
    /// Program and arguments that print its version.
    #[serde(default)]
    pub(super) version: Vec<String>,
    /// What to do where it is not there.
    #[serde(default)]
    remedy: String,
    /// What it needs beside its program: programs by name, and paths of files and folders.
    #[serde(default)]
    pub(super) needs: Vec<Spanned<String>>,
    /// What it speaks over TLS, negotiated by ALPN.
    #[serde(default)]
    transports: Vec<Transport>,
    /// What it speaks without TLS.
    #[serde(default)]
    clear: Vec<Transport>,
    /// The TLS versions that it can be restricted to.
    #[serde(default = "both_versions")]
    tls: Vec<Tls>,
    /// Who makes the answers.
    #[serde(default)]
    answers: AnswersFile,
    #[serde(default)]
    user: UserFile,
    #[serde(default)]
    stop: SignalFile,
    #[serde(default = "usual_ready")]
    ready_ms: u64,
    #[serde(default = "usual_stop")]
    stop_ms: u64,
    /// What its build must have for a transport.
    #[serde(default)]
    pub(super) builds: Vec<Build>,
    /// Variables of its environment.
    #[serde(default)]
    pub(super) environment: BTreeMap<String, String>,
    /// Files that are created in its own folder before it starts.
    #[serde(default)]
    pub(super) files: Vec<FileTemplate>,
    /// Pieces of text that depend on the contender.
    #[serde(default)]
    pub(super) values: Vec<ValueTemplate>,
    /// Pieces of text that are repeated, for each host or for each file of a host.
    #[serde(default)]
    pub(super) each: Vec<EachTemplate>,
    /// Where it says what it did.
    pub(super) log: Option<LogFile>,
    /// The folder of its file; empty for one that is part of wirelap.
    #[serde(skip)]
    home: PathBuf,
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum Role {
    #[serde(rename = "server")]
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnswersFile {
    /// It serves files. Of a recorded page it asks the upstream for what is no file.
    #[default]
    Files,
    /// It is a proxy and asks the upstream for everything.
    Upstream,
    /// It has no files: it sends messages back, as requests or over WebSockets.
    Messages,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum UserFile {
    /// With the rights of the lab, which is root in its namespaces or looks like it.
    #[default]
    Ours,
    /// As an ordinary user, for servers that refuse to run as root.
    Ordinary,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum SignalFile {
    #[default]
    Term,
    Int,
    Quit,
    Hup,
}

/// What a transport needs that not every build of the program has.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Build {
    /// The transport.
    pub(super) transport: Transport,
    /// Program and arguments that describe the build.
    pub(super) command: Vec<String>,
    /// What they print where it has it.
    pub(super) prints: String,
    /// What to say where it has not.
    pub(super) reason: String,
    /// What to do then.
    pub(super) remedy: String,
}

/// A file in the server's folder.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileTemplate {
    /// Its name, below the folder.
    pub(super) path: Spanned<String>,
    /// Its text, with placeholders.
    pub(super) text: Option<String>,
    /// Or a file beside the declaration, copied unchanged.
    pub(super) from: Option<Spanned<String>>,
}

/// One possible text of a placeholder. The first one whose conditions hold is used. If none holds, the text is empty.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ValueTemplate {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) when: Conditions,
    pub(super) text: String,
}

/// A placeholder that stands for its text once for each host, or once for each file of the host at hand.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EachTemplate {
    pub(super) name: Spanned<String>,
    pub(super) of: EachOf,
    /// What stands between two.
    #[serde(default)]
    pub(super) between: String,
    pub(super) text: String,
}

/// What a text is repeated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EachOf {
    Host,
    File,
}

/// What is left out holds always.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Conditions {
    transport: Option<Vec<Transport>>,
    tls: Option<Vec<Tls>>,
    resumption: Option<bool>,
    recorded: Option<bool>,
    /// Whether the contender has a client of its own, which is not wirelap's.
    foreign_client: Option<bool>,
}

/// The server's own log.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogFile {
    /// Its name, below the folder.
    pub(super) path: String,
    pub(super) format: LogFormat,
    /// For json: where each fact is, as names joined by dots.
    #[serde(default)]
    pub(super) fields: BTreeMap<String, String>,
}

/// What a template is expanded for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) transport: Transport,
    pub(super) tls: Tls,
    pub(super) resumption: bool,
    /// Whether a recorded page is served, which may have several hosts.
    pub(super) recorded: bool,
    /// Whether the contender's client is not wirelap's.
    pub(super) foreign_client: bool,
}

/// What is wrong in a declaration, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct DeclarationError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl ServerDeclaration {
    /// Whether `text` declares a server. Declarations of clients are in the same folders. Text that cannot be parsed
    /// counts as a server's, so that its reader reports the error.
    pub fn is_meant(text: &str) -> bool {
        let table = toml::from_str::<toml::Table>(text);
        table.map_or(true, |table| {
            table.get("role").and_then(|role| role.as_str()) == Some("server")
        })
    }

    /// Reads the declaration in `text`, whose file is in the folder `home`.
    pub fn read(text: &str, home: &Path) -> Result<Self, DeclarationError> {
        let parsed = toml::from_str::<Self>(text).map_err(|error| {
            fault(text, error.span().unwrap_or_default(), error.message().to_owned())
        })?;
        let declaration = Self { home: home.to_owned(), ..parsed };
        match declaration.flaw() {
            Some((span, message)) => Err(fault(text, span, message)),
            None => Ok(declaration),
        }
    }

    /// The name that a contender uses.
    pub fn name(&self) -> &str {
        self.name.get_ref()
    }

    /// What to do where it is not there.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }

    /// What it speaks, in words.
    pub fn ways(&self) -> String {
        let mut ways: Vec<String> = self.clear.iter().map(|one| format!("{one} clear")).collect();
        ways.extend(self.transports.iter().map(|one| format!("{one} over TLS")));
        ways.join(", ")
    }

    /// The files beside the declaration that it needs, by the names that it uses.
    #[cfg(test)]
    pub(super) fn companions(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter_map(|file| file.from.as_ref()).map(|from| from.get_ref().as_str())
    }

    /// Whether it supports `contender`. The error says why not.
    pub fn supports(&self, contender: &Contender) -> Result<(), ServerFailure> {
        let (transport, tls) = (contender.transport, contender.tls);
        let spoken = match tls {
            Tls::None => self.clear.contains(&transport),
            Tls::V1_2 | Tls::V1_3 => {
                self.transports.contains(&transport)
                    && self.tls.contains(&tls)
                    && is_possible(transport, tls)
            }
        };
        if spoken {
            return Ok(());
        }
        let below = match tls {
            Tls::None => "without TLS",
            Tls::V1_2 => "over TLS 1.2",
            Tls::V1_3 => "over TLS 1.3",
        };
        Err(ServerFailure::Unsupported {
            reason: format!("{} does not speak {transport} {below}", self.name()),
            remedy: format!("it speaks {}", self.ways()),
        })
    }

    /// Whether it asks wirelap's origin for every answer.
    pub fn is_proxy(&self) -> bool {
        self.answers == AnswersFile::Upstream
    }

    /// Whether it answers the messages of an echo, and nothing else.
    pub fn is_echo(&self) -> bool {
        self.answers == AnswersFile::Messages
    }

    /// Whether it says how the hosts of a recorded page are served.
    pub fn serves_recordings(&self) -> bool {
        self.each.iter().any(|each| each.of == EachOf::Host)
    }

    pub(super) fn command(&self) -> &[String] {
        self.command.get_ref()
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    pub(super) fn user(&self) -> User {
        match self.user {
            UserFile::Ours => User::Ours,
            UserFile::Ordinary => User::Ordinary,
        }
    }

    pub(super) fn end_signal(&self) -> EndSignal {
        match self.stop {
            SignalFile::Term => EndSignal::Terminate,
            SignalFile::Int => EndSignal::Interrupt,
            SignalFile::Quit => EndSignal::Quit,
            SignalFile::Hup => EndSignal::HangUp,
        }
    }

    pub(super) fn ready_within(&self) -> Duration {
        Duration::from_millis(self.ready_ms)
    }

    pub(super) fn stop_within(&self) -> Duration {
        Duration::from_millis(self.stop_ms)
    }

    /// Every way of speaking that it claims.
    pub(super) fn all_ways(&self) -> Vec<Way> {
        let clear = self.clear.iter().map(|transport| (*transport, Tls::None));
        let tls = self
            .transports
            .iter()
            .flat_map(|transport| self.tls.iter().map(move |version| (*transport, *version)));
        let tls = tls.filter(|(transport, tls)| is_possible(*transport, *tls));
        let recorded: &[bool] = if self.serves_recordings() { &[false, true] } else { &[false] };
        let each = |(transport, tls)| {
            let both = [true, false].into_iter();
            both.flat_map(move |resumption| {
                recorded.iter().flat_map(move |&recorded| {
                    [false, true].map(|foreign_client| Way {
                        transport,
                        tls,
                        resumption,
                        recorded,
                        foreign_client,
                    })
                })
            })
        };
        clear.chain(tls).flat_map(each).collect()
    }

    /// What is wrong with it, and where; None for a valid one.
    fn flaw(&self) -> Option<(Range<usize>, String)> {
        let name = self.name();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(plain) || name.starts_with('.') {
            let message = "a name has letters, digits, `-`, `_` and `.` alone";
            return Some((self.name.span(), message.to_owned()));
        }
        if name == ORIGIN {
            let message = format!("`{ORIGIN}` is wirelap's own server");
            return Some((self.name.span(), message));
        }
        if self.command().first().is_none_or(String::is_empty) {
            return Some((self.command.span(), "the command names no program".to_owned()));
        }
        if self.all_ways().is_empty() {
            let message = "it speaks nothing: give `transports` (over TLS), `clear`, or both";
            return Some((self.name.span(), message.to_owned()));
        }
        let unknown = |need: &Spanned<String>| {
            let error = program::path_of_need(need.get_ref(), Path::new("")).err()?;
            Some((need.span(), error))
        };
        if let Some(flaw) = self.needs.iter().find_map(unknown) {
            return Some(flaw);
        }
        for file in &self.files {
            if !stays_below(Path::new(file.path.get_ref())) {
                let message = "a file's path stays below the server's folder";
                return Some((file.path.span(), message.to_owned()));
            }
            if file.text.is_some() == file.from.is_some() {
                let message = "a file has either a `text` or a `from`";
                return Some((file.path.span(), message.to_owned()));
            }
        }
        let values = self.values.iter().map(|value| &value.name);
        let mut names = values.chain(self.each.iter().map(|each| &each.name));
        if let Some(taken) = names.find(|name| template::is_taken(name.get_ref())) {
            let message = format!("`{}` stands for something already", taken.get_ref());
            return Some((taken.span(), message));
        }
        self.all_ways().into_iter().find_map(|way| {
            let error =
                template::expand_all(self, way, &ServerSite::example(way.recorded)).err()?;
            Some((self.name.span(), error))
        })
    }
}

impl Way {
    pub(super) fn of(contender: &Contender, recorded: bool) -> Self {
        Self {
            transport: contender.transport,
            tls: contender.tls,
            resumption: contender.settings.resumption,
            recorded,
            foreign_client: contender.client.is_some(),
        }
    }
}

impl Conditions {
    pub(super) fn hold(&self, way: Way) -> bool {
        self.transport.as_ref().is_none_or(|these| these.contains(&way.transport))
            && self.tls.as_ref().is_none_or(|these| these.contains(&way.tls))
            && self.resumption.is_none_or(|wanted| wanted == way.resumption)
            && self.recorded.is_none_or(|wanted| wanted == way.recorded)
            && self.foreign_client.is_none_or(|wanted| wanted == way.foreign_client)
    }
}

/// RFC 9001 §4.2: QUIC uses TLS 1.3.
fn is_possible(transport: Transport, tls: Tls) -> bool {
    !transport.is_over_quic() || tls == Tls::V1_3
}

fn stays_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
        && path.components().next().is_some()
}

fn fault(text: &str, span: Range<usize>, message: String) -> DeclarationError {
    let before = &text[..span.start.min(text.len())];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    DeclarationError {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message,
    }
}

fn both_versions() -> Vec<Tls> {
    vec![Tls::V1_2, Tls::V1_3]
}

/// A runtime that compiles as it starts takes a second or two on a busy machine.
fn usual_ready() -> u64 {
    10_000
}

fn usual_stop() -> u64 {
    1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "name = \"small\"\nrole = \"server\"\ncommand = [\"small\", \"{port}\"]\nclear = [\"http/1.1\"]\n";

    fn read(text: &str) -> Result<ServerDeclaration, DeclarationError> {
        ServerDeclaration::read(text, Path::new("/somewhere"))
    }

    #[test]
    fn a_small_declaration_says_what_it_speaks() {
        let small = read(SMALL).unwrap();
        assert_eq!((small.name(), small.ways().as_str()), ("small", "http/1.1 clear"));
        let h2 = "h2".parse_contender("1.3");
        let Err(ServerFailure::Unsupported { reason, .. }) = small.supports(&h2) else {
            panic!("it speaks no h2")
        };
        assert_eq!(reason, "small does not speak h2 over TLS 1.3");
        assert!(small.supports(&"http/1.1".parse_contender("none")).is_ok());
    }

    trait ParseContender {
        fn parse_contender(&self, tls: &str) -> Contender;
    }

    impl ParseContender for str {
        fn parse_contender(&self, tls: &str) -> Contender {
            let text = format!(
                "name = \"e\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"c\"\n\
                 [[contenders]]\nname = \"c\"\ntransport = \"{self}\"\ntls = \"{tls}\"\n\
                 [[workloads]]\nkind = \"page\"\nimages = 1\nbytes = 1\n[[links]]\nname = \"lan\"\n"
            );
            text.parse::<study::experiment::Experiment>().unwrap().contenders.remove(0)
        }
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        let said =
            |from: &str, to: &str| read(&SMALL.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(said("small", "a/b").starts_with("line 1, column 8: a name has letters"));
        assert!(said("\"small\"", "\"origin\"").contains("wirelap's own server"));
        assert!(said("{port}", "{prot}").contains("`{prot}`"), "{}", said("{port}", "{prot}"));
        let need = said("clear", "needs = [\"{pears}/ws\"]\nclear");
        assert!(need.starts_with("line 4, column 10: nothing is known as `{pears}`"), "{need}");
        assert!(said("clear", "claer").contains("unknown field `claer`"));
        assert!(said("http/1.1", "gopher").contains("gopher"));
        assert!(said("clear = [\"http/1.1\"]", "").contains("it speaks nothing"));
        assert!(said("[\"small\", \"{port}\"]", "[]").contains("names no program"));
        let file = |path: &str| {
            read(&format!("{SMALL}[[files]]\npath = \"{path}\"\ntext = \"\"\n")).map(drop)
        };
        assert_eq!(file("conf/small.conf"), Ok(()));
        for path in ["../x", "/etc/passwd", ""] {
            assert!(file(path).unwrap_err().message.contains("stays below"), "{path}");
        }
    }
}
