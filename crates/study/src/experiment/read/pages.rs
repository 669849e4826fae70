//! The workload `page` of an experiment's file.

use super::super::file::WorkloadFile;
use super::super::page::{
    LARGEST_PART, LEAST_PICTURE, LEAST_SCRIPT, LEAST_SHEET, MOST_BELOW_FOLD, MOST_PARTS,
    PageMetric, PageParts, PageWorkload,
};
use super::super::quantity::SizeField;
use super::super::workload::Workload;
use super::workloads::LONGEST_SERVER_TIME;
use super::{ExperimentError, Reader};
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

impl Reader<'_> {
    pub(super) fn pages(
        &self,
        file: WorkloadFile,
        span: &Range<usize>,
    ) -> Result<Vec<Workload>, ExperimentError> {
        let think = match &file.think {
            None => Duration::ZERO,
            Some(field) => unit::parse_duration(field.get_ref())
                .map_err(|error| self.fault(field.span(), error.to_string()))?,
        };
        let server_time = self.document_time(&file)?;
        let shape = file.shape.as_ref().map(|shape| shape.get_ref().page());
        let parts = self.parts(&file, shape.map(|page| page.parts).unwrap_or_default())?;
        let images = match (&file.images, shape) {
            (None, Some(page)) => vec![page.images],
            _ => self.needed(&file, "images", file.images.clone(), span)?,
        };
        let bytes = match (&file.bytes, shape) {
            (None, Some(page)) => vec![SizeField(page.bytes)],
            _ => self.sizes(&file, "an image", span)?,
        };
        self.check_images(&file, &images, &bytes, &parts)?;
        let metric = file.metric.as_ref().map_or(PageMetric::Load, |metric| *metric.get_ref());
        let pages = images.into_iter().flat_map(|images| {
            let page = move |bytes: &SizeField| PageWorkload {
                think,
                server_time,
                parts,
                metric,
                ..PageWorkload::of_images(images, bytes.0)
            };
            bytes.iter().map(page)
        });
        Ok(pages.map(Workload::page).collect())
    }

    /// How long the server thinks about the document.
    fn document_time(&self, file: &WorkloadFile) -> Result<Duration, ExperimentError> {
        let Some(field) = &file.server_time else { return Ok(Duration::ZERO) };
        let fault = |words: String| self.fault(field.span(), words);
        let time =
            unit::parse_duration(field.get_ref()).map_err(|error| fault(error.to_string()))?;
        if time > LONGEST_SERVER_TIME || !time.as_nanos().is_multiple_of(1_000_000) {
            let words = "the `server_time` of a page is in whole milliseconds, 600s at most";
            return Err(fault(words.to_owned()));
        }
        Ok(time)
    }

    fn check_images(
        &self,
        file: &WorkloadFile,
        images: &[u32],
        bytes: &[SizeField],
        parts: &PageParts,
    ) -> Result<(), ExperimentError> {
        if let Some(field) =
            file.images.as_ref().filter(|_| images.iter().any(|n| *n > MOST_IMAGES))
        {
            let message = format!("a page has at most {MOST_IMAGES} images");
            return Err(self.fault(field.span(), message));
        }
        let possible = LEAST_PICTURE..=LARGEST_PART;
        match &file.bytes {
            Some(field) if !parts.is_none() && !bytes.iter().all(|b| possible.contains(&b.0.0)) => {
                let message = format!(
                    "an image of a page with other parts has {LEAST_PICTURE} to {LARGEST_PART} bytes"
                );
                Err(self.fault(field.span(), message))
            }
            _ => Ok(()),
        }
    }

    /// What the file says of parts, over those of the page's shape.
    fn parts(&self, file: &WorkloadFile, shape: PageParts) -> Result<PageParts, ExperimentError> {
        let count = |name: &str, field: &Option<Spanned<u32>>, usual: u32, most: u32| match field {
            None => Ok(usual),
            Some(field) if *field.get_ref() <= most => Ok(*field.get_ref()),
            Some(field) => Err(self.fault(field.span(), format!("`{name}` is at most {most}"))),
        };
        let size = |name: &str, field: &Option<Spanned<SizeField>>, usual, least: u64| match field {
            None => Ok(usual),
            Some(field) if (least..=LARGEST_PART).contains(&field.get_ref().0.0) => {
                Ok(Some(field.get_ref().0.0))
            }
            Some(field) => {
                let message = format!("`{name}` is from {least} to {LARGEST_PART} bytes");
                Err(self.fault(field.span(), message))
            }
        };
        let parts = PageParts {
            css: count("css", &file.css, shape.css, MOST_PARTS)?,
            imports: count("imports", &file.imports, shape.imports, MOST_PARTS)?,
            css_bytes: size("css_bytes", &file.css_bytes, shape.css_bytes, LEAST_SHEET)?,
            scripts: count("scripts", &file.scripts, shape.scripts, MOST_PARTS)?,
            async_scripts: count("async", &file.async_scripts, shape.async_scripts, MOST_PARTS)?,
            deferred_scripts: count("defer", &file.defer, shape.deferred_scripts, MOST_PARTS)?,
            modules: count("modules", &file.modules, shape.modules, MOST_PARTS)?,
            script_bytes: size(
                "script_bytes",
                &file.script_bytes,
                shape.script_bytes,
                LEAST_SCRIPT,
            )?,
            fonts: count("fonts", &file.fonts, shape.fonts, MOST_PARTS)?,
            font_bytes: size("font_bytes", &file.font_bytes, shape.font_bytes, 0)?,
            below_fold: count("below_fold", &file.below_fold, shape.below_fold, MOST_BELOW_FOLD)?,
            hero: size("hero", &file.hero, shape.hero, LEAST_PICTURE)?,
            fetchpriority: file
                .fetchpriority
                .as_ref()
                .map_or(shape.fetchpriority, |field| *field.get_ref()),
        };
        if let Some(field) = file.fetchpriority.as_ref().filter(|_| parts.hero.is_none()) {
            return Err(
                self.fault(field.span(), "`fetchpriority` is of the hero, and there is none")
            );
        }
        match &file.imports {
            Some(field) if parts.imports > 0 && parts.css == 0 => {
                Err(self.fault(field.span(), "a style sheet imports others, and `css` is 0"))
            }
            _ => Ok(parts),
        }
    }
}

/// Far beyond any page; what it takes to hold them all is a worker's own to find.
const MOST_IMAGES: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::super::super::{Experiment, ExperimentError, PageMetric, WorkloadKind};
    use crate::analyse::deciding_metric;

    fn read(fields: &str) -> Result<Experiment, ExperimentError> {
        let text = format!(
            "name = \"e\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"c\"\n[[contenders]]\nname = \"c\"\n\
             transport = \"h2\"\n[[workloads]]\nkind = \"page\"\n{fields}\n[[links]]\nname = \"lan\"\n"
        );
        text.parse()
    }

    #[test]
    fn a_shape_is_a_page_known_by_name_that_other_keys_change() {
        let known = read("shape = \"late-hero\"\nmetric = \"lcp_ms\"").unwrap();
        let workload = &known.workloads[0];
        assert_eq!(workload.name, "late-hero-lcp");
        assert_eq!(deciding_metric(workload), "lcp_ms");
        let same = "images = 0\nbytes = \"60kB\"\ncss = 1\nscripts = 1\nasync = 1\ndefer = 1\nbelow_fold = 7\n\
                    hero = \"60kB\"";
        assert_eq!(read(same).unwrap().workloads[0].name, "late-hero");
        let raised = read("shape = \"late-hero\"\nfetchpriority = \"high\"").unwrap();
        assert!(raised.workloads[0].name.ends_with("-high"), "{}", raised.workloads[0].name);
        let changed = read("shape = \"late-hero\"\nimages = [4, 8]\nfonts = 2").unwrap();
        let WorkloadKind::Page(page) = &changed.workloads[1].kind else { panic!("a page") };
        assert_eq!((page.images, page.parts.fonts, page.parts.hero), (8, 2, Some(60_000)));
        assert_eq!(page.metric, PageMetric::Load);
    }

    #[test]
    fn what_a_page_cannot_have_is_refused_with_the_key() {
        for (fields, words) in [
            ("images = 1\nbytes = 10\ncss = 21", "`css` is at most 20"),
            ("images = 1\nbytes = 10\ncss = 1", "has 200 to"),
            ("images = 1\nbytes = 500\nimports = 1", "`css` is 0"),
            ("images = 1\nbytes = 500\nhero = 100", "`hero` is from 200"),
            ("images = 1\nbytes = 500\nmetric = \"mean_ms\"", "mean_ms"),
            ("bytes = 500\nhero = 500", "a page needs `images`"),
            ("images = 1\nbytes = 500\nfetchpriority = \"high\"", "and there is none"),
        ] {
            let error = read(fields).unwrap_err().message;
            assert!(error.contains(words), "{fields}: {error}");
        }
    }
}
