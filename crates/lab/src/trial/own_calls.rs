//! Calls that are requests of the user's own: drawn by weight from the block's seed, so that every contender of a block
//! makes the same ones in the same order. A file that holds a body is read by whoever sends it.

use super::task::{Call, SYNTHETIC_HOST};
use crate::error::{self, CliError};
use bytes::Bytes;
use client::{ExpectedStatus, FetchSpec};
use page::{Answer, Kind, Table, Url};
use proto::{Fields, Method};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use study::experiment::{CallsWorkload, RunningService};
use study::plan::Cell;
use study::requests::{self, Request};
use unit::{ByteSize, Seed};

/// What a request of the user's own has besides its URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnCall {
    pub(crate) method: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: CallBody,
    /// The status that the answer must have; None: any from 200 to 299.
    pub(crate) status: Option<u16>,
}

/// A request's body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CallBody {
    None,
    Text(String),
    File(PathBuf),
}

/// The calls of a trial; `inputs` is where files of bodies are.
pub(super) fn drawn(
    cell: &Cell,
    workload: &CallsWorkload,
    inputs: &Path,
    seed: Seed,
) -> Result<Vec<Call>, CliError> {
    let list = workload.requests.as_ref().map_or(&[][..], |requests| requests.list());
    let service = cell.contender.service();
    let call = |nth| {
        let request = requests::drawn(list, seed, u64::from(nth))
            .ok_or_else(|| CliError::failed("the workload has no requests"))?;
        self::call(request, service, workload.bytes, inputs)
    };
    (0..workload.count).map(call).collect()
}

/// A request as it is made of `service`, or else of a server that wirelap starts, which answers 200 and `bytes` bytes.
pub(crate) fn call(
    request: &Request,
    service: Option<&RunningService>,
    bytes: ByteSize,
    inputs: &Path,
) -> Result<Call, CliError> {
    let (host, port) = match service {
        Some(service) => (service.host(), service.port()),
        None => (SYNTHETIC_HOST, None),
    };
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    let url =
        format!("http://{host}{port}{}", request.target()).parse().map_err(CliError::misuse)?;
    let body = match (&request.body, &request.body_file) {
        (Some(text), _) => CallBody::Text(text.clone()),
        (None, Some(file)) => CallBody::File(inputs.join(file)),
        (None, None) => CallBody::None,
    };
    let is_head = request.method() == "HEAD";
    Ok(Call {
        url,
        bytes: service.is_none().then_some(if is_head { 0 } else { bytes.0 }),
        server_time: Duration::ZERO,
        own: Some(OwnCall {
            method: request.method().to_owned(),
            headers: request.headers.clone().into_iter().collect(),
            body,
            // What wirelap's own origin and file servers answer, wirelap has chosen.
            status: request.status.filter(|_| service.is_some()),
        }),
    })
}

/// What our origin answers: each path has one length. None where the calls are wirelap's own.
pub(super) fn table(calls: &[Call]) -> Option<Table> {
    let mut table = Table::default();
    for call in calls {
        call.own.as_ref()?;
        let answer = Answer {
            status: 200,
            // The response to a HEAD has the Content-Length of the body that a GET would get.
            body: ByteSize(calls.iter().filter_map(|call| call.bytes).max()?),
            server_time: Duration::ZERO,
            content_type: "application/octet-stream".to_owned(),
            requests: 1,
            gets: 1,
            method: page::Method::Get,
            answered: page::Answered::default(),
        };
        table.insert(&call.url.host, &call.url.path, answer);
    }
    Some(table)
}

/// The fetches of `calls`; each file is read once.
pub(crate) fn fetches(calls: &[Call]) -> Result<Vec<FetchSpec>, CliError> {
    let mut files: BTreeMap<&Path, Bytes> = BTreeMap::new();
    let mut specs = Vec::new();
    for call in calls {
        let spec = FetchSpec {
            kind: Kind::Xhr,
            expected: call.bytes.map(ByteSize),
            ..FetchSpec::get(call.url.clone())
        };
        let Some(own) = &call.own else {
            specs.push(spec);
            continue;
        };
        let body = match &own.body {
            CallBody::None => Bytes::new(),
            CallBody::Text(text) => Bytes::from(text.clone()),
            CallBody::File(file) => match files.get(file.as_path()) {
                Some(bytes) => bytes.clone(),
                None => {
                    let bytes = read(file)?;
                    files.insert(file, bytes.clone());
                    bytes
                }
            },
        };
        let mut fields = Fields::new();
        for (name, value) in &own.headers {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        // Many a small server reads no chunked body; and RFC 9110 §8.6 wants a length of 0, too, where a method means a body.
        if !body.is_empty() || ["POST", "PUT", "PATCH"].contains(&own.method.as_str()) {
            fields.push(b"content-length", body.len().to_string().as_bytes());
        }
        let method = Method::parse(own.method.as_bytes())
            .ok_or_else(|| CliError::misuse(format!("`{}` is no method", own.method)))?;
        specs.push(FetchSpec { method, fields, body, status: own.expected(), ..spec });
    }
    Ok(specs)
}

fn read(file: &Path) -> Result<Bytes, CliError> {
    std::fs::read(file)
        .map(Bytes::from)
        .map_err(|error| error::file(format!("reading {}", file.display()), &error))
}

impl OwnCall {
    /// Which status is right.
    pub(crate) fn expected(&self) -> ExpectedStatus {
        self.status.map_or(ExpectedStatus::Successful, ExpectedStatus::Exactly)
    }

    /// Whether a plain GET says as much.
    pub(crate) fn is_plain_get(&self) -> bool {
        self.method == "GET" && self.headers.is_empty() && self.body == CallBody::None
    }
}

/// What is said of an answer with another status than expected.
pub(crate) fn wrong_status(own: &OwnCall, url: &Url, status: u16) -> Option<String> {
    let expected = own.expected();
    (!expected.allows(status)).then(|| {
        let (method, path) = (&own.method, &url.path);
        format!("{method} {path} was answered with status {status}, and {expected} was expected")
    })
}
