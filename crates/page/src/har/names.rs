//! The hosts and paths of a replay where they cannot be the recorded ones, and which hosts shared connections.

use super::discovery::Request;
use crate::resource::Resource;
use crate::table::Answer;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The paths given out: one for each answer of a URL.
#[derive(Default)]
pub(super) struct Paths {
    /// By URL and answer.
    given: HashMap<(String, String, Answer), String>,
    taken: HashSet<(String, String)>,
    /// How many answers a URL has had.
    answers: HashMap<(String, String), u32>,
}

impl Paths {
    /// The path of a resource: its own, unless the URL has answered differently before.
    pub(super) fn path_for(&mut self, resource: &Resource) -> String {
        let (host, path) = (resource.url.host.clone(), resource.url.path.clone());
        let key = (host.clone(), path.clone(), Answer::of(resource));
        if let Some(known) = self.given.get(&key) {
            return known.clone();
        }
        let answers = self.answers.entry((host.clone(), path.clone())).or_default();
        let joint = if path.contains('?') { '&' } else { '?' };
        let chosen = loop {
            *answers += 1;
            let candidate = match *answers {
                1 => path.clone(),
                repeat => format!("{path}{joint}wirelap-repeat={repeat}"),
            };
            if self.taken.insert((host.clone(), candidate.clone())) {
                break candidate;
            }
        };
        self.given.insert(key, chosen.clone());
        chosen
    }
}

/// Which hosts' requests came over another host's connections, the first one's to use each.
pub(super) fn shared_hosts(requests: &[Request]) -> BTreeMap<String, String> {
    let mut first: BTreeMap<&str, String> = BTreeMap::new();
    let mut shared: BTreeMap<String, String> = BTreeMap::new();
    // The values of `shared`. A connection may have had thousands of hosts, and each would be compared with all of them.
    let mut owners: HashSet<String> = HashSet::new();
    for request in requests {
        let Some(connection) = &request.entry.shared_connection else { continue };
        let host = &request.url.host;
        let host = name_for_literal(host).unwrap_or_else(|| host.clone());
        let own = shared.get(&host).cloned().unwrap_or_else(|| host.clone());
        let whose = first.entry(connection).or_insert(own);
        if *whose != host
            && !owners.contains(&host)
            && let Entry::Vacant(vacant) = shared.entry(host)
        {
            owners.insert(whose.clone());
            vacant.insert(whose.clone());
        }
    }
    shared
}

/// A name that stands for an address literal: at the far side every host has an address of the lab's
/// own choice. RFC 6761 keeps `invalid` free of real hosts.
pub(super) fn name_for_literal(host: &str) -> Option<String> {
    // What ends in a number is an IPv4 address to browsers and to TLS, well written or not.
    let ends_in_number = |last: &str| last.bytes().all(|byte| byte.is_ascii_digit());
    let is_literal = host.starts_with('[') || host.rsplit('.').next().is_some_and(ends_in_number);
    let plain = host.trim_matches(['[', ']']).replace(['.', ':'], "-");
    is_literal.then(|| format!("ip-{plain}.invalid"))
}
