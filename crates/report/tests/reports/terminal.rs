//! The terminal's report, line by line.

use crate::hostile;
use crate::simulated::{Run, quick};
use report::{Colour, Style, terminal};
use study::plan::TrialPlan;
use trace::EarlyData;

const PLAIN: Style = Style { colour: Colour::Off, width: 100 };

#[test]
fn a_clean_run_reads_as_the_readme_shows_it() {
    let text = terminal(&Run::clean().report(), PLAIN);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "page: HTML + 50 x 5 kB, 1 origin, cold, TCP cubic, initial window 10, TLS 1.3, seed 1"
    );
    assert!(
        lines[1].starts_with("108 of 108 trials measured, 0 invalid, 0 failed, ")
            && lines[1].ends_with(" s")
    );
    assert_eq!(
        lines[2],
        "median load time [95 % interval], ratio to h1-tls [interval], verdict, difference"
    );
    assert!(lines[3].starts_with("lan    all  TIE within 5 %"), "{}", lines[3]);
    assert!(lines[3].contains("  (detectable: ") && lines[3].ends_with(" %)"), "{}", lines[3]);
    assert_eq!(lines[9], "3g     1.6/0.768 Mbit/s, RTT 300 ms, queue 60 kB");
    assert!(
        lines[10].starts_with("  h2      2.6") && lines[10].contains("  0.56x [."),
        "{}",
        lines[10]
    );
    assert!(lines[10].ends_with("  FASTER  -2.0 s"), "{}", lines[10]);
    assert!(lines[12].starts_with("  h1-tls  4.") && lines[12].ends_with("  baseline"));
    assert_eq!(
        lines[13],
        "  why: h1-tls waits for 10 request round trips in a row, on 6 connections; h2 for 2, on 1 connection"
    );
    assert_eq!(
        lines[14..16],
        [
            "protocols    h1 6 connections, HTTP/1.1; h1-tls 6 connections, HTTP/1.1; h2 1 connection, HTTP/2,",
            "             headers compressed to 20 % of their size",
        ]
    );
    assert!(
        lines[16]
            .starts_with("result       On 3g, h2 loads the page 2.0 s sooner than h1-tls (0.56× ["),
        "{}",
        lines[16]
    );
    assert!(lines[17].ends_with("; on lan, all tie within 5 %"), "{}", lines[17]);
    assert_eq!(
        lines[18..],
        [
            "confidence   95 % for the 2 comparisons with h1-tls on a link together",
            "confidence   95 % for all 9 comparisons together: 6 of 6 differences still stand",
            "not tested   loss, warm cache, several origins, CPU of a real browser",
            "report       ./wirelap-quick-1/report.html      next  wirelap race my.har --links 4g,3g",
        ]
    );
}

#[test]
fn what_failed_or_could_not_run_is_shown_with_its_reason() {
    let text = terminal(&Run::troubled().report(), PLAIN);
    assert!(
        text.contains("105 of 144 trials measured, 1 invalid, 2 failed, 36 unsupported"),
        "{text}"
    );
    assert!(text.contains("2 of 12 failed: 1 of 51 fetches failed"), "{text}");
    assert!(
        text.contains("the audit refused 1 of 12 attempts: a packet left 4.1 ms late"),
        "{text}"
    );
    assert!(text.contains("UNSUPPORTED\n    12 of 12 unsupported: this kernel has no"), "{text}");
    assert!(text.contains("UNDECIDED\n    one of the two failed in 2 of 12 blocks"), "{text}");
}

#[test]
fn a_contender_that_raced_alone_has_its_figures_and_is_nobodys_baseline() {
    let mut experiment = quick();
    experiment.contenders.retain(|contender| contender.name == experiment.baseline);
    let run = Run::of(experiment, |_| None);
    let text = terminal(&run.report(), PLAIN);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("  h1-tls  ")).collect();
    assert_eq!(rows.len(), 3, "{text}");
    assert!(rows.iter().all(|row| row.ends_with(']') && row.contains("s [")), "{text}");
    assert!(!text.contains("baseline"), "{text}");
}

#[test]
fn an_undecided_row_tells_how_many_trials_would_decide_it() {
    let mut experiment = quick();
    experiment.links.iter_mut().for_each(|link| link.trials = 4);
    let run = Run::of(experiment, |_| None);
    let needed = run
        .result
        .verdicts
        .iter()
        .flat_map(|v| &v.ranking)
        .find_map(|r| r.comparison.trials_needed);
    let said = format!("about {} trials per contender would decide", needed.unwrap());
    let text = terminal(&run.report(), PLAIN);
    assert!(text.contains(&said), "{text}");
    // Once in the headline, with the command.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let way_out = "nothing is decided; 4 trials are too few, 10 would do: wirelap race --again ./wirelap-quick-1 --trials 10";
    assert_eq!(text.matches(way_out).count(), 1, "{text}");
    assert_eq!(text.matches("is decided").count(), 1, "{text}");
    assert!(report::html(&run.report()).contains(&said));
}

#[test]
fn what_would_do_for_all_is_the_most_that_one_of_them_needs() {
    let mut experiment = quick();
    experiment.links.iter_mut().for_each(|link| link.trials = 4);
    let steps = |plan: &TrialPlan| if plan.cell.link.name == "3g" { 90.0 } else { 1.0 };
    let run = Run::timed(experiment, |plan| {
        1000.0 + steps(plan) * f64::from((plan.block * 7 + plan.order * 3) % 5)
    });
    let most_of_one = |verdicts: &study::result::Verdicts| {
        verdicts.ranking.iter().filter_map(|one| one.comparison.trials_needed).max()
    };
    let each: Vec<u32> = run.result.verdicts.iter().filter_map(most_of_one).collect();
    assert!(each.iter().min() < each.iter().max(), "{each:?}");
    let text = terminal(&run.report(), PLAIN);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let most = each.iter().max().unwrap();
    assert!(text.contains(&format!("4 trials are too few, {most} would do:")), "{text}");
}

#[test]
fn colours_change_nothing_but_colours() {
    for run in [Run::clean(), Run::troubled()] {
        let plain = terminal(&run.report(), PLAIN);
        let coloured = terminal(&run.report(), Style { colour: Colour::On, ..PLAIN });
        assert!(!plain.contains('\u{1b}') && coloured.contains("\u{1b}[38;5;32mh2"));
        let mut stripped = String::new();
        for (i, piece) in coloured.split('\u{1b}').enumerate() {
            stripped.push_str(if i == 0 { piece } else { piece.split_once('m').unwrap().1 });
        }
        assert_eq!(stripped, plain);
    }
}

#[test]
fn a_narrow_terminal_gets_narrow_lines() {
    let text = terminal(&Run::troubled().report(), Style { width: 60, ..PLAIN });
    // A path and a command to copy are never broken.
    let long =
        text.lines().filter(|line| !line.starts_with("report ") && line.chars().count() > 60);
    assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn hostile_names_cannot_move_the_cursor() {
    let text = terminal(&hostile().report(), PLAIN);
    assert!(text.chars().all(|c| c == '\n' || (!c.is_control() && c != '\u{202e}')), "{text:?}");
}

#[test]
fn what_the_reader_must_know_first_stands_first_and_counts_stand_where_times_cannot() {
    let told = terminal(&Run::warned().report(), Style { colour: Colour::Off, width: 400 });
    let first = told.lines().next().unwrap();
    assert!(
        first.starts_with("WARNING      The instrument was beyond its limits before the run: "),
        "{first}"
    );
    assert!(told.lines().nth(1).unwrap().contains("The audit refused 36 of 36 attempts"), "{told}");
    let later = "but its last render-blocking script is complete 1.1 s later: 2.20 s instead of h1-tls's 1.10 s";
    assert!(told.contains(later), "{told}");
    assert!(told.contains("counted, against h1-tls: 4 round trips against 11 (fewer)"), "{told}");
}

#[test]
fn how_long_the_view_after_the_judged_one_took_is_told_of_those_that_have_one() {
    let mut run = Run::of(quick(), |_| None);
    for row in &mut run.rows {
        if row.plan.cell.contender.name == "h2" {
            row.metrics.insert("next_load_ms".to_owned(), 620.0);
            row.metrics.insert("next_first_byte_ms".to_owned(), 120.0);
        }
    }
    run.result = study::analyse(&crate::simulated::header(quick()), &run.rows);
    let words = "the view after: 620 ms [620, 620], first byte after 120 ms [120, 120]";
    let links = quick().links.len();
    let told = terminal(&run.report(), Style { colour: Colour::Off, width: 400 });
    assert_eq!(told.matches(words).count(), links, "{told}");
    let page = report::html(&run.report()).replace('\u{a0}', " ");
    assert_eq!(page.matches(words).count(), links);
}

/// A run in which those of `names` have their next view judged, in which the cache answers ten files.
fn with_next_views(names: &[&str]) -> Run {
    let mut experiment = quick();
    for contender in &mut experiment.contenders {
        let is_next = names.contains(&&*contender.name);
        contender.settings.next_view = is_next.then(study::experiment::NextView::default);
    }
    let mut run = Run::of(experiment.clone(), |_| None);
    for row in &mut run.rows {
        if row.plan.cell.contender.settings.next_view.is_some() {
            for (name, value) in
                [("cache_fresh", 8.0), ("cache_revalidated", 2.0), ("cached_bytes", 320e3)]
            {
                row.metrics.insert(name.to_owned(), value);
            }
        }
    }
    run.result = study::analyse(&crate::simulated::header(experiment), &run.rows);
    run
}

#[test]
fn which_view_of_a_page_was_judged_is_told_in_rows_answer_and_facts() {
    let cached = "its next view: 10 files from the cache (320 kB), 2 of them current by 304";
    let links = quick().links.len();
    for (names, answer, shown) in [
        (&[][..], "h2 loads the page 2.0 s sooner than h1-tls (", false),
        (
            &["h2"],
            "h2, on its next view, loads the page 2.0 s sooner than h1-tls on its first (",
            false,
        ),
        (
            &["h1-tls"],
            "h2, on its first view, loads the page 2.0 s sooner than h1-tls on its next (",
            false,
        ),
        (&["h1", "h1-tls", "h2"], "h2 loads the page's next view 2.0 s sooner than h1-tls (", true),
    ] {
        let run = with_next_views(names);
        let told = terminal(&run.report(), Style { colour: Colour::Off, width: 400 });
        assert!(told.contains(answer), "{told}");
        assert_eq!(told.matches(cached).count(), links * names.len(), "{told}");
        let page = report::html(&run.report()).replace('\u{a0}', " ");
        assert_eq!(page.matches(cached).count(), links * names.len());
        assert_eq!(page.contains("the next view, after a first one"), shown, "{names:?}");
        assert_eq!(page.contains("<dd>10 files from the cache (320 kB)</dd>"), shown, "{names:?}");
        assert_eq!(page.contains("<dt>fetched</dt>"), shown, "{names:?}");
    }
}

#[test]
fn the_protocols_say_what_became_of_early_data_and_nothing_where_none_was_sent() {
    let mut run = Run::of(quick(), |_| None);
    let before = terminal(&run.report(), Style { colour: Colour::Off, width: 400 });
    assert!(!before.contains("early data"), "{before}");
    for row in &mut run.rows {
        let is_h1 = row.plan.cell.contender.name == "h1-tls";
        for (number, connection) in row.connections.iter_mut().enumerate() {
            let Some(tls) = &mut connection.tls else { continue };
            tls.resumed = true;
            tls.early_data = match is_h1 && number == 0 {
                true => EarlyData::Rejected,
                false => EarlyData::Accepted,
            };
        }
    }
    run.result = study::analyse(&crate::simulated::header(quick()), &run.rows);
    let told = terminal(&run.report(), Style { colour: Colour::Off, width: 400 });
    for words in [
        "h1-tls 6 connections, HTTP/1.1, 6 of 6 TLS sessions resumed, early data accepted on 5 of 6, early data rejected on 1 of 6;",
        "h2 1 connection, HTTP/2, 1 of 1 TLS sessions resumed, early data accepted, headers",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let page = report::html(&run.report()).replace('\u{a0}', " ");
    assert!(page.contains("1 of 1, early data accepted"), "the page's table of connections");
}
