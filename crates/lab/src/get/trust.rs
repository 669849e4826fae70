//! The system's certificate authorities. They are read only when a certificate has to be checked, because most of a
//! short download's cost is its start-up.

use crate::environment;
use crate::error::{self, CliError};
use crate::key_log;
use page::{Scheme, Url};
use secure::{ClientTls, ClientTlsOptions, Pem, Resumption, RootsLater, Trust};
use std::path::{Path, PathBuf};

/// Where distributions keep all of them in one file: Debian and Arch, Fedora and RHEL, openSUSE, Alpine.
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Whom the user believes.
pub(crate) struct Trusted<'a> {
    /// The file of authorities; None for the system's.
    pub(crate) cacert: Option<&'a Path>,
    /// Whether anybody is.
    pub(crate) insecure: bool,
}

/// A client's TLS as the command line has it.
pub(crate) fn client_tls(
    trusted: &Trusted<'_>,
    alpn: Vec<String>,
    resumption: Resumption,
) -> Result<ClientTls, CliError> {
    let read = |file: &Path| -> Result<Pem, CliError> {
        let text = std::fs::read(file)
            .map_err(|error| error::file(format!("reading {}", name(file)), &error))?;
        Ok(Pem::new(name(file), text))
    };
    let options = ClientTlsOptions {
        trust: if trusted.insecure { Trust::Anyone } else { Trust::Roots },
        roots: trusted.cacert.map(read).transpose()?.into_iter().collect(),
        roots_later: Some(system_authorities()),
        alpn,
        resumption,
        key_log: key_log::open(environment::ssl_key_log_file().as_deref())?,
        ..ClientTlsOptions::default()
    };
    ClientTls::new(options).map_err(CliError::misuse)
}

/// Refuses URLs that HTTP/3 cannot be spoken to: QUIC has TLS in it (RFC 9114 §3.1).
pub(crate) fn check_http3<'a>(urls: impl IntoIterator<Item = &'a Url>) -> Result<(), CliError> {
    match urls.into_iter().find(|url| url.scheme == Scheme::Http) {
        None => Ok(()),
        Some(url) => Err(CliError::misuse(format!("HTTP/3 needs https://, and {url} is not"))
            .remedy("write https:// (wss:// for a WebSocket), or leave out --http3")),
    }
}

/// The system's authorities, to be read when they are needed.
pub(crate) fn system_authorities() -> RootsLater {
    RootsLater::new(system)
}

/// The system's authorities. The error says what is missing and how to fix it.
fn system() -> Result<Vec<Pem>, String> {
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
