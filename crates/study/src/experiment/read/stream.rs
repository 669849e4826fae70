//! The workload `stream` of an experiment's file, and how contenders deliver it.

use super::super::calls::ServerTime;
use super::super::contender::Transport;
use super::super::file::WorkloadFile;
use super::super::stream::{Delivery, StreamWorkload};
use super::super::workload::Workload;
use super::workloads::LONGEST_SERVER_TIME;
use super::{ExperimentError, Reader};
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;
use unit::ByteSize;

impl Reader<'_> {
    pub(super) fn streams(
        &self,
        file: WorkloadFile,
        span: &Range<usize>,
    ) -> Result<Vec<Workload>, ExperimentError> {
        let Some(every) = &file.every else {
            let message = "a stream needs `every`, such as \"20ms\" or \"uniform 10ms..30ms\"";
            return Err(self.fault(span.clone(), message));
        };
        let every = self.time("every", every)?;
        let server_time = match &file.server_time {
            None => ServerTime::Fixed(Duration::ZERO),
            Some(field) => self.time("server_time", field)?,
        };
        let streams = self.count("streams", &file.streams, MOST_STREAMS)?.unwrap_or(1);
        let counts = self.counts(&file, span)?;
        let sizes = self.sizes(&file, "a token", span)?;
        if let Some(field) =
            file.bytes.as_ref().filter(|_| !sizes.iter().all(|size| TOKENS.contains(&size.0.0)))
        {
            let message = format!(
                "a token has from {} B to {}: its number and time are in it",
                TOKENS.start(),
                ByteSize(*TOKENS.end())
            );
            return Err(self.fault(field.span(), message));
        }
        let one = |count: u32, bytes: ByteSize| StreamWorkload {
            streams,
            count,
            bytes,
            every,
            server_time,
        };
        let all: Vec<StreamWorkload> = counts
            .into_iter()
            .flat_map(|count| sizes.iter().map(move |size| one(count, size.0)))
            .collect();
        if let Some(long) = all.iter().find(|stream| stream.longest_time() >= self.timeout) {
            let (takes, limit) = (long.longest_time().as_secs_f64(), self.timeout.as_secs_f64());
            let message = format!(
                "such a stream takes up to {takes} s, and `timeout` ends a trial after {limit} s: make `timeout` longer"
            );
            return Err(self.fault(span.clone(), message));
        }
        Ok(all.into_iter().map(Workload::stream).collect())
    }

    fn time(&self, what: &str, field: &Spanned<String>) -> Result<ServerTime, ExperimentError> {
        let time: ServerTime = field.get_ref().parse().map_err(|_| {
            let message = format!(
                "`{what}` is a time such as \"20ms\" or \"uniform 10ms..30ms\", in whole milliseconds"
            );
            self.fault(field.span(), message)
        })?;
        match time {
            ServerTime::Fixed(most) | ServerTime::Uniform { to: most, .. }
                if most > LONGEST_SERVER_TIME =>
            {
                Err(self.fault(field.span(), format!("`{what}` is 600s at most")))
            }
            _ => Ok(time),
        }
    }

    /// How a contender delivers streams: a WebSocket by messages, HTTP by responses.
    pub(super) fn delivery(
        &self,
        transport: Transport,
        field: &Option<Spanned<Delivery>>,
    ) -> Result<Delivery, ExperimentError> {
        let usual = match transport.is_web_socket() {
            true => Delivery::WebSocket,
            false => Delivery::default(),
        };
        let Some(field) = field else { return Ok(usual) };
        match (transport.is_web_socket(), *field.get_ref()) {
            (true, Delivery::WebSocket) => Ok(Delivery::WebSocket),
            (true, other) => {
                let message = format!(
                    "the transport `{transport}` delivers by \"web-socket\", not by \"{}\"",
                    other.name()
                );
                Err(self.fault(field.span(), message))
            }
            (false, Delivery::WebSocket) => {
                Err(self
                    .fault(field.span(), "the delivery \"web-socket\" needs a WebSocket: the transport \"ws\", \"ws-h2\" or \"ws-h3\""))
            }
            (false, other) => Ok(other),
        }
    }
}

/// As many requests wait at our origin.
const MOST_STREAMS: u32 = 100;
/// Bytes of a token, as our origin makes them.
const TOKENS: std::ops::RangeInclusive<u64> = 48..=65_536;

#[cfg(test)]
mod tests {
    use super::super::super::{Experiment, ExperimentError, Workload};
    use super::Delivery;

    fn read(contender: &str, fields: &str) -> Result<Experiment, ExperimentError> {
        let text = format!(
            "name = \"s\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"c\"\n[[contenders]]\nname = \"c\"\n\
             {contender}\n[[workloads]]\nkind = \"stream\"\n{fields}\n[[links]]\nname = \"lan\"\n"
        );
        text.parse()
    }

    const H2: &str = "transport = \"h2\"";
    const PLAIN: &str = "count = 300\nbytes = 200\nevery = \"20ms\"";

    #[test]
    fn a_stream_has_a_name_and_reads_back_from_its_row() {
        let drawn = "count = [5, 10]\nbytes = \"1kB\"\nevery = \"uniform 200ms..2s\"\nstreams = 4\nserver_time = \"300ms\"";
        let names = |fields: &str| -> Vec<String> {
            let workloads = read(H2, fields).unwrap().workloads;
            for workload in &workloads {
                let json = serde_json::to_string(workload).unwrap();
                assert_eq!(serde_json::from_str::<Workload>(&json).unwrap(), *workload);
            }
            workloads.into_iter().map(|workload| workload.name).collect()
        };
        assert_eq!(names(PLAIN), ["stream-300x200B-every-20ms"]);
        assert_eq!(names(drawn)[1], "stream-10x1kB-every-uniform-200ms..2s-x4+300ms");
        let said = read(H2, drawn).unwrap().workloads[0].to_string();
        assert_eq!(
            said,
            "4 streams of 5 tokens, 1 kB each, one every uniform 200ms..2s, the first after 300ms"
        );
    }

    #[test]
    fn a_contender_delivers_by_what_its_transport_can() {
        let delivery = |contender: &str| {
            read(contender, PLAIN).map(|found| found.contenders[0].settings.delivery)
        };
        let with = |transport: &str, name: &str| {
            delivery(&format!(
                "transport = \"{transport}\"\nsettings = {{ delivery = \"{name}\" }}"
            ))
        };
        assert_eq!(delivery(H2), Ok(Delivery::Sse));
        assert_eq!(delivery("transport = \"ws\""), Ok(Delivery::WebSocket));
        assert_eq!(with("http/1.1", "long-polling"), Ok(Delivery::LongPolling));
        assert_eq!(with("h2", "chunked"), Ok(Delivery::Chunked));
        let fault = |transport: &str, name: &str| with(transport, name).unwrap_err().message;
        assert_eq!(
            fault("ws", "sse"),
            "the transport `ws` delivers by \"web-socket\", not by \"sse\""
        );
        assert_eq!(
            fault("h2", "web-socket"),
            "the delivery \"web-socket\" needs a WebSocket: the transport \"ws\", \"ws-h2\" or \"ws-h3\""
        );
    }

    #[test]
    fn what_a_stream_cannot_be_is_said() {
        let fault = |fields: &str| read(H2, fields).unwrap_err().message;
        assert!(fault("count = 3\nbytes = 200").starts_with("a stream needs `every`"));
        assert!(fault("count = 3\nevery = \"1ms\"").starts_with("a stream needs `bytes`"));
        assert!(
            fault("count = 3\nbytes = 200\nevery = \"fast\"")
                .starts_with("`every` is a time such as")
        );
        assert!(
            fault("count = 3\nbytes = 20\nevery = \"1ms\"").starts_with("a token has from 48 B")
        );
        let long = fault("count = 301\nbytes = 200\nevery = \"100ms\"");
        assert!(long.starts_with("such a stream takes up to 30 s"), "{long}");
        assert_eq!(fault(&format!("{PLAIN}\nimages = 3")), "`images` belongs to kind \"page\"");
        assert_eq!(fault(&format!("{PLAIN}\nstreams = 101")), "`streams` must be at most 100");
    }
}
