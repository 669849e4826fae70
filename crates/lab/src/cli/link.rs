//! The flags of `wirelap link`.

use super::number::whole;
use super::parse_seed;
use clap::{Args, ValueHint};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use unit::Seed;

/// Run two programs, or put a service of this machine, across an emulated link, without root.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wirelap link 3g --far 'nginx -g \"daemon off;\"' -- curl -so /dev/null http://far/
  wirelap link rtt=60ms,down=10mbit,up=2mbit,loss=0.5%,queue=64kB --far 'iperf3 -s -1' -- sh -c 'iperf3 -c far -R'
  wirelap link 4g,loss=1% -- ping -c 5 far
  wirelap link 4g --expose 9000:127.0.0.1:3000      your browser at http://127.0.0.1:9000/ is across 4g from your service
  wirelap link 4g --forward far:80=127.0.0.1:3000 --name shop.test -- curl http://shop.test/
  wirelap link 3g --far 'wirelap serve . --listen-tls 0.0.0.0:8443 --ca-out ca.pem' -- curl --cacert ca.pem https://far:8443/

Keys: rtt or delay; rate (up, down apart) or trace, a mahimahi file; queue, in bytes or as 1.5bdp; loss=1%, or loss=1%/8 in bursts; jitter; reorder=yes, or reorder=1%/5ms; aqm=codel or fq_codel; policer=5mbit/64kB; udp=blocked or udp_rate=2mbit; rebind=2s (docs/link.md). Each of them but rtt, rate and rebind also goes one way, as in loss_up or trace_down.

With --expose and --forward a relay ends TCP at each side of the link: connections across the link are real ones, the steps beside it are local (docs/link.md). Without COMMAND the link stays until Ctrl-C.

Both sides see the other as the names `near` and `far`, and as $WIRELAP_NEAR and $WIRELAP_FAR.
Down is far to near. Rates count IP bytes; loss comes after the bottleneck. The exit code is COMMAND's, or 3 where this machine cannot hold the link.")]
pub(crate) struct LinkArgs {
    /// A profile (see `wirelap list`), KEY=VALUE,… or a profile with changes
    #[arg(value_name = "LINK")]
    pub(crate) link: String,
    /// What runs at the far side, by `sh -c`, its output on standard error; ended when COMMAND ends
    #[arg(long, value_name = "COMMAND")]
    pub(crate) far: Option<String>,
    /// Listen on this machine (on 127.0.0.1, or on ADDR), and pass what comes there across the link to a service of this
    /// machine, or of the far side where HOST is `far` (repeatable)
    #[arg(long, value_name = "[ADDR:]PORT:HOST:PORT")]
    pub(crate) expose: Vec<Expose>,
    /// Have this port of the far side answer with a service of this machine (repeatable)
    #[arg(long, value_name = "far:PORT=HOST:PORT")]
    pub(crate) forward: Vec<Forward>,
    /// A further name of the far side (repeatable)
    #[arg(long, value_name = "NAME", value_parser = parse_alias)]
    pub(crate) name: Vec<String>,
    /// Wait until a program of the far side listens on this TCP port, or has bound this UDP port, before COMMAND starts
    #[arg(long, value_name = "PORT", requires = "far", value_parser = whole::<u16>(1..=u64::from(u16::MAX)))]
    pub(crate) ready_port: Option<u16>,
    /// Seed of loss and jitter
    #[arg(long, value_name = "N", value_parser = parse_seed, default_value = "1")]
    pub(crate) seed: Seed,
    /// Keep the packets as pcapng, as the near side saw them; with the secrets that $SSLKEYLOGFILE is given meanwhile
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) capture: Option<PathBuf>,
    /// Leave out the seconds in which the link machinery is measured before a link of more than 1 Gbit/s or of a round
    /// trip below 200 µs
    #[arg(long)]
    pub(crate) no_calibration: bool,
    /// Print what the link did to standard error at the end
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// What runs at the near side; with --expose it may be left out
    #[arg(value_name = "COMMAND", required_unless_present = "expose", last = true)]
    pub(crate) command: Vec<String>,
}

/// A port of this machine that leads across the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expose {
    /// Where this machine listens; port 0 takes a free one.
    pub(crate) listen: SocketAddr,
    /// What is reached there.
    pub(crate) to: Service,
}

/// A port of the far side that leads to a service of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Forward {
    /// Where the far side listens.
    pub(crate) from: FarPort,
    /// The service.
    pub(crate) to: Service,
}

/// A port of the far side, by a name of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FarPort {
    pub(crate) name: String,
    pub(crate) port: u16,
}

/// Host and port of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) host: Host,
    pub(crate) port: u16,
}

/// Where a service is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    /// The far side of the link.
    Far,
    /// What this machine knows by that name or address.
    Named(String),
}

impl FromStr for Expose {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            "[ADDR:]PORT:HOST:PORT is expected, such as 9000:127.0.0.1:3000 or 0.0.0.0:9000:localhost:3000"
                .to_owned()
        };
        refuse_udp(text)?;
        let parts = split_at_colons(text);
        let (address, [port, host, to]) = match parts[..] {
            [port, host, to] => (IpAddr::V4(Ipv4Addr::LOCALHOST), [port, host, to]),
            [address, port, host, to] => {
                (bare(address).parse().map_err(|_| expected())?, [port, host, to])
            }
            _ => return Err(expected()),
        };
        let listen = SocketAddr::new(address, port.parse().map_err(|_| expected())?);
        let to = Service::of(host, to).ok_or_else(expected)?;
        Ok(Self { listen, to })
    }
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || "far:PORT=HOST:PORT is expected, such as far:80=127.0.0.1:3000".to_owned();
        refuse_udp(text)?;
        let (from, to) = text.split_once('=').ok_or_else(expected)?;
        let (name, port) = from.rsplit_once(':').ok_or_else(expected)?;
        let port = port.parse().ok().filter(|&port| port > 0).ok_or_else(expected)?;
        let from = FarPort { name: name.to_ascii_lowercase(), port };
        let [host, to] = split_at_colons(to)[..] else { return Err(expected()) };
        let to = Service::of(host, to).ok_or_else(expected)?;
        if to.host == Host::Far {
            return Err("a service of the far side needs no --forward: it listens there".to_owned());
        }
        Ok(Self { from, to })
    }
}

impl Service {
    fn of(host: &str, port: &str) -> Option<Self> {
        let port = port.parse().ok().filter(|&port| port > 0)?;
        let host = match bare(host) {
            "" => return None,
            "far" => Host::Far,
            host => Host::Named(host.to_owned()),
        };
        Some(Self { host, port })
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Far => write!(f, "far:{}", self.port),
            Host::Named(host) if host.contains(':') => write!(f, "[{host}]:{}", self.port),
            Host::Named(host) => write!(f, "{host}:{}", self.port),
        }
    }
}

/// Docker's way to name a UDP port.
fn refuse_udp(text: &str) -> Result<(), String> {
    match text.strip_suffix("/udp") {
        Some(_) => Err(
            "only TCP is relayed, not UDP (HTTP/3): run both ends in the link by --far and COMMAND"
                .to_owned(),
        ),
        None => Ok(()),
    }
}

/// The parts between colons, those in brackets aside.
fn split_at_colons(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let is_between = |c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ':' && depth == 0
    };
    text.split(is_between).collect()
}

/// An IPv6 address without its brackets.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn parse_alias(text: &str) -> Result<String, String> {
    match super::parse_name(text)? {
        name if name == "localhost" => {
            let what = "`localhost` never leaves the side that asks for it. A test that takes its address from a setting gets \
                        http://far, with --forward far:80=127.0.0.1:PORT; any other runs outside, against another port of \
                        --expose PORT:127.0.0.1:PORT";
            Err(what.to_owned())
        }
        name if name == "near" => {
            Err(format!("`{name}` stands for something else: choose a name such as shop.test"))
        }
        name => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_unicode_is_taken_as_its_a_label() {
        assert_eq!(parse_alias("münchen.test").as_deref(), Ok("xn--mnchen-3ya.test"));
        assert_eq!(parse_alias("MÜNCHEN.test").as_deref(), Ok("xn--mnchen-3ya.test"));
        for wrong in ["\u{202e}x.test", "mün/chen", "mü nchen", "ü:80", "ü@x"] {
            assert!(parse_alias(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn exposed_ports_are_read_as_users_write_them() {
        let read =
            |text: &str| text.parse::<Expose>().map(|port| format!("{} {}", port.listen, port.to));
        for (text, meaning) in [
            ("9000:127.0.0.1:3000", "127.0.0.1:9000 127.0.0.1:3000"),
            ("0.0.0.0:0:localhost:3000", "0.0.0.0:0 localhost:3000"),
            ("[::1]:9000:[::1]:3000", "[::1]:9000 [::1]:3000"),
            ("9000:far:80", "127.0.0.1:9000 far:80"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(meaning));
        }
        for text in ["9000", "9000:3000", "9000::3000", "x:h:1", "1:h:0", "1:h:70000", "a:1:h:2"] {
            assert!(read(text).unwrap_err().contains("9000:127.0.0.1:3000"), "{text}");
        }
        assert!(read("9000:h:1/udp").unwrap_err().contains("only TCP"));
    }

    #[test]
    fn forwarded_ports_are_read_as_users_write_them() {
        let read = |text: &str| text.parse::<Forward>();
        let port = read("shop.test:80=[::1]:3000").unwrap();
        assert_eq!((&port.from.name[..], port.from.port), ("shop.test", 80));
        assert_eq!(port.to.to_string(), "[::1]:3000");
        for text in ["80=h:1", "far:80", "far:0=h:1", "far:80=h", "far:80=h:x"] {
            assert!(read(text).unwrap_err().contains("far:80=127.0.0.1:3000"), "{text}");
        }
        assert!(read("far:80=far:81").is_err());
    }
}
