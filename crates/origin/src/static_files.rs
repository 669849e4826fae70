//! Answers from files: folders and their index, versions, ranges. The one rule: a request reads no
//! more of a file than the answer needs, and nothing before the answer is being sent.

use crate::answer::{self, Answer};
use crate::body::Body;
use crate::conditional::{self, Validators, Verdict};
use crate::files::{File, FileFacts, Files, FilesError, Found};
use crate::media_type;
use crate::range::Ranges;
use crate::response_cache::ResponseCache;
use crate::target::Target;
use crate::wall_clock::http_date;
use bytes::Bytes;
use proto::{Fields, Method, RequestHead, Status};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use unit::{Instant, Seed};

pub(crate) const ALLOW: &str = "GET, HEAD, OPTIONS";

/// Served for a folder.
const INDEX: &str = "index.html";

/// A request for something below the folder.
pub(crate) struct Ask<'a> {
    pub(crate) files: &'a dyn Files,
    pub(crate) now: Instant,
    /// Seconds since 1970, as the answer's Date has them.
    pub(crate) unix_now: u64,
    pub(crate) request: &'a RequestHead,
    /// Takes what will be asked for again.
    pub(crate) responses: &'a mut ResponseCache,
}

impl Ask<'_> {
    /// Answers it.
    pub(crate) fn answer(self, target: &Target<'_>) -> Answer {
        match self.request.method {
            Method::Get | Method::Head => {}
            Method::Options => return Answer::options(ALLOW),
            _ => return Answer::refuse_method(self.request, ALLOW),
        }
        match self.files.find(self.now, &target.path) {
            Ok(Found::File(file)) if !target.is_folder => self.answer_file(&target.path, &file),
            Ok(Found::File(_)) => missing(FilesError::NotFound),
            Ok(Found::Folder) if target.is_folder => self.answer_index(target),
            Ok(Found::Folder) => {
                Answer::text(answer::MOVED_PERMANENTLY, "A folder's address ends in a slash.")
                    .with("location", &target.folder_location())
            }
            Err(error) => missing(error),
        }
    }

    fn answer_index(self, target: &Target<'_>) -> Answer {
        let path = match &*target.path {
            "" => INDEX.to_owned(),
            folder => format!("{folder}/{INDEX}"),
        };
        match self.files.find(self.now, &path) {
            Ok(Found::File(file)) => self.answer_file(&path, &file),
            Ok(Found::Folder) => missing(FilesError::NotFound),
            Err(error) => missing(error),
        }
    }

    fn answer_file(self, path: &str, file: &Rc<dyn File>) -> Answer {
        let request = self.request;
        let facts = file.facts();
        let mut validators = validators(&facts);
        // RFC 9110 §8.8.2.1: never later than Date. It stays true of the answer while that is cached.
        validators.modified = validators.modified.min(self.unix_now);
        let fields = Fields::new()
            .with("etag", &validators.etag)
            .with("last-modified", http_date(validators.modified));
        match conditional::evaluate(&request.method, &request.fields, &validators) {
            Verdict::Proceed => {}
            Verdict::NotModified => {
                return Answer::new(Status::NOT_MODIFIED, fields, Body::empty());
            }
            Verdict::Failed => {
                return Answer::text(
                    answer::PRECONDITION_FAILED,
                    "There is another version by now.",
                );
            }
        }
        let fields = fields.with("accept-ranges", "bytes");
        let representation = Representation {
            file,
            length: facts.length,
            media_type: media_type::of_path(path),
            fields,
        };
        match ranges(request, &validators, facts.length) {
            Ranges::Whole => {
                let whole = representation.whole();
                self.responses.keep(request, file, facts.length, &whole.fields);
                whole
            }
            Ranges::Unsatisfiable => representation.unsatisfiable(),
            Ranges::Parts(parts) => match <[_; 1]>::try_from(parts) {
                Ok([part]) => representation.part(part),
                Err(parts) => representation.parts(&parts),
            },
        }
    }
}

fn missing(error: FilesError) -> Answer {
    match error {
        FilesError::NotFound => Answer::text(answer::NOT_FOUND, "There is nothing here."),
        FilesError::Denied => Answer::text(answer::FORBIDDEN, "This may not be read."),
        FilesError::Busy => Answer::text(answer::UNAVAILABLE, "The server is short of something.")
            .with("retry-after", "1"),
    }
}

/// RFC 9110 §14.2: only GET has ranges. A second `Range` field makes the first one doubtful.
fn ranges(request: &RequestHead, validators: &Validators, length: u64) -> Ranges {
    let mut values = request.fields.all(b"range");
    match (values.next(), values.next()) {
        (Some(value), None)
            if request.method == Method::Get
                && conditional::range_counts(&request.fields, validators) =>
        {
            Ranges::parse(value, length)
        }
        _ => Ranges::Whole,
    }
}

/// A file on its way into an answer.
struct Representation<'a> {
    file: &'a Rc<dyn File>,
    length: u64,
    media_type: &'static str,
    fields: Fields,
}

impl Representation<'_> {
    fn whole(self) -> Answer {
        let body = self.slice(0..self.length);
        Answer::new(Status::OK, self.fields.with("content-type", self.media_type), body)
    }

    fn part(self, part: Range<u64>) -> Answer {
        let body = self.slice(part.clone());
        let fields = self
            .fields
            .with("content-type", self.media_type)
            .with("content-range", content_range(&part, self.length));
        Answer::new(answer::PARTIAL_CONTENT, fields, body)
    }

    /// RFC 9110 §14.6: multipart/byteranges.
    fn parts(self, parts: &[Range<u64>]) -> Answer {
        let boundary = format!("wirelap-{:016x}", Seed(self.length).child("boundary").draw(0));
        let mut bodies = VecDeque::with_capacity(parts.len() * 2 + 1);
        for part in parts {
            let head = format!(
                "\r\n--{boundary}\r\ncontent-type: {}\r\ncontent-range: {}\r\n\r\n",
                self.media_type,
                content_range(part, self.length)
            );
            bodies.push_back(Body::Bytes(head.into()));
            bodies.push_back(self.slice(part.clone()));
        }
        bodies.push_back(Body::Bytes(Bytes::from(format!("\r\n--{boundary}--\r\n"))));
        let media_type = format!("multipart/byteranges; boundary={boundary}");
        let fields = self.fields.with("content-type", media_type);
        Answer::new(answer::PARTIAL_CONTENT, fields, Body::Sequence(bodies))
    }

    /// RFC 9110 §15.5.17: Content-Range has the length of the whole.
    fn unsatisfiable(self) -> Answer {
        Answer::text(answer::RANGE_NOT_SATISFIABLE, "None of these bytes are there.")
            .with("content-range", &format!("bytes */{}", self.length))
    }

    fn slice(&self, left: Range<u64>) -> Body {
        Body::File { file: Rc::clone(self.file), left }
    }
}

fn content_range(part: &Range<u64>, length: u64) -> String {
    format!("bytes {}-{}/{length}", part.start, part.end - 1)
}

/// Nanoseconds make the tag strong (RFC 9110 §8.8.1): two versions of one length within a clock tick
/// of the file system are told apart by nothing less.
fn validators(facts: &FileFacts) -> Validators {
    Validators {
        etag: format!(
            "\"{:x}-{:x}-{:x}.{:x}\"",
            facts.identity, facts.length, facts.modified, facts.modified_nanos
        ),
        modified: facts.modified,
    }
}
