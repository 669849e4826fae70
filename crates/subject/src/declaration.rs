//! Declarations of client subjects: how each is started, and what it supports. They are TOML files. Some are built in;
//! a user can add one without a rebuild. Nothing here starts a program.

use crate::contract::{CONTRACT, CONTRACT_WITH_WINDOWS, Transport, Workload};
use crate::{program, template};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use study::experiment::PageMetric;
use study::metric;

/// A client subject, declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "wirelap client subject")]
pub struct ClientDeclaration {
    /// The name that a contender uses: `client = "NAME"`.
    pub name: String,
    /// Which side it takes: `client`.
    pub role: ClientRole,
    /// The program and its arguments. `{here}` is the folder of this file. `{peers}` is the folder of what `./peers
    /// install` installs. `{wirelap}` is wirelap itself. A name of `places` stands for that place's files.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// What it supports. Anything else is unsupported, and it is not started.
    #[schemars(length(min = 1))]
    pub transports: Vec<Transport>,
    /// The workloads that it supports (default: download and calls).
    #[serde(default = "usual_workloads")]
    pub workloads: Vec<Workload>,
    /// The times of a page that it tells of beside the load time: a browser's. A workload that another time decides is
    /// unsupported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub milestones: Vec<PageMetric>,
    /// The version of the contract that it knows (default 1), and with it those before. With 2, its fetches may have methods,
    /// header fields and bodies. With 3, its job may set receive windows.
    #[serde(default = "first_contract", skip_serializing_if = "is_first_contract")]
    #[schemars(range(min = 1, max = 3))]
    pub contract: u32,
    /// A command that prints its version. It runs after the measurement, if the subject did not report a version itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub version: Vec<String>,
    /// Further programs that it starts itself. They must exist before it is started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// What to do where it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Names for files that `command` uses, such as `jar = "{peers}/jvm/all.jar"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub places: BTreeMap<String, String>,
}

/// The role of a client subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClientRole {
    /// It asks.
    Client,
}

/// What is wrong with a declaration.
#[derive(Debug, thiserror::Error)]
pub enum DeclarationError {
    /// A file or folder cannot be read.
    #[error("reading {}: {source}", .path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no declaration.
    #[error("{file}: {reason}")]
    Wrong {
        /// The file.
        file: String,
        /// What was expected, with its place.
        reason: String,
    },
}

/// What the machine lacks to run a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// What is not there.
    pub reason: String,
    /// What would mend it.
    pub remedy: String,
}

/// What the placeholders of a declaration stand for on this machine.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// wirelap's own program.
    pub wirelap: PathBuf,
    /// What `./peers install` brings.
    pub peers: PathBuf,
    /// Folders in which programs are looked for, in order.
    pub programs: Vec<PathBuf>,
}

impl Places {
    fn of(&self, name: &str) -> Option<String> {
        let place = match name {
            "wirelap" => &self.wirelap,
            "peers" => &self.peers,
            _ => return None,
        };
        Some(place.to_string_lossy().into_owned())
    }
}

/// All client subjects that are known, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalogue {
    clients: BTreeMap<String, ClientDeclaration>,
}

impl Catalogue {
    /// The built-in ones.
    pub fn builtin() -> Result<Self, DeclarationError> {
        let mut catalogue = Self::default();
        for (file, text) in BUILTIN {
            catalogue.add(file, text, Path::new("{peers}"))?;
        }
        Ok(catalogue)
    }

    /// With the declarations of a folder. They replace others of the same name.
    pub fn add_folder(&mut self, folder: &Path) -> Result<(), DeclarationError> {
        let unreadable =
            |path: &Path, source| DeclarationError::Unreadable { path: path.to_owned(), source };
        let entries = fs::read_dir(folder).map_err(|source| unreadable(folder, source))?;
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(|source| unreadable(folder, source))?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                files.push(path);
            }
        }
        files.sort();
        let here = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        for file in files {
            let text = fs::read_to_string(&file).map_err(|source| unreadable(&file, source))?;
            self.add(&file.display().to_string(), &text, &here)?;
        }
        Ok(())
    }

    /// The client of this name.
    pub fn client(&self, name: &str) -> Option<&ClientDeclaration> {
        self.clients.get(name)
    }

    /// Every client, by name.
    pub fn clients(&self) -> impl Iterator<Item = &ClientDeclaration> {
        self.clients.values()
    }

    fn add(&mut self, file: &str, text: &str, here: &Path) -> Result<(), DeclarationError> {
        let wrong = |reason: String| DeclarationError::Wrong { file: file.to_owned(), reason };
        let table: toml::Table = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        // Declarations of servers are in the same folders and have their own reader.
        if table.get("role").and_then(toml::Value::as_str) == Some("server") {
            return Ok(());
        }
        let mut client: ClientDeclaration =
            toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if let Some(fault) = client.fault() {
            return Err(wrong(fault.to_owned()));
        }
        if let Some(unknown) = client.unknown_placeholder() {
            return Err(wrong(unknown));
        }
        client.settle(&here.to_string_lossy());
        self.clients.insert(client.name.clone(), client);
        Ok(())
    }
}

impl ClientDeclaration {
    /// As TOML for a run's folder. It needs no other file.
    pub fn to_toml(&self) -> String {
        // It holds only strings, lists and tables of strings, which TOML can always represent.
        toml::to_string(self).unwrap_or_default()
    }

    /// The declaration in a text that [`Self::to_toml`] wrote, without the folder of its file: that differs between the
    /// machines of one run. None: the text is no declaration.
    pub fn without_folder(text: &str) -> Option<Self> {
        let mut client: Self = toml::from_str(text).ok()?;
        client.places.remove(HERE);
        Some(client)
    }

    /// Whether it supports this. The error says why not.
    pub fn supports(&self, transport: Transport, workload: Workload) -> Result<(), Lacking> {
        self.speaks(transport)?;
        let is_declared = self.workloads.contains(&workload);
        is_declared.then_some(()).ok_or_else(|| self.undeclared("do this kind of workload"))
    }

    /// Whether it speaks this. The error says that it does not.
    pub fn speaks(&self, transport: Transport) -> Result<(), Lacking> {
        let is_declared = self.transports.contains(&transport);
        is_declared.then_some(()).ok_or_else(|| self.undeclared(&format!("speak {transport}")))
    }

    fn undeclared(&self, what: &str) -> Lacking {
        Lacking {
            reason: format!("{} is not declared to {what}", self.name),
            remedy: "take the contender out, or give it another client".into(),
        }
    }

    /// Whether it is a browser: it says when a page was painted.
    pub fn is_browser(&self) -> bool {
        !self.milestones.is_empty()
    }

    /// Whether it tells of the time of a page that decides. The error says why not.
    pub fn tells(&self, metric: PageMetric) -> Result<(), Lacking> {
        if metric.is_load() || self.milestones.contains(&metric) {
            return Ok(());
        }
        let name = &self.name;
        let reason = match self.is_browser() {
            true => format!("{name} does not tell of {}", metric::of_page(metric)),
            false => format!("{name} does not say when a page could be painted"),
        };
        Err(Lacking {
            reason,
            remedy: "leave `metric` of the workload away, or the contender's client".to_owned(),
        })
    }

    /// Whether it understands a job of this version. The error says why not.
    pub fn knows(&self, contract: u32) -> Result<(), Lacking> {
        if self.contract >= contract {
            return Ok(());
        }
        let (name, known) = (&self.name, self.contract);
        Err(match contract {
            CONTRACT_WITH_WINDOWS => Lacking {
                reason: format!(
                    "{name} has receive windows of its own (contract {known}); `stream_window` and `connection_window` are contract {contract}"
                ),
                remedy: "leave them away, or the contender's client; one that takes them declares `contract = 3`".into(),
            },
            _ => Lacking {
                reason: format!(
                    "{name} makes plain GETs (contract {known}); methods, header fields and bodies are contract {contract}"
                ),
                remedy: "give the contender another client, such as curl, or wirelap's own".into(),
            },
        })
    }

    /// Its program and arguments on this machine. A missing file is an error before anything is started.
    pub fn command_line(&self, places: &Places) -> Result<Vec<String>, Lacking> {
        let words: Vec<String> =
            self.command.iter().map(|word| self.placed(word, places)).collect();
        for (word, placed) in self.command.iter().zip(&words) {
            if let Some(missing) = missing(word, placed) {
                return Err(self.lacking(&missing));
            }
        }
        if let Some(missing) = self.needs.iter().find(|one| find(one, &places.programs).is_none()) {
            return Err(self.lacking(missing));
        }
        let mut words = words.into_iter();
        let program = words.next().unwrap_or_default();
        let program = find(&program, &places.programs).ok_or_else(|| self.lacking(&program))?;
        Ok(std::iter::once(program).chain(words).collect())
    }

    /// The command that prints its version on this machine; None where there is none.
    pub fn version_command(&self, places: &Places) -> Option<Vec<String>> {
        let mut words = self.version.iter().map(|word| self.placed(word, places));
        let program = find(&words.next()?, &places.programs)?;
        Some(std::iter::once(program).chain(words).collect())
    }

    /// What is wrong with a name in braces.
    fn unknown_placeholder(&self) -> Option<String> {
        let nowhere = Places::default();
        let words = self.command.iter().chain(&self.version);
        let wrong = words.map(|word| self.expand(word, &nowhere)).find_map(Result::err);
        // Once its folder stands in a place, its text may be any: a place that is written begins with a name.
        let written = self.places.values().filter(|place| !place.starts_with('/'));
        let place = |text: &String| {
            template::expand(text, |_, name| match (name, nowhere.of(name)) {
                (HERE, _) | (_, Some(_)) => Ok(None),
                _ => Err(template::unknown(name, [HERE, "peers", "wirelap"])),
            })
        };
        wrong.or_else(|| written.map(place).find_map(Result::err))
    }

    /// A word of a command with the places that it names.
    fn placed(&self, word: &str, places: &Places) -> String {
        // Its names were looked at when the declaration was read.
        self.expand(word, places).unwrap_or_else(|_| word.to_owned())
    }

    fn expand(&self, word: &str, places: &Places) -> Result<String, String> {
        template::expand(word, |before, name| {
            // A shell's `${name}` and what curl's `-w` names.
            if before.ends_with(['$', '%']) {
                return Ok(None);
            }
            match (self.places.get(name), places.of(name)) {
                (Some(place), _) => self.expand_place(place, places).map(Some),
                (None, Some(place)) => Ok(Some(place)),
                // It becomes a place of its own when the declaration is settled.
                (None, None) if name == HERE => Ok(None),
                (None, None) => {
                    let own = self.places.keys().map(String::as_str);
                    Err(template::unknown(name, own.chain([HERE, "peers", "wirelap"])))
                }
            }
        })
    }

    /// A place's text, which names the declaration's folder and wirelap's places alone.
    fn expand_place(&self, text: &str, places: &Places) -> Result<String, String> {
        template::expand(text, |_, name| match self.places.get(HERE) {
            Some(here) if name == HERE => {
                template::expand(here, |_, name| Ok(places.of(name))).map(Some)
            }
            _ => Ok(places.of(name)),
        })
    }

    fn lacking(&self, what: &str) -> Lacking {
        if what.starts_with('/') && Path::new(what).is_file() {
            return Lacking {
                reason: format!("{} needs {what}, which is no executable file", self.name),
                remedy: format!("chmod +x '{}'", what.replace('\'', r"'\''")),
            };
        }
        let remedy = self.remedy.clone().unwrap_or_else(|| {
            // No command: nobody told it.
            "bring it here; the declaration has no `remedy` that says how".to_owned()
        });
        Lacking { reason: format!("{} needs {what}, which is not here", self.name), remedy }
    }

    /// Keeps the folder of the file as a place of its own, where something names it. In a run's folder it is there already.
    fn settle(&mut self, here: &str) {
        // A program that is named by a path is the folder's, as a server's is.
        for program in [self.command.first_mut(), self.version.first_mut()].into_iter().flatten() {
            if program.contains('/') && !program.starts_with(['/', '{']) {
                *program = format!("{{here}}/{program}");
            }
        }
        let mut words = self.command.iter().chain(&self.version).chain(self.places.values());
        if words.any(|word| word.contains("{here}")) {
            self.places.entry(HERE.to_owned()).or_insert_with(|| here.to_owned());
        }
    }

    fn fault(&self) -> Option<&'static str> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if self.name.is_empty() || !self.name.chars().all(plain) || self.name.starts_with('.') {
            return Some("`name` is of letters, digits, `-`, `_` and `.`");
        }
        if self.command.first().is_none_or(String::is_empty) {
            return Some("`command` needs a program");
        }
        if !(CONTRACT..=CONTRACT_WITH_WINDOWS).contains(&self.contract) {
            return Some("`contract` is 1, 2 or 3");
        }
        self.transports.is_empty().then_some("`transports` needs at least one entry")
    }
}

/// The place that is the folder of the declaration's file.
const HERE: &str = "here";

/// A missing file that an argument names by a place. A class path names several.
fn missing(word: &str, placed: &str) -> Option<String> {
    if !word.contains('{') {
        return None;
    }
    let is_there = |path: &str| Path::new(path.trim_end_matches("/*")).exists();
    // A path, too, may have a colon.
    if is_there(placed) {
        return None;
    }
    let mut paths = placed.split(':').filter(|path| path.starts_with('/'));
    paths.find(|path| !is_there(path)).map(str::to_owned)
}

/// The path of a program. A path stands for itself; a name is looked up.
fn find(program: &str, folders: &[PathBuf]) -> Option<String> {
    let path = program::find(program, Path::new(""), folders)?;
    Some(path.to_string_lossy().into_owned())
}

fn first_contract() -> u32 {
    CONTRACT
}

fn is_first_contract(contract: &u32) -> bool {
    *contract == CONTRACT
}

fn usual_workloads() -> Vec<Workload> {
    vec![Workload::Download, Workload::Calls]
}

/// File names and texts of `subjects/`.
const BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/declarations.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "name = \"mine\"\nrole = \"client\"\ntransports = [\"h2\"]\n\
        command = [\"sh\", \"{here}/mine.sh\", \"{jar}\"]\nplaces = { jar = \"{peers}/mine.jar\" }\n\
        remedy = \"build it\"\n";

    fn added(text: &str) -> Result<Catalogue, DeclarationError> {
        let mut catalogue = Catalogue::default();
        catalogue.add("mine.toml", text, Path::new("/"))?;
        Ok(catalogue)
    }

    #[test]
    fn every_built_in_declaration_reads_and_is_called_as_its_file() {
        let catalogue = Catalogue::builtin().unwrap();
        for (file, text) in BUILTIN {
            let table: toml::Table = text.parse().unwrap();
            assert_eq!(format!("{}.toml", table["name"].as_str().unwrap()), *file);
        }
        assert!(catalogue.client("curl").is_some());
    }

    /// Each can be pasted into a shell as it is: explanations are in comments and documents.
    #[test]
    fn every_remedy_of_a_built_in_declaration_is_a_command() {
        let known = [
            "sudo apt-get install ",
            "sudo systemctl disable --now ",
            "./peers install",
            "export PATH=\"$(./peers current):$PATH\"",
        ];
        for (file, text) in BUILTIN {
            let table: toml::Table = text.parse().unwrap();
            let builds = table.get("builds").and_then(toml::Value::as_array);
            let tables = builds.into_iter().flatten().filter_map(toml::Value::as_table);
            let remedies =
                std::iter::once(&table).chain(tables).filter_map(|one| one.get("remedy"));
            for remedy in remedies.map(|remedy| remedy.as_str().unwrap()) {
                for command in remedy.split(" && ") {
                    let is_known = known.iter().any(|known| command.starts_with(known));
                    assert!(is_known && !command.contains([',', ';']), "{file}: {remedy}");
                }
            }
        }
    }

    #[test]
    fn a_declaration_survives_its_way_into_a_run_s_folder() {
        let catalogue = added(EXAMPLE).unwrap();
        let mine = catalogue.client("mine").unwrap();
        assert_eq!(added(&mine.to_toml()).unwrap().client("mine"), Some(mine));
    }

    #[test]
    fn what_a_run_s_folder_keeps_differs_by_folder_in_one_place_alone() {
        let kept = |text: &str, here: &str| {
            let mut catalogue = Catalogue::default();
            catalogue.add("mine.toml", text, Path::new(here)).unwrap();
            let kept = catalogue.client("mine").unwrap().to_toml();
            ClientDeclaration::without_folder(&kept).unwrap()
        };
        // The folder in the command, in a place, and before a program with a slash.
        let in_place = EXAMPLE.replace("{here}/mine.sh", "-c").replace("{peers}", "{here}");
        let program = EXAMPLE.replace("\"sh\", \"{here}", "\".");
        for text in [EXAMPLE, &in_place, &program] {
            assert_eq!(kept(text, "/home/a"), kept(text, "/srv/b"));
            let other = text.replace("mine.jar", "other.jar");
            assert_ne!(kept(text, "/home/a"), kept(&other, "/home/a"));
        }
        let places = Places { programs: vec!["/bin".into()], ..Places::default() };
        let lacking = |here: &str| {
            let mut catalogue = Catalogue::default();
            catalogue.add("mine.toml", &in_place, Path::new(here)).unwrap();
            // As a trial reads it, from a run's folder elsewhere.
            let kept = catalogue.client("mine").unwrap().to_toml();
            catalogue.add("mine.toml", &kept, Path::new("/run/subjects")).unwrap();
            catalogue.client("mine").unwrap().command_line(&places).unwrap_err().reason
        };
        assert_eq!(lacking("/home/a"), "mine needs /home/a/mine.jar, which is not here");
    }

    #[test]
    fn what_is_not_there_is_told_with_the_remedy() {
        let places = Places { programs: vec!["/bin".into()], ..Places::default() };
        let catalogue = added(EXAMPLE).unwrap();
        let lacking = catalogue.client("mine").unwrap().command_line(&places).unwrap_err();
        assert!(lacking.reason.contains("/mine.sh"), "{lacking:?}");
        assert_eq!(lacking.remedy, "build it");
        let plain = added(&EXAMPLE.replace("\"{here}/mine.sh\", \"{jar}\"", "\"-c\"")).unwrap();
        let words = plain.client("mine").unwrap().command_line(&places).unwrap();
        assert_eq!(words, ["/bin/sh", "-c"]);
        let ghost = added(&EXAMPLE.replace("\"sh\", \"{here}/mine.sh\", \"{jar}\"", "\"ghost\""));
        let lacking = ghost.unwrap().client("mine").unwrap().command_line(&places).unwrap_err();
        assert!(lacking.reason.contains("ghost"), "{lacking:?}");
    }

    #[test]
    fn a_program_named_by_a_path_is_the_folder_s_and_executable() {
        let above = tempfile::tempdir().unwrap();
        // A colon, as in a list of paths.
        let here = above.path().join("a:b");
        std::fs::create_dir(&here).unwrap();
        let file = here.join("mine.sh");
        std::fs::write(&file, "exit").unwrap();
        let places = Places { programs: vec!["/bin".into()], ..Places::default() };
        let command_line = |command: &str| {
            let text = EXAMPLE.replace("\"sh\", \"{here}/mine.sh\", \"{jar}\"", command);
            let mut catalogue = Catalogue::default();
            catalogue.add("mine.toml", &text, &here).unwrap();
            catalogue.client("mine").unwrap().command_line(&places)
        };
        let path = file.to_string_lossy().into_owned();
        let words = command_line("\"sh\", \"{here}/mine.sh\"").unwrap();
        assert_eq!(words, ["/bin/sh", &path]);
        let lacking = command_line("\"./mine.sh\"").unwrap_err();
        assert!(lacking.reason.ends_with("which is no executable file"), "{lacking:?}");
        assert_eq!(lacking.remedy, format!("chmod +x '{}/./mine.sh'", here.display()));
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        for command in ["\"./mine.sh\"", "\"{here}/mine.sh\""] {
            let words = command_line(command).unwrap();
            assert_eq!(std::fs::canonicalize(&words[0]).unwrap(), file.canonicalize().unwrap());
        }
    }

    #[test]
    fn only_what_is_declared_can_be_asked_for() {
        let catalogue = added(EXAMPLE).unwrap();
        let mine = catalogue.client("mine").unwrap();
        assert!(mine.supports(Transport::H2, Workload::Download).is_ok());
        let lacking = mine.supports(Transport::Http1, Workload::Download).unwrap_err();
        assert!(lacking.reason.contains("http/1.1"), "{lacking:?}");
        assert!(mine.supports(Transport::H2, Workload::Page).is_err());
    }

    #[test]
    fn a_slip_in_a_declaration_is_told_with_its_place() {
        for (from, to, expected) in [
            ("transports", "transport", "unknown field `transport`"),
            ("\"h2\"", "\"h7\"", "unknown variant `h7`"),
            ("\"mine\"", "\"my own\"", "`name`"),
            ("[\"sh\", \"{here}/mine.sh\", \"{jar}\"]", "[]", "needs a program"),
            (
                "{here}",
                "{hree}",
                "nothing is known as `{hree}`; known are here, jar, peers, wirelap",
            ),
            ("{peers}", "{pears}", "nothing is known as `{pears}`"),
        ] {
            let error = added(&EXAMPLE.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(expected) && error.starts_with("mine.toml: "), "{error}");
        }
    }

    #[test]
    fn a_place_names_no_other_place() {
        let text = EXAMPLE.replace("{peers}/mine.jar", "{lib}/mine.jar\", lib = \"{here}");
        let error = added(&text).unwrap_err().to_string();
        assert!(
            error.contains("nothing is known as `{lib}`; known are here, peers, wirelap"),
            "{error}"
        );
    }

    #[test]
    fn braces_that_are_no_placeholder_stay() {
        let text = EXAMPLE.replace(
            "\"{here}/mine.sh\", \"{jar}\"",
            "\"-c\", \"echo ${home} %{time_total} {{here}} {{print}} {A} {}\"",
        );
        let places = Places { programs: vec!["/bin".into()], ..Places::default() };
        let catalogue = added(&text).unwrap();
        let words = catalogue.client("mine").unwrap().command_line(&places).unwrap();
        assert_eq!(words[2], "echo ${home} %{time_total} {here} {print} {A} {}");
    }
}
