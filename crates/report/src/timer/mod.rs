//! The page timer: one HTML file that times two pages of the server that it lies on, in the browser that opens it. The
//! scripts judge by a port of `study`'s statistics, which a test holds to the same verdicts. The file is what this module
//! joins from its parts, and nothing else: it loads no other file.

mod terminal;
pub(crate) mod words;

pub use terminal::{timer_csv, timer_terminal};

/// The whole page; `version` is wirelap's.
pub fn timer_page(version: &str) -> String {
    let parts = [
        ("{{page.css}}", include_str!("../html/page.css")),
        ("{{timer.css}}", include_str!("timer.css")),
        ("{{statistics.js}}", include_str!("statistics.js")),
        ("{{sampler.js}}", include_str!("sampler.js")),
        ("{{run.js}}", include_str!("run.js")),
        ("{{page.js}}", include_str!("page.js")),
        // Last, as a script holds it too.
        ("{{version}}", version),
    ];
    let page = include_str!("page.html").to_owned();
    parts.iter().fold(page, |page, (name, text)| page.replace(name, text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_loads_nothing() {
        let page = timer_page("9.8.7");
        assert!(!page.contains("{{"), "a part is missing");
        assert_eq!(page.matches("9.8.7").count(), 2);
        // The one script ends where it should: no string of it ends it.
        assert_eq!(page.matches("</script>").count(), 1);
        for foreign in ["<script src", "@import", "url(", "<img", "//cdn"] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}
