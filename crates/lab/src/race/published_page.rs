//! The page over several runs of published measurements, and the same as Markdown for the documentation.

use crate::error::CliError;
use crate::race::report::Judged;
use crate::race::run_folder::RunFolder;
use crate::race::store::{Rows, Store};
use std::path::PathBuf;
use study::record::RunHeader;

/// The page that was written, and what the terminal shows of it.
pub(crate) struct PublishedSummary {
    pub(crate) page: PathBuf,
    pub(crate) text: String,
}

/// Writes the pages beside the first folder. Pages of these names that are there are replaced.
pub(crate) fn write(folders: &[RunFolder]) -> Result<PublishedSummary, CliError> {
    let runs: Vec<(&RunFolder, RunHeader, Rows)> =
        folders.iter().map(read).collect::<Result<_, _>>()?;
    let judged: Vec<Judged<'_>> = runs
        .iter()
        .map(|(folder, header, rows)| Judged::of_some(folder, header, rows))
        .collect::<Result<_, _>>()?;
    let reports: Vec<_> = judged.iter().map(Judged::report).collect();
    let Some(first) = folders.first() else {
        return Err(CliError::misuse("a summary is of two runs at least"));
    };
    let [page, table] = ["html", "md"].map(|ending| beside(first, ending));
    first.write(&page, &report::published_html(&reports))?;
    first.write(&table, &report::published_markdown(&reports))?;
    let [shown, named] = [&page, &table].map(|path| path.display().to_string());
    let text = report::published_terminal(&reports, &shown, &named);
    Ok(PublishedSummary { page, text })
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

fn beside(folder: &RunFolder, ending: &str) -> PathBuf {
    folder.path().with_file_name(format!("wirelap-published.{ending}"))
}
