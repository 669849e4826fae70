//! `wirelap get`: downloads files.

use crate::cli::{Address, GetArgs, Since};
use crate::console;
use crate::environment;
use crate::error::CliError;
use crate::get::checksums::Checksums;
use crate::get::leftover::{self, Leftover};
use crate::get::names::{self, Target};
use crate::get::outcome::{Condition, Outcome};
use crate::get::progress::Meter;
use crate::get::sink::{Naming, Outputs, Voice, Wish};
use crate::get::trust::Trusted;
use crate::get::{proxies, resolve, trust};
use crate::qlog;
use client::{
    Client, ClientConfig, Downgrades, Download, DownloadSettings, Joins, Offer, Priorities,
    Profile, Protocol, ReceiveWindows, Report, Retry, Security, Surplus, Timeouts, Transport,
    Wanted,
};
use os::files::writer::{
    Cache, DigestPolicy, Existing, UnfinishedPart, WriterSettings, WrittenFile,
};
use os::reactor::{Reactor, ReactorSettings, Stop};
use os::signal::Interrupts;
use proto::Fields;
use report::QlogVantage;
use secure::{Resumption, Sha256};
use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use unit::{ByteSize, Instant, Seed, counted};

/// Downloads all that is asked for.
pub(crate) fn run(args: &GetArgs) -> Result<ExitCode, CliError> {
    let addresses = args.addresses();
    if args.http3 {
        trust::check_http3(addresses.iter().map(|address| &address.url))?;
    }
    let targets = names::targets(args)?;
    if let (Some(Since::Unknown(text)), true) = (&args.time_cond, voice(args) > Voice::Silent) {
        console::note(&unit::escape(&format!(
            "-z {text}: neither a file nor a date such as Sun, 06 Nov 1994 08:49:37 GMT, so all is fetched"
        )));
    }
    let jobs: Vec<Job> = addresses
        .into_iter()
        .zip(wishes(args, &targets)?)
        .map(|(address, wish)| Job { address, wish, start: Start::Resumed })
        .collect();
    let (there, missing): (Vec<_>, Vec<_>) = jobs
        .into_iter()
        .enumerate()
        .map(|(place, job)| (place, there(&job), job))
        .partition(|(_, there, _)| there.is_some());
    let mut placed: Vec<(usize, Outcome)> = there
        .into_iter()
        .filter_map(|(place, file, job)| Some((place, Outcome::there(job.wish, file?))))
        .collect();
    let stop = Stop::new()?;
    let interrupts = console::stop_on_interrupt(&stop)?;
    if !missing.is_empty() {
        let places: Vec<usize> = missing.iter().map(|(place, ..)| *place).collect();
        let jobs: Vec<Job> = missing.into_iter().map(|(_, _, job)| job).collect();
        let addresses: Vec<Address> = jobs.iter().map(|job| job.address.clone()).collect();
        let running = Running { stop: &stop, interrupts: &interrupts };
        let mut outcomes = download(args, jobs, running)?;
        if interrupts.count() == 0 {
            replace_wrong_joins(args, &addresses, &mut outcomes, running)?;
        }
        placed.extend(places.into_iter().zip(outcomes));
    }
    placed.sort_by_key(|(place, _)| *place);
    let outcomes = placed.into_iter().map(|(_, outcome)| outcome).collect();
    let failed = tell(args, outcomes)?;
    if failed > 0 && interrupts.count() > 0 {
        return Err(CliError::interrupted("the download is not complete").remedy(
            match targets.iter().any(|target| matches!(target, Target::File(_))) {
                true if args.resumes() => "repeat the command to resume",
                true => "incomplete files are not kept",
                false => "what went into a stream is not resumed: repeat the command to begin anew",
            },
        ));
    }
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A file to download.
struct Job {
    address: Address,
    wish: Wish,
    start: Start,
}

/// What can end the work early.
#[derive(Clone, Copy)]
struct Running<'a> {
    stop: &'a Stop,
    interrupts: &'a Arc<Interrupts>,
}

/// The file, where it is there already: it has the digest that was asked for. Nothing else tells that for certain.
fn there(job: &Job) -> Option<WrittenFile> {
    let Wish { target: Target::File(path), digest: DigestPolicy::Expect(expected), .. } = &job.wish
    else {
        return None;
    };
    if job.wish.naming != Naming::Ours {
        return None;
    }
    let mut file = std::fs::File::open(path).ok()?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    let mut length = 0;
    loop {
        match file.read(&mut buffer).ok()? {
            0 => break,
            bytes => {
                hash.update(&buffer[..bytes]);
                length += bytes as u64;
            }
        }
    }
    let digest = hash.finish();
    (digest == *expected).then_some(WrittenFile { length, digest: Some(digest) })
}

/// Where a download begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// At what an earlier run has left.
    Resumed,
    /// At the first byte.
    Anew,
}

/// Downloads `jobs`, and returns an outcome for each.
fn download(
    args: &GetArgs,
    jobs: Vec<Job>,
    running: Running<'_>,
) -> Result<Vec<Outcome>, CliError> {
    let wanted: Vec<Wanted> = jobs.iter().map(|job| wanted(args, job)).collect();
    let conditions: Vec<Condition> = wanted.iter().map(|wanted| condition(args, wanted)).collect();
    let wishes = jobs.into_iter().map(|job| job.wish).collect();
    let mut outputs = Outputs::new(writer_settings(args), wishes, meter(args), voice(args));
    if args.include {
        outputs.include_heads();
    }
    if let Some(rate) = args.limit_rate {
        outputs.limit(rate, Arc::clone(running.interrupts));
    }
    let download = Download::new(download_settings(args), wanted, outputs);
    let download = drive(Client::new(config(args)?, download), running.stop)?;
    if args.verbose {
        tell_connections(&download);
    }
    let reports: Vec<Report> = download.reports().cloned().collect();
    let closed = download.into_sink().close();
    let outcomes = closed.into_iter().zip(reports).zip(conditions);
    let outcome =
        |(((wish, written), report), condition)| Outcome::new(wish, report, written, condition);
    Ok(outcomes.map(outcome).collect())
}

/// What `-z` makes of the request.
fn condition(args: &GetArgs, wanted: &Wanted) -> Condition {
    match args.time_cond.is_some() && wanted.fields.find(IF_MODIFIED_SINCE).is_some() {
        true => Condition::ModifiedSince,
        false => Condition::None,
    }
}

const IF_MODIFIED_SINCE: &[u8] = b"if-modified-since";

/// Downloads those files once more that were put together without a validator and turned out to be wrong.
fn replace_wrong_joins(
    args: &GetArgs,
    addresses: &[Address],
    outcomes: &mut [Outcome],
    running: Running<'_>,
) -> Result<(), CliError> {
    let wrong: Vec<usize> =
        (0..outcomes.len()).filter(|index| outcomes[*index].is_wrong_join()).collect();
    let jobs: Vec<Job> = wrong
        .iter()
        .map(|&index| {
            let wish = outcomes[index].wish.clone();
            if voice(args) > Voice::Silent {
                let name = wish.target.name();
                console::note(&unit::escape(&format!(
                    "{name}: its parts are not of one version, the SHA-256 says; beginning anew"
                )));
            }
            Job { address: addresses[index].clone(), wish, start: Start::Anew }
        })
        .collect();
    if jobs.is_empty() {
        return Ok(());
    }
    for (index, outcome) in wrong.into_iter().zip(download(args, jobs, running)?) {
        outcomes[index].replaced_by(outcome);
    }
    Ok(())
}

/// Tells what became of the files, and how many failed.
fn tell(args: &GetArgs, outcomes: Vec<Outcome>) -> Result<usize, CliError> {
    let mut failed = 0;
    for outcome in outcomes {
        if args.json {
            let line = outcome.json().map_err(CliError::failed)?;
            console::print_json(&format!("{line}\n"))?;
        }
        match &outcome.result {
            Err(_) => {
                failed += 1;
                // Of what was stopped the last line tells, once for all files.
                if !outcome.was_stopped() && (!args.silent || args.show_error) {
                    let error = CliError::failed(outcome.sentence());
                    console::print_error(&match kept_bytes(args, &outcome) {
                        0 => error,
                        kept => error.remedy(format!(
                            "{} are kept: the same command goes on from them",
                            ByteSize(kept)
                        )),
                    });
                }
            }
            Ok(_) if args.silent || args.json => {}
            Ok(_) => console::note(&outcome.sentence()),
        }
    }
    Ok(failed)
}

/// Bytes of an incomplete file that the same command goes on from.
fn kept_bytes(args: &GetArgs, outcome: &Outcome) -> u64 {
    let wish = &outcome.wish;
    let Ok(url) = wish.url.parse::<page::Url>() else { return 0 };
    let goes_on = !args.no_resume && !outcome.report.lacks_ranges;
    match leftover::find(&url, &wish.target, joins(wish), false) {
        Leftover::Usable(kept) if goes_on => kept.ranges.total(),
        _ => 0,
    }
}

/// What lets parts of a file be put together.
fn joins(wish: &Wish) -> Joins {
    match wish.digest {
        DigestPolicy::Expect(_) => Joins::DigestChecked,
        DigestPolicy::None | DigestPolicy::Report => Joins::Validated,
    }
}

fn tell_connections(download: &Download<Outputs>) {
    for connection in download.connections() {
        let tls = connection.tls.as_ref();
        let tls = tls.map_or_else(String::new, |tls| format!(", {} {}", tls.version, tls.cipher));
        console::note(&unit::escape(&format!(
            "* connection {} to {} ({}): {}{tls}, {}, {} received",
            connection.id,
            connection.authority,
            connection.remote,
            connection.protocol,
            counted(connection.requests, "request"),
            counted(connection.bytes_received, "byte"),
        )));
    }
}

fn voice(args: &GetArgs) -> Voice {
    match (args.silent, args.verbose) {
        (true, _) => Voice::Silent,
        (false, false) => Voice::Normal,
        (false, true) => Voice::Verbose,
    }
}

fn meter(args: &GetArgs) -> Meter {
    let is_seen = !args.silent && !args.json && std::io::stderr().is_terminal();
    if is_seen { Meter::new(args.urls.len()) } else { Meter::hidden() }
}

/// Each file with where it goes and what it must be.
fn wishes(args: &GetArgs, targets: &[Target]) -> Result<Vec<Wish>, CliError> {
    if args.sha256.is_some() && args.urls.len() > 1 {
        return Err(CliError::misuse("--sha256 is one file's, and there are several URLs")
            .remedy("write them to a file as sha256sum does, and give it with --checksums"));
    }
    let naming = match (args.remote_header_name, args.clobber) {
        (false, _) => Naming::Ours,
        (true, false) => Naming::Server(Existing::Stays),
        (true, true) => Naming::Server(Existing::Replaced),
    };
    let sums = args.checksums.as_deref().map(Checksums::read).transpose()?;
    let wish = |(address, target): (&Address, &Target)| {
        let digest = match (&args.sha256, &sums) {
            (Some(digest), _) => DigestPolicy::Expect(*digest),
            (None, Some(sums)) => {
                let name = target.name();
                DigestPolicy::Expect(sums.find(&name).ok_or_else(|| {
                    CliError::misuse(format!("there is no checksum for {name}"))
                        .remedy("add its line to the file, or download it without --checksums")
                })?)
            }
            (None, None) if args.json => DigestPolicy::Report,
            (None, None) => DigestPolicy::None,
        };
        Ok(Wish { url: address.url.to_string(), target: target.clone(), digest, naming })
    };
    args.addresses().iter().zip(targets).map(wish).collect()
}

fn wanted(args: &GetArgs, job: &Job) -> Wanted {
    let mut fields = Fields::new();
    for (name, value) in &args.header {
        fields.push(name.as_bytes(), value.as_bytes());
    }
    let credentials = job.address.credentials.as_ref().or(args.user.as_ref());
    if let Some(credentials) = credentials
        && fields.find_str("authorization").is_none()
    {
        fields.push(b"authorization", credentials.basic().as_bytes());
    }
    // As in curl, the field of -H goes before -A.
    if let Some(name) = args.user_agent.as_deref().filter(|name| !name.is_empty())
        && fields.find_str("user-agent").is_none()
    {
        fields.push(b"user-agent", name.as_bytes());
    }
    // The bytes are stored as they arrive. A coded body would be another file than the URL names.
    for (name, value) in
        [("user-agent", crate::VERSION_FIELD), ("accept", "*/*"), ("accept-encoding", "identity")]
    {
        if fields.find_str(name).is_none() {
            fields.push(name.as_bytes(), value.as_bytes());
        }
    }
    let joins = joins(&job.wish);
    let (url, half) = (&job.address.url, args.continue_at.is_some());
    let left = match (args.resumes(), job.start) {
        (true, Start::Resumed) => leftover::find(url, &job.wish.target, joins, half),
        (false, _) | (_, Start::Anew) => Leftover::None,
    };
    let kept = match left {
        Leftover::None => None,
        Leftover::Usable(kept) => Some(kept),
        Leftover::Unusable(why) => {
            if voice(args) > Voice::Silent {
                let name = job.wish.target.name();
                console::note(&unit::escape(&format!("{name}: {why}; beginning anew")));
            }
            None
        }
    };
    // Half a file must not be taken for the one that has not been modified, nor one that has another digest.
    let may_stay = kept.is_none() && joins == Joins::Validated;
    if let (Some(Since::Date(since)), true) = (&args.time_cond, may_stay) {
        fields.push(IF_MODIFIED_SINCE, httpdate::fmt_http_date(*since).as_bytes());
    }
    Wanted { url: url.clone(), fields, kept, joins, slice: args.range.clone() }
}

fn writer_settings(args: &GetArgs) -> WriterSettings {
    let files = usize::from(args.parallel_max).min(args.urls.len());
    WriterSettings {
        cache: match (args.page_cache, args.no_page_cache) {
            (true, _) => Cache::Buffered,
            (false, true) => Cache::Direct,
            (false, false) => Cache::Auto,
        },
        unfinished: if args.resumes() { UnfinishedPart::Keep } else { UnfinishedPart::Remove },
        unit: WriterSettings::unit_for(usize::from(args.connections) * files),
    }
}

fn download_settings(args: &GetArgs) -> DownloadSettings {
    DownloadSettings {
        connections: usize::from(args.connections),
        parallel: usize::from(args.parallel_max),
        retry: Retry { times: args.retry, span: args.retry_max_time, ..Retry::default() },
        max_time: args.max_time,
        // The seed of the pauses between retries. Clients that failed together have different process numbers, so they
        // pause for different times.
        seed: Seed(u64::from(std::process::id())),
        epoch: (SystemTime::UNIX_EPOCH + os::clock::realtime())
            .checked_sub(os::clock::now().since(Instant::ZERO)),
        ..DownloadSettings::default()
    }
}

fn config(args: &GetArgs) -> Result<ClientConfig, CliError> {
    let offer = if args.http2_prior_knowledge {
        Offer::Only(Protocol::Http2)
    } else if args.http3 {
        Offer::Only(Protocol::Http3)
    } else if args.http1_1 || (args.connections > 1 && !args.http2) {
        Offer::Only(Protocol::Http1)
    } else {
        Offer::OrHttp1(Protocol::Http2)
    };
    let security = if args.http3 { Security::Tls } else { Security::AsUrl };
    let transport = Transport { offer, security };
    let trusted = Trusted { cacert: args.cacert.as_deref(), insecure: args.insecure };
    let tls = trust::client_tls(&trusted, transport.alpn(), Resumption::On)?;
    let mut config = ClientConfig::new(transport, tls);
    let folder = args.qlog.clone().or_else(environment::qlog_folder).filter(|_| args.http3);
    config.tracer = qlog::tracer(qlog::into_folder(folder.as_deref(), QlogVantage::Client)?);
    config.proxies = proxies::proxies(args.proxy.as_ref(), &environment::proxy_variables())?;
    // Behind a proxy it is the proxy that finds a server.
    let addresses = args.addresses();
    let reached = addresses.iter().try_for_each(|address| config.check_proxy(&address.url));
    reached.map_err(CliError::misuse)?;
    let asked = addresses.iter().map(|Address { url, .. }| {
        let proxy = config.proxies.find(url.scheme, &url.host);
        proxy.map_or(url.host.as_str(), |proxy| proxy.host.as_str())
    });
    config.hosts.ask(resolve::resolver(asked));
    config.limits.per_origin = usize::from(args.connections);
    config.timeouts =
        Timeouts { connect: args.connect_timeout, stall: stall_timeout(args), whole: None };
    let (stream, connection) = (args.stream_window, args.connection_window);
    if stream.or(connection).is_some() && offer == Offer::Only(Protocol::Http1) {
        return Err(CliError::misuse(
            "HTTP/1.1 has no receive windows, and several --connections speak it",
        )
        .remedy("add --http2, or leave --stream-window and --connection-window away"));
    }
    config.set_receive_windows(ReceiveWindows {
        stream: stream.unwrap_or(config.quic.stream_window),
        connection: connection.unwrap_or(config.quic.connection_window),
    });
    config.profile = Profile::Bare;
    config.priorities = Priorities::Silent;
    config.redirects = args.max_redirs;
    config.downgrades =
        if args.redirect_to_http { Downgrades::Followed } else { Downgrades::Refused };
    config.surplus = Surplus::Blamed;
    Ok(config)
}

/// Under a limit nothing is read while the last bytes are paid for.
fn stall_timeout(args: &GetArgs) -> Duration {
    let paid_for = args.limit_rate.map_or(0, |rate| LONGEST_READ.div_ceil(rate.get()));
    args.stall_timeout + Duration::from_secs(paid_for)
}

/// At most so many bytes are received before a time-out is looked at.
const LONGEST_READ: u64 = 1 << 20;

/// Does the work to its end, or until `stop` stops it.
fn drive(
    mut client: Client<Download<Outputs>>,
    stop: &Stop,
) -> Result<Download<Outputs>, CliError> {
    // Sockets are closed at once: what the server still sends is of no use, and the process should end.
    let settings = ReactorSettings { linger: Duration::ZERO, ..ReactorSettings::default() };
    let mut reactor = Reactor::new(settings, stop.clone())?;
    reactor.run(&mut client)?;
    Ok(client.into_work())
}
