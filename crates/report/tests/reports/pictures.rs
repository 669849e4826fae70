//! The pictures: what they draw is what was measured, all on one axis, and their text says it too.

use crate::page::{content, elements, parse};
use crate::simulated::{Run, quick};
use report::html;
use roxmltree::Node;
use serde_json::json;
use study::experiment::{PageWorkload, Workload};
use unit::ByteSize;

fn percent(node: Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().trim_end_matches('%').parse().unwrap()
}

fn with_class<'a>(node: Node<'a, 'a>, class: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.descendants().filter(move |n| n.attribute("class") == Some(class))
}

/// The right ends of the drawings of each contender, in the order of the picture.
fn ends(svg: Node<'_, '_>) -> Vec<f64> {
    let panels = svg.children().filter(|n| n.attribute("class").is_some_and(|c| c != "axis"));
    panels
        .map(|panel| {
            let rects = panel.descendants().filter(|n| n.has_tag_name("rect"));
            rects.map(|rect| percent(rect, "x") + percent(rect, "width")).fold(0.0, f64::max)
        })
        .collect()
}

#[test]
fn every_picture_has_a_finding_a_text_its_figures_and_a_command() {
    let page = html(&Run::troubled().report());
    let document = parse(&page);
    let figures: Vec<_> = elements(&document, "figure").collect();
    assert_eq!(figures.len(), 15);
    for figure in figures {
        let svg = figure.children().find(|n| n.has_tag_name("svg")).unwrap();
        assert_eq!(svg.attribute("role"), Some("img"));
        let ids: Vec<&str> = svg.attribute("aria-labelledby").unwrap().split(' ').collect();
        for (tag, id) in ["title", "desc"].into_iter().zip(ids) {
            let text = svg.children().find(|n| n.has_tag_name(tag)).unwrap();
            assert_eq!(text.attribute("id"), Some(id));
            assert!(!content(text).is_empty());
        }
        assert!(figure.descendants().any(|n| n.has_tag_name("table")));
        let commands: Vec<String> =
            figure.descendants().filter(|n| n.has_tag_name("code")).map(content).collect();
        assert!(commands.iter().all(|c| c.starts_with("sqlite3 ")) && commands.len() == 1);
    }
}

#[test]
fn every_measured_trial_is_a_dot_and_every_failed_one_a_cross() {
    let run = Run::troubled();
    let page = html(&run.report());
    let document = parse(&page);
    let figures = elements(&document, "figure")
        .filter(|figure| figure.attribute("id").is_some_and(|id| id.ends_with("-trials")));
    let (dots, crosses) = figures.fold((0, 0), |(dots, crosses), figure| {
        let cross = with_class(figure, "cross").map(|n| content(n).chars().count());
        (dots + with_class(figure, "dot").count(), crosses + cross.sum::<usize>())
    });
    assert_eq!((dots as u32, crosses), (run.result.trials.measured, 2));
}

#[test]
fn of_two_rows_with_one_key_the_later_is_drawn() {
    let run = Run::clean();
    let mut rows = run.rows.clone();
    let mut earlier = rows.iter().find(|row| !row.plan.warmup).unwrap().clone();
    earlier.metrics.insert("load_ms".to_owned(), 60_000.0);
    rows.insert(0, earlier);
    assert_eq!(html(&report::Report { rows: &rows, ..run.report() }), html(&run.report()));
}

#[test]
fn waterfalls_of_one_link_share_one_axis_from_zero() {
    let run = Run::clean();
    let page = html(&run.report());
    let document = parse(&page);
    let picture =
        elements(&document, "figure").find(|f| f.attribute("id") == Some("link-3-waterfall"));
    let svg = picture.unwrap().children().find(|n| n.has_tag_name("svg")).unwrap();
    let first_tick = with_class(svg, "axis").next().unwrap().first_element_child().unwrap();
    assert_eq!(first_tick.attribute("x1"), Some("0%"));
    let ends = ends(svg);
    let loads: Vec<f64> = ["h2", "h1", "h1-tls"]
        .iter()
        .map(|name| {
            let here =
                |c: &&study::result::CellResult| c.link.name == "3g" && c.contender.name == *name;
            run.result.cells.iter().find(here).unwrap().median_trial.as_ref().unwrap().load_ms
        })
        .collect();
    for (end, load) in ends.iter().zip(&loads) {
        let expected = load / loads[2] * ends[2];
        assert!((end - expected).abs() < 0.1, "{ends:?} for {loads:?}");
    }
    assert_eq!(ends.len(), 3);
}

/// Every fetch is sent in two pieces: the first half at its first byte, the other at three quarters of what is left.
fn with_pieces() -> Run {
    let mut run = Run::of(quick(), |_| None);
    for row in &mut run.rows {
        let deliver = |fetch: &trace::FetchRecord| {
            let (_, target) = fetch.url.split_once("://").unwrap();
            let (authority, path) = target.split_at(target.find('/').unwrap());
            let (first, last) =
                (fetch.phases.first_byte.unwrap().nanos(), fetch.phases.last_byte.unwrap().nanos());
            let second = first + (last - first) / 4 * 3;
            let piece =
                |from, until| json!({"from": from, "until": until, "bytes": fetch.body_bytes / 2});
            serde_json::from_value(json!({"connection": 1, "protocol": "h2", "stream": fetch.stream,
                "authority": authority, "path": path, "status": 200, "media_type": "", "asked": [], "policy": "fifo",
                "requested": first, "ended": last, "bytes": fetch.body_bytes,
                "pieces": [piece(first, first), piece(second, last)], "end": "done"}))
            .unwrap()
        };
        row.deliveries = row.fetches.iter().map(deliver).collect();
    }
    run
}

#[test]
fn a_waterfall_has_the_pieces_of_each_body_where_they_were_sent() {
    let clean = html(&Run::clean().report());
    assert_eq!(with_class(parse(&clean).root(), "sent").count(), 0, "nothing is known");
    let page = html(&with_pieces().report());
    let document = parse(&page);
    let figure = elements(&document, "figure")
        .find(|figure| figure.attribute("id") == Some("link-3-waterfall"))
        .unwrap();
    assert!(content(figure).contains("sent by the server"));
    let svg = figure.children().find(|n| n.has_tag_name("svg")).unwrap();
    let receiving: Vec<_> = with_class(svg, "receive").collect();
    assert!(receiving.len() > 20);
    for body in receiving {
        let pieces: Vec<_> = with_class(body.parent().unwrap(), "sent").collect();
        let (from, width) = (percent(body, "x"), percent(body, "width"));
        let expected = [(from, 0.0), (from + width * 0.75, width * 0.25)];
        assert_eq!(pieces.len(), 2);
        for (piece, (x, width)) in pieces.into_iter().zip(expected) {
            let off = (percent(piece, "x") - x).abs().max((percent(piece, "width") - width).abs());
            // Four numbers are rounded to hundredths.
            assert!(off < 0.02, "{off}");
        }
    }
}

#[test]
fn the_links_time_line_has_the_waterfalls_axis_and_says_what_was_dropped() {
    let page = html(&Run::clean().report());
    let document = parse(&page);
    let picture = |name: &str| {
        let id = format!("link-3-{name}");
        let figure = elements(&document, "figure").find(|f| f.attribute("id") == Some(&id));
        figure.unwrap().children().find(|n| n.has_tag_name("svg")).unwrap()
    };
    let (waterfall, timeline) = (picture("waterfall"), picture("timeline"));
    let ticks = |svg| {
        let axis = with_class(svg, "axis").next().unwrap();
        let ticks = axis.children().filter(|n| n.has_tag_name("text"));
        ticks.map(|n| (n.attribute("x").unwrap().to_owned(), content(n))).collect::<Vec<_>>()
    };
    assert_eq!(ticks(waterfall), ticks(timeline));
    // The bottleneck sends the last body until the load's end: steps end where bars do, to a bin.
    let sent: Vec<f64> = with_class(timeline, "receive")
        .map(|path| percent(path.parent().unwrap(), "width"))
        .collect();
    assert_eq!(sent.len(), 3);
    for (sent, load) in sent.iter().zip(ends(waterfall)) {
        assert!(*sent >= load - 0.01 && *sent <= load + 3.0, "{sent} for {load}");
    }
    assert_eq!(with_class(timeline, "dropped").count(), 3);
    assert!(
        content(timeline).contains("of the rate used") && content(timeline).contains("5 dropped")
    );
}

#[test]
fn the_parts_of_a_load_time_fill_its_bar_without_gaps() {
    let page = html(&Run::clean().report());
    let document = parse(&page);
    let picture = elements(&document, "figure").find(|f| f.attribute("id") == Some("link-3-parts"));
    let svg = picture.unwrap().children().find(|n| n.has_tag_name("svg")).unwrap();
    let panels = svg.children().filter(|n| n.attribute("class").is_some_and(|c| c != "axis"));
    for panel in panels {
        let rects: Vec<_> = panel.descendants().filter(|n| n.has_tag_name("rect")).collect();
        let mut end = 0.0;
        for rect in &rects {
            assert!((percent(*rect, "x") - end).abs() < 0.03, "a gap at {end}");
            end = percent(*rect, "x") + percent(*rect, "width");
        }
        assert!(rects.len() >= 3);
    }
}

#[test]
fn hundreds_of_fetches_make_a_picture_of_bounded_height_with_few_labels() {
    let page = PageWorkload::of_images(600, ByteSize(900));
    let mut experiment = quick();
    experiment.workloads = vec![Workload::page(page)];
    experiment.links.retain(|link| link.name == "3g");
    let run = Run::of(experiment, |_| None);
    let page = html(&run.report());
    let document = parse(&page);
    let picture =
        elements(&document, "figure").find(|f| f.attribute("id") == Some("link-1-waterfall"));
    let svg = picture.unwrap().children().find(|n| n.has_tag_name("svg")).unwrap();
    let height: f64 = svg.attribute("height").unwrap().parse().unwrap();
    assert!(height < 3200.0, "{height}");
    let bars = svg.descendants().filter(|n| n.has_tag_name("title")).count() - 1;
    assert_eq!(bars, 3 * 601);
    assert!(with_class(svg, "tag").count() <= 3 * 601 / 8 + 3);
}

#[test]
fn a_contender_has_one_colour_in_all_pictures_and_tables() {
    let page = html(&Run::clean().report());
    let document = parse(&page);
    let is_name = |n: &Node<'_, '_>| matches!(n.attribute("class"), Some("name" | "who name"));
    let mut seen = 0;
    for name in document.descendants().filter(is_name) {
        let expected = match content(name).as_str() {
            "h1" => "http1-clear",
            "h1-tls" => "http1-tls",
            "h2" => "h2-tls",
            other => panic!("{other}"),
        };
        let classes =
            name.ancestors().filter_map(|n| n.attribute("class")).flat_map(|c| c.split(' '));
        let hues: Vec<&str> =
            classes.filter(|c| c.starts_with("http1-") || c.starts_with("h2-")).collect();
        assert_eq!(hues, [expected]);
        seen += 1;
    }
    assert!(seen >= 30, "{seen}");
}

#[test]
fn a_bar_and_what_the_legend_calls_it_have_one_colour_and_no_label_stands_in_the_bars() {
    let page = html(&Run::clean().report());
    let document = parse(&page);
    let picture =
        elements(&document, "figure").find(|f| f.attribute("id") == Some("link-2-waterfall"));
    let figure = picture.unwrap();
    assert_eq!(figure.attribute("class"), Some("keyed"));
    let svg = figure.children().find(|n| n.has_tag_name("svg")).unwrap();
    let is_pane = |n: &Node<'_, '_>| n.attribute("data-pane").is_some();
    let panes: Vec<_> = svg.descendants().filter(is_pane).collect();
    assert_eq!(panes.len(), 4, "an axis and three contenders");
    for pane in panes {
        assert_eq!((pane.attribute("x"), pane.attribute("width")), (Some("15%"), Some("85%")));
        assert_eq!(with_class(pane, "tag").count(), 0);
    }
    let names: Vec<String> =
        with_class(svg, "tag").map(|name| content(name).replace('…', "")).collect();
    assert!(names.iter().any(|name| name == "image 2.png"), "{names:?}");
}

#[test]
fn names_that_a_phone_cuts_end_before_the_bars() {
    let page = html(&Run::clean().report());
    let document = parse(&page);
    // The column of names on a phone, the mean width of a letter in it, and that of the dots, in pixels.
    let (column, letter, dots) = (0.15 * 358.0, 6.3, 10.5);
    let mut seen = 0;
    for name in with_class(document.root(), "tag") {
        if with_class(name, "narrow").next().is_none() {
            continue;
        }
        let shown = elements_of(name).find(|part| part.attribute("class").is_none()).unwrap();
        let width = content(shown).chars().count() as f64 * letter + dots;
        assert!(width <= column, "{} takes {width} of {column}", content(name));
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
    // Pictures differ at the end of their names.
    let on_phone = |name: &Node<'_, '_>| -> String {
        elements_of(*name)
            .filter(|part| part.attribute("class") != Some("wide"))
            .map(content)
            .collect()
    };
    let names: Vec<String> =
        with_class(document.root(), "tag").map(|name| on_phone(&name)).collect();
    assert!(names.iter().any(|name| name == "… 2.png"), "{names:?}");
}

fn elements_in<'a>(node: Node<'a, 'a>, tag: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.descendants().filter(move |inner| inner.has_tag_name(tag))
}

fn elements_of<'a, 'b>(node: Node<'a, 'b>) -> impl Iterator<Item = Node<'a, 'b>> {
    node.children().filter(Node::is_element)
}

#[test]
fn differences_stand_by_block_on_an_axis_of_their_own() {
    let run = Run::clean();
    let page = html(&run.report());
    let document = parse(&page);
    let picture =
        elements(&document, "figure").find(|f| f.attribute("id") == Some("link-3-differences"));
    let figure = picture.unwrap();
    let pairs: Vec<f64> = with_class(figure, "pair").map(|dot| percent(dot, "cx")).collect();
    assert_eq!(pairs.len(), 2 * 12, "a dot a block of both others");
    let zero = with_class(figure, "one").next().map(|line| percent(line, "x1")).unwrap();
    assert!(pairs.iter().all(|at| *at < zero), "both are faster: {pairs:?} left of {zero}");
    let said = content(figure);
    assert!(said.contains("block 0: ") && said.contains("less or more time than h1-tls"), "{said}");
    // No upright line runs through a contender's name and figures.
    let y = |node: &Node<'_, '_>, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let names: Vec<f64> = elements_in(figure, "text")
        .filter(|text| text.attribute("class").is_some_and(|class| class.contains("label")))
        .map(|text| y(&text, "y"))
        .collect();
    assert!(names.len() >= 2, "{names:?}");
    let lines: Vec<(f64, f64)> =
        elements_in(figure, "line").map(|line| (y(&line, "y1"), y(&line, "y2"))).collect();
    assert!(lines.len() > 4, "{lines:?}");
    for (top, bottom) in lines {
        let cut = names.iter().find(|name| top < **name && **name < bottom);
        assert_eq!(cut, None, "a line from {top} to {bottom}");
    }
}

#[test]
fn best_median_and_worst_are_shown_where_trials_spread() {
    let mut run = Run::of(quick(), |_| None);
    let worst = run.rows.iter_mut().find(|row| {
        row.plan.cell.contender.name == "h2" && row.plan.cell.link.name == "3g" && !row.plan.warmup
    });
    worst.unwrap().metrics.insert("load_ms".to_owned(), 9_000.0);
    let page = html(&run.report());
    let document = parse(&page);
    let picture =
        elements(&document, "figure").find(|f| f.attribute("id") == Some("link-3-extremes"));
    let said = content(picture.unwrap());
    assert!(said.contains("best of 12: 2."), "{said}");
    assert!(said.contains("median of 12: 2.") && said.contains("worst of 12: 9.00 s"), "{said}");
}

#[test]
fn calls_have_a_curve_from_the_median_to_the_slowest() {
    let api = study::experiment::builtin().iter().find(|b| b.name == "twitter-api").unwrap();
    let mut experiment: study::experiment::Experiment = api.toml.parse().unwrap();
    experiment.workloads.truncate(1);
    experiment.links = quick().links[..1].to_vec();
    experiment.contenders.retain(|one| ["plain", "kept", "h2"].contains(&one.name.as_str()));
    let page = html(&Run::of(experiment, |_| None).report());
    let document = parse(&page);
    let picture =
        elements(&document, "figure").find(|f| f.attribute("id") == Some("link-1-percentiles"));
    let figure = picture.unwrap();
    assert_eq!(with_class(figure, "curve").count(), 3);
    let said = content(figure);
    assert!(said.contains("p50") && said.contains("p99") && said.contains(" to "), "{said}");
}
