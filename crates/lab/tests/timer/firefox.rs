//! Firefox by Marionette: JSON messages over TCP, each behind its length and a colon. The port stands in a file of the
//! profile.

use crate::bench::{Bench, Running};
use crate::browser::{Browser, program};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A Firefox, ended with its bench.
pub(crate) struct Firefox {
    _running: Running,
    connection: TcpStream,
    next: u64,
}

/// A profile that asks nobody anything, and a port that the system chooses.
const PREFERENCES: &str = "user_pref('marionette.port', 0);
user_pref('browser.shell.checkDefaultBrowser', false);
user_pref('browser.aboutwelcome.enabled', false);
user_pref('datareporting.policy.dataSubmissionEnabled', false);
user_pref('network.captive-portal-service.enabled', false);
user_pref('network.connectivity-service.enabled', false);
user_pref('dom.security.https_first', false);
";

impl Firefox {
    /// Starts one.
    pub(crate) fn start(bench: &Bench) -> Option<Self> {
        let firefox = program(&["firefox-esr", "firefox"])?;
        let profile = bench.path("firefox-profile");
        std::fs::create_dir_all(&profile).unwrap();
        std::fs::write(profile.join("user.js"), PREFERENCES).unwrap();
        let mut command = bench.command(firefox);
        command.args(["--headless", "--no-remote", "--marionette", "--profile"]).arg(&profile);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let running = bench.start(command);
        let port = profile.join("MarionetteActivePort");
        for _ in 0..600 {
            let port = std::fs::read_to_string(&port).unwrap_or_default();
            let port = port.trim().parse::<u16>().ok();
            let connection = port.and_then(|port| TcpStream::connect(("127.0.0.1", port)).ok());
            if let Some(connection) = connection {
                let mut firefox = Self { _running: running, connection, next: 0 };
                firefox.read();
                firefox.call("WebDriver:NewSession", json!({ "capabilities": {} }));
                return Some(firefox);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("firefox does not listen");
    }

    fn call(&mut self, command: &str, parameters: Value) -> Value {
        self.next += 1;
        let message = json!([0, self.next, command, parameters]).to_string();
        write!(self.connection, "{}:{message}", message.len()).unwrap();
        let answer = self.read();
        assert!(answer[2].is_null(), "{command}: {}", answer[2]);
        answer[3].clone()
    }

    fn read(&mut self) -> Value {
        let mut length = String::new();
        loop {
            let mut byte = [0];
            self.connection.read_exact(&mut byte).expect("firefox is gone");
            match byte[0] {
                b':' => break,
                digit => length.push(char::from(digit)),
            }
        }
        let mut message = vec![0; length.parse().unwrap()];
        self.connection.read_exact(&mut message).unwrap();
        serde_json::from_slice(&message).unwrap()
    }
}

impl Browser for Firefox {
    fn open(&mut self, url: &str) {
        self.call("WebDriver:Navigate", json!({ "url": url }));
    }

    fn evaluate(&mut self, script: &str) -> Value {
        self.call("WebDriver:ExecuteScript", json!({ "script": script, "args": [] }))["value"]
            .clone()
    }

    fn click(&mut self, selector: &str) {
        let find = json!({ "using": "css selector", "value": selector });
        let found = self.call("WebDriver:FindElement", find);
        let element = found["value"].as_object().unwrap().values().next().unwrap().clone();
        self.call("WebDriver:ElementClick", json!({ "id": element }));
    }
}
