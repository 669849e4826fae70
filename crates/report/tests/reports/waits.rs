//! What h2 waited for and h3 did not, in the report.

use crate::simulated::{Run, header, quick};
use report::{Colour, Style, terminal};
use study::experiment::Transport;
use study::reconcile::Parts;
use study::record::TrialRecord;

const WIDE: Style = Style { colour: Colour::Off, width: 400 };

/// The lines `waits:` of a report on quick with h3, whose rows of h2 and h3 are made by hand.
fn waits(hand: impl Fn(&str, &mut TrialRecord)) -> Vec<String> {
    let mut experiment = quick();
    let mut h3 = experiment.contender("h2").unwrap().clone();
    (h3.name, h3.transport) = ("h3".into(), Transport::H3);
    experiment.contenders.push(h3);
    experiment.links.retain(|link| link.name == "3g");
    let mut run = Run::of(experiment.clone(), |_| None);
    for row in &mut run.rows {
        let name = row.plan.cell.contender.name.clone();
        hand(&name, row);
        if let Some(parts) = row.parts {
            row.metrics.insert("load_ms".to_owned(), parts.total_ns() as f64 / 1e6);
        }
    }
    let run = Run { result: study::analyse(&header(experiment), &run.rows), ..run };
    let text = terminal(&run.report(), WIDE);
    let html = report::html(&run.report());
    let lines = text.lines().filter_map(|line| line.strip_prefix("  waits: "));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    // The page says the same, with its own blanks.
    assert!(
        lines.iter().all(|line| html.replace('\u{a0}', " ").contains(&line.replace('\'', "&#39;")))
    );
    lines
}

const MS: u64 = 1_000_000;

fn h2() -> Parts {
    Parts {
        connect_ns: 300 * MS,
        tls_ns: 310 * MS,
        request_ns: 300 * MS,
        loss_ns: 120 * MS,
        window_ns: 50 * MS,
        serialisation_ns: 20 * MS,
        ..Parts::default()
    }
}

fn h3() -> Parts {
    Parts { connect_ns: 305 * MS, tls_ns: 0, loss_ns: 0, window_ns: 90 * MS, ..h2() }
}

#[test]
fn what_h2_waited_for_and_h3_did_not_is_told_in_milliseconds_with_the_part_that_differs_most_first()
{
    let told = waits(|name, row| match name {
        "h2" => {
            row.parts = Some(h2());
            row.metrics.insert("handshake_round_trips".to_owned(), 2.0);
            row.packets.down.queue_full = 12;
            row.packets.down.retransmitted = 14_480;
        }
        "h3" => {
            row.parts = Some(h3());
            // A wait for MAX_STREAMS is none of the handshakes' round trips.
            row.metrics.insert("round_trips".to_owned(), 3.0);
            row.metrics.insert("rounds".to_owned(), 1.0);
            row.metrics.insert("handshake_round_trips".to_owned(), 1.0);
            row.packets.down.lost = 3;
        }
        _ => {}
    });
    assert_eq!(
        told,
        [
            "h2's median trial takes 385 ms longer than h3's: 305 ms in handshakes (2 round trips against 1) and 120 ms in loss recovery \
          (towards the client the link dropped 12 of its packets, and 3 of h3's; 14.5 kB went again); h3 waits longer by 40.0 ms in window growth"
        ]
    );
}

/// `305 ms in handshakes` of 295 ms looks wrong where the 10 ms that h3 lost elsewhere are not told.
#[test]
fn what_is_too_little_to_be_told_by_itself_is_told_in_sum() {
    let told = |server_ns: u64, client_ns: u64| {
        let told = waits(|name, row| match name {
            "h2" => row.parts = Some(Parts { loss_ns: 0, client_ns, ..h2() }),
            "h3" => row.parts = Some(Parts { server_ns, window_ns: h2().window_ns, ..h3() }),
            _ => {}
        });
        let [line] = &told[..] else { panic!("{told:?}") };
        line.clone()
    };
    let less = told(10 * MS, 0);
    assert!(less.starts_with("h2's median trial takes 295 ms longer than h3's: 305 ms"), "{less}");
    assert!(less.ends_with("; h3 waits longer by 10.0 ms in all else"), "{less}");
    let more = told(0, 20 * MS);
    assert!(more.starts_with("h2's median trial takes 325 ms longer than h3's: 305 ms"), "{more}");
    assert!(more.ends_with(" and 20.0 ms in all else"), "{more}");
    let exact = told(2 * MS, 0);
    assert!(!exact.contains("all else"), "{exact}");
}

#[test]
fn where_they_tie_what_one_saves_and_loses_is_told_and_without_a_verdict_nothing() {
    let level = |name: &str, row: &mut TrialRecord| match name {
        "h2" => row.parts = Some(h2()),
        "h3" => row.parts = Some(Parts { window_ns: 470 * MS, ..h3() }),
        _ => {}
    };
    let told = waits(level);
    let [line] = &told[..] else { panic!("{told:?}") };
    assert!(line.starts_with("h2 waits longer than h3 by 305 ms in handshakes"), "{line}");
    assert!(line.ends_with("; shorter by 420 ms in window growth"), "{line}");
    // Blocks that contradict each other decide nothing.
    let told = waits(|name, row| {
        let parts = match (name, row.plan.block % 2) {
            ("h2", 0) | ("h3", 1) => h2(),
            ("h2" | "h3", _) => h3(),
            _ => return,
        };
        row.parts = Some(parts);
    });
    assert_eq!(told, [""; 0]);
}
