//! Targets, documents and graphs of synthetic pages.

use super::*;
use std::collections::BTreeSet;

fn origin() -> Url {
    "http://far/".parse().unwrap()
}

#[test]
fn the_graph_is_what_the_html_says() {
    let synthetic: Synthetic = "/page?images=100&bytes=5000&image_delay_ms=7".parse().unwrap();
    let page = synthetic.page(&origin()).unwrap();
    let html = synthetic.html();
    assert_eq!(page.resources().len(), 101);
    assert_eq!(page.total_bytes(), ByteSize(100 * 5_000 + html.len() as u64));
    let paths: BTreeSet<_> = page.resources().iter().map(|r| r.url.path.as_str()).collect();
    assert_eq!(paths.len(), 101, "each image has its own URL");
    let Release::Parsed { offset, .. } = page.resources()[1].release else {
        panic!("an image is found while the document is parsed");
    };
    assert!(html[..offset.0 as usize].ends_with("alt=\"\">"));
    assert_eq!(page.resources()[1].server_time, Duration::from_millis(7));
}

#[test]
fn a_document_in_pieces_is_the_document_and_its_length_is_known_before() {
    for images in [0, 1, 9, 10, 11, 100, 101, 1_234] {
        for image_delay_ms in [0, 70] {
            let page = Synthetic { images, image_delay_ms, ..Synthetic::default() };
            let whole = page.html();
            let mut pieces = SyntheticHtml::new(&page);
            assert_eq!(pieces.left(), whole.len() as u64, "{images} images");
            let mut all = String::new();
            while pieces.left() > 0 {
                let piece = pieces.next(100);
                assert!((1..400).contains(&piece.len()));
                all.push_str(&piece);
            }
            assert_eq!(all, whole);
            assert_eq!(pieces.next(100), "");
        }
    }
}

#[test]
fn a_target_names_the_same_page_everywhere() {
    let one: Synthetic = "/page?images=3&seed=9&delay_ms=4".parse().unwrap();
    assert_eq!(one.target().parse(), Ok(one));
    assert_eq!(one.html(), one.html());
    assert_ne!(one.html(), Synthetic { seed: 10, ..one }.html());
    assert_eq!("/page".parse(), Ok(Synthetic::default()));
    let empty: Synthetic = "/page?images=0".parse().unwrap();
    assert_eq!(empty.page(&origin()).unwrap().resources().len(), 1);
}

#[test]
fn a_bad_query_says_what_is_expected() {
    let page = |target: &str| target.parse::<Synthetic>().unwrap_err().to_string();
    assert_eq!(
        page("/page?image=3"),
        "unknown parameter `image`; known are images, bytes, seed, delay_ms, image_delay_ms, css, imports, css_bytes, \
         scripts, async, defer, modules, script_bytes, fonts, font_bytes, below_fold, hero, hero_high"
    );
    assert_eq!(
        page("/page?images=100001"),
        "images=100001: a whole number from 0 to 100000 is expected"
    );
    assert_eq!(page("/page?bytes=+5"), "bytes=+5: a whole number from 0 to 1073741824 is expected");
    assert_eq!(page("/pages"), "`/pages` is neither /page nor /image/NUMBER");
    assert!("/image/x".parse::<SyntheticImage>().is_err());
    assert!("/image/1?bytes=".parse::<SyntheticImage>().is_err());
}

#[test]
fn images_of_one_page_have_different_bytes() {
    let html = Synthetic::default().html();
    let seeds: BTreeSet<u64> = Scanner::new()
        .feed(html.as_bytes())
        .iter()
        .map(|found| found.reference.parse::<SyntheticImage>().unwrap().seed.0)
        .collect();
    assert_eq!(seeds.len(), 50);
}

#[test]
fn an_image_is_a_png_of_exactly_its_bytes_and_noise_where_a_png_has_no_room() {
    for bytes in [0, 1, 199, 200, 201, 5_000, 70_000] {
        let image: SyntheticImage = format!("/image/7?bytes={bytes}&v=1f").parse().unwrap();
        let body = part::tests::bytes_of(&image.pieces());
        assert_eq!(body.len(), bytes);
        let is_png = bytes >= 200;
        assert_eq!(body.starts_with(b"\x89PNG\r\n\x1a\n"), is_png, "{bytes} bytes");
        assert_eq!(image.media_type(), if is_png { "image/png" } else { "image/avif" });
        let other: SyntheticImage = format!("/image/7?bytes={bytes}&v=2f").parse().unwrap();
        assert!(bytes < 4 || part::tests::bytes_of(&other.pieces()) != body, "{bytes} bytes");
    }
}

const LATE_HERO: &str =
    "/page?images=0&bytes=60000&css=1&scripts=1&async=1&defer=1&below_fold=7&hero=60000";

#[test]
fn a_page_without_parts_is_byte_for_byte_what_it_always_was() {
    let page: Synthetic = "/page?images=2&bytes=5000&seed=1&image_delay_ms=7".parse().unwrap();
    assert_eq!(
        page.html(),
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>2 images of 5 kB</title>\n</head>\n\
         <body>\n<img src=\"/image/0?bytes=5000&amp;v=3a186947b515b067&amp;delay_ms=7\" alt=\"\">\n\
         <img src=\"/image/1?bytes=5000&amp;v=ea5bd2c91c62198c&amp;delay_ms=7\" alt=\"\">\n</body>\n</html>\n"
    );
    assert_eq!(page.target(), "/page?images=2&bytes=5000&seed=1&image_delay_ms=7");
}

#[test]
fn a_page_with_a_late_hero_has_its_blockers_first_and_its_hero_last() {
    let synthetic: Synthetic = LATE_HERO.parse().unwrap();
    assert_eq!(synthetic.target().parse(), Ok(synthetic));
    let page = synthetic.page(&origin()).unwrap();
    let rest = &page.resources()[1..];
    let blocks: Vec<_> = rest.iter().map(|resource| resource.blocks).collect();
    assert_eq!(
        blocks[..4],
        [Blocks::Painting, Blocks::Parsing, Blocks::Nothing, Blocks::DomContentLoaded]
    );
    assert!(rest[4..11].iter().all(|image| image.fold == Fold::Below));
    let hero = rest.last().unwrap();
    assert_eq!((hero.fold, hero.pixels, hero.body.0), (Fold::Above, Some(240_000), 60_000));
    let html = synthetic.html();
    assert!(html[..page.body_at().0 as usize].ends_with("<body class=\"hero\">"));
}

#[test]
fn a_hero_with_fetchpriority_high_is_raised_by_its_markup_and_needs_a_hero() {
    let synthetic: Synthetic = format!("{LATE_HERO}&hero_high=1").parse().unwrap();
    assert_eq!(synthetic.target().parse(), Ok(synthetic));
    let page = synthetic.page(&origin()).unwrap();
    let hints: Vec<Hint> = page.resources().iter().map(|resource| resource.hint).collect();
    let (hero, rest) = hints.split_last().unwrap();
    assert_eq!(*hero, Hint::Raised);
    assert!(!rest.contains(&Hint::Raised), "{rest:?}");
    let error = "/page?css=1&hero_high=1".parse::<Synthetic>().unwrap_err().to_string();
    assert_eq!(error, "hero_high: there is no hero");
}

#[test]
fn a_document_with_parts_in_pieces_is_the_document() {
    let page: Synthetic = LATE_HERO.replace("images=0", "images=11").parse().unwrap();
    let mut pieces = SyntheticHtml::new(&page);
    assert_eq!(pieces.left(), page.html().len() as u64);
    let mut all = String::new();
    while pieces.left() > 0 {
        all.push_str(&pieces.next(100));
    }
    assert_eq!(all, page.html());
}

#[test]
fn parts_that_do_not_go_together_are_refused() {
    for (query, words) in [
        ("css=21", "css=21: a whole number from 0 to 20"),
        ("imports=1", "a style sheet imports others"),
        ("css=1&css_bytes=4999", "5000 to 16777216"),
        ("hero=199", "200 to"),
        ("css=1&bytes=100", "images that are painted"),
        ("below_fold=101", "0 to 100"),
    ] {
        let error = format!("/page?{query}").parse::<Synthetic>().unwrap_err().to_string();
        assert!(error.contains(words), "{query}: {error}");
    }
}

#[test]
fn the_parameter_that_makes_a_url_new_changes_nothing() {
    let page: Synthetic = "/page?images=3&wirelap-run=17".parse().unwrap();
    assert_eq!(page, "/page?images=3".parse().unwrap());
}
