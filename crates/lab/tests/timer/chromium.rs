//! Chromium by the DevTools protocol over pipes: JSON messages, each ended by a NUL. The browser reads them from its
//! descriptor 3 and writes to 4, which a shell opens on two FIFOs.

use crate::bench::{Bench, Running};
use crate::browser::{Browser, program};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};

/// A Chromium, ended with its bench.
pub(crate) struct Chromium {
    _running: Running,
    to: File,
    from: BufReader<File>,
    next: u64,
    session: String,
}

impl Chromium {
    /// Starts one with further flags.
    pub(crate) fn start(bench: &Bench, flags: &[&str]) -> Option<Self> {
        let chromium = program(&["chromium"])?;
        let (to, from) = (bench.path("to-chromium"), bench.path("from-chromium"));
        let made = bench.command("mkfifo").args([&to, &from]).status().unwrap();
        assert!(made.success());
        let profile = format!("--user-data-dir={}", bench.path("chromium-profile").display());
        let mut command = bench.command("sh");
        command.args(["-c", "exec \"$@\" 3<\"$TO\" 4>\"$FROM\"", "sh", &chromium]);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
        command.args(["--remote-debugging-pipe", "--disable-background-networking", &profile]);
        command.args(flags).arg("about:blank").env("TO", &to).env("FROM", &from);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let running = bench.start(command);
        // In the order in which the shell opens them: each waits for the other end.
        let to = OpenOptions::new().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let mut chromium = Self { _running: running, to, from, next: 0, session: String::new() };
        let targets = chromium.call("Target.getTargets", json!({}));
        let targets = targets["targetInfos"].as_array().unwrap().clone();
        let page = targets.iter().find(|target| target["type"] == "page").unwrap();
        let attach = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = chromium.call("Target.attachToTarget", attach);
        chromium.session = attached["sessionId"].as_str().unwrap().to_owned();
        Some(chromium)
    }

    /// Puts what pages let download into a folder, without asking.
    pub(crate) fn download_into(&mut self, folder: &std::path::Path) {
        let behaviour = json!({ "behavior": "allow", "downloadPath": folder });
        self.call("Browser.setDownloadBehavior", behaviour);
    }

    /// Makes the pop-up's window `minimized`, in which nobody sees it, or `normal` again.
    pub(crate) fn set_popup(&mut self, state: &str) {
        let targets = self.call("Target.getTargets", json!({}));
        let mut targets = targets["targetInfos"].as_array().unwrap().iter();
        let popup = targets.find(|target| target["openerId"].is_string()).expect("a pop-up");
        let window = json!({ "targetId": popup["targetId"] });
        let window = self.call("Browser.getWindowForTarget", window)["windowId"].clone();
        let bounds = json!({ "windowId": window, "bounds": { "windowState": state } });
        self.call("Browser.setWindowBounds", bounds);
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut answer = Vec::new();
            self.from.read_until(0, &mut answer).unwrap();
            answer.pop();
            let answer: Value = serde_json::from_slice(&answer).expect("chromium is gone");
            if answer["id"] == json!(self.next) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn run(&mut self, expression: &str, is_gesture: bool) -> Value {
        let params = json!({
            "expression": expression, "returnByValue": true, "userGesture": is_gesture,
        });
        let result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }
}

impl Browser for Chromium {
    fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
    }

    fn evaluate(&mut self, script: &str) -> Value {
        self.run(&format!("(() => {{ {script} }})()"), false)
    }

    fn click(&mut self, selector: &str) {
        self.run(&format!("document.querySelector('{selector}').click()"), true);
    }
}
