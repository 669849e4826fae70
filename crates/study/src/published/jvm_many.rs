//! `jvm-many`: what the author of `jvm-downloads` found of fifty files in one process. Only the sentence was published, and it names no
//! pair: it is judged by the two that were first and last of single files.

use super::check::{Check, finding};
use super::jvm_downloads::{BEE, COMMONS, FAR, FILE, file};
use super::{Ours, Published, Question, conditions};
use crate::comparison::Comparison;
use crate::experiment::WorkloadKind;
use crate::metric;

/// "50 files".
const FILES: u32 = 50;

pub(super) fn compare(ours: &Ours<'_>) -> Option<Published> {
    let file = file().ok()?;
    let what = format!("{COMMONS} / {BEE}, {FILES} files one after another");
    let check = Check::within(&what, ask(ours).as_ref(), 0.0..FAR);
    let differs = "The start of the JVM is the same for both and larger than fifty small files; of the work alone \
                   `transfer_ms` tells";
    Some(Published {
        findings: vec![finding(file.many_files(), &[check], differs)],
        title: file.title,
        conditions: conditions(FILE),
        ratios: Vec::new(),
        open_question: None,
    })
}

fn ask(ours: &Ours<'_>) -> Option<Comparison> {
    let is = |kind: &WorkloadKind| matches!(kind, WorkloadKind::Download(download) if download.count == FILES && download.connections == Some(1));
    let experiment = ours.experiment;
    let workload = &experiment.workloads.iter().find(|workload| is(&workload.kind))?.name;
    let link = &experiment.links.first()?.name;
    (ours.ask_of)(metric::WALL_WITHOUT_CLIENT_MS, Question { workload, link, a: COMMONS, b: BEE })
}
