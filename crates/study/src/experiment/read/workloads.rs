//! The workloads of an experiment's file. The one rule: a field that is not the kind's own is refused, or it
//! would look as if it had counted.

use super::super::calls::{CallsWorkload, OwnRequests, Pattern, RequestSource, ServerTime};
use super::super::download::{DownloadWorkload, Processes};
use super::super::file::{DependenciesFile, KindFile, OneOrMany, PatternFile, WorkloadFile};
use super::super::one_or_table::RequestsField;
use super::super::quantity::SizeField;
use super::super::workload::{Dependencies, HarWorkload, Think, Workload};
use super::{ExperimentError, Reader};
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;
use unit::ByteSize;

impl Reader<'_> {
    pub(super) fn workloads(
        &self,
        files: Vec<Spanned<WorkloadFile>>,
    ) -> Result<Vec<Workload>, ExperimentError> {
        let mut workloads: Vec<Workload> = Vec::new();
        for file in files {
            let span = file.span();
            let file = file.into_inner();
            self.own_fields(&file)?;
            let found = match file.kind {
                KindFile::Page => self.pages(file, &span)?,
                KindFile::Har => self.hars(file, &span)?,
                KindFile::Calls => self.calls(file, &span)?,
                KindFile::Download => self.downloads(file, &span)?,
                KindFile::Echo => self.echoes(file, &span)?,
                KindFile::Stream => self.streams(file, &span)?,
            };
            for workload in found {
                if workloads.iter().any(|other| other.name == workload.name) {
                    let message = format!("the workload `{}` is there already", workload.name);
                    return Err(self.fault(span, message));
                }
                workloads.push(workload);
            }
        }
        Ok(workloads)
    }

    /// Every field belongs to the kinds that read it.
    fn own_fields(&self, file: &WorkloadFile) -> Result<(), ExperimentError> {
        use KindFile::{Calls, Download, Echo, Har, Page, Stream};
        let fields: [Field<'_>; 33] = [
            ("images", file.images.as_ref().map(Spanned::span), &[Page]),
            ("bytes", file.bytes.as_ref().map(Spanned::span), &[Page, Calls, Echo, Stream]),
            ("file", file.file.as_ref().map(Spanned::span), &[Har]),
            ("think", file.think.as_ref().map(Spanned::span), &[Page, Har]),
            ("hosts", file.hosts.as_ref().map(Spanned::span), &[Har]),
            ("dependencies", file.dependencies.as_ref().map(Spanned::span), &[Har]),
            ("pattern", file.pattern.as_ref().map(Spanned::span), &[Calls, Echo]),
            ("count", file.count.as_ref().map(Spanned::span), &[Calls, Echo, Download, Stream]),
            ("files", file.files.as_ref().map(Spanned::span), &[Download]),
            ("processes", file.processes.as_ref().map(Spanned::span), &[Download]),
            ("connections", file.connections.as_ref().map(Spanned::span), &[Download]),
            ("every", file.every.as_ref().map(Spanned::span), &[Calls, Stream]),
            ("tabs", file.tabs.as_ref().map(Spanned::span), &[Calls]),
            ("views", file.views.as_ref().map(Spanned::span), &[Echo]),
            ("streams", file.streams.as_ref().map(Spanned::span), &[Stream]),
            ("server_time", file.server_time.as_ref().map(Spanned::span), &[Page, Calls, Stream]),
            ("requests", file.requests.as_ref().map(Spanned::span), &[Calls]),
            ("shape", file.shape.as_ref().map(Spanned::span), &[Page]),
            ("metric", file.metric.as_ref().map(Spanned::span), &[Page]),
            ("css", file.css.as_ref().map(Spanned::span), &[Page]),
            ("imports", file.imports.as_ref().map(Spanned::span), &[Page]),
            ("css_bytes", file.css_bytes.as_ref().map(Spanned::span), &[Page]),
            ("scripts", file.scripts.as_ref().map(Spanned::span), &[Page]),
            ("async", file.async_scripts.as_ref().map(Spanned::span), &[Page]),
            ("defer", file.defer.as_ref().map(Spanned::span), &[Page]),
            ("modules", file.modules.as_ref().map(Spanned::span), &[Page]),
            ("script_bytes", file.script_bytes.as_ref().map(Spanned::span), &[Page]),
            ("fonts", file.fonts.as_ref().map(Spanned::span), &[Page]),
            ("font_bytes", file.font_bytes.as_ref().map(Spanned::span), &[Page]),
            ("below_fold", file.below_fold.as_ref().map(Spanned::span), &[Page]),
            ("fetchpriority", file.fetchpriority.as_ref().map(Spanned::span), &[Page]),
            ("hero", file.hero.as_ref().map(Spanned::span), &[Page]),
            ("name", file.name.as_ref().map(Spanned::span), &[Calls]),
        ];
        for (field, span, kinds) in fields {
            if let Some(span) = span
                && !kinds.contains(&file.kind)
            {
                let kinds: Vec<_> =
                    kinds.iter().map(|kind| format!("\"{}\"", kind.name())).collect();
                let message = format!("`{field}` belongs to kind {}", kinds.join(" or "));
                return Err(self.fault(span, message));
            }
        }
        Ok(())
    }

    fn hars(
        &self,
        file: WorkloadFile,
        span: &Range<usize>,
    ) -> Result<Vec<Workload>, ExperimentError> {
        let missing = || self.fault(span.clone(), "a har needs `file`");
        let name = file.file.ok_or_else(missing)?.into_inner();
        let think = match file.think.as_ref().map(|field| (field.get_ref().as_str(), field)) {
            None | Some(("recorded", _)) => Think::Recorded,
            Some(("0" | "none", _)) => Think::None,
            Some((other, field)) => {
                let message = format!("`{other}` is not \"recorded\" or \"0\"");
                return Err(self.fault(field.span(), message));
            }
        };
        let hosts = file.hosts.map(Spanned::into_inner).unwrap_or_default();
        let har =
            |dependencies| Workload::har(HarWorkload { file: name, think, dependencies, hosts });
        let choice = file.dependencies.map_or(DependenciesFile::Both, Spanned::into_inner);
        Ok(match choice {
            DependenciesFile::Inferred => vec![har(Dependencies::Inferred)],
            DependenciesFile::Flat => vec![har(Dependencies::Flat)],
            DependenciesFile::Both => har(Dependencies::Inferred).with_check(),
        })
    }

    fn calls(
        &self,
        file: WorkloadFile,
        span: &Range<usize>,
    ) -> Result<Vec<Workload>, ExperimentError> {
        let pattern = self.pattern(&file, span)?;
        let server_time = match &file.server_time {
            None => ServerTime::Fixed(Duration::ZERO),
            Some(field) => field
                .get_ref()
                .parse()
                .map_err(|error| self.fault(field.span(), format!("{error}")))?,
        };
        let (ServerTime::Fixed(longest) | ServerTime::Uniform { to: longest, .. }) = server_time;
        if let Some(field) = &file.server_time
            && longest > LONGEST_SERVER_TIME
        {
            return Err(self.fault(field.span(), "a server time is 600s at most"));
        }
        let counts = self.counts(&file, span)?;
        let requests = self.own_requests(&file)?;
        let bytes = match (&requests, &file.bytes) {
            (Some(_), None) => vec![SizeField(ByteSize(0))],
            _ => self.sizes(&file, "an answer", span)?,
        };
        let calls = counts.into_iter().flat_map(|count| {
            let (bytes, requests) = (&bytes, &requests);
            bytes.iter().map(move |bytes| CallsWorkload {
                pattern,
                count,
                bytes: bytes.0,
                server_time,
                requests: requests.clone(),
            })
        });
        Ok(calls.map(Workload::calls).collect())
    }

    /// The requests that are the user's own; None: wirelap's.
    fn own_requests(&self, file: &WorkloadFile) -> Result<Option<OwnRequests>, ExperimentError> {
        let Some(field) = &file.requests else {
            return match &file.name {
                Some(name) => {
                    Err(self.fault(name.span(), "`name` is that of `requests`, and there are none"))
                }
                None => Ok(None),
            };
        };
        if let Some(field) = &file.server_time {
            let words = "`server_time` is of wirelap's own calls: requests of your own take the time that they take";
            return Err(self.fault(field.span(), words));
        }
        let (from, usual) = match field.get_ref() {
            RequestsField::File(file) => {
                let stem =
                    std::path::Path::new(file).file_stem().map(|stem| stem.to_string_lossy());
                (RequestSource::File(file.clone()), stem.unwrap_or_default().into_owned())
            }
            RequestsField::List(list) if list.is_empty() => {
                return Err(self.fault(field.span(), "`requests` needs at least one"));
            }
            RequestsField::List(list) => {
                for request in list {
                    let checked = request.get_ref().check_for_race();
                    checked.map_err(|words| self.fault(request.span(), words))?;
                }
                let list = list.iter().map(|request| request.get_ref().clone()).collect();
                (RequestSource::List(list), "requests".to_owned())
            }
        };
        let name = file.name.as_ref().map(|name| self.named("requests", name)).transpose()?;
        Ok(Some(OwnRequests { name: name.unwrap_or(usual), from }))
    }

    fn downloads(
        &self,
        file: WorkloadFile,
        span: &Range<usize>,
    ) -> Result<Vec<Workload>, ExperimentError> {
        let sizes = self.needed(&file, "files", file.files.clone(), span)?;
        let possible = ByteSize(1)..=LARGEST_FILE;
        if let Some(field) =
            file.files.as_ref().filter(|_| !sizes.iter().all(|size| possible.contains(&size.0)))
        {
            let message = format!("a file has at least one byte and at most {LARGEST_FILE}");
            return Err(self.fault(field.span(), message));
        }
        let counts = match &file.count {
            None => vec![1],
            Some(_) => self.needed(&file, "count", file.count.clone(), span)?,
        };
        let possible = 1..=MOST_FILES;
        if let Some(field) =
            file.count.as_ref().filter(|_| !counts.iter().all(|n| possible.contains(n)))
        {
            let message = format!("`count` must be at least 1 and at most {MOST_FILES}");
            return Err(self.fault(field.span(), message));
        }
        let processes = file.processes.as_ref().map_or(Processes::One, |field| *field.get_ref());
        let connections = self.count("connections", &file.connections, super::MOST_CONNECTIONS)?;
        let downloads = counts.into_iter().flat_map(|count| {
            let one = move |size| DownloadWorkload { size, count, processes, connections };
            sizes.iter().map(move |size| one(size.0))
        });
        Ok(downloads.map(Workload::download).collect())
    }

    /// The values of `count`, within what memory and patience bear.
    pub(super) fn counts(
        &self,
        file: &WorkloadFile,
        span: &Range<usize>,
    ) -> Result<Vec<u32>, ExperimentError> {
        let counts = self.needed(file, "count", file.count.clone(), span)?;
        let possible = 1..=MOST_CALLS;
        match &file.count {
            Some(field) if !counts.iter().all(|n| possible.contains(n)) => {
                let message = format!("`count` must be at least 1 and at most {MOST_CALLS}");
                Err(self.fault(field.span(), message))
            }
            _ => Ok(counts),
        }
    }

    fn pattern(
        &self,
        file: &WorkloadFile,
        span: &Range<usize>,
    ) -> Result<Pattern, ExperimentError> {
        let Some(pattern) = &file.pattern else {
            return Err(self.fault(
                span.clone(),
                "calls need `pattern`: \"serial\", \"parallel\", \"staggered\" or \"mixed\"",
            ));
        };
        let kind = pattern.get_ref();
        if let Some(field) = file.tabs.as_ref().filter(|_| *kind != PatternFile::Mixed) {
            return Err(self.fault(field.span(), "`tabs` belongs to pattern \"mixed\""));
        }
        match (kind, &file.every) {
            (PatternFile::Staggered, Some(field)) => {
                Ok(Pattern::Staggered { every: self.every(field)? })
            }
            (PatternFile::Mixed, Some(field)) => {
                let tabs = self.count("tabs", &file.tabs, MOST_TABS)?.unwrap_or(USUAL_TABS);
                Ok(Pattern::Mixed { every: self.every(field)?, tabs })
            }
            (PatternFile::Staggered | PatternFile::Mixed, None) => {
                let message = format!("{} calls need `every`, such as \"100ms\"", kind.name());
                Err(self.fault(pattern.span(), message))
            }
            (_, Some(every)) => Err(self.fault(
                every.span(),
                "`every` belongs to the patterns \"staggered\" and \"mixed\"",
            )),
            (PatternFile::Serial, None) => Ok(Pattern::Serial),
            (PatternFile::Parallel, None) => Ok(Pattern::Parallel),
        }
    }

    /// The time between two calls.
    fn every(&self, field: &Spanned<String>) -> Result<Duration, ExperimentError> {
        let every = unit::parse_duration(field.get_ref())
            .map_err(|error| self.fault(field.span(), error.to_string()))?;
        match every.is_zero() {
            true => Err(self.fault(field.span(), "the time between two calls must be above zero")),
            false => Ok(every),
        }
    }

    /// The values of `bytes`, within what memory and patience bear.
    pub(super) fn sizes(
        &self,
        file: &WorkloadFile,
        whose: &str,
        span: &Range<usize>,
    ) -> Result<Vec<SizeField>, ExperimentError> {
        let sizes = self.needed(file, "bytes", file.bytes.clone(), span)?;
        match &file.bytes {
            Some(field) if sizes.iter().any(|size| size.0 > LARGEST_BODY) => {
                Err(self.fault(field.span(), format!("{whose} has at most {LARGEST_BODY}")))
            }
            _ => Ok(sizes),
        }
    }

    /// The values of a field that the workload cannot do without.
    pub(super) fn needed<T>(
        &self,
        file: &WorkloadFile,
        what: &str,
        field: Option<Spanned<OneOrMany<T>>>,
        span: &Range<usize>,
    ) -> Result<Vec<T>, ExperimentError> {
        let Some(field) = field else {
            let needs = match file.kind {
                KindFile::Page => "a page needs",
                KindFile::Har => "a har needs",
                KindFile::Calls => "calls need",
                KindFile::Download => "a download needs",
                KindFile::Echo => "an echo needs",
                KindFile::Stream => "a stream needs",
            };
            return Err(self.fault(span.clone(), format!("{needs} `{what}`")));
        };
        let span = field.span();
        match field.into_inner() {
            OneOrMany::One(one) => Ok(vec![one]),
            OneOrMany::Many(many) if many.is_empty() => {
                Err(self.fault(span, format!("`{what}` needs at least one value")))
            }
            OneOrMany::Many(many) => Ok(many),
        }
    }
}

/// A field's name, where it stands if it is there, and whose it is.
type Field<'f> = (&'f str, Option<Range<usize>>, &'f [KindFile]);

/// What it takes to hold them all is a worker's own to find.
const MOST_CALLS: u32 = 10_000;
const MOST_FILES: u32 = 10_000;
const MOST_TABS: u32 = 100;
const USUAL_TABS: u32 = 2;
/// A trial's scratch folder holds each file twice.
const LARGEST_FILE: ByteSize = ByteSize(16_000_000_000);
const LARGEST_BODY: ByteSize = ByteSize(1_000_000_000);
/// What the origin's `delay_ms` takes.
pub(super) const LONGEST_SERVER_TIME: Duration = Duration::from_secs(600);
