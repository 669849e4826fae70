//! The near side of a trial alone, against a far side that a test makes up.

use crate::bench::wirelap;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Stdio;
use study::experiment::Contender;
use study::outcome::Outcome;
use study::reconcile::{LinkFacts, Nagle, TrialLogs, reconcile};
use trace::{ConnectionRecord, FetchRecord};

/// What a trial comes to that does `task` as this contender, with the far side on loopback and no link to bear witness.
pub(crate) fn outcome(contender: &Contender, task: &Value) -> Outcome {
    let report = report(contender, task);
    let fetches: Vec<FetchRecord> = serde_json::from_value(report["fetches"].clone()).unwrap();
    let connections: Vec<ConnectionRecord> =
        serde_json::from_value(report["connections"].clone()).unwrap();
    let logs = TrialLogs {
        fetches: &fetches,
        connections: &connections,
        packets: None,
        link: LinkFacts::default(),
        server_time: &BTreeMap::new(),
        nagle: Nagle { client: true, server: true },
    };
    reconcile(&logs).outcome
}

fn report(contender: &Contender, task: &Value) -> Value {
    let authority = secure::Authority::new(secure::AuthoritySpec::default()).unwrap();
    let job = json!({
        "contender": contender,
        "task": task,
        "hosts": {"origin.test": IpAddr::from(Ipv4Addr::LOCALHOST)},
        "root": String::from_utf8(authority.root_pem().text).unwrap(),
        "timeout": {"secs": 20, "nanos": 0},
        "key_log": null,
    });
    let mut near = std::process::Command::new(wirelap())
        .arg("near")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    near.stdin.take().unwrap().write_all(job.to_string().as_bytes()).unwrap();
    let output = near.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}
