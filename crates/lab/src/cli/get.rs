//! The flags of `wirelap get`: curl's where curl has them.

use super::number::whole;
use super::written_url::WrittenUrl;
use crate::percent;
use base64::Engine as _;
use clap::{Args, ValueHint};
use client::{Proxy, Slice};
use page::Url;
use secure::Digest;
use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use study::experiment::receive_window;
use unit::ByteSize;

/// Download files: resumed, verified, and never half there under their final names.
#[derive(Debug, Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Examples:
  wirelap get https://example.org/disk.iso
  wirelap get -o site.tar.gz https://example.org/latest --sha256 2cf2…9824
  wirelap get --output-dir jars --checksums jars.sha256 https://repo.example/a.jar https://repo.example/b.jar
  wirelap get --connections 4 https://example.org/large.bin
  wirelap get -sS -o - https://example.org/list.txt | head
  wirelap get -u name:password --limit-rate 2M https://example.org/private.iso
  wirelap get --proxy http://proxy.example:3128 -J 'https://example.org/download?id=7'

Bytes go to .NAME.wirelap-part beside the file. When all are there, checked and on the disk, the part gets the file's name. What an earlier run has left of the same version is gone on from (--no-resume begins anew).
HTTP/2 fetches all files of a server over one connection; HTTP/1.1 over as many as --connections says.
Redirects are followed (from https to http with --redirect-to-http only) and an HTTP error is an error, always. Times are seconds, or have a unit (500ms, 2min).
Exit codes: 0 all is there, 1 a download failed, 2 misuse, 3 the machine lacks something, 130 interrupted."
)]
pub(crate) struct GetArgs {
    /// What to download; http:// where no scheme is given, with --http3 https://. A name and a password may stand before the host, as
    /// user:password@host
    #[arg(value_name = "URL", required = true, value_parser = parse_address, value_hint = ValueHint::Url)]
    pub(crate) urls: Vec<WrittenAddress>,
    /// Where to, for a single URL; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "remote_name", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Name each file as the last part of its URL's path does [the default]
    #[arg(short = 'O', long)]
    pub(crate) remote_name: bool,
    /// The folder for the files
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output_dir: Option<PathBuf>,
    /// Name the file as the server does (Content-Disposition), where it names it safely; a file that is there stays there
    #[arg(short = 'J', long, conflicts_with_all = ["output", "continue_at", "checksums"])]
    pub(crate) remote_header_name: bool,
    /// With -J, replace a file that is there
    #[arg(long, requires = "remote_header_name")]
    pub(crate) clobber: bool,
    /// Fetch these bytes alone: 0-499, 500- (from there on) or -500 (the last ones); one range, in one piece
    #[arg(short, long, value_name = "FIRST-LAST", value_parser = parse_range, allow_hyphen_values = true, conflicts_with = "continue_at")]
    pub(crate) range: Option<Slice>,
    /// Go on from what there is, even if FILE itself is another program's half download; only `-` is taken
    #[arg(short = 'C', long, value_name = "-", value_parser = ["-"], allow_hyphen_values = true)]
    pub(crate) continue_at: Option<String>,
    /// Begin anew, and keep nothing of a download that fails
    #[arg(long, conflicts_with = "continue_at")]
    pub(crate) no_resume: bool,
    /// Connections to one server, and ranges of one large file, at a time; more than 1 speaks HTTP/1.1 unless --http2 or --http3
    /// is given, over which it is ranges alone
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u16>(1..=16))]
    pub(crate) connections: u16,
    /// Files at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = whole::<u16>(1..=256))]
    pub(crate) parallel_max: u16,
    /// The file's SHA-256, for a single URL; a file with another is removed
    #[arg(long, value_name = "HEX", conflicts_with = "checksums")]
    pub(crate) sha256: Option<Digest>,
    /// The files' SHA-256, as sha256sum prints them; a file that is not in it is an error
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) checksums: Option<PathBuf>,
    /// HTTP/1.1 alone
    #[arg(long = "http1.1", conflicts_with_all = ["http2", "http2_prior_knowledge"])]
    pub(crate) http1_1: bool,
    /// HTTP/2 where the server has it over TLS [the default]
    #[arg(long, conflicts_with = "http2_prior_knowledge")]
    pub(crate) http2: bool,
    /// HTTP/2 alone, in the clear too
    #[arg(long)]
    pub(crate) http2_prior_knowledge: bool,
    /// HTTP/3 alone, over QUIC; a URL without a scheme is https:// then
    #[arg(long, conflicts_with_all = ["http1_1", "http2", "http2_prior_knowledge"])]
    pub(crate) http3: bool,
    /// Receive window of each stream of HTTP/2 and HTTP/3, from 65535 bytes on [default: 6MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_window, conflicts_with = "http1_1")]
    pub(crate) stream_window: Option<u32>,
    /// Receive window of each connection, for all its streams together [default: 15MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_window, conflicts_with = "http1_1")]
    pub(crate) connection_window: Option<u32>,
    /// Write a qlog file for each connection over QUIC into DIR [default: the variable QLOGDIR]
    #[arg(long, value_name = "DIR", requires = "http3", value_hint = ValueHint::DirPath)]
    pub(crate) qlog: Option<PathBuf>,
    /// The authorities believed, in PEM [default: the system's, or SSL_CERT_FILE's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) cacert: Option<PathBuf>,
    /// Believe any certificate
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,
    /// Tries after one that failed for a passing reason and brought nothing
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole::<u32>(0..=1_000_000))]
    pub(crate) retry: u32,
    /// How long after a file's beginning a try may still begin
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) retry_max_time: Option<Duration>,
    /// The longest that a file may take
    #[arg(short, long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) max_time: Option<Duration>,
    /// The longest that a connection may take, TLS included
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30")]
    pub(crate) connect_timeout: Duration,
    /// The longest that nothing may come
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30")]
    pub(crate) stall_timeout: Duration,
    /// Redirects followed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u32>(0..=1_000))]
    pub(crate) max_redirs: u32,
    /// Follow a redirect from https to http too
    #[arg(long)]
    pub(crate) redirect_to_http: bool,
    /// A field of the requests, as `Name: value` (repeatable)
    #[arg(short = 'H', long, value_name = "FIELD", value_parser = parse_field)]
    pub(crate) header: Vec<(String, String)>,
    /// The HTTP proxy, as http://user:password@host:port or less of it, in place of the variables http_proxy, https_proxy and
    /// all_proxy; '' for none. Hosts of no_proxy are reached without one
    #[arg(short = 'x', long, value_name = "URL", value_parser = parse_proxy)]
    pub(crate) proxy: Option<ProxyChoice>,
    /// The name and the password for all URLs that have none of their own (HTTP Basic); they go to the server named and not
    /// along with a redirect to another
    #[arg(short = 'u', long, value_name = "USER:PASSWORD", value_parser = parse_user)]
    pub(crate) user: Option<Credentials>,
    /// What the field User-Agent says
    #[arg(short = 'A', long, value_name = "NAME", value_parser = parse_text)]
    pub(crate) user_agent: Option<String>,
    /// Fetch only what was modified since then: a date as HTTP writes it, or a file whose date counts; what is neither is no
    /// condition
    #[arg(short = 'z', long, value_name = "DATE|FILE", value_parser = parse_since, allow_hyphen_values = true, conflicts_with = "continue_at")]
    pub(crate) time_cond: Option<Since>,
    /// Write the head of the answer before its body, to standard output or a device
    #[arg(short = 'i', long, requires = "output")]
    pub(crate) include: bool,
    /// The most bytes received a second, all files together: 500k, 2M (1024 and 1024 x 1024 bytes, as curl has it)
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) limit_rate: Option<NonZeroU64>,
    /// Write through the page cache, whatever the size: for files that are read again at once
    #[arg(long, conflicts_with = "no_page_cache")]
    pub(crate) page_cache: bool,
    /// Write past the page cache, whatever the size [default: from 16 MiB on]
    #[arg(long)]
    pub(crate) no_page_cache: bool,
    /// Show neither progress nor errors
    #[arg(short, long)]
    pub(crate) silent: bool,
    /// With -s, show errors all the same
    #[arg(short = 'S', long)]
    pub(crate) show_error: bool,
    /// Print a line of JSON for each file to standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Say more: connections, what is gone on from, phases
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Taken for curl's sake: redirects are always followed
    #[arg(short = 'L', long, hide = true)]
    pub(crate) location: bool,
    /// Taken for curl's sake: an HTTP error is always an error
    #[arg(short, long, hide = true)]
    pub(crate) fail: bool,
}

impl GetArgs {
    /// What to download, as the flags have it.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        let address = |WrittenAddress { url, credentials }: &WrittenAddress| {
            let url = if self.http3 { url.over_http3() } else { url.plain() };
            Address { url: url.clone(), credentials: credentials.clone() }
        };
        self.urls.iter().map(address).collect()
    }

    /// Whether what an earlier run has left is gone on from, and something is left for a later one. A range is not a part
    /// of the file that a URL names, and a name that the server gives is known too late.
    pub(crate) fn resumes(&self) -> bool {
        !self.no_resume && self.range.is_none() && !self.remote_header_name
    }
}

/// The proxy of `--proxy`; None where there must be none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProxyChoice(pub(crate) Option<Proxy>);

/// What `-z` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Since {
    Date(SystemTime),
    /// Neither a date nor a file, such as one that is yet to come. As in curl, it is no condition.
    Unknown(String),
}

/// A URL of the command line, with the name and the password that stood in it.
#[derive(Debug, Clone)]
pub(crate) struct WrittenAddress {
    url: WrittenUrl,
    credentials: Option<Credentials>,
}

/// A URL, with the name and the password that stood in it.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) url: Url,
    pub(crate) credentials: Option<Credentials>,
}

/// A name and a password. They are printed nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    user: String,
    password: String,
}

impl Credentials {
    /// The value of the field Authorization (RFC 7617).
    pub(crate) fn basic(&self) -> String {
        format!(
            "Basic {}",
            base64::engine::general_purpose::STANDARD
                .encode(format!("{}:{}", self.user, self.password))
        )
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

fn parse_address(text: &str) -> Result<WrittenAddress, String> {
    let url = WrittenUrl::parse(text)?;
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let credentials = authority.rsplit_once('@').map(|(user, _)| {
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        Credentials { user: decoded(user), password: decoded(password) }
    });
    Ok(WrittenAddress { url, credentials })
}

/// A proxy as curl writes it. The error does not repeat the text, which may hold a password.
pub(crate) fn parse_proxy(text: &str) -> Result<ProxyChoice, String> {
    if text.is_empty() {
        return Ok(ProxyChoice(None));
    }
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(format!("a proxy is asked by http alone, not by {scheme}"));
    }
    let wrong = |_| "a proxy is written as http://user:password@host:port".to_owned();
    let WrittenAddress { url, credentials } =
        parse_address(&format!("http://{rest}")).map_err(wrong)?;
    let url = url.plain().clone();
    // The port of http itself counts where it is written.
    let authority = rest.split('/').next().unwrap_or_default();
    let unsaid = if authority.ends_with(":80") { 80 } else { CURLS_PROXY_PORT };
    let authorization = credentials.map(|credentials| credentials.basic());
    let port = url.port.unwrap_or(unsaid);
    Ok(ProxyChoice(Some(Proxy { host: url.host, port, authorization })))
}

/// Where curl looks for a proxy without a port.
const CURLS_PROXY_PORT: u16 = 1080;

/// A range as curl writes it (RFC 9110 §14.1.2), one alone.
fn parse_range(text: &str) -> Result<Slice, String> {
    let wrong = || format!("`{text}` is no range: 0-499, 500- or -500 would be one");
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse::<u64>().ok().filter(|number| *number < u64::MAX).ok_or_else(wrong),
        false => Err(wrong()),
    };
    match text.split_once('-').ok_or_else(wrong)? {
        ("", length) => match number(length)? {
            0 => Err(wrong()),
            length => Ok(Slice::Last(length)),
        },
        (first, "") => Ok(Slice::From(number(first)?)),
        (first, last) => match (number(first)?, number(last)?) {
            (first, last) if first <= last => Ok(Slice::Within(first..=last)),
            _ => Err(wrong()),
        },
    }
}

/// A name or a password of a URL.
fn decoded(text: &str) -> String {
    String::from_utf8_lossy(&percent::decoded(text)).into_owned()
}

fn parse_user(text: &str) -> Result<Credentials, String> {
    match text.split_once(':') {
        Some((user, password)) => {
            Ok(Credentials { user: user.to_owned(), password: password.to_owned() })
        }
        None => Err("USER:PASSWORD is expected; nobody is asked for a password".to_owned()),
    }
}

fn parse_text(text: &str) -> Result<String, String> {
    match text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        true => Err("a field's value has no control characters".to_owned()),
        false => Ok(text.trim().to_owned()),
    }
}

/// A date, or a file's.
fn parse_since(text: &str) -> Result<Since, String> {
    if let Ok(date) = httpdate::parse_http_date(text) {
        return Ok(Since::Date(date));
    }
    if let Some(date) = text.strip_prefix('-')
        && httpdate::parse_http_date(date).is_ok()
    {
        return Err(format!(
            "`{text}` asks for what is older than that date, which is not supported"
        ));
    }
    let modified = std::fs::metadata(text).and_then(|file| file.modified());
    Ok(modified.map_or_else(|_| Since::Unknown(text.to_owned()), Since::Date))
}

fn parse_window(text: &str) -> Result<u32, String> {
    let size = text.parse::<ByteSize>().map_err(|error| error.to_string())?;
    Ok(receive_window(size)?.0 as u32)
}

fn parse_rate(text: &str) -> Result<NonZeroU64, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[number.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1_u64,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return Err(format!("`{text}` is no rate such as 500k or 2M")),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    bytes.and_then(NonZeroU64::new).ok_or_else(|| format!("`{text}` is no rate such as 500k or 2M"))
}

pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    let time = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => unit::parse_duration(text).ok(),
    };
    time.filter(|time| !time.is_zero() && *time < LONGEST)
        .ok_or_else(|| format!("`{text}` is no time: 30, 0.5, 500ms or 2min would be one"))
}

/// Times up to here can be added to a clock.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

fn parse_field(text: &str) -> Result<(String, String), String> {
    const OURS: [&str; 7] = [
        "host",
        "range",
        "if-range",
        "if-unmodified-since",
        "content-length",
        "transfer-encoding",
        "connection",
    ];
    field(text, &OURS)
}

/// A header field, unless it is one of ours to send.
pub(super) fn field(text: &str, ours: &[&str]) -> Result<(String, String), String> {
    let wrong = || format!("`{text}` is no header field: `Name: value` is expected");
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let value = value.trim();
    if name.is_empty() || !name.bytes().all(is_token) || value.bytes().any(|byte| byte < b' ') {
        return Err(wrong());
    }
    if ours.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
        return Err(format!("the field `{name}` is wirelap's own to send"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_have_a_unit() {
        assert_eq!(parse_time("2"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_time("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_time("500ms"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "nan", "1e300", "soon", ""] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn credentials_are_read_from_a_url_and_shown_by_nothing() {
        let address = parse_address("http://al%3Aice:s%20e@cret@host:81/x@y").unwrap();
        assert_eq!(address.url.plain().to_string(), "http://host:81/x@y");
        let expected = Credentials { user: "al:ice".to_owned(), password: "s e@cret".to_owned() };
        assert_eq!(address.credentials, Some(expected));
        assert!(!format!("{address:?}").contains("cret"));
        assert_eq!(parse_address("host/a@b").unwrap().credentials, None);
        // RFC 7617 §2.
        let aladdin = parse_user("Aladdin:open sesame").unwrap();
        assert_eq!(aladdin.basic(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }

    #[test]
    fn ranges_are_one_and_run_forwards() {
        assert_eq!(parse_range("0-499"), Ok(Slice::Within(0..=499)));
        assert_eq!(parse_range("500-"), Ok(Slice::From(500)));
        assert_eq!(parse_range("-500"), Ok(Slice::Last(500)));
        for text in ["", "-", "5", "-0", "9-5", "0-1,3-4", "+1-2", "a-b", "0-18446744073709551615"]
        {
            assert!(parse_range(text).is_err(), "{text}");
        }
    }

    #[test]
    fn proxies_are_written_as_curl_writes_them() {
        let proxy = |text: &str| parse_proxy(text).map(|ProxyChoice(proxy)| proxy.unwrap());
        for (text, expected) in [
            ("proxy", "proxy:1080"),
            ("proxy:80", "proxy:80"),
            ("HTTP://Proxy:3128/x", "proxy:3128"),
            ("[::1]:81", "[::1]:81"),
        ] {
            assert_eq!(proxy(text).unwrap().to_string(), expected);
        }
        let basic = proxy("http://al%3A:s@proxy").unwrap().authorization;
        assert_eq!(basic.as_deref(), Some("Basic YWw6OnM="));
        for text in ["socks5://u:secret@h", "https://u:secret@h", "http://u:secret@", "h:0", "a b"]
        {
            let why = parse_proxy(text).unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
    }

    #[test]
    fn rates_are_counted_as_curl_counts_them() {
        let bytes = |text| parse_rate(text).ok().map(NonZeroU64::get);
        assert_eq!(
            [bytes("500k"), bytes("2M"), bytes("77")],
            [Some(512_000), Some(2 << 20), Some(77)]
        );
        assert_eq!([bytes("0"), bytes("fast"), bytes("1x")], [None; 3]);
    }

    #[test]
    fn fields_that_the_download_needs_itself_are_not_taken() {
        assert_eq!(parse_field("A: b:c "), Ok(("A".to_owned(), "b:c".to_owned())));
        for text in ["no colon", ": x", "a b: c", "Range: bytes=0-1", "x: a\r\nb: c"] {
            assert!(parse_field(text).is_err(), "{text}");
        }
    }
}
