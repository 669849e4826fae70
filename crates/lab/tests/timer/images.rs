//! What browsers make of the images of synthetic pages.

use crate::bench::Bench;
use crate::browser::{Browser, start};
use crate::site::Site;
use serde_json::{Value, json};
use std::time::Duration;

/// The widths of the images of a page, 0 where the browser could decode nothing of one; once all are whole.
fn widths(browser: &mut dyn Browser, url: &str) -> Value {
    browser.open(url);
    let seen = format!(
        "return location.href == '{url}' && document.readyState == 'complete'
           ? [...document.images].map(image => image.naturalWidth) : null"
    );
    for _ in 0..100 {
        let widths = browser.evaluate(&seen);
        if !widths.is_null() {
            return widths;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{url} is never whole");
}

#[test]
fn browsers_decode_plain_images_of_200_bytes_and_more() {
    for name in ["chromium", "firefox"] {
        let bench = Bench::new();
        let Some(mut browser) = start(name, &bench) else { continue };
        let site = Site::start(&bench, &[]);
        for (bytes, width) in [
            (199, 0),
            (200, 120),
            (201, 120),
            (1_000, 120),
            (60_000, 120),
            (65_640, 120),
            (1_000_000, 120),
        ] {
            let page = format!("{}/page?images=2&bytes={bytes}", site.origin);
            let found = widths(browser.as_mut(), &page);
            assert_eq!(found, json!([width, width]), "{bytes} bytes in {name}");
        }
        let page = format!("{}/page?images=1&bytes=70000&below_fold=1&hero=200000", site.origin);
        assert_eq!(widths(browser.as_mut(), &page), json!([120, 600, 600]), "{name}");
    }
}
