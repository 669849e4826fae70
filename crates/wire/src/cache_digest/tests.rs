//! Digests as H2O 2.2 reads them (its unit tests have these hashes and values), and anybody's.

use super::*;
use proptest::prelude::*;

const STYLE: &str = "https://example.com/style.css";
const HELLO: &str = "https://127.0.0.1.xip.io:8081/cache-digests.cgi/hello.js";

#[test]
fn hashes_are_those_of_h2o() {
    assert_eq!(UrlHash::of_url(STYLE).0, 0xbaf9_e86f_0333_0860);
    assert_eq!(UrlHash::of_response(STYLE, b"\"deadbeef\"").0, 0xa53e_b398_5090_42d7);
}

#[test]
fn a_digest_is_read_and_written_as_h2o_does() {
    let digest = Digest::parse(Validators::Left, b"AeLA").unwrap();
    assert_eq!((digest.number_bits, digest.rate_bits, &digest.keys[..]), (0, 7, &[0x0b][..]));
    assert_eq!(digest.value(), "AeLA");
    assert!(digest.contains(UrlHash::of_url(HELLO)));
    assert_eq!(Digest::parse(Validators::Joined, b"AcA").map(|digest| digest.len()), Ok(0));
}

#[test]
fn the_flags_of_a_field_say_what_its_digests_are() {
    let (hello, tagged) = (UrlHash::of_url(HELLO), UrlHash::of_response(HELLO, b"\"1\""));
    let mut cached = CacheDigests::default();
    assert_eq!(cached.merge_field(b"FOO; stale, AcA; validators; complete"), None);
    assert_eq!((cached.digests.len(), cached.contains(hello, Some(tagged))), (1, false));
    assert_eq!(cached.merge_field(b"AeLA"), None);
    assert!(cached.contains(hello, None));
    assert_eq!(cached.merge_field(b"AcA; Reset"), None);
    assert_eq!((cached.digests.len(), cached.contains(hello, None)), (1, false));
    let joined = Digest::new(Validators::Joined, &[tagged], 20).value();
    assert_eq!(cached.merge_field(format!("{joined} ;validators").as_bytes()), None);
    assert!(cached.contains(hello, Some(tagged)));
    assert!(!cached.contains(hello, None) && !cached.contains(tagged, None));
}

#[test]
fn what_cannot_be_read_is_told_and_ignored() {
    let mut cached = CacheDigests::default();
    assert_eq!(cached.merge_field(b"!, A, AeLA"), Some(BadSet::NotBase64), "the first");
    assert!(cached.contains(UrlHash::of_url(HELLO), None), "the last is fine");
    let parse = |value: &[u8]| Digest::parse(Validators::Left, value).map(|digest| digest.len());
    assert_eq!(parse(b""), Err(BadSet::CutOff));
    assert_eq!(parse(b"AQ"), Err(BadSet::CutOff), "eight bits");
    assert_eq!(parse(b"AeI"), Err(BadSet::CutOff), "half a key");
    assert_eq!(parse(b"AAE"), Err(BadSet::BeyondCapacity), "no bits");
    assert_eq!(parse(&[b'A'; 16_385]), Err(BadSet::TooLong));
    // All keys from 0 on, a bit each: r is 0, N is 31.
    assert_eq!(parse(&[&b"-D"[..], &[b'_'; 2_000]].concat()), Err(BadSet::TooLong));
    let mut many = CacheDigests::default();
    assert_eq!(many.merge_field(&b"AeLA,".repeat(17)), Some(BadSet::TooLong));
    assert_eq!(many.digests.len(), 16);
}

/// H2O took a digest without bits, and shifted by all 64.
#[test]
fn a_digest_without_bits_names_everything() {
    let digest = Digest::parse(Validators::Left, b"ACA").unwrap();
    assert_eq!((digest.number_bits + digest.rate_bits, &digest.keys[..]), (0, &[0][..]));
    assert!(digest.contains(UrlHash::of_url(STYLE)) && digest.contains(UrlHash::of_url(HELLO)));
    assert_eq!(Digest::parse(Validators::Left, b"AAA").map(|digest| digest.len()), Ok(0));
}

proptest! {
    #[test]
    fn a_digest_is_read_as_it_was_written(rate_bits in 0_u8..=40, hashes in prop::collection::vec(any::<u64>(), 0..300)) {
        let hashes: Vec<UrlHash> = hashes.into_iter().map(UrlHash).collect();
        let digest = Digest::new(Validators::Left, &hashes, rate_bits);
        prop_assert!(hashes.iter().all(|hash| digest.contains(*hash)));
        prop_assert_eq!(Digest::parse(Validators::Left, digest.value().as_bytes()), Ok(digest));
    }

    #[test]
    fn any_field_is_read_or_refused(field in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut cached = CacheDigests::default();
        let _either = cached.merge_field(&field);
        let _either = Digest::parse(Validators::Left, &field);
        let url = UrlHash::of_url("https://a.test/");
        let _either = cached.contains(url, Some(url));
    }
}
