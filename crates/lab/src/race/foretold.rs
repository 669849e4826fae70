//! What is known before the first trial: contenders that cannot run on this machine. Their trials will be unsupported.

use crate::environment;
use crate::error::CliError;
use crate::inputs::servers::Servers;
use crate::inputs::subjects;
use crate::trial::declared_client::Asked;
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
    let mut told = servers.missing(experiment);
    let mut known: BTreeSet<String> = BTreeSet::new();
    for contender in &experiment.contenders {
        let reasons = of_client(contender, experiment, clients)?;
        let reasons = reasons.into_iter().chain(of_server(contender, servers));
        told.extend(reasons.filter(|reason| known.insert(reason.clone())));
    }
    Ok(told)
}

/// Why its client cannot do the work: it is not here, does not speak the transport, or cannot do such work.
fn of_client(
    contender: &Contender,
    experiment: &Experiment,
    clients: &Catalogue,
) -> Result<Vec<String>, CliError> {
    let declared = contender.client.as_ref().and_then(|client| clients.client(&client.name));
    let Some(declared) = declared else { return Ok(Vec::new()) };
    if let Err(lacking) = declared.command_line(&subjects::places()?) {
        let (reason, remedy) = (lacking.reason, lacking.remedy);
        return Ok(vec![format!("{reason}, so its trials will be unsupported: {remedy}")]);
    }
    let transport = contract::Transport::of(contender.transport.protocol());
    if let Some(Err(lacking)) = transport.map(|transport| declared.speaks(transport)) {
        return Ok(vec![told(&contender.name, &lacking.reason, &lacking.remedy)]);
    }
    let lacking = experiment.workloads.iter().filter_map(|workload| {
        let lacking = Asked::of(declared, contender, &workload.kind).err()?;
        let whose = format!("{} with {}", contender.name, workload.name);
        Some(told(&whose, &lacking.reason, &lacking.remedy))
    });
    Ok(lacking.collect())
}

/// That its server, which is here, does not speak its transport, or was built without what that needs.
fn of_server(contender: &Contender, servers: &Servers) -> Option<String> {
    let declared = contender.foreign_server().and_then(|name| servers.named(name))?;
    let built = || declared.is_built_for(contender.transport, &environment::program_folders());
    match declared.supports(contender).and_then(|()| built()) {
        Err(ServerFailure::Unsupported { reason, remedy }) => {
            Some(told(&contender.name, &reason, &remedy))
        }
        _ => None,
    }
}

fn told(whose: &str, reason: &str, remedy: &str) -> String {
    format!("{reason}, so the trials of {whose} will be unsupported: {remedy}")
}
