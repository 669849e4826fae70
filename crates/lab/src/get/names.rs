//! Which file a URL becomes.

use super::disposition::LONGEST_NAME;
use crate::cli::GetArgs;
use crate::error::{self, CliError};
use page::Url;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where a download goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// To this file, under its name when it is whole.
    File(PathBuf),
    /// To something that cannot be renamed (a device, a pipe): bytes are written as they arrive.
    Stream(PathBuf),
    /// To standard output, as it comes.
    Stdout,
}

impl Target {
    /// As printed.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) | Self::Stream(path) => path.display().to_string(),
            Self::Stdout => "-".to_owned(),
        }
    }
}

/// The targets of all URLs, each its own.
pub(crate) fn targets(args: &GetArgs) -> Result<Vec<Target>, CliError> {
    if args.output.is_some() && args.urls.len() > 1 {
        return Err(CliError::misuse("-o names one file, and there are several URLs")
            .remedy("leave it away, so that each file is named as its URL is; --output-dir chooses the folder"));
    }
    let to_file = |target: &Target| matches!(target, Target::File(_));
    let folder = args.output_dir.as_deref().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() && !folder.is_dir() {
        return Err(CliError::misuse(format!("{} is no folder", folder.display()))
            .remedy(format!("make it: mkdir -p {}", error::quoted(folder))));
    }
    let mut targets = Vec::with_capacity(args.urls.len());
    let addresses = args.addresses();
    let mut seen: BTreeMap<PathBuf, &Url> = BTreeMap::new();
    for url in addresses.iter().map(|address| &address.url) {
        let target = match &args.output {
            Some(name) if name == Path::new("-") => Target::Stdout,
            Some(name) => placed(&folder.join(name))?,
            None => placed(&folder.join(remote_name(url)?))?,
        };
        if args.include && to_file(&target) {
            return Err(CliError::misuse(
                "-i writes heads into a stream: a file would no longer be the one fetched",
            )
            .remedy("write to standard output: -o -"));
        }
        if args.json && target == Target::Stdout {
            return Err(CliError::misuse(
                "--json prints to standard output, where the file is to go, too",
            )
            .remedy("give the file a name with -o, or leave --json away"));
        }
        if let Target::File(path) = &target
            && let Some(other) = seen.insert(path.clone(), url)
        {
            return Err(CliError::misuse(format!(
                "{other} and {url} would both be {}",
                path.display()
            ))
            .remedy("download them one at a time, each with -o, or into folders of their own"));
        }
        targets.push(target);
    }
    Ok(targets)
}

/// The last part of the path, as written in the URL. Percent-encoding is kept, so that no name has a slash or a control
/// character. A name of dots only is refused.
fn remote_name(url: &Url) -> Result<String, CliError> {
    let path = url.path.split('?').next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let safe: String =
        name.chars().map(|c| if c.is_control() || c == '\\' { '_' } else { c }).collect();
    if matches!(safe.as_str(), "" | "." | "..") {
        return Err(CliError::misuse(format!("{url} names no file"))
            .remedy("name one with -o FILE, or -o - for standard output"));
    }
    Ok(safe)
}

/// What stands at `path` now decides how it is written.
fn placed(path: &Path) -> Result<Target, CliError> {
    if path.file_name().is_none() {
        return Err(CliError::misuse(format!("`{}` is no file name", path.display()))
            .remedy("name a file, or choose the folder with --output-dir"));
    }
    let length = path.file_name().map_or(0, |name| name.len());
    if length > LONGEST_NAME {
        return Err(CliError::misuse(format!(
            "a file name has {LONGEST_NAME} bytes at most, and this one has {length}: {}",
            unit::escape(&path.display().to_string())
        ))
        .remedy("name a file with -o FILE"));
    }
    if is_stdout(path) {
        return Ok(Target::Stdout);
    }
    // A link stays, and what it leads to is replaced.
    let path = match fs::canonicalize(path) {
        Ok(real) if path.is_symlink() => real,
        _ => path.to_owned(),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(CliError::misuse(format!("{} is no folder", folder.display()))
            .remedy(format!("make it: mkdir -p {}", error::quoted(folder))));
    }
    match fs::metadata(&path) {
        Ok(there) if there.is_dir() => {
            Err(CliError::misuse(format!("{} is a folder", path.display()))
                .remedy("name a file in it, or give it with --output-dir"))
        }
        Ok(there) if !there.is_file() => Ok(Target::Stream(path)),
        _ => Ok(Target::File(path)),
    }
}

/// Whether `path` is standard output by another name: the file behind it would be replaced, with all else that is
/// printed there.
fn is_stdout(path: &Path) -> bool {
    let is_named = STDOUT.iter().any(|name| path == Path::new(name));
    let file = |path: &Path| fs::metadata(path).ok().filter(fs::Metadata::is_file);
    let is_same = || {
        let own = file(Path::new(STDOUT[0]))?;
        file(path).map(|there| (there.dev(), there.ino()) == (own.dev(), own.ino()))
    };
    is_named || is_same().unwrap_or(false)
}

/// Names of standard output.
const STDOUT: [&str; 3] = ["/proc/self/fd/1", "/dev/stdout", "/dev/fd/1"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_last_part_of_the_path() {
        for (url, name) in [
            ("http://a/x/disk.iso", Some("disk.iso")),
            ("http://a/x/disk.iso?version=2/3", Some("disk.iso")),
            ("http://a/my%20file", Some("my%20file")),
            ("http://a/x/%2e%2e%2fpasswd", Some("%2e%2e%2fpasswd")),
            ("http://a/x/", None),
            ("http://a", None),
            ("http://a/..", None),
        ] {
            assert_eq!(remote_name(&url.parse().unwrap()).ok().as_deref(), name, "{url}");
        }
    }
}
