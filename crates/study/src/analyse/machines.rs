//! The machines that a merged run names.

use crate::outcome::Outcome;
use crate::record::{RunHeader, TrialRecord};
use crate::result::MachineResult;

/// In the order of their first shards; none of a run that is not merged.
pub(super) fn machines(header: &RunHeader, records: &[TrialRecord]) -> Vec<MachineResult> {
    if header.shard.is_some() {
        return Vec::new();
    }
    let mut machines: Vec<MachineResult> = Vec::new();
    for run in &header.machines {
        let number = run.shard.number();
        match machines.iter_mut().find(|machine| machine.name == run.name) {
            Some(machine) => machine.shards.push(number),
            None => machines.push(MachineResult {
                name: run.name.clone(),
                shards: vec![number],
                of: run.shard.of(),
                attempts: 0,
                refused: 0,
                host: run.host.clone(),
            }),
        }
    }
    for record in records.iter().filter(|record| !record.plan.warmup) {
        let ran_it = |machine: &&mut MachineResult| Some(&machine.name) == record.machine.as_ref();
        if let Some(machine) = machines.iter_mut().find(ran_it) {
            machine.attempts += 1;
            machine.refused += u32::from(matches!(record.outcome, Outcome::Invalid { .. }));
        }
    }
    machines
}
