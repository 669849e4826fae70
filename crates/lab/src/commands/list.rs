//! `wirelap list`: the names that the command line accepts, and what this machine can run.

use crate::cli::ListArgs;
use crate::console;
use crate::environment;
use crate::error::CliError;
use crate::inputs::links;
use crate::inputs::policy::BUILTIN_POLICIES;
use crate::inputs::servers::Servers;
use crate::inputs::subjects;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use study::carried::link_list;
use study::experiment::{
    Contender, Experiment, KNOWN_CONTENDERS, KnownContender, Tls, Transport, builtin,
};
use subject::server::{ServerDeclaration, ServerFailure};
use subject::{Catalogue, PEERS};

/// Prints the list.
pub(crate) fn run(args: &ListArgs) -> Result<ExitCode, CliError> {
    let listed = Listed::new();
    match args.json {
        true => console::print_json(&listed.json()),
        false => console::print(&listed.text()),
    }?;
    Ok(ExitCode::SUCCESS)
}

struct Listed {
    experiments: Vec<Experiment>,
    /// Each client subject's name, transports, and why it cannot run here; None where it can.
    clients: Vec<(String, String, Option<String>)>,
    /// Each peer's name, role, and version where it is installed.
    peers: Vec<(&'static str, &'static str, Option<String>)>,
    servers: Vec<ListedServer>,
    /// Why no trial can run here; None where they can.
    lacking: Option<String>,
}

/// A server that a contender may name.
#[derive(Serialize)]
struct ListedServer {
    name: String,
    speaks: String,
    /// Where it is here.
    version: Option<String>,
    remedy: String,
    /// What the program that is here was built without.
    lacking: Vec<String>,
}

impl ListedServer {
    fn of(declaration: &ServerDeclaration, folders: &[PathBuf]) -> Self {
        let unknown = || "version unknown".to_owned();
        let here = declaration.is_here(folders, &environment::peers_folder()).is_ok();
        let lacking = Transport::ALL.into_iter().filter_map(|transport| {
            match declaration.is_built_for(transport, folders) {
                Err(ServerFailure::Unsupported { reason, .. }) => Some(reason),
                _ => None,
            }
        });
        Self {
            name: declaration.name().to_owned(),
            speaks: declaration.ways(),
            version: here.then(|| declaration.version(folders).unwrap_or_else(unknown)),
            remedy: declaration.remedy().to_owned(),
            lacking: lacking.collect(),
        }
    }

    /// Its version and what it lacks, or how to get it.
    fn state(&self) -> String {
        match &self.version {
            Some(version) => {
                let lacking = self.lacking.iter().map(|lacking| format!("; {lacking}"));
                format!("{}{}", brief(version), lacking.collect::<String>())
            }
            None => format!("not here: {}", self.remedy),
        }
    }
}

impl Listed {
    fn new() -> Self {
        let folders = environment::program_folders();
        let version = |peer: &subject::Peer| {
            let path = peer.find(&folders)?;
            Some(peer.version_of(&path).unwrap_or_else(|| "version unknown".to_owned()))
        };
        Self {
            experiments: builtin().iter().filter_map(|builtin| builtin.toml.parse().ok()).collect(),
            peers: PEERS
                .iter()
                .map(|peer| (peer.program, peer.role.as_str(), version(peer)))
                .collect(),
            clients: clients(),
            servers: Servers::builtin()
                .all()
                .map(|declaration| ListedServer::of(declaration, &folders))
                .collect(),
            lacking: os::net::probe().err().map(|error| error.to_string()),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        self.write_experiments(&mut text);
        write_names(&mut text);
        self.write_subjects(&mut text);
        self.write_machine(&mut text);
        text
    }

    fn write_experiments(&self, text: &mut String) {
        text.push_str("Experiments (wirelap race NAME)\n");
        let width = width(self.experiments.iter().map(|experiment| experiment.name.as_str()));
        for experiment in &self.experiments {
            let contenders: Vec<&str> =
                experiment.contenders.iter().map(|c| c.name.as_str()).collect();
            let links: Vec<String> = experiment.links.iter().map(|l| l.name.clone()).collect();
            let _ = writeln!(text, "  {:<width$}{}", experiment.name, experiment.question);
            let (contenders, links) = (contenders.join(", "), link_list(&links));
            let _ = writeln!(text, "  {:<width$}{contenders} over {links}", "");
        }
        for (name, what) in [
            ("published", "all of these that run a published measurement again"),
            ("FILE.toml", "an experiment of your own (docs/schema/experiment.schema.json)"),
            ("FILE.har", "a page of your own, as a browser's developer tools save it"),
        ] {
            let _ = writeln!(text, "  {name:<width$}{what}");
        }
    }

    fn write_subjects(&self, text: &mut String) {
        text.push_str("\nClients (client = \"NAME\" of a contender; docs/subjects.md)\n");
        let clients = width(self.clients.iter().map(|(name, ..)| name.as_str()));
        for (name, speaks, lacking) in &self.clients {
            let lacking = lacking.as_ref().map_or_else(String::new, |why| format!("; {why}"));
            let _ = writeln!(text, "  {name:<clients$}{speaks}{lacking}");
        }
        text.push_str(
            "\nServers (server = \"NAME\" of a contender; wirelap's own is \"origin\")\n",
        );
        let servers = width(self.servers.iter().map(|server| server.name.as_str()));
        for server in &self.servers {
            let _ = writeln!(text, "  {:<servers$}{}", server.name, server.speaks);
            let _ = writeln!(text, "  {:<servers$}{}", "", server.state());
        }
    }

    fn write_machine(&self, text: &mut String) {
        text.push_str("\nThis machine\n");
        let width = width(self.peers.iter().map(|(program, ..)| *program));
        let trials = match &self.lacking {
            None => "yes: namespaces and links can be made".to_owned(),
            Some(why) => format!("no: {why} (see wirelap doctor)"),
        };
        let _ = writeln!(text, "  {:<width$}{trials}", "trials");
        for (program, role, version) in &self.peers {
            let version = version.as_deref().map_or("not installed", brief);
            let _ = writeln!(text, "  {program:<width$}{role:<11} {version}");
        }
    }

    fn json(&self) -> String {
        let links: Vec<Value> = link::profiles()
            .iter()
            .map(|profile| {
                json!({
                    "name": profile.name,
                    "down_bits_per_second": profile.down.bits_per_second(),
                    "up_bits_per_second": profile.up.bits_per_second(),
                    "rtt_ms": profile.rtt.as_secs_f64() * 1e3,
                    "queue_bytes": profile.queue.0,
                    "settings": profile.settings,
                    "source": profile.source,
                })
            })
            .collect();
        let peers: Vec<Value> = self
            .peers
            .iter()
            .map(|(program, role, version)| json!({"program": program, "role": role, "version": version}))
            .collect();
        let clients: Vec<Value> = self
            .clients
            .iter()
            .map(|(name, speaks, lacking)| json!({"name": name, "transports": speaks, "lacking": lacking}))
            .collect();
        let transports: Vec<&str> =
            Transport::ALL.iter().map(|transport| transport.name()).collect();
        let contenders: Vec<Contender> =
            KNOWN_CONTENDERS.iter().map(KnownContender::contender).collect();
        let policies: Vec<Value> = BUILTIN_POLICIES
            .iter()
            .map(
                |policy| json!({"name": policy.name, "title": policy.title(), "toml": policy.toml}),
            )
            .collect();
        let listed = json!({
            "experiments": self.experiments,
            "links": links,
            "contenders": contenders,
            "transports": transports,
            "policies": policies,
            "clients": clients,
            "servers": self.servers,
            "machine": {"trials": self.lacking.is_none(), "lacking": self.lacking, "peers": peers},
        });
        format!("{listed:#}\n")
    }
}

/// Links, contenders, policies and transports, which are the same on every machine.
fn write_names(text: &mut String) {
    text.push_str(
        "\nLinks (--links NAME,NAME or rtt=60ms,down=10mbit,up=2mbit,loss=0.5%,queue=64kB)\n",
    );
    let profiles = link::profiles();
    let links = width(profiles.iter().map(|profile| profile.name).chain([links::LOOPBACK]));
    for profile in profiles {
        let _ = writeln!(text, "  {:<links$}{}", profile.name, profile.spec());
        let _ = writeln!(text, "  {:<links$}from: {}", "", profile.source);
    }
    let _ = writeln!(text, "  {:<links$}loopback: no link between the ends", links::LOOPBACK);
    text.push_str("\nContenders (--contenders NAME,NAME; an experiment's own come first)\n");
    let contenders = width(KNOWN_CONTENDERS.iter().map(|known| known.name));
    for known in KNOWN_CONTENDERS {
        let _ = writeln!(text, "  {:<contenders$}{}", known.name, spoken(known));
    }
    text.push_str(
        "\nPolicies (policy = \"NAME\" of a contender, serve --policy NAME; docs/delivery.md)\n",
    );
    let policies = width(BUILTIN_POLICIES.iter().map(|policy| policy.name));
    for policy in BUILTIN_POLICIES {
        let _ = writeln!(text, "  {:<policies$}{}", policy.name, policy.title());
    }
    text.push_str("\nTransports (--contenders takes their names too)\n");
    let transports = width(Transport::ALL.iter().map(|transport| transport.name()));
    for transport in Transport::ALL {
        let _ = writeln!(text, "  {:<transports$}{}", transport.name(), transport.ways());
    }
}

/// The width of a column of `names`, with two blanks behind the longest.
fn width<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    names.map(|name| name.chars().count() + 2).fold(14, usize::max)
}

/// The built-in client subjects, and why one cannot run here.
fn clients() -> Vec<(String, String, Option<String>)> {
    let (Ok(catalogue), Ok(places)) = (Catalogue::builtin(), subjects::places()) else {
        return Vec::new();
    };
    catalogue
        .clients()
        .map(|client| {
            let speaks: Vec<&str> = client.transports.iter().map(|one| one.name()).collect();
            let lacking = client.command_line(&places).err();
            let lacking = lacking.map(|lacking| format!("{} ({})", lacking.reason, lacking.remedy));
            (client.name.clone(), speaks.join(", "), lacking)
        })
        .collect()
}

/// Some programs list every library of theirs in their version.
fn brief(version: &str) -> &str {
    const WIDTH: usize = 60;
    let end = version.char_indices().nth(WIDTH).map_or(version.len(), |(end, _)| end);
    let cut = if end < version.len() { version[..end].rfind(' ') } else { None };
    &version[..cut.unwrap_or(end)]
}

/// `h2 over TLS 1.3`.
fn spoken(known: &KnownContender) -> String {
    let security = match known.tls {
        Tls::None => "in the clear",
        Tls::V1_2 => "over TLS 1.2",
        Tls::V1_3 => "over TLS 1.3",
    };
    format!("{} {security}", known.transport)
}
