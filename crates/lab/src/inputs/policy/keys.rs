//! The keys of a policy file, in TOML, and what they come to. Each that can be wrong keeps its place in the text.

use super::{Fault, PolicyFile};
use origin::{
    Assets, ByLink, CasperSettings, DeliveryPolicy, Heed, LearnedSettings, PushPlace, PushSettings,
    Rule, Tracking, Urgency,
};
use proto::schedule::Incremental;
use serde::Deserialize;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use toml::Spanned;
use wire::casper::Capacity;

/// A policy file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Keys {
    priorities: Option<Spanned<String>>,
    push: Option<PushKeys>,
    casper: Option<Spanned<CasperKeys>>,
    learned: Option<LearnedKeys>,
    rules: Option<Vec<RuleKeys>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PushKeys {
    by_link: Option<bool>,
    place: Option<Spanned<String>>,
    most: Option<u16>,
    most_bytes: Option<u64>,
    cache_digest: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CasperKeys {
    capacity_bits: Option<Spanned<u8>>,
    assets: Option<NonZeroU32>,
    one_in: Option<NonZeroU32>,
    tracking: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LearnedKeys {
    push: Option<Spanned<String>>,
    hints: Option<Spanned<String>>,
    links: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleKeys {
    host: Option<Spanned<String>>,
    path: Option<Spanned<String>>,
    r#type: Option<Spanned<String>>,
    #[serde(default)]
    push: Vec<Spanned<String>>,
    #[serde(default)]
    hints: Vec<Spanned<String>>,
    #[serde(default)]
    links: Vec<Spanned<String>>,
    urgency: Option<Spanned<u8>>,
    incremental: Option<Spanned<bool>>,
}

impl Keys {
    /// The policy that they stand for.
    pub(super) fn policy(self) -> Result<PolicyFile, Fault> {
        let Self { priorities, push, casper, learned, rules } = self;
        let priorities = priorities.as_ref().map(parsed).transpose()?;
        if push.is_none() && casper.is_none() && learned.is_none() && rules.is_none() {
            return Ok(PolicyFile { priorities, ..PolicyFile::default() });
        }
        let keys = rules.unwrap_or_default();
        let rules = keys.iter().map(RuleKeys::rule).collect::<Result<_, _>>()?;
        let pushes = keys.into_iter().flat_map(|rule| rule.push).collect();
        let delivery = DeliveryPolicy {
            rules,
            push: push.as_ref().map(PushKeys::settings).transpose()?.unwrap_or_default(),
            casper: casper.as_ref().map(casper_settings).transpose()?,
            learned: learned.as_ref().map(LearnedKeys::settings).transpose()?.unwrap_or_default(),
        };
        Ok(PolicyFile { priorities, delivery: Some(delivery), pushes })
    }
}

impl PushKeys {
    fn settings(&self) -> Result<PushSettings, Fault> {
        let default = PushSettings::default();
        let places = [
            ("before", PushPlace::Before),
            ("interleaved", PushPlace::Interleaved),
            ("after", PushPlace::After),
        ];
        let place = self.place.as_ref().map(|place| named(place, &places)).transpose()?;
        let by_link = match self.by_link {
            Some(true) => ByLink::Pushed,
            Some(false) | None => ByLink::Ignored,
        };
        let cache_digest = match self.cache_digest {
            Some(true) => Heed::Heeded,
            Some(false) | None => Heed::Ignored,
        };
        Ok(PushSettings {
            by_link,
            place: place.unwrap_or(default.place),
            most: self.most.map_or(default.most, usize::from),
            most_bytes: self.most_bytes,
            cache_digest,
        })
    }
}

fn casper_settings(keys: &Spanned<CasperKeys>) -> Result<CasperSettings, Fault> {
    let CasperKeys { capacity_bits, assets, one_in, tracking } = keys.get_ref();
    let known = [("blocking-assets", Tracking::BlockingAssets), ("all", Tracking::All)];
    let tracking = tracking.as_ref().map(|tracking| named(tracking, &known)).transpose()?;
    let capacity = match (capacity_bits, assets, one_in) {
        (Some(bits), None, None) => Capacity::new(*bits.get_ref())
            .ok_or_else(|| Fault::at(bits, "capacity_bits is 6 to 16 (H2O takes up to 15)"))?,
        (None, Some(assets), Some(one_in)) => Capacity::of_assets(assets.get(), one_in.get())
            .ok_or_else(|| Fault::at(keys, "so many assets at this rate need more than 16 bits"))?,
        (None, None, None) => Capacity::default(),
        _ => {
            let words = "name capacity_bits, or assets and one_in (one error in so many), or none";
            return Err(Fault::at(keys, words));
        }
    };
    Ok(CasperSettings { capacity, tracking: tracking.unwrap_or_default() })
}

impl LearnedKeys {
    fn settings(&self) -> Result<LearnedSettings, Fault> {
        let known = [("blocking-assets", Assets::Blocking), ("all", Assets::All)];
        let assets = |key: &Option<Spanned<String>>| -> Result<Assets, Fault> {
            let assets = key.as_ref().map(|name| named(name, &known)).transpose()?;
            Ok(assets.unwrap_or_default())
        };
        Ok(LearnedSettings {
            push: assets(&self.push)?,
            hints: assets(&self.hints)?,
            links: assets(&self.links)?,
        })
    }
}

impl RuleKeys {
    fn rule(&self) -> Result<Rule, Fault> {
        for push in &self.push {
            let target = push.get_ref();
            if !target.starts_with('/') || target.starts_with("//") {
                return Err(Fault::at(push, "a push is a path of the same host, from its slash"));
            }
        }
        self.check_patterns()?;
        Ok(Rule {
            host: self.host.as_ref().map(parsed).transpose()?,
            path: self.path.as_ref().map(parsed).transpose()?,
            media_type: self.r#type.as_ref().map(parsed).transpose()?,
            push: self.push.iter().map(|push| push.get_ref().clone()).collect(),
            hints: self.hints.iter().map(parsed).collect::<Result<_, _>>()?,
            links: self.links.iter().map(parsed).collect::<Result<_, _>>()?,
            urgency: self.urgency()?,
        })
    }

    /// Refuses patterns that match nothing, whatever is asked for.
    fn check_patterns(&self) -> Result<(), Fault> {
        let Self { host, path, r#type, .. } = self;
        let has_port = |host: &str| {
            let port = host.rsplit_once(':').map(|(_, port)| port);
            port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit() || byte == b'*'))
        };
        let begins =
            |path: &str| path.is_empty() || path.starts_with('/') || path.starts_with("**");
        let has_slash = |name: &str| name.is_empty() || name.contains('/') || name.contains("**");
        if let Some(host) = host.as_ref().filter(|host| has_port(host.get_ref())) {
            return Err(Fault::at(host, "hosts are compared without their port"));
        }
        if let Some(path) = path.as_ref().filter(|path| !begins(path.get_ref())) {
            return Err(Fault::at(
                path,
                "a path begins with its slash, or a pattern of it with `**`",
            ));
        }
        if let Some(name) = r#type.as_ref().filter(|name| !has_slash(name.get_ref())) {
            let words =
                "a media type has a slash, which `*` does not match: \"text/*\", or \"**\" for any";
            return Err(Fault::at(name, words));
        }
        Ok(())
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
