//! The commands `cargo test …` that documents give name tests: crates, files and filters that are there. A filter that no test's path
//! contains runs nothing and exits with 0. Sources are searched, Cargo is not asked.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn commands_in_documents_name_tests() {
    let mut seen = 0;
    for (page, text) in documents() {
        for command in commands(&text) {
            let parsed = Command::parse(&command);
            let checked = parsed.and_then(|command| command.check());
            assert!(checked.is_ok(), "{page}: `{command}`: {}", checked.unwrap_err());
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} commands");
}

#[test]
fn a_command_that_runs_nothing_is_found() {
    let fault = |text: &str| {
        let command = commands(&format!("`{text}`")).pop().unwrap();
        Command::parse(&command).and_then(|command| command.check()).unwrap_err()
    };
    assert_eq!(fault("cargo test -p proto flood times"), "one filter only stands before --");
    assert_eq!(fault("cargo test -p lab hostile"), "no test's path has `hostile`");
    assert_eq!(fault("cargo test -p nobody"), "there is no crate nobody");
    assert_eq!(fault("cargo test -p lab --test nothing"), "lab has no test file nothing");
    assert_eq!(fault("X=1 cargo test -p wire -- qpack flod"), "no test's path has `flod`");
    assert_eq!(fault("cargo test -p wire --release-it"), "an unknown option --release-it");
}

/// What a command says.
#[derive(Debug, Default)]
struct Command {
    crates: Vec<String>,
    /// The files of `--test`; all tests where there are none.
    files: Vec<String>,
    filters: Vec<String>,
}

impl Command {
    /// Reads the words after `cargo test`.
    fn parse(command: &str) -> Result<Self, String> {
        let mut parsed = Self::default();
        let (own, of_tests) = command.split_once(" -- ").unwrap_or((command, ""));
        let mut words = own.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "-p" => parsed.crates.extend(words.next().map(str::to_owned)),
                "--test" => parsed.files.extend(words.next().map(str::to_owned)),
                "--lib" | "--workspace" => {}
                _ if word.starts_with('-') => return Err(format!("an unknown option {word}")),
                _ => parsed.filters.push(word.to_owned()),
            }
        }
        if parsed.filters.len() > 1 {
            return Err("one filter only stands before --".to_owned());
        }
        let filters = of_tests.split_whitespace().filter(|word| !word.starts_with('-'));
        parsed.filters.extend(filters.map(str::to_owned));
        Ok(parsed)
    }

    fn check(&self) -> Result<(), String> {
        let mut paths = Vec::new();
        for name in &self.crates {
            let folder = root().join("crates").join(name);
            if !folder.join("Cargo.toml").exists() {
                return Err(format!("there is no crate {name}"));
            }
            if self.files.is_empty() {
                paths.extend(tests_below(&folder.join("src")));
                let files = fs::read_dir(folder.join("tests")).into_iter().flatten();
                paths.extend(files.flat_map(|file| tests_below(&file.unwrap().path())));
            }
            for file in &self.files {
                let places =
                    [folder.join(format!("tests/{file}.rs")), folder.join("tests").join(file)];
                if !places[0].exists() && !places[1].join("main.rs").exists() {
                    return Err(format!("{name} has no test file {file}"));
                }
                paths.extend(places.iter().flat_map(|place| tests_below(place)));
            }
        }
        let missing = |filter: &&String| !paths.iter().any(|path| path.contains(filter.as_str()));
        self.filters
            .iter()
            .find(missing)
            .map_or(Ok(()), |filter| Err(format!("no test's path has `{filter}`")))
    }
}

/// The paths of the tests in a file or in the files below a folder, which is their root.
fn tests_below(root: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut files = vec![(root.to_owned(), String::new())];
    while let Some((at, module)) = files.pop() {
        if at.is_dir() {
            for entry in fs::read_dir(&at).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let is_root = ["lib", "main", "mod"].contains(&name.as_str());
                let below = if is_root { module.clone() } else { format!("{module}{name}::") };
                files.push((path, below));
            }
        } else if at.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&at).unwrap_or_default();
            // A module `tests` in the file itself is left out of the path: no command names it.
            for test in text.split("#[test]").skip(1) {
                let name = test.split_once("fn ").and_then(|(_, rest)| rest.split('(').next());
                paths.extend(name.map(|name| format!("{module}{name}")));
            }
            // This macro makes a test of each name, for each backend.
            for names in text.split("with_each_backend! {").skip(1) {
                let names = names.split('}').next().unwrap_or_default().split_whitespace();
                paths.extend(names.map(|name| format!("{module}epoll::{name}")));
            }
        }
    }
    paths
}

/// What follows `cargo test` in the code of a document: in fenced blocks a line each, else between back quotes.
fn commands(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    for (number, part) in text.split("```").enumerate() {
        if number % 2 == 1 {
            let lines = part.lines().map(|line| line.split(" #").next().unwrap_or_default());
            pieces.extend(lines.map(str::to_owned));
        } else {
            let code = part.split('`').enumerate().filter(|(number, _)| number % 2 == 1);
            pieces.extend(code.map(|(_, code)| code.replace('\n', " ")));
        }
    }
    let after = |piece: &String| {
        let (before, command) = piece.split_once("cargo test")?;
        let is_command = before.split_whitespace().all(|word| word.contains('='));
        is_command.then(|| command.to_owned())
    };
    pieces.iter().filter_map(after).collect()
}

fn documents() -> Vec<(String, String)> {
    let pages = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let own = ["README.md", "CONTRIBUTING.md"].map(|name| root().join(name));
    let read = |path: PathBuf| (path.display().to_string(), fs::read_to_string(&path).unwrap());
    pages.chain(own).map(read).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
