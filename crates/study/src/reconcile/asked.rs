//! Whether wirelap's own client did what its contender says: protocol, TLS version, temperature and resumed sessions, by the
//! client's report and by the server's. TLS 1.3 encrypts all three, so only the two ends can know (RFC 8446 §4.3.1:
//! ALPN is in EncryptedExtensions).

use super::evidence::{ServerConnection, ServerLog};
use crate::experiment::{Contender, Temperature, Transport};
use crate::outcome::Outcome;
use trace::{ConnectionRecord, EarlyData, Protocol, SpokenProtocol, TlsVersion};
use unit::Instant;

/// What a server is asked by where HTTP/3 has to be found.
const H2_AND_H3: &[Protocol] = &[Protocol::Http2, Protocol::Http3];

/// How the connections differ from what the contender asks for; None where they do not. The work began at `began`.
pub fn departure(
    contender: &Contender,
    began: Instant,
    connections: &[ConnectionRecord],
    server: Option<&ServerLog>,
) -> Option<Outcome> {
    // Only connections that carried something: a server logs no others.
    let own: Vec<&ConnectionRecord> =
        connections.iter().filter(|connection| connection.requests > 0).collect();
    let seen: Vec<&ServerConnection> = server
        .into_iter()
        .flat_map(|log| &log.connections)
        .filter(|connection| connection.requests > 0)
        .collect();
    let reason = another_protocol(contender, &own, &seen)
        .or_else(|| another_version(contender, &own, &seen))
        .or_else(|| another_temperature(contender, began, &own))
        .or_else(|| other_sessions(contender, &own, server.map(|_| &seen[..])))?;
    Some(Outcome::Invalid { reason })
}

fn another_protocol(
    contender: &Contender,
    own: &[&ConnectionRecord],
    seen: &[&ServerConnection],
) -> Option<String> {
    let asked = contender.transport.protocol();
    let (carriers, all) = match contender.transport {
        // The server sees the view after the one that is judged, too.
        Transport::H3 => (contender.settings.first_visit.carriers(), H2_AND_H3),
        _ => (std::slice::from_ref(&asked), std::slice::from_ref(&asked)),
    };
    let is_one_of = |spoken: &SpokenProtocol, those: &[Protocol]| {
        spoken.known().is_some_and(|spoken| those.contains(&spoken))
    };
    if let Some(other) = own.iter().find(|connection| !is_one_of(&connection.protocol, carriers)) {
        let (spoken, id) = (&other.protocol, other.id);
        let asked = carriers.iter().map(|one| one.name()).collect::<Vec<_>>().join(" or ");
        return Some(format!("{asked} was asked for, but connection {id} spoke {spoken}"));
    }
    // A WebSocket begins as a request of HTTP, and its server's log may list that request alone.
    if contender.transport.is_web_socket() {
        return None;
    }
    let seen_too = if contender.settings.first_visit.uses_tcp() { all } else { carriers };
    let other = seen.iter().find(|connection| !is_one_of(&connection.protocol, seen_too))?;
    Some(format!("{asked} was asked for, but the server saw {}", other.protocol))
}

fn another_version(
    contender: &Contender,
    own: &[&ConnectionRecord],
    seen: &[&ServerConnection],
) -> Option<String> {
    let asked = contender.tls.version();
    let reported = own.iter().map(|c| c.tls.as_ref());
    // Empty where the server does not log it.
    let logged = seen.iter().filter_map(|c| c.tls.as_ref()).map(Some);
    let versions = reported.chain(logged).map(|tls| tls.map(|tls| &tls.version));
    let other = versions.into_iter().find(|spoken| *spoken != asked.as_ref())?;
    let name = |version: Option<&TlsVersion>| version.map_or("no TLS", TlsVersion::name).to_owned();
    Some(format!("{} was asked for, but {} was spoken", name(asked.as_ref()), name(other)))
}

fn another_temperature(
    contender: &Contender,
    began: Instant,
    own: &[&ConnectionRecord],
) -> Option<String> {
    let asked = contender.settings.temperature;
    let other = own.iter().find(|connection| temperature(connection, began) != asked);
    let departs = match asked {
        // Later connections to a host may resume the session of the first one.
        Temperature::Cold => own.iter().any(|connection| {
            let found = temperature(connection, began);
            matches!(found, Temperature::Early | Temperature::Open)
        }),
        _ => other.is_some(),
    };
    let other = other.filter(|_| departs)?;
    let found = match (asked, temperature(other, began)) {
        (Temperature::Early, Temperature::Resumed) if was_rejected(other) => {
            "had its early data rejected".to_owned()
        }
        (_, Temperature::Cold) => "made a full handshake".to_owned(),
        (_, found) => format!("was {}", found.name()),
    };
    Some(format!("`{}` was asked for, but connection {} {found}", asked.name(), other.id))
}

/// What a connection found of an earlier visit.
fn temperature(connection: &ConnectionRecord, began: Instant) -> Temperature {
    match &connection.tls {
        _ if connection.opened < began => Temperature::Open,
        Some(tls) if tls.early_data == EarlyData::Accepted => Temperature::Early,
        Some(tls) if tls.resumed => Temperature::Resumed,
        _ => Temperature::Cold,
    }
}

fn was_rejected(connection: &ConnectionRecord) -> bool {
    connection.tls.as_ref().is_some_and(|tls| tls.early_data == EarlyData::Rejected)
}

fn other_sessions(
    contender: &Contender,
    own: &[&ConnectionRecord],
    seen: Option<&[&ServerConnection]>,
) -> Option<String> {
    let resumed = own.iter().filter(|c| c.tls.as_ref().is_some_and(|tls| tls.resumed)).count();
    if resumed > 0 && !contender.settings.resumption {
        return Some(format!("resumption is off, but {resumed} connections resumed a session"));
    }
    // Other servers may not log it.
    if contender.foreign_server().is_some() {
        return None;
    }
    let logged: Vec<_> = seen?.iter().filter_map(|c| c.tls.as_ref()).collect();
    let seen = logged.iter().filter(|tls| tls.resumed).count();
    // The server's log has the visit before the work, too.
    let differs = match contender.settings.temperature {
        Temperature::Cold if contender.settings.next_view.is_none() => seen != resumed,
        _ => seen < resumed,
    };
    (!logged.is_empty() && differs)
        .then(|| format!("the client resumed {resumed} sessions, but the server saw {seen}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{FirstVisit, KnownContender};
    use trace::TlsRecord;

    fn tls(version: &str, resumed: bool) -> Option<TlsRecord> {
        let (cipher, alpn) = (String::new(), String::new());
        let (version, early_data) = (TlsVersion::from_name(version), EarlyData::None);
        Some(TlsRecord { version, cipher, alpn, resumed, early_data })
    }

    fn own(protocol: &str, tls: Option<TlsRecord>) -> ConnectionRecord {
        let begun =
            ConnectionRecord::begun(0, "far:443".into(), "10.0.0.2:443".into(), Instant::ZERO);
        ConnectionRecord {
            protocol: SpokenProtocol::from_name(protocol),
            tls,
            requests: 1,
            ..begun
        }
    }

    fn log(protocol: &str, tls: Option<TlsRecord>) -> ServerLog {
        let protocol = SpokenProtocol::from_name(protocol);
        let connection =
            ServerConnection { protocol, tls, requests: 1, ..ServerConnection::default() };
        ServerLog { connections: vec![connection] }
    }

    fn known(name: &str) -> Contender {
        KnownContender::find(name).unwrap().contender()
    }

    /// Why a trial of h2 over TLS 1.3 does not count.
    fn reason(client: ConnectionRecord, server: Option<ServerLog>) -> Option<String> {
        let outcome = departure(&known("h2"), Instant::ZERO, &[client], server.as_ref())?;
        assert!(matches!(outcome, Outcome::Invalid { .. }));
        outcome.reason().map(str::to_owned)
    }

    #[test]
    fn what_was_asked_for_and_spoken_counts_with_and_without_a_servers_word() {
        let spoken = own("h2", tls("TLSv1.3", false));
        assert_eq!(reason(spoken.clone(), None), None);
        assert_eq!(reason(spoken.clone(), Some(log("h2", tls("TLSv1.3", false)))), None);
        assert_eq!(reason(spoken, Some(log("h2", None))), None, "a server that tells no version");
        assert_eq!(departure(&known("h2-clear"), Instant::ZERO, &[own("h2", None)], None), None);
    }

    #[test]
    fn another_protocol_than_the_one_asked_for_spoils_a_trial_whoever_tells_of_it() {
        let fallen = own("http/1.1", tls("TLSv1.3", false));
        let found = reason(fallen.clone(), None).unwrap();
        assert_eq!(found, "h2 was asked for, but connection 0 spoke http/1.1");
        let server = log("http/1.1", tls("TLSv1.3", false));
        let found = reason(own("h2", tls("TLSv1.3", false)), Some(server)).unwrap();
        assert_eq!(found, "h2 was asked for, but the server saw http/1.1");
        // A connection without a request may not have agreed on a protocol.
        assert_eq!(reason(ConnectionRecord { requests: 0, ..fallen }, None), None);
    }

    #[test]
    fn a_first_visit_is_carried_by_what_it_can_be_carried_by() {
        let tls = || tls("TLSv1.3", false);
        let reason = |way: FirstVisit, own_protocol: &str, seen: &str| {
            let mut contender = known("h3");
            contender.settings.first_visit = way;
            let (own, seen) = (own(own_protocol, tls()), log(seen, tls()));
            let outcome = departure(&contender, Instant::ZERO, &[own], Some(&seen))?;
            outcome.reason().map(str::to_owned)
        };
        for (way, carriers) in [
            (FirstVisit::Known, &["h3"][..]),
            (FirstVisit::HttpsRecord, &["h3"]),
            (FirstVisit::AltSvc, &["h2"]),
            (FirstVisit::UdpBlocked, &["h2"]),
            (FirstVisit::Race, &["h2", "h3"]),
        ] {
            for spoken in ["h2", "h3", "http/1.1"] {
                let found = reason(way, spoken, spoken);
                assert_eq!(found.is_none(), carriers.contains(&spoken), "{way:?}: {found:?}");
            }
        }
        // The next view is the server's alone to tell of.
        assert_eq!(reason(FirstVisit::AltSvc, "h2", "h3"), None);
        assert!(reason(FirstVisit::Known, "h3", "h2").unwrap().contains("the server saw h2"));
    }

    #[test]
    fn another_version_of_tls_or_none_spoils_a_trial() {
        let found = reason(own("h2", tls("TLSv1.2", false)), None).unwrap();
        assert_eq!(found, "TLSv1.3 was asked for, but TLSv1.2 was spoken");
        let found = reason(own("h2", None), None).unwrap();
        assert_eq!(found, "TLSv1.3 was asked for, but no TLS was spoken");
        let server = log("h2", tls("TLSv1.2", false));
        assert!(reason(own("h2", tls("TLSv1.3", false)), Some(server)).is_some());
        let clear =
            departure(&known("h2-clear"), Instant::ZERO, &[own("h2", tls("TLSv1.3", false))], None);
        assert!(clear.is_some());
    }

    #[test]
    fn a_session_taken_up_again_must_be_allowed_and_seen_by_both_ends() {
        let (again, fresh) = (tls("TLSv1.3", true), tls("TLSv1.3", false));
        assert_eq!(reason(own("h2", again.clone()), Some(log("h2", again.clone()))), None);
        let found = reason(own("h2", again.clone()), Some(log("h2", fresh.clone()))).unwrap();
        assert_eq!(found, "the client resumed 1 sessions, but the server saw 0");
        assert!(reason(own("h2", fresh), Some(log("h2", again.clone()))).is_some());
        let mut contender = known("h2");
        contender.settings.resumption = false;
        assert!(departure(&contender, Instant::ZERO, &[own("h2", again)], None).is_some());
    }

    #[test]
    fn a_connection_of_another_temperature_than_asked_for_makes_the_trial_invalid() {
        let warm = |resumed: bool, early_data: EarlyData| {
            let record = tls("TLSv1.3", resumed).map(|tls| TlsRecord { early_data, ..tls });
            own("h2", record)
        };
        let found = |temperature: Temperature, connection: ConnectionRecord, began: Instant| {
            let mut contender = known("h2");
            contender.settings.temperature = temperature;
            match departure(&contender, began, &[connection], None) {
                Some(Outcome::Invalid { reason }) => reason,
                other => format!("{other:?}"),
            }
        };
        let (none, accepted) = (EarlyData::None, EarlyData::Accepted);
        let before = Instant::ZERO;
        for (asked, connection) in [
            (Temperature::Cold, warm(false, none)),
            (Temperature::Cold, warm(true, none)),
            (Temperature::Resumed, warm(true, none)),
            (Temperature::Early, warm(true, accepted)),
        ] {
            assert_eq!(found(asked, connection, before), "None", "{asked:?}");
        }
        let after = Instant::from_nanos(1);
        assert_eq!(found(Temperature::Open, warm(false, none), after), "None");
        for (asked, connection, words) in [
            (Temperature::Cold, warm(true, accepted), "was early"),
            (Temperature::Resumed, warm(false, none), "made a full handshake"),
            (Temperature::Resumed, warm(true, accepted), "was early"),
            (Temperature::Early, warm(true, none), "was resumed"),
            (Temperature::Early, warm(true, EarlyData::Rejected), "early data rejected"),
            (Temperature::Open, warm(false, none), "made a full handshake"),
        ] {
            let reason = found(asked, connection, before);
            assert!(reason.contains(words), "{asked:?}: {reason}");
        }
    }
}
