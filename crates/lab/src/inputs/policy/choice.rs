//! The policies of an experiment's contenders, in the experiment's own text: their faults are told with their places there.

use super::Fault;
use super::keys::Keys;
use super::named::{builtin, unknown_words};
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, de};
use std::fmt;
use toml::Spanned;

/// Checks each contender's `policy` in the text of an experiment that can be read: names are known, and keys are a policy's.
/// Files are read later.
pub(crate) fn check_choices(toml: &str) -> Result<(), Fault> {
    let file: ExperimentFile = toml::from_str(toml).map_err(|error| Fault::of_toml(&error))?;
    let settings = file.contenders.into_iter().filter_map(|contender| contender.settings);
    for choice in settings.filter_map(|settings| settings.policy) {
        let span = choice.span();
        match choice.into_inner() {
            ChoiceField::Named(name) if name.ends_with(".toml") || builtin(&name).is_some() => {}
            ChoiceField::Named(name) => {
                return Err(Fault { span, words: unknown_words(&name) });
            }
            ChoiceField::Keys(keys) => drop(keys.policy()?),
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct ExperimentFile {
    #[serde(default)]
    contenders: Vec<ContenderFile>,
}

#[derive(Deserialize)]
struct ContenderFile {
    settings: Option<SettingsFile>,
}

#[derive(Deserialize)]
struct SettingsFile {
    policy: Option<Spanned<ChoiceField>>,
}

/// A name, or the keys of a policy.
enum ChoiceField {
    Named(String),
    Keys(Box<Keys>),
}

impl<'de> Deserialize<'de> for ChoiceField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChoiceVisitor)
    }
}

struct ChoiceVisitor;

impl<'de> de::Visitor<'de> for ChoiceVisitor {
    type Value = ChoiceField;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy's name, a file that ends in .toml, or a table of its keys")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<ChoiceField, E> {
        Ok(ChoiceField::Named(name.to_owned()))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, keys: A) -> Result<ChoiceField, A::Error> {
        Keys::deserialize(MapAccessDeserializer::new(keys)).map(Box::new).map(ChoiceField::Keys)
    }
}
