//! CASPER cookies against those of H2O 2.2.5, and against anybody's.

use super::*;
use proptest::prelude::*;
use serde_json::Value;

/// Cookies that H2O 2.2.5 (Debian 12) sent, with the paths that it was asked for.
const VECTORS: &str = include_str!("../../../../vectors/casper/h2o-2.2.5.json");

fn paths(vector: &Value) -> Vec<&str> {
    let keys = vector["keys"].as_array().unwrap();
    keys.iter().map(|key| key["path"].as_str().unwrap()).collect()
}

#[test]
fn h2os_own_cookies_are_read_and_written_bit_for_bit() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    assert_eq!(vectors["cookie_name"], COOKIE);
    assert_eq!(vectors["attributes"], ATTRIBUTES);
    for vector in vectors["vectors"].as_array().unwrap() {
        let capacity = Capacity::new(vector["capacity_bits"].as_u64().unwrap() as u8).unwrap();
        let cookie = vector["cookie"].as_str().unwrap();
        let mut made = Fingerprint::new(capacity);
        for (path, key) in paths(vector).iter().zip(vector["keys"].as_array().unwrap()) {
            assert_eq!(u64::from(capacity.key(path)), key["key"].as_u64().unwrap(), "{path}");
            made.insert(path);
        }
        assert_eq!(made.value(), cookie);
        assert_eq!(Fingerprint::parse(capacity, cookie.as_bytes()), Ok(made));
    }
}

#[test]
fn cookies_of_a_field_are_merged_and_bad_ones_ignored() {
    let mut seen = Fingerprint::new(Capacity::default());
    let fine = b"a=b; h2o_casper=AAAB4AAAAAAAAAAAXw; h2o_casperx=AAAA; c";
    assert_eq!(seen.merge_cookies(fine), None);
    let bad = b"h2o_casper=AQ; h2o_casper=!;h2o_casper=AAAB4AAAAAAAAAAAXwAAAAD6";
    assert_eq!(seen.merge_cookies(bad), Some(BadSet::CutOff), "the first of two");
    assert_eq!(seen.len(), 3);
    assert!(seen.contains("/assets/app.js") && seen.contains("/assets/style.css?v=2"));
    assert!(!seen.contains("/index.html"));
    assert_eq!(seen.value(), "AAAB4AAAAAAAAAAAXwAAAAD6");
}

#[test]
fn what_no_server_wrote_is_told_apart() {
    let parse = |value: &[u8]| Fingerprint::parse(Capacity::new(6).unwrap(), value);
    assert_eq!(parse(b"").map(|seen| seen.len()), Ok(0));
    assert_eq!(parse(b"AQ"), Err(BadSet::CutOff), "a one bit, and the end");
    assert_eq!(parse(b"AAB/"), Err(BadSet::NotBase64), "base64's own alphabet");
    assert_eq!(parse(b"AAAAA"), Err(BadSet::NotBase64));
    assert_eq!(parse(b"QAA"), Err(BadSet::BeyondCapacity), "64");
    assert_eq!(parse(&[b'A'; 4_097]), Err(BadSet::TooLong));
    assert_eq!(parse(&[b'A'; 4_096]).map(|seen| seen.len()), Ok(0));
}

#[test]
fn the_longest_cookie_that_is_written_is_read_and_is_one_that_browsers_take() {
    let mut seen = Fingerprint::new(Capacity::new(16).unwrap());
    for number in 0..10_000 {
        seen.insert(&format!("/{number}"));
    }
    assert_eq!(seen.len(), MOST_KEYS);
    assert!(seen.set_cookie().len() < 4_096, "{}", seen.set_cookie().len());
    assert_eq!(Fingerprint::parse(seen.capacity, seen.value().as_bytes()), Ok(seen));
}

#[test]
fn a_capacity_follows_from_paths_and_the_rate_of_errors() {
    assert_eq!(Capacity::of_assets(100, 80), Some(Capacity::default()));
    assert_eq!(Capacity::of_assets(100, 100).map(Capacity::bits), Some(14));
    assert_eq!(Capacity::of_assets(0, 0).map(Capacity::bits), Some(6));
    assert_eq!(Capacity::of_assets(1_000, 1_000), None);
    assert_eq!(Capacity::of_assets(u32::MAX, u32::MAX), None);
    assert_eq!((Capacity::new(5), Capacity::new(17)), (None, None));
}

proptest! {
    #[test]
    fn a_set_is_read_as_it_was_written(bits in 6_u8..=16, paths in prop::collection::vec("/[a-z0-9/?=.]{0,20}", 0..200)) {
        let capacity = Capacity::new(bits).unwrap();
        let mut seen = Fingerprint::new(capacity);
        for path in &paths {
            seen.insert(path);
        }
        prop_assert!(paths.iter().all(|path| seen.contains(path)));
        prop_assert_eq!(Fingerprint::parse(capacity, seen.value().as_bytes()), Ok(seen));
    }

    #[test]
    fn any_cookie_is_read_or_refused(bits in 6_u8..=16, field in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut seen = Fingerprint::new(Capacity::new(bits).unwrap());
        seen.merge_cookies(&field);
        let _either = Fingerprint::parse(seen.capacity, &field);
    }
}

/// A million cookies of the alphabet that a cookie of this kind has.
#[test]
fn a_million_random_cookies_are_read_or_refused_within_bounds() {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut state = 16_u64;
    let mut next = || {
        // Knuth's MMIX generator: any spread of inputs will do.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let (mut read, mut value) = (0, Vec::new());
    for _ in 0..1_000_000 {
        let length = next() % 24;
        value.clear();
        value.extend((0..length).map(|_| ALPHABET[next() % 64]));
        let capacity = Capacity::new(6 + (next() % 11) as u8).unwrap();
        if let Ok(seen) = Fingerprint::parse(capacity, &value) {
            read += 1;
            assert!(seen.keys.is_sorted_by(|one, other| one < other));
            assert!(seen.len() * 7 <= length * 6 + 8);
        }
    }
    assert!(read > 10_000, "{read}");
}
