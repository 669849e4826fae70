//! A page as a graph: resources, each of which has one event that lets a browser know of it.
//!
//! A `Page` that exists can be loaded: `Page::new` (and reading one from a file) refuses cycles
//! and unknown initiators. The one rule: nothing here has state.

use crate::number;
use crate::resource::{Host, Release, Resource, ResourceId};
use crate::table::{Answer, Table};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use thiserror::Error;
use unit::ByteSize;

/// A page that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Page {
    document: ResourceId,
    resources: Vec<Resource>,
    hosts: Vec<Host>,
    body_at: ByteSize,
}

/// Why resources make no page.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GraphError {
    /// Too many resources to number, or none.
    #[error("a page has 1 to 4294967295 resources, not {0}")]
    Count(usize),
    /// The document's number names no resource.
    #[error("the document is to be resource {}, which is not there", .0.0)]
    NoDocument(ResourceId),
    /// An initiator is not there.
    #[error("resource {} is found by resource {}, which is not there", .id.0, .by.0)]
    UnknownInitiator {
        /// The resource.
        id: ResourceId,
        /// Its initiator.
        by: ResourceId,
    },
    /// A resource leads to itself.
    #[error("resource {} is found by itself, directly or through others", .0.0)]
    Cycle(ResourceId),
    /// One host and path would need two different answers.
    #[error("resource {} has the URL of an earlier one but another status, size, type or server time", .0.0)]
    TwoAnswers(ResourceId),
}

impl Page {
    /// The page of `resources`, numbered in their order. `document` is the main one.
    pub fn new(document: ResourceId, resources: Vec<Resource>) -> Result<Self, GraphError> {
        check_initiators(document, &resources)?;
        check_cycles(&resources)?;
        let page =
            Self { document, hosts: hosts_of(&resources), resources, body_at: ByteSize::ZERO };
        page.check_answers()?;
        Ok(page)
    }

    /// Records the round trips of a recording, by host name.
    pub fn with_recorded_rtts(mut self, rtts: &BTreeMap<String, Duration>) -> Self {
        for host in &mut self.hosts {
            host.recorded_rtt = rtts.get(&host.name).copied();
        }
        self
    }

    /// Records which hosts shared the connections of another one, by host name.
    pub fn with_shared_hosts(mut self, shared: &BTreeMap<String, String>) -> Self {
        for host in &mut self.hosts {
            host.shares_with = shared.get(&host.name).cloned();
        }
        self
    }

    /// The host names, those together whose connections were shared, in the order of first use.
    pub fn shared_hosts(&self) -> Vec<Vec<String>> {
        let mut groups: Vec<Vec<String>> = Vec::new();
        // The place of each host's group: a recording may have thousands of hosts.
        let mut places: HashMap<&str, usize> = HashMap::new();
        for host in &self.hosts {
            let whose = host.shares_with.as_ref().unwrap_or(&host.name);
            let place = places.get(whose.as_str()).copied().unwrap_or(groups.len());
            if place == groups.len() {
                groups.push(Vec::new());
            }
            groups[place].push(host.name.clone());
            places.insert(&host.name, place);
        }
        groups
    }

    /// Says at which byte of the document its body begins.
    pub fn with_body_at(self, body_at: ByteSize) -> Self {
        Self { body_at, ..self }
    }

    /// The bytes of the document up to the end of its `<body>` tag: what stands before is the head. 0 where nobody said.
    pub fn body_at(&self) -> ByteSize {
        self.body_at
    }

    /// Where the document names `resource`, in bytes from its beginning; None where something else does.
    pub fn offset(&self, resource: &Resource) -> Option<u64> {
        match resource.release {
            Release::Parsed { by, offset } if by == self.document => Some(offset.0),
            Release::Completed { by } if by == self.document => {
                Some(self.resources[self.document.index()].received_body().0)
            }
            _ => None,
        }
    }

    /// The same page with every field of its responses changed by `change`.
    pub fn with_fields(mut self, change: impl Fn(&str) -> String) -> Self {
        for resource in &mut self.resources {
            for field in &mut resource.answered.fields {
                field.value = change(&field.value);
            }
        }
        self
    }

    /// The main document.
    pub fn document(&self) -> ResourceId {
        self.document
    }

    /// All resources, in the order of their numbers.
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// The resource with this number.
    pub fn resource(&self, id: ResourceId) -> Option<&Resource> {
        self.resources.get(id.index())
    }

    /// The hosts, in the order of first use.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Server and client time on the longest chain of initiators. It is the load time over a
    /// network that takes no time.
    pub fn least_time(&self) -> Duration {
        self.chain_times().into_iter().max().unwrap_or_default()
    }

    /// Server and client time up to the end of each resource. Each is computed once, from its initiator's.
    fn chain_times(&self) -> Vec<Duration> {
        let mut times: Vec<Option<Duration>> = vec![None; self.resources.len()];
        let mut chain = Vec::new();
        for start in 0..self.resources.len() {
            // Chains end: `new` refuses cycles.
            let mut next = Some(start);
            while let Some(at) = next.filter(|&at| times[at].is_none()) {
                chain.push(at);
                next = self.resources[at].release.initiator().map(ResourceId::index);
            }
            let mut time = next.and_then(|known| times[known]).unwrap_or_default();
            while let Some(at) = chain.pop() {
                time += self.resources[at].think + self.resources[at].server_time;
                times[at] = Some(time);
            }
        }
        times.into_iter().flatten().collect()
    }

    /// Bytes of all bodies that a load receives.
    pub fn total_bytes(&self) -> ByteSize {
        self.resources.iter().map(Resource::received_body).sum()
    }

    /// What an origin needs in order to answer for this page.
    pub fn table(&self) -> Table {
        Table::of(&self.resources)
    }

    fn check_answers(&self) -> Result<(), GraphError> {
        let mut answers: BTreeMap<(&str, &str), Answer> = BTreeMap::new();
        for (index, resource) in self.resources.iter().enumerate() {
            let answer = Answer::of(resource);
            let key = (resource.url.host.as_str(), resource.url.path.as_str());
            if *answers.entry(key).or_insert_with(|| answer.clone()) != answer {
                return Err(GraphError::TwoAnswers(ResourceId(index as u32)));
            }
        }
        Ok(())
    }
}

/// A page as it stands in a file.
#[derive(Serialize, Deserialize)]
struct Parts {
    document: ResourceId,
    resources: Vec<Resource>,
    #[serde(default)]
    hosts: Vec<Host>,
    #[serde(with = "number::bytes", default)]
    body_at: ByteSize,
}

impl TryFrom<Parts> for Page {
    type Error = GraphError;

    fn try_from(parts: Parts) -> Result<Self, GraphError> {
        let hosts = parts.hosts.iter();
        let shared =
            hosts.clone().filter_map(|host| Some((host.name.clone(), host.shares_with.clone()?)));
        let shared = shared.collect();
        let rtts = hosts.filter_map(|host| Some((host.name.clone(), host.recorded_rtt?))).collect();
        let page = Self::new(parts.document, parts.resources)?.with_shared_hosts(&shared);
        Ok(page.with_body_at(parts.body_at).with_recorded_rtts(&rtts))
    }
}

impl From<Page> for Parts {
    fn from(page: Page) -> Self {
        let Page { document, resources, hosts, body_at } = page;
        Self { document, resources, hosts, body_at }
    }
}

fn check_initiators(document: ResourceId, resources: &[Resource]) -> Result<(), GraphError> {
    if resources.is_empty() || u32::try_from(resources.len()).is_err() {
        return Err(GraphError::Count(resources.len()));
    }
    resources.get(document.index()).ok_or(GraphError::NoDocument(document))?;
    for (index, resource) in resources.iter().enumerate() {
        let id = ResourceId(index as u32);
        let Some(by) = resource.release.initiator() else { continue };
        resources.get(by.index()).ok_or(GraphError::UnknownInitiator { id, by })?;
    }
    Ok(())
}

/// Each resource has one initiator, so walking up from every unvisited resource finds any cycle.
fn check_cycles(resources: &[Resource]) -> Result<(), GraphError> {
    let mut walk_of = vec![None; resources.len()];
    for start in 0..resources.len() {
        let mut next = Some(start);
        while let Some(at) = next {
            match walk_of[at] {
                Some(walk) if walk == start => {
                    return Err(GraphError::Cycle(ResourceId(at as u32)));
                }
                Some(_) => break,
                None => walk_of[at] = Some(start),
            }
            next = resources[at].release.initiator().map(ResourceId::index);
        }
    }
    Ok(())
}

fn hosts_of(resources: &[Resource]) -> Vec<Host> {
    let mut hosts: Vec<Host> = Vec::new();
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for resource in resources {
        let name = resource.url.host.as_str();
        match numbers.get(name) {
            Some(&number) => hosts[number].requests += 1,
            None => {
                numbers.insert(name, hosts.len());
                hosts.push(Host {
                    name: name.to_owned(),
                    requests: 1,
                    recorded_rtt: None,
                    shares_with: None,
                });
            }
        }
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::priority::Hint;
    use crate::resource::{Blocks, Fold, Kind, Method, Release};

    fn resource(url: &str, release: Release) -> Resource {
        Resource {
            url: url.parse().unwrap(),
            kind: Kind::Image,
            method: Method::Get,
            status: 200,
            content_type: "image/png".into(),
            body: ByteSize(100),
            server_time: Duration::from_millis(3),
            release,
            think: Duration::ZERO,
            hint: Hint::None,
            blocks: Blocks::Nothing,
            pixels: None,
            fold: Fold::Unknown,
            asked: Default::default(),
            answered: Default::default(),
        }
    }

    fn found_by(by: u32) -> Release {
        Release::Completed { by: ResourceId(by) }
    }

    #[test]
    fn a_page_survives_its_file() {
        let document = resource("http://a/", Release::Navigation);
        let image =
            resource("http://b/i", Release::Parsed { by: ResourceId(0), offset: ByteSize(7) });
        let rtts = BTreeMap::from([("b".to_owned(), Duration::from_millis(20))]);
        let page =
            Page::new(ResourceId(0), vec![document, image]).unwrap().with_recorded_rtts(&rtts);
        let text = serde_json::to_string(&page).unwrap();
        assert_eq!(serde_json::from_str::<Page>(&text).unwrap(), page);
        let table = serde_json::to_string(&page.table()).unwrap();
        assert_eq!(serde_json::from_str::<Table>(&table).unwrap(), page.table());
    }

    #[test]
    fn what_could_never_load_is_refused() {
        let root = || resource("http://a/", Release::Navigation);
        let build = |rest: Vec<Resource>| {
            Page::new(ResourceId(0), [vec![root()], rest].concat()).map(|_| ())
        };
        assert_eq!(Page::new(ResourceId(0), vec![]), Err(GraphError::Count(0)));
        assert_eq!(
            build(vec![resource("http://a/1", found_by(1))]),
            Err(GraphError::Cycle(ResourceId(1)))
        );
        assert!(matches!(
            build(vec![resource("http://a/1", found_by(2)), resource("http://a/2", found_by(1))]),
            Err(GraphError::Cycle(_))
        ));
        assert!(matches!(
            build(vec![resource("http://a/1", found_by(9))]),
            Err(GraphError::UnknownInitiator { .. })
        ));
        assert_eq!(
            build(vec![resource("http://a/1", found_by(0)), resource("http://a/2", found_by(1))]),
            Ok(())
        );
    }

    #[test]
    fn the_least_time_is_that_of_the_longest_chain() {
        let mut chain = vec![resource("http://a/", Release::Navigation)];
        chain.extend((0..3).map(|by| resource(&format!("http://a/{by}"), found_by(by))));
        chain[2].think = Duration::from_millis(10);
        let beside = resource("http://a/beside", found_by(0));
        chain.push(Resource { think: Duration::from_millis(11), ..beside });
        let page = Page::new(ResourceId(0), chain).unwrap();
        assert_eq!(page.least_time(), Duration::from_millis(4 * 3 + 10));
    }

    #[test]
    fn a_url_asked_for_twice_has_one_answer_and_is_counted_twice() {
        let twice = |size: u64| {
            let again = Resource { body: ByteSize(size), ..resource("http://a/i", found_by(0)) };
            Page::new(
                ResourceId(0),
                vec![
                    resource("http://a/", Release::Navigation),
                    resource("http://a/i", found_by(0)),
                    again,
                ],
            )
        };
        let page = twice(100).unwrap();
        assert_eq!(page.table().answer("a", "/i").unwrap().requests, 2);
        assert_eq!(page.hosts()[0].requests, 3);
        assert_eq!(twice(101), Err(GraphError::TwoAnswers(ResourceId(2))));
    }
}
