//! Whether another's client found of an earlier visit what its contender asks for. It tells nothing of that itself: the log of
//! wirelap's own server has each request with its time and its connection, and the handshake of each connection.

use super::evidence::{ServerConnection, ServerLog};
use crate::experiment::{Contender, Temperature};
use std::collections::BTreeSet;
use trace::{DeliveryRecord, EarlyData};
use unit::Instant;

/// What the server saw of a visit and of the work after it.
#[derive(Debug, Clone, Copy)]
pub struct Visited<'a> {
    /// Who asked.
    pub contender: &'a Contender,
    /// When the work began: requests from before are the visit's.
    pub began: Instant,
    /// When a further load began, which is not judged.
    pub until: Option<Instant>,
    /// All connections.
    pub server: &'a ServerLog,
    /// All requests.
    pub deliveries: &'a [DeliveryRecord],
    /// Paths of what the client says that it took from its cache.
    pub cached: &'a BTreeSet<String>,
    /// How many connections the link saw begin since; None without its log.
    pub begun: Option<u64>,
}

impl Visited<'_> {
    /// The connections that carried the work.
    pub fn connections(&self) -> ServerLog {
        let numbers = self.numbers(|delivery| self.is_work(delivery));
        let carried = |one: &&ServerConnection| numbers.contains(&one.id);
        ServerLog { connections: self.server.connections.iter().filter(carried).cloned().collect() }
    }

    /// Paths that the server said to be current as they were (304).
    pub fn revalidated(&self) -> BTreeSet<&str> {
        let work = self.deliveries.iter().filter(|delivery| self.is_work(delivery));
        work.filter(|one| one.status == Some(304)).map(|one| one.path.as_str()).collect()
    }

    /// Why the trial does not count; None where the client found what its contender asks for.
    pub fn objection(&self) -> Option<String> {
        let asked = self.contender.settings.temperature;
        let found = self.connections();
        let mut numbers: Vec<&ServerConnection> = found.connections.iter().collect();
        numbers.sort_by_key(|connection| connection.id);
        let Some(first) = numbers.first() else {
            return Some("the server saw no request after the earlier visit".to_owned());
        };
        let earlier = self.numbers(|delivery| delivery.requested < self.began);
        let stood = |one: &&&ServerConnection| earlier.contains(&one.id);
        let name = asked.name();
        let departs = match asked {
            Temperature::Open => numbers.iter().find(|one| !stood(one)).map(|one| {
                format!("`{name}` was asked for, but connection {} was opened for the work", one.id)
            }),
            // One that carried nothing before is not in the server's log of the visit.
            _ => numbers.iter().find(|one| stood(one) || self.begun == Some(0)).map(|one| {
                format!("`{name}` was asked for, but connection {} stood already", one.id)
            }),
        };
        departs.or_else(|| self.other_handshake(first)).or_else(|| self.other_cache())
    }

    /// The first handshake is what a temperature is about: later ones may resume the session of that one, and as often as the
    /// client has sessions left.
    fn other_handshake(&self, first: &ServerConnection) -> Option<String> {
        let asked = self.contender.settings.temperature;
        let tls = first.tls.as_ref();
        let found = match tls.map(|tls| (tls.resumed, tls.early_data)) {
            _ if asked == Temperature::Open => return None,
            Some((_, EarlyData::Accepted)) => Temperature::Early,
            Some((true, _)) => Temperature::Resumed,
            _ => Temperature::Cold,
        };
        (found != asked).then(|| {
            let words = match found {
                Temperature::Cold => "made a full handshake",
                Temperature::Resumed => "resumed a session without early data",
                _ => "sent early data",
            };
            format!("`{}` was asked for, but connection {} {words}", asked.name(), first.id)
        })
    }

    fn other_cache(&self) -> Option<String> {
        let is_asked = |path: &&String| {
            self.deliveries
                .iter()
                .any(|one| self.is_work(one) && one.path == **path && one.status != Some(304))
        };
        if let Some(path) = self.cached.iter().find(is_asked) {
            return Some(format!(
                "{path} came from the cache, the client says, but the server sent it"
            ));
        }
        let is_warm = !self.cached.is_empty() || !self.revalidated().is_empty();
        match (self.contender.settings.next_view.is_some(), is_warm) {
            (true, false) => {
                Some("a next view was asked for, but nothing came from the cache".to_owned())
            }
            (false, true) => {
                Some("a cold cache was asked for, but something came from it".to_owned())
            }
            _ => None,
        }
    }

    fn is_work(&self, delivery: &DeliveryRecord) -> bool {
        delivery.requested >= self.began
            && self.until.is_none_or(|until| delivery.requested < until)
    }

    fn numbers(&self, is_one: impl Fn(&DeliveryRecord) -> bool) -> BTreeSet<u64> {
        self.deliveries.iter().filter(|one| is_one(one)).map(|one| one.connection).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{KnownContender, NextView};
    use trace::{TlsRecord, TlsVersion};

    fn handshake(id: u64, resumed: bool, early_data: EarlyData) -> ServerConnection {
        let (version, cipher, alpn) = (TlsVersion::V1_3, String::new(), "h2".to_owned());
        let tls = Some(TlsRecord { version, cipher, alpn, resumed, early_data });
        ServerConnection { id, tls, requests: 1, ..ServerConnection::default() }
    }

    fn asked(connection: u64, path: &str, at: u64, status: u16) -> DeliveryRecord {
        let text = format!(
            r#"{{"connection":{connection},"protocol":"h2","stream":1,"authority":"far","path":"{path}","status":{status},
            "media_type":"","asked":[],"policy":"fifo","requested":{at},"ended":{at},"bytes":1,"end":"done"}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    /// What is said of a trial whose work begins at 10: a visit on connection 1, the document on `document`, and what is said to
    /// come from the cache.
    fn objection(
        temperature: Temperature,
        next_view: bool,
        server: &[ServerConnection],
        (document, cached): (u64, &[&str]),
    ) -> String {
        let mut contender = KnownContender::find("h2").unwrap().contender();
        contender.settings.temperature = temperature;
        contender.settings.next_view = next_view.then(NextView::default);
        let visited = Visited {
            contender: &contender,
            began: Instant::from_nanos(10),
            until: None,
            server: &ServerLog { connections: server.to_vec() },
            deliveries: &[asked(1, "/visit", 5, 200), asked(document, "/", 12, 200)],
            cached: &cached.iter().map(|path| (*path).to_owned()).collect(),
            begun: Some(u64::from(document != 3)),
        };
        visited.objection().unwrap_or_default()
    }

    #[test]
    fn what_was_asked_for_and_found_counts() {
        use Temperature::{Cold, Early, Open, Resumed};
        let full = handshake(1, false, EarlyData::None);
        for (temperature, document, second) in [
            (Open, 1, handshake(2, false, EarlyData::None)),
            (Resumed, 2, handshake(2, true, EarlyData::None)),
            (Early, 2, handshake(2, true, EarlyData::Accepted)),
            (Cold, 2, handshake(2, false, EarlyData::None)),
        ] {
            let server = [full.clone(), second];
            assert_eq!(objection(temperature, false, &server, (document, &[])), "");
            assert_eq!(objection(temperature, true, &server, (document, &["/a.css"])), "");
        }
    }

    #[test]
    fn another_handshake_than_the_one_asked_for_does_not_count() {
        use Temperature::{Cold, Early, Open, Resumed};
        let full = handshake(1, false, EarlyData::None);
        for (temperature, document, second, words) in [
            (Open, 2, handshake(2, true, EarlyData::None), "connection 2 was opened for the work"),
            (Resumed, 1, handshake(2, true, EarlyData::None), "connection 1 stood already"),
            (Resumed, 2, handshake(2, false, EarlyData::None), "made a full handshake"),
            (Resumed, 2, handshake(2, true, EarlyData::Accepted), "sent early data"),
            (Early, 2, handshake(2, true, EarlyData::Rejected), "without early data"),
            (Cold, 2, handshake(2, true, EarlyData::None), "resumed a session"),
            // The link saw none begin.
            (Resumed, 3, handshake(3, true, EarlyData::None), "connection 3 stood already"),
        ] {
            let found = objection(temperature, false, &[full.clone(), second], (document, &[]));
            assert!(found.contains(words), "{temperature:?}: {found}");
        }
    }

    #[test]
    fn a_cache_is_as_warm_as_the_server_saw_it() {
        let server = [1, 2].map(|id| handshake(id, false, EarlyData::None));
        let cold = |view, cached: &[&str]| objection(Temperature::Cold, view, &server, (2, cached));
        assert!(cold(true, &[]).contains("nothing came from the cache"));
        assert!(cold(false, &["/a.css"]).contains("a cold cache was asked for"));
        assert!(cold(true, &["/"]).contains("but the server sent it"));
        let none = objection(Temperature::Cold, false, &server[..1], (2, &[]));
        assert!(none.contains("no request after the earlier visit"), "{none}");
    }
}
