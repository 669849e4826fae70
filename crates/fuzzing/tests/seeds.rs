//! Every seed runs through its target, and each target has some. The seeds of whole end points are made of real exchanges
//! (`exchanges`): `UPDATE_SEEDS=1 cargo test -p fuzzing` writes them again.

mod exchanges;

use fuzzing::reached::{self, Reached};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_seed_runs_through_its_target() {
    let mut wrong = Vec::new();
    for (name, run) in fuzzing::TARGETS {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for (path, seed) in seeds {
            // Where a target panics, the last line names the seed.
            eprintln!("{}", path.display());
            reached::take();
            run(&seed);
            let Reached { values, sent } = reached::take();
            let reaches = if END_POINTS.contains(name) { sent } else { values };
            let own = format!("{name}/{}", file_name(&path));
            let reason = NOTHING.iter().find(|(seed, _)| *seed == own);
            if (reaches == 0) != reason.is_some() {
                wrong.push(format!("{own} reaches {reaches} ({reason:?})"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Targets over whole end points: a seed has to make the end point under test send something. One of another target has to be read,
/// or to make its machine give an event.
const END_POINTS: &[&str] = &[
    "client_calls",
    "client_download",
    "client_echoes",
    "client_load",
    "client_page",
    "client_web_socket",
    "origin",
    "origin_quic",
    "origin_tls",
    "quic_pair",
];

/// Seeds that rightly reach nothing, and why.
const NOTHING: &[(&str, &str)] = &[
    ("quic_pair/lost_all", "no datagram arrives, so the server has nobody to answer"),
    (
        "spdy_server/settings_ping",
        "SETTINGS, PING and a late reset are no news for the application",
    ),
];

#[test]
fn every_target_has_its_folder_and_its_program() {
    let known: Vec<&str> = fuzzing::TARGETS.iter().map(|(name, _)| *name).collect();
    assert!(known.is_sorted());
    let names = |folder: &str| -> Vec<String> {
        let mut names: Vec<_> = entries(&root().join(folder))
            .map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("seeds"), known);
    assert_eq!(names("fuzz_targets"), known);
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("fuzz/Cargo.toml");
    for name in known {
        let line = format!("{{ name = \"{name}\", path = \"fuzz_targets/{name}.rs\",");
        assert!(manifest.contains(&line), "fuzz/Cargo.toml lacks {name}");
        let source = fs::read_to_string(root().join(format!("fuzz_targets/{name}.rs")));
        assert!(source.is_ok_and(|source| source.contains(&format!("target(\"{name}\")"))));
    }
}

/// Writes the seeds that are made of exchanges, where `UPDATE_SEEDS` asks for it. They may differ from what both ends say
/// today: an old seed is as good as a new one.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test's own switch")]
fn exchanges_make_seeds_for_each_end_point() {
    let update = std::env::var_os("UPDATE_SEEDS").is_some();
    for (target, seeds) in exchanges::all() {
        for (name, seed) in seeds {
            assert!(seed.len() > 50, "{target}/{name} says next to nothing");
            let path = root().join("seeds").join(target).join(name);
            if update {
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder for seeds");
                fs::write(&path, seed).expect("a seed is written");
            } else {
                assert!(path.exists(), "{} is not there: UPDATE_SEEDS=1", path.display());
            }
        }
    }
}

fn seeds(target: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    entries(&root().join("seeds").join(target))
        .map(|path| (path.clone(), fs::read(path).expect("a seed")))
        .collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.expect("an entry").path())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}
