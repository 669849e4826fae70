//! Our client, as a contender asks for it. Nothing here does IO.

use super::contender::{quic_settings, resumption, socket_settings, versions};
use super::first_visit;
use super::job::ServerTrust;
use crate::error::CliError;
use crate::get::trust::system_authorities;
use client::{
    ClientConfig, EarlyHints, HostAddress, Hosts, KeepAlive, LostFetches, Offer, PoolLimits, Push,
    Race, Raises, ReceiveWindows, Security, Timeouts, Transport,
};
use page::Browser;
use secure::{ClientTls, ClientTlsOptions, KeyLog, Pem, Trust};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use study::experiment::{Contender, Negotiation, Profile, RaiseBy, Tls, Transport as Asked};
use transport::QuicSettings;

/// What the client has to know of a trial, besides its contender.
pub(crate) struct ClientSpec<'a> {
    /// Where each host is.
    pub(crate) hosts: &'a BTreeMap<String, IpAddr>,
    /// The root certificate to trust, in PEM.
    pub(crate) root: &'a str,
    /// Who is believed.
    pub(crate) trust: ServerTrust,
    /// When a connection or a fetch has taken too long.
    pub(crate) timeout: Duration,
    /// How much later than QUIC TCP begins, where they race.
    pub(crate) head_start: Duration,
    /// Whether a NAT on the link changes the client's ports.
    pub(crate) rebinds: bool,
    /// Who gets TLS secrets.
    pub(crate) key_log: Option<Arc<dyn KeyLog>>,
}

/// After so long a silence our client asks, over TCP and QUIC alike, whether the server still knows the connection, where a NAT
/// changes its ports. Where it only waited, it would never hear that nothing reaches it any more.
const MOST_SILENCE: Duration = Duration::from_secs(1);

/// The configuration of our client for a contender. An error says which of its settings our client does not have.
pub(crate) fn client_config(
    contender: &Contender,
    trial: ClientSpec<'_>,
) -> Result<ClientConfig, CliError> {
    let transport = transport(contender)?;
    let roots = match trial.trust {
        ServerTrust::Root => vec![Pem::new("the trial's root certificate", trial.root.as_bytes())],
        ServerTrust::System | ServerTrust::Anyone => Vec::new(),
    };
    let tls = ClientTls::new(ClientTlsOptions {
        trust: if trial.trust == ServerTrust::Anyone { Trust::Anyone } else { Trust::Roots },
        roots,
        roots_later: (trial.trust == ServerTrust::System).then(system_authorities),
        alpn: transport.alpn(),
        versions: versions(contender),
        resumption: resumption(contender),
        key_log: trial.key_log,
        ..ClientTlsOptions::default()
    })
    .map_err(CliError::failed)?;
    let settings = &contender.settings;
    let mut config = ClientConfig::new(transport, tls);
    config.race = settings.first_visit.races().then_some(Race { head_start: trial.head_start });
    config.hosts = hosts(trial.hosts);
    config.socket = socket_settings(contender, settings.client);
    config.keep_alive = if settings.keep_alive { KeepAlive::On } else { KeepAlive::Off };
    config.limits =
        PoolLimits { per_origin: settings.connections as usize, ..PoolLimits::default() };
    config.timeouts =
        Timeouts { connect: trial.timeout, stall: trial.timeout, whole: Some(trial.timeout) };
    config.push = if settings.push { Push::Taken } else { Push::Refused };
    config.early_hints = match settings.early_hints {
        true => EarlyHints::Followed,
        false => EarlyHints::Ignored,
    };
    config.browser = browser(settings.profile);
    config.raises = match settings.raise {
        RaiseBy::Profile => Raises::Browser,
        RaiseBy::PriorityUpdate => Raises::PriorityUpdate,
    };
    config.set_receive_windows(ReceiveWindows {
        stream: settings.stream_window.0 as u32,
        connection: settings.connection_window.0 as u32,
    });
    if contender.transport.is_over_quic() {
        // Requests whose answers take long keep their connection here, too.
        let keep_alive = config.quic.keep_alive;
        config.quic = QuicSettings { keep_alive, ..quic_settings(contender) };
    }
    if trial.rebinds {
        config.lost = LostFetches::MadeAgain;
        config.socket.keep_alive = Some(MOST_SILENCE);
        config.quic.keep_alive = Some(MOST_SILENCE);
    }
    Ok(config)
}

/// The table of a profile.
pub(super) fn browser(profile: Profile) -> Browser {
    match profile {
        Profile::Chrome46 => Browser::Chrome46,
        Profile::Chrome92 => Browser::Chrome92,
        Profile::Chrome156 => Browser::Chrome156,
        Profile::Firefox38 => Browser::Firefox38,
        Profile::Firefox153 => Browser::Firefox153,
    }
}

fn transport(contender: &Contender) -> Result<Transport, CliError> {
    let asked = contender.transport;
    let protocol = first_visit::over_tls(contender)?;
    Ok(Transport {
        offer: match contender.settings.negotiation {
            Negotiation::Alpn if asked == Asked::Http1 => Offer::OrHttp1(client::Protocol::Http2),
            Negotiation::Alpn => Offer::OrHttp1(protocol),
            Negotiation::Known => Offer::Only(protocol),
        },
        security: match contender.tls {
            Tls::None => Security::Clear,
            Tls::V1_2 | Tls::V1_3 => Security::Tls,
        },
    })
}

fn hosts(addresses: &BTreeMap<String, IpAddr>) -> Hosts {
    let mut hosts = Hosts::new();
    for (name, address) in addresses {
        hosts.insert(name, HostAddress::Address(*address));
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::job::tests::order;
    use client::Protocol;
    use secure::{Authority, AuthoritySpec};
    use transport::{CongestionController, MtuDiscovery};

    fn config(contender: &str) -> Result<ClientConfig, CliError> {
        let order = order("kind = \"page\"\nimages = 1\nbytes = 10", contender);
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let root = String::from_utf8(authority.root_pem().text.to_vec()).unwrap();
        let address = IpAddr::from([10, 0, 0, 1]);
        let hosts = BTreeMap::from([("origin.test".to_owned(), address)]);
        let timeout = Duration::from_secs(7);
        let trust = ServerTrust::Root;
        let spec = ClientSpec {
            hosts: &hosts,
            root: &root,
            trust,
            timeout,
            head_start: Duration::ZERO,
            rebinds: false,
            key_log: None,
        };
        client_config(&order.plan.cell.contender, spec)
    }

    #[test]
    fn every_setting_of_a_contender_reaches_its_client() {
        let config = config(
            "transport = \"h2\"\n[contenders.settings]\nconnections = 2\nkeep_alive = false\n\
             stream_window = \"100kB\"\nconnection_window = \"1MB\"\npush = true\nearly_hints = false",
        )
        .unwrap();
        assert_eq!(config.limits.per_origin, 2);
        assert_eq!(config.keep_alive, KeepAlive::Off);
        assert_eq!((config.h2.stream_window, config.h2.connection_window), (100_000, 1_000_000));
        assert_eq!((config.push, config.early_hints), (Push::Taken, EarlyHints::Ignored));
        assert_eq!(config.timeouts.whole, Some(Duration::from_secs(7)));
    }

    #[test]
    fn negotiation_offers_what_a_browser_does_and_prior_knowledge_one_protocol_alone() {
        let offer = |contender: &str| config(contender).unwrap().transport;
        let negotiated = offer("transport = \"h2\"\n[contenders.settings]\nnegotiation = \"alpn\"");
        assert_eq!(
            (negotiated.offer, negotiated.security),
            (Offer::OrHttp1(Protocol::Http2), Security::Tls)
        );
        let known = offer(
            "transport = \"h2\"\ntls = \"none\"\n[contenders.settings]\nnegotiation = \"known\"",
        );
        assert_eq!((known.offer, known.security), (Offer::Only(Protocol::Http2), Security::Clear));
    }

    #[test]
    fn http3_fills_the_packets_of_its_contender_and_has_its_windows() {
        let config = config(
            "transport = \"h3\"\n[contenders.settings]\ninitial_window = 20\n\
             congestion_control = \"reno\"\nmtu = 1400\nstream_window = \"100kB\"",
        );
        let quic = config.unwrap().quic;
        assert_eq!((quic.initial_window, quic.initial_mtu), (20, 1_372));
        assert_eq!(quic.congestion_controller, CongestionController::NewReno);
        assert_eq!((quic.mtu_discovery, quic.stream_window), (MtuDiscovery::Off, 100_000));
    }

    #[test]
    fn each_congestion_control_is_there_over_quic() {
        let controller = |name: &str| {
            let setting = format!("congestion_control = {name:?}");
            let contender = format!("transport = \"h3\"\n[contenders.settings]\n{setting}");
            config(&contender).unwrap().quic.congestion_controller
        };
        assert_eq!(controller("cubic"), CongestionController::Cubic);
        assert_eq!(controller("reno"), CongestionController::NewReno);
        assert_eq!(controller("bbr"), CongestionController::Bbr);
    }
}
