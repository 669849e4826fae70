//! Extensions that public certificates carry and rcgen does not write, in DER (X.690).

use rcgen::CustomExtension;
use rustls::pki_types::UnixTime;
use unit::Seed;

/// RFC 5280 §4.2.2.1: where the issuer's certificate and its status are found.
pub(super) fn authority_access(status: Option<&str>, issuer: &str) -> CustomExtension {
    const OCSP: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 0x30, 1];
    const CA_ISSUERS: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 0x30, 2];
    let access = |method: &[u8], uri: &str| {
        element(SEQUENCE, &[element(OBJECT, method), element(URI, uri.as_bytes())].concat())
    };
    let mut points = status.map(|uri| access(OCSP, uri)).unwrap_or_default();
    points.extend(access(CA_ISSUERS, issuer));
    CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 1], element(SEQUENCE, &points))
}

/// RFC 5280 §4.2.1.4: domain-validated (CA/Browser Forum 2.23.140.1.2.1), and a policy of one's own
/// with a pointer to its practice statement.
pub(super) fn policies() -> CustomExtension {
    const DOMAIN_VALIDATED: &[u8] = &[0x67, 0x81, 0x0c, 1, 2, 1];
    // 1.3.6.1.4.1.32473 is the enterprise number for documentation (RFC 5612).
    const OWN: &[u8] = &[0x2b, 6, 1, 4, 1, 0x81, 0xfd, 0x59, 1, 1, 1];
    const CPS: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 2, 1];
    let statement = element(IA5_STRING, b"http://cps.authority.example");
    let qualifier = element(SEQUENCE, &[element(OBJECT, CPS), statement].concat());
    let own = [element(OBJECT, OWN), element(SEQUENCE, &qualifier)].concat();
    let list = [element(SEQUENCE, &element(OBJECT, DOMAIN_VALIDATED)), element(SEQUENCE, &own)];
    CustomExtension::from_oid_content(&[2, 5, 29, 32], element(SEQUENCE, &list.concat()))
}

/// RFC 6962 §3.3: three timestamps in the form that logs give, by logs that do not exist. No client
/// asks for valid ones from an authority that was put in by hand; what counts is that they are there
/// and do not compress.
pub(super) fn timestamps(seed: Seed, issued: UnixTime) -> CustomExtension {
    let mut random = seed.random();
    let mut list = Vec::new();
    for _ in 0..3 {
        let mut stamp = vec![0]; // version 1
        stamp.extend(bytes::<32>(&mut random)); // log identifier
        stamp.extend((issued.as_secs() * 1_000).to_be_bytes());
        stamp.extend([0, 0]); // no extensions
        stamp.extend([4, 3]); // SHA-256, ECDSA
        let halves = [integer(bytes(&mut random)), integer(bytes(&mut random))].concat();
        let signature = element(SEQUENCE, &halves);
        stamp.extend((signature.len() as u16).to_be_bytes());
        stamp.extend(signature);
        list.extend((stamp.len() as u16).to_be_bytes());
        list.extend(stamp);
    }
    let mut content = (list.len() as u16).to_be_bytes().to_vec();
    content.extend(list);
    CustomExtension::from_oid_content(
        &[1, 3, 6, 1, 4, 1, 11129, 2, 4, 2],
        element(OCTET_STRING, &content),
    )
}

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT: u8 = 0x06;
const IA5_STRING: u8 = 0x16;
const SEQUENCE: u8 = 0x30;
/// GeneralName's uniformResourceIdentifier, implicit tag 6.
const URI: u8 = 0x86;

/// Tag, length, content.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut der = vec![tag];
    match length {
        0..0x80 => der.push(length as u8),
        0x80..0x100 => der.extend([0x81, length as u8]),
        _ => {
            der.push(0x82);
            der.extend((length as u16).to_be_bytes());
        }
    }
    der.extend(content);
    der
}

/// A positive number of 32 bytes.
fn integer(mut bytes: [u8; 32]) -> Vec<u8> {
    bytes[0] = bytes[0] & 0x7f | 0x40;
    element(INTEGER, &bytes)
}

fn bytes<const N: usize>(random: &mut unit::Random) -> [u8; N] {
    std::array::from_fn(|_| random.next_u64() as u8)
}
