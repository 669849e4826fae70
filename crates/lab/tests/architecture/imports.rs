//! Which modules of a crate import which, read from the paths in its source text: `crate::x`, `super::x` and what
//! lib.rs re-exports. Comments, and the tests at the end of a file, are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The top-level modules of a crate and what they import.
pub(crate) struct Modules {
    /// Each file without comments and tests: its top-level module (None: the crate's root), its path, its text.
    files: Vec<(Option<String>, PathBuf, String)>,
    /// For each module the modules that it names, with one file that does so.
    imports: BTreeMap<String, BTreeMap<String, PathBuf>>,
}

impl Modules {
    /// Reads a crate's `src` folder.
    pub(crate) fn read(folder: &Path) -> Self {
        let sources = sources(folder).into_iter().filter(|(path, _)| !is_test(path));
        let files: Vec<_> = sources
            .map(|(path, text)| (module_path(&path).first().cloned(), path, code(&text)))
            .collect();
        let names: BTreeSet<String> = files.iter().filter_map(|(top, ..)| top.clone()).collect();
        let exported = exported(&files, &names);
        let mut imports: BTreeMap<String, BTreeMap<String, PathBuf>> = BTreeMap::new();
        for (top, path, text) in &files {
            let Some(top) = top else { continue };
            let to_root = "super::".repeat(module_path(path).len());
            let paths = ["crate::", &to_root].into_iter().flat_map(|root| paths_from(text, root));
            for name in paths {
                let module = if names.contains(&name) { Some(&name) } else { exported.get(&name) };
                if let Some(module) = module.filter(|module| *module != top) {
                    let found = imports.entry(top.clone()).or_default();
                    found.entry(module.clone()).or_insert_with(|| path.clone());
                }
            }
        }
        Self { files, imports }
    }

    /// Whether any file names the other crate `name` in a path.
    pub(crate) fn name_crate(&self, name: &str) -> bool {
        self.files.iter().any(|(_, _, text)| {
            occurrences(text, &format!("{name}::")).any(|at| is_path_start(text, at))
                || occurrences(text, &format!("use {name}")).any(|at| {
                    let rest = &text[at + 4 + name.len()..];
                    rest.starts_with([';', ' '])
                })
        })
    }

    /// Every largest set of modules, a folder among them, of which each imports each, directly or by way of others.
    pub(crate) fn circles(&self) -> Vec<Vec<&str>> {
        let mut circles = BTreeSet::new();
        for module in self.imports.keys() {
            let reached = self.reached(module);
            let circle: Vec<&str> = reached
                .iter()
                .copied()
                .filter(|other| self.reached(other).contains(module.as_str()))
                .collect();
            if circle.iter().any(|module| self.is_folder(module)) {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    /// The imports of a module from one that stands before it in `order`, a line each.
    pub(crate) fn imports_against(&self, order: &[String]) -> Vec<String> {
        let mut against = Vec::new();
        for (place, module) in order.iter().enumerate() {
            let imported = self.imports.get(module).into_iter().flatten();
            let before = imported.filter(|(other, _)| order[..place].contains(other));
            against.extend(before.map(|(other, path)| import(module, other, path)));
        }
        against
    }

    /// The folders, each a module.
    pub(crate) fn folders(&self) -> BTreeSet<&str> {
        let modules = self.files.iter().filter_map(|(top, ..)| top.as_deref());
        modules.filter(|module| self.is_folder(module)).collect()
    }

    /// The imports among the modules of a circle, a line each.
    pub(crate) fn imports_within(&self, circle: &[&str]) -> Vec<String> {
        let within = |module: &&str| {
            let imported = self.imports.get(*module).into_iter().flatten();
            let imported = imported.filter(|(other, _)| circle.contains(&other.as_str()));
            imported.map(|(other, path)| import(module, other, path)).collect::<Vec<_>>()
        };
        circle.iter().flat_map(within).collect()
    }

    fn is_folder(&self, module: &str) -> bool {
        let mut files = self.files.iter().filter(|(top, ..)| top.as_deref() == Some(module));
        files.any(|(_, path, _)| path.iter().count() > 1)
    }

    /// The modules that `module` imports, directly or by way of others.
    fn reached(&self, module: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![module];
        while let Some(module) = open.pop() {
            for next in self.imports.get(module).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        reached
    }
}

fn import(module: &str, other: &str, path: &Path) -> String {
    format!("{module} -> {other} in {}", path.display())
}

/// The Rust files below `folder`, by their paths from there, with their texts.
pub(crate) fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut sources = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(here) = open.pop() {
        for entry in fs::read_dir(&here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                sources.push((path.strip_prefix(folder).unwrap().to_owned(), text));
            }
        }
    }
    sources.sort();
    sources
}

/// `a/b.rs` and `a/b/mod.rs` are a::b; lib.rs and main.rs are the root.
fn module_path(file: &Path) -> Vec<String> {
    let path = file.with_extension("");
    let mut names: Vec<String> =
        path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let last = names.last().map(String::as_str);
    if last == Some("mod") || names.len() == 1 && matches!(last, Some("lib" | "main")) {
        names.pop();
    }
    names
}

fn is_test(file: &Path) -> bool {
    file.iter().any(|name| name == "tests" || name == "tests.rs")
}

/// The text without comments and without the tests at its end.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines = text[..end].lines().map(|line| match line.find("//") {
        // Not the `//` of a URL in a string.
        Some(at) if !line[..at].ends_with(':') => &line[..at],
        _ => line,
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// What the crate's root re-exports from its modules, by name.
fn exported(
    files: &[(Option<String>, PathBuf, String)],
    modules: &BTreeSet<String>,
) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    let root = files.iter().filter(|(top, ..)| top.is_none());
    for statement in root.flat_map(|(_, _, text)| text.split(';')) {
        let Some((_, path)) = statement.split_once("use ") else { continue };
        let Some((module, names)) = path.trim().split_once("::") else { continue };
        if modules.contains(module) {
            let names = names.split(|c: char| !is_word(c)).filter(|name| !name.is_empty());
            exported.extend(names.map(|name| (name.to_owned(), module.to_owned())));
        }
    }
    exported
}

/// The first names of the paths that begin with `root`: `crate::a::B` and `crate::{a::B, c}` give a, and c.
fn paths_from(text: &str, root: &str) -> Vec<String> {
    let mut names = Vec::new();
    for at in occurrences(text, root).filter(|at| is_path_start(text, *at)) {
        let rest = &text[at + root.len()..];
        match rest.strip_prefix('{') {
            None => names.push(word(rest)),
            Some(group) => names.extend(group_members(group)),
        }
    }
    names
}

/// The first names of the members of `a::B, c::{D, E}}`.
fn group_members(group: &str) -> Vec<String> {
    let mut depth = 1;
    let mut members = vec![String::new()];
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => members.push(String::new()),
            _ => {
                if let Some(member) = members.last_mut() {
                    member.push(c);
                }
            }
        }
        if depth == 0 {
            break;
        }
    }
    members.iter().map(|member| word(member.trim_start())).collect()
}

fn occurrences<'a>(text: &'a str, pattern: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(pattern).map(|(at, _)| at)
}

/// Whether a path begins at `at`: no word and no other segment stands before it.
fn is_path_start(text: &str, at: usize) -> bool {
    let before = &text[..at];
    match before.strip_suffix("::") {
        Some(before) => !before.ends_with(|c: char| is_word(c) || c == '>'),
        None => !before.ends_with(is_word),
    }
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| is_word(*c)).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
