//! Milestones of small pages whose arrivals are set by hand, one at a time.

use super::*;
use crate::browser::Browser;
use crate::graph::Page;
use crate::priority::Hint;
use crate::resource::{Method, Release, Resource};
use unit::ByteSize;

fn ms(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn span(millis: u64) -> Option<Duration> {
    Some(Duration::from_millis(millis))
}

/// The document of 1000 bytes, of which the first 500 are the head; 100 pixels of text.
fn document() -> Resource {
    Resource {
        url: "http://a/".parse().unwrap(),
        kind: Kind::Document,
        method: Method::Get,
        status: 200,
        content_type: String::new(),
        body: ByteSize(1000),
        server_time: Duration::ZERO,
        release: Release::Navigation,
        think: Duration::ZERO,
        hint: Hint::None,
        blocks: Blocks::Nothing,
        pixels: Some(100),
        fold: Fold::Above,
        asked: Default::default(),
        answered: Default::default(),
    }
}

fn named(name: &str, kind: Kind, offset: u64, blocks: Blocks) -> Resource {
    Resource {
        url: format!("http://a/{name}").parse().unwrap(),
        kind,
        release: Release::Parsed { by: ResourceId(0), offset: ByteSize(offset) },
        blocks,
        pixels: None,
        fold: Fold::Unknown,
        asked: Default::default(),
        answered: Default::default(),
        ..document()
    }
}

fn image(name: &str, offset: u64, pixels: u32) -> Resource {
    Resource {
        pixels: Some(pixels),
        fold: Fold::Above,
        asked: Default::default(),
        answered: Default::default(),
        ..named(name, Kind::Image, offset, Blocks::Nothing)
    }
}

fn sheet(offset: u64) -> Resource {
    named("sheet", Kind::Stylesheet, offset, Blocks::Painting)
}

fn script(name: &str, offset: u64, blocks: Blocks) -> Resource {
    named(name, Kind::Script, offset, blocks)
}

/// The times of a page whose document's head arrives at 10 ms, its first byte of body at 20 ms, all of it at 40 ms, and
/// whose other resources arrive whole at the given times.
fn times(rest: Vec<(Resource, u64)>) -> PaintTimes {
    let mut resources = vec![document()];
    let mut ends: Vec<(u64, ResourceId)> = Vec::new();
    for (resource, end) in rest {
        ends.push((end, ResourceId(resources.len() as u32)));
        resources.push(resource);
    }
    let page = Page::new(ResourceId(0), resources).unwrap().with_body_at(ByteSize(500));
    let mut load = Load::replay(&page, Browser::Chrome156, ms(0));
    load.poll_fetch(ms(0));
    load.handle_head(ResourceId(0), ms(10));
    load.handle_body(ResourceId(0), &[0; 499], ms(20));
    load.handle_body(ResourceId(0), &[0; 501], ms(40));
    load.handle_done(ResourceId(0), ms(40));
    ends.sort();
    for (end, id) in ends {
        while load.poll_fetch(ms(end)).is_some() {}
        load.handle_done(id, ms(end));
    }
    assert!(load.is_finished());
    load.paint_times()
}

#[test]
fn a_page_of_text_is_painted_when_its_body_begins_and_ready_when_it_ends() {
    let expected = PaintTimes {
        unload: span(20),
        first_paint: span(40),
        fcp: span(40),
        lcp: span(40),
        dom_content_loaded: span(40),
        speed_index: span(40),
    };
    assert_eq!(times(vec![]), expected);
}

#[test]
fn a_style_sheet_in_the_head_holds_up_paint_and_not_the_parser() {
    let blocked = times(vec![(sheet(100), 300)]);
    assert_eq!((blocked.first_paint, blocked.dom_content_loaded), (span(300), span(40)));
    let in_body = times(vec![(sheet(700), 300)]);
    assert_eq!(in_body.first_paint, span(40));
}

#[test]
fn an_import_belongs_to_the_style_sheet_that_imports_it() {
    let import = Resource { release: Release::Completed { by: ResourceId(1) }, ..sheet(0) };
    let second = Resource {
        release: Release::Completed { by: ResourceId(2) },
        url: "http://a/second".parse().unwrap(),
        ..sheet(0)
    };
    let import = Resource { url: "http://a/import".parse().unwrap(), ..import };
    let chain = times(vec![(sheet(100), 100), (import, 200), (second, 300)]);
    assert_eq!(chain.first_paint, span(300));
}

#[test]
fn a_classic_script_stops_the_parser_and_waits_for_style_sheets_before_it() {
    let head = times(vec![(script("a", 100, Blocks::Parsing), 200)]);
    assert_eq!((head.first_paint, head.dom_content_loaded), (span(200), span(200)));
    // In the body, what stands before it is painted.
    let body = times(vec![(script("a", 700, Blocks::Parsing), 200)]);
    assert_eq!((body.first_paint, body.dom_content_loaded), (span(40), span(200)));
    let after = times(vec![(sheet(100), 300), (script("a", 700, Blocks::Parsing), 200)]);
    assert_eq!(after.dom_content_loaded, span(300));
    let before = times(vec![(script("a", 100, Blocks::Parsing), 200), (sheet(200), 300)]);
    assert_eq!((before.first_paint, before.dom_content_loaded), (span(300), span(200)));
}

#[test]
fn deferred_scripts_hold_up_dom_content_loaded_alone_and_async_ones_nothing() {
    let late = times(vec![
        (script("deferred", 100, Blocks::DomContentLoaded), 400),
        (script("async", 100, Blocks::Nothing), 900),
        (sheet(100), 500),
    ]);
    // Deferred scripts wait for the style sheet too.
    assert_eq!((late.first_paint, late.dom_content_loaded), (span(500), span(500)));
}

#[test]
fn the_largest_paint_is_that_of_the_largest_and_of_equals_the_first() {
    let hero = times(vec![(image("small", 600, 50), 60), (image("hero", 900, 900), 700)]);
    assert_eq!((hero.fcp, hero.lcp), (span(40), span(700)));
    let equals = times(vec![(image("one", 600, 900), 500), (image("other", 900, 900), 300)]);
    assert_eq!(equals.lcp, span(300));
    let hidden = Resource { fold: Fold::Below, ..image("below", 600, 900) };
    assert_eq!(times(vec![(hidden, 800)]).lcp, span(40));
    // An image is painted after what blocks paint, and where the parser has come to it.
    let blocked = times(vec![(sheet(100), 300), (image("hero", 900, 900), 90)]);
    assert_eq!(blocked.lcp, span(300));
    let behind = vec![(script("a", 600, Blocks::Parsing), 200), (image("hero", 900, 900), 90)];
    assert_eq!(times(behind).lcp, span(200));
}

#[test]
fn speed_index_is_the_mean_time_of_a_pixel_and_a_font_changes_its_text() {
    // 100 pixels of text at 40 ms, 300 of an image at 240 ms.
    assert_eq!(times(vec![(image("hero", 900, 300), 240)]).speed_index, span(190));
    let font = Resource {
        kind: Kind::Font,
        pixels: Some(100),
        fold: Fold::Above,
        asked: Default::default(),
        answered: Default::default(),
        ..named("font", Kind::Font, 100, Blocks::Nothing)
    };
    let swapped = times(vec![(font, 440)]);
    assert_eq!((swapped.speed_index, swapped.lcp), (span(240), span(40)));
}

#[test]
fn a_page_without_a_layout_has_no_largest_paint() {
    let resources = vec![Resource { pixels: None, fold: Fold::Unknown, ..document() }];
    let page = Page::new(ResourceId(0), resources).unwrap();
    let mut load = Load::replay(&page, Browser::Chrome156, ms(5));
    load.poll_fetch(ms(5));
    load.handle_body(ResourceId(0), &[0; 1000], ms(15));
    assert_eq!(load.paint_times().dom_content_loaded, None, "the document has not ended");
    load.handle_done(ResourceId(0), ms(25));
    let times = load.paint_times();
    assert_eq!((times.unload, times.fcp, times.dom_content_loaded), (span(10), span(10), span(20)));
    assert_eq!((times.lcp, times.speed_index), (None, None));
}

#[test]
fn a_browsed_page_is_painted_as_its_markup_says() {
    let html = b"<link rel=preload as=script href=s><link rel=stylesheet href=c><script src=s></script><body><p>text";
    let mut load = Load::browse("http://a/".parse().unwrap(), Browser::Chrome156, ms(0));
    load.poll_fetch(ms(0));
    load.handle_body(ResourceId(0), html, ms(10));
    load.handle_done(ResourceId(0), ms(20));
    let found: Vec<_> = std::iter::from_fn(|| load.poll_fetch(ms(20))).collect();
    assert_eq!(found.len(), 2, "what was preloaded is not asked for again");
    for fetch in found {
        let end = if fetch.kind == Kind::Script { 80 } else { 50 };
        load.handle_done(fetch.id, ms(end));
    }
    let times = load.paint_times();
    assert_eq!((times.first_paint, times.dom_content_loaded), (span(80), span(80)));
}

/// Sheet (1), an image in the viewport (2), one below it (3), a script in the body (4), another image in the viewport (5).
#[test]
fn images_that_can_be_seen_are_raised_once_the_page_is_laid_out_and_the_parser_has_passed_them() {
    let below = Resource { fold: Fold::Below, ..image("below", 650, 10) };
    let script = script("script", 700, Blocks::Parsing);
    let resources =
        vec![document(), sheet(100), image("seen", 600, 10), below, script, image("late", 800, 10)];
    let page = Page::new(ResourceId(0), resources).unwrap().with_body_at(ByteSize(500));
    let mut load = Load::replay(&page, Browser::Chrome156, ms(0));
    load.poll_fetch(ms(0));
    load.handle_head(ResourceId(0), ms(10));
    load.handle_body(ResourceId(0), &[0; 1000], ms(20));
    load.handle_done(ResourceId(0), ms(20));
    let queued = std::iter::from_fn(|| load.poll_fetch(ms(20)));
    let urgencies: Vec<u8> = queued.map(|start| start.priority.urgency).collect();
    assert_eq!(urgencies, [0, 2, 3, 3, 3], "the script stands behind an image");
    assert_eq!(load.poll_priority(), None, "nothing is laid out without the style sheet");
    load.handle_done(ResourceId(1), ms(30));
    let raised = crate::priority::Priority { urgency: 1, incremental: true };
    assert_eq!(load.poll_priority(), Some((ResourceId(2), raised)));
    assert_eq!(load.poll_priority(), None, "the parser stands at the script");
    load.handle_done(ResourceId(4), ms(40));
    assert_eq!(load.poll_priority(), Some((ResourceId(5), raised)));
    assert_eq!(load.poll_priority(), None, "each once, and what is below the fold never");
}

/// A page with a style sheet (1), a script of its head (2) and a font that the style sheet names (3); its document is asked for.
fn begun_with_font() -> Load {
    let font = Resource {
        release: Release::Completed { by: ResourceId(1) },
        ..named("font", Kind::Font, 0, Blocks::Nothing)
    };
    let rest = [sheet(100), script("script", 200, Blocks::Parsing), font];
    let resources = std::iter::once(document()).chain(rest).collect();
    let page = Page::new(ResourceId(0), resources).unwrap().with_body_at(ByteSize(500));
    let mut load = Load::replay(&page, Browser::Chrome156, ms(0));
    load.poll_fetch(ms(0));
    load
}

/// The same; the style sheet is there.
fn with_font() -> Load {
    let mut load = begun_with_font();
    load.handle_head(ResourceId(0), ms(10));
    load.handle_body(ResourceId(0), &[0; 300], ms(20));
    let asked = std::iter::from_fn(|| load.poll_fetch(ms(20))).map(|fetch| fetch.id.0);
    assert_eq!(asked.collect::<Vec<_>>(), [1, 2]);
    load.handle_done(ResourceId(1), ms(30));
    assert_eq!(load.poll_fetch(ms(30)), None, "nothing is laid out");
    load
}

#[test]
fn a_font_of_a_style_sheet_is_asked_for_once_the_page_is_laid_out() {
    let mut load = with_font();
    load.handle_body(ResourceId(0), &[0; 700], ms(40));
    load.handle_done(ResourceId(0), ms(40));
    assert_eq!(load.poll_fetch(ms(40)), None, "the parser stands at the script");
    load.handle_done(ResourceId(2), ms(50));
    assert_eq!(load.poll_fetch(ms(50)), None, "what the parser finds goes first");
    assert_eq!(load.poll_timeout(), Some(ms(51)));
    load.handle_timeout(ms(51));
    assert_eq!(load.poll_fetch(ms(51)).map(|fetch| fetch.id), Some(ResourceId(3)));
    assert_eq!(load.poll_timeout(), None);
    load.handle_done(ResourceId(3), ms(60));
    assert!(load.is_finished());
}

#[test]
fn a_font_does_not_wait_for_a_document_that_failed() {
    let mut load = with_font();
    load.handle_failed(ResourceId(0), "reset", ms(40));
    assert_eq!(load.poll_fetch(ms(40)), None);
    assert_eq!(load.poll_fetch(ms(41)).map(|fetch| fetch.id), Some(ResourceId(3)));
    load.handle_done(ResourceId(2), ms(50));
    load.handle_done(ResourceId(3), ms(60));
    assert!(load.is_finished());
}

#[test]
fn a_font_does_not_wait_for_the_body_of_an_empty_document() {
    let mut load = begun_with_font();
    load.handle_done(ResourceId(0), ms(10));
    assert_eq!(std::iter::from_fn(|| load.poll_fetch(ms(10))).count(), 2);
    load.handle_done(ResourceId(1), ms(20));
    load.handle_done(ResourceId(2), ms(30));
    assert_eq!(load.poll_fetch(ms(30)), None);
    assert_eq!(load.poll_fetch(ms(31)).map(|fetch| fetch.id), Some(ResourceId(3)));
    load.handle_done(ResourceId(3), ms(40));
    assert!(load.is_finished());
}
