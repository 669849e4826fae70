//! `wirelap load`: requests as many, or as often, as the user says.

use super::engines::words_but;
use crate::cli::{Inconclusive, LoadArgs};
use crate::console;
use crate::error::{CliError, Exit};
use crate::get::resolve;
use crate::get::trust::{self, Trusted};
use crate::load::agents::{Begun, Followers, Leader, Meeting, Order, Place};
use crate::load::live::Live;
use crate::load::outcome::RunFacts;
use crate::load::run::{LoadRun, Threads, run as run_plan};
use crate::load::slo_search::{ProbeTimes, SloSearch};
use crate::load::targets::{is_echo, targets, written_url};
use crate::load::{hdr, outcome};
use crate::named_file;
use crate::race::report::OutputFormat;
use crate::race::shard;
use client::load::{Access, Exchange, Fault, LoadPlan, Pace, Share, Spacing, Stage};
use client::{KeepAlive, Offer, Protocol, Security, Transport};
use os::busiest::ProcessTimes;
use os::reactor::{Backend, Stop};
use page::Url;
use report::{Colour, Style};
use secure::Resumption;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;
use study::load::{LoadResult, Slo, SloAnswer, TimeBuckets};
use study::shard::Shard;
use unit::format_duration;

/// How long requests are made where nothing else is said: for each run, and for each rate of a search.
const DURATION: Duration = Duration::from_secs(10);

/// The rate that a search begins at.
const FIRST_RATE: f64 = 1_000.0;

/// Makes the load, and prints its result.
pub(crate) fn run(args: &LoadArgs) -> Result<ExitCode, CliError> {
    let mut plan = plan(args)?;
    let agent = args.agent.map(shard::agent).transpose()?;
    // The others' results are the first one's to write.
    if agent.is_none_or(|agent| agent.number() == 1) {
        for file in [&args.html, &args.prometheus, &args.hdr].into_iter().flatten() {
            named_file::check(file)?;
        }
    }
    let agents = agent.map_or(1, Shard::of);
    check_agents(args, &plan, agents)?;
    let descriptors = os::process::raise_descriptors();
    let limits = ConnectionLimits { descriptors, agents };
    let (threads, limited) = limits.apply(args, &mut plan);
    Backend::from(args.reactor).probe()?;
    let stop = Stop::new()?;
    let interrupts = console::stop_on_interrupt(&stop)?;
    let live = if args.json || args.csv || !std::io::stderr().is_terminal() {
        Live::hidden()
    } else {
        Live::new()
    };
    let is_interrupted = move || interrupts.count() > 0;
    let is_interrupted: Box<dyn Fn() -> bool> = Box::new(is_interrupted);
    let share = agent.map_or(Share::WHOLE, |agent| Share {
        index: u64::from(agent.number() - 1),
        of: u64::from(agent.of()),
    });
    let mut bench = Bench {
        args,
        plan,
        threads,
        stop,
        live,
        is_interrupted,
        share,
        followers: None,
        probe: None,
    };
    match agent.map(|agent| bench.meet(agent)).transpose()? {
        None => {}
        Some(Place::First(followers)) => bench.followers = Some(followers),
        Some(Place::Other(leader)) => return bench.follow(leader),
    }
    let (mut result, ran) = match &args.slo {
        None => bench.run()?,
        Some(slo) => bench.search(slo)?,
    };
    let (followers, pace) = (bench.followers.take(), bench.plan.pace.clone());
    drop(bench);
    result.warnings.extend(limited);
    let answer = result.slo.as_ref().map(|slo| slo.answer);
    let code = match result.connects.opened {
        _ if args.slo.is_some() && result.interrupted => Exit::Interrupted as u8,
        0 => Exit::Failed as u8,
        // Connections without one answer have measured nothing.
        _ if result.whole.answers == 0 && result.whole.failed() > 0 => Exit::Failed as u8,
        _ => exit_code(answer, args.inconclusive),
    };
    if let Some(followers) = followers {
        followers.end(code);
    }
    tell(args, &result)?;
    if let Some(file) = &args.html {
        named_file::write(file, report::load_html(&result))?;
    }
    if let Some(file) = &args.prometheus {
        let times = TimeBuckets::of(ran.tally.whole().latency.histogram());
        named_file::write(file, report::load_prometheus(&result, &times))?;
    }
    if let Some(file) = &args.hdr {
        let span = Duration::from_secs_f64(result.seconds);
        let mut out = Vec::new();
        hdr::write(&mut out, &ran, &pace, span)
            .map_err(|error| CliError::failed(format!("writing {}: {error}", file.display())))?;
        named_file::write(file, out)?;
    }
    Ok(ExitCode::from(code))
}

/// The exit code of a run, or of a search with this answer.
fn exit_code(answer: Option<SloAnswer>, inconclusive: Inconclusive) -> u8 {
    match (answer, inconclusive) {
        (Some(SloAnswer::Nowhere), _) => Exit::Failed as u8,
        (Some(SloAnswer::Undecided | SloAnswer::ClientBound), Inconclusive::Fail) => INCONCLUSIVE,
        _ => 0,
    }
}

/// The exit code of a search without an answer, where that is to fail.
const INCONCLUSIVE: u8 = 4;

struct Bench<'a> {
    args: &'a LoadArgs,
    plan: LoadPlan,
    threads: usize,
    stop: Stop,
    live: Live,
    is_interrupted: Box<dyn Fn() -> bool>,
    /// This agent's part.
    share: Share,
    /// The other agents, where this is the first.
    followers: Option<Followers>,
    /// The rate that is tried, in a search.
    probe: Option<f64>,
}

impl Bench<'_> {
    /// Runs the plan once.
    fn run(&mut self) -> Result<(LoadResult, LoadRun), CliError> {
        let started = os::clock::realtime();
        let (probe, stop) = (self.probe, &self.stop);
        let begun = self.followers.as_mut().map(|others| others.begin(probe, stop)).transpose()?;
        let mut ran = self.run_part()?;
        let missing_agents = match begun {
            Some(begun) => self.hear(&mut ran, &begun)?,
            None => 0,
        };
        let facts = RunFacts {
            threads: self.threads * self.share.of as usize,
            seed: self.args.seed.0,
            started,
            missing_agents,
        };
        Ok((outcome::result(&self.plan, &ran, facts), ran))
    }

    /// Runs this agent's part once.
    fn run_part(&mut self) -> Result<LoadRun, CliError> {
        let backend = self.args.reactor.into();
        let threads = Threads { count: self.threads, backend, stop: &self.stop, agent: self.share };
        let mut ran = run_plan(&self.plan, threads, &mut self.live)?;
        ran.is_interrupted = (self.is_interrupted)();
        Ok(ran)
    }

    /// Adds what the other agents counted. Gives how many handed in nothing after an interrupt.
    fn hear(&mut self, ran: &mut LoadRun, begun: &Begun) -> Result<usize, CliError> {
        // A run by number takes each agent as long as its server takes.
        let most = match self.plan.duration {
            Some(_) => self.plan.timeout + AGENTS_GRACE,
            None => LONGEST_RUN,
        };
        match &mut self.followers {
            Some(followers) => followers.add_to(ran, begun, most, &*self.is_interrupted),
            None => Ok(0),
        }
    }

    /// Waits until all agents are there.
    fn meet(&self, agent: Shard) -> Result<Place, CliError> {
        let at = self.args.rendezvous.clone().unwrap_or_default();
        let words = words_but(&["--agent", "--rendezvous"]);
        Meeting { agent, at, words }.hold(&self.stop, &*self.is_interrupted)
    }

    /// Does what the first agent says, to its end.
    fn follow(&mut self, mut leader: Leader) -> Result<ExitCode, CliError> {
        loop {
            match leader.order(&*self.is_interrupted)? {
                Order::Run(rate) => {
                    if let Some(rate) = rate {
                        self.pace(rate);
                    }
                    let ran = self.run_part()?;
                    leader.hand_in(&ran)?;
                }
                // The run had ended already.
                Order::Stop => {}
                Order::End(code) => return Ok(ExitCode::from(code)),
            }
        }
    }

    /// Looks for the highest rate that holds `slo`; the run that is reported is that of the highest rate that held.
    fn search(&mut self, slo: &Slo) -> Result<(LoadResult, LoadRun), CliError> {
        let counted = self.plan.duration.unwrap_or(DURATION);
        let times = ProbeTimes { warm_up: self.plan.warm_up, counted };
        let before = (os::clock::now(), ProcessTimes::read());
        let mut search = SloSearch::new(slo, self.first_rate(), times);
        console::note(&search.introduction());
        while let Some(rate) = search.next() {
            self.pace(rate);
            self.probe = Some(rate);
            self.live.entitle(search.title());
            let (result, ran) = self.run()?;
            if result.interrupted {
                search.stop(result, ran);
            } else if result.connects.opened == 0 {
                return Err(self.no_rate("no connection could be opened", &ran));
            } else if result.whole.answers == 0
                && result.whole.errors.contains_key(Fault::Http1Answer.name())
            {
                return Err(self.no_rate("no request was answered in HTTP/2", &ran));
            } else {
                self.live.leave(&search.note(result, ran));
            }
        }
        let none = || CliError::failed("no rate was tried");
        let (mut result, ran) = search.finish().ok_or_else(none)?;
        let answer = result.slo.as_ref().map(|slo| slo.answer);
        if answer == Some(SloAnswer::Undecided) && !result.interrupted {
            let span = os::clock::now().since(before.0);
            let busiest = ProcessTimes::read().busiest_since(&before.1);
            result.warnings.push(way_to_decide(counted, span, busiest));
        }
        Ok((result, ran))
    }

    /// Why no probe can tell anything.
    fn no_rate(&self, what: &str, ran: &LoadRun) -> CliError {
        let reasons = outcome::reasons(&self.plan, &ran.tally);
        let error = CliError::failed(format!("{what}, so no rate was tried"));
        match reasons.is_empty() {
            true => {
                let errors = outcome::faults(&ran.tally.connects.faults);
                error.remedy(format!("failed: {}", report::load_errors(&errors)))
            }
            false => error.remedy(reasons.join("\n")),
        }
    }

    fn first_rate(&self) -> f64 {
        match &self.plan.pace {
            Pace::Open { stages, .. } => stages.first().map_or(FIRST_RATE, |stage| stage.from),
            Pace::Closed => FIRST_RATE,
        }
    }

    fn pace(&mut self, rate: f64) {
        self.plan.pace =
            Pace::Open { stages: vec![Stage::constant(rate, None)], spacing: spacing(self.args) };
    }
}

/// What may decide a search that is undecided: probes that count for longer than `counted`, and a machine without the
/// program that took most of its processors during `span`.
fn way_to_decide(counted: Duration, span: Duration, busiest: Option<(String, Duration)>) -> String {
    let longer = format_duration(counted * 3);
    let who = busiest.map(|(name, time)| {
        let cores = time.as_secs_f64() / span.as_secs_f64().max(1e-3);
        (unit::escape(&name).into_owned(), cores)
    });
    let who = match who.filter(|(_, cores)| *cores >= WORTH_A_WORD) {
        Some((name, cores)) => format!(
            "; beside this client {name} took most, {:.0} % of a core: where it is not the server, run it again without it",
            cores * 100.0
        ),
        None => String::new(),
    };
    format!("longer probes may decide it: -d {}{who}", longer.replace(' ', ""))
}

/// What another program may take without a word, in cores.
const WORTH_A_WORD: f64 = 0.1;

/// What another agent may take longer than this one, beside the time-out of its last request.
const AGENTS_GRACE: Duration = Duration::from_secs(30);

/// What another agent may take longer in a run by number.
const LONGEST_RUN: Duration = Duration::from_secs(3_600);

/// Refuses loads of which some thread of some agent would have nothing to do.
fn check_agents(args: &LoadArgs, plan: &LoadPlan, agents: u32) -> Result<(), CliError> {
    let least = plan.servers().max(1) as u64 * u64::from(agents) * u64::from(args.threads);
    let too_few = |given: u64, flag: &str, what: &str| {
        let error = CliError::misuse(format!("{agents} agents need {least} {what}"));
        match given < least && agents > 1 {
            true => Err(error.remedy(format!("raise {flag} to {least} at least"))),
            false => Ok(()),
        }
    };
    too_few(args.connections.into(), "-c", "connections: one for each thread and server")?;
    too_few(plan.requests.unwrap_or(least), "-n", "requests: one for each connection")
}

/// What bounds the number of connections, besides the user.
struct ConnectionLimits {
    /// Descriptors that each process may have.
    descriptors: u64,
    /// Processes that share the connections.
    agents: u32,
}

/// Descriptors of a process and of each thread that are no connections.
const OTHER_DESCRIPTORS: (u64, u64) = (10, 4);

impl ConnectionLimits {
    /// Lowers the plan's connections to what can be of use and can be opened. Gives the number of threads that have a
    /// connection for each server, and what was limited and why.
    fn apply(&self, args: &LoadArgs, plan: &mut LoadPlan) -> (usize, Vec<String>) {
        let (asked, least) = (plan.connections, plan.servers().max(1));
        let (process, thread) = OTHER_DESCRIPTORS;
        let other = process + thread * u64::from(args.threads);
        let free = self.descriptors.saturating_sub(other) * u64::from(self.agents);
        let mut limited = Vec::new();
        let mut limit = |most: u64, why: &str| {
            let most = usize::try_from(most).unwrap_or(usize::MAX).max(least);
            if most < plan.connections {
                plan.connections = most;
                limited = vec![format!("-c {asked} was lowered to {most}: {why}")];
            }
        };
        let (descriptors, who) = (self.descriptors, if self.agents > 1 { "each" } else { "this" });
        limit(
            free,
            &format!(
                "{who} process may have {descriptors} descriptors; raise `ulimit -n` for more"
            ),
        );
        // A warm-up makes as many requests as it has time for.
        if let Some(requests) = plan.requests.filter(|_| plan.warm_up.is_zero()) {
            limit(requests, &format!("-n {requests} has no use for more; raise -n for more"));
        }
        ((args.threads as usize).min(plan.connections / least).max(1), limited)
    }
}

fn spacing(args: &LoadArgs) -> Spacing {
    if args.poisson { Spacing::Poisson(args.seed) } else { Spacing::Even }
}

fn tell(args: &LoadArgs, result: &LoadResult) -> Result<(), CliError> {
    let colour = if console::colour() { Colour::On } else { Colour::Off };
    match OutputFormat::of(args.json, args.csv) {
        OutputFormat::Json => console::print_json(&report::load_json(result)),
        OutputFormat::Csv => console::print(&report::load_csv(result)),
        OutputFormat::Text => console::print_coloured(&report::load(
            result,
            Style { colour, width: console::width() },
        )),
    }
}

/// What the command line asks for, checked.
fn plan(args: &LoadArgs) -> Result<LoadPlan, CliError> {
    let targets = targets(args)?;
    let is_echo = targets.iter().any(is_echo);
    if args.threads > args.connections {
        return Err(CliError::misuse("each thread has a connection at least")
            .remedy("raise -c, or lower -t"));
    }
    if args.http1_1 && args.streams.is_some_and(|streams| streams > 1) {
        return Err(CliError::misuse("HTTP/1.1 has one request at a time on each connection")
            .remedy("raise -c instead of -m"));
    }
    if args.poisson && args.rate.is_empty() && args.slo.is_none() {
        return Err(
            CliError::misuse("--poisson spaces the requests of a --rate").remedy("add --rate RATE")
        );
    }
    let is_one_rate = |stage: &Stage| stage.from == stage.to && stage.lasts.is_none();
    if args.slo.is_some()
        && !matches!(&args.rate[..], [] | [_] if args.rate.iter().all(is_one_rate))
    {
        return Err(CliError::misuse("with --slo, --rate is one rate: where the search begins")
            .remedy("write --rate RATE; -d says how long each probe takes"));
    }
    if args.early_data && !targets.iter().all(is_safe) {
        return Err(CliError::misuse(
            "early data may come twice: it carries GET and HEAD without a body alone",
        )
        .remedy("leave out --early-data, or the other requests"));
    }
    let urls: Vec<Url> = targets.iter().map(|target| target.url.clone()).collect();
    for (is_given, flag) in [(args.early_data, "--early-data"), (args.resume, "--resume")] {
        if is_given && urls.iter().all(|url| url.scheme == page::Scheme::Http) {
            let url = written_url(&targets[0]);
            return Err(CliError::misuse(format!("{flag} needs TLS, and {url} is in the clear"))
                .remedy(format!("write https:// (wss:// for a WebSocket), or leave out {flag}")));
        }
    }
    if args.http3 {
        trust::check_http3(&urls)?;
    }
    let access = access(args, &urls, is_echo)?;
    let mut plan = LoadPlan::new(targets, access);
    plan.connections = args.connections as usize;
    plan.streams = args.streams.unwrap_or(1) as usize;
    plan.requests = args.requests;
    plan.warm_up = args.warm_up.unwrap_or_default();
    plan.timeout = args.timeout;
    plan.seed = args.seed;
    if !args.rate.is_empty() {
        plan.pace = Pace::Open { stages: schedule(args)?, spacing: spacing(args) };
    }
    plan.duration = duration(args);
    let servers = plan.servers();
    if servers > plan.connections / args.threads as usize {
        return Err(CliError::misuse(format!(
            "{servers} servers need a connection each from every thread"
        ))
        .remedy(format!("raise -c to {} at least", servers * args.threads as usize)));
    }
    Ok(plan)
}

/// The rates, of which all but the last have an end.
fn schedule(args: &LoadArgs) -> Result<Vec<Stage>, CliError> {
    let mut followed = args.rate.iter().take(args.rate.len().saturating_sub(1));
    if followed.any(|stage| stage.lasts.is_none()) {
        return Err(CliError::misuse("a rate that another one follows has an end")
            .remedy("write it as RATE:TIME"));
    }
    if args.rate.iter().all(|stage| stage.mass() == 0.0) {
        return Err(CliError::misuse("the schedule has no request")
            .remedy("give one of its stages a --rate above 0"));
    }
    Ok(args.rate.clone())
}

/// For how long requests are begun.
fn duration(args: &LoadArgs) -> Option<Duration> {
    let scheduled: Option<Duration> = match args.rate.is_empty() || args.slo.is_some() {
        true => None,
        false => args.rate.iter().map(|stage| stage.lasts).sum(),
    };
    match (args.duration, scheduled, args.requests) {
        (Some(asked), Some(scheduled), _) => Some(asked.min(scheduled)),
        (asked, scheduled, Some(_)) => asked.or(scheduled),
        (asked, scheduled, None) => Some(asked.or(scheduled).unwrap_or(DURATION)),
    }
}

/// Whether a request may come a second time from somebody who has recorded it (RFC 8470 §4).
fn is_safe(target: &client::load::Target) -> bool {
    match &target.exchange {
        Exchange::Http { method, body, .. } => method.is_safe() && body.is_empty(),
        Exchange::Echo { .. } => false,
    }
}

fn access(args: &LoadArgs, urls: &[Url], is_echo: bool) -> Result<Access, CliError> {
    let is_secured = || urls.iter().all(|url| url.scheme == page::Scheme::Https);
    // WebSockets go over HTTP/2 and HTTP/3 where that is asked for (RFC 8441, RFC 9220).
    let extends_connect = args.http2 || args.http2_prior_knowledge || args.http3;
    let offer = match () {
        () if args.http1_1 || is_echo && !extends_connect => Offer::Only(Protocol::Http1),
        () if args.http3 => Offer::Only(Protocol::Http3),
        () if args.http2_prior_knowledge => Offer::Only(Protocol::Http2),
        () if args.spdy => Offer::Only(Protocol::Spdy31),
        () if args.http2 && is_secured() => Offer::Only(Protocol::Http2),
        () => Offer::OrHttp1(Protocol::Http2),
    };
    let security = if args.http3 { Security::Tls } else { Security::AsUrl };
    let transport = Transport { offer, security };
    let trusted = Trusted { cacert: args.cacert.as_deref(), insecure: args.insecure };
    let resumption = match (args.early_data, args.resume) {
        (true, _) => Resumption::Early,
        (false, true) => Resumption::On,
        // Each handshake is a full one, so that their times are of one kind.
        (false, false) => Resumption::Off,
    };
    let tls = trust::client_tls(&trusted, transport.alpn(), resumption)?;
    let mut access = Access::new(transport, tls);
    access.hosts.ask(resolve::resolver(urls.iter().map(|url| url.host.as_str())));
    access.connect_timeout = args.connect_timeout;
    access.keep_alive = if args.close { KeepAlive::Off } else { KeepAlive::On };
    Ok(access)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(line: &str, descriptors: u64) -> (usize, usize, Vec<String>) {
        limited_of(line, ConnectionLimits { descriptors, agents: 1 })
    }

    fn limited_of(line: &str, limits: ConnectionLimits) -> (usize, usize, Vec<String>) {
        use clap::Parser;
        let line = format!("wirelap load {line} http://127.0.0.1:9/");
        let cli = crate::cli::Cli::try_parse_from(line.split(' ')).unwrap();
        let crate::cli::Command::Load(args) = cli.command else { panic!("no load") };
        let mut plan = plan(&args).unwrap();
        let (threads, why) = limits.apply(&args, &mut plan);
        (plan.connections, threads, why)
    }

    #[test]
    fn no_more_connections_are_opened_than_there_are_requests_or_descriptors() {
        let (connections, threads, why) = limited("-c 1000000 -t 4 -n 2", 1 << 20);
        assert_eq!((connections, threads), (2, 2));
        assert_eq!(
            why,
            ["-c 1000000 was lowered to 2: -n 2 has no use for more; raise -n for more"]
        );
        let (connections, threads, why) = limited("-c 5000 -t 2 -d 1s", 1_024);
        assert_eq!((connections, threads), (1_006, 2));
        assert!(why[0].contains("may have 1024 descriptors; raise `ulimit -n`"), "{why:?}");
        let four = ConnectionLimits { descriptors: 1_024, agents: 4 };
        let (connections, threads, why) = limited_of("-c 5000 -t 2 -d 1s", four);
        assert_eq!((connections, threads), (4 * 1_006, 2));
        assert!(why[0].contains("each process may have 1024 descriptors; raise"), "{why:?}");
        assert_eq!(limited("-c 10 -n 10", 1_024), (10, 1, Vec::new()));
        let warm = limited("-c 10 -n 2 --warm-up 1s", 1_024);
        assert_eq!(warm, (10, 1, Vec::new()));
    }

    #[test]
    fn an_undecided_search_names_what_may_decide_it() {
        let (probe, span) = (Duration::from_secs(2), Duration::from_secs(10));
        let busiest = |seconds| Some(("java".to_owned(), Duration::from_secs(seconds)));
        assert_eq!(way_to_decide(probe, span, None), "longer probes may decide it: -d 6s");
        let told = way_to_decide(probe, span, busiest(8));
        assert!(
            told.contains("-d 6s; beside this client java took most, 80 % of a core"),
            "{told}"
        );
    }

    #[test]
    fn a_search_without_a_limit_fails_where_that_was_asked_for_alone() {
        use SloAnswer::{ClientBound, Found, Nowhere, Undecided};
        let codes = |answer| [Inconclusive::Pass, Inconclusive::Fail].map(|i| exit_code(answer, i));
        let (done, failed, inconclusive) = (0, 1, INCONCLUSIVE);
        assert_eq!(codes(None), [done, done]);
        assert_eq!(codes(Some(Found)), [done, done]);
        assert_eq!(codes(Some(Nowhere)), [failed, failed]);
        assert_eq!(codes(Some(Undecided)), [done, inconclusive]);
        assert_eq!(codes(Some(ClientBound)), [done, inconclusive]);
    }
}
