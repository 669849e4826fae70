//! Requests of several kinds, as a TOML file has them. Nothing here reads a file: a body may be named, and is then the
//! caller's to read.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a file of requests holds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The requests, which take turns by their weights.
    #[serde(rename = "request")]
    pub requests: Vec<ScriptRequest>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptRequest {
    /// Where to: http, https, ws or wss.
    pub url: String,
    /// GET where none is given, or POST with a body.
    pub method: Option<String>,
    /// Fields of its own.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Its body, or a WebSocket's message.
    pub body: Option<String>,
    /// The file that holds it.
    pub body_file: Option<PathBuf>,
    /// How often it is made beside others.
    #[serde(default = "one")]
    pub weight: u32,
}

fn one() -> u32 {
    1
}

/// The most that weighs.
const HEAVIEST: u32 = 10_000;

impl std::str::FromStr for Script {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let script: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if script.requests.is_empty() {
            return Err("there is no [[request]]".to_owned());
        }
        for request in &script.requests {
            if !(1..=HEAVIEST).contains(&request.weight) {
                return Err(format!("a weight is from 1 to {HEAVIEST}, not {}", request.weight));
            }
            if request.body.is_some() && request.body_file.is_some() {
                return Err(format!("{} has both body and body_file", request.url));
            }
        }
        Ok(script)
    }
}
