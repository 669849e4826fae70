//! A view of a page after a first one. Each trial makes the first view itself, before the work that is measured: as an
//! earlier visit (`earlier_visit`) that leaves a cache and cookies beside what the contender's temperature asks for.

use super::job::NearJob;
use super::near::{self, Said, config_of, page_load};
use crate::error::CliError;
use client::{Absence, Cache, ClientConfig, PageLoad};
use page::Page;
use study::experiment::NextView;
use trace::Tracer;
use unit::Seed;

/// Loads the page, then loads it once more with what is left. Gives the second load.
pub(super) fn drive(
    config: ClientConfig,
    view: NextView,
    page: &Page,
    job: &NearJob,
) -> Result<(PageLoad, Said), CliError> {
    let browser = config.browser;
    // Sessions of the first view are resumed where the temperature says so.
    let first_config = match job.contender.settings.temperature.resumes() {
        true => config.clone(),
        false => ClientConfig { tls: config_of(job)?.tls, tracer: Tracer::off(), ..config.clone() },
    };
    let first = page_load(page, browser, &job.contender).with_cache(Cache::new());
    let (first, said) = near::drive(first_config, first)?;
    if first.milestones().load.is_none() {
        let reason =
            first.load().and_then(|load| load.failures().next().map(|(_, why)| why.to_owned()));
        let reason = reason.unwrap_or_else(|| "it did not end".to_owned());
        return Err(CliError::failed(format!("the first view failed: {reason}")));
    }
    let absence =
        Absence { away: view.away, evicted: view.evicted, seed: Seed(job.seed).child("evicted") };
    let cache = first.into_cache().unwrap_or_default().after(absence);
    let began = os::clock::now();
    let config = ClientConfig { cookies: said.cookies, ..config };
    let (load, mut said) =
        near::drive(config, page_load(page, browser, &job.contender).with_cache(cache))?;
    said.began = Some(began);
    Ok((load, said))
}
