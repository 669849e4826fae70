//! What profiled clients asked the kernel for, in a line each, and where the profiles are kept.

use crate::race::run_folder::RunFolder;
use study::metric;
use study::record::TrialRecord;

/// The lines; none where nothing was profiled.
pub(crate) fn lines(records: &[TrialRecord], folder: &RunFolder) -> Vec<String> {
    let mut lines: Vec<String> = records.iter().filter_map(line).collect();
    if !lines.is_empty() {
        let folder = folder.profiles();
        lines.insert(
            0,
            format!(
                "system calls of a client, all / reading / writing / within the kernel (profiles: {})",
                folder.display()
            ),
        );
    }
    lines
}

fn line(record: &TrialRecord) -> Option<String> {
    let of = |metric: &str| record.metrics.get(metric).copied();
    let counts = [
        of(metric::SYSTEM_CALLS)?,
        of(metric::SYSTEM_READS)?,
        of(metric::SYSTEM_WRITES)?,
        of(metric::SYSTEM_IN_KERNEL)?,
    ];
    let cell = &record.plan.cell;
    let name = format!("{} on {}, {}", cell.workload.name, cell.link.name, cell.contender.name);
    Some(format!("  {name}: {}", counts.map(|count| count.to_string()).join(" / ")))
}
