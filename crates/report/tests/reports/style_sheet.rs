//! The style sheet: letters are legible on their ground in both themes (WCAG 2.2, 1.4.3).

use std::collections::BTreeMap;

const SHEET: &str = include_str!("../../src/html/page.css");

/// The colours that the `number`th `:root` sets, over those before it.
fn colours(number: usize) -> BTreeMap<String, [f64; 3]> {
    let mut colours = BTreeMap::new();
    for block in SHEET.split(":root {").skip(1).take(number) {
        let block = block.split('}').next().unwrap();
        for declaration in block.split(';') {
            let Some((name, value)) = declaration.split_once(':') else { continue };
            if let Some(hex) = value.trim().strip_prefix('#') {
                let wide: String = match hex.len() {
                    3 => hex.chars().flat_map(|c| [c, c]).collect(),
                    _ => hex.to_owned(),
                };
                let channel =
                    |i: usize| f64::from(u8::from_str_radix(&wide[i..i + 2], 16).unwrap()) / 255.0;
                colours.insert(name.trim().to_owned(), [channel(0), channel(2), channel(4)]);
            }
        }
    }
    colours
}

/// WCAG 2.2, "contrast ratio" and "relative luminance".
fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let luminance = |colour: [f64; 3]| {
        let linear =
            |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
        let [red, green, blue] = colour.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn letters_are_legible_in_light_and_dark() {
    for theme in [1, 2] {
        let colours = colours(theme);
        let letters = [
            "--text",
            "--muted",
            "--alarm",
            "--h1c-ink",
            "--h1t-ink",
            "--h2c-ink",
            "--h2t-ink",
            "--h3-ink",
            "--spc-ink",
            "--spt-ink",
            "--wsc-ink",
            "--wst-ink",
        ];
        for name in letters {
            for ground in ["--ground", "--soft"] {
                let contrast = contrast(colours[name], colours[ground]);
                assert!(contrast >= 4.5, "theme {theme}: {name} on {ground} has {contrast:.2}");
            }
        }
    }
}

#[test]
fn the_fills_are_okabe_and_itos() {
    let light = colours(1);
    for (name, expected) in [
        ("--h1c", "e69f00"),
        ("--h1t", "d55e00"),
        ("--h2c", "56b4e9"),
        ("--h2t", "0072b2"),
        ("--h3", "f0e442"),
        ("--spt", "009e73"),
        ("--wst", "cc79a7"),
    ] {
        let channel =
            |i: usize| f64::from(u8::from_str_radix(&expected[i..i + 2], 16).unwrap()) / 255.0;
        assert_eq!(light[name], [channel(0), channel(2), channel(4)], "{name}");
    }
}

/// The contents are one line there, which scrolls. Entries that shrink lie over each other.
#[test]
fn entries_of_the_contents_keep_their_width_on_a_phone() {
    let one_line = SHEET.split("nav ul { flex-wrap: nowrap; }").nth(1).unwrap();
    let entry = one_line.split("nav li {").nth(1).and_then(|rest| rest.split('}').next()).unwrap();
    for rule in ["flex: none;", "max-width: none;", "white-space: nowrap;"] {
        assert!(entry.contains(rule), "{entry}");
    }
}

/// A fold holds a section of the report. Other details are tables of a picture's figures.
#[test]
fn what_is_folded_on_screen_is_on_paper() {
    let print = SHEET.split("@media print {").nth(1).unwrap();
    let hidden: Vec<&str> = print
        .lines()
        .filter_map(|line| line.trim().strip_suffix("{ display: none; }"))
        .flat_map(|selectors| selectors.split(',').map(str::trim))
        .collect();
    assert!(hidden.contains(&"details:not(.fold)"), "{hidden:?}");
    assert!(!hidden.contains(&"details") && !hidden.contains(&".fold"), "{hidden:?}");
    assert!(print.contains("details::details-content { content-visibility: visible;"));
}
