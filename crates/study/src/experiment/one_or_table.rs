//! Fields of an experiment's file that are a name or a table. By hand, because `#[serde(untagged)]` would swallow what is
//! wrong with the table.

use super::service::{RunningService, Server};
use crate::requests::Request;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer};
use std::fmt;
use std::ops::Range;
use toml::Spanned;

/// A server, by name or by where it listens.
#[derive(Debug, Clone)]
pub(super) struct ServerField {
    pub(super) server: Server,
    /// Where the values of a table are in the file, by key.
    values: Vec<(&'static str, Range<usize>)>,
}

impl ServerField {
    /// Where the value of `key` is in the file; None where the file has none.
    pub(super) fn span(&self, key: &str) -> Option<Range<usize>> {
        self.values.iter().find(|(own, _)| *own == key).map(|(_, span)| span.clone())
    }
}

/// A [`RunningService`] with the places of its values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunningServiceFile {
    at: Spanned<String>,
    name: Option<Spanned<String>>,
    ca: Option<Spanned<String>>,
    insecure: Option<Spanned<bool>>,
}

/// Requests, in a file or here.
#[derive(Debug)]
pub(super) enum RequestsField {
    File(String),
    List(Vec<Spanned<Request>>),
}

/// Stands for [`RequestsField`] in the schema.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "stands for RequestsField in the schema alone")]
pub(super) enum RequestsSchema {
    File(String),
    List(Vec<Request>),
}

impl<'de> Deserialize<'de> for ServerField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ServerVisitor)
    }
}

impl<'de> Deserialize<'de> for RequestsField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RequestsVisitor)
    }
}

struct ServerVisitor;

impl<'de> de::Visitor<'de> for ServerVisitor {
    type Value = ServerField;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a server's name, or { at = \"127.0.0.1:3000\" } for a service that runs already",
        )
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<ServerField, E> {
        Ok(ServerField { server: Server::Named(name.to_owned()), values: Vec::new() })
    }

    fn visit_map<A: de::MapAccess<'de>>(self, fields: A) -> Result<ServerField, A::Error> {
        let file = RunningServiceFile::deserialize(MapAccessDeserializer::new(fields))?;
        let values = [
            ("at", Some(file.at.span())),
            ("name", file.name.as_ref().map(Spanned::span)),
            ("ca", file.ca.as_ref().map(Spanned::span)),
            ("insecure", file.insecure.as_ref().map(Spanned::span)),
        ];
        let service = RunningService {
            at: file.at.into_inner(),
            name: file.name.map(Spanned::into_inner),
            ca: file.ca.map(Spanned::into_inner),
            insecure: file.insecure.is_some_and(Spanned::into_inner),
        };
        let values = values.into_iter().filter_map(|(key, span)| Some((key, span?))).collect();
        Ok(ServerField { server: Server::Running(service), values })
    }
}

struct RequestsVisitor;

impl<'de> de::Visitor<'de> for RequestsVisitor {
    type Value = RequestsField;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file's name, or a list of requests such as { path = \"/api/items\" }")
    }

    fn visit_str<E: de::Error>(self, file: &str) -> Result<RequestsField, E> {
        Ok(RequestsField::File(file.to_owned()))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, requests: A) -> Result<RequestsField, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(requests)).map(RequestsField::List)
    }
}
