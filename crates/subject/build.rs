//! Embeds the declarations of `subjects/`, so that a new one is a file there and nothing else.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "Cargo speaks to build scripts in no other way")]
    let variable = |name: &str| env::var(name).map_err(io::Error::other);
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../../subjects");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path.canonicalize()?);
        }
    }
    files.sort();
    let mut list = "&[\n".to_owned();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        writeln!(list, "    ({name:?}, include_str!({:?})),", file.display().to_string())
            .map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    fs::write(Path::new(&variable("OUT_DIR")?).join("declarations.rs"), list)
}
