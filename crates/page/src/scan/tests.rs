//! What is found in documents, and that splits do not matter.

use super::*;
use proptest::prelude::*;

fn references(html: &str) -> Vec<String> {
    Scanner::new().feed(html.as_bytes()).into_iter().map(|found| found.reference).collect()
}

#[test]
fn images_scripts_and_style_sheets_are_found() {
    let html = r#"<!DOCTYPE html><HTML><link rel="preload stylesheet" href=a.css>
        <script src='b.js' async></script><link rel=icon href=no.ico>
        <link as=font rel=preload href="f.woff2" crossorigin>
        <IMG alt="a > b" src = "c.png?x=1&amp;y=&#50;"><img src=d.png/><script nomodule src=no.js></script>
        <script type="application/json" src=no.json></script><input type=image src=e.gif>"#;
    let found = Scanner::new().feed(html.as_bytes());
    let short: Vec<_> = found.iter().map(|f| (f.reference.as_str(), f.kind, f.hint)).collect();
    assert_eq!(
        short,
        [
            ("a.css", Kind::Stylesheet, Hint::Preloaded),
            ("b.js", Kind::Script, Hint::Lowered),
            ("f.woff2", Kind::Font, Hint::Preloaded),
            ("c.png?x=1&y=2", Kind::Image, Hint::None),
            ("d.png/", Kind::Image, Hint::None),
            ("e.gif", Kind::Image, Hint::None),
        ]
    );
}

#[test]
fn how_something_is_fetched_is_read_from_its_element() {
    let mode = |html: &str| {
        let [found] = &Scanner::new().feed(html.as_bytes())[..] else { panic!("{html}") };
        let FetchMode { cross_origin, integrity, purpose } = found.mode.clone();
        (cross_origin, integrity.unwrap_or_default(), purpose)
    };
    use CrossOrigin::{Anonymous, NoCors, UseCredentials};
    use Purpose::{ModulePreload, Preload, Use, UseAsModule};
    for (html, cross_origin, integrity, purpose) in [
        ("<script src=a.js>", NoCors, "", Use),
        ("<script src=a.js crossorigin integrity=' sha256-AA= '>", Anonymous, "sha256-AA=", Use),
        ("<script crossorigin=Use-Credentials src=a.js>", UseCredentials, "", Use),
        ("<script src=a.js crossorigin=never integrity=''>", Anonymous, "", Use),
        ("<script async fetchpriority=low type=module src=a.js>", NoCors, "", UseAsModule),
        ("<img src=a.png crossorigin=anonymous integrity=sha256-AA=>", Anonymous, "", Use),
        ("<input type=image src=a.png crossorigin>", NoCors, "", Use),
        ("<link rel=stylesheet href=a.css crossorigin>", Anonymous, "", Use),
        ("<link rel='preload stylesheet' as=style href=a.css>", NoCors, "", Use),
        ("<link rel=preload as=style fetchpriority=high href=a.css>", NoCors, "", Preload),
        ("<link rel=modulepreload href=a.js>", NoCors, "", ModulePreload),
    ] {
        assert_eq!(mode(html), (cross_origin, integrity.to_owned(), purpose), "{html}");
    }
}

#[test]
fn what_is_only_text_is_not_found() {
    for html in [
        "<!-- <img src=x> -->",
        "<!--><!-- > <img src=x> -->",
        "<script>document.write('<img src=x>')</script>",
        "<style>/* <img src=x> */</STYLE >",
        "<noscript><img src=x></noscript>",
        "<textarea></text><img src=x></textarea>",
        "< img src=x>",
        "</img src=x>",
        "<p title='<img src=x>'>",
        "<img alt=src>",
        "<img src=''>",
    ] {
        assert_eq!(references(html), [""; 0], "{html}");
    }
}

#[test]
fn text_ends_where_html_says() {
    for html in [
        "<!--><img src=x>",
        "<!-- a --><img src=x>",
        "<!---><img src=x>",
        "<script></scrip</script><img src=x>",
        "<title></title ><img src=x>",
        "<style></style/><img src=x>",
        "<<img src=x>",
        "<p class=a\"b><img src=x>",
        "a <b <img src=y><img src=x>",
    ] {
        assert_eq!(references(html), ["x"], "{html}");
    }
}

#[test]
fn the_offset_is_that_behind_the_tag() {
    let html = "<p>ü</p><img src=x>tail";
    let found = Scanner::new().feed(html.as_bytes());
    assert_eq!(found[0].offset as usize, html.find("tail").unwrap());
}

#[test]
fn an_overlong_tag_is_skipped_to_its_end() {
    let html = format!("<img alt=\"{}>\" src=no><img src=x>", "a".repeat(LONGEST_TAG));
    assert_eq!(references(&html), ["x"]);
}

#[test]
fn the_first_base_is_kept() {
    let mut scanner = Scanner::new();
    scanner.feed(b"<base target=_top><base href='/deep/'><base href='/no/'>");
    assert_eq!(scanner.base(), Some("/deep/"));
}

proptest! {
    #[test]
    fn splits_do_not_change_what_is_found(
        pieces in proptest::collection::vec(prop_oneof![
            Just("<img src=a>".as_bytes().to_vec()), Just(b"<script src='b' ".to_vec()),
            Just(b"<!--".to_vec()), Just(b"-->".to_vec()), Just(b"</script>".to_vec()),
            Just(b"\"".to_vec()), Just(b">".to_vec()), Just(b"<link rel=stylesheet href=&#".to_vec()),
            proptest::collection::vec(any::<u8>(), 0..20),
        ], 0..30),
        cut in 1_usize..9,
    ) {
        let html = pieces.concat();
        let whole = Scanner::new().feed(&html);
        let mut scanner = Scanner::new();
        let split: Vec<_> = html.chunks(cut).flat_map(|part| scanner.feed(part)).collect();
        prop_assert_eq!(whole, split);
    }
}
