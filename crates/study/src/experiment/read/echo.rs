//! The workload `echo` of an experiment's file, and what belongs to WebSockets alone. The one rule: what a transport
//! cannot do is refused, or its rows would say that it had.

use super::super::contender::Negotiation;
use super::super::contender::Transport;
use super::super::echo::{EchoPattern, EchoWorkload};
use super::super::file::{ContenderFile, PatternFile, SettingsFile, WorkloadFile};
use super::super::side::Side;
use super::super::workload::Workload;
use super::{ExperimentError, Reader};
use std::ops::Range;
use toml::Spanned;
use unit::ByteSize;

impl Reader<'_> {
    pub(super) fn echoes(
        &self,
        file: WorkloadFile,
        span: &Range<usize>,
    ) -> Result<Vec<Workload>, ExperimentError> {
        let pattern = match &file.pattern {
            None => return Err(self.fault(span.clone(), "an echo needs `pattern`")),
            Some(field) => match field.get_ref() {
                PatternFile::Serial => EchoPattern::Serial,
                PatternFile::Parallel => EchoPattern::Parallel,
                PatternFile::Staggered | PatternFile::Mixed => {
                    let message = "an echo's pattern is \"serial\" or \"parallel\"";
                    return Err(self.fault(field.span(), message));
                }
            },
        };
        let counts = self.counts(&file, span)?;
        let bytes: Vec<Option<ByteSize>> = match &file.bytes {
            None => vec![None],
            Some(field) => {
                let sizes = self.sizes(&file, "a message", span)?;
                if !sizes.iter().all(|size| (1..=LARGEST_MESSAGE.0).contains(&size.0.0)) {
                    let message = format!("a message has from 1 byte to {LARGEST_MESSAGE}");
                    return Err(self.fault(field.span(), message));
                }
                sizes.into_iter().map(|size| Some(size.0)).collect()
            }
        };
        let views = self.page_views(&file, pattern, &counts)?;
        let echoes = counts.into_iter().flat_map(|count| {
            bytes.iter().map(move |bytes| EchoWorkload { pattern, count, bytes: *bytes, views })
        });
        Ok(echoes.map(Workload::echo).collect())
    }

    /// Page views, of which each has a message at least.
    fn page_views(
        &self,
        file: &WorkloadFile,
        pattern: EchoPattern,
        counts: &[u32],
    ) -> Result<Option<u32>, ExperimentError> {
        let Some(field) = &file.views else { return Ok(None) };
        if pattern == EchoPattern::Parallel {
            return Err(self.fault(field.span(), "`views` belongs to pattern \"serial\""));
        }
        let least = counts.iter().copied().min().unwrap_or(1);
        self.count("views", &file.views, least)
    }

    /// Whether a contender can do every workload.
    pub(super) fn carries(
        &self,
        contender: &ContenderFile,
        workloads: &[Workload],
    ) -> Result<(), ExperimentError> {
        let other = workloads.iter().find(|workload| !workload.is_of_messages());
        let transport = *contender.transport.get_ref();
        match other {
            Some(workload) if transport.is_web_socket() => {
                let message = format!(
                    "the transport `{transport}` carries the kinds \"echo\" and \"stream\" alone, and the workload `{}` is another",
                    workload.name
                );
                Err(self.fault(contender.transport.span(), message))
            }
            _ => Ok(()),
        }
    }

    /// The client's side and the server's.
    pub(super) fn sides(
        &self,
        transport: Transport,
        given: &SettingsFile,
    ) -> Result<(Side, Side), ExperimentError> {
        match transport.is_web_socket() {
            true => self.one_connection(transport, given)?,
            false => self.nothing_of_web_sockets(given)?,
        }
        let usual = Side::default();
        let of = |field: &Option<Spanned<bool>>| field.as_ref().map(|field| *field.get_ref());
        let client = Side {
            nodelay: of(&given.client_nodelay).unwrap_or(usual.nodelay),
            quickack: of(&given.client_quickack).unwrap_or(usual.quickack),
            writes: self.writes("client_writes", &given.client_writes)?,
            deflate: of(&given.client_deflate).unwrap_or(usual.deflate),
        };
        let server = Side {
            nodelay: of(&given.server_nodelay).unwrap_or(usual.nodelay),
            quickack: of(&given.server_quickack).unwrap_or(usual.quickack),
            writes: self.writes("server_writes", &given.server_writes)?,
            deflate: of(&given.server_deflate).unwrap_or(usual.deflate),
        };
        Ok((client, server))
    }

    fn writes(&self, what: &str, field: &Option<Spanned<u32>>) -> Result<u32, ExperimentError> {
        match field.as_ref().map(|field| (*field.get_ref(), field)) {
            None => Ok(Side::default().writes),
            Some((writes @ 1..=2, _)) => Ok(writes),
            Some((_, field)) => {
                let message = format!("`{what}` is 1 (together) or 2 (header, then payload)");
                Err(self.fault(field.span(), message))
            }
        }
    }

    /// Frames and their compression are WebSocket's.
    fn nothing_of_web_sockets(&self, given: &SettingsFile) -> Result<(), ExperimentError> {
        let fields = [
            ("client_writes", given.client_writes.as_ref().map(Spanned::span)),
            ("server_writes", given.server_writes.as_ref().map(Spanned::span)),
            ("client_deflate", given.client_deflate.as_ref().map(Spanned::span)),
            ("server_deflate", given.server_deflate.as_ref().map(Spanned::span)),
        ];
        match fields.into_iter().find_map(|(field, span)| Some((field, span?))) {
            Some((field, span)) => {
                Err(self.fault(span, format!("`{field}` belongs to WebSockets")))
            }
            None => Ok(()),
        }
    }

    /// A WebSocket is one connection, opened once, by one version of HTTP.
    fn one_connection(
        &self,
        transport: Transport,
        given: &SettingsFile,
    ) -> Result<(), ExperimentError> {
        let several = given.connections.as_ref().filter(|field| *field.get_ref() > 1);
        let closes = [&given.keep_alive, &given.server_keep_alive]
            .into_iter()
            .flatten()
            .find(|field| !*field.get_ref());
        let asks = given.negotiation.as_ref().filter(|field| *field.get_ref() == Negotiation::Alpn);
        let span = several.map(Spanned::span).or(closes.map(Spanned::span));
        if let Some(span) = span {
            return Err(self.fault(span, "a WebSocket is one connection that is kept"));
        }
        match asks {
            Some(field) => Err(self.fault(
                field.span(),
                format!(
                    "a WebSocket is opened by {} here, and nothing else is offered",
                    transport.protocol().begins_as().title()
                ),
            )),
            None => Ok(()),
        }
    }
}

/// Small messages are what is asked about: one lies in memory several times.
const LARGEST_MESSAGE: ByteSize = ByteSize(1_000_000);

#[cfg(test)]
mod tests {
    use super::super::super::{Experiment, ExperimentError, Side, Tls, WorkloadKind};
    use crate::experiment::Workload;

    fn read(transport: &str, settings: &str, fields: &str) -> Result<Experiment, ExperimentError> {
        let text = format!(
            "name = \"e\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"c\"\n[[contenders]]\nname = \"c\"\n\
             transport = \"{transport}\"\nsettings = {{ {settings} }}\n[[workloads]]\n{fields}\n[[links]]\n\
             name = \"lan\"\n"
        );
        text.parse()
    }

    const SERIAL: &str = "kind = \"echo\"\npattern = \"serial\"\ncount = 5";

    fn fault(transport: &str, settings: &str, fields: &str) -> String {
        read(transport, settings, fields).unwrap_err().message
    }

    #[test]
    fn an_echo_is_made_of_every_count_and_size_and_of_numbers_where_none_is_given() {
        let fields =
            "kind = \"echo\"\npattern = \"parallel\"\ncount = [1, 2]\nbytes = [100, \"1kB\"]";
        let names = |experiment: Experiment| -> Vec<String> {
            experiment.workloads.into_iter().map(|workload| workload.name).collect()
        };
        assert_eq!(
            names(read("ws", "", fields).unwrap()),
            [
                "echo-parallel-1x100B",
                "echo-parallel-1x1kB",
                "echo-parallel-2x100B",
                "echo-parallel-2x1kB"
            ]
        );
        let serial = read("http/1.1", "", SERIAL).unwrap();
        assert_eq!(
            serial.workloads[0].to_string(),
            "5 messages one after another, numbers to be doubled"
        );
        assert_eq!(names(serial), ["echo-serial-5xnumbers"]);
    }

    #[test]
    fn a_side_is_todays_unless_said_and_each_is_set_by_itself() {
        let settings = "server_nodelay = false, server_writes = 2, client_quickack = true, client_deflate = true";
        let found = read("ws", settings, SERIAL).unwrap().contenders.remove(0).settings;
        let usual = Side { nodelay: true, quickack: false, writes: 1, deflate: false };
        assert_eq!(Side::default(), usual);
        assert_eq!(found.client, Side { quickack: true, deflate: true, ..usual });
        assert_eq!(found.server, Side { nodelay: false, writes: 2, ..usual });
        assert_eq!(found.connections, 1);
    }

    #[test]
    fn a_websocket_carries_messages_alone() {
        let page = "kind = \"page\"\nimages = 3\nbytes = 10";
        let error = read("ws", "", page).unwrap_err();
        assert_eq!((error.line, error.column), (7, 13));
        assert_eq!(
            error.message,
            "the transport `ws` carries the kinds \"echo\" and \"stream\" alone, and the workload `page-3x10B` is another"
        );
    }

    #[test]
    fn a_websocket_over_http2_or_http3_is_read_as_one_over_http1_is() {
        for (transport, http) in [("ws-h2", "HTTP/2"), ("ws-h3", "HTTP/3")] {
            let settings = "client_deflate = true, server_writes = 2";
            let found = read(transport, settings, SERIAL).unwrap().contenders.remove(0);
            assert_eq!((found.transport.name(), found.tls), (transport, Tls::V1_3));
            let page = fault(transport, "", "kind = \"page\"\nimages = 3\nbytes = 10");
            assert!(page.starts_with(&format!("the transport `{transport}` carries")), "{page}");
            let asks = fault(transport, "negotiation = \"alpn\"", SERIAL);
            assert!(asks.contains(http), "{asks}");
        }
        assert!(fault("ws-h3", "pacing = true", SERIAL).contains("QUIC is always paced"));
        assert!(fault("ws-h2", "gso = true", SERIAL).contains("`ws-h2` is over TCP"));
    }

    #[test]
    fn what_a_transport_cannot_do_is_refused() {
        for field in [
            "client_writes = 2",
            "server_writes = 1",
            "client_deflate = true",
            "server_deflate = false",
        ] {
            let name = field.split(' ').next().unwrap();
            assert_eq!(fault("h2", field, SERIAL), format!("`{name}` belongs to WebSockets"));
        }
        for field in ["connections = 2", "keep_alive = false", "server_keep_alive = false"] {
            assert_eq!(fault("ws", field, SERIAL), "a WebSocket is one connection that is kept");
        }
        assert!(fault("ws", "server_writes = 3", SERIAL).starts_with("`server_writes` is 1"));
    }

    #[test]
    fn what_an_echo_cannot_be_is_said() {
        let staggered = "kind = \"echo\"\npattern = \"staggered\"\ncount = 5";
        assert_eq!(fault("ws", "", staggered), "an echo's pattern is \"serial\" or \"parallel\"");
        assert_eq!(fault("ws", "", "kind = \"echo\"\ncount = 5"), "an echo needs `pattern`");
        let none = "kind = \"echo\"\npattern = \"serial\"";
        assert_eq!(fault("ws", "", none), "an echo needs `count`");
        for more in ["bytes = 0", "bytes = \"2MB\""] {
            assert!(fault("ws", "", &format!("{SERIAL}\n{more}")).contains("from 1 byte to"));
        }
        let images = format!("{SERIAL}\nimages = 3");
        assert_eq!(fault("ws", "", &images), "`images` belongs to kind \"page\"");
    }

    #[test]
    fn views_are_serial_and_have_a_message_each() {
        let views = format!("{SERIAL}\nviews = 2");
        let workload = read("ws", "", &views).unwrap().workloads.remove(0);
        assert_eq!(workload.name, "echo-serial-5xnumbers-2views");
        assert!(workload.to_string().ends_with(", in 2 page views"), "{workload}");
        assert_eq!(fault("ws", "", &format!("{SERIAL}\nviews = 6")), "`views` must be at most 5");
        let parallel = "kind = \"echo\"\npattern = \"parallel\"\ncount = 5\nviews = 2";
        assert_eq!(fault("ws", "", parallel), "`views` belongs to pattern \"serial\"");
    }

    #[test]
    fn a_workload_reads_back_from_its_row() {
        let bytes = format!("{SERIAL}\nbytes = 7");
        let views = format!("{SERIAL}\nviews = 2");
        for fields in [SERIAL, bytes.as_str(), views.as_str()] {
            let workload = read("ws", "", fields).unwrap().workloads.remove(0);
            let json = serde_json::to_string(&workload).unwrap();
            let back: Workload = serde_json::from_str(&json).unwrap();
            assert_eq!(back, workload);
            assert!(matches!(back.kind, WorkloadKind::Echo(_)), "{json}");
        }
    }
}
