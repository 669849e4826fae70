//! Reading an experiment's file: defaults and lists (several sizes in one entry) are resolved here and nowhere
//! else, and whatever is wrong is pointed at.

use super::contender::{Contender, Settings, Tls};
use super::file::{
    ContenderFile, DependenciesFile, ExperimentFile, KindFile, LinkFile, OneOrMany, TlsFile,
    WorkloadFile,
};
use super::quantity::{SizeField, SpanField};
use super::workload::{Dependencies, HarWorkload, PageWorkload, Think, Workload};
use super::{Experiment, ExperimentError, LinkChoice, MOST_TRIALS};
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

/// Reads an experiment.
pub(super) fn parse(text: &str) -> Result<Experiment, ExperimentError> {
    let file: ExperimentFile =
        toml::from_str(text).map_err(|error| ExperimentError::from_toml(text, &error))?;
    Reader { text }.experiment(file)
}

struct Reader<'t> {
    text: &'t str,
}

impl Reader<'_> {
    fn experiment(&self, file: ExperimentFile) -> Result<Experiment, ExperimentError> {
        self.filled("contenders", &file.contenders)?;
        self.filled("workloads", &file.workloads)?;
        self.filled("links", &file.links)?;
        let contender_names = file.contenders.get_ref().iter().map(|file| &file.name);
        self.distinct("contender", contender_names.clone())?;
        self.distinct("link", file.links.get_ref().iter().map(|file| &file.name))?;
        self.known_baseline(&file.baseline, contender_names.map(|name| name.get_ref().as_str()))?;
        let margin = file.margin.as_ref().map_or(Ok(DEFAULT_MARGIN), |field| self.margin(field))?;
        let trials = self.count("trials", &file.trials, MOST_TRIALS)?.unwrap_or(DEFAULT_TRIALS);
        let warmup = self.warmup(&file.warmup)?.unwrap_or(DEFAULT_WARMUP);
        let timeout =
            file.timeout.as_ref().map_or(Ok(DEFAULT_TIMEOUT), |field| self.timeout(field))?;
        let links = file.links.into_inner();
        Ok(Experiment {
            name: self.named("experiment", &file.name)?,
            title: file.title,
            question: file.question,
            not_covered: file.not_covered,
            baseline: file.baseline.into_inner(),
            margin,
            seed: file.seed.map_or(DEFAULT_SEED, Spanned::into_inner),
            timeout,
            contenders: each(file.contenders.into_inner(), |one| self.contender(one))?,
            workloads: self.workloads(file.workloads.into_inner())?,
            links: each(links, |one| self.link(one, trials, warmup))?,
        })
    }

    fn contender(&self, file: ContenderFile) -> Result<Contender, ExperimentError> {
        let transport = file.transport;
        let usual = Settings::usual(transport);
        let given = file.settings;
        let tls = match file.tls {
            TlsFile::Auto => transport.usual_tls(),
            TlsFile::None => Tls::None,
            TlsFile::V1_2 => Tls::V1_2,
            TlsFile::V1_3 => Tls::V1_3,
        };
        let settings = Settings {
            keep_alive: given.keep_alive.unwrap_or(usual.keep_alive),
            connections: self
                .count("connections", &given.connections, MOST_CONNECTIONS)?
                .unwrap_or(usual.connections),
            stream_window: self.window(&given.stream_window)?.unwrap_or(usual.stream_window),
            connection_window: self
                .window(&given.connection_window)?
                .unwrap_or(usual.connection_window),
            congestion_control: given.congestion_control.unwrap_or(usual.congestion_control),
            initial_window: self
                .count("initial_window", &given.initial_window, MOST_SEGMENTS)?
                .unwrap_or(usual.initial_window),
            mtu: given.mtu.map_or(Ok(usual.mtu), |field| self.mtu(&field))?,
        };
        Ok(Contender { name: self.named("contender", &file.name)?, transport, tls, settings })
    }

    fn workloads(
        &self,
        files: Vec<Spanned<WorkloadFile>>,
    ) -> Result<Vec<Workload>, ExperimentError> {
        let mut workloads: Vec<Workload> = Vec::new();
        for file in files {
            let span = file.span();
            let found = match file.get_ref().kind {
                KindFile::Page => self.pages(file)?,
                KindFile::Har => self.hars(file)?,
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

    fn pages(&self, file: Spanned<WorkloadFile>) -> Result<Vec<Workload>, ExperimentError> {
        let span = file.span();
        let file = file.into_inner();
        self.foreign(file.file.as_ref().map(Spanned::span), "`file` belongs to kind \"har\"")?;
        let dependencies = file.dependencies.as_ref().map(Spanned::span);
        self.foreign(dependencies, "`dependencies` belongs to kind \"har\"")?;
        let missing = |field| self.fault(span.clone(), format!("a page needs `{field}`"));
        let images = file.images.ok_or_else(|| missing("images"))?;
        let bytes = file.bytes.ok_or_else(|| missing("bytes"))?;
        let think = match &file.think {
            None => Duration::ZERO,
            Some(field) => unit::parse_duration(field.get_ref())
                .map_err(|error| self.fault(field.span(), error.to_string()))?,
        };
        let (images_at, bytes_at) = (images.span(), bytes.span());
        let bytes = self.list("bytes", bytes)?;
        let images = self.list("images", images)?;
        if images.iter().any(|images| *images > MOST_IMAGES) {
            return Err(self.fault(images_at, format!("a page has at most {MOST_IMAGES} images")));
        }
        if bytes.iter().any(|bytes| bytes.0 > LARGEST_IMAGE) {
            return Err(self.fault(bytes_at, format!("an image has at most {LARGEST_IMAGE}")));
        }
        let pages = images.into_iter().flat_map(|images| {
            bytes.iter().map(move |bytes| PageWorkload { images, bytes: bytes.0, think })
        });
        Ok(pages.map(Workload::page).collect())
    }

    fn hars(&self, file: Spanned<WorkloadFile>) -> Result<Vec<Workload>, ExperimentError> {
        let span = file.span();
        let file = file.into_inner();
        self.foreign(file.images.as_ref().map(Spanned::span), "`images` belongs to kind \"page\"")?;
        self.foreign(file.bytes.as_ref().map(Spanned::span), "`bytes` belongs to kind \"page\"")?;
        let name = file.file.ok_or_else(|| self.fault(span, "a har needs `file`"))?.into_inner();
        let think = match file.think.as_ref().map(|field| (field.get_ref().as_str(), field)) {
            None | Some(("recorded", _)) => Think::Recorded,
            Some(("0" | "none", _)) => Think::None,
            Some((other, field)) => {
                let message = format!("`{other}` is not \"recorded\" or \"0\"");
                return Err(self.fault(field.span(), message));
            }
        };
        let har = |dependencies| Workload::har(HarWorkload { file: name, think, dependencies });
        let choice = file.dependencies.map_or(DependenciesFile::Both, Spanned::into_inner);
        Ok(match choice {
            DependenciesFile::Inferred => vec![har(Dependencies::Inferred)],
            DependenciesFile::Flat => vec![har(Dependencies::Flat)],
            DependenciesFile::Both => har(Dependencies::Inferred).with_check(),
        })
    }

    fn link(
        &self,
        file: LinkFile,
        trials: u32,
        warmup: u32,
    ) -> Result<LinkChoice, ExperimentError> {
        Ok(LinkChoice {
            name: self.named("link", &file.name)?,
            figures: file.figures,
            trials: self.count("trials", &file.trials, MOST_TRIALS)?.unwrap_or(trials),
            warmup: self.warmup(&file.warmup)?.unwrap_or(warmup),
        })
    }

    fn filled<T>(&self, what: &str, list: &Spanned<Vec<T>>) -> Result<(), ExperimentError> {
        match list.get_ref().is_empty() {
            true => Err(self.fault(list.span(), format!("`{what}` needs at least one entry"))),
            false => Ok(()),
        }
    }

    fn list<T>(&self, what: &str, field: Spanned<OneOrMany<T>>) -> Result<Vec<T>, ExperimentError> {
        let span = field.span();
        match field.into_inner() {
            OneOrMany::One(one) => Ok(vec![one]),
            OneOrMany::Many(many) if many.is_empty() => {
                Err(self.fault(span, format!("`{what}` needs at least one value")))
            }
            OneOrMany::Many(many) => Ok(many),
        }
    }

    fn distinct<'a>(
        &self,
        what: &str,
        names: impl Iterator<Item = &'a Spanned<String>>,
    ) -> Result<(), ExperimentError> {
        let mut seen = BTreeSet::new();
        for name in names {
            if !seen.insert(name.get_ref()) {
                let message = format!("the {what} `{}` is there already", name.get_ref());
                return Err(self.fault(name.span(), message));
            }
        }
        Ok(())
    }

    fn known_baseline<'a>(
        &self,
        baseline: &Spanned<String>,
        contenders: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), ExperimentError> {
        let name = baseline.get_ref();
        if contenders.clone().any(|contender| contender == name) {
            return Ok(());
        }
        let known: Vec<_> = contenders.clone().map(|contender| format!("`{contender}`")).collect();
        let message =
            format!("no contender is called `{name}`, expected one of {}", known.join(", "));
        Err(self.fault(baseline.span(), message).suggesting(name, contenders))
    }

    fn margin(&self, field: &Spanned<f64>) -> Result<f64, ExperimentError> {
        match *field.get_ref() {
            margin if super::MARGINS.contains(&margin) => Ok(margin),
            _ => Err(self.fault(field.span(), "a margin is a share from 0.001 to 1, such as 0.05")),
        }
    }

    fn mtu(&self, field: &Spanned<u32>) -> Result<u32, ExperimentError> {
        // RFC 791: every host takes 576 octets; 9000 is what jumbo frames are taken to be.
        match *field.get_ref() {
            mtu @ 576..=9000 => Ok(mtu),
            _ => Err(self.fault(field.span(), "an MTU is from 576 to 9000 octets")),
        }
    }

    fn window(
        &self,
        field: &Option<Spanned<SizeField>>,
    ) -> Result<Option<unit::ByteSize>, ExperimentError> {
        let Some(field) = field else { return Ok(None) };
        let size = field.get_ref().0;
        // RFC 9113 §6.9.1: a window above 2^31-1 is an error; below 65,535 the connection's cannot be set.
        match size.0 {
            65_535..=0x7fff_ffff => Ok(Some(size)),
            _ => {
                Err(self.fault(field.span(), "a receive window is from 65535 to 2147483647 octets"))
            }
        }
    }

    fn count(
        &self,
        what: &str,
        field: &Option<Spanned<u32>>,
        most: u32,
    ) -> Result<Option<u32>, ExperimentError> {
        let Some(field) = field else { return Ok(None) };
        match *field.get_ref() {
            0 => Err(self.fault(field.span(), format!("`{what}` must be at least 1"))),
            count if count > most => {
                Err(self.fault(field.span(), format!("`{what}` must be at most {most}")))
            }
            count => Ok(Some(count)),
        }
    }

    fn warmup(&self, field: &Option<Spanned<u32>>) -> Result<Option<u32>, ExperimentError> {
        match field {
            Some(field) if *field.get_ref() == 0 => Ok(Some(0)),
            _ => self.count("warmup", field, MOST_TRIALS),
        }
    }

    fn timeout(&self, field: &Spanned<SpanField>) -> Result<Duration, ExperimentError> {
        match field.get_ref().0 {
            span if span.is_zero() => {
                Err(self.fault(field.span(), "a time-out must be above zero"))
            }
            span if span > LONGEST_TIMEOUT => {
                Err(self.fault(field.span(), "a time-out is at most a day"))
            }
            span => Ok(span),
        }
    }

    fn named(&self, what: &str, name: &Spanned<String>) -> Result<String, ExperimentError> {
        let text = name.get_ref();
        match text.trim() == text && !text.is_empty() && !text.contains(char::is_control) {
            true => Ok(text.clone()),
            false => {
                Err(self.fault(name.span(), format!("`{text}` cannot be the name of the {what}")))
            }
        }
    }

    fn foreign(&self, span: Option<Range<usize>>, message: &str) -> Result<(), ExperimentError> {
        span.map_or(Ok(()), |span| Err(self.fault(span, message)))
    }

    fn fault(&self, span: Range<usize>, message: impl Into<String>) -> ExperimentError {
        ExperimentError::at(self.text, span, message)
    }
}

fn each<F, T>(
    files: Vec<F>,
    read: impl FnMut(F) -> Result<T, ExperimentError>,
) -> Result<Vec<T>, ExperimentError> {
    files.into_iter().map(read).collect()
}

const DEFAULT_MARGIN: f64 = 0.05;
const DEFAULT_TRIALS: u32 = 10;
const DEFAULT_WARMUP: u32 = 1;
const DEFAULT_SEED: u64 = 1;
/// Far beyond any page; what it takes to hold them all is a worker's own to find.
const MOST_IMAGES: u32 = 10_000;
const LARGEST_IMAGE: unit::ByteSize = unit::ByteSize(1_000_000_000);
const MOST_CONNECTIONS: u32 = 1_000;
const MOST_SEGMENTS: u32 = 1_000;
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
