//! TLS errors, with messages that name the peer and a remedy.

use crate::trust::is_authority_of_its_own;
use rustls::CertificateError;
use std::fmt;
use thiserror::Error as ThisError;

/// Why a TLS connection failed.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum TlsError {
    /// The peer's certificate did not pass the check.
    #[error("the certificate of {server} is not trusted: {reason}; {}", reason.remedy())]
    Untrusted {
        /// The name that the client asked for.
        server: String,
        /// What is wrong with it.
        reason: Distrust,
    },
    /// The peer ended the connection with an alert (RFC 8446 §6).
    #[error("the peer ended TLS with the alert {alert}{}", hint(alert))]
    Alert {
        /// The alert's name.
        alert: String,
    },
    /// Both sides speak TLS, but share no version, cipher or application protocol.
    #[error("the two sides have no TLS settings in common: {0}")]
    Incompatible(String),
    /// What arrived is not TLS, or breaks its rules.
    #[error("the peer broke TLS: {what}{}", not_tls(what))]
    PeerViolation {
        /// The rule, in rustls's words.
        what: String,
    },
    /// The bytes ended before the peer's close_notify (RFC 8446 §6.1): the end may have been cut off.
    #[error("the connection ended without TLS's close_notify: the end of the data may be missing")]
    Truncated,
    /// The bytes ended within the handshake.
    #[error("the peer closed the connection during the TLS handshake; is it a TLS port?")]
    ClosedInHandshake,
    /// The name is neither a DNS name nor an IP address, so no certificate can be valid for it.
    #[error(
        "`{0}` is neither a host name nor an IP address, so TLS cannot check a certificate for it"
    )]
    BadName(String),
}

/// What is wrong with a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distrust {
    /// No authority that the client knows has signed it.
    UnknownAuthority,
    /// Its time is over, or has not begun.
    OutsideValidity(String),
    /// It is for other names.
    WrongName {
        /// Names that it is for.
        presented: Vec<String>,
    },
    /// The authority that it names has not signed it, or its key has not signed the handshake.
    Forged,
    /// It is an authority's own certificate, and no root of the client's.
    OwnAuthority,
    /// Anything else, in rustls's words.
    Other(String),
}

impl Distrust {
    fn remedy(&self) -> &'static str {
        match self {
            Self::UnknownAuthority | Self::Forged | Self::OwnAuthority => {
                "give its authority with --cacert FILE, or skip the check with -k"
            }
            Self::OutsideValidity(_) => {
                "renew it or set this machine's clock, or skip the check with -k"
            }
            Self::WrongName { .. } => "ask for one of those names, or skip the check with -k",
            Self::Other(_) => "skip the check with -k",
        }
    }
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAuthority => f.write_str("it was issued by an unknown authority"),
            Self::Forged => f.write_str(
                "a signature does not fit (an old root of an authority that has a new key?)",
            ),
            Self::OutsideValidity(what) => f.write_str(what),
            Self::OwnAuthority => {
                f.write_str("it is an authority's own certificate, and that authority is unknown")
            }
            Self::WrongName { presented } if presented.is_empty() => {
                f.write_str("it is for another name")
            }
            Self::WrongName { presented } => write!(f, "it is for {}", list(presented)),
            Self::Other(what) => f.write_str(what),
        }
    }
}

/// Why settings cannot work.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum ConfigError {
    /// A PEM text does not hold what it should.
    #[error("{name}: {wrong}")]
    Pem {
        /// The file, as its reader named it.
        name: String,
        /// What is wrong with it.
        wrong: String,
    },
    /// The private key does not belong to the certificate.
    #[error("the private key in {key} does not belong to the certificate in {chain}")]
    KeyMismatch {
        /// Where the chain came from.
        chain: String,
        /// Where the key came from.
        key: String,
    },
    /// A server without a certificate.
    #[error("a TLS server needs a certificate")]
    NoIdentity,
    /// rustls refused the settings.
    #[error("these TLS settings cannot work: {0}")]
    Refused(String),
}

impl TlsError {
    /// rustls's error, for a peer known as `server`.
    pub(crate) fn from_rustls(error: rustls::Error, server: &str) -> Self {
        match error {
            rustls::Error::InvalidCertificate(reason) => {
                Self::Untrusted { server: server.to_owned(), reason: distrust(reason) }
            }
            rustls::Error::AlertReceived(alert) => Self::Alert { alert: format!("{alert:?}") },
            rustls::Error::PeerIncompatible(why) => Self::Incompatible(format!("{why:?}")),
            rustls::Error::NoApplicationProtocol => {
                Self::Incompatible("no application protocol (ALPN)".to_owned())
            }
            other => Self::PeerViolation { what: other.to_string() },
        }
    }
}

impl TlsError {
    /// The alert within an error code of QUIC's (RFC 9001 §4.8); None for other codes.
    pub fn of_quic(code: u64) -> Option<Self> {
        let alert = u8::try_from(code.checked_sub(0x100)?).ok()?;
        Some(Self::Alert { alert: format!("{:?}", rustls::AlertDescription::from(alert)) })
    }
}

fn distrust(reason: CertificateError) -> Distrust {
    match reason {
        CertificateError::UnknownIssuer => Distrust::UnknownAuthority,
        CertificateError::Expired => Distrust::OutsideValidity("it has expired".to_owned()),
        CertificateError::ExpiredContext { time, not_after } => Distrust::OutsideValidity(format!(
            "it expired {} ago",
            span(time.as_secs().saturating_sub(not_after.as_secs()))
        )),
        CertificateError::NotValidYet => {
            Distrust::OutsideValidity("it is not valid yet".to_owned())
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            Distrust::OutsideValidity(format!(
                "it becomes valid only in {}",
                span(not_before.as_secs().saturating_sub(time.as_secs()))
            ))
        }
        CertificateError::NotValidForName => Distrust::WrongName { presented: Vec::new() },
        CertificateError::NotValidForNameContext { presented, .. } => {
            Distrust::WrongName { presented: presented.iter().map(|name| plain(name)).collect() }
        }
        // Two authorities of one seed have one name, so this is what an old root leads to.
        CertificateError::BadSignature => Distrust::Forged,
        CertificateError::Other(ref other) if is_authority_of_its_own(other) => {
            Distrust::OwnAuthority
        }
        other => Distrust::Other(other.to_string()),
    }
}

/// webpki writes names as `DnsName("a.example")`: the reader wants `a.example`.
fn plain(name: &str) -> String {
    match (name.split_once('('), name.rsplit_once(')')) {
        (Some((_, rest)), Some(_)) => rest.trim_end_matches(')').trim_matches('"').to_owned(),
        _ => name.to_owned(),
    }
}

fn list(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn span(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

fn hint(alert: &str) -> &'static str {
    match alert {
        "UnknownCA" | "BadCertificate" | "CertificateUnknown" | "CertificateExpired" => {
            ": it does not trust this side's certificate"
        }
        "NoApplicationProtocol" => ": it speaks none of the protocols offered (ALPN)",
        "ProtocolVersion" => NO_VERSION,
        "UnrecognisedName" => ": it has no certificate for the name asked for",
        "HandshakeFailure" => ": it shares no cipher or signature scheme with this side",
        _ => "",
    }
}

/// What [`TlsError::Alert`] says of a peer that speaks no version offered.
pub const NO_VERSION: &str = ": it speaks none of the TLS versions offered";

fn not_tls(what: &str) -> &'static str {
    if what.contains("InvalidContentType") { "; is it a TLS port?" } else { "" }
}
