//! The page as a whole: well-formed, closed to the network, and saying what was found.

use crate::simulated::{Run, quick};
use crate::{HOSTILE, hostile};
use report::html;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeSet;
use study::experiment::{
    ClientSubject, Dependencies, Experiment, HarWorkload, Think, Workload, WorkloadKind, builtin,
};
use study::outcome::Outcome;

pub(crate) fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(page, options).unwrap()
}

pub(crate) fn elements<'a>(
    document: &'a Document<'_>,
    tag: &'static str,
) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(move |node| node.has_tag_name(tag))
}

pub(crate) fn content(node: Node<'_, '_>) -> String {
    let texts: Vec<&str> =
        node.descendants().filter_map(|n| n.text().filter(|_| n.is_text())).collect();
    // What keeps a figure and its unit on one line looks like a blank.
    texts.concat().replace('\u{a0}', " ")
}

fn pages() -> [String; 3] {
    [html(&Run::clean().report()), html(&Run::troubled().report()), html(&hostile().report())]
}

#[test]
fn every_element_is_closed_and_every_text_is_escaped() {
    for page in pages() {
        assert!(page.starts_with("<!DOCTYPE html>"));
        let document = parse(&page);
        assert_eq!(document.root_element().tag_name().name(), "html");
    }
}

#[test]
fn the_page_loads_nothing() {
    for page in pages() {
        let document = parse(&page);
        let policy = elements(&document, "meta")
            .find_map(|meta| meta.attribute("content").filter(|c| c.contains("default-src")));
        assert!(policy.is_some_and(|policy| policy.starts_with("default-src 'none'")));
        for node in document.descendants().filter(Node::is_element) {
            let tag = node.tag_name().name();
            assert!(
                !["link", "img", "image", "use", "iframe", "object", "embed", "base", "form"]
                    .contains(&tag)
            );
            for attribute in node.attributes() {
                let name = attribute.name();
                assert!(
                    !["src", "srcset", "style", "action", "data", "xlink:href"].contains(&name)
                );
                assert!(!name.starts_with("on"), "a script in an attribute: {name}");
                assert!(name != "href" || attribute.value().starts_with('#'));
            }
        }
        let style = content(elements(&document, "style").next().unwrap());
        assert!(!style.contains("url(") && !style.contains("@import"));
    }
}

#[test]
fn hostile_strings_stay_text() {
    let page = html(&hostile().report());
    let document = parse(&page);
    assert_eq!(elements(&document, "script").count(), 1);
    let visible = HOSTILE.replace(['\u{1b}', '\u{202e}', '\0', '\r', '\u{7}'], "\u{fffd}");
    let question = elements(&document, "p").find(|p| p.attribute("class") == Some("question"));
    assert_eq!(content(question.unwrap()), visible);
}

#[test]
fn a_page_of_nine_cells_with_51_fetches_each_stays_small() {
    let size = html(&Run::clean().report()).len();
    assert!((50_000..1_500_000).contains(&size), "{size}");
}

#[test]
fn anchors_lead_somewhere_and_ids_are_unique() {
    for page in pages() {
        let document = parse(&page);
        let mut ids = BTreeSet::new();
        for id in document.descendants().filter_map(|node| node.attribute("id")) {
            assert!(ids.insert(id), "{id} twice");
        }
        let mut targets = elements(&document, "a").filter_map(|a| a.attribute("href"));
        assert!(targets.all(|target| ids.contains(&target[1..])));
    }
}

#[test]
fn the_first_heading_is_the_answer() {
    let page = html(&Run::clean().report());
    let document = parse(&page);
    let answer = content(elements(&document, "h1").next().unwrap());
    assert!(
        answer.starts_with("On 3g, h2 loads the page 2.0 s sooner than h1-tls (0.56× [0."),
        "{answer}"
    );
    assert!(answer.contains("; on wifi "), "{answer}");
    assert!(answer.ends_with("; on lan, all tie within 5 %."), "{answer}");
}

/// The sentence over a race of which the rows' times are `load_ms` milliseconds, by link and contender.
fn headline(baseline: &str, load_ms: impl Fn(&str, &str, u32) -> f64) -> String {
    let mut experiment = quick();
    experiment.baseline = baseline.to_owned();
    let run = Run::timed(experiment, |plan| {
        load_ms(&plan.cell.link.name, &plan.cell.contender.name, plan.block)
    });
    let page = html(&run.report());
    content(elements(&parse(&page), "h1").next().unwrap())
}

#[test]
fn a_regression_comes_first_in_the_headline_and_what_is_undecided_does_not_hide_it() {
    let answer = headline("h1-tls", |link, contender, block| match (link, contender) {
        ("3g", "h2") => 1090.0 + f64::from(block % 3),
        // Now above, now below the baseline by half.
        ("3g", "h1") => 1000.0 * [0.5, 1.5][block as usize % 2],
        ("wifi", "h2") => 900.0,
        _ => 1000.0,
    });
    assert!(answer.starts_with("On 3g, h2 is 0.1 s slower than h1-tls (1.09× [1.0"), "{answer}");
    assert!(
        answer.contains("; on wifi, h2 loads the page 0.1 s sooner than h1-tls (0.90×"),
        "{answer}"
    );
    let rest = "; on lan, all tie within 5 %; on 3g, h1 is undecided; about 13 trials would decide it: \
                wirelap race --again ./wirelap-quick-1 --trials 13.";
    assert!(answer.ends_with(rest), "{answer}");
    // The same of those who may be advised.
    let answer = headline("h1", |_, contender, block| match contender {
        "h1-tls" => 1090.0,
        "h2" => 1000.0 * [0.5, 1.5][block as usize % 2],
        _ => 1000.0,
    });
    let slower = "h1-tls is 0.1 s slower than h1 (1.09× [1.09, 1.09])";
    let expected = format!(
        "On lan, {slower}; on wifi, {slower}; on 3g, {slower}; on lan, wifi and 3g, h2 is undecided; \
         about 13 trials would decide the first of these: wirelap race --again ./wirelap-quick-1 --trials 13."
    );
    assert_eq!(answer, expected);
}

#[test]
fn clear_text_is_no_advice_where_the_race_is_about_tls() {
    let answer = headline("h1-tls", |_, contender, block| match contender {
        "h1" => 800.0,
        "h2" => 1000.0 * [0.5, 1.5][block as usize % 2],
        _ => 1000.0,
    });
    assert!(
        answer.starts_with("On lan, wifi and 3g, h2 is undecided; about 13 trials "),
        "{answer}"
    );
    // Where the baseline is clear text and most of the others are not, nobody is told to give up TLS.
    let answer = headline("h2", |_, contender, _| if contender == "h1" { 800.0 } else { 1000.0 });
    assert_eq!(answer, "On lan, wifi and 3g, h1-tls ties with h2 within 5 %.");
}

#[test]
fn the_matrix_gives_every_verdict_in_words_with_its_interval() {
    let page = html(&Run::troubled().report());
    let document = parse(&page);
    let matrix =
        elements(&document, "table").find(|t| t.attribute("class") == Some("matrix")).unwrap();
    let rows: Vec<Vec<String>> = matrix
        .descendants()
        .filter(|n| n.has_tag_name("tr"))
        .map(|tr| tr.children().filter(|n| n.has_tag_name("td")).map(content).collect())
        .filter(|cells: &Vec<String>| !cells.is_empty())
        .collect();
    assert_eq!(rows.len(), 3);
    let [lan, wifi, g3] = [&rows[0], &rows[1], &rows[2]];
    assert!(lan[0].contains("tie") && lan[2].contains("tie"), "{lan:?}");
    assert!(
        wifi[0].contains("undecided") && wifi[0].contains("2 of 12 failed: 1 of 51"),
        "{wifi:?}"
    );
    assert!(
        wifi[2].contains("the audit refused 1 of 12 attempts: a packet left 4.1 ms late"),
        "{wifi:?}"
    );
    assert!(g3[1].contains("baseline"), "{g3:?}");
    assert!(g3[2].contains("faster −2.0 s") && g3[2].contains("0.56× [0."), "{g3:?}");
    for row in [lan, wifi, g3] {
        assert!(row[3].contains("unsupported") && row[3].contains("modprobe tcp_bbr"), "{row:?}");
    }
}

#[test]
fn a_contender_that_raced_alone_has_its_times_in_the_heading() {
    let mut experiment = quick();
    experiment.contenders.retain(|contender| contender.name == experiment.baseline);
    experiment.links.retain(|link| link.name != "lan");
    let run = Run::timed(experiment, |plan| if plan.cell.link.name == "3g" { 4e3 } else { 320.0 });
    let page = html(&run.report());
    let heading = content(elements(&parse(&page), "h1").next().unwrap()).replace('\u{a0}', " ");
    let times = "320 ms [320, 320] on wifi, 4.00 s [4.00, 4.00] on 3g.";
    assert_eq!(heading, format!("h1-tls loads the page in {times}"));
}

/// The box of limits of a race with `workload`, by a browser or by wirelap's own client.
fn limits(workload: Workload, browser: Option<&str>) -> String {
    let mut experiment = quick();
    experiment.workloads = vec![workload];
    experiment.links.retain(|link| link.name == "3g");
    for contender in &mut experiment.contenders {
        contender.client = browser.map(|name| ClientSubject { name: name.to_owned(), warmup: 0 });
    }
    let mut run = Run::of(experiment.clone(), |_| None);
    let is_page =
        |kind: &WorkloadKind| matches!(kind, WorkloadKind::Page(_) | WorkloadKind::Har(_));
    for row in &mut run.rows {
        if is_page(&row.plan.cell.workload.kind) {
            row.metrics.insert("fcp_ms".to_owned(), 300.0);
        }
    }
    let run =
        Run { result: study::analyse(&crate::simulated::header(experiment), &run.rows), ..run };
    let page = html(&run.report());
    let document = parse(&page);
    let is_box = |node: &Node<'_, '_>| node.attribute("class") == Some("limits");
    content(elements(&document, "aside").find(is_box).unwrap())
}

#[test]
fn the_box_of_limits_says_what_of_a_page_was_loaded_by_whom() {
    let named = |name: &str| -> Workload {
        let experiment = builtin().iter().find(|one| one.name == name).unwrap();
        experiment.toml.parse::<Experiment>().unwrap().workloads[0].clone()
    };
    let page = quick().workloads[0].clone();
    let recorded = Workload::har(recorded(Think::None));
    let echo = named("websocket-echo");
    for (workload, browser, told, not) in [
        (&page, None, "This is network load", "frozen"),
        (&page, Some("chromium"), "simpler than those of most sites", "frozen"),
        (&recorded, None, "This is network load", "frozen"),
        (
            &recorded,
            Some("chromium"),
            "the recorded page, with time and random numbers frozen",
            "simpler",
        ),
        (&echo, None, "No page was loaded.", "painted"),
        (&echo, Some("chromium"), "No page was loaded.", "nothing was parsed"),
    ] {
        let limits = limits(workload.clone(), browser);
        assert!(limits.contains(told) && !limits.contains(not), "{browser:?}: {limits}");
    }
}

fn recorded(think: Think) -> HarWorkload {
    HarWorkload {
        file: "pages/shop.har".into(),
        think,
        dependencies: Dependencies::Inferred,
        hosts: Default::default(),
    }
}

#[test]
fn recorded_gaps_are_not_told_as_the_client() {
    for (think, told) in [
        (Think::Recorded, "goes into the gaps that the recording has between finding a file and"),
        (Think::None, "goes into the client"),
    ] {
        let mut experiment = quick();
        experiment.workloads = vec![Workload::har(recorded(think))];
        experiment.links.truncate(1);
        let mut run = Run::of(experiment.clone(), |_| None);
        for row in &mut run.rows {
            let client = study::reconcile::Parts { client_ns: 900_000_000, ..Default::default() };
            row.parts = Some(client);
        }
        let result = study::analyse(&crate::simulated::header(experiment), &run.rows);
        let page = html(&Run { result, ..run }.report()).replace('\u{a0}', " ");
        assert!(page.contains(told), "{told}");
    }
}

#[test]
fn what_echoes_is_messages() {
    let mut experiment: Experiment =
        builtin().iter().find(|one| one.name == "websocket-echo").unwrap().toml.parse().unwrap();
    experiment.links.iter_mut().for_each(|link| link.trials = 12);
    let baseline = experiment.baseline.clone();
    let mut run = Run::of(experiment.clone(), |_| None);
    for row in &mut run.rows {
        let is_baseline = row.plan.cell.contender.name == baseline;
        row.metrics.insert("total_ms".to_owned(), if is_baseline { 2e3 } else { 1e3 });
    }
    let run =
        Run { result: study::analyse(&crate::simulated::header(experiment), &run.rows), ..run };
    let page = html(&run.report());
    assert!(page.contains(" answer all messages "), "{page:.9000}");
    assert!(!page.contains("all calls"));
}

#[test]
fn the_box_of_limits_names_what_is_not_covered_and_what_is_assumed() {
    let run = Run::clean();
    let sentence = "3 requests have the size of `content.size`.".to_owned();
    let assumed = "nobody else uses the service".to_owned();
    let of = |read_from: Option<&str>, sentence: &String| report::Assumptions {
        read_from: read_from.map(str::to_owned),
        sentences: vec![sentence.clone()],
    };
    let assumptions = [of(None, &assumed), of(Some("shop.har"), &sentence)];
    let page = html(&report::Report { assumptions: &assumptions, ..run.report() });
    let document = parse(&page);
    assert!(page.contains("have the size of <code>content.size</code>."));
    let limits = content(elements(&document, "aside").next().unwrap());
    let told = sentence.replace('`', "");
    for said in
        ["emulated link", "network load", "warm cache", "queue assumed, 1 BDP", &told, &assumed]
    {
        assert!(limits.contains(said), "{said} is missing from {limits}");
    }
    // What a recording says is no assumption, and stands in a list of its own.
    assert_eq!(limits.matches("Assumed:").count(), 1, "{limits}");
    assert!(limits.contains("Read from shop.har:"), "{limits}");
    let report = report::Report { assumptions: &assumptions, ..run.report() };
    let text = report::terminal(&report, report::Style { colour: report::Colour::Off, width: 400 });
    assert!(text.contains(&format!("read from    shop.har:\n             {sentence}\n")), "{text}");
    assert!(text.contains(&format!("assumed      {assumed}\n")), "{text}");
}

#[test]
fn the_page_tells_how_to_run_it_again_and_on_what_it_ran() {
    let page = html(&Run::clean().report());
    let document = parse(&page);
    let again =
        elements(&document, "section").find(|s| s.attribute("id") == Some("again")).unwrap();
    let text = content(again);
    for said in [
        "wirelap race quick --seed 1",
        "wirelap race my.har --links 4g,3g",
        "6.18.4",
        "0.23.31",
        "signed-rank",
    ] {
        assert!(text.contains(said), "{said} is missing from {text}");
    }
}

#[test]
fn without_rows_the_page_still_gives_the_verdicts() {
    let run = Run::clean();
    let page = html(&report::Report { rows: &[], ..run.report() });
    let document = parse(&page);
    assert!(content(elements(&document, "h1").next().unwrap()).contains("2.0 s sooner"));
    assert!(!page.contains("-waterfall"));
}

#[test]
fn settings_that_are_the_same_everywhere_stand_once_and_others_say_where() {
    let page = html(&Run::clean().report());
    let document = parse(&page);
    let value = |name: &str| {
        let row = elements(&document, "tr").find(|tr| {
            tr.children().find(|n| n.has_tag_name("th")).is_some_and(|th| content(th) == name)
        });
        content(row.unwrap().children().find(|n| n.has_tag_name("td")).unwrap())
    };
    assert_eq!(value("net.ipv4.tcp_congestion_control"), "cubic");
    let table = elements(&document, "table").find(|t| content(*t).starts_with("Settings")).unwrap();
    let connections = table
        .descendants()
        .filter(|n| n.has_tag_name("tr"))
        .map(content)
        .find(|row| row.starts_with("connections"));
    assert_eq!(connections.as_deref().map(str::trim), Some("connections1 (h2); 6 (h1, h1-tls)"));
}

#[test]
fn a_workload_that_only_checks_another_is_shown_without_a_verdict_of_its_own() {
    let mut experiment = quick();
    experiment.workloads = Workload::har(recorded(Think::None)).with_check();
    experiment.links.truncate(1);
    let run = Run::of(experiment, |_| None);
    let page = html(&run.report());
    let document = parse(&page);
    let sections: Vec<String> = elements(&document, "h2").map(content).collect();
    assert!(sections.iter().any(|heading| heading == "lan: shop+flat"), "{sections:?}");
    let titles: Vec<String> = elements(&document, "h3").map(content).collect();
    assert!(
        titles.iter().any(|title| title == "Load time of each trial on lan with shop+flat"),
        "{titles:?}"
    );
    let matrices = elements(&document, "table").filter(|t| t.attribute("class") == Some("matrix"));
    assert_eq!(matrices.count(), 1);
}

#[test]
fn a_published_measurement_stands_beside_ours_with_its_findings() {
    let spdy = study::experiment::builtin().iter().find(|b| b.name == "spdy-images").unwrap();
    let mut experiment: study::experiment::Experiment = spdy.toml.parse().unwrap();
    experiment.workloads.truncate(1);
    experiment.links = quick().links[..1].to_vec();
    experiment.contenders.retain(|contender| !contender.name.contains("close"));
    let run = Run::of(experiment, |_| None);
    let page = html(&run.report());
    let document = parse(&page);
    let published = run.result.published.as_ref().unwrap();
    let section =
        elements(&document, "section").find(|s| s.attribute("id") == Some("published")).unwrap();
    let rows: Vec<String> =
        section.descendants().filter(|n| n.has_tag_name("tr")).map(content).collect();
    // Two tables, each with a row of headings.
    assert_eq!(rows.len(), published.findings.len() + published.ratios.len() + 2);
    for finding in &published.findings {
        let row = rows.iter().find(|row| row.contains(&finding.finding)).unwrap();
        assert!(row.contains(finding.verdict.words()), "{row}");
    }
    assert!(rows.iter().any(|row| row.contains("not run")), "{rows:?}");
    let text =
        report::terminal(&run.report(), report::Style { colour: report::Colour::Off, width: 100 });
    assert!(text.contains("CANNOT TELL: keep-alive makes no difference to SPDY"), "{text}");
}

#[test]
fn where_every_trial_failed_nothing_is_said_to_be_undecided_and_no_empty_table_stands() {
    let reason = "the subject ended early".to_owned();
    let run = Run::of(quick(), |_| Some(Outcome::Failed { reason: reason.clone() }));
    let page = html(&run.report());
    let document = parse(&page);
    let title = content(elements(&document, "h1").next().unwrap());
    assert!(title.contains("nothing could be compared"), "{title}");
    let body = content(elements(&document, "main").next().unwrap());
    assert!(body.contains("12 of 12 failed: the subject ended early"));
    for absent in [
        "trials per contender would decide",
        "the audit refused",
        "Protocols and connections",
        "What went over the wire",
        "key IN ()",
    ] {
        assert!(!body.contains(absent), "{absent}");
    }
    // A cross has no place on an axis of time.
    let picture = elements(&document, "svg").next().unwrap();
    assert!(content(picture).contains('✕'));
    assert!(!content(picture).contains("ms"));
}

#[test]
fn a_banner_warns_above_every_figure_and_tables_tell_counts_and_when_files_were_there() {
    let page = report::html(&crate::simulated::Run::warned().report());
    let banner = page.find("class=\"banner\"").unwrap();
    assert!(banner < page.find("class=\"answer\"").unwrap());
    assert!(page.contains("last render-blocking script") && page.contains("▲ later: "));
    assert!(page.contains("What was counted, beside the baseline"));
    let clean = report::html(&crate::simulated::Run::of(crate::quick(), |_| None).report());
    assert!(!clean.contains("class=\"banner\""));
}

#[test]
fn the_first_screen_is_answer_grid_and_page_and_the_details_are_folded() {
    let page = html(&Run::clean().report());
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    let order = ["<h1>", "class=\"matrix\"", "id=\"page\"", "<nav", "id=\"link-1\""].map(place);
    assert!(order.is_sorted(), "{order:?}");
    let document = parse(&page);
    let folds = elements(&document, "details").filter(|d| d.attribute("class") == Some("fold"));
    let open: Vec<bool> = folds.map(|fold| fold.attribute("open").is_some()).collect();
    assert_eq!(open, [false; 4], "three links and what ran");
    // Every query is folded; commands to run again are not.
    let shown = elements(&document, "code").filter(|code| {
        !code.ancestors().any(|n| n.has_tag_name("details")) && content(*code).contains("SELECT")
    });
    assert_eq!(shown.count(), 0);
    let own =
        elements(&document, "section").find(|s| s.attribute("id") == Some("page")).map(content);
    let own = own.unwrap();
    for said in ["253 kB in bodies", "51", "1 (far)", "image 0.png (5 kB)", "of h1-tls's time"] {
        assert!(own.contains(said), "{said} is missing from {own}");
    }
}

#[test]
fn a_race_over_one_link_has_its_details_open() {
    let mut experiment = quick();
    experiment.links.truncate(1);
    let page = html(&Run::of(experiment, |_| None).report());
    assert!(page.contains("class=\"fold\" open=\"open\""));
}

#[test]
fn a_cell_of_the_grid_is_coloured_by_its_verdict() {
    let page = html(&Run::clean().report());
    assert!(page.contains("class=\"faster h2-tls\"") && page.contains("class=\"tie http1-clear\""));
}
