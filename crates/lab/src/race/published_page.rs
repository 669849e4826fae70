//! The page over several runs of published measurements.

use crate::error::CliError;
use crate::race::report::Judged;
use crate::race::run_folder::RunFolder;
use crate::race::store::{Rows, Store};
use std::path::PathBuf;
use study::record::RunHeader;

/// Writes the page beside the first folder and gives what the terminal shows. A page of this name that is there is
/// replaced.
pub(crate) fn write(folders: &[RunFolder]) -> Result<String, CliError> {
    let runs: Vec<(&RunFolder, RunHeader, Rows)> =
        folders.iter().map(read).collect::<Result<_, _>>()?;
    let judged: Vec<Judged<'_>> =
        runs.iter().map(|(folder, header, rows)| Judged::of(folder, header, rows)).collect();
    let reports: Vec<_> = judged.iter().map(Judged::report).collect();
    let Some(first) = folders.first() else { return Ok(String::new()) };
    let page = beside(first);
    first.write(&page, &report::published_html(&reports))?;
    Ok(report::published_terminal(&reports, &page.display().to_string()))
}

fn read(folder: &RunFolder) -> Result<(&RunFolder, RunHeader, Rows), CliError> {
    let store = Store::open(&folder.rows())?;
    let header = store.header()?;
    if header.experiment.published.is_none() {
        let what = format!("{} is no run of a published measurement", folder.path().display());
        return Err(CliError::misuse(what).remedy(
            "one folder gives its own report; several give the summary page of `race published`",
        ));
    }
    let rows = store.records()?;
    Ok((folder, header, rows))
}

fn beside(folder: &RunFolder) -> PathBuf {
    folder.path().with_file_name("wirelap-published.html")
}
