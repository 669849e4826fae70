//! The command line of Chromium: nothing but the page asks for anything, and the protocol is the one that is asked for.

use super::ToolError;
use crate::contract::{Job, Tls, Transport};
use crate::tools::browser::origins;

/// The page's size in the page model, too.
const WINDOW: &str = "--window-size=800,600";

/// A port that no page is at.
const UNUSED_PORT: u16 = 1;

/// What keeps the browser from asking anybody else, and from leaving anything behind.
pub(crate) const QUIET: [&str; 15] = [
    "--headless",
    // Root has no sandbox of Chromium's; the trial's namespaces are one.
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--no-default-browser-check",
    // The page has a window of its own. The first one would load a new tab's page beside it.
    "--no-startup-window",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--no-proxy-server",
    // It would try https first where a URL says http. A document that is answered in the browser has no address: it would count as
    // one of the public network, which may not ask a local one. Each window of the whole browser loads the address bar's popups:
    // 1 s of CPU, which would fall into the load of the page.
    "--disable-features=HttpsUpgrades,LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets,\
     BlockInsecurePrivateNetworkRequests,WebUIOmniboxPopup,WebUIOmniboxFullPopup,WebUIOmniboxAimPopup",
];

/// The Chromium that `./peers` installs beside the present one.
const OF_2021: &str = "chromium-92";

/// The arguments for a job, and what this browser needs besides. The profile is in the working directory, which is the trial's own.
pub(super) fn of(job: &Job, program: &str) -> Result<Vec<String>, ToolError> {
    let profile = std::env::current_dir()?.join("browser-profile");
    let mut arguments: Vec<String> = QUIET.map(str::to_owned).into();
    arguments.push(WINDOW.to_owned());
    arguments.push(format!("--user-data-dir={}", profile.display()));
    match job.transport {
        Transport::Http1 | Transport::WebSocket => {
            arguments.extend(["--disable-http2", "--disable-quic"].map(str::to_owned))
        }
        Transport::H3 if job.alt_svc.is_some() => {
            arguments.push("--enable-quic".to_owned());
            // It believes an authority of one's own over QUIC only at hosts that it is forced to use it at: this is another port.
            let elsewhere = origins(job).into_iter().map(|origin| {
                let host = origin.rsplit_once(':').map_or(origin.as_str(), |(host, _)| host);
                format!("{host}:{UNUSED_PORT}")
            });
            let elsewhere = elsewhere.collect::<Vec<_>>().join(",");
            arguments.push(format!("--origin-to-force-quic-on={elsewhere}"));
        }
        Transport::H3 => {
            arguments.push("--enable-quic".to_owned());
            arguments.push(format!("--origin-to-force-quic-on={}", origins(job).join(",")));
        }
        _ => arguments.push("--disable-quic".to_owned()),
    }
    if program == OF_2021 && job.transport == Transport::H3 {
        // By itself it begins with Google's QUIC, and gives up where nobody speaks that.
        arguments.push("--quic-version=h3".to_owned());
    }
    if job.earlier.as_ref().is_some_and(|earlier| earlier.early_data) {
        // Over QUIC it is on by itself.
        arguments.push("--enable-features=EnableTLS13EarlyData".to_owned());
    }
    match job.tls {
        Tls::None => {}
        Tls::V1_2 => arguments.push("--ssl-version-max=tls1.2".to_owned()),
        Tls::V1_3 => arguments.push("--ssl-version-min=tls1.3".to_owned()),
    }
    if !job.public_keys.is_empty() {
        // Without a list, the HTTP cache would be off, and what is hinted at would be fetched twice.
        let list = job.public_keys.join(",");
        arguments.push(format!("--ignore-certificate-errors-spki-list={list}"));
    } else if job.tls != Tls::None {
        return Err(ToolError::unable("a browser needs `public_keys` to trust a server by"));
    }
    if let Some(keys) = &job.key_log {
        arguments.push(format!("--ssl-key-log-file={}", keys.display()));
    }
    arguments.push("--remote-debugging-pipe".to_owned());
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::browser::tests::job;

    #[test]
    fn the_protocol_asked_for_is_the_only_one() {
        let with = |transport, tls| {
            let mut job = job(&["https://far.test/", "https://b.test:8443/a?b=:1"]);
            (job.transport, job.tls, job.public_keys) = (transport, tls, vec!["abc=".to_owned()]);
            of(&job, "chromium").unwrap()
        };
        let has = |arguments: &[String], one: &str| arguments.iter().any(|known| known == one);
        let h1 = with(Transport::Http1, Tls::V1_2);
        assert!(has(&h1, "--disable-http2") && has(&h1, "--disable-quic"), "{h1:?}");
        assert!(has(&h1, "--ssl-version-max=tls1.2"), "{h1:?}");
        let h3 = with(Transport::H3, Tls::V1_3);
        assert!(has(&h3, "--origin-to-force-quic-on=b.test:8443,far.test:443"), "{h3:?}");
        assert!(!has(&h3, "--disable-quic"), "{h3:?}");
        assert!(has(&h3, "--ignore-certificate-errors-spki-list=abc="), "{h3:?}");
        let mut job = job(&["https://far.test/"]);
        (job.transport, job.tls, job.public_keys) =
            (Transport::H3, Tls::V1_3, vec!["abc=".to_owned()]);
        let version = "--quic-version=h3";
        assert!(has(&of(&job, OF_2021).unwrap(), version) && !has(&h3, version));
    }

    #[test]
    fn nothing_of_the_browsers_own_loads_beside_the_page() {
        let arguments = of(&job(&["http://far.test/"]), "chromium").unwrap();
        assert!(arguments.iter().any(|one| one == "--no-startup-window"), "{arguments:?}");
        // Of a switch that is given twice, Chromium takes the last.
        let switches = arguments.iter().filter_map(|one| one.strip_prefix("--disable-features="));
        let off: Vec<&str> = switches.collect();
        assert_eq!(off.len(), 1, "{arguments:?}");
        let popups = ["WebUIOmniboxPopup", "WebUIOmniboxFullPopup", "WebUIOmniboxAimPopup"];
        assert!(popups.iter().all(|popup| off[0].split(',').any(|one| one == *popup)), "{off:?}");
    }

    #[test]
    fn without_a_key_to_trust_there_is_no_tls() {
        let mut job = job(&["https://far.test/"]);
        job.tls = Tls::V1_3;
        assert!(of(&job, "chromium").is_err());
        job.tls = Tls::None;
        assert!(of(&job, "chromium").is_ok());
    }
}
