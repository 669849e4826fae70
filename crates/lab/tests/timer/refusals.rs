//! What the timer refuses, and what it says then.

use crate::bench::Bench;
use crate::browser::{Browser, ended, start, start_timing, time, until};
use crate::chromium::Chromium;
use crate::site::Site;
use std::time::{Duration, SystemTime};

const YEAR: Duration = Duration::from_secs(365 * 86_400);

const PAGE: &str = "<!doctype html><title>p</title><body>text</body>";
/// A page of which a browser would say that nobody sees it: where that is true no test can look.
const HIDDEN: &str = "<!doctype html><title>hidden</title><body>text<script>
  Object.defineProperty(document, 'hidden', { get: () => !window.seen });
  document.dispatchEvent(new Event('visibilitychange'));
  setTimeout(() => { window.seen = true; }, 100);
</script></body>";
/// It is gone before it is loaded.
const MOVES: &str =
    "<!doctype html><title>m</title><body>text<img src='/api?bytes=1&delay_ms=500'><script>
  setTimeout(() => location.replace('/p.html'), 50);
</script></body>";
/// Its image never ends while the page is up.
const ENDLESS: &str =
    "<!doctype html><title>p</title><body>text<img src='/api?bytes=1&delay_ms=20000'></body>";
const PAGES: [(&str, &str); 4] =
    [("p.html", PAGE), ("hidden.html", HIDDEN), ("moves.html", MOVES), ("endless.html", ENDLESS)];

/// What is said where `a` is timed against a page that is well.
fn alarm(browser: &mut dyn Browser, site: &Site, settings: &[(&str, &str)]) -> String {
    let usual = [("b", "/p.html"), ("runs", "2"), ("settle", "50"), ("timeout", "2")];
    let timed = time(browser, &site.timer(), &[&usual[..], settings].concat());
    assert_eq!(timed.state, "refused", "{timed:?}");
    timed.alarm
}

fn refuses(name: &str) {
    let bench = Bench::new();
    let Some(mut browser) = start(name, &bench) else { return };
    let site = Site::start(&bench, &PAGES);
    let mut said = |a: &str| alarm(browser.as_mut(), &site, &[("a", a)]);
    for (a, words) in [
        ("/none.html", "A: /none.html is answered with status 404."),
        ("http://192.0.2.1/", "A is at another origin (http://192.0.2.1)."),
        ("http://[", "A: this is no URL."),
        ("/hidden.html", "invalid 3 times: the pop-up was hidden."),
        ("/moves.html", "A: the page went on to another one by a script"),
        ("/endless.html", "A: no load event within 2 s."),
    ] {
        let alarm = said(a);
        assert!(alarm.contains(words), "{a}: {alarm}");
    }
}

#[test]
fn chromium_says_what_cannot_be_timed() {
    refuses("chromium");
}

#[test]
fn firefox_says_what_cannot_be_timed() {
    refuses("firefox");
}

/// A load is taken for cold only where the cache had no part in it.
fn knows_a_warm_cache(name: &str, age: Duration) {
    let bench = Bench::new();
    let Some(mut browser) = start(name, &bench) else { return };
    let site = Site::start(&bench, &[("p.html", PAGE), ("img.html", IMAGE), ("i.svg", SVG)]);
    // A file without a lifetime stays fresh for a tenth of its age (RFC 9111 §4.2.2): this one for long, or not at all.
    let image = std::fs::File::options().write(true).open(bench.path("site/i.svg")).unwrap();
    image.set_modified(SystemTime::now() - age).unwrap();
    let said = alarm(browser.as_mut(), &site, &[("a", "/img.html")]);
    assert!(said.contains("not cold: the browser’s cache took part in 1 of "), "{said}");
    assert!(said.contains("/i.svg") && said.contains("no-store"), "{said}");
    let warm =
        [("a", "/img.html"), ("b", "/p.html"), ("runs", "2"), ("settle", "50"), ("cache", "warm")];
    let timed = time(browser.as_mut(), &site.timer(), &warm);
    assert_eq!(timed.state, "done", "{timed:?}");
}

const IMAGE: &str = "<!doctype html><title>p</title><body>text<img src='/i.svg'></body>";
/// So small that the head of the server's 304 is larger.
const SVG: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'><rect width='10' height='10'/></svg>";

#[test]
fn chromium_knows_a_warm_cache() {
    knows_a_warm_cache("chromium", YEAR);
}

#[test]
fn chromium_knows_a_cache_that_only_asks() {
    knows_a_warm_cache("chromium", Duration::ZERO);
}

#[test]
fn firefox_knows_a_warm_cache() {
    // It tells nothing of what it only asked about.
    knows_a_warm_cache("firefox", YEAR);
}

#[test]
fn a_blocked_pop_up_is_said() {
    let bench = Bench::new();
    let Some(mut browser) = Chromium::start(&bench, &[]) else { return };
    let site = Site::start(&bench, &PAGES);
    browser.open(&format!("{}#a=/p.html&b=/p.html", site.timer()));
    until(&mut browser, "ready");
    // Without a user's click.
    browser.evaluate("document.querySelector('#form').requestSubmit()");
    let timed = ended(&mut browser);
    assert!(
        timed.alarm.contains("The browser blocked the pop-up. Allow pop-ups for 127.0.0.1:"),
        "{timed:?}"
    );
}

#[test]
fn a_run_that_is_stopped_keeps_its_whole_blocks() {
    let bench = Bench::new();
    let Some(mut browser) = start("chromium", &bench) else { return };
    let site = Site::start(&bench, &PAGES);
    let settings = [("a", "/p.html"), ("b", "/p.html"), ("runs", "500"), ("settle", "50")];
    start_timing(browser.as_mut(), &site.timer(), &settings);
    let blocks = "return wirelapTimer.result() ? wirelapTimer.result().rows.length : 0";
    for _ in 0..300 {
        if browser.evaluate(blocks).as_u64() >= Some(4) {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    browser.evaluate("document.querySelector('#stop').click()");
    let timed = ended(browser.as_mut());
    let rows = timed.download["rows"].as_array().unwrap();
    assert!(rows.len() >= 4 && rows.len().is_multiple_of(2) && rows.len() < 1000, "{}", rows.len());
    assert_eq!(timed.download["stopped"], true);
    assert_eq!((&*timed.state, timed.verdicts["load_ms"].as_str()), ("done", Some("undecided")));
}

#[test]
fn a_load_that_is_hidden_does_not_count_and_the_next_one_waits() {
    let bench = Bench::new();
    let Some(mut browser) = Chromium::start(&bench, &[]) else { return };
    let site = Site::start(&bench, &[]);
    let page = "/page?images=1&css=1&delay_ms=600";
    let settings = [("a", page), ("b", page), ("runs", "3"), ("settle", "50")];
    start_timing(&mut browser, &site.timer(), &settings);
    let says = |browser: &mut Chromium, id: &str, words: &str| {
        let text = format!("return document.querySelector('{id}').textContent");
        let is_said = (0..300).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            browser.evaluate(&text).as_str().unwrap().contains(words)
        });
        assert!(is_said, "{words} is never said");
    };
    says(&mut browser, "#count", "Block 2 of 3");
    // In the midst of its first load, whose server thinks 600 ms.
    std::thread::sleep(Duration::from_millis(300));
    browser.set_popup("minimized");
    says(&mut browser, "#status", "The pop-up is hidden. Bring it to the front");
    browser.set_popup("normal");
    let timed = ended(&mut browser);
    assert_eq!(timed.state, "done", "{timed:?}");
    let rows = timed.download["rows"].as_array().unwrap();
    let hidden = |row: &&serde_json::Value| row["outcome"]["reason"] == "the pop-up was hidden";
    let hidden: Vec<_> = rows.iter().filter(hidden).collect();
    assert!(hidden.len() == 1 && hidden[0]["block"] == 1, "{rows:?}");
    // Its block ran again, whole.
    let again = rows.iter().filter(|row| row["attempt"] == 1).collect::<Vec<_>>();
    assert_eq!(again.len(), 2, "{rows:?}");
    assert!(again.iter().all(|row| row["block"] == 1 && row["outcome"]["kind"] == "measured"));
}
