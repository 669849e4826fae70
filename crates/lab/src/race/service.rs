//! Services that already run. Builds an experiment from the command line alone, checks that the services can be raced,
//! and says what the lab cannot know about them.

use crate::cli::RaceArgs;
use crate::console;
use crate::error::CliError;
use crate::inputs::requests;
use crate::race::experiments::Selected;
use crate::trial::client_config::{ClientSpec, client_config};
use crate::trial::{near, own_calls, service};
use client::{Calls, ClientConfig, ExpectedStatus, HostAddress, Hosts, Pattern};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;
use study::experiment::{
    Contender, Experiment, OwnRequests, RequestSource, RunningService, Tls, Transport, WorkloadKind,
};
use study::outcome::Outcome;
use study::requests::Request;
use trace::FetchOutcome;
use unit::ByteSize;

/// Requests of a trial where the command line does not say how many.
const REQUESTS: u32 = 20;

/// How long a service may take to answer before a race.
const PATIENCE: Duration = Duration::from_secs(10);

/// The experiment that `race URL` runs, over the links of `quick`; None where the URL leads away from this machine and its
/// private networks.
pub(super) fn of_url(
    url: &str,
    quick: Experiment,
    args: &RaceArgs,
) -> Result<Option<Experiment>, CliError> {
    let parsed: page::Url =
        url.parse().map_err(|error| CliError::misuse(format!("{url}: {error}")))?;
    let at = format!("{}://{}:{}", parsed.scheme, parsed.host, parsed.port());
    let service = RunningService {
        name: Some(args.server_name.clone().unwrap_or_else(|| parsed.authority())),
        ca: args.cacert.as_ref().map(|file| file.to_string_lossy().into_owned()),
        insecure: args.insecure,
        ..RunningService::new(at)
    };
    if service.check().is_err() && RunningService::new(service.at.clone()).check().is_err() {
        return Ok(None);
    }
    service.check().map_err(CliError::misuse)?;
    if parsed.scheme == page::Scheme::Http && (service.ca.is_some() || service.insecure) {
        return Err(CliError::misuse(format!(
            "--cacert and --insecure are TLS's, and {url} is in the clear"
        )));
    }
    let requests = match &args.requests_from {
        Some(file) => OwnRequests {
            name: file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            from: RequestSource::List(requests::read(file)?),
        },
        None => OwnRequests {
            name: format!("GET {}", parsed.path),
            from: RequestSource::List(vec![Request::get(parsed.path.clone())]),
        },
    };
    let count = args.requests.unwrap_or(REQUESTS);
    let mut experiment = quick.at_service(service, requests, count, &args.contenders);
    if args.tls_max.as_deref() == Some("1.2") {
        for contender in experiment.contenders.iter_mut().filter(|one| one.tls == Tls::V1_3) {
            contender.tls = Tls::V1_2;
        }
    }
    Ok(Some(experiment))
}

/// Asks each service once, as each contender does but without a link: what is wrong with it is reported before anything runs.
/// Only safe methods are used.
pub(crate) fn check(chosen: &Selected) -> Result<(), CliError> {
    let mut asked: Vec<(&RunningService, Transport, Tls)> = Vec::new();
    for contender in &chosen.experiment.contenders {
        let Some(service) = contender.service() else { continue };
        let way = (service, contender.transport, contender.tls);
        if asked.contains(&way) {
            continue;
        }
        asked.push(way);
        let address = reachable(service)?;
        for request in questions(&chosen.experiment) {
            ask(chosen, contender, address, &request)?;
        }
    }
    warn(&chosen.experiment);
    Ok(())
}

/// What is asked before a race: the first request of each workload that leaves the server as it is, else a HEAD of the
/// first path.
fn questions(experiment: &Experiment) -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::new();
    for requests in own_requests(experiment) {
        let safe = requests.list().iter().find(|one| one.is_safe() && one.body_file.is_none());
        let question = match (safe, requests.list().first()) {
            (Some(request), _) => Question { request: request.clone(), any_status: false },
            (None, Some(first)) => {
                let head = Request::get(first.target().to_owned());
                let request = Request { method: Some("HEAD".to_owned()), ..head };
                Question { request, any_status: true }
            }
            (None, None) => continue,
        };
        if !questions.contains(&question) {
            questions.push(question);
        }
    }
    questions
}

#[derive(PartialEq)]
struct Question {
    request: Request,
    /// Any answer will do: the request is not the user's.
    any_status: bool,
}

/// The first of the service's addresses that somebody listens on.
fn reachable(service: &RunningService) -> Result<SocketAddr, CliError> {
    let mut last = None;
    for address in service.addresses() {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(address),
            Err(error) => last = Some(error),
        }
    }
    let why = last.map_or_else(|| "it has no address".to_owned(), |error| error.to_string());
    Err(CliError::misuse(format!("the service at {} cannot be reached: {why}", service.place()))
        .remedy("start it, or name the address and port that it listens on"))
}

fn ask(
    chosen: &Selected,
    contender: &Contender,
    address: SocketAddr,
    question: &Question,
) -> Result<(), CliError> {
    let Some(service) = contender.service() else { return Ok(()) };
    let config = direct_config(chosen, contender, address)?;
    let call = own_calls::call(&question.request, Some(service), ByteSize(0), Path::new(""))?;
    let mut specs = own_calls::fetches(std::slice::from_ref(&call))?;
    if question.any_status {
        specs.iter_mut().for_each(|spec| spec.status = ExpectedStatus::Any);
    }
    let expected = specs.first().map(|spec| spec.status).unwrap_or(ExpectedStatus::Any);
    let (done, _) = near::drive(config, Calls::new(specs, Pattern::Serial))?;
    let fetch = done.records.fetches.first();
    match fetch.map(|fetch| (&fetch.outcome, fetch.status)) {
        Some((FetchOutcome::Done, _)) => Ok(()),
        Some((FetchOutcome::Failed(reason), status)) => {
            let (name, place) = (&contender.name, service.place());
            Err(CliError::misuse(format!("{name} cannot ask the service at {place}: {reason}"))
                .remedy(match status.is_some_and(|status| !expected.allows(status)) {
                    true => OTHER_STATUS,
                    false => remedy(contender),
                }))
        }
        None => Err(CliError::failed(format!("{} was not asked", service.place()))),
    }
}

/// The contender's client, which finds the service where it is.
fn direct_config(
    chosen: &Selected,
    contender: &Contender,
    address: SocketAddr,
) -> Result<ClientConfig, CliError> {
    let Some(service) = contender.service() else { return Err(CliError::failed("no service")) };
    let own = |name: &String| {
        let found = chosen.files.iter().find(|(_, called)| called == name);
        found.map_or_else(|| name.clone(), |(file, _)| file.to_string_lossy().into_owned())
    };
    let here = RunningService { ca: service.ca.as_ref().map(own), ..service.clone() };
    let (trust, root) = service::trust(&here, Path::new("")).map_err(|outcome| match outcome {
        Outcome::Failed { reason } => CliError::misuse(reason),
        _ => CliError::failed("the service's authorities cannot be read"),
    })?;
    let timeout = chosen.experiment.timeout.min(PATIENCE);
    let hosts = BTreeMap::new();
    let spec = ClientSpec {
        hosts: &hosts,
        root: &root,
        trust,
        timeout,
        head_start: Duration::ZERO,
        rebinds: false,
        key_log: None,
    };
    let mut hosts = Hosts::new();
    hosts.insert(service.host().trim_matches(['[', ']']), HostAddress::Socket(address));
    Ok(ClientConfig { hosts, redirects: 0, ..client_config(contender, spec)? })
}

/// What mends an answer with another status than expected.
const OTHER_STATUS: &str = "say what is expected, as the request's `status`, or mend the request";

/// What most often mends a request without an answer.
fn remedy(contender: &Contender) -> &'static str {
    match (contender.tls, contender.transport) {
        (Tls::None, Transport::Http1) => {
            "if the port speaks TLS, say so: https:// before the address"
        }
        (Tls::None, _) => {
            "without TLS this protocol is for servers that know it beforehand, and few do: give the service's TLS port \
             (https://), or a server in front of it that speaks TLS and h2, or race without it: --contenders h1"
        }
        (Tls::V1_2 | Tls::V1_3, _) => {
            "check that the port speaks TLS in this version (`tls = \"1.2\"`, --tls-max 1.2), that its certificate holds the name asked for \
             (`name`, --server-name), and who signed it (`ca`, --cacert; `insecure`, -k)"
        }
    }
}

/// Says which requests change what they measure.
fn warn(experiment: &Experiment) {
    for words in unsafe_requests(experiment) {
        console::note(&format!("note: {words}"));
    }
}

/// A sentence for each request that may change a service's state.
fn unsafe_requests(experiment: &Experiment) -> Vec<String> {
    if experiment.contenders.iter().all(|one| one.service().is_none()) {
        return Vec::new();
    }
    let mut sentences: Vec<String> = Vec::new();
    let requests = own_requests(experiment).flat_map(OwnRequests::list);
    for request in requests.filter(|request| !request.is_safe()) {
        let sentence = format!(
            "{} {} may change the service's state, which is not reset between trials: later trials may meet another service",
            request.method(),
            request.target()
        );
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

/// What had to be assumed of the services, one sentence each.
pub(crate) fn assumptions(experiment: &Experiment) -> Vec<String> {
    let mut places: Vec<&str> = Vec::new();
    for service in experiment.contenders.iter().filter_map(Contender::service) {
        if !places.contains(&service.place()) {
            places.push(service.place());
        }
    }
    if places.is_empty() {
        return Vec::new();
    }
    let mut sentences = vec![
        format!(
            "{}: a service that already runs. Its version, its settings and its processor time are not known",
            places.join(", ")
        ),
        "nobody else uses the service meanwhile, and what one trial leaves in it (caches, data) does not slow the next"
            .to_owned(),
        "TCP across the link is that of a relay in front of the service, with the contender's settings: what the service \
         sets on its own sockets does not reach the link"
            .to_owned(),
    ];
    sentences.extend(unsafe_requests(experiment));
    sentences
}

fn own_requests(experiment: &Experiment) -> impl Iterator<Item = &OwnRequests> {
    experiment.workloads.iter().filter_map(|workload| match &workload.kind {
        WorkloadKind::Calls(calls) => calls.requests.as_ref(),
        _ => None,
    })
}
