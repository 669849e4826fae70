//! Our origin, as a contender asks for it. Nothing here does IO.

use super::browser_visit;
use super::contender::{resumption, tickets, versions};
use super::echo;
use super::job::IdentityPem;
use crate::error::CliError;
use crate::inputs::policy::PolicyFile;
use origin::{ListenerKind, OriginConfig, WallClock, WebSocketSettings};
use page::Table;
use proto::h1::KeepAlive;
use proto::schedule::Policy;
use secure::{Identity, KeyLog, Pem, ServerTls, ServerTlsOptions};
use std::sync::Arc;
use std::time::Duration;
use study::experiment::{Contender, Priorities};
use transport::Protocol;

/// What the origin has to know of a trial, besides its contender.
pub(super) struct OriginSpec {
    /// What lies between HTTP and each listening socket, in the order of the sockets.
    pub(super) listeners: Vec<ListenerKind>,
    /// What it speaks over TLS, the preferred first.
    pub(super) protocols: Vec<Protocol>,
    /// What the hosts of a recorded page answer; None serves what the origin makes itself.
    pub(super) table: Option<Arc<Table>>,
    /// The port that `Alt-Svc` offers HTTP/3 on.
    pub(super) alt_svc: Option<u16>,
    /// The time, for the Date field.
    pub(super) wall_clock: WallClock,
    /// What it pushes, hints and sends first.
    pub(super) policy: PolicyFile,
}

/// The configuration of our origin for a contender. An error says which of its settings our origin does not have.
pub(super) fn origin_config(
    contender: &Contender,
    trial: OriginSpec,
) -> Result<OriginConfig, CliError> {
    let side = contender.settings.server;
    let mut config = OriginConfig::new(trial.listeners, trial.wall_clock);
    config.protocols = trial.protocols;
    config.alt_svc = trial.alt_svc;
    config.priorities = match contender.settings.priorities {
        Priorities::Auto => trial.policy.priorities.unwrap_or_default(),
        named => policy(named),
    };
    config.delivery = trial.policy.delivery.map(Arc::new);
    let has_web_sockets = trial.table.as_ref().is_some_and(|table| table.has_web_sockets());
    let is_synthetic = trial.table.is_none();
    config.table = trial.table;
    let next_view = contender.settings.next_view.map(|view| view.max_age);
    let foreign = (contender.client.is_some() && is_synthetic).then_some(FOREIGN_MAX_AGE);
    config.max_age = next_view.or(foreign);
    config.visits = browser_visit::is_asked_for(contender);
    // The setting that offers it is too much for some clients.
    config.web_socket_over_h2 = contender.transport.is_web_socket() || has_web_sockets;
    config.keep_alive = match contender.settings.server_keep_alive {
        true => KeepAlive::On,
        false => KeepAlive::Off,
    };
    config.web_socket = WebSocketSettings {
        deflate: echo::deflate(side),
        writes: echo::writes(side),
        compression_level: echo::COMPRESSION_LEVEL,
    };
    // Who is still there when the trial has ended is not waited for.
    config.limits.drain = Duration::ZERO;
    Ok(config)
}

/// How long other people's clients may keep the parts of a synthetic page. A browser fetches twice what was hinted or
/// preloaded and cannot be kept.
const FOREIGN_MAX_AGE: Duration = Duration::from_secs(3_600);

fn policy(priorities: Priorities) -> Policy {
    match priorities {
        Priorities::Auto => Policy::Auto,
        Priorities::Rfc9218 => Policy::Rfc9218,
        Priorities::Rfc7540 => Policy::Rfc7540,
        Priorities::Spdy => Policy::Spdy,
        Priorities::Fifo => Policy::Fifo,
        Priorities::RoundRobin => Policy::RoundRobin,
        Priorities::ServerDriven => Policy::ServerDriven,
    }
}

/// TLS of our origin for a contender.
pub(super) fn server_tls(
    contender: &Contender,
    protocols: &[Protocol],
    identities: &[IdentityPem],
    key_log: Option<Arc<dyn KeyLog>>,
) -> Result<ServerTls, CliError> {
    let identities = identities.iter().map(identity).collect::<Result<_, _>>()?;
    let options = ServerTlsOptions {
        alpn: protocols.iter().map(|protocol| protocol.alpn().to_owned()).collect(),
        versions: versions(contender),
        resumption: resumption(contender),
        tickets: tickets(contender),
        key_log,
        ..ServerTlsOptions::new(identities)
    };
    ServerTls::new(options).map_err(CliError::failed)
}

fn identity(pem: &IdentityPem) -> Result<Identity, CliError> {
    let chain = Pem::new("the trial's chain", pem.chain.as_bytes());
    let key = Pem::new("the trial's key", pem.key.as_bytes());
    Identity::from_pem(&chain, &key).map_err(CliError::failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::policy::PolicyText;
    use crate::trial::first_visit;
    use crate::trial::job::tests::order;
    use unit::Instant;

    fn config(contender: &str) -> Result<OriginConfig, CliError> {
        let order = order("kind = \"echo\"\npattern = \"serial\"\ncount = 2", contender);
        let wall_clock = WallClock { at: Instant::ZERO, unix: Duration::ZERO };
        let spec = OriginSpec {
            listeners: vec![ListenerKind::Clear],
            protocols: vec![first_visit::over_tls(&order.plan.cell.contender)?],
            table: None,
            alt_svc: None,
            wall_clock,
            policy: PolicyFile::default(),
        };
        origin_config(&order.plan.cell.contender, spec)
    }

    #[test]
    fn the_origin_speaks_the_one_protocol_of_its_contender() {
        let speaks = |contender: &str| -> Vec<&str> {
            config(contender).unwrap().protocols.iter().map(|protocol| protocol.name()).collect()
        };
        assert_eq!(speaks("transport = \"h2\""), ["h2"]);
        assert_eq!(speaks("transport = \"spdy/3.1\""), ["spdy/3.1"]);
        assert_eq!(speaks("transport = \"ws\""), ["http/1.1"]);
        assert_eq!(speaks("transport = \"h3\""), ["h3"]);
        assert_eq!(speaks("transport = \"ws-h2\""), ["h2"]);
        assert_eq!(speaks("transport = \"ws-h3\""), ["h3"]);
    }

    #[test]
    fn extended_connect_is_offered_to_a_web_socket_alone() {
        let offers = |contender: &str| config(contender).unwrap().web_socket_over_h2;
        assert!(offers("transport = \"ws-h2\"") && offers("transport = \"ws-h3\""));
        assert!(!offers("transport = \"h2\"") && !offers("transport = \"h3\""));
    }

    #[test]
    fn other_peoples_clients_may_keep_what_a_page_loads() {
        let max_age = |contender: &str| config(contender).unwrap().max_age;
        let an_hour = Some(Duration::from_secs(3_600));
        assert_eq!(max_age("transport = \"h2\"\nclient = \"curl\""), an_hour);
        assert_eq!(max_age("transport = \"h2\""), None);
    }

    #[test]
    fn nobody_is_waited_for_when_a_trial_has_ended() {
        assert_eq!(config("transport = \"http/1.1\"").unwrap().limits.drain, Duration::ZERO);
    }

    #[test]
    fn a_contenders_own_priorities_go_before_its_policys() {
        let priorities = |settings: &str| {
            let order = order(
                "kind = \"page\"\nimages = 1\nbytes = 1",
                &format!("transport = \"h2\"\nsettings = {{ {settings} }}"),
            );
            let contender = &order.plan.cell.contender;
            let choice = contender.settings.policy.as_ref().unwrap();
            let wall_clock = WallClock { at: Instant::ZERO, unix: Duration::ZERO };
            let policy = PolicyText::of_choice(choice, &order.inputs).unwrap().read().unwrap();
            let spec = OriginSpec {
                listeners: vec![ListenerKind::Clear],
                protocols: vec![first_visit::over_tls(contender).unwrap()],
                table: None,
                alt_svc: None,
                wall_clock,
                policy,
            };
            origin_config(contender, spec).unwrap().priorities
        };
        assert_eq!(priorities("policy = \"server-driven\""), Policy::ServerDriven);
        assert_eq!(priorities("policy = \"server-driven\", priorities = \"fifo\""), Policy::Fifo);
        assert_eq!(priorities("policy = { priorities = \"rfc7540\" }"), Policy::Rfc7540);
        assert_eq!(priorities("policy = \"push\""), Policy::Auto);
    }

    #[test]
    fn a_policy_has_one_name_in_experiments_and_in_the_origin() {
        for priorities in Priorities::ALL {
            assert_eq!(policy(priorities).name(), priorities.name());
        }
    }
}
