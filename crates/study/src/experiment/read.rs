//! Reading an experiment's file: defaults and lists (several sizes in one entry) are resolved here and nowhere
//! else, and whatever is wrong is pointed at.

mod echo;
mod first_visit;
mod packets;
mod pages;
mod servers;
mod stream;
mod views;
mod workloads;

use super::contender::{
    ClientSubject, Contender, Negotiation, Priorities, Settings, Temperature, Tls, Transport,
};
use super::fast::Fast;
use super::file::{
    ContenderFile, ExperimentFile, KindFile, LinkFile, SettingsFile, TlsFile, WorkloadFile,
};
use super::one_or_table::ServerField;
use super::own_end::has_own_end;
use super::policy::PolicyChoice;
use super::quantity::{SizeField, SpanField};
use super::receive_windows::receive_window;
use super::service::Server;
use super::terms::Terms;
use super::{Experiment, ExperimentError, LinkChoice, MOST_TRIALS, Workload};
use crate::family::{FamilySizes, blocks_for_all};
use crate::gate::Gates;
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

/// Reads an experiment.
pub(super) fn parse(text: &str) -> Result<Experiment, ExperimentError> {
    let file: ExperimentFile =
        toml::from_str(text).map_err(|error| ExperimentError::from_toml(text, &error))?;
    Reader { text, timeout: DEFAULT_TIMEOUT }.experiment(file)
}

struct Reader<'t> {
    text: &'t str,
    /// When a trial has failed for taking too long.
    timeout: Duration,
}

impl Reader<'_> {
    fn experiment(mut self, file: ExperimentFile) -> Result<Experiment, ExperimentError> {
        self.filled("contenders", &file.contenders)?;
        self.filled("workloads", &file.workloads)?;
        self.filled("links", &file.links)?;
        let contender_names = file.contenders.get_ref().iter().map(|file| &file.name);
        self.distinct("contender", contender_names)?;
        self.distinct("link", file.links.get_ref().iter().map(|file| &file.name))?;
        let baseline = self.baseline(&file)?;
        let margin = file.margin.as_ref().map_or(Ok(DEFAULT_MARGIN), |field| self.margin(field))?;
        let trials = self
            .count("trials", &file.trials, MOST_TRIALS)?
            .unwrap_or_else(|| enough_trials(file.contenders.get_ref().len()));
        let warmup = self.warmup(&file.warmup)?.unwrap_or(DEFAULT_WARMUP);
        let timeout =
            file.timeout.as_ref().map_or(Ok(DEFAULT_TIMEOUT), |field| self.timeout(field))?;
        self.timeout = timeout;
        let fast_field = file.fast.clone();
        let fast = file.fast.as_ref().map(|fast| self.fast(fast, &file)).transpose()?;
        let links = file.links.into_inner();
        self.servers_that_think(file.contenders.get_ref(), &file.workloads)?;
        let workloads = self.workloads(file.workloads.into_inner())?;
        self.fast_workloads(fast_field.as_ref(), &workloads)?;
        for contender in file.contenders.get_ref() {
            self.carries(contender, &workloads)?;
            self.views(contender, &workloads)?;
        }
        let server = file.server.as_ref().map(|field| self.server(field)).transpose()?;
        let mut contenders = Vec::new();
        for one in file.contenders.into_inner() {
            contenders.push(self.served_contender(one, file.server.as_ref(), &workloads)?);
        }
        let same = file.same.map(|field| self.same(&field, &contenders)).transpose()?;
        Ok(Experiment {
            name: self.named("experiment", &file.name)?,
            title: file.title,
            question: file.question,
            published: file.published,
            not_covered: file.not_covered,
            baseline,
            margin,
            seed: file.seed.map_or(DEFAULT_SEED, Spanned::into_inner),
            stopping: file.stopping,
            time_limit: None,
            gates: Gates::default(),
            same,
            timeout,
            server,
            contenders,
            workloads,
            links: each(links, |one| self.link(one, trials, warmup))?,
            fast,
        })
    }

    /// Workloads have their names once they are read.
    fn fast_workloads(
        &self,
        field: Option<&Spanned<Fast>>,
        workloads: &[Workload],
    ) -> Result<(), ExperimentError> {
        let Some(field) = field else { return Ok(()) };
        let is_there = |name: &String| workloads.iter().any(|workload| workload.name == *name);
        match field.get_ref().workloads.iter().find(|name| !is_there(name)) {
            Some(name) => {
                let words = format!("`fast` names the workload `{name}`, and there is none");
                Err(self.fault(field.span(), words))
            }
            None => Ok(()),
        }
    }

    /// What is left out has to be there, and what the others are set against has to stay.
    fn fast(&self, field: &Spanned<Fast>, file: &ExperimentFile) -> Result<Fast, ExperimentError> {
        let fast = field.get_ref();
        let contenders = || file.contenders.get_ref().iter().map(|one| one.name.get_ref());
        let links = || file.links.get_ref().iter().map(|one| one.name.get_ref());
        let unknown = |what: &str, name: &String| {
            let words = format!("`fast` names the {what} `{name}`, and there is none");
            Err(self.fault(field.span(), words))
        };
        if let Some(name) = fast.contenders.iter().find(|name| contenders().all(|own| own != *name))
        {
            return unknown("contender", name);
        }
        if let Some(name) = fast.links.iter().find(|name| links().all(|own| own != *name)) {
            return unknown("link", name);
        }
        if !fast.contenders.is_empty() && !fast.contenders.contains(&self.baseline(file)?) {
            return Err(self.fault(field.span(), "`fast` must keep the baseline"));
        }
        Ok(fast.clone())
    }

    pub(super) fn contender(&self, file: ContenderFile) -> Result<Contender, ExperimentError> {
        let transport = *file.transport.get_ref();
        let usual = Settings::usual(transport);
        let tls = match file.tls {
            TlsFile::Auto => transport.usual_tls(),
            TlsFile::None => Tls::None,
            TlsFile::V1_2 => Tls::V1_2,
            TlsFile::V1_3 => Tls::V1_3,
        };
        let temperature = self.temperature(&file, tls)?;
        let first_visit = self.first_visit(&file, temperature)?;
        let (push, early_hints) = self.unasked(&file)?;
        let (profile, raise) = self.browser(&file)?;
        let next_view = self.next_view(&file, temperature, first_visit)?;
        let has_own_end = has_own_end(
            file.client.as_ref().map(|field| field.get_ref().as_str()),
            &server_of(&file.server),
        );
        let given = file.settings;
        if tls == Tls::None {
            self.nothing_of_tls(&given)?;
        }
        if transport.is_over_quic() && tls != Tls::V1_3 {
            // RFC 9001 §4.2.
            let words = format!(
                "`{transport}` is over QUIC, which has TLS 1.3 within it: leave `tls` away, or say \"1.3\""
            );
            return Err(self.fault(file.transport.span(), words));
        }
        let terms = given.terms.unwrap_or_default();
        let (client, server) = self.sides(transport, &given)?;
        self.packets((transport, first_visit), &given)?;
        let discovers = transport.is_over_quic() && terms == Terms::AsShipped && has_own_end;
        let settings = Settings {
            keep_alive: given.keep_alive.map_or(usual.keep_alive, Spanned::into_inner),
            server_keep_alive: given
                .server_keep_alive
                .map_or(usual.server_keep_alive, Spanned::into_inner),
            resumption: given.resumption.map_or(usual.resumption, Spanned::into_inner),
            temperature,
            first_visit,
            negotiation: given.negotiation.map_or(usual.negotiation, Spanned::into_inner),
            connections: self
                .count("connections", &given.connections, MOST_CONNECTIONS)?
                .unwrap_or(usual.connections),
            stream_window: self.window(&given.stream_window)?.unwrap_or(usual.stream_window),
            connection_window: self
                .connection_window(transport, &given.connection_window)?
                .unwrap_or(usual.connection_window),
            congestion_control: given.congestion_control.unwrap_or(usual.congestion_control),
            initial_window: self
                .count("initial_window", &given.initial_window, MOST_SEGMENTS)?
                .unwrap_or(usual.initial_window),
            mtu: given.mtu.map_or(Ok(usual.mtu), |field| self.mtu(&field))?,
            terms,
            pacing: given.pacing.is_some_and(Spanned::into_inner),
            unmatched: Vec::new(),
            mtu_discovery: given.mtu_discovery.map_or(discovers, Spanned::into_inner),
            gso: given.gso.map_or(usual.gso, Spanned::into_inner),
            ack_threshold: self.count("ack_threshold", &given.ack_threshold, MOST_ACK_THRESHOLD)?,
            slow_start_after_idle: given
                .slow_start_after_idle
                .map_or(usual.slow_start_after_idle, Spanned::into_inner),
            fast_open: given.fast_open.is_some_and(Spanned::into_inner),
            priorities: self.priorities(transport, &given.priorities)?,
            push,
            early_hints,
            profile,
            raise,
            fetchpriority: given.fetchpriority.map(Spanned::into_inner),
            next_view,
            policy: self.policy(transport, given.policy)?,
            delivery: self.delivery(transport, &given.delivery)?,
            client,
            server,
            server_time: given
                .server_time
                .map_or(Ok(usual.server_time), |field| self.server_time(&field))?,
        };
        let client = self.client(&file.client, &file.client_warmup)?;
        let server = file.server.as_ref().map(|server| self.server(server)).transpose()?;
        Ok(Contender {
            name: self.named("contender", &file.name)?,
            transport,
            tls,
            client,
            server: server.unwrap_or_default(),
            settings,
        })
    }

    /// Whether a client that is not wirelap's can be asked for a visit, its trial says. A server must agree to early data.
    fn temperature(&self, file: &ContenderFile, tls: Tls) -> Result<Temperature, ExperimentError> {
        let given = &file.settings;
        let Some(field) = &given.temperature else { return Ok(Temperature::Cold) };
        let asked = *field.get_ref();
        let resumes_nothing = given.resumption.as_ref().is_some_and(|own| !*own.get_ref());
        let closes = [&given.keep_alive, &given.server_keep_alive]
            .into_iter()
            .any(|own| own.as_ref().is_some_and(|own| !*own.get_ref()));
        let negotiates =
            given.negotiation.as_ref().is_some_and(|own| *own.get_ref() == Negotiation::Alpn);
        let fault = match asked {
            Temperature::Cold => return Ok(asked),
            _ if file.transport.get_ref().is_web_socket() => {
                "a `temperature` is for HTTP: a WebSocket is opened by its first message"
            }
            Temperature::Open if closes => {
                "`open` needs connections that stay, and keep-alive is false"
            }
            Temperature::Open => return Ok(asked),
            _ if tls == Tls::None => "sessions are TLS's, and this contender has none",
            _ if resumes_nothing => "`resumption` is false, and this `temperature` needs sessions",
            Temperature::Resumed => return Ok(asked),
            _ if tls != Tls::V1_3 => "early data needs TLS 1.3",
            _ if is_foreign(&file.server) => "early data needs wirelap's own server",
            _ if negotiates => "early data needs `negotiation = \"known\"`: it is sent before ALPN",
            Temperature::Early => return Ok(asked),
        };
        Err(self.fault(field.span(), fault))
    }

    /// There is an order only where responses share a connection.
    fn priorities(
        &self,
        transport: Transport,
        field: &Option<Spanned<Priorities>>,
    ) -> Result<Priorities, ExperimentError> {
        let Some(field) = field else { return Ok(Priorities::default()) };
        if !transport.protocol().multiplexes() {
            let words = format!(
                "`priorities` is for responses that share a connection, and `{transport}` has one at a time"
            );
            return Err(self.fault(field.span(), words));
        }
        if *field.get_ref() == Priorities::Rfc7540 && !transport.protocol().has_dependency_tree() {
            let words = format!(
                "`rfc7540` is the dependency tree of HTTP/2, and `{transport}` has none: name \"auto\", which heeds its own signals"
            );
            return Err(self.fault(field.span(), words));
        }
        Ok(*field.get_ref())
    }

    /// A server that cannot be given one is known by its trials: they are unsupported.
    fn policy(
        &self,
        transport: Transport,
        field: Option<Spanned<PolicyChoice>>,
    ) -> Result<Option<PolicyChoice>, ExperimentError> {
        let Some(field) = field else { return Ok(None) };
        if transport.is_web_socket() {
            let words = format!("`policy` is for responses of HTTP, and `{transport}` has none");
            return Err(self.fault(field.span(), words));
        }
        Ok(Some(field.into_inner()))
    }

    fn client(
        &self,
        name: &Option<Spanned<String>>,
        warmup: &Option<Spanned<u32>>,
    ) -> Result<Option<ClientSubject>, ExperimentError> {
        let times = match warmup {
            Some(field) if *field.get_ref() == 0 => 0,
            _ => self.count("client_warmup", warmup, MOST_CLIENT_WARMUPS)?.unwrap_or(0),
        };
        match (name, warmup) {
            (Some(name), _) => {
                Ok(Some(ClientSubject { name: self.named("client", name)?, warmup: times }))
            }
            (None, Some(field)) => {
                Err(self.fault(field.span(), "`client_warmup` needs a client subject"))
            }
            (None, None) => Ok(None),
        }
    }

    /// What a clear connection cannot do must not stand in its rows as if it had.
    fn nothing_of_tls(&self, given: &SettingsFile) -> Result<(), ExperimentError> {
        if let Some(field) = &given.resumption {
            return Err(self.fault(field.span(), "`resumption` needs TLS"));
        }
        match &given.negotiation {
            Some(field) if *field.get_ref() == Negotiation::Alpn => {
                Err(self.fault(field.span(), "ALPN is part of TLS, and this contender has none"))
            }
            _ => Ok(()),
        }
    }

    fn link(
        &self,
        file: LinkFile,
        trials: u32,
        warmup: u32,
    ) -> Result<LinkChoice, ExperimentError> {
        Ok(LinkChoice {
            name: self.named("link", &file.name)?,
            figures: file.figures,
            trials: self.count("trials", &file.trials, MOST_TRIALS)?.unwrap_or(trials),
            added: 0,
            warmup: self.warmup(&file.warmup)?.unwrap_or(warmup),
        })
    }

    /// A server time that no workload has would stand in rows as if it had been.
    fn servers_that_think(
        &self,
        contenders: &[ContenderFile],
        workloads: &Spanned<Vec<Spanned<WorkloadFile>>>,
    ) -> Result<(), ExperimentError> {
        let thinks = contenders.iter().any(|contender| contender.settings.server_time.is_some());
        let other = workloads.get_ref().iter().find(|one| one.get_ref().kind != KindFile::Calls);
        match other.filter(|_| thinks) {
            Some(other) => {
                let words = "a contender's `server_time` is for workloads of kind \"calls\" alone";
                Err(self.fault(other.span(), words))
            }
            None => Ok(()),
        }
    }

    fn same(&self, field: &Spanned<u32>, contenders: &[Contender]) -> Result<u32, ExperimentError> {
        let alike =
            |a: &Contender, b: &Contender| *a == Contender { name: a.name.clone(), ..b.clone() };
        match contenders {
            [a, b] if alike(a, b) => {}
            _ => {
                let words = "`same` needs two contenders that differ in nothing but the name";
                return Err(self.fault(field.span(), words));
            }
        }
        match *field.get_ref() {
            blocks if blocks < FEWEST_BLOCKS => {
                let words = format!("fewer than {FEWEST_BLOCKS} blocks have no interval at 95 %");
                Err(self.fault(field.span(), words))
            }
            blocks => Ok(blocks),
        }
    }

    fn filled<T>(&self, what: &str, list: &Spanned<Vec<T>>) -> Result<(), ExperimentError> {
        match list.get_ref().is_empty() {
            true => Err(self.fault(list.span(), format!("`{what}` needs at least one entry"))),
            false => Ok(()),
        }
    }

    fn distinct<'a>(
        &self,
        what: &str,
        names: impl Iterator<Item = &'a Spanned<String>>,
    ) -> Result<(), ExperimentError> {
        let mut seen = BTreeSet::new();
        for name in names {
            if !seen.insert(name.get_ref()) {
                let message = format!("the {what} `{}` is there already", name.get_ref());
                return Err(self.fault(name.span(), message));
            }
        }
        Ok(())
    }

    /// The baseline that the file names, or its only contender.
    fn baseline(&self, file: &ExperimentFile) -> Result<String, ExperimentError> {
        let contenders = file.contenders.get_ref();
        match (&file.baseline, contenders.as_slice()) {
            (Some(name), all) => {
                self.known_baseline(name, all.iter().map(|one| one.name.get_ref().as_str()))?;
                Ok(name.get_ref().clone())
            }
            (None, [only]) => Ok(only.name.get_ref().clone()),
            (None, _) => Err(self.fault(
                file.contenders.span(),
                "missing field `baseline`: which of the contenders the others are set against",
            )),
        }
    }

    fn known_baseline<'a>(
        &self,
        baseline: &Spanned<String>,
        contenders: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), ExperimentError> {
        let name = baseline.get_ref();
        if contenders.clone().any(|contender| contender == name) {
            return Ok(());
        }
        let known: Vec<_> = contenders.clone().map(|contender| format!("`{contender}`")).collect();
        let message =
            format!("no contender is called `{name}`, expected one of {}", known.join(", "));
        Err(self.fault(baseline.span(), message).suggesting(name, contenders))
    }

    fn margin(&self, field: &Spanned<f64>) -> Result<f64, ExperimentError> {
        match *field.get_ref() {
            margin if super::MARGINS.contains(&margin) => Ok(margin),
            _ => Err(self.fault(field.span(), "a margin is a share from 0.001 to 1, such as 0.05")),
        }
    }

    fn mtu(&self, field: &Spanned<u32>) -> Result<u32, ExperimentError> {
        // RFC 791: every host takes 576 bytes; 9000 is what jumbo frames are taken to be.
        match *field.get_ref() {
            mtu @ 576..=9000 => Ok(mtu),
            _ => Err(self.fault(field.span(), "an MTU is from 576 to 9000 bytes")),
        }
    }

    fn server_time(&self, field: &Spanned<SpanField>) -> Result<Duration, ExperimentError> {
        match field.get_ref().0 {
            span if span.subsec_nanos() % 1_000_000 != 0 => {
                Err(self.fault(field.span(), "a server time is in whole milliseconds"))
            }
            span if span > LONGEST_SERVER_TIME => {
                Err(self.fault(field.span(), "`server_time` is at most 60s"))
            }
            span => Ok(span),
        }
    }

    /// HTTP/1.1 has no flow control of its own, and SPDY/3 none of a connection.
    fn connection_window(
        &self,
        transport: Transport,
        field: &Option<Spanned<SizeField>>,
    ) -> Result<Option<unit::ByteSize>, ExperimentError> {
        if let Some(field) = field
            && (transport == Transport::Spdy3 || !transport.protocol().multiplexes())
        {
            let words = format!("`{transport}` has no `connection_window`");
            return Err(self.fault(field.span(), words));
        }
        self.window(field)
    }

    fn window(
        &self,
        field: &Option<Spanned<SizeField>>,
    ) -> Result<Option<unit::ByteSize>, ExperimentError> {
        let Some(field) = field else { return Ok(None) };
        match receive_window(field.get_ref().0) {
            Ok(size) => Ok(Some(size)),
            Err(fault) => Err(self.fault(field.span(), fault)),
        }
    }

    fn count(
        &self,
        what: &str,
        field: &Option<Spanned<u32>>,
        most: u32,
    ) -> Result<Option<u32>, ExperimentError> {
        let Some(field) = field else { return Ok(None) };
        match *field.get_ref() {
            0 => Err(self.fault(field.span(), format!("`{what}` must be at least 1"))),
            count if count > most => {
                Err(self.fault(field.span(), format!("`{what}` must be at most {most}")))
            }
            count => Ok(Some(count)),
        }
    }

    fn warmup(&self, field: &Option<Spanned<u32>>) -> Result<Option<u32>, ExperimentError> {
        match field {
            Some(field) if *field.get_ref() == 0 => Ok(Some(0)),
            _ => self.count("warmup", field, MOST_TRIALS),
        }
    }

    fn timeout(&self, field: &Spanned<SpanField>) -> Result<Duration, ExperimentError> {
        match field.get_ref().0 {
            span if span.is_zero() => {
                Err(self.fault(field.span(), "a time-out must be above zero"))
            }
            span if span > LONGEST_TIMEOUT => {
                Err(self.fault(field.span(), "a time-out is at most a day"))
            }
            span => Ok(span),
        }
    }

    fn named(&self, what: &str, name: &Spanned<String>) -> Result<String, ExperimentError> {
        let text = name.get_ref();
        match text.trim() == text && !text.is_empty() && !text.contains(char::is_control) {
            true => Ok(text.clone()),
            false => {
                Err(self.fault(name.span(), format!("`{text}` cannot be the name of the {what}")))
            }
        }
    }

    fn fault(&self, span: Range<usize>, message: impl Into<String>) -> ExperimentError {
        ExperimentError::at(self.text, span, message)
    }
}

fn is_foreign(server: &Option<Spanned<ServerField>>) -> bool {
    !server_of(server).is_origin()
}

fn server_of(field: &Option<Spanned<ServerField>>) -> Server {
    field.as_ref().map_or_else(Server::default, |field| field.get_ref().server.clone())
}

fn each<F, T>(
    files: Vec<F>,
    read: impl FnMut(F) -> Result<T, ExperimentError>,
) -> Result<Vec<T>, ExperimentError> {
    files.into_iter().map(read).collect()
}

/// As many as every comparison of a table needs for its interval, and one that may be lost; ten where that is less.
fn enough_trials(contenders: usize) -> u32 {
    const USUAL: u32 = 10;
    USUAL.max(blocks_for_all(FamilySizes::of(contenders).largest()) + 1)
}

/// 2/2^6 is the first at most 0.05.
const FEWEST_BLOCKS: u32 = 6;
const DEFAULT_MARGIN: f64 = 0.05;
const DEFAULT_WARMUP: u32 = 1;
const DEFAULT_SEED: u64 = 1;
const LONGEST_SERVER_TIME: Duration = Duration::from_secs(60);
const MOST_CONNECTIONS: u32 = 1_000;
const MOST_CLIENT_WARMUPS: u32 = 1_000;
const MOST_SEGMENTS: u32 = 1_000;
const MOST_ACK_THRESHOLD: u32 = 1_000;
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
