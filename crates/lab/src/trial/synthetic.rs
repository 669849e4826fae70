//! The page that a synthetic workload loads: its graph, as its host serves it.

use page::{Page, Parts, Synthetic, Url};
use study::experiment::{FetchPriority, PART_BYTES, PageParts, PageWorkload};

/// The page of `workload` on `host`. The scheme is the contender's to choose; the graph says http.
pub(crate) fn page(
    workload: &PageWorkload,
    host: &str,
) -> Result<Page, Box<dyn std::error::Error>> {
    let synthetic = Synthetic {
        images: workload.images,
        bytes: workload.bytes.0,
        parts: parts(&workload.parts),
        delay_ms: u64::try_from(workload.server_time.as_millis())?,
        ..Synthetic::default()
    };
    let origin: Url = format!("http://{host}/").parse()?;
    let page = synthetic.page(&origin)?;
    if workload.think.is_zero() {
        return Ok(page);
    }
    let mut resources = page.resources().to_vec();
    for resource in resources.iter_mut().filter(|resource| resource.release.initiator().is_some()) {
        resource.think = workload.think;
    }
    Ok(Page::new(page.document(), resources)?.with_body_at(page.body_at()))
}

/// The parts of a workload's page.
fn parts(parts: &PageParts) -> Parts {
    let size = |bytes: Option<u64>| bytes.unwrap_or(PART_BYTES);
    Parts {
        css: parts.css,
        imports: parts.imports,
        css_bytes: size(parts.css_bytes),
        scripts: parts.scripts,
        async_scripts: parts.async_scripts,
        deferred_scripts: parts.deferred_scripts,
        modules: parts.modules,
        script_bytes: size(parts.script_bytes),
        fonts: parts.fonts,
        font_bytes: size(parts.font_bytes),
        below_fold: parts.below_fold,
        hero_high: u32::from(parts.fetchpriority == FetchPriority::High),
        hero: parts.hero.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use unit::ByteSize;

    #[test]
    fn the_server_thinks_about_the_document_alone() {
        let server_time = Duration::from_millis(300);
        let workload = PageWorkload { server_time, ..PageWorkload::of_images(3, ByteSize(10)) };
        let page = page(&workload, "origin.test").unwrap();
        let times: Vec<_> = page.resources().iter().map(|resource| resource.server_time).collect();
        assert_eq!(times, [server_time, Duration::ZERO, Duration::ZERO, Duration::ZERO]);
        assert!(page.resources()[0].url.path.contains("delay_ms=300"), "the origin is told by it");
    }

    #[test]
    fn think_time_stands_before_every_image_and_not_before_the_document() {
        let think = Duration::from_millis(2);
        let workload = PageWorkload { think, ..PageWorkload::of_images(3, ByteSize(10)) };
        let page = page(&workload, "origin.test").unwrap();
        let thinks: Vec<_> = page.resources().iter().map(|resource| resource.think).collect();
        assert_eq!(thinks, [Duration::ZERO, think, think, think]);
    }

    /// An experiment's file is refused where a page has too many parts or parts of a wrong size. What it allows, a page
    /// has to take.
    #[test]
    fn the_most_and_the_least_that_an_experiment_may_ask_for_make_a_page() {
        use study::experiment::{
            LARGEST_PART, LEAST_PICTURE, LEAST_SCRIPT, LEAST_SHEET, MOST_BELOW_FOLD, MOST_PARTS,
        };
        let all = |[css, script, font, picture]: [u64; 4]| {
            let parts = PageParts {
                css: MOST_PARTS,
                imports: MOST_PARTS,
                css_bytes: Some(css),
                scripts: MOST_PARTS,
                async_scripts: MOST_PARTS,
                deferred_scripts: MOST_PARTS,
                modules: MOST_PARTS,
                script_bytes: Some(script),
                fonts: MOST_PARTS,
                font_bytes: Some(font),
                below_fold: MOST_BELOW_FOLD,
                hero: Some(picture),
                fetchpriority: FetchPriority::High,
            };
            PageWorkload { parts, ..PageWorkload::of_images(1, ByteSize(picture)) }
        };
        let least = [LEAST_SHEET, LEAST_SCRIPT, 0, LEAST_PICTURE];
        for workload in [all(least), all([LARGEST_PART; 4])] {
            let page = page(&workload, "origin.test").unwrap();
            assert_eq!(page.resources().len() as u32, 1 + workload.all_requests());
            let document = page.resources()[0].body.0;
            assert_eq!(page.total_bytes().0, document + workload.all_bytes());
            assert!(page.resources()[0].url.path.parse::<Synthetic>().is_ok());
        }
    }
}
