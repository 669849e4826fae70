//! The arguments of `wirelap record`.

use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

/// Record a page by a browser, to replay it over every transport: wirelap race DIR.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wirelap record https://shop.example/ -o shop/      into a new folder
  wirelap race shop/                    the recorded page over HTTP/1.1, 2 and 3, on three links
  wirelap race shop/ --client chromium  the same by a browser
  wirelap record http://localhost:3000/ -o site/ --har site.har
  wirelap record https://shop.test/ -o shop/ -k --resolve shop.test:443:127.0.0.1

The browser asks the page's servers for the page, as it does for anybody, and nothing else is asked. docs/record.md tells what is kept, and how a replay finds an answer.
Exit codes: 0 done, 1 the page did not load, 2 misuse, 3 the machine lacks something, 130 interrupted.")]
pub(crate) struct RecordArgs {
    /// The page
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) url: String,
    /// Folder for the recording, made new; an empty one is used
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: PathBuf,
    /// Write a HAR 1.2 file with the bodies in it, too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) har: Option<PathBuf>,
    /// The browser, by the name that `wirelap list` gives it: one of Chromium's
    #[arg(long, value_name = "NAME", default_value = "chromium")]
    pub(crate) browser: String,
    /// Believe any certificate
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,
    /// Connect to ADDRESS for HOST and PORT, as curl does (repeatable)
    #[arg(long, value_name = "HOST:PORT:ADDRESS", value_parser = parse_resolve)]
    pub(crate) resolve: Vec<Resolve>,
    /// How long nothing may be under way after the load before the page counts as quiet
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_span)]
    pub(crate) quiet: Duration,
    /// How long the page may take until then
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_span)]
    pub(crate) timeout: Duration,
}

/// An address for a host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolve {
    host: String,
    port: u16,
    address: std::net::IpAddr,
}

impl Resolve {
    /// As a rule of Chromium's.
    pub(crate) fn rule(&self) -> String {
        let Self { host, port, address } = self;
        match address {
            std::net::IpAddr::V4(address) => format!("MAP {host}:{port} {address}"),
            std::net::IpAddr::V6(address) => format!("MAP {host}:{port} [{address}]"),
        }
    }
}

fn parse_resolve(text: &str) -> Result<Resolve, String> {
    let wrong = || format!("`{text}` is not HOST:PORT:ADDRESS, such as shop.test:443:127.0.0.1");
    let (host, rest) = text.split_once(':').ok_or_else(wrong)?;
    let (port, address) = rest.split_once(':').ok_or_else(wrong)?;
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    if host.is_empty() || !host.bytes().all(is_name) {
        return Err(wrong());
    }
    let address = address.trim_matches(['[', ']']).parse().map_err(|_| wrong())?;
    let port = port.parse().map_err(|_| wrong())?;
    Ok(Resolve { host: host.to_owned(), port, address })
}

fn parse_span(text: &str) -> Result<Duration, String> {
    unit::parse_duration(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_for_a_host_becomes_one_rule_and_nothing_else() {
        let rule = |text: &str| parse_resolve(text).map(|resolve| resolve.rule());
        assert_eq!(rule("a.test:80:127.0.0.2").as_deref(), Ok("MAP a.test:80 127.0.0.2"));
        assert_eq!(rule("a.test:80:[::1]").as_deref(), Ok("MAP a.test:80 [::1]"));
        for wrong in ["", "a", "a:1", "a:x:127.0.0.1", "a:1:b", "a, MAP *:80:127.0.0.1", ":1:::1"] {
            assert!(rule(wrong).is_err(), "{wrong}");
        }
    }
}
