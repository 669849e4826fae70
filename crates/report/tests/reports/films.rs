//! Films in the page: who showed what at which time, each picture once, and nothing from elsewhere.

use crate::page::{content, elements, parse};
use crate::simulated::{Run, SCREENSHOTS};
use crate::{HOSTILE, hostile};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use report::{FilmFrame, FilmKey, Films, html};
use roxmltree::{Document, Node};
use std::collections::BTreeSet;

fn films<'a>(document: &'a Document<'_>) -> Vec<Node<'a, 'a>> {
    elements(document, "figure").filter(|f| f.attribute("class") == Some("film")).collect()
}

/// The rows of pictures: cells by contender.
fn strips<'a>(film: Node<'a, 'a>) -> Vec<(String, Vec<Node<'a, 'a>>)> {
    let cells =
        |strip: Node<'a, 'a>| strip.descendants().filter(|n| n.has_tag_name("td")).collect();
    let bodies = film.descendants().filter(|n| n.has_tag_name("tbody") && n.has_attribute("class"));
    let name = |strip: Node<'_, '_>| {
        content(strip.descendants().find(|n| n.has_tag_name("span")).unwrap())
    };
    bodies.map(|strip| (name(strip), cells(strip))).collect()
}

#[test]
fn all_contenders_share_one_axis_and_each_column_says_its_time_and_progress() {
    let page = html(&Run::filmed().report());
    let document = parse(&page);
    let [film] = films(&document)[..] else { panic!("films of one link were handed in") };
    assert_eq!(film.attribute("id"), Some("link-3-film"));
    let title = film.descendants().find(|n| n.has_tag_name("h3")).map(content);
    let expected =
        "On 3g, the page is visually complete with h2 after 1.90 s and h1-tls after 4.10 s";
    assert_eq!(title.as_deref(), Some(expected));
    let strips = strips(film);
    // The fastest first; of h1 nobody computed percentages.
    let said = |(name, cells): &(String, Vec<Node<'_, '_>>)| {
        (
            name.clone(),
            cells.iter().map(|cell| content(*cell).replace('\n', "")).collect::<Vec<_>>(),
        )
    };
    let said: Vec<_> = strips.iter().map(said).collect();
    let names: Vec<&str> = said.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["h2", "h1", "h1-tls"]);
    // The last change comes after 4.1 s: 15 columns, 0.3 s apart, of which the last is at 4.2 s.
    assert!(said.iter().all(|(_, cells)| cells.len() == 15), "{said:?}");
    let columns = |strip: usize, of: [usize; 4]| of.map(|column| said[strip].1[column].as_str());
    assert_eq!(columns(0, [0, 6, 7, 14]), ["0.0 s 0 %", "1.8 s 0 %", "2.1 s 100 %", "4.2 s 100 %"]);
    assert_eq!(columns(1, [0, 2, 3, 14]), ["0.0 s", "0.6 s", "0.9 s", "4.2 s"]);
    assert_eq!(
        columns(2, [4, 5, 13, 14]),
        ["1.2 s 0 %", "1.5 s 50 %", "3.9 s 50 %", "4.2 s 100 %"]
    );
}

#[test]
fn only_columns_with_something_new_are_marked_and_stop_the_tab_key() {
    let page = html(&Run::filmed().report());
    let document = parse(&page);
    let new: Vec<Vec<usize>> = strips(films(&document)[0])
        .iter()
        .map(|(_, cells)| {
            let marked = |cell: &Node<'_, '_>| cell.attribute("class").unwrap().starts_with("new");
            (0..cells.len()).filter(|&column| marked(&cells[column])).collect()
        })
        .collect();
    assert_eq!(new, [vec![7], vec![3, 13], vec![5, 14]]);
    for (_, cells) in strips(films(&document)[0]) {
        for (column, cell) in cells.into_iter().enumerate() {
            let stops = cell.descendants().any(|n| n.attribute("tabindex") == Some("0"));
            let marked = cell.attribute("class").unwrap().starts_with("new");
            let is_picture =
                cell.descendants().any(|n| n.has_tag_name("image") || n.has_tag_name("use"));
            assert_eq!(stops, is_picture && (marked || column == 0));
        }
    }
}

#[test]
fn each_picture_is_in_the_page_once_and_has_a_text_wherever_it_is_shown() {
    let page = html(&Run::filmed().report());
    let document = parse(&page);
    let (blank, half, whole) = SCREENSHOTS;
    let pictures: Vec<Vec<u8>> = elements(&document, "image")
        .map(|image| {
            let data = image.attribute("href").unwrap().strip_prefix("data:image/jpeg;base64,");
            STANDARD.decode(data.unwrap()).unwrap()
        })
        .collect();
    assert_eq!(pictures, [blank, whole, half, whole, blank, half, whole]);
    let ids: BTreeSet<&str> =
        elements(&document, "image").filter_map(|image| image.attribute("id")).collect();
    assert_eq!(ids.len(), pictures.len());
    for shown in elements(&document, "use") {
        assert!(ids.contains(&shown.attribute("href").unwrap()[1..]), "{shown:?}");
    }
    let shown = |n: &Node<'_, '_>| n.attribute("class") == Some("picture");
    let labels: Vec<&str> = elements(&document, "svg")
        .filter(shown)
        .map(|svg| svg.attribute("aria-label").unwrap())
        .collect();
    assert_eq!(labels.len(), 3 * 15);
    assert!(labels.contains(&"h1 after 0.6\u{a0}s: nothing yet"), "{labels:?}");
    assert!(labels.contains(&"h1-tls after 1.5\u{a0}s: 50\u{a0}% complete"), "{labels:?}");
    assert!(
        labels.contains(&"h1-tls after 1.8\u{a0}s: 50\u{a0}% complete, unchanged"),
        "{labels:?}"
    );
}

#[test]
fn pages_may_show_pictures_of_their_own_where_there_is_a_film_and_load_nothing() {
    let policy = |page: &str| {
        let policies = page.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
        policies.split('"').next().unwrap().to_owned()
    };
    let filmed = policy(&html(&Run::filmed().report()));
    assert!(filmed.starts_with("default-src &#39;none&#39;;") && filmed.ends_with("img-src data:"));
    assert!(!policy(&html(&Run::clean().report())).contains("img-src"));
}

#[test]
fn hostile_names_and_pictures_that_are_none_do_no_harm() {
    let run = hostile();
    let picture = |jpeg: &[u8]| FilmFrame { at_ms: 10.0, jpeg: jpeg.to_owned(), percent: None };
    let link = run.result.cells[0].link.name.clone();
    let cells = run.result.cells.iter().filter(|cell| cell.link.name == link);
    let contenders: Vec<String> = cells.map(|cell| cell.contender.name.clone()).collect();
    let films: Films = contenders
        .iter()
        .cloned()
        .enumerate()
        .map(|(i, contender)| {
            let (workload, link) = (HOSTILE.to_owned(), link.clone());
            let frame = picture(if i == 0 { b"\"><script>" } else { SCREENSHOTS.1 });
            (FilmKey { workload, link, contender }, vec![frame])
        })
        .collect();
    let page = html(&report::Report { films: &films, ..run.report() });
    let document = parse(&page);
    assert_eq!(elements(&document, "script").count(), 1);
    // The first contender's picture is none: its row is left out.
    assert_eq!(strips(self::films(&document)[0]).len(), contenders.len() - 1);
}
