//! The terminal's report, line by line.

use crate::hostile;
use crate::simulated::{Run, quick};
use report::{Colour, Style, terminal};

const PLAIN: Style = Style { colour: Colour::Off, width: 100 };

#[test]
fn a_clean_run_reads_as_the_readme_shows_it() {
    let text = terminal(&Run::clean().report(), PLAIN);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "page: HTML + 50 x 5 kB, 1 origin, cold, cubic iw10, TLS 1.3, seed 1");
    assert!(
        lines[1].starts_with("108/108 trials, 0 invalid, 0 failed, ") && lines[1].ends_with(" s")
    );
    assert!(lines[2].starts_with("lan    all  TIE within 5 %"), "{}", lines[2]);
    assert_eq!(lines[8], "3g     1.6/0.768 Mbit/s, RTT 300 ms, queue 60 kB");
    assert!(
        lines[9].starts_with("  h2      2.6") && lines[9].contains("  0.56x [."),
        "{}",
        lines[9]
    );
    assert!(lines[9].ends_with("  FASTER  -2.0 s"), "{}", lines[9]);
    assert!(lines[11].starts_with("  h1-tls  4.") && lines[11].ends_with("  baseline"));
    assert_eq!(lines[12], "  h1-tls waits 10 request rounds on 6 connections, h2 two on 1");
    assert_eq!(lines[13], "spoken: h1 6x http/1.1; h1-tls 6x http/1.1; h2 1x h2, heads to 20 %");
    assert_eq!(
        lines[14],
        "family: the 2 comparisons with h1-tls hold together at 95 %, on each link and workload by itself"
    );
    assert_eq!(
        lines[15],
        "family: 6 of 6 differences stand over all 9 comparisons of the run together too"
    );
    assert_eq!(
        lines[16],
        "not covered: loss, h3, warm cache, several origins, CPU of a real browser"
    );
    assert_eq!(
        lines[17],
        "report  ./wirelap-quick-1/report.html      next  wirelap race my.har --links 4g,3g"
    );
    assert_eq!(lines.len(), 18);
}

#[test]
fn what_failed_or_could_not_run_is_shown_with_its_reason() {
    let text = terminal(&Run::troubled().report(), PLAIN);
    assert!(text.contains("105/144 trials, 1 invalid, 2 failed, 36 unsupported"), "{text}");
    assert!(text.contains("2 of 12 failed: 1 of 51 fetches failed"), "{text}");
    assert!(text.contains("1 of 12 invalid: a packet left 4.1 ms late"), "{text}");
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
    let said = format!("about {} trials a cell would decide", needed.unwrap());
    assert!(terminal(&run.report(), PLAIN).contains(&said));
    assert!(report::html(&run.report()).contains(&said));
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
