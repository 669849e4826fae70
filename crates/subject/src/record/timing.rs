//! The steps of a request, from `Network.ResourceTiming`: offsets in milliseconds since the request's own time, -1 for a step
//! that did not happen.

use serde_json::Value;

/// How long each step took, in milliseconds; None for one that did not happen. As in HAR 1.2, `ssl` is a part of
/// `connect`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Timing {
    /// In the browser's queue.
    pub blocked: Option<f64>,
    /// Looking up the name.
    pub dns: Option<f64>,
    /// Connecting.
    pub connect: Option<f64>,
    /// The TLS handshake in that.
    pub ssl: Option<f64>,
    /// Sending the request.
    pub send: f64,
    /// From then to the response's head.
    pub wait: f64,
    /// From the request's beginning to the response's head.
    pub head: f64,
}

impl Timing {
    /// Reads `timing` of a response to a request that was made at `issued_s` of the protocol's clock.
    pub(super) fn read(timing: &Value, issued_s: f64) -> Option<Self> {
        let base_ms = timing["requestTime"].as_f64()? * 1e3;
        let at = |step: &str| timing[step].as_f64().filter(|ms| *ms >= 0.0);
        let span = |from: &str, to: &str| Some((at(to)? - at(from)?).max(0.0));
        let queued = (base_ms - issued_s * 1e3).max(0.0);
        let first = ["dnsStart", "connectStart", "sendStart"].into_iter().find_map(at);
        // `receiveHeadersStart` is the time of a 103 where one came.
        let head = at("receiveHeadersEnd").unwrap_or(0.0);
        let sent = at("sendEnd").unwrap_or(0.0);
        Some(Self {
            blocked: Some(queued + first.unwrap_or(0.0)),
            dns: span("dnsStart", "dnsEnd"),
            connect: span("connectStart", "connectEnd"),
            ssl: span("sslStart", "sslEnd"),
            send: span("sendStart", "sendEnd").unwrap_or(0.0),
            wait: (head - sent).max(0.0),
            head: queued + head,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn steps_that_did_not_happen_are_none_and_the_others_sum_to_the_head() {
        let timing = json!({"requestTime": 10.01, "dnsStart": 2.0, "dnsEnd": 3.0, "connectStart": 3.0, "connectEnd": 9.0,
            "sslStart": 5.0, "sslEnd": 9.0, "sendStart": 9.5, "sendEnd": 10.0, "receiveHeadersEnd": 50.0});
        let read = Timing::read(&timing, 10.0).unwrap();
        assert_eq!(read.blocked.map(f64::round), Some(12.0));
        assert_eq!((read.dns, read.connect, read.ssl), (Some(1.0), Some(6.0), Some(4.0)));
        assert_eq!((read.send, read.wait, read.head.round()), (0.5, 40.0, 60.0));
        let kept = json!({"requestTime": 10.0, "dnsStart": -1, "dnsEnd": -1, "connectStart": -1, "connectEnd": -1,
            "sslStart": -1, "sslEnd": -1, "sendStart": 1.0, "sendEnd": 1.0, "receiveHeadersEnd": 2.0});
        let read = Timing::read(&kept, 10.0).unwrap();
        assert_eq!((read.dns, read.connect, read.ssl, read.wait), (None, None, None, 1.0));
        assert_eq!(Timing::read(&Value::Null, 10.0), None);
    }
}
