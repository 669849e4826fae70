//! The authorities that the system believes. They are read when a certificate is to be judged and not before:
//! most of what a short download costs is its start.

use crate::environment;
use secure::Pem;
use std::path::{Path, PathBuf};

/// Where distributions keep them all in one file: Debian and Arch, Fedora and RHEL, openSUSE, Alpine.
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The system's authorities; the error says what is missing and the way out.
pub(crate) fn system() -> Result<Vec<Pem>, String> {
    let own = environment::ssl_cert_file();
    let files: Vec<PathBuf> = match own {
        Some(file) => vec![file],
        None => BUNDLES.iter().map(PathBuf::from).collect(),
    };
    let read = |file: &PathBuf| Some(Pem::new(name(file), std::fs::read(file).ok()?));
    match files.iter().find_map(read) {
        Some(pem) => Ok(vec![pem]),
        None => Err(format!(
            "no authorities are known ({} cannot be read): install ca-certificates, give them with --cacert FILE, \
             or skip the check with -k",
            files.iter().map(name).collect::<Vec<_>>().join(", ")
        )),
    }
}

fn name(file: impl AsRef<Path>) -> String {
    file.as_ref().display().to_string()
}
