//! What is known before the first trial: contenders that cannot run on this machine. Their trials will be unsupported.

use crate::environment;
use crate::error::CliError;
use crate::inputs::servers::Servers;
use crate::inputs::subjects;
use std::collections::BTreeSet;
use study::experiment::{Contender, Experiment};
use subject::server::ServerFailure;
use subject::{Catalogue, contract};

/// A sentence for each reason, with the command that mends it.
pub(super) fn unsupported(
    experiment: &Experiment,
    servers: &Servers,
    clients: &Catalogue,
) -> Result<Vec<String>, CliError> {
    let mut told = servers.missing(experiment, &environment::program_folders());
    let mut known: BTreeSet<String> = BTreeSet::new();
    for contender in &experiment.contenders {
        let reasons =
            [of_client(contender, clients)?, of_server(contender, servers)].into_iter().flatten();
        told.extend(reasons.filter(|reason| known.insert(reason.clone())));
    }
    Ok(told)
}

/// That its client is not here, or does not speak its transport.
fn of_client(contender: &Contender, clients: &Catalogue) -> Result<Option<String>, CliError> {
    let declared = contender.client.as_ref().and_then(|client| clients.client(&client.name));
    let Some(declared) = declared else { return Ok(None) };
    if let Err(lacking) = declared.command_line(&subjects::places()?) {
        let (reason, remedy) = (lacking.reason, lacking.remedy);
        return Ok(Some(format!("{reason}, so its trials will be unsupported: {remedy}")));
    }
    let transport = contract::Transport::of(contender.transport.protocol());
    let lacking = transport.and_then(|transport| declared.speaks(transport).err());
    Ok(lacking.map(|lacking| told(contender, &lacking.reason, &lacking.remedy)))
}

/// That its server, which is here, was built without what its transport needs.
fn of_server(contender: &Contender, servers: &Servers) -> Option<String> {
    let declared = contender.foreign_server().and_then(|name| servers.named(name))?;
    match declared.is_built_for(contender.transport, &environment::program_folders()) {
        Err(ServerFailure::Unsupported { reason, remedy }) => {
            Some(told(contender, &reason, &remedy))
        }
        _ => None,
    }
}

fn told(contender: &Contender, reason: &str, remedy: &str) -> String {
    format!("{reason}, so the trials of {} will be unsupported: {remedy}", contender.name)
}
