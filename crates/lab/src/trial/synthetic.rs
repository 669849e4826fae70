//! The page that a synthetic workload loads: its graph, as its host serves it.

use page::{Page, Synthetic, Url};
use study::experiment::PageWorkload;

/// The page of `workload` on `host`. The scheme is the contender's to choose; the graph says http.
pub(crate) fn page(
    workload: &PageWorkload,
    host: &str,
) -> Result<Page, Box<dyn std::error::Error>> {
    let synthetic =
        Synthetic { images: workload.images, bytes: workload.bytes.0, ..Synthetic::default() };
    let origin: Url = format!("http://{host}/").parse()?;
    let page = synthetic.page(&origin)?;
    if workload.think.is_zero() {
        return Ok(page);
    }
    let mut resources = page.resources().to_vec();
    for resource in resources.iter_mut().filter(|resource| resource.release.initiator().is_some()) {
        resource.think = workload.think;
    }
    Ok(Page::new(page.document(), resources)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use unit::ByteSize;

    #[test]
    fn think_time_stands_before_every_image_and_not_before_the_document() {
        let think = Duration::from_millis(2);
        let workload = PageWorkload { images: 3, bytes: ByteSize(10), think };
        let page = page(&workload, "origin.test").unwrap();
        let thinks: Vec<_> = page.resources().iter().map(|resource| resource.think).collect();
        assert_eq!(thinks, [Duration::ZERO, think, think, think]);
    }
}
