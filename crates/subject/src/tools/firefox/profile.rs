//! A profile of Firefox in the trial's own folder: it asks nobody but the page's servers, speaks the one protocol that is asked
//! for, and trusts the job's root.

use crate::contract::{Job, Tls, Transport};
use crate::tools::ToolError;
use crate::tools::browser::origins;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What keeps it from asking anybody else, beside what WebDriver BiDi sets by itself, and what makes its clocks exact.
const QUIET: [(&str, &str); 15] = [
    ("browser.aboutwelcome.enabled", "false"),
    ("browser.chrome.site_icons", "false"),
    ("browser.newtabpage.enabled", "false"),
    ("browser.shell.checkDefaultBrowser", "false"),
    ("browser.startup.homepage", "\"about:blank\""),
    ("browser.startup.page", "0"),
    ("datareporting.policy.dataSubmissionEnabled", "false"),
    ("dom.security.https_first", "false"),
    ("network.captive-portal-service.enabled", "false"),
    ("network.connectivity-service.enabled", "false"),
    // No DNS but the trial's host names: records of HTTPS would be asked for elsewhere.
    ("network.dns.native_https_query", "false"),
    ("network.trr.mode", "5"),
    // No proxy.
    ("network.proxy.type", "0"),
    // Times of pages in microseconds rather than milliseconds.
    ("privacy.reduceTimerPrecision", "false"),
    // WebDriver BiDi alone, without Marionette.
    ("remote.active-protocols", "1"),
];

/// Makes the profile; its folder.
pub(super) fn make(job: &Job) -> Result<PathBuf, ToolError> {
    let folder = std::env::current_dir()?.join("browser-profile");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("user.js"), preferences(job))?;
    if job.tls != Tls::None {
        let Some(root) = &job.trust else {
            return Err(ToolError::unable("Firefox needs `trust`, a root to trust a server by"));
        };
        trust(&folder, root)?;
    }
    Ok(folder)
}

/// The file user.js: a line for each preference.
fn preferences(job: &Job) -> String {
    let mut all: Vec<(&str, String)> =
        QUIET.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let mut set = |name, value: &str| all.push((name, value.to_owned()));
    match job.transport {
        Transport::Http1 | Transport::WebSocket => {
            set("network.http.http2.enabled", "false");
            set("network.http.http3.enable", "false");
        }
        Transport::H3 if job.alt_svc.is_some() => {
            set("network.http.http3.disable_when_third_party_roots_found", "false");
        }
        Transport::H3 => {
            // As if an earlier visit had told it (Alt-Svc). Neither TCP beside it, nor TCP first.
            let alternative = |origin: String| {
                let (host, port) = origin.rsplit_once(':').unwrap_or((&origin, "443"));
                format!("{host};h3=:{port}")
            };
            let mapping: Vec<String> = origins(job).into_iter().map(alternative).collect();
            let mapping = format!("\"{}\"", mapping.join(","));
            set("network.http.http3.alt-svc-mapping-for-testing", &mapping);
            set("network.http.http3.force-use-alt-svc-mapping-for-testing", "true");
            set("network.http.http3.disable_when_third_party_roots_found", "false");
            set("network.http.http3.backup_timer_delay", "60000");
            set("network.http.happy_eyeballs_enabled", "false");
        }
        _ => set("network.http.http3.enable", "false"),
    }
    match job.tls {
        Tls::None => {}
        Tls::V1_2 => set("security.tls.version.max", "3"),
        Tls::V1_3 => set("security.tls.version.min", "4"),
    }
    all.iter().map(|(name, value)| format!("user_pref(\"{name}\", {value});\n")).collect()
}

/// Puts `root` into the profile's store of certificates, as an authority for servers.
fn trust(profile: &Path, root: &Path) -> Result<(), ToolError> {
    let store = format!("sql:{}", profile.display());
    let root = root.display().to_string();
    let make = ["-N", "--empty-password", "-d", &store];
    let add = ["-A", "-n", "wirelap", "-t", "C,,", "-d", &store, "-i", &root];
    for arguments in [&make[..], &add[..]] {
        let output = Command::new("certutil")
            .args(arguments)
            .output()
            .map_err(|error| ToolError::Broken(format!("starting certutil: {error}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = format!("certutil {}: {}", output.status, said.trim());
            return Err(ToolError::Broken(said));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::browser::tests::job;

    fn set(transport: Transport, tls: Tls) -> String {
        let mut job = job(&["https://far.test/", "https://b.test:8443/a?b=:1"]);
        (job.transport, job.tls) = (transport, tls);
        preferences(&job)
    }

    #[test]
    fn the_protocol_asked_for_is_the_only_one() {
        let has = |text: &str, line: &str| text.lines().any(|known| known == line);
        let h1 = set(Transport::Http1, Tls::V1_2);
        assert!(has(&h1, "user_pref(\"network.http.http2.enabled\", false);"), "{h1}");
        assert!(has(&h1, "user_pref(\"security.tls.version.max\", 3);"), "{h1}");
        let h2 = set(Transport::H2, Tls::V1_3);
        assert!(has(&h2, "user_pref(\"network.http.http3.enable\", false);"), "{h2}");
        assert!(has(&h2, "user_pref(\"security.tls.version.min\", 4);"), "{h2}");
        assert!(!h2.contains("http2.enabled"), "{h2}");
        let h3 = set(Transport::H3, Tls::V1_3);
        let mapping = "alt-svc-mapping-for-testing\", \"b.test;h3=:8443,far.test;h3=:443\");";
        assert!(h3.contains(mapping), "{h3}");
        assert!(!h3.contains("http3.enable\""), "{h3}");
    }
}
