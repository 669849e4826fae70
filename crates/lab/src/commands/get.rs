//! `wirelap get`: downloads files.

use crate::cli::GetArgs;
use crate::console;
use crate::error::CliError;
use crate::get::checksums::Checksums;
use crate::get::names::{self, Target};
use crate::get::outcome::Outcome;
use crate::get::progress::Meter;
use crate::get::sink::{Outputs, Voice, Wish};
use crate::get::trust::Trusted;
use crate::get::{leftover, resolve, trust};
use client::{
    Client, ClientConfig, Download, DownloadSettings, Offer, Priorities, Profile, Protocol, Report,
    Retry, Security, Surplus, Timeouts, Transport, Wanted,
};
use os::files::writer::{Cache, DigestPolicy, UnfinishedPart, WriterSettings};
use os::reactor::{Reactor, ReactorSettings, Stop};
use proto::Fields;
use secure::Resumption;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;
use unit::Seed;

/// Downloads all that is asked for.
pub(crate) fn run(args: &GetArgs) -> Result<ExitCode, CliError> {
    let targets = names::targets(args)?;
    let wishes = wishes(args, &targets)?;
    let wanted: Vec<Wanted> =
        args.urls.iter().zip(&targets).map(|(url, target)| wanted(args, url, target)).collect();
    let outputs = Outputs::new(writer_settings(args), wishes, meter(args), voice(args));
    let download = Download::new(download_settings(args), wanted, outputs);
    let (download, interrupts) = drive(Client::new(config(args)?, download))?;
    if args.verbose {
        tell_connections(&download);
    }
    let reports: Vec<Report> = download.reports().cloned().collect();
    let closed = download.into_sink().close();
    let outcomes = closed.into_iter().zip(reports);
    let outcomes =
        outcomes.map(|((wish, written), report)| Outcome::new(wish, report, written)).collect();
    let failed = tell(args, outcomes)?;
    if failed > 0 && interrupts > 0 {
        return Err(CliError::interrupted("the download is not complete").remedy(
            match args.no_resume {
                true => "incomplete files are not kept",
                false => "repeat the command to resume",
            },
        ));
    }
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Tells what became of the files, and how many failed.
fn tell(args: &GetArgs, outcomes: Vec<Outcome>) -> Result<usize, CliError> {
    let mut failed = 0;
    for outcome in outcomes {
        if args.json {
            let line = outcome.json().map_err(CliError::failed)?;
            console::print(&format!("{line}\n"))?;
        }
        match &outcome.result {
            Err(_) => {
                failed += 1;
                if !args.silent || args.show_error {
                    console::print_error(&CliError::failed(outcome.sentence()));
                }
            }
            Ok(_) if args.silent || args.json => {}
            Ok(_) => console::note(&outcome.sentence()),
        }
    }
    Ok(failed)
}

fn tell_connections(download: &Download<Outputs>) {
    for connection in download.connections() {
        let tls = connection.tls.as_ref();
        let tls = tls.map_or_else(String::new, |tls| format!(", {} {}", tls.version, tls.cipher));
        console::note(&format!(
            "* connection {} to {} ({}): {}{tls}, {} requests, {} bytes received",
            connection.id,
            connection.authority,
            connection.remote,
            connection.protocol,
            connection.requests,
            connection.bytes_received,
        ));
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
    let sums = args.checksums.as_deref().map(Checksums::read).transpose()?;
    let wish = |(url, target): (&page::Url, &Target)| {
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
        Ok(Wish { url: url.to_string(), target: target.clone(), digest })
    };
    args.urls.iter().zip(targets).map(wish).collect()
}

fn wanted(args: &GetArgs, url: &page::Url, target: &Target) -> Wanted {
    let mut fields = Fields::new();
    for (name, value) in &args.header {
        fields.push(name.as_bytes(), value.as_bytes());
    }
    // The bytes are stored as they arrive. A coded body would be another file than the URL names.
    for (name, value) in
        [("user-agent", crate::VERSION_FIELD), ("accept", "*/*"), ("accept-encoding", "identity")]
    {
        if fields.find_str(name).is_none() {
            fields.push(name.as_bytes(), value.as_bytes());
        }
    }
    let kept = match (args.no_resume, args.continue_at.is_some()) {
        (true, _) => None,
        (false, half) => leftover::find(url, target, half),
    };
    Wanted { url: url.clone(), fields, kept }
}

fn writer_settings(args: &GetArgs) -> WriterSettings {
    let files = usize::from(args.parallel_max).min(args.urls.len());
    WriterSettings {
        cache: match (args.page_cache, args.no_page_cache) {
            (true, _) => Cache::Buffered,
            (false, true) => Cache::Direct,
            (false, false) => Cache::Auto,
        },
        unfinished: if args.no_resume { UnfinishedPart::Remove } else { UnfinishedPart::Keep },
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
    config.hosts.ask(resolve::resolver(&args.urls));
    config.limits.per_origin = usize::from(args.connections);
    config.timeouts =
        Timeouts { connect: args.connect_timeout, stall: args.stall_timeout, whole: None };
    config.profile = Profile::Bare;
    config.priorities = Priorities::Silent;
    config.redirects = args.max_redirs;
    config.surplus = Surplus::Blamed;
    Ok(config)
}

/// Does the work to its end, or to an interrupt. Returns how many files arrived.
fn drive(mut client: Client<Download<Outputs>>) -> Result<(Download<Outputs>, u32), CliError> {
    let stop = Stop::new()?;
    let interrupts = console::stop_on_interrupt(&stop)?;
    // Sockets are closed at once: what the server still sends is of no use, and the process should end.
    let settings = ReactorSettings { linger: Duration::ZERO, ..ReactorSettings::default() };
    let mut reactor = Reactor::new(settings, stop)?;
    reactor.run(&mut client)?;
    Ok((client.into_work(), interrupts.count()))
}
