use super::*;
use crate::schema_file;
use proptest::prelude::*;
use unit::ByteSize;

const SMALL: &str = r#"name = "small"
title = "t"
question = "q"
baseline = "h1"
[[contenders]]
name = "h1"
transport = "http/1.1"
[[workloads]]
kind = "page"
images = [10, 100]
bytes = ["5kB", 100]
[[links]]
name = "lan"
"#;

fn fault(from: &str, to: &str) -> ExperimentError {
    assert!(SMALL.contains(from), "{from}");
    SMALL.replacen(from, to, 1).parse::<Experiment>().unwrap_err()
}

fn position(error: &ExperimentError) -> (usize, usize) {
    (error.line, error.column)
}

#[test]
fn every_builtin_experiment_reads_and_bears_its_name() {
    for builtin in builtin() {
        let experiment: Experiment = builtin.toml.parse().unwrap();
        assert_eq!(experiment.name, builtin.name);
    }
}

#[test]
fn quick_is_the_experiment_of_the_readme() {
    let quick: Experiment = builtin()[0].toml.parse().unwrap();
    let names: Vec<_> = quick.contenders.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["h1", "h1-tls", "h2", "h3"]);
    let links: Vec<_> = quick.links.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(links, ["lan", "wifi", "3g"]);
    assert_eq!(quick.baseline, "h1-tls");
    assert_eq!(quick.workloads[0].name, "page-50x5kB");
    assert!(quick.links.iter().all(|link| link.trials >= 6));
}

#[test]
fn tcp_is_paced_beside_http3_unless_it_is_to_be_as_shipped() {
    let quick: Experiment = builtin()[0].toml.parse().unwrap();
    let paced = |contenders: &[Contender], name: &str| {
        let own = contenders.iter().find(|contender| contender.name == name).unwrap();
        own.among(contenders).settings.pacing
    };
    assert!(paced(&quick.contenders, "h2") && paced(&quick.contenders, "h1"));
    assert!(!paced(&quick.contenders, "h3"), "QUIC paces by itself");
    assert!(!paced(&quick.contenders[..3], "h2"), "nothing to be equal to");
    for one in builtin() {
        let published: Experiment = one.toml.parse().unwrap();
        if !published.published.is_some_and(Source::is_run_again) {
            continue;
        }
        let names = published.contenders.iter().map(|contender| contender.name.as_str());
        let paced: Vec<_> = names.filter(|name| paced(&published.contenders, name)).collect();
        assert!(paced.is_empty(), "{}: {paced:?} were not paced then", one.name);
    }
    let mut as_shipped = quick.contenders;
    as_shipped[2].settings.terms = Terms::AsShipped;
    assert!(!paced(&as_shipped, "h2") && paced(&as_shipped, "h1"));
}

#[test]
fn what_only_one_of_tcp_and_quic_has_is_refused_for_the_other() {
    let settings = |transport: &str, settings: &str| {
        let contender = format!("\"{transport}\"\nsettings = {{ {settings} }}");
        fault("\"http/1.1\"", &contender).message
    };
    for setting in ["mtu_discovery = true", "gso = false", "ack_threshold = 4"] {
        assert!(settings("h2", setting).contains("is QUIC's"), "{setting}");
    }
    assert!(settings("h3", "pacing = true").contains("QUIC is always paced"));
    assert!(settings("h3", "mtu = 1200").contains("packets of 1228 bytes"));
    assert!(settings("h3", "mtu_discovery = true").contains("the first datagrams fill packets"));
    let h3 = SMALL.replace("\"http/1.1\"", "\"h3\"\nsettings = { terms = \"as-shipped\" }");
    assert!(h3.parse::<Experiment>().unwrap().contenders[0].settings.mtu_discovery);
}

#[test]
fn what_is_wrong_with_a_service_is_shown_at_its_key() {
    let calls = "kind = \"calls\"\npattern = \"serial\"\ncount = 2\nrequests = [{ path = \"/\" }]";
    let page = "kind = \"page\"\nimages = [10, 100]\nbytes = [\"5kB\", 100]";
    let small = SMALL.replacen(page, calls, 1);
    for (server, key) in [
        ("{ at = \"nonsense\" }", "\"nonsense\""),
        ("{ at = \"127.0.0.1:1\", name = \"a b\" }", "\"a b\""),
        ("{ at = \"http://127.0.0.1:1\", insecure = true }", "true"),
        ("{ at = \"http://127.0.0.1:1\", ca = \"x.pem\" }", "\"x.pem\""),
        ("{ at = \"127.0.0.1:1\", nam = \"x\" }", "nam"),
    ] {
        // Of one contender, and of all.
        let own = format!("transport = \"http/1.1\"\nserver = {server}");
        let one = small.replacen("transport = \"http/1.1\"", &own, 1);
        let all = small.replacen("baseline", &format!("server = {server}\nbaseline"), 1);
        for text in [one, all] {
            let error = text.parse::<Experiment>().unwrap_err();
            let line = text.lines().nth(error.line - 1).unwrap();
            assert!(line.starts_with("server = "), "{error}");
            assert!(line[error.column - 1..].starts_with(key), "{error}");
        }
    }
}

#[test]
fn a_contender_has_the_own_origin_unless_it_names_a_server() {
    let small: Experiment = SMALL.parse().unwrap();
    assert_eq!(small.contenders[0].foreign_server(), None);
    let text = serde_json::to_string(&small.contenders[0]).unwrap();
    assert!(
        !text.contains("\"server\":\""),
        "rows and results of before stay as they were: {text}"
    );
    let named = SMALL.replace("\"http/1.1\"", "\"http/1.1\"\nserver = \"nginx\"");
    let named: Experiment = named.parse().unwrap();
    assert_eq!(named.contenders[0].foreign_server(), Some("nginx"));
    let error = fault("transport = \"http/1.1\"", "transport = \"http/1.1\"\nserver = \"\"");
    assert!(error.to_string().contains("cannot be the name of the server"), "{error}");
}

#[test]
fn defaults_are_those_of_a_browser_on_a_current_kernel() {
    let small: Experiment = SMALL.parse().unwrap();
    let h1 = small.contender("h1").unwrap();
    assert_eq!((h1.tls, h1.settings.connections), (Tls::None, 6));
    assert_eq!(h1.settings.stream_window, ByteSize(6 << 20));
    let h2 = SMALL.replace("http/1.1", "h2").parse::<Experiment>().unwrap();
    assert_eq!((h2.contenders[0].tls, h2.contenders[0].settings.connections), (Tls::V1_3, 1));
}

#[test]
fn the_example_of_the_manual_reads() {
    let manual = include_str!("../../../../docs/experiment.md");
    let example = manual.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let experiment: Experiment = example.parse().unwrap();
    assert_eq!((experiment.workloads.len(), experiment.contenders.len()), (11, 4));
    assert_eq!(experiment.contenders[1].settings.stream_window, ByteSize(65_536));
}

#[test]
fn lists_span_several_workload_sizes() {
    let small: Experiment = SMALL.parse().unwrap();
    let names: Vec<_> = small.workloads.iter().map(|w| w.name.as_str()).collect();
    assert_eq!(names, ["page-10x5kB", "page-10x100B", "page-100x5kB", "page-100x100B"]);
}

/// `SMALL` with another workload, and settings for its contender.
fn calls(fields: &str, settings: &str) -> Result<Experiment, ExperimentError> {
    let page = "kind = \"page\"\nimages = [10, 100]\nbytes = [\"5kB\", 100]\n";
    let transport = format!("transport = \"http/1.1\"\n{settings}");
    SMALL
        .replace("transport = \"http/1.1\"\n", &transport)
        .replace(page, &format!("kind = \"calls\"\n{fields}\n"))
        .parse()
}

#[test]
fn calls_are_made_of_every_count_and_size() {
    let fields = "pattern = \"staggered\"\nevery = \"100ms\"\ncount = [1, 11]\nbytes = \"2kB\"\n\
                  server_time = \"uniform 300ms..500ms\"";
    let experiment = calls(fields, "").unwrap();
    let names: Vec<_> = experiment.workloads.iter().map(|w| w.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "staggered-100ms-1x2kB+uniform-300ms..500ms",
            "staggered-100ms-11x2kB+uniform-300ms..500ms"
        ]
    );
    assert_eq!(
        experiment.workloads[1].to_string(),
        "11 calls one every 100ms, answers of 2 kB, server time uniform 300ms..500ms"
    );
    let json = serde_json::to_value(&experiment.workloads[1]).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "name": names[1], "kind": "calls", "pattern": "staggered", "every": "100ms", "count": 11,
            "bytes": 2000, "server_time": "uniform 300ms..500ms"
        })
    );
    assert_eq!(serde_json::from_value::<Workload>(json).unwrap(), experiment.workloads[1]);
}

#[test]
fn mixed_calls_have_two_tabs_unless_said() {
    let mixed = "pattern = \"mixed\"\nevery = \"100ms\"\ncount = 9\nbytes = 10";
    let named = |fields: &str| {
        let workload = calls(fields, "").unwrap().workloads.remove(0);
        let json = serde_json::to_string(&workload).unwrap();
        assert_eq!(serde_json::from_str::<Workload>(&json).unwrap(), workload);
        workload.name
    };
    assert_eq!(named(mixed), "mixed-100ms-2tabs-9x10B");
    assert_eq!(named(&format!("{mixed}\ntabs = 3")), "mixed-100ms-3tabs-9x10B");
}

#[test]
fn what_calls_cannot_be_is_pointed_at() {
    let serial = "pattern = \"serial\"\ncount = 3\nbytes = 10";
    assert!(calls(serial, "").is_ok());
    let cases = [
        ("count = 3\nbytes = 10", "calls need `pattern`: \"serial\", "),
        ("pattern = \"serial\"\nbytes = 10", "calls need `count`"),
        ("pattern = \"serial\"\ncount = 3", "calls need `bytes`"),
        ("pattern = \"serial\"\ncount = 0\nbytes = 10", "at least 1"),
        ("pattern = \"staggered\"\ncount = 3\nbytes = 10", "need `every`"),
        (
            &format!("{serial}\nevery = \"1ms\""),
            "belongs to the patterns \"staggered\" and \"mixed\"",
        ),
        ("pattern = \"mixed\"\ncount = 3\nbytes = 10", "mixed calls need `every`"),
        (&format!("{serial}\ntabs = 2"), "`tabs` belongs to pattern \"mixed\""),
        (&format!("{serial}\nimages = 4"), "`images` belongs to kind \"page\""),
        (&format!("{serial}\nthink = \"1ms\""), "belongs to kind \"page\" or \"har\""),
        (&format!("{serial}\nserver_time = \"soon\""), "is not a server time"),
        (&format!("{serial}\nserver_time = \"601s\""), "600s at most"),
    ];
    for (fields, expected) in cases {
        let error = calls(fields, "").unwrap_err().to_string();
        assert!(error.contains(expected), "{fields}: {error}");
    }
}

#[test]
fn settings_of_tls_need_tls() {
    let serial = "pattern = \"serial\"\ncount = 3\nbytes = 10";
    for setting in ["resumption = false", "negotiation = \"alpn\""] {
        let settings = format!("settings = {{ {setting} }}\n");
        let error = calls(serial, &settings).unwrap_err();
        assert!(error.message.contains("TLS"), "{error}");
        let secured = calls(serial, &format!("tls = \"1.2\"\n{settings}")).unwrap();
        let settings = &secured.contenders[0].settings;
        assert!(!settings.resumption || settings.negotiation == Negotiation::Alpn);
    }
}

#[test]
fn a_recorded_page_is_checked_with_flat_dependencies() {
    let text = SMALL.replace(
        "kind = \"page\"\nimages = [10, 100]\nbytes = [\"5kB\", 100]",
        "kind = \"har\"\nfile = \"some/where/my.har\"",
    );
    let experiment: Experiment = text.parse().unwrap();
    let [page, check] = &experiment.workloads[..] else { panic!("{:?}", experiment.workloads) };
    assert_eq!((page.name.as_str(), page.check_of.as_deref()), ("my", None));
    assert_eq!((check.name.as_str(), check.check_of.as_deref()), ("my+flat", Some("my")));
}

#[test]
fn quick_runs_over_a_recorded_page_of_ones_own() {
    let quick: Experiment = builtin()[0].toml.parse().unwrap();
    let har = HarWorkload {
        file: "saved/my.har".to_owned(),
        think: Think::Recorded,
        dependencies: Dependencies::Inferred,
        hosts: RecordedHosts::Apart,
    };
    let own = quick.clone().over_pages(vec![har]);
    assert_eq!((own.name.as_str(), own.workloads.len()), ("my", 2));
    assert_eq!((&own.contenders, &own.links), (&quick.contenders, &quick.links));
    assert!(!own.not_covered.contains(&"several origins".to_owned()));
}

#[test]
fn an_unknown_field_is_pointed_at_with_the_nearest_name() {
    let error = fault("images", "imges");
    assert_eq!((position(&error), error.suggestion.as_deref()), ((10, 1), Some("images")));
    assert!(error.message.starts_with("unknown field `imges`"), "{error}");
}

#[test]
fn an_unknown_transport_is_pointed_at_with_the_nearest_name() {
    let error = fault("\"http/1.1\"", "\"http1.1\"");
    assert_eq!((position(&error), error.suggestion.as_deref()), ((7, 13), Some("http/1.1")));
}

#[test]
fn the_only_contender_is_the_baseline_and_of_several_one_is_named() {
    let alone = SMALL.replace("baseline = \"h1\"\n", "");
    assert_eq!(alone.parse::<Experiment>().unwrap().baseline, "h1");
    let other = "[[contenders]]\nname = \"h2\"\ntransport = \"h2\"\n[[links]]";
    let error = alone.replace("[[links]]", other).parse::<Experiment>().unwrap_err();
    assert!(error.message.starts_with("missing field `baseline`"), "{error}");
}

#[test]
fn an_unknown_baseline_is_pointed_at_with_the_nearest_name() {
    let error = fault("baseline = \"h1\"", "baseline = \"h11\"");
    assert_eq!((position(&error), error.suggestion.as_deref()), ((4, 12), Some("h1")));
    assert_eq!(
        error.to_string(),
        "line 4, column 12: no contender is called `h11`, expected one of `h1`; did you mean `h1`?"
    );
}

#[test]
fn values_out_of_range_are_pointed_at() {
    let cases = [
        ("question = \"q\"", "question = \"q\"\nmargin = 7.0", (4, 10)),
        ("question = \"q\"", "question = \"q\"\ntrials = 0", (4, 10)),
        ("question = \"q\"", "question = \"q\"\ntimeout = \"30\"", (4, 11)),
        ("question = \"q\"", "question = \"q\"\ntimeout = \"0s\"", (4, 11)),
        ("[10, 100]", "[]", (10, 10)),
        ("\"lan\"", "\"\"", (13, 8)),
        ("[[links]]", "[[links]]\nname = \"lan\"\n[[links]]", (15, 8)),
        ("bytes = [\"5kB\", 100]", "bytes = \"5kB\"\nfile = \"x.har\"", (12, 8)),
        ("bytes = [\"5kB\", 100]", "bytes = \"5 parsecs\"", (11, 9)),
        ("bytes = [\"5kB\", 100]\n", "", (8, 1)),
        ("kind = \"page\"", "kind = \"pgae\"", (9, 8)),
        ("transport = \"http/1.1\"", "transport = \"h2\"\nsettings = { mtu = 68 }", (8, 20)),
    ];
    for (from, to, expected) in cases {
        let error = fault(from, to);
        assert_eq!(position(&error), expected, "{to}: {error}");
    }
}

#[test]
fn a_wrong_value_says_what_it_should_be() {
    let error = fault("[\"5kB\", 100]", "\"5 parsecs\"");
    assert!(error.message.starts_with("`5 parsecs` is not a size such as 5kB"), "{error}");
    let error = fault("[10, 100]", "[10, -1]");
    assert_eq!((error.line, error.message.contains("-1")), (10, true), "{error}");
}

#[test]
fn broken_toml_is_pointed_at() {
    assert_eq!(fault("question = \"q\"", "question = ").line, 3);
    assert_eq!(fault("title = \"t\"\n", "").line, 1);
}

#[test]
fn columns_count_characters() {
    assert_eq!(position(&fault("title = \"t\"", "title = \"é\" x")), (2, 13));
}

#[test]
fn an_experiment_survives_json() {
    for text in [SMALL, builtin()[0].toml] {
        let experiment: Experiment = text.parse().unwrap();
        let json = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), experiment);
    }
}

#[test]
fn the_published_schema_is_up_to_date() {
    schema_file::check("experiment.schema.json", &file_schema());
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(at in 0..SMALL.len(), junk in "\\PC{0,12}") {
        let mut text = SMALL.to_owned();
        if text.is_char_boundary(at) {
            text.insert_str(at, &junk);
        }
        let _ = text.parse::<Experiment>();
    }
}

#[test]
fn http3_is_over_tls_13_and_nothing_else() {
    let h3: Experiment = SMALL.replace("\"http/1.1\"", "\"h3\"").parse().unwrap();
    assert_eq!(h3.contenders[0].tls, Tls::V1_3);
    assert_eq!(h3.contenders[0].settings.connections, 1);
    for tls in ["none", "1.2"] {
        let error = fault("\"http/1.1\"", &format!("\"h3\"\ntls = \"{tls}\""));
        assert!(error.message.starts_with("`h3` is over QUIC"), "{error}");
        assert_eq!(position(&error), (7, 13));
    }
}

#[test]
fn priorities_are_of_the_origin_and_of_transports_that_multiplex() {
    let with = |transport: &str, rest: &str| {
        SMALL.replace("\"http/1.1\"", &format!("\"{transport}\"\n{rest}"))
    };
    for policy in Priorities::ALL {
        let rest = format!("settings = {{ priorities = \"{}\" }}", policy.name());
        let experiment: Experiment = with("h2", &rest).parse().unwrap();
        assert_eq!(experiment.contenders[0].settings.priorities, policy);
    }
    let refused = |text: String| text.parse::<Experiment>().unwrap_err().message;
    let fifo = "settings = { priorities = \"fifo\" }";
    assert!(refused(with("http/1.1", fifo)).contains("has one at a time"));
    for transport in ["h3", "spdy/3.1", "spdy/3"] {
        let tree = with(transport, "settings = { priorities = \"rfc7540\" }");
        let error = tree.parse::<Experiment>().unwrap_err();
        assert!(error.message.contains("`rfc7540` is the dependency tree of HTTP/2"), "{error}");
        assert!(error.message.contains(transport), "{error}");
        let line = tree.lines().position(|line| line.contains("rfc7540")).unwrap() + 1;
        assert_eq!(position(&error), (line, 27));
    }
    let foreign = refused(with("h2", &format!("server = \"nginx\"\n{fifo}")));
    assert!(foreign.contains("needs wirelap's own origin"), "{foreign}");
    let unknown = refused(with("h2", "settings = { priorities = \"lifo\" }"));
    assert!(unknown.contains("round-robin"), "{unknown}");
}

#[test]
fn a_policy_is_a_name_a_file_or_the_keys_of_one() {
    let with = |transport: &str, rest: &str| {
        SMALL.replace("\"http/1.1\"", &format!("\"{transport}\"\n{rest}"))
    };
    let read = |text: String| -> Result<PolicyChoice, String> {
        let experiment: Result<Experiment, _> = text.parse();
        let policy = experiment.map(|experiment| experiment.contenders[0].settings.policy.clone());
        policy.map(Option::unwrap).map_err(|error| error.to_string())
    };
    let named = read(with("http/1.1", "settings = { policy = \"push\" }")).unwrap();
    assert_eq!((named.to_string().as_str(), named.file()), ("push", None));
    let file = read(with("h2", "settings = { policy = \"mine.toml\" }")).unwrap();
    assert_eq!(file.file(), Some("mine.toml"));
    let keys = "settings = { policy = { priorities = \"fifo\", push = { most = 3 } } }";
    let keys = read(with("spdy/3.1", keys)).unwrap();
    assert_eq!(keys.to_string(), r#"{"priorities":"fifo","push":{"most":3}}"#);
    let json = serde_json::to_value(&keys).unwrap();
    assert_eq!(serde_json::from_value::<PolicyChoice>(json).unwrap(), keys);
    // One that a server cannot be given is told by the trial.
    assert!(read(with("h2", "server = \"nginx\"\nsettings = { policy = \"push\" }")).is_ok());
    let running = "server = { at = \"127.0.0.1:80\" }\nsettings = { policy = \"push\" }";
    let refused = read(with("h2", running)).unwrap_err();
    assert!(refused.contains("`policy` is of a server that wirelap starts"), "{refused}");
    let refused = read(with("h2", "settings = { policy = 3 }")).unwrap_err();
    assert!(refused.contains("a policy's name, a file"), "{refused}");
}

/// Urgency 1 is that of the blocking assets. Of one urgency the stream that was asked for first goes first, and Chromium asks for what
/// a `Link` field names before it reads the document: with urgency 1 the hero held back the first paint.
#[test]
fn no_rule_of_a_built_in_experiment_puts_an_image_beside_the_blocking_assets() {
    let mut rules = 0;
    for built_in in builtin() {
        let experiment: Experiment = built_in.toml.parse().unwrap();
        for contender in &experiment.contenders {
            let Some(policy) = &contender.settings.policy else { continue };
            let policy = serde_json::to_value(policy).unwrap();
            for rule in
                policy.pointer("/rules").and_then(|all| all.as_array()).into_iter().flatten()
            {
                let path = rule.get("path").and_then(|path| path.as_str()).unwrap_or_default();
                let Some(urgency) = rule.get("urgency").and_then(|urgency| urgency.as_u64()) else {
                    continue;
                };
                if path.starts_with("/picture/") || path.starts_with("/image/") {
                    rules += 1;
                    assert!(urgency >= 2, "{}: {} has {rule}", built_in.name, contender.name);
                }
            }
        }
    }
    assert!(rules > 0, "no policy was looked at");
}

#[test]
fn a_temperature_is_read_where_a_contender_can_have_it() {
    let read = |contender: &str| -> Result<Temperature, String> {
        let toml = format!(
            "name = \"t\"\ntitle = \"\"\nquestion = \"\"\nbaseline = \"c\"\n[[workloads]]\nkind = \"page\"\n\
             images = 1\nbytes = 10\n[[contenders]]\nname = \"c\"\n{contender}\n[[links]]\nname = \"lan\"\n"
        );
        let experiment: Result<Experiment, _> = toml.parse();
        experiment
            .map(|experiment| experiment.contenders[0].settings.temperature)
            .map_err(|error| error.to_string())
    };
    let h2 = |more: &str| read(&format!("transport = \"h2\"\n{more}"));
    assert_eq!(h2(""), Ok(Temperature::Cold));
    for (name, temperature) in [
        ("cold", Temperature::Cold),
        ("resumed", Temperature::Resumed),
        ("early", Temperature::Early),
        ("open", Temperature::Open),
    ] {
        assert_eq!(h2(&format!("settings = {{ temperature = \"{name}\" }}")), Ok(temperature));
        assert_eq!(temperature.name(), name);
    }
    for (contender, words) in [
        ("tls = \"none\"\nsettings = { temperature = \"resumed\" }", "sessions are TLS's"),
        ("tls = \"1.2\"\nsettings = { temperature = \"early\" }", "TLS 1.3"),
        ("settings = { temperature = \"early\", resumption = false }", "`resumption` is false"),
        ("settings = { temperature = \"early\", negotiation = \"alpn\" }", "known"),
        (
            "client = \"chromium\"\nserver = \"nginx\"\nsettings = { temperature = \"open\" }",
            "own server",
        ),
        ("server = \"nginx\"\nsettings = { temperature = \"early\" }", "own server"),
    ] {
        let refused = h2(contender).unwrap_err();
        assert!(refused.contains(words), "{contender}: {refused}");
    }
    let clear = "tls = \"none\"\nsettings = { temperature = \"open\" }";
    assert_eq!(h2(clear), Ok(Temperature::Open));
}

#[test]
fn what_tcp_has_alone_is_refused_over_quic() {
    let read = |transport: &str, setting: &str| -> Result<Experiment, ExperimentError> {
        format!(
            "name = \"t\"\ntitle = \"\"\nquestion = \"\"\nbaseline = \"c\"\n[[workloads]]\nkind = \"page\"\n\
             images = 1\nbytes = 10\n[[contenders]]\nname = \"c\"\ntransport = \"{transport}\"\nsettings = {{ {setting} }}\n\
             [[links]]\nname = \"lan\"\n"
        )
        .parse()
    };
    for setting in ["fast_open = true", "slow_start_after_idle = false", "negotiation = \"alpn\""] {
        read("h2", setting).unwrap();
        let error = read("h3", setting).unwrap_err().to_string();
        let name = setting.split(' ').next().unwrap_or_default();
        assert!(error.contains(&format!("`{name}`")) && error.contains("QUIC"), "{error}");
    }
    // Found by HTTP/2, it has both.
    read("h3", "slow_start_after_idle = false, first_visit = \"alt-svc\"").unwrap();
}

#[test]
fn a_contender_over_quic_that_is_chosen_by_name_cannot_be_answered_by_a_server_that_runs() {
    let text = "name = \"t\"\ntitle = \"\"\nquestion = \"\"\nbaseline = \"c\"\nserver = { at = \"127.0.0.1:3443\" }\n\
                [[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 3\n[[workloads.requests]]\npath = \"/\"\n\
                [[contenders]]\nname = \"c\"\ntransport = \"h2\"\n[[links]]\nname = \"lan\"\n";
    let experiment: Experiment = text.parse().unwrap();
    let chosen = |names: &[&str]| {
        let contenders = names.iter().map(|&name| name.to_owned()).collect();
        experiment.clone().with(&Overrides { contenders, ..Overrides::default() })
    };
    assert_eq!(chosen(&["c", " h1-tls"]).unwrap().contenders[1].name, "h1-tls");
    let refused = chosen(&["c", "h3"]).unwrap_err().to_string();
    assert_eq!(refused, "127.0.0.1:3443 is bridged by TCP, and `h3` is over UDP: leave it away");
}
