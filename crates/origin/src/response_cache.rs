//! Caches responses of static files. A head is rebuilt once a second, for its date. The one rule: a response is cached
//! no longer than its file counts as unchanged.

use crate::body::Body;
use crate::files::File;
use foldhash::fast::RandomState;
use proto::{Fields, Method, RequestHead, ResponseHead, Status};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use unit::Instant;

/// The most responses in the cache.
const ENTRIES: usize = 1024;

/// The most bytes of files in the cache: the file cache may hold each file whole.
const BYTES: u64 = 16 * 1024 * 1024;

/// Complete responses, by request target.
#[derive(Debug, Default)]
pub(crate) struct ResponseCache {
    responses: HashMap<Box<str>, Rc<CachedResponse>, RandomState>,
    bytes: u64,
}

/// A response with a whole file.
pub(crate) struct CachedResponse {
    file: Rc<dyn File>,
    length: u64,
    until: Instant,
    /// Without the fields that every response gets.
    fields: Fields,
    /// The head for the present second.
    head: RefCell<Option<(u64, Rc<ResponseHead>)>>,
}

impl ResponseCache {
    /// The cached response to an unconditional request for a whole file.
    pub(crate) fn find(&self, now: Instant, request: &RequestHead) -> Option<Rc<CachedResponse>> {
        let cached = self.responses.get(request.path.as_str())?;
        (now < cached.until && is_plain(request)).then(|| Rc::clone(cached))
    }

    /// Caches the response to a plain request without a query, where its file counts as unchanged for a while.
    pub(crate) fn keep(
        &mut self,
        request: &RequestHead,
        file: &Rc<dyn File>,
        length: u64,
        fields: &Fields,
    ) {
        let Some(until) = file.fresh_until() else { return };
        if length > BYTES || request.path.contains('?') || !is_plain(request) {
            return;
        }
        if let Some(known) = self.responses.remove(request.path.as_str()) {
            self.bytes -= known.length;
        }
        // A full cache is emptied: what is requested often comes back with its next request.
        if self.responses.len() >= ENTRIES || self.bytes + length > BYTES {
            *self = Self::default();
        }
        self.bytes += length;
        let (file, fields, head) = (Rc::clone(file), fields.clone(), RefCell::default());
        let cached = CachedResponse { file, length, until, fields, head };
        self.responses.insert(request.path.as_str().into(), Rc::new(cached));
    }
}

impl CachedResponse {
    /// The head for the present second. `make` builds it from the file's own fields, once a second.
    pub(crate) fn head(
        &self,
        second: u64,
        make: impl FnOnce(&Fields) -> ResponseHead,
    ) -> Rc<ResponseHead> {
        let mut kept = self.head.borrow_mut();
        match &*kept {
            Some((made, head)) if *made == second => Rc::clone(head),
            _ => {
                let mut head = make(&self.fields);
                head.fields.push(b"content-length", self.length.to_string().as_bytes());
                head.fields.validate();
                let head = Rc::new(head);
                *kept = Some((second, Rc::clone(&head)));
                head
            }
        }
    }

    /// Without the fields that every response gets.
    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    pub(crate) fn status(&self) -> Status {
        Status::OK
    }

    /// When its file has to be looked at again.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    pub(crate) fn body(&self) -> Body {
        Body::File { file: Rc::clone(&self.file), left: 0..self.length }
    }
}

impl std::fmt::Debug for CachedResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CachedResponse").field("length", &self.length).finish_non_exhaustive()
    }
}

/// Whether the target alone decides the response: no precondition (RFC 9110 §13.1), no range (§14.2).
fn is_plain(request: &RequestHead) -> bool {
    let decides = |name: &[u8]| {
        name.eq_ignore_ascii_case(b"range")
            || name.first_chunk::<3>().is_some_and(|start| start.eq_ignore_ascii_case(b"if-"))
    };
    matches!(request.method, Method::Get | Method::Head)
        && !request.fields.iter().any(|field| decides(field.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileFacts;
    use bytes::Bytes;
    use proto::Scheme;
    use std::time::Duration;

    struct Fresh(u64);

    impl File for Fresh {
        fn facts(&self) -> FileFacts {
            FileFacts { length: self.0, modified: 0, modified_nanos: 0, identity: 0 }
        }

        fn read(&self, _offset: u64, _length: usize) -> Option<Bytes> {
            None
        }

        fn fresh_until(&self) -> Option<Instant> {
            Some(Instant::ZERO + Duration::from_secs(1))
        }
    }

    fn get(path: &str) -> RequestHead {
        RequestHead::get(Scheme::Http, "a", path)
    }

    fn keep(cache: &mut ResponseCache, request: &RequestHead, length: u64) {
        let file: Rc<dyn File> = Rc::new(Fresh(length));
        cache.keep(request, &file, length, &Fields::new().with("etag", "\"x\""));
    }

    #[test]
    fn a_response_stays_until_its_file_is_no_longer_fresh() {
        let mut cache = ResponseCache::default();
        keep(&mut cache, &get("/a"), 5);
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        assert!(cache.find(at(999), &get("/a")).is_some());
        assert!(cache.find(at(1000), &get("/a")).is_none());
        assert!(cache.find(at(0), &get("/b")).is_none());
    }

    #[test]
    fn whoever_sets_conditions_or_wants_a_part_gets_nothing_from_the_cache() {
        let mut cache = ResponseCache::default();
        keep(&mut cache, &get("/a"), 5);
        for name in ["range", "Range", "if-none-match", "If-Modified-Since", "if-range", "If-Match"]
        {
            let mut request = get("/a");
            request.fields.push(name.as_bytes(), b"x");
            assert!(cache.find(Instant::ZERO, &request).is_none(), "{name}");
        }
        let post = RequestHead { method: Method::Post, ..get("/a") };
        assert!(cache.find(Instant::ZERO, &post).is_none());
    }

    #[test]
    fn the_cache_is_bounded_in_targets_and_in_bytes() {
        let mut cache = ResponseCache::default();
        for number in 0..5 * ENTRIES {
            keep(&mut cache, &get(&format!("/{number}")), 10_000);
            assert!(cache.responses.len() <= ENTRIES && cache.bytes <= BYTES);
        }
        keep(&mut cache, &get("/a?b"), 1);
        assert!(cache.find(Instant::ZERO, &get("/a?b")).is_none(), "queries are without number");
        keep(&mut cache, &get("/large"), BYTES + 1);
        assert!(cache.find(Instant::ZERO, &get("/large")).is_none());
    }

    #[test]
    fn a_head_is_made_once_a_second() {
        let mut cache = ResponseCache::default();
        keep(&mut cache, &get("/a"), 5);
        let cached = cache.find(Instant::ZERO, &get("/a")).unwrap();
        let make = |fields: &Fields| ResponseHead { status: Status::OK, fields: fields.clone() };
        let first = cached.head(7, make);
        assert!(Rc::ptr_eq(&first, &cached.head(7, make)));
        assert!(!Rc::ptr_eq(&first, &cached.head(8, make)));
        assert_eq!(first.fields.validated().and_then(|fields| fields.content_length()), Some(5));
    }
}
