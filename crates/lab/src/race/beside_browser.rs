//! `race --with-browser`: an experiment by wirelap's own client and by a browser, one after the other, and how far the page model is
//! from the browser.

use crate::console;
use crate::error::CliError;
use crate::race::run_folder::RunFolder;
use study::model_check::check_model;
use study::result::RunResult;

/// Holds the model's result against the browser's. The comparison goes into the browser's folder and to the terminal, or to
/// standard error where a program reads the standard output.
pub(crate) fn tell(
    model: &RunResult,
    browser: &RunResult,
    folder: &RunFolder,
    is_read_by_program: bool,
) -> Result<(), CliError> {
    let check = check_model(model, browser);
    let json = serde_json::to_string_pretty(&check).map_err(CliError::failed)?;
    let file = folder.model_check();
    folder.write(&file, &format!("{json}\n"))?;
    let text = format!("{}{}\n", report::model_check(&check), file.display());
    match is_read_by_program {
        true => console::note(text.trim_end()),
        false => console::print_coloured(&text)?,
    }
    Ok(())
}
