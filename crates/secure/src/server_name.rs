//! Clients whose server name indication (SNI) is not a host name, such as `localhost:8443` of hey: they get the default
//! certificate, as from nginx, H2O and Apache.
//!
//! rustls 0.23 refuses such a ClientHello before it asks for a certificate; 0.24 will have a setting. Until then the name
//! is replaced by a host name of the same length before rustls sees it ([`FirstRecord`]). The handshake's transcript has
//! to hold what the client sent (RFC 8446 §4.4.1), so the hash functions that rustls is given ([`suites`]) put the
//! client's own bytes back. Only a whole first ClientHello in one record is changed; all else goes to rustls as it came.

use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{CipherSuiteCommon, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::LazyLock;

/// The first record of a client, until it is whole.
#[derive(Debug, Default)]
pub(crate) struct FirstRecord {
    begun: Vec<u8>,
}

/// What rustls is to be given in place of the bytes that came.
#[derive(Debug)]
pub(crate) enum Given {
    /// More bytes have to come first.
    Nothing,
    /// The bytes that came, which these are the first of.
    AsItCame(Vec<u8>),
    /// A record with another name in it.
    Renamed(Renamed),
}

/// A record whose server name was replaced.
#[derive(Debug)]
pub(crate) struct Renamed {
    pub(crate) record: Vec<u8>,
    hello: Hello,
}

/// A ClientHello message without its record's header.
#[derive(Debug, Clone)]
struct Hello {
    renamed: Vec<u8>,
    original: Vec<u8>,
}

impl FirstRecord {
    /// Takes bytes off the front of `cipher` where they belong to a first record that is not whole yet or has to change.
    pub(crate) fn take(&mut self, cipher: &mut &[u8]) -> Given {
        let missing = missing(&self.begun, cipher);
        if self.begun.is_empty()
            && missing <= cipher.len()
            && invalid_name(&cipher[..missing]).is_none()
        {
            // What nearly all clients send: nothing is copied.
            return Given::AsItCame(Vec::new());
        }
        let (taken, rest) = cipher.split_at(missing.min(cipher.len()));
        self.begun.extend_from_slice(taken);
        *cipher = rest;
        if taken.len() < missing {
            return Given::Nothing;
        }
        let mut record = std::mem::take(&mut self.begun);
        let Some(name) = invalid_name(&record) else { return Given::AsItCame(record) };
        let original = record[RECORD_HEADER..].to_vec();
        let length = name.len();
        record[name].copy_from_slice(&host_name(length));
        let renamed = record[RECORD_HEADER..].to_vec();
        Given::Renamed(Renamed { record, hello: Hello { renamed, original } })
    }
}

impl Renamed {
    /// Runs `process`, in which rustls reads the record, with the transcript mended.
    pub(crate) fn with_transcript<T>(self, process: impl FnOnce(&[u8]) -> T) -> T {
        HELLO.set(Some(self.hello));
        let result = process(&self.record);
        HELLO.set(None);
        result
    }
}

/// Bytes that a record which begins with `begun`, then `next`, needs beyond `begun`. What is no handshake record needs
/// nothing.
fn missing(begun: &[u8], next: &[u8]) -> usize {
    let byte = |at: usize| begun.get(at).or_else(|| next.get(at - begun.len())).copied();
    match (byte(0), byte(3), byte(4)) {
        (Some(kind), _, _) if kind != HANDSHAKE => 0,
        (Some(_), Some(high), Some(low)) => {
            let length = RECORD_HEADER + usize::from(u16::from_be_bytes([high, low]));
            length.saturating_sub(begun.len())
        }
        _ => RECORD_HEADER - begun.len(),
    }
}

/// Where the server name of a record with a ClientHello stands, if it is neither a host name nor an IP address, and a host
/// name can take its place (RFC 8446 §4.1.2, RFC 6066 §3).
fn invalid_name(record: &[u8]) -> Option<Range<usize>> {
    let is_hello = be(record, 0, 1)? == usize::from(HANDSHAKE)
        && be(record, RECORD_HEADER, 1)? == CLIENT_HELLO
        && be(record, RECORD_HEADER + 1, 3)? + HELLO_START == record.len();
    if !is_hello {
        return None;
    }
    let mut skip = HELLO_START + VERSION_AND_RANDOM;
    for length_bytes in [1, 2, 1] {
        // Session ID, cipher suites, compression methods.
        skip += length_bytes + be(record, skip, length_bytes)?;
    }
    skip += 2;
    loop {
        let (kind, length) = (be(record, skip, 2)?, be(record, skip + 2, 2)?);
        let start = skip + 4;
        skip = start + length;
        if kind != SERVER_NAME {
            continue;
        }
        let (name_kind, name_length) = (be(record, start + 2, 1)?, be(record, start + 3, 2)?);
        let name = start + 5..start + 5 + name_length;
        let is_one = name_kind == HOST_NAME && name.end == skip;
        let is_valid = ServerName::try_from(record.get(name.clone())?).is_ok();
        return (is_one && !is_valid && (1..=LONGEST_NAME).contains(&name_length)).then_some(name);
    }
}

/// The number in `bytes` bytes at `at`, the highest first.
fn be(record: &[u8], at: usize, bytes: usize) -> Option<usize> {
    let field = record.get(at..at + bytes)?;
    Some(field.iter().fold(0, |value, byte| value << 8 | usize::from(*byte)))
}

/// A host name of this length that nobody has a certificate for.
fn host_name(length: usize) -> Vec<u8> {
    let is_dot = |at: usize| at % LABEL == LABEL - 1 && at + 1 < length;
    (0..length).map(|at| if is_dot(at) { b'.' } else { b'x' }).collect()
}

const RECORD_HEADER: usize = 5;
/// The record's header and the message's.
const HELLO_START: usize = RECORD_HEADER + 4;
const VERSION_AND_RANDOM: usize = 2 + 32;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: usize = 1;
const SERVER_NAME: usize = 0;
const HOST_NAME: usize = 0;
/// RFC 1035 §2.3.4, as text.
const LONGEST_NAME: usize = 253;
/// Bytes of a label with its dot; at most 64.
const LABEL: usize = 60;

thread_local! {
    /// The ClientHello that rustls reads on this thread at the moment, if its name was replaced.
    static HELLO: RefCell<Option<Hello>> = const { RefCell::new(None) };
}

/// ring's cipher suites, with hash functions that put the client's own ClientHello into the transcript.
pub(crate) fn suites() -> Vec<SupportedCipherSuite> {
    static SUITES: LazyLock<Vec<SupportedCipherSuite>> =
        LazyLock::new(|| ring::default_provider().cipher_suites.into_iter().map(wrap).collect());
    SUITES.clone()
}

/// rustls keeps references that live as long as the process; there are nine suites.
fn wrap(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let common = |common: &CipherSuiteCommon| CipherSuiteCommon {
        suite: common.suite,
        hash_provider: Box::leak(Box::new(TranscriptHash(common.hash_provider))),
        confidentiality_limit: common.confidentiality_limit,
    };
    match suite {
        SupportedCipherSuite::Tls12(suite) => {
            SupportedCipherSuite::Tls12(Box::leak(Box::new(Tls12CipherSuite {
                common: common(&suite.common),
                prf_provider: suite.prf_provider,
                kx: suite.kx,
                sign: suite.sign,
                aead_alg: suite.aead_alg,
            })))
        }
        SupportedCipherSuite::Tls13(suite) => {
            SupportedCipherSuite::Tls13(Box::leak(Box::new(Tls13CipherSuite {
                common: common(&suite.common),
                hkdf_provider: suite.hkdf_provider,
                aead_alg: suite.aead_alg,
                quic: suite.quic,
            })))
        }
    }
}

struct TranscriptHash(&'static dyn Hash);

impl Hash for TranscriptHash {
    fn start(&self) -> Box<dyn Context> {
        Box::new(Transcript(self.0.start()))
    }

    fn hash(&self, data: &[u8]) -> Output {
        self.0.hash(data)
    }

    fn output_len(&self) -> usize {
        self.0.output_len()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.0.algorithm()
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

struct Transcript(Box<dyn Context>);

impl Context for Transcript {
    fn fork_finish(&self) -> Output {
        self.0.fork_finish()
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Self(self.0.fork()))
    }

    fn finish(self: Box<Self>) -> Output {
        self.0.finish()
    }

    /// A ClientHello comes whole, or up to the binders of a resumption (RFC 8446 §4.2.11.2).
    fn update(&mut self, data: &[u8]) {
        HELLO.with_borrow(|hello| match hello {
            Some(hello) if data.len() > VERSION_AND_RANDOM && hello.renamed.starts_with(data) => {
                self.0.update(&hello.original[..data.len()]);
            }
            _ => self.0.update(data),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};
    use std::sync::Arc;

    /// The first record of a client that asks for `name`, with the dots of it made colons.
    fn record(name: &str) -> Vec<u8> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name.clone()).unwrap();
        let mut record = Vec::new();
        client.write_tls(&mut record).unwrap();
        let name = name.to_str().into_owned().into_bytes();
        let at = record.windows(name.len()).position(|bytes| bytes == name).unwrap();
        for byte in record[at..at + name.len()].iter_mut().filter(|byte| **byte == b'.') {
            *byte = b':';
        }
        record
    }

    /// What comes of a record that arrives in two parts, with bytes of the next one behind it.
    fn take(record: &[u8], at: usize) -> (Given, Vec<u8>) {
        let mut first = FirstRecord::default();
        let (mut head, tail) = record.split_at(at);
        if at > 0 {
            assert!(matches!(first.take(&mut head), Given::Nothing), "{at}");
            assert!(head.is_empty());
        }
        let tail = [tail, b"next"].concat();
        let mut rest = &tail[..];
        let given = first.take(&mut rest);
        (given, rest.to_vec())
    }

    #[test]
    fn a_name_that_is_none_is_replaced_however_the_record_arrives() {
        let record = record("localhost.8443x");
        for at in 0..record.len() {
            let (Given::Renamed(renamed), rest) = take(&record, at) else { panic!("{at}") };
            assert_eq!(rest, b"next");
            assert_eq!(renamed.record.len(), record.len());
            assert_eq!(renamed.hello.original, record[RECORD_HEADER..]);
            assert_eq!(invalid_name(&renamed.record), None);
        }
    }

    #[test]
    fn a_host_name_passes_however_the_record_arrives() {
        let record = record("localhost");
        for at in 0..record.len() {
            let (Given::AsItCame(begun), rest) = take(&record, at) else { panic!("{at}") };
            assert_eq!([begun, rest].concat(), [&record[..], b"next"].concat());
        }
    }

    #[test]
    fn what_is_no_client_hello_passes_and_never_panics() {
        let whole = record("localhost.8443x");
        for (at, byte) in (0..whole.len()).flat_map(|at| [0, 1, 0x7f, 0xff].map(|byte| (at, byte)))
        {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            let _any = FirstRecord::default().take(&mut &damaged[..]);
        }
        for text in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\x16", b""] {
            let mut rest = text;
            let given = FirstRecord::default().take(&mut rest);
            let waits = text.first() == Some(&HANDSHAKE) || text.is_empty();
            assert_eq!(matches!(given, Given::Nothing), waits, "{text:?}");
        }
    }

    #[test]
    fn the_name_in_place_of_another_is_a_host_name_of_its_length() {
        for length in 1..=LONGEST_NAME {
            let name = host_name(length);
            assert_eq!(name.len(), length);
            assert!(ServerName::try_from(&name[..]).is_ok(), "{length}");
        }
    }
}
