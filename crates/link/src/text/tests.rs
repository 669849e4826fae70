use super::*;

fn parse(text: &str) -> Result<LinkSpec, SpecError> {
    LinkSpec::parse(text, |file| match file {
        "lte.up" => Ok("1\n2\n".to_owned()),
        "bad" => Ok("1\nx\n".to_owned()),
        _ => Err("no such file".to_owned()),
    })
}

#[test]
fn a_time_beyond_all_networks_is_refused() {
    assert!(parse("rtt=60s,jitter=1min").is_ok());
    for text in ["rtt=61s", "delay_up=99999999999s", "jitter=2min"] {
        assert!(matches!(parse(text), Err(SpecError::TooLong { .. })), "{text}");
    }
}

#[test]
fn the_example_of_the_manual_is_read() {
    let link = parse("rtt=60ms,down=10mbit,up=2mbit,loss=0.5%,queue=64kB").unwrap();
    assert_eq!(link.to_string(), "10/2 Mbit/s, RTT 60 ms, queue 64 kB, loss 0.5 %");
}

#[test]
fn one_way_overrides_both_whatever_comes_first() {
    let link = parse("loss_up=2%,loss=1%,delay_down=5ms").unwrap();
    assert_eq!(link.up.loss.mean(), 0.02);
    assert_eq!(link.down.loss.mean(), 0.01);
    assert_eq!(link.rtt(), Duration::from_millis(5));
}

#[test]
fn a_loss_without_its_unit_is_refused_with_the_way_out() {
    for text in ["3g,loss=1", "loss=0.005", "loss_up=1", "loss=101%", "loss=%", "loss=1e1%"] {
        assert!(matches!(parse(text), Err(SpecError::BadValue { .. })), "{text}");
    }
    assert_eq!(
        parse("loss=1").unwrap_err().to_string(),
        "in `loss=`: `1` is not a share in per cent, such as 1%; with a mean burst of packets, 1%/8; or p/r/bad/good, 0.1%/20%/50%/0%"
    );
    assert_eq!(parse("loss=0").unwrap(), LinkSpec::default());
    assert_eq!(parse("loss=0.57 %").unwrap().up.loss.mean(), 0.0057);
}

#[test]
fn a_profile_takes_overrides() {
    let link = parse("3g,loss=1%,up=1mbit").unwrap();
    assert_eq!(link.to_string(), "1.6/1 Mbit/s, RTT 300 ms, queue 60 kB, loss 1 %");
}

#[test]
fn a_queue_in_bdps_follows_rate_and_round_trip() {
    let link = parse("rtt=100ms,rate=12mbit,queue=1.5bdp").unwrap();
    assert_eq!(link.queue_limit(trace::Direction::Up), Some(unit::ByteSize(225_000)));
}

#[test]
fn an_unknown_name_suggests_the_nearest() {
    let told = |text| parse(text).unwrap_err().to_string();
    assert_eq!(told("wfi"), "there is no link `wfi`; did you mean `wifi`?");
    // As near to `4g` as to `3g`: which was meant is not known.
    assert_eq!(told("5g"), "there is no link `5g`");
    let error = parse("3g,lost=1%").unwrap_err();
    assert_eq!(error.to_string(), "a link has no setting `lost`; did you mean `loss`?");
    let error = parse("3g,foo=1").unwrap_err().to_string();
    assert!(error.starts_with("a link has no setting `foo`: it is one of rtt, "), "{error}");
}

#[test]
fn contradictions_and_repeats_are_refused() {
    let conflict = |first, second| SpecError::Conflict { first, second };
    assert_eq!(parse("rtt=1ms,delay_up=3ms").unwrap_err(), conflict("rtt", "delay_up"));
    assert_eq!(parse("trace_up=lte.up,up=1mbit").unwrap_err(), conflict("trace_up", "up"));
    assert_eq!(parse("rtt=1ms,rtt=1ms").unwrap_err(), SpecError::Repeated { key: "rtt" });
}

#[test]
fn a_bad_trace_names_file_and_line() {
    let error = parse("trace_up=bad").unwrap_err();
    assert_eq!(
        error.to_string(),
        "in the trace file bad: line 2: `x` is not a whole number of milliseconds"
    );
    let error = parse("trace_up=absent").unwrap_err();
    assert_eq!(error.to_string(), "cannot read the trace file absent: no such file");
}

#[test]
fn bursts_queues_policers_and_events_are_read_and_told() {
    for (text, told) in [
        ("loss=1%/8", "loss 1 % in bursts of 8 packets"),
        ("loss=0.1%/20%/50%/0%", "loss 0 % or 50 % (Gilbert-Elliott, p 0.1 %, r 20 %)"),
        ("reorder=2%/3", "order of 2 % held back by 3 packets"),
        ("reorder_up=2%/5ms", "order of 2 % held back by 5 ms up"),
        ("policer_down=5mbit/64kB", "policer 5 Mbit/s with bursts of 64 kB down"),
        ("udp=blocked", "UDP blocked"),
        ("udp_rate=2mbit", "UDP 2 Mbit/s with bursts of 64 kB"),
        ("rebind=2s", "near's ports change after 2000 ms"),
        ("rebind=2min", "near's ports change after 120000 ms"),
    ] {
        let link = parse(text).unwrap();
        assert_eq!(link.to_string(), format!("no rate limit, RTT 0 ms, {told}"));
        assert_eq!(parse(&link.canonical()).unwrap(), link, "{text}");
    }
    for (text, told) in [
        ("3g,aqm=fq_codel", "FQ-CoDel with ECN"),
        ("3g,aqm=codel/drop", "CoDel without ECN"),
        ("3g,aqm=codel/20ms/200ms", "CoDel 20 ms of 200 ms with ECN"),
    ] {
        let link = parse(text).unwrap();
        assert!(link.to_string().ends_with(&format!("queue 60 kB, {told}")), "{link}");
        assert_eq!(parse(&link.canonical()).unwrap(), link, "{text}");
    }
}

#[test]
fn a_tcp_proxy_divides_the_delay_and_leaves_the_bottleneck_before_it() {
    let whole = parse("4g,loss=1%,queue=1bdp,split_tcp=256kB/80%").unwrap();
    let [near, far] = whole.halves().unwrap();
    assert_eq!(near.rtt() + far.rtt(), whole.rtt());
    assert_eq!(near.rtt(), whole.rtt().mul_f64(0.8));
    let queue = |link: &LinkSpec| link.queue_limit(trace::Direction::Down);
    assert_eq!(queue(&near), queue(&whole));
    assert_eq!((near.down.loss.mean(), near.split_tcp), (0.01, None));
    assert!(far.only_delays() && !whole.only_delays() && near.halves().is_none());
    assert!(whole.to_string().ends_with("TCP ended by a proxy of 256 kB behind 80 % of the delay"));
    assert_eq!(parse(&whole.canonical()).unwrap(), whole);
    let midway = parse("rtt=100ms,split_tcp=64kB").unwrap().halves().unwrap();
    assert_eq!(midway[0].rtt(), midway[1].rtt());
    assert_eq!(parse("3g,split_tcp=none").unwrap(), parse("3g").unwrap());
}

#[test]
fn a_link_only_delays_where_no_packet_can_fare_otherwise_than_its_neighbour() {
    for text in ["rtt=4ms", "delay_up=4ms", "rtt=4ms,reorder=yes", "rtt=4ms,loss=0%"] {
        assert!(parse(text).unwrap().only_delays(), "{text}");
    }
    for what in [
        "jitter=2ms",
        "jitter_up=2ms",
        "jitter_down=1ns,reorder=yes",
        "rate=1gbit",
        "loss_down=1%",
        "policer=5mbit",
        "udp=blocked",
        "reorder=1%/3",
        "rebind=2s",
        "split_tcp=64kB",
    ] {
        assert!(!parse(&format!("rtt=4ms,{what}")).unwrap().only_delays(), "{what}");
    }
}

#[test]
fn bad_bursts_queues_and_policers_are_refused() {
    for text in [
        "loss=1%/0.5",
        "loss=90%/2",
        "loss=1%/",
        "loss=1%/2/3",
        "reorder=2%",
        "reorder=2%/0",
        "reorder=5ms/2%",
        "reorder=1%/2min",
        "3g,aqm=red",
        "3g,aqm=codel/5ms",
        "3g,aqm=codel/100ms/5ms",
        "3g,aqm=codel/0ms/5ms",
        "policer=64kB/5mbit",
        "policer=5mbit/100B",
        "split_tcp=50%",
        "split_tcp=1kB",
        "split_tcp=64kB/2",
        "split_tcp=64kB/50%/1",
        "udp=maybe",
    ] {
        assert!(matches!(parse(text), Err(SpecError::BadValue { .. })), "{text}");
    }
    let conflict = SpecError::Conflict { first: "udp", second: "udp_rate" };
    assert_eq!(parse("udp=blocked,udp_rate=1mbit").unwrap_err(), conflict);
    assert_eq!(parse("aqm=codel").unwrap_err(), SpecError::NeedsRate { key: "aqm" });
    assert!(parse("down=1mbit,aqm_down=codel").is_ok());
}

#[test]
fn a_bad_value_names_its_setting() {
    let error = parse("queue=many").unwrap_err();
    assert_eq!(error.to_string(), "in `queue=`: `many` is not a queue such as 64kB or 1.5bdp");
    for text in ["reorder=1%/11s", "3g,aqm=codel/5ms/11s"] {
        assert!(parse(text).unwrap_err().to_string().contains("at most 10s"), "{text}");
    }
}

#[test]
fn settings_that_do_nothing_are_found() {
    let check = |text: &str| parse(text).unwrap().check_settings(text);
    assert_eq!(check("rtt=9ms, queue_up = 9kB"), Err(SpecError::NothingQueues { key: "queue_up" }));
    let overtaken = Err(SpecError::NothingDelayed { key: "reorder" });
    assert_eq!(check("rtt=9ms, reorder = yes"), overtaken);
    assert_eq!(check("3g,queue=9kB,reorder=no"), Ok(()));
    assert_eq!(check("jitter_up=1ms,reorder=yes"), Ok(()));
}

#[test]
fn only_the_files_of_a_link_are_renamed() {
    let link = "3g,trace_up=traces/lte.up, trace_down = /far/lte.down,loss=1%";
    assert_eq!(trace_files(link).collect::<Vec<_>>(), ["traces/lte.up", "/far/lte.down"]);
    let base_name = |file: &str| file.rsplit('/').next().unwrap_or_default().to_owned();
    let renamed = "3g,trace_up=lte.up,trace_down=lte.down,loss=1%";
    assert_eq!(with_trace_files(link, base_name), renamed);
    assert_eq!(with_trace_files("rtt=60ms,rate=1mbit", base_name), "rtt=60ms,rate=1mbit");
}
