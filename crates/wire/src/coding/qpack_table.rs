//! The static table (RFC 9204 Appendix A).

use super::Found;

/// Name and value of entry `index`.
pub(crate) const ENTRIES: [(&[u8], &[u8]); 99] = [
    (b":authority", b""),
    (b":path", b"/"),
    (b"age", b"0"),
    (b"content-disposition", b""),
    (b"content-length", b"0"),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"referer", b""),
    (b"set-cookie", b""),
    (b":method", b"CONNECT"),
    (b":method", b"DELETE"),
    (b":method", b"GET"),
    (b":method", b"HEAD"),
    (b":method", b"OPTIONS"),
    (b":method", b"POST"),
    (b":method", b"PUT"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"103"),
    (b":status", b"200"),
    (b":status", b"304"),
    (b":status", b"404"),
    (b":status", b"503"),
    (b"accept", b"*/*"),
    (b"accept", b"application/dns-message"),
    (b"accept-encoding", b"gzip, deflate, br"),
    (b"accept-ranges", b"bytes"),
    (b"access-control-allow-headers", b"cache-control"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-allow-origin", b"*"),
    (b"cache-control", b"max-age=0"),
    (b"cache-control", b"max-age=2592000"),
    (b"cache-control", b"max-age=604800"),
    (b"cache-control", b"no-cache"),
    (b"cache-control", b"no-store"),
    (b"cache-control", b"public, max-age=31536000"),
    (b"content-encoding", b"br"),
    (b"content-encoding", b"gzip"),
    (b"content-type", b"application/dns-message"),
    (b"content-type", b"application/javascript"),
    (b"content-type", b"application/json"),
    (b"content-type", b"application/x-www-form-urlencoded"),
    (b"content-type", b"image/gif"),
    (b"content-type", b"image/jpeg"),
    (b"content-type", b"image/png"),
    (b"content-type", b"text/css"),
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-type", b"text/plain"),
    (b"content-type", b"text/plain;charset=utf-8"),
    (b"range", b"bytes=0-"),
    (b"strict-transport-security", b"max-age=31536000"),
    (b"strict-transport-security", b"max-age=31536000; includesubdomains"),
    (b"strict-transport-security", b"max-age=31536000; includesubdomains; preload"),
    (b"vary", b"accept-encoding"),
    (b"vary", b"origin"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-xss-protection", b"1; mode=block"),
    (b":status", b"100"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"302"),
    (b":status", b"400"),
    (b":status", b"403"),
    (b":status", b"421"),
    (b":status", b"425"),
    (b":status", b"500"),
    (b"accept-language", b""),
    (b"access-control-allow-credentials", b"FALSE"),
    (b"access-control-allow-credentials", b"TRUE"),
    (b"access-control-allow-headers", b"*"),
    (b"access-control-allow-methods", b"get"),
    (b"access-control-allow-methods", b"get, post, options"),
    (b"access-control-allow-methods", b"options"),
    (b"access-control-expose-headers", b"content-length"),
    (b"access-control-request-headers", b"content-type"),
    (b"access-control-request-method", b"get"),
    (b"access-control-request-method", b"post"),
    (b"alt-svc", b"clear"),
    (b"authorization", b""),
    (b"content-security-policy", b"script-src 'none'; object-src 'none'; base-uri 'none'"),
    (b"early-data", b"1"),
    (b"expect-ct", b""),
    (b"forwarded", b""),
    (b"if-range", b""),
    (b"origin", b""),
    (b"purpose", b"prefetch"),
    (b"server", b""),
    (b"timing-allow-origin", b"*"),
    (b"upgrade-insecure-requests", b"1"),
    (b"user-agent", b""),
    (b"x-forwarded-for", b""),
    (b"x-frame-options", b"deny"),
    (b"x-frame-options", b"sameorigin"),
];

/// Looks a field up: a hash and the few entries that share it.
pub(crate) fn find(name: &[u8], value: &[u8]) -> Found {
    let mut found = Found::Nothing;
    let mut at = HEADS[bucket(name)];
    while at != NONE {
        let (n, v) = ENTRIES[usize::from(at)];
        if n == name {
            if v == value {
                return Found::Whole(at);
            }
            if found == Found::Nothing {
                found = Found::Name(at);
            }
        }
        at = NEXT[usize::from(at)];
    }
    found
}

const NONE: u8 = u8::MAX;
const BUCKETS: usize = 128;
/// The first entry of each bucket.
static HEADS: [u8; BUCKETS] = chains().0;
/// The next entry of the same bucket.
static NEXT: [u8; ENTRIES.len()] = chains().1;

/// Chains in the order of the table, worked out at compile time.
const fn chains() -> ([u8; BUCKETS], [u8; ENTRIES.len()]) {
    let (mut heads, mut next) = ([NONE; BUCKETS], [NONE; ENTRIES.len()]);
    let mut at = ENTRIES.len();
    while at > 0 {
        at -= 1;
        let bucket = bucket(ENTRIES[at].0);
        next[at] = heads[bucket];
        heads[bucket] = at as u8;
    }
    (heads, next)
}

const fn bucket(name: &[u8]) -> usize {
    let (Some(first), Some(last)) = (name.first(), name.last()) else { return 0 };
    let middle = name[name.len() / 2];
    (name.len() + 7 * *first as usize + 31 * *last as usize + 13 * middle as usize) % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_where_the_rfc_has_it() {
        for (at, (name, value)) in ENTRIES.iter().enumerate() {
            assert_eq!(find(name, value), Found::Whole(at as u8));
            assert!(
                matches!(find(name, b"some other value"), Found::Name(i) if ENTRIES[usize::from(i)].0 == *name)
            );
        }
        assert_eq!(find(b"x-thing", b""), Found::Nothing);
        assert_eq!(find(b"", b""), Found::Nothing);
    }
}
