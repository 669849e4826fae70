//! The page over several published measurements.

use crate::page::{content, elements, parse};
use crate::simulated::{Run, quick};
use study::experiment::{Experiment, builtin};

fn spdy_images() -> Run {
    let spdy = builtin().iter().find(|one| one.name == "spdy-images").unwrap();
    let mut experiment: Experiment = spdy.toml.parse().unwrap();
    experiment.workloads.truncate(2);
    experiment.links = quick().links[..1].to_vec();
    experiment.contenders.retain(|contender| !contender.name.contains("close"));
    Run::of(experiment, |_| None)
}

#[test]
fn published_ratios_are_hollow_ours_filled_and_absolute_times_stand_below() {
    let run = spdy_images();
    let page = report::published_html(&[run.report()]);
    let document = parse(&page);
    let published = run.result.published.as_ref().unwrap();
    let marks = |class| {
        elements(&document, "circle").filter(|c| c.attribute("class") == Some(class)).count()
    };
    let ours: Vec<_> = published.ratios.iter().filter(|ratio| ratio.ours.is_some()).collect();
    assert!(!ours.is_empty() && ours.len() < published.ratios.len());
    assert_eq!(marks("hollow"), published.ratios.len());
    assert_eq!(marks("dot"), ours.len());
    let text = content(document.root_element());
    for wanted in [
        published.title.as_str(),
        "home WiFi to a server across the internet",
        "307 ms / 309 ms",
        "N = 1000",
    ] {
        assert!(text.contains(wanted), "{wanted}");
    }
    assert!(text.contains("Of 4 published findings"), "{text}");
    // Our times are those of the cells.
    let side = &ours[0].a;
    let cell = run.result.cells.iter().find(|cell| {
        cell.contender.name == side.contender
            && Some(&cell.workload.name) == ours[0].workload.as_ref()
    });
    assert_eq!(side.ours_ms.as_ref(), cell.unwrap().metrics.get("load_ms"));
    assert!(elements(&document, "line").any(|line| line.attribute("class") == Some("one")));
}

#[test]
fn an_interval_beyond_the_axis_ends_in_an_arrow_that_the_text_explains() {
    let mut run = spdy_images();
    let arrows = |run: &Run| {
        let page = report::published_html(&[run.report()]);
        let document = parse(&page);
        let arrows =
            elements(&document, "svg").filter(|one| one.attribute("class") == Some("beyond"));
        // Half of the arrow lies left of its own origin, where a nested svg cuts it off by default.
        let arrows: Vec<_> = arrows.collect();
        assert!(arrows.iter().all(|one| one.attribute("overflow") == Some("visible")));
        (arrows.len(), content(document.root_element()).contains("goes on beyond the axis"))
    };
    assert_eq!(arrows(&run), (0, false));
    let published = run.result.published.as_mut().unwrap();
    let ratio = published.ratios.iter_mut().find(|ratio| ratio.ours.is_some()).unwrap();
    ratio.ci95 = Some([study::comparison::Ratio(0.1), study::comparison::Ratio(1e3)]);
    assert_eq!(arrows(&run), (1, true));
}

#[test]
fn our_remarks_on_a_source_are_not_said_to_be_its_own() {
    let run = spdy_images();
    let page = report::published_html(&[run.report()]);
    let text = content(parse(&page).root_element());
    assert!(text.contains("our remark: what the source leaves open"), "{text}");
    assert!(text.contains("source: link") && !text.contains("source: unknown"), "{text}");
}

#[test]
fn the_terminal_has_a_line_for_each_finding_and_names_the_page() {
    let run = spdy_images();
    let text = report::published_terminal(&[run.report()], "./wirelap-published.html", "./a.md");
    assert_eq!(
        text.lines()
            .filter(|line| line.contains("CANNOT TELL") || line.contains("CONFIRMED"))
            .count(),
        4
    );
    assert!(text.ends_with("as Markdown: ./a.md\nsummary: ./wirelap-published.html\n"), "{text}");
}

#[test]
fn the_open_question_needs_the_full_run_too_where_causes_were_not_run() {
    let echo = builtin().iter().find(|one| one.name == "websocket-echo").unwrap();
    let mut experiment: Experiment = echo.toml.parse().unwrap();
    experiment
        .contenders
        .retain(|contender| ["ws", "http", "h2"].contains(&contender.name.as_str()));
    let mut run = spdy_images();
    let none = study::analyse(&crate::simulated::header(experiment), &[]);
    run.result.published = none.published;
    let text = report::published_terminal(&[run.report()], "page", "table");
    assert!(text.contains("the open question (8 of 8 causes not measured) need"), "{text}");
}

#[test]
fn as_markdown_each_finding_and_each_ratio_is_a_row_and_no_folder_is_named() {
    let run = spdy_images();
    let text = report::published_markdown(&[run.report()]);
    let published = run.result.published.as_ref().unwrap();
    for finding in &published.findings {
        let told = |line: &&str| line.contains(&format!(" | {} | ", finding.verdict.words()));
        let rows = text.lines().filter(told);
        let start = finding.finding.split([' ', '<']).next().unwrap();
        assert!(rows.into_iter().any(|row| row.starts_with(&format!("| {start}"))), "{text}");
    }
    let rows = |role: &str| text.lines().filter(|line| line.ends_with(role)).count();
    let given = published.ratios.iter().filter(|ratio| ratio.reconstructs).count();
    assert_eq!(rows("| used to fit the link (not judged) |"), given);
    assert_eq!(rows("| judged |"), published.ratios.len() - given);
    assert!(text.contains("SPDY &lt; HTTP &lt; HTTPS"), "nothing of it is markup: {text}");
    assert!(text.contains("What was done: a page with N copies of one small image"), "{text}");
    assert!(!text.contains(run.report().folder), "{text}");
    let mut warned = spdy_images();
    warned.result.warnings = vec!["the audit refused trials".to_owned()];
    let text = report::published_markdown(&[warned.report()]);
    assert!(text.contains("\nWarning. the audit refused trials\n"), "{text}");
}
