//! The plan of the house: which room may use which. A new edge is a decision, made in ARCHITECTURE.md
//! and here, not in passing.

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

const PLAN: &[(&str, &[&str])] = &[
    ("unit", &[]),
    // For dev-dependencies alone: no crate lists it.
    ("testing", &[]),
    ("trace", &["unit"]),
    ("wire", &["trace", "unit"]),
    ("link", &["trace", "unit"]),
    ("page", &["trace", "unit"]),
    ("study", &["trace", "unit"]),
    ("endpoint", &["unit"]),
    ("proto", &["wire", "endpoint", "trace", "unit"]),
    ("secure", &["endpoint", "trace", "unit"]),
    ("client", &["proto", "secure", "page", "trace", "unit"]),
    ("origin", &["proto", "secure", "page", "trace", "unit"]),
    ("os", &["wire", "proto", "secure", "link", "trace", "unit"]),
    ("report", &["study", "trace", "unit"]),
    ("subject", &["os", "client", "study", "trace", "unit"]),
    (
        "lab",
        &[
            "client", "link", "origin", "os", "page", "proto", "report", "secure", "study",
            "subject", "trace", "unit", "wire",
        ],
    ),
];

#[test]
fn every_room_uses_only_the_rooms_that_the_plan_gives_it() {
    let edges = edges();
    let plan: BTreeMap<&str, BTreeSet<&str>> =
        PLAN.iter().map(|(room, uses)| (*room, uses.iter().copied().collect())).collect();
    let mut faults = Vec::new();
    for (room, uses) in &edges {
        let Some(allowed) = plan.get(room.as_str()) else {
            faults.push(format!("{room} is not in the plan"));
            continue;
        };
        for used in uses.iter().filter(|used| !allowed.contains(used.as_str())) {
            faults.push(format!("{room} -> {used} is not in the plan"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(edges.len(), plan.len(), "a room of the plan is missing: {:?}", edges.keys());
}

#[test]
fn unsafe_code_is_allowed_in_os_alone() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for (room, _) in PLAN.iter().filter(|(room, _)| *room != "os") {
        for file in rust_files(&format!("{root}/crates/{room}/src")) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(!text.contains("allow(unsafe_code)"), "{file} lifts the ban on unsafe code");
        }
    }
}

/// Normal and build dependencies between rooms; dev-dependencies are free.
fn edges() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| {
            let uses = package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|dependency| dependency["kind"] != "dev" && !dependency["path"].is_null())
                .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
                .collect();
            (package["name"].as_str().unwrap().to_owned(), uses)
        })
        .collect()
}

fn rust_files(folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            files.extend(rust_files(&name));
        } else if name.ends_with(".rs") {
            files.push(name);
        }
    }
    files
}
