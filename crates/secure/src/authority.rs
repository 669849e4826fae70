//! A certificate authority of one's own: a root, an intermediate, and leaves for the names asked for.
//!
//! The chain sent (leaf and intermediate) has the size of a public one, 2.8 kB, because its
//! bytes cost round trips on a slow link with a small initial window. Over QUIC the whole handshake still goes to a client
//! whose address is not proven, three times its 1,200 bytes (RFC 9000 §8.1), also in datagrams as large as TCP's segments: a
//! chain of 3 kB would cost a round trip there. ECDSA P-256 keys keep the
//! cryptography cheap; the size comes from what public certificates carry (see [`extensions`]): signed
//! certificate timestamps, access points of the authority, revocation lists, policies, and the further
//! names of a certificate that a content network shares between its customers.
//!
//! Everything but the keys and signatures follows from the seed and the names.

mod extensions;

use crate::digest::{Digest, Sha256};
use crate::identity::{Identity, Pem};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CrlDistributionPoint, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber,
    date_time_ymd,
};
use rustls::pki_types::UnixTime;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Duration;
use thiserror::Error as ThisError;
use unit::{ByteSize, Seed};

/// When a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// From.
    pub not_before: UnixTime,
    /// Until.
    pub not_after: UnixTime,
}

impl Validity {
    /// From a day before `now` (clocks differ) for the 90 days that public leaves have.
    pub fn around(now: UnixTime) -> Self {
        let start = now.as_secs().saturating_sub(DAY);
        Self { not_before: at(start), not_after: at(start + 90 * DAY) }
    }
}

impl Default for Validity {
    /// 2020 to 2049, for callers without a clock. X.509 encodes dates after 2049 differently.
    fn default() -> Self {
        Self { not_before: at(1_577_836_800), not_after: at(2_492_899_200) }
    }
}

/// What an authority shall be like.
#[derive(Debug, Clone)]
pub struct AuthoritySpec {
    /// Serial numbers and the contents of timestamps flow from it.
    pub seed: Seed,
    /// When its leaves are valid. Root and intermediate are valid from 2020 to 2049.
    pub validity: Validity,
    /// Bytes that leaf and intermediate shall have together: further names fill the leaf up to it.
    pub chain_size: ByteSize,
}

impl Default for AuthoritySpec {
    fn default() -> Self {
        Self { seed: Seed(1), validity: Validity::default(), chain_size: ByteSize(2_800) }
    }
}

/// Why a certificate could not be made.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum AuthorityError {
    /// A leaf needs a name.
    #[error("a certificate needs at least one name")]
    NoName,
    /// The name cannot stand in a certificate.
    #[error(
        "`{0}` cannot stand in a certificate: host names are ASCII (punycode), addresses plain"
    )]
    BadName(String),
    /// The library that builds certificates refused.
    #[error("the certificate could not be made: {0}")]
    Refused(String),
}

/// A root and an intermediate that signs leaves.
pub struct Authority {
    root: CertifiedIssuer<'static, KeyPair>,
    intermediate: CertifiedIssuer<'static, KeyPair>,
    spec: AuthoritySpec,
}

impl Authority {
    /// Makes both with fresh keys.
    pub fn new(spec: AuthoritySpec) -> Result<Self, AuthorityError> {
        let lasting = Validity::default();
        let mut params =
            issuer_params(&name("Root X", spec.seed), serial(spec.seed, "root"), lasting)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = CertifiedIssuer::self_signed(params, key()?).map_err(refused)?;

        let number = serial(spec.seed, "intermediate");
        let mut params = issuer_params(&name("Intermediate E", spec.seed), number, lasting)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.crl_distribution_points = revocation_list("http://x1.c.authority.example/root.crl");
        params.custom_extensions = vec![
            extensions::policies(),
            extensions::authority_access(None, "http://x1.i.authority.example/root.der"),
        ];
        let intermediate = CertifiedIssuer::signed_by(params, key()?, &root).map_err(refused)?;
        Ok(Self { root, intermediate, spec })
    }

    /// The root, for those who shall believe.
    pub fn root_pem(&self) -> Pem {
        Pem::new("wirelap's own root", self.root.pem())
    }

    /// SHA-256 of the intermediate's public key, as a SubjectPublicKeyInfo in DER (RFC 7469 §2.4): by it a browser can be
    /// told to trust every leaf of this authority.
    pub fn public_key_digest(&self) -> Digest {
        let mut digest = Sha256::new();
        digest.update(&self.intermediate.key().subject_public_key_info());
        digest.finish()
    }

    /// A leaf for these host names and addresses, with the intermediate behind it.
    pub fn issue(&self, names: &[&str]) -> Result<Identity, AuthorityError> {
        let first = names.first().ok_or(AuthorityError::NoName)?;
        let key = key()?;
        let mut params = self.leaf_params(first, names)?;
        let mut leaf = params.signed_by(&key, &self.intermediate).map_err(refused)?;
        // Each further name adds some bytes, and they may lengthen the lengths before them.
        let missing = (self.spec.chain_size.0 as usize)
            .saturating_sub(leaf.der().len() + self.intermediate.der().len());
        if missing > 0 {
            self.add_neighbours(&mut params, missing)?;
            leaf = params.signed_by(&key, &self.intermediate).map_err(refused)?;
        }
        let chain = leaf.pem() + &self.intermediate.pem();
        Identity::from_pem(&Pem::new(*first, chain), &Pem::new(*first, key.serialize_pem()))
            .map_err(|error| AuthorityError::Refused(error.to_string()))
    }

    fn leaf_params(
        &self,
        first: &str,
        names: &[&str],
    ) -> Result<CertificateParams, AuthorityError> {
        let seed = self.spec.seed.child(&names.join(" "));
        let mut params = CertificateParams::default();
        set_validity(&mut params, self.spec.validity);
        params.serial_number = Some(serial(seed, "leaf"));
        // RFC 5280's bound on common names is 64; the names that count are the alternative ones.
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, &first[..first.len().min(64)]);
        params.subject_alt_names =
            names.iter().map(|name| alternative_name(name)).collect::<Result<_, _>>()?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        params.crl_distribution_points = revocation_list("http://e1.c.authority.example/127.crl");
        params.custom_extensions = vec![
            extensions::policies(),
            extensions::authority_access(
                Some("http://e1.o.authority.example"),
                "http://e1.i.authority.example/intermediate.der",
            ),
            extensions::timestamps(seed.child("timestamps"), self.spec.validity.not_before),
        ];
        Ok(params)
    }

    /// Adds names of about `bytes` bytes in all, such as a shared certificate has.
    fn add_neighbours(
        &self,
        params: &mut CertificateParams,
        bytes: usize,
    ) -> Result<(), AuthorityError> {
        let mut left = bytes;
        let seed = self.spec.seed.child("neighbours");
        for index in 0.. {
            let mut name = String::new();
            // Writing to a String cannot fail.
            let _ = write!(name, "assets-{:08x}.customer.example", seed.draw(index) as u32);
            // Tag and length come before each name.
            let cost = name.len() + 2;
            if left < cost {
                break;
            }
            left -= cost;
            params.subject_alt_names.push(alternative_name(&name)?);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("spec", &self.spec).finish_non_exhaustive()
    }
}

const DAY: u64 = 86_400;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn key() -> Result<KeyPair, AuthorityError> {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(refused)
}

fn refused(error: rcgen::Error) -> AuthorityError {
    AuthorityError::Refused(error.to_string())
}

/// Authorities of different seeds have different names.
fn name(what: &str, seed: Seed) -> String {
    format!("wirelap {what}{}", seed.0)
}

/// RFC 5280 §4.1.2.2: positive, at most 20 bytes; public authorities use 16 or more.
fn serial(seed: Seed, purpose: &str) -> SerialNumber {
    let seed = seed.child(purpose);
    let mut bytes = [seed.draw(0).to_be_bytes(), seed.draw(1).to_be_bytes()].concat();
    bytes[0] = bytes[0] & 0x7f | 0x40;
    SerialNumber::from_slice(&bytes)
}

fn issuer_params(
    name: &str,
    serial: SerialNumber,
    validity: Validity,
) -> Result<CertificateParams, AuthorityError> {
    let mut params = CertificateParams::default();
    set_validity(&mut params, validity);
    params.serial_number = Some(serial);
    params.distinguished_name = rcgen::DistinguishedName::new();
    // RFC 5280 appendix A.1: X520countryName is a PrintableString, whatever the other names are.
    let country = DnValue::PrintableString("XX".try_into().map_err(refused)?);
    params.distinguished_name.push(DnType::CountryName, country);
    params.distinguished_name.push(DnType::OrganizationName, "wirelap web transport laboratory");
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
    ];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn set_validity(params: &mut CertificateParams, validity: Validity) {
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + Duration::from_secs(validity.not_before.as_secs());
    params.not_after = epoch + Duration::from_secs(validity.not_after.as_secs());
}

fn alternative_name(name: &str) -> Result<SanType, AuthorityError> {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let bad = || AuthorityError::BadName(name.to_owned());
    if name.is_empty() || !name.bytes().all(|c| c.is_ascii_alphanumeric() || b".-_*".contains(&c)) {
        return Err(bad());
    }
    name.try_into().map(SanType::DnsName).map_err(|_| bad())
}

fn revocation_list(uri: &str) -> Vec<CrlDistributionPoint> {
    vec![CrlDistributionPoint { uris: vec![uri.to_owned()] }]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of the chain's certificates: what a full handshake carries besides its framing.
    fn chain_length(identity: &Identity) -> usize {
        identity.certified.cert.iter().map(|certificate| certificate.len()).sum()
    }

    #[test]
    fn the_chain_has_the_size_of_a_public_one() {
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        for names in [vec!["localhost"], vec!["10.0.0.1", "::1", "far", "www.some-shop.example"]] {
            let length = chain_length(&authority.issue(&names).unwrap());
            assert!((2_740..=2_820).contains(&length), "{length} bytes for {names:?}");
        }
    }

    #[test]
    fn a_country_is_named_in_the_only_kind_of_string_that_it_may_be() {
        const OID: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x06];
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        for certificate in [authority.root.der(), authority.intermediate.der()] {
            let named: Vec<&[u8]> =
                certificate.windows(9).filter(|bytes| bytes.starts_with(&OID)).collect();
            assert_eq!(named.len(), 2, "issuer and subject");
            assert!(named.iter().all(|bytes| bytes[5..] == *b"\x13\x02XX"), "{named:x?}");
        }
    }

    #[test]
    fn many_names_of_ones_own_need_no_neighbours() {
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let names: Vec<String> = (0..60).map(|n| format!("host-{n}.a-real-page.example")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let identity = authority.issue(&names).unwrap();
        let length = chain_length(&identity);
        assert!(length > 2_900, "{length}");
    }

    #[test]
    fn names_that_no_certificate_can_hold_are_refused() {
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        assert_eq!(authority.issue(&[]).unwrap_err(), AuthorityError::NoName);
        for bad in ["", "münchen.example", "two words"] {
            assert_eq!(authority.issue(&[bad]).unwrap_err(), AuthorityError::BadName(bad.into()));
        }
    }
}
