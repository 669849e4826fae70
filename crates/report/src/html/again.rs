//! How to repeat the run: the command, the seed, the machine and the versions.

use super::picture;
use crate::markup::Markup;
use crate::{Report, command, words};
use unit::ByteSize;

pub(super) fn again(m: &mut Markup, report: &Report<'_>) {
    let result = report.result;
    m.line("h2", &[], "Run it again");
    picture::command(m, "The same", &command::shell_line(&anew(&result.command_line)));
    picture::command(
        m,
        "Judge the rows anew",
        &command::shell_line(&["wirelap", "report", report.folder]),
    );
    picture::command(m, "Every trial as CSV", &command::csv(report.folder));
    if let Some(next) = report.next {
        picture::command(m, "Next", next);
    }
    m.element("dl", &[("class", &"host")], |m| {
        let host = &result.host;
        let mut fact = |name: &str, value: &str| {
            if !value.is_empty() {
                m.element("div", &[], |m| {
                    m.line("dt", &[], name);
                    m.line("dd", &[], value);
                });
            }
        };
        fact("seed", &result.seed.to_string());
        fact("started", &result.started);
        fact("wirelap", &result.version);
        result.machines.iter().for_each(|machine| fact(&machine.name, &words::machine(machine)));
        fact("system", &host.os);
        fact("kernel", &host.kernel);
        fact("processor", &format!("{} ({} cores usable)", host.cpu, host.cores));
        fact("memory", &ByteSize(host.memory_bytes).to_string());
        fact("ran as", if host.root { "root" } else { "an ordinary user" });
        host.more.iter().for_each(|(name, value)| fact(name, value));
        fact("intervals", &result.family.method);
    });
}

/// The command line that makes the run once more: its folder is there already, so another one is taken.
fn anew(command_line: &[String]) -> Vec<&str> {
    let mut words = command_line.iter().map(String::as_str);
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "--out" => drop(words.next()),
            _ if word.starts_with("--out=") => {}
            _ => kept.push(word),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_the_run_is_not_asked_for_again() {
        let line = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for given in ["wirelap race quick --out old --fast", "wirelap race quick --out=old --fast"]
        {
            assert_eq!(anew(&line(given)), ["wirelap", "race", "quick", "--fast"]);
        }
        assert_eq!(anew(&line("wirelap race quick")), ["wirelap", "race", "quick"]);
    }
}
