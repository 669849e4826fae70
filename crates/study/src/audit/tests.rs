use super::AuditFigure::*;
use super::*;
use std::collections::BTreeSet;

fn audit(figures: &[(AuditFigure, f64)]) -> Audit {
    let mut audit = Audit::default();
    figures.iter().for_each(|(figure, value)| audit.set(*figure, *value));
    audit
}

const LINK: Trial = Trial { load_ms: Some(100.0), has_link: true, own_cores: true };

/// Why a measured trial of 100 ms does not count.
fn reason(figures: &[(AuditFigure, f64)]) -> Option<String> {
    reason_of(figures, LINK)
}

fn reason_of(figures: &[(AuditFigure, f64)], trial: Trial) -> Option<String> {
    audit(figures).judge(Outcome::Measured, trial).reason().map(str::to_owned)
}

fn lasting(load_ms: f64) -> Trial {
    Trial { load_ms: Some(load_ms), ..LINK }
}

#[test]
fn a_link_that_kept_its_word_lets_the_trial_count() {
    assert_eq!(reason(&[]), None);
    assert_eq!(reason(&[(UnplannedDrops, 0.0), (ClockSteps, 0.0), (PacketLatenessMs, 0.1)]), None);
    let dropped = reason(&[(UnplannedDrops, 3.0)]).unwrap();
    assert_eq!(dropped, "the kernel dropped 3 packets that the link did not plan to drop");
    assert!(reason(&[(ClockSteps, 1.0)]).unwrap().contains("wall clock"));
}

#[test]
fn lateness_spoils_a_trial_by_its_share_of_the_load() {
    for figure in [PacketLatenessMs, ProxyLagMs, ClientLagMs, OriginLagMs] {
        let of = |late, load| reason_of(&[(figure, late)], lasting(load));
        assert_eq!(of(9.0, 20.0), None, "cores are away so long on any machine");
        assert!(of(40.0, 20.0).unwrap().starts_with("the machine was busy"));
        assert_eq!(of(40.0, 3000.0), None, "a slow link does not notice");
        assert!(of(151.0, 3000.0).is_some());
        let nothing_loaded = Trial { load_ms: None, ..LINK };
        assert_eq!(reason_of(&[(figure, 40.0)], nothing_loaded), None);
    }
}

#[test]
fn who_was_kept_from_its_core_spoils_a_quick_load_though_nothing_was_very_late() {
    for (figure, who) in [(LinkKept, "the link"), (ClientKept, "the client")] {
        let kept = [(figure, 0.5), (PacketLatenessMs, 6.0)];
        let found = reason_of(&kept, lasting(22.0)).unwrap();
        assert_eq!(found, format!("the machine was busy: {who} had to wait for its core"));
        assert_eq!(reason_of(&kept, lasting(60.0)), None, "so much moves it by less than a tie");
        assert_eq!(reason_of(&[(figure, 0.1)], lasting(22.0)), None);
        assert_eq!(reason_of(&kept, Trial { load_ms: None, ..LINK }), None);
        assert_eq!(reason_of(&kept, Trial { own_cores: false, ..LINK }), None, "all share all");
    }
    assert_eq!(reason(&[(OriginKept, 0.9)]), None, "the client is on its core too");
}

#[test]
fn an_end_that_was_late_by_its_own_work_is_told_from_one_that_was_kept_from_it() {
    for (lag, cpu, who) in [
        (ClientLagMs, ClientLagCpuMs, "the client itself"),
        (OriginLagMs, OriginLagCpuMs, "the origin itself"),
    ] {
        assert!(reason(&[(lag, 40.0), (cpu, 30.0)]).unwrap().starts_with(who));
        assert!(reason(&[(lag, 40.0), (cpu, 9.0)]).unwrap().starts_with("the machine was busy"));
        assert_eq!(reason(&[(cpu, 30.0)]), None);
    }
}

#[test]
fn a_client_that_never_waits_is_the_bottleneck_of_a_link_and_the_contest_without_one() {
    let busy = [(ClientBusy, 0.97)];
    assert!(reason(&busy).unwrap().starts_with("the client itself was too slow"));
    assert_eq!(reason(&[(ClientBusy, 0.94), (ClientCpu, 0.79)]), None);
    assert_eq!(reason_of(&busy, lasting(20.0)), None, "handshakes fill so short a load");
    assert_eq!(reason_of(&busy, Trial { has_link: false, ..LINK }), None);
}

#[test]
fn a_client_that_needs_most_of_its_core_is_found_though_it_waits_and_is_never_late() {
    let hungry = [(ClientCpu, 0.85), (ClientBusy, 0.86), (ClientLagMs, 2.0), (ClientLagCpuMs, 2.0)];
    let found = reason(&hungry).unwrap();
    assert_eq!(found, "the client itself was too slow: it was working for most of the load");
    assert_eq!(reason_of(&hungry, lasting(20.0)), None, "handshakes fill so short a load");
    assert_eq!(reason_of(&hungry, Trial { has_link: false, ..LINK }), None, "it is the contest");
    // One that had to wait for its core did little work: that is the machine's affair.
    assert_eq!(reason(&[(ClientCpu, 0.3), (ClientBusy, 0.9)]), None);
}

#[test]
fn calls_that_are_made_late_spoil_a_trial_where_their_mean_would_move_beyond_a_tie() {
    let late = |ms, share| reason(&[(ScheduleLagMs, ms), (ScheduleLag, share), (ClientBusy, 0.2)]);
    assert_eq!(late(0.9, 0.5), None, "the grain of timers");
    assert_eq!(late(4.0, 0.04), None);
    assert!(late(4.0, 0.06).unwrap().starts_with("the machine was busy: calls"));
    let own = reason(&[(ScheduleLagMs, 4.0), (ScheduleLag, 0.06), (ClientBusy, 0.8)]);
    assert!(own.unwrap().starts_with("the client itself"));
}

#[test]
fn what_others_and_the_host_take_counts_together() {
    let late = |figures: &[(AuditFigure, f64)]| {
        // A hundredth of the load.
        reason_of(&[figures, &[(OriginLagMs, 11.0)]].concat(), lasting(1100.0))
    };
    assert_eq!(late(&[(OtherLoad, 0.7), (CpuPressure, 1.0)]), None);
    assert!(late(&[(OtherLoad, 0.9)]).unwrap().contains("other programs took"));
    assert!(late(&[(StolenCpu, 0.9)]).is_some());
    assert!(late(&[(OtherLoad, 0.5), (StolenCpu, 0.4)]).is_some());
    // Whatever they took, nobody had to wait for it.
    assert_eq!(reason(&[(OtherLoad, 0.9), (PacketLatenessMs, 9.0)]), None);
}

#[test]
fn a_failed_trial_stays_one_unless_the_link_itself_was_broken() {
    let failed = Outcome::Failed { reason: "no answer".to_owned() };
    let disturbed = audit(&[(PacketLatenessMs, 40.0), (OtherLoad, 1.0), (ClientLagMs, 90.0)]);
    assert_eq!(disturbed.judge(failed.clone(), LINK), failed);
    let broken = audit(&[(UnplannedDrops, 1.0)]).judge(failed, LINK);
    assert!(matches!(broken, Outcome::Invalid { .. }));
}

#[test]
fn figures_have_the_names_that_files_have() {
    for figure in AuditFigure::ALL {
        assert_eq!(serde_json::to_value(figure).unwrap(), figure.name());
    }
    let text = serde_json::to_string(&audit(&[(OtherLoad, 0.25), (StolenCpu, f64::NAN)])).unwrap();
    assert_eq!(text, r#"{"other_load":0.25}"#);
    assert_eq!(serde_json::from_str::<Audit>(&text).unwrap().get(OtherLoad), Some(0.25));
}

#[test]
fn a_cells_figures_are_the_median_and_the_worst_of_the_trials_that_have_them() {
    let audits = [
        audit(&[(OtherLoad, 0.1), (ClockSteps, 0.0)]),
        audit(&[(OtherLoad, 0.3)]),
        audit(&[(OtherLoad, 0.2)]),
    ];
    let found = summary(audits.iter());
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].figure, found[0].worst, found[0].limit), (ClockSteps, 0.0, Some(0.0)));
    assert_eq!((found[1].median, found[1].worst, found[1].limit), (0.2, 0.3, Some(OTHERS)));
}

#[test]
fn the_documentation_has_every_figure_with_its_words_and_its_limit() {
    let page = include_str!("../../../../docs/rows.md");
    for figure in AuditFigure::ALL {
        let begin = format!("| `{}` | {}", figure.name(), figure.words());
        let line = page.lines().find(|line| line.starts_with(&begin));
        let line = line.unwrap_or_else(|| panic!("no line begins {begin:?}"));
        let [limit, when] = [3, 4].map(|column| line.split('|').nth(column).unwrap().trim());
        let number = |limit: f64| match (limit, figure.unit()) {
            (limit, Unit::Milliseconds) => format!("{limit} ms"),
            (limit, _) => limit.to_string(),
        };
        match figure.limit() {
            Some(value) => assert!(limit.starts_with(&number(value)), "{line}"),
            None => assert_eq!(limit, "", "{line}"),
        }
        assert_eq!(when.is_empty(), figure.limit().is_none(), "{line}");
    }
}

#[test]
fn reasons_that_speak_of_times_alone_are_told_from_those_that_spoil_counts_too() {
    let machine: [&[(AuditFigure, f64)]; 8] = [
        &[(PacketLatenessMs, 40.0)],
        &[(ProxyLagMs, 40.0)],
        &[(ClientLagMs, 40.0)],
        &[(OriginLagMs, 40.0)],
        &[(LinkKept, 0.9)],
        &[(ClientKept, 0.9)],
        // Late beyond the limit, and too little of a long load to be refused for that.
        &[(OtherLoad, 0.9), (PacketLatenessMs, LATE_MS * 1.01)],
        &[(ScheduleLagMs, 40.0), (ScheduleLag, 0.5)],
    ];
    let ours: [&[(AuditFigure, f64)]; 5] = [
        &[(ClientLagMs, 40.0), (ClientLagCpuMs, 40.0)],
        &[(OriginLagMs, 40.0), (OriginLagCpuMs, 40.0)],
        &[(ScheduleLagMs, 40.0), (ScheduleLag, 0.5), (ClientBusy, 0.9)],
        &[(ClientBusy, 0.99)],
        &[(ClientCpu, 0.9)],
    ];
    let mut all = BTreeSet::new();
    for figures in machine.into_iter().chain(ours) {
        let trial = match figures[0].0 {
            LinkKept | ClientKept => Trial { own_cores: true, ..lasting(KEPT_LOAD_MS / 2.0) },
            OtherLoad => lasting(1e9),
            _ => LINK,
        };
        let reason = reason_of(figures, trial).unwrap_or_else(|| panic!("{figures:?}"));
        assert!(is_about_time(&reason), "{reason}");
        assert_eq!(is_busy(&reason), machine.contains(&figures), "{reason}");
        assert_eq!(Disturbance::parse(&reason).unwrap().to_string(), reason);
        all.insert(reason);
    }
    assert_eq!(all.len(), machine.len() + ours.len(), "{all:?}");
    let dropped = reason(&[(UnplannedDrops, 3.0)]).unwrap();
    assert!(!is_about_time(&dropped) && !is_busy(&dropped));
    assert!(!is_about_time("h2 was asked for, and client and server came to speak http/1.1"));
}
