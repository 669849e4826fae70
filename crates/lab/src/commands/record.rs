//! `wirelap record`: records a page by a browser into a folder that `race` replays. The folder appears whole or not at all.

mod archive;
mod place;

use crate::cli::RecordArgs;
use crate::console;
use crate::error::{self, CliError};
use crate::inputs::{har, subjects};
use crate::named_file;
use archive::Archive;
use os::signal::Interrupts;
use place::{Place, Scratch};
use std::process::ExitCode;
use study::experiment::{Dependencies, HarWorkload, RecordedHosts, Think};
use subject::record::{RecordSpec, RecordedExchange, RecordedPage, RecordedResponse, record};
use subject::tools::ToolError;
use unit::counted;

/// Records the page.
pub(crate) fn run(args: &RecordArgs) -> Result<ExitCode, CliError> {
    check_url(&args.url)?;
    let interrupts = Interrupts::take().map_err(CliError::failed)?;
    let place = Place::of(&args.output)?;
    args.har.iter().try_for_each(|file| named_file::check(file))?;
    let program = program(&args.browser)?;
    let profile = Scratch::make(&std::env::temp_dir(), "wirelap-record", "")?;
    let epoch_ms = os::clock::realtime().as_millis() as u64;
    let rules: Vec<String> = args.resolve.iter().map(crate::cli::Resolve::rule).collect();
    let spec = RecordSpec {
        url: &args.url,
        program: &program,
        profile: &profile.0,
        timeout: args.timeout,
        quiet: args.quiet,
        insecure: args.insecure,
        resolver_rules: rules.join(","),
        epoch_ms,
        is_stopped: &|| interrupts.count() > 0,
    };
    let page = record(&spec).map_err(|error| match (interrupts.count(), error) {
        (1.., _) => interrupted(),
        (_, ToolError::Unsupported(line)) => CliError::lacking(line.reason),
        (_, ToolError::Broken(reason)) => match way_out(&reason) {
            Some(remedy) => CliError::failed(reason).remedy(remedy),
            None => CliError::failed(reason),
        },
    })?;
    check_document(&page)?;
    let archive = Archive::of(&page, epoch_ms);
    place.keep(&archive, &|| interrupts.count() > 0)?;
    if let Some(file) = &args.har {
        named_file::write(file, archive.har())?;
    }
    tell(args, &page)?;
    Ok(ExitCode::SUCCESS)
}

/// What to do about an error of Chromium's.
fn way_out(reason: &str) -> Option<&'static str> {
    const WAYS: [(&str, &str); 4] = [
        ("ERR_CERT_", "its certificate is not trusted: -k believes any"),
        ("ERR_CONNECTION_REFUSED", "is a server listening there?"),
        (
            "ERR_NAME_NOT_RESOLVED",
            "is the name right? --resolve HOST:PORT:ADDRESS gives it an address",
        ),
        ("ERR_SSL_PROTOCOL_ERROR", "is it a TLS port? where it is none, ask for http://"),
    ];
    WAYS.into_iter().find(|(error, _)| reason.contains(error)).map(|(_, way)| way)
}

/// Refuses what is no page: an error, and a file that the browser takes for a download.
fn check_document(page: &RecordedPage) -> Result<(), CliError> {
    let mut documents = page.exchanges.iter().filter(|exchange| exchange.kind == "Document");
    let led_here = |exchange: &&RecordedExchange| {
        exchange.response.as_ref().is_some_and(|response| !(300..400).contains(&response.status))
    };
    let Some(document) = documents.find(led_here) else { return Ok(()) };
    let (Some(response), url) = (&document.response, &document.url) else { return Ok(()) };
    if response.status >= 400 {
        return Err(CliError::failed(format!(
            "{url} was answered with status {}",
            response.status
        ))
        .remedy("name a page that is there; nothing was written"));
    }
    match (&document.error, &response.body) {
        (Some(error), None) => Err(CliError::failed(format!(
            "{url} is no page to the browser, but a download of type `{}` ({error})",
            response.media_type
        ))
        .remedy("name a page; nothing was written")),
        _ => Ok(()),
    }
}

fn interrupted() -> CliError {
    CliError::interrupted("a signal came before the page was recorded; nothing was written")
}

fn check_url(url: &str) -> Result<(), CliError> {
    url.parse::<page::Url>().map(drop).map_err(|error| {
        CliError::misuse(format!("`{url}`: {error}")).remedy("such as https://shop.example/")
    })
}

/// The program of a browser.
fn program(name: &str) -> Result<String, CliError> {
    let catalogue = subjects::known(None, &[])?;
    let unable = |what: String| {
        CliError::misuse(what)
            .remedy("name one of Chromium's (see `wirelap list`), or leave --browser away")
    };
    let Some(browser) = catalogue.client(name) else {
        return Err(unable(format!("no client `{name}` is declared")));
    };
    let command = browser
        .command_line(&subjects::places()?)
        .map_err(|lacking| CliError::lacking(lacking.reason).remedy(lacking.remedy))?;
    match &command[..] {
        [_, subject, chromium, program] if subject == "subject" && chromium == "chromium" => {
            Ok(program.clone())
        }
        _ => Err(unable(format!("{name} cannot record: it does not speak Chromium's protocol"))),
    }
}

/// Says what was recorded, and what a replay of it assumes.
fn tell(args: &RecordArgs, page: &RecordedPage) -> Result<(), CliError> {
    let folder = args.output.display();
    let answered = page.exchanges.iter().filter(|exchange| exchange.response.is_some()).count();
    let kept =
        page.exchanges.iter().filter_map(|exchange| exchange.response.as_ref()?.body.as_ref());
    let bytes: usize = kept.clone().map(Vec::len).sum();
    let mut text = format!(
        "{folder}: {}, {}, {} of {}, by {}\n",
        counted(page.exchanges.len(), "request"),
        counted(answered, "response"),
        bodies(kept.count()),
        counted(bytes, "byte"),
        page.browser,
    );
    let has_lost =
        |response: &&RecordedResponse| response.body.is_none() && response.body_bytes > 0;
    let (cut, whole): (Vec<_>, Vec<_>) =
        page.exchanges.iter().partition(|exchange| exchange.is_cut());
    let responses = whole.iter().filter_map(|exchange| exchange.response.as_ref());
    let lost = responses.filter(has_lost).count();
    if lost > 0 {
        text.push_str(&format!(
            "{} that the browser did not keep: a replay has noise of as many bytes.\n",
            bodies(lost)
        ));
    }
    if !cut.is_empty() {
        text.push_str(&format!(
            "{} cut before the end, by the page or by the end of the recording: a replay has noise of as many bytes as had come.\n",
            match cut.len() {
                1 => "1 response was".to_owned(),
                count => format!("{count} responses were"),
            },
        ));
    }
    if page.was_cut {
        let limit = unit::format_duration(args.timeout);
        text.push_str(&format!(
            "The page was not quiet after {limit}: what went on is not in the recording (--timeout).\n"
        ));
    }
    for exchange in page.exchanges.iter().filter(|exchange| exchange.response.is_none()) {
        let why = exchange.error.as_deref().unwrap_or("no answer came");
        text.push_str(&format!("Not recorded: {}: {why}.\n", exchange.url));
    }
    let whole = HarWorkload {
        file: args.output.to_string_lossy().into_owned(),
        think: Think::Recorded,
        dependencies: Dependencies::Inferred,
        hosts: RecordedHosts::Apart,
    };
    let recording = har::read(&args.output, &whole)?;
    for sentence in recording.assumptions.sentences() {
        text.push_str(&format!("  {sentence}\n"));
    }
    let shell = error::quoted(&args.output);
    text.push_str(&format!("Replay it: wirelap race {shell}\n"));
    console::print(&text)
}

fn bodies(count: usize) -> String {
    match count {
        1 => "1 body".to_owned(),
        _ => format!("{count} bodies"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(status: u16, error: Option<&str>, body: Option<&[u8]>) -> RecordedPage {
        let exchange = |status, error: Option<&str>, body: Option<&[u8]>| RecordedExchange {
            url: "http://a.test/".to_owned(),
            kind: "Document".to_owned(),
            error: error.map(str::to_owned),
            response: Some(RecordedResponse {
                status,
                body: body.map(<[u8]>::to_vec),
                ..RecordedResponse::default()
            }),
            ..RecordedExchange::default()
        };
        let exchanges = vec![exchange(302, None, None), exchange(status, error, body)];
        RecordedPage { exchanges, ..RecordedPage::default() }
    }

    #[test]
    fn errors_and_downloads_are_no_pages() {
        let told = |page: RecordedPage| check_document(&page).map_err(|error| error.to_string());
        assert_eq!(told(page(200, None, Some(b"<p>"))), Ok(()));
        let missing = told(page(404, None, Some(b"no"))).unwrap_err();
        assert!(missing.contains("http://a.test/ was answered with status 404"), "{missing}");
        let download = told(page(200, Some("net::ERR_ABORTED"), None)).unwrap_err();
        assert!(download.contains("a download"), "{download}");
    }

    #[test]
    fn the_browsers_errors_have_a_way_out() {
        let way = |error: &str| way_out(&format!("https://a.test/: net::{error}"));
        assert!(way("ERR_CERT_AUTHORITY_INVALID").is_some_and(|way| way.contains("-k")));
        assert!(way("ERR_CONNECTION_REFUSED").is_some_and(|way| way.contains("listening")));
        assert_eq!(way("ERR_EMPTY_RESPONSE"), None);
    }
}
