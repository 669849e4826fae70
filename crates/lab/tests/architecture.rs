//! Holds the plan of crates and folders that ARCHITECTURE.md shows. A new edge is decided there and here, not in passing.
//!
//! - [`PLAN`] lists for each crate the crates that it may use. An edge that is not listed fails, and so does a listed
//!   one that Cargo.toml lacks or that no source file uses.
//! - Within a crate, no circle of imports goes through a folder beside lib.rs: its folders can be read one after another.
//! - Every page of `docs/` is in the book's contents, and links between pages lead to one.
//! - Commands `cargo test` in documents name tests that are there.
//! - `unsafe` code is in `os` alone, but for the allocator of `fuzzing`, which counts.

#![allow(clippy::unwrap_used)]

#[path = "architecture/book.rs"]
mod book;
#[path = "architecture/imports.rs"]
mod imports;
#[path = "architecture/test_commands.rs"]
mod test_commands;

use imports::Modules;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each crate, and the crates that it may use.
const PLAN: &[(&str, &[&str])] = &[
    ("unit", &[]),
    // For tests alone: nothing depends on it otherwise.
    ("testing", &[]),
    // What the fuzz targets do with their input: nothing depends on it.
    (
        "fuzzing",
        &[
            "client",
            "endpoint",
            "link",
            "origin",
            "page",
            "proto",
            "secure",
            "trace",
            "transport",
            "unit",
            "wire",
        ],
    ),
    ("trace", &["unit"]),
    ("wire", &["trace"]),
    ("link", &["trace", "unit"]),
    ("page", &["unit"]),
    ("study", &["trace", "unit"]),
    ("endpoint", &["unit"]),
    ("proto", &["wire", "endpoint", "trace", "unit"]),
    ("secure", &["endpoint", "trace", "unit"]),
    ("transport", &["proto", "secure", "endpoint", "trace", "unit"]),
    ("client", &["transport", "proto", "secure", "page", "endpoint", "trace", "unit"]),
    ("origin", &["transport", "proto", "wire", "secure", "page", "endpoint", "trace", "unit"]),
    ("os", &["wire", "secure", "link", "endpoint", "trace", "unit"]),
    ("sim", &["endpoint", "link", "trace", "unit"]),
    ("report", &["study", "trace", "unit"]),
    ("subject", &["endpoint", "os", "proto", "study", "trace", "unit"]),
    (
        "lab",
        &[
            "client",
            "endpoint",
            "link",
            "origin",
            "os",
            "page",
            "proto",
            "report",
            "secure",
            "study",
            "subject",
            "trace",
            "transport",
            "unit",
            "wire",
        ],
    ),
];

#[test]
fn crates_use_exactly_the_crates_that_the_plan_gives_them() {
    let declared = declared_dependencies();
    let mut faults = Vec::new();
    for (krate, uses) in &declared {
        let Some(planned) = planned(krate) else {
            faults.push(format!("{krate} is not in the plan"));
            continue;
        };
        let unplanned = uses.iter().filter(|used| !planned.contains(used.as_str()));
        faults.extend(unplanned.map(|used| format!("{krate} -> {used} is not in the plan")));
    }
    for (krate, uses) in PLAN {
        let Some(declared) = declared.get(*krate) else {
            faults.push(format!("the plan has {krate}, and there is no such crate"));
            continue;
        };
        let modules = Modules::read(&source_folder(krate));
        for used in uses.iter() {
            if !declared.contains(*used) || !modules.name_crate(used) {
                faults.push(format!("the plan allows {krate} -> {used}, and nothing uses it"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_circle_of_imports_goes_through_a_folder() {
    let mut faults = Vec::new();
    for (krate, _) in PLAN {
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
fn unsafe_code_is_allowed_in_os_and_the_counting_allocator_alone() {
    for (krate, _) in PLAN.iter().filter(|(krate, _)| *krate != "os") {
        for (file, text) in imports::sources(&source_folder(krate)) {
            let is_allocator = *krate == "fuzzing" && file.ends_with("heap.rs");
            let file = file.display();
            let allows = text.contains("allow(unsafe_code)");
            assert!(!allows || is_allocator, "{krate}: {file} allows unsafe code");
        }
    }
}

fn planned(krate: &str) -> Option<BTreeSet<&'static str>> {
    let (_, uses) = PLAN.iter().find(|(name, _)| *name == krate)?;
    Some(uses.iter().copied().collect())
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
