//! What is known before the first trial: contenders that cannot run on this machine. Their trials will be unsupported.

use crate::environment;
use crate::error::CliError;
use crate::inputs::servers::Servers;
use crate::inputs::subjects;
use std::collections::BTreeSet;
use study::experiment::{Contender, Experiment, WorkloadKind};
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

/// Why its client cannot do the work: it is not here, does not speak the transport, or does not do such work.
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
    let Some(transport) = transport else { return Ok(Vec::new()) };
    if let Err(lacking) = declared.speaks(transport) {
        return Ok(vec![told(&contender.name, &lacking.reason, &lacking.remedy)]);
    }
    let lacking = experiment.workloads.iter().filter_map(|workload| {
        let lacking = declared.supports(transport, in_contract(&workload.kind)?).err()?;
        let whose = format!("{} with {}", contender.name, workload.name);
        Some(told(&whose, &lacking.reason, &lacking.remedy))
    });
    Ok(lacking.collect())
}

/// A kind of workload in the contract's words; None where it has none.
fn in_contract(kind: &WorkloadKind) -> Option<contract::Workload> {
    match kind {
        WorkloadKind::Download(_) => Some(contract::Workload::Download),
        WorkloadKind::Calls(_) => Some(contract::Workload::Calls),
        WorkloadKind::Page(_) | WorkloadKind::Har(_) => Some(contract::Workload::Page),
        WorkloadKind::Echo(_) => Some(contract::Workload::Echo),
        WorkloadKind::Stream(_) => None,
    }
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
