//! Writes the report of a simulated run, to look at: `cargo run -p report --example sample -- report.html`.
//! With a second word, `troubled`, trials fail and a contender is unsupported; with `filmed`, browsers showed what they
//! loaded. The terminal's report goes to standard output.

#![allow(clippy::print_stdout)]

#[path = "../tests/simulated/mod.rs"]
#[allow(dead_code)]
mod simulated;

use simulated::Run;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "report.html".to_owned());
    let run = match arguments.next().as_deref() {
        Some("troubled") => Run::troubled(),
        Some("filmed") => Run::filmed(),
        _ => Run::clean(),
    };
    let style = report::Style { colour: report::Colour::On, width: 100 };
    print!("{}", report::terminal(&run.report(), style));
    std::fs::write(path, report::html(&run.report()))
}
