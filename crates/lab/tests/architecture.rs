//! Holds the plan of crates and folders that ARCHITECTURE.md shows. A new edge is decided there, not in passing.
//!
//! - Its table has each crate. It draws each edge of a Cargo.toml, and no other; each edge is used by a source file.
//! - The folders of `lab` use those alone that it names after them.
//! - Within a crate, no circle of imports goes through a folder beside lib.rs: its folders can be read one after another.
//! - Every page of `docs/` is in the book's contents, and links between pages lead to one.
//! - Commands `cargo test` in documents name tests that are there.
//! - `unsafe` code is in `os` alone, but for the allocator of `fuzzing`, which counts.

#![allow(clippy::unwrap_used)]

#[path = "architecture/book.rs"]
mod book;
#[path = "architecture/imports.rs"]
mod imports;
#[path = "architecture/plan.rs"]
mod plan;
#[path = "architecture/test_commands.rs"]
mod test_commands;

use imports::Modules;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn crates_use_exactly_the_crates_that_the_plan_gives_them() {
    let (planned, declared) = (plan::edges(), declared_dependencies());
    let crates: BTreeSet<String> = declared.keys().cloned().collect();
    assert_eq!(plan::crates(), crates, "the table of crates in ARCHITECTURE.md");
    let mut faults = plan::differences(&planned, &declared);
    for (krate, uses) in &planned {
        let modules = Modules::read(&source_folder(krate));
        let idle = uses.iter().filter(|used| !modules.name_crate(used));
        faults
            .extend(idle.map(|used| format!("{krate} -> {used} is planned, and nothing uses it")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_circle_of_imports_goes_through_a_folder() {
    let mut faults = Vec::new();
    for krate in declared_dependencies().keys() {
        let modules = Modules::read(&source_folder(krate));
        let circles = modules.circles();
        for circle in &circles {
            let imports = modules.imports_within(circle).join("\n  ");
            faults.push(format!("{krate}: {} import each other:\n  {imports}", circle.join(", ")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn folders_of_the_lab_use_those_after_them_alone() {
    let modules = Modules::read(&source_folder("lab"));
    let order = plan::folders_of_lab();
    let named: BTreeSet<&str> = order.iter().map(String::as_str).collect();
    assert_eq!(named, modules.folders(), "the folders of lab in ARCHITECTURE.md");
    let faults = modules.imports_against(&order);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn unsafe_code_is_allowed_in_os_and_the_counting_allocator_alone() {
    for krate in declared_dependencies().keys().filter(|krate| *krate != "os") {
        for (file, text) in imports::sources(&source_folder(krate)) {
            let is_allocator = krate == "fuzzing" && file.ends_with("heap.rs");
            let file = file.display();
            let allows = text.contains("allow(unsafe_code)");
            assert!(!allows || is_allocator, "{krate}: {file} allows unsafe code");
        }
    }
}

fn source_folder(krate: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(krate).join("src")
}

/// What each crate's Cargo.toml depends on within the workspace; dev-dependencies are free.
fn declared_dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let dependencies = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|one| one["kind"] != "dev" && !one["path"].is_null()).map(name).collect()
    };
    packages.map(|package| (name(package), dependencies(package))).collect()
}
