//! The file of `serve --policy`: what the origin decides by itself, as TOML. docs/delivery.md has all keys.
//!
//! ```toml
//! priorities = "server-driven"   # who sends next: auto, rfc9218, rfc7540, spdy, fifo, round-robin, server-driven
//!
//! [[rules]]
//! path = "/index.html"
//! push = ["/style.css"]
//! ```

use crate::error::{self, CliError};
use origin::{
    ByLink, CasperSettings, DeliveryPolicy, Files, PushCheck, PushPlace, PushSettings, Rule,
    Tracking, Urgency,
};
use proto::schedule::{Incremental, Policy};
use serde::Deserialize;
use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;
use toml::Spanned;
use unit::Instant;
use wire::casper::Capacity;

/// What a policy file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PolicyFile {
    /// Who sends next where responses share a connection; None leaves the default.
    pub(crate) priorities: Option<Policy>,
    /// What is sent besides responses; None for nothing.
    pub(crate) delivery: Option<DeliveryPolicy>,
    /// What is pushed by list, with its place in the file.
    pushes: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    priorities: Option<Spanned<String>>,
    push: Option<PushKeys>,
    casper: Option<Spanned<CasperKeys>>,
    rules: Option<Vec<RuleKeys>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PushKeys {
    by_link: Option<bool>,
    place: Option<Spanned<String>>,
    most: Option<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CasperKeys {
    capacity_bits: Option<Spanned<u8>>,
    assets: Option<u32>,
    one_in: Option<u32>,
    tracking: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleKeys {
    host: Option<Spanned<String>>,
    path: Option<Spanned<String>>,
    #[serde(default)]
    push: Vec<Spanned<String>>,
    #[serde(default)]
    hints: Vec<Spanned<String>>,
    #[serde(default)]
    links: Vec<Spanned<String>>,
    urgency: Option<Spanned<u8>>,
    incremental: Option<Spanned<bool>>,
}

impl PolicyFile {
    /// Reads the file at `path`, and checks that what it pushes is there. An error names file, line and column.
    pub(crate) fn read(path: &Path, files: Box<dyn Files>) -> Result<Self, CliError> {
        let name = path.display();
        let text = fs::read_to_string(path)
            .map_err(|error| error::file(format!("reading {name}"), &error))?;
        let read = Self::parse(&text).and_then(|file| file.check_pushes(files).map(|()| file));
        read.map_err(|Fault { span, words }| {
            let (line, column) = line_and_column(&text, span.start);
            CliError::misuse(format!("{name}:{line}:{column}: {words}"))
                .remedy("docs/delivery.md has the keys of a policy file, with examples")
        })
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let keys: Keys = toml::from_str(text).map_err(|error| Fault {
            span: error.span().unwrap_or(0..0),
            words: error.message().to_owned(),
        })?;
        let priorities = keys.priorities.as_ref().map(parsed).transpose()?;
        if keys.push.is_none() && keys.casper.is_none() && keys.rules.is_none() {
            return Ok(Self { priorities, ..Self::default() });
        }
        let (rules, mut pushes) = (keys.rules.unwrap_or_default(), Vec::new());
        for rule in &rules {
            pushes.extend(rule.push.iter().cloned());
        }
        let rules = rules.iter().map(RuleKeys::rule).collect::<Result<_, _>>()?;
        let push = keys.push.as_ref().map(PushKeys::settings).transpose()?.unwrap_or_default();
        let casper = keys.casper.as_ref().map(casper_settings).transpose()?;
        Ok(Self { priorities, delivery: Some(DeliveryPolicy { rules, push, casper }), pushes })
    }

    fn check_pushes(&self, files: Box<dyn Files>) -> Result<(), Fault> {
        let mut check = PushCheck::new(files);
        for push in &self.pushes {
            // The time is of no account: a file is there or not.
            check.check(Instant::ZERO, push.get_ref()).map_err(|why| {
                Fault::at(push, format!("{:?} is not pushed: {why}", push.get_ref()))
            })?;
        }
        Ok(())
    }
}

impl PushKeys {
    fn settings(&self) -> Result<PushSettings, Fault> {
        let default = PushSettings::default();
        let place = self.place.as_ref().map(|place| {
            named(
                place,
                &[
                    ("before", PushPlace::Before),
                    ("interleaved", PushPlace::Interleaved),
                    ("after", PushPlace::After),
                ],
            )
        });
        let by_link = match self.by_link {
            Some(true) => ByLink::Pushed,
            Some(false) | None => ByLink::Ignored,
        };
        Ok(PushSettings {
            by_link,
            place: place.transpose()?.unwrap_or(default.place),
            most: self.most.map_or(default.most, usize::from),
        })
    }
}

fn casper_settings(keys: &Spanned<CasperKeys>) -> Result<CasperSettings, Fault> {
    let CasperKeys { capacity_bits, assets, one_in, tracking } = keys.get_ref();
    let tracking = tracking.as_ref().map(|tracking| {
        named(tracking, &[("blocking-assets", Tracking::BlockingAssets), ("all", Tracking::All)])
    });
    let capacity = match (capacity_bits, assets, one_in) {
        (Some(bits), None, None) => Capacity::new(*bits.get_ref())
            .ok_or_else(|| Fault::at(bits, "capacity_bits is 6 to 16 (H2O takes up to 15)"))?,
        (None, Some(assets), Some(one_in)) => Capacity::of_assets(*assets, *one_in)
            .ok_or_else(|| Fault::at(keys, "so many assets at this rate need more than 16 bits"))?,
        (None, None, None) => Capacity::default(),
        _ => {
            let words = "name capacity_bits, or assets and one_in (one error in so many), or none";
            return Err(Fault::at(keys, words));
        }
    };
    Ok(CasperSettings { capacity, tracking: tracking.transpose()?.unwrap_or_default() })
}

impl RuleKeys {
    fn rule(&self) -> Result<Rule, Fault> {
        for push in &self.push {
            let target = push.get_ref();
            if !target.starts_with('/') || target.starts_with("//") {
                return Err(Fault::at(push, "a push is a path of the same host, from its slash"));
            }
        }
        Ok(Rule {
            host: self.host.as_ref().map(parsed).transpose()?,
            path: self.path.as_ref().map(parsed).transpose()?,
            push: self.push.iter().map(|push| push.get_ref().clone()).collect(),
            hints: self.hints.iter().map(parsed).collect::<Result<_, _>>()?,
            links: self.links.iter().map(parsed).collect::<Result<_, _>>()?,
            urgency: self.urgency()?,
        })
    }

    fn urgency(&self) -> Result<Option<Urgency>, Fault> {
        let incremental = match &self.incremental {
            Some(yes) if *yes.get_ref() => Incremental::Parts,
            _ => Incremental::Whole,
        };
        match (&self.urgency, &self.incremental) {
            (Some(urgency), _) if *urgency.get_ref() > 7 => {
                Err(Fault::at(urgency, "urgency is 0 (first) to 7 (last)"))
            }
            (Some(urgency), _) => Ok(Some(Urgency { urgency: *urgency.get_ref(), incremental })),
            (None, Some(incremental)) => {
                Err(Fault::at(incremental, "incremental stands beside an urgency"))
            }
            (None, None) => Ok(None),
        }
    }
}

/// Reads a text's value.
fn parsed<T: FromStr<Err: fmt::Display>>(text: &Spanned<String>) -> Result<T, Fault> {
    text.get_ref().parse().map_err(|error| Fault::at(text, error))
}

/// One of the names.
fn named<T: Copy>(name: &Spanned<String>, known: &[(&str, T)]) -> Result<T, Fault> {
    let found = known.iter().find(|(known, _)| known == name.get_ref());
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        Fault::at(name, format!("{:?} is none of {}", name.get_ref(), names.join(", ")))
    })
}

/// What is wrong with the text, and where.
#[derive(Debug)]
struct Fault {
    span: Range<usize>,
    words: String,
}

impl Fault {
    fn at<T>(place: &Spanned<T>, words: impl fmt::Display) -> Self {
        Self { span: place.span(), words: words.to_string() }
    }
}

/// Both from 1.
fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at.min(text.len())];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_can_be_named() {
        for policy in Policy::ALL {
            let read = PolicyFile::parse(&format!("priorities = \"{policy}\"")).unwrap();
            assert_eq!(read.priorities, Some(policy));
        }
        assert_eq!(PolicyFile::parse("# nothing\n").unwrap(), PolicyFile::default());
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let fault = PolicyFile::parse("\npriorities = \"lifo\"").unwrap_err();
        assert_eq!(line_and_column("\npriorities = \"lifo\"", fault.span.start), (2, 14));
        assert!(fault.words.contains("round-robin"), "{}", fault.words);
        let unknown = PolicyFile::parse("priority = \"fifo\"").unwrap_err();
        assert!(unknown.words.contains("unknown field"), "{}", unknown.words);
        assert!(PolicyFile::parse("priorities = 3").is_err());
    }

    #[test]
    fn the_example_of_the_documentation_says_what_it_shows() {
        let page = include_str!("../../../../docs/delivery.md");
        let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let read = PolicyFile::parse(example).unwrap();
        assert_eq!(read.priorities, Some(Policy::ServerDriven));
        let delivery = read.delivery.unwrap();
        assert_eq!(delivery.push.by_link, ByLink::Pushed);
        assert_eq!(delivery.push.place, PushPlace::Before);
        assert_eq!(delivery.casper, Some(CasperSettings::default()));
        let [page, hero] = &delivery.rules[..] else { panic!("{:?}", delivery.rules) };
        assert_eq!(page.push, ["/style.css", "/app.js"]);
        assert_eq!((page.hints.len(), page.links.len()), (1, 2));
        let incremental = Incremental::Parts;
        assert_eq!(hero.urgency, Some(Urgency { urgency: 2, incremental }));
        assert!(hero.path.as_ref().is_some_and(|path| path.matches_path("/img/hero-2.avif")));
    }

    #[test]
    fn each_key_with_a_wrong_value_is_told_with_its_line_and_column() {
        for (text, place, words) in [
            ("[push]\nplace = \"first\"", (2, 9), "interleaved"),
            ("[push]\nmost = -1", (2, 8), "-1"),
            ("[casper]\ncapacity_bits = 17", (2, 17), "6 to 16"),
            ("[casper]\nassets = 100", (1, 1), "one_in"),
            ("[casper]\nassets = 1000\none_in = 1000", (1, 1), "16 bits"),
            ("[casper]\ntracking = \"css\"", (2, 12), "blocking-assets, all"),
            ("[[rules]]\npath = \"/[a]\"", (2, 8), "brackets"),
            ("[[rules]]\nhost = \"\"", (2, 8), "not empty"),
            ("[[rules]]\npush = [\"/a\", \"https://b/c\"]", (2, 15), "same host"),
            ("[[rules]]\npush = [\"//b/c\"]", (2, 9), "same host"),
            ("[[rules]]\nhints = [\"/a.css\"]", (2, 10), "rel=preload"),
            ("[[rules]]\nurgency = 8", (2, 11), "0 (first)"),
            ("[[rules]]\nincremental = true", (2, 15), "beside an urgency"),
            ("[[rules]]\nglob = \"/\"", (2, 1), "unknown field"),
            ("rules = 3", (1, 9), "sequence"),
        ] {
            let fault = PolicyFile::parse(text).unwrap_err();
            assert_eq!(line_and_column(text, fault.span.start), place, "{text}: {fault:?}");
            assert!(fault.words.contains(words), "{text}: {}", fault.words);
        }
    }

    #[test]
    fn a_push_of_what_is_not_there_is_told_before_anything_is_served() {
        struct OneFile;
        impl Files for OneFile {
            fn find(&self, _: Instant, path: &str) -> Result<origin::Found, origin::FilesError> {
                match path {
                    "sub" => Ok(origin::Found::Folder),
                    _ => Err(origin::FilesError::NotFound),
                }
            }
        }
        let check = |path: &str| {
            let text = format!("[[rules]]\npush = [\"{path}\"]");
            PolicyFile::parse(&text).unwrap().check_pushes(Box::new(OneFile))
        };
        assert!(check("/image/1?bytes=5").is_ok());
        for (path, words) in [("/a.css", "404"), ("/sub", "301"), ("/ws/echo", "no plain")] {
            let fault = check(path).unwrap_err();
            assert_eq!(fault.span.start, "[[rules]]\npush = [".len());
            assert!(fault.words.contains(words), "{}", fault.words);
        }
    }
}
