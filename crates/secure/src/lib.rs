//! TLS 1.2 and 1.3 as a sans-IO layer under `proto`, QUIC's cryptography, and the certificates that a laboratory needs.
//!
//! rustls does the cryptography. This crate makes it a sans-IO machine: bytes in,
//! bytes out, nothing that blocks, errors that a user can act on. Certificates are judged
//! by wall-clock time, which comes from a [`TimeProvider`] handed in (the system's by default);
//! files are read by the caller and come in as [`Pem`].
//!
//! ```
//! use endpoint::SendBuf;
//! use secure::{Authority, AuthoritySpec, ClientTls, ClientTlsOptions, ServerTls, ServerTlsOptions, Tls};
//!
//! let authority = Authority::new(AuthoritySpec::default())?;
//! let server = ServerTls::new(ServerTlsOptions::new(vec![authority.issue(&["localhost"])?]))?;
//! let client = ClientTls::new(ClientTlsOptions { roots: vec![authority.root_pem()], ..Default::default() })?;
//! let (mut near, mut far) = (Tls::client(&client, "localhost")?, Tls::server(&server)?);
//! while near.is_handshaking() || far.is_handshaking() {
//!     let mut wire = SendBuf::new();
//!     near.send(&mut SendBuf::new(), &mut wire);
//!     while far.handle_bytes(&mut &wire.to_vec()[..])?.is_some() {}
//!     let mut wire = SendBuf::new();
//!     far.send(&mut SendBuf::new(), &mut wire);
//!     while near.handle_bytes(&mut &wire.to_vec()[..])?.is_some() {}
//! }
//! assert_eq!(near.negotiated().map(|agreed| agreed.version()), Some(trace::TlsVersion::V1_3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod authority;
mod client_tls;
mod digest;
mod early;
mod error;
mod identity;
mod key_log;
mod layer;
mod quic;
mod secret;
mod server_name;
mod server_tls;
mod sessions;
mod tls;
mod trust;

pub use authority::{Authority, AuthorityError, AuthoritySpec, Validity};
pub use client_tls::{ClientTls, ClientTlsOptions, Resumption, Versions};
pub use digest::{BadDigest, Digest, Sha256};
pub use error::{ConfigError, Distrust, NO_VERSION, TlsError};
pub use identity::{Identity, Pem};
pub use key_log::KeyLog;
pub use layer::Layer;
pub use quic::{
    NumberedIds, Observed, PacketTap, PaddingSwitch, PeerWindows, QUIC_VERSION, QuicClientTls,
    QuicHandshake, QuicServerSecrets, QuicServerTls,
};
pub use rustls::pki_types::UnixTime;
pub use rustls::time_provider::TimeProvider;
pub use server_tls::{Ciphers, DEFAULT_TICKETS, ServerTls, ServerTlsOptions};
pub use tls::{Negotiated, Tls};
pub use trust::{FixedTime, RootsLater, Trust};
