//! A recorded page on servers that serve files: which of its answers are files, and what an upstream of ours answers
//! behind them. Files have no server time, no status but 200, and are found by the path alone, whatever the query is.

use crate::trial::static_files::{StaticFile, StaticFiles};
use page::{Answer, Field, Method, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use subject::server::RecordedFile;
use unit::Seed;

/// The answers of a recorded page, as a declared server gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedSite {
    hosts: BTreeMap<String, HostFiles>,
}

/// The files of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HostFiles {
    /// The host's own folder, below the root.
    pub(crate) folder: String,
    /// Which path each of them answers.
    pub(crate) files: Vec<RecordedFile>,
}

impl RecordedSite {
    /// That of a page with these answers, and its files. What is no file is asked of the upstream, with its query.
    pub(crate) fn of(table: &Table) -> (Self, StaticFiles) {
        let mut by_path: BTreeMap<&str, BTreeMap<&str, Vec<&Answer>>> = BTreeMap::new();
        for (host, target, answer) in table.iter() {
            let path = target.split('?').next().unwrap_or_default();
            by_path.entry(host).or_default().entry(path).or_default().push(answer);
        }
        let (mut hosts, mut contents) = (BTreeMap::new(), StaticFiles::new());
        for (number, (host, paths)) in by_path.iter().enumerate() {
            let mut own = HostFiles { folder: number.to_string(), files: Vec::new() };
            let ambiguous = ambiguous(paths.keys().copied());
            for (path, answers) in paths {
                let Some(answer) =
                    answers.first().filter(|first| answers.iter().all(|one| one == *first))
                else {
                    continue;
                };
                if ambiguous.contains(path) || !is_plain(path) || !is_file(answer) {
                    continue;
                }
                let name = own.files.len().to_string();
                let seed = Seed(0).child(path);
                let content = StaticFile::Noise { seed, bytes: answer.body.0 };
                contents.insert(format!("{}/{name}", own.folder), content);
                let content_type = answer.content_type.clone();
                own.files.push(RecordedFile { path: (*path).to_owned(), content_type, name });
            }
            hosts.insert((*host).to_owned(), own);
        }
        (Self { hosts }, contents)
    }

    /// The same for a proxy, which has no files.
    pub(crate) fn without_files(mut self) -> Self {
        self.hosts.values_mut().for_each(|host| host.files.clear());
        self
    }

    /// The files of a host.
    pub(crate) fn host(&self, name: &str) -> Option<&HostFiles> {
        self.hosts.get(name)
    }
}

/// Whether a file server's answer is this one, given the media type. What it says of caches is its own.
fn is_file(answer: &Answer) -> bool {
    let is_of_caches = |field: &Field| field.name == "cache-control";
    let is_type = |b: u8| b.is_ascii_alphanumeric() || b"/+.-".contains(&b);
    answer.status == 200
        && answer.method == Method::Get
        && answer.answered.fields.iter().all(is_of_caches)
        && answer.answered.streamed.is_none()
        && answer.server_time == Duration::ZERO
        && !answer.content_type.is_empty()
        && answer.content_type.bytes().all(is_type)
}

/// Whether every server takes the path for the same one, and every configuration can have it as it stands.
fn is_plain(path: &str) -> bool {
    let segments = path.strip_prefix('/').unwrap_or_default().split('/');
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && name.bytes().all(fits);
    segments.into_iter().all(is_name)
}

/// Paths that a server may take for another one of the host: those below which others stand, and those that differ in
/// case alone.
fn ambiguous<'p>(paths: impl Iterator<Item = &'p str> + Clone) -> BTreeSet<&'p str> {
    let mut by_lower: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut folders = BTreeSet::new();
    for path in paths.clone() {
        by_lower.entry(path.to_ascii_lowercase()).or_default().push(path);
        folders.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
    }
    let alike = by_lower.into_values().filter(|alike| alike.len() > 1).flatten();
    alike.chain(paths.filter(|path| folders.contains(path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use page::{Page, ResourceId};

    /// A page of these URLs, each with bytes, server time in ms and status.
    fn site(urls: &[(&str, u64, u64, u16)]) -> (RecordedSite, StaticFiles) {
        site_with(urls, &serde_json::json!([]))
    }

    /// The same, each with these fields.
    fn site_with(
        urls: &[(&str, u64, u64, u16)],
        fields: &serde_json::Value,
    ) -> (RecordedSite, StaticFiles) {
        let resource = |&(url, body, millis, status): &(&str, u64, u64, u16)| {
            let url: page::Url = url.parse().unwrap();
            serde_json::json!({
                "url": url, "kind": "image", "status": status, "content_type": "image/png", "body": body,
                "server_time": millis * 1_000_000, "release": "navigation", "think": 0, "hint": "none",
                "counts": "into_load", "answered": { "fields": fields },
            })
        };
        let resources: Vec<_> = urls.iter().map(resource).collect();
        let resources = serde_json::from_value(serde_json::Value::Array(resources)).unwrap();
        RecordedSite::of(&Page::new(ResourceId(0), resources).unwrap().table())
    }

    fn paths<'s>(site: &'s RecordedSite, host: &str) -> Vec<&'s str> {
        site.host(host).unwrap().files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn what_an_answer_says_of_caches_leaves_it_a_file_and_any_other_field_does_not() {
        let urls = [("http://a/", 9, 20, 200), ("http://a/logo.png", 3_000, 0, 200)];
        for (name, expected) in [("cache-control", &["/logo.png"][..]), ("x-more", &[])] {
            let fields = serde_json::json!([{ "name": name, "value": "no-store" }]);
            assert_eq!(paths(&site_with(&urls, &fields).0, "a"), expected, "{name}");
        }
    }

    #[test]
    fn what_a_file_server_can_answer_is_a_file_in_its_host_s_folder() {
        let (site, files) = site(&[
            ("http://a/", 9, 20, 200),
            ("http://a/logo.png", 3_000, 0, 200),
            ("http://a/same?x=1", 70, 0, 200),
            ("http://a/same?x=2", 70, 0, 200),
            ("http://b/logo.png", 4_000, 0, 200),
        ]);
        assert_eq!(paths(&site, "a"), ["/logo.png", "/same"]);
        assert_eq!(paths(&site, "b"), ["/logo.png"]);
        let sizes: Vec<_> =
            files.iter().map(|(path, file)| (path.as_str(), file.bytes())).collect();
        assert_eq!(sizes, [("0/0", 3_000), ("0/1", 70), ("1/0", 4_000)]);
        assert_eq!(site.hosts.keys().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn what_it_cannot_is_left_to_the_upstream() {
        let (site, files) = site(&[
            ("http://a/thinks", 9, 1, 200),
            ("http://a/unchanged", 0, 0, 304),
            ("http://a/query?x=1", 9, 0, 200),
            ("http://a/query?x=2", 10, 0, 200),
            ("http://a/Case", 9, 0, 200),
            ("http://a/case", 9, 0, 200),
            ("http://a/folder", 9, 0, 200),
            ("http://a/folder/file", 9, 0, 200),
            ("http://a//twice", 9, 0, 200),
            ("http://a/%61", 9, 0, 200),
            ("http://a/.", 9, 0, 200),
            ("http://a/ends/", 9, 0, 200),
            ("http://a/$brace{", 9, 0, 200),
        ]);
        assert_eq!(paths(&site, "a"), ["/folder/file"]);
        assert_eq!(files.len(), 1);
    }
}
