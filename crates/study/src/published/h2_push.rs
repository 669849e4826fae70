//! `h2-push`: what its author found of push and of the server's own order of delivery. The article shows its times as a chart
//! only, so no ratio of ours is set beside one; each finding says which of ours it is judged by.

use super::check::{Check, Occurs, finding};
use super::{Ours, Published, PublishedFinding, Question, findings_alone};
use crate::comparison::Comparison;
use crate::metric;

const FILE: &str = include_str!("../../../../experiments/published/h2-push.toml");

pub(super) fn compare(ours: &Ours<'_>) -> Option<Published> {
    findings_alone(FILE, Judge { ours }.findings())
}

/// Our links, as `h2-push` names them.
const WITHOUT_PROXY: &str = "25ms";
const WITH_PROXY: &str = "25ms-proxy";

/// Our contenders with the other servers.
const SERVERS: [&str; 3] = ["nginx", "h2o", "caddy"];

struct Judge<'o, 'a> {
    ours: &'o Ours<'a>,
}

impl Judge<'_, '_> {
    /// One time of contender `a` over that of `b`, and what to call the ratio.
    fn ask(&self, metric: &str, link: &str, a: &str, b: &str) -> (String, Option<Comparison>) {
        let question = Question { workload: self.workload(), link, a, b };
        let comparison = (self.ours.ask_of)(metric, question);
        (format!("{metric} of {a} / {b} on {link}"), comparison)
    }

    fn first_paint(&self, a: &str, b: &str) -> (String, Option<Comparison>) {
        self.ask(metric::FIRST_PAINT_MS, WITHOUT_PROXY, a, b)
    }

    /// Whether the screen is blank for less time with push. Where the document comes last it is not blank at all, and there is
    /// no ratio.
    fn shorter_blank(&self) -> Check {
        let workload = self.workload();
        let question = Question { workload, link: WITHOUT_PROXY, a: "push", b: "nothing" };
        let blank = (self.ours.figures)(metric::BLANK_MS, question);
        if let Some(blank) = blank.as_deref()
            && !blank.is_empty()
            && blank.iter().all(|blank| *blank == 0.0)
        {
            return Check::occurs("a blank screen with push", Some(blank), Occurs::Never);
        }
        let (what, ours) = self.ask(metric::BLANK_MS, WITHOUT_PROXY, "push", "nothing");
        Check::faster(&what, ours.as_ref())
    }

    fn workload(&self) -> &str {
        self.ours.experiment.workloads.first().map_or("", |one| &one.name)
    }

    fn findings(&self) -> Vec<PublishedFinding> {
        let faster =
            |(what, ours): (String, Option<Comparison>)| Check::faster(&what, ours.as_ref());
        let slower = |(what, ours): (String, Option<Comparison>)| {
            Check::within(&what, ours.as_ref(), 1.0..f64::INFINITY)
        };
        let (reprioritised, both) = ("reprioritised", "push-reprioritised");
        let (on_top, changed) = self.first_paint(both, reprioritised);
        let servers = SERVERS.map(|server| {
            let (what, ours) = self.first_paint(server, "nothing");
            Check::within(&what, ours.as_ref(), 0.5..2.0).tested("from 0.5 to 2")
        });
        let (plain, without) = self.first_paint("push", "nothing");
        let (proxied, with) = self.ask(metric::FIRST_PAINT_MS, WITH_PROXY, "push", "nothing");
        vec![
            finding(
                "without push, reprioritisation starts rendering 50 ms earlier (2 round trips)",
                &[faster(self.first_paint(reprioritised, "nothing"))],
                "The rate of the article's path is not published, and it decides how long images stand in the way",
            ),
            finding(
                "push moves unload later (the assets go out before the HTML) and shortens the blank time between unload and first paint",
                &[
                    slower(self.ask(metric::UNLOAD_MS, WITHOUT_PROXY, "push", "nothing")),
                    self.shorter_blank(),
                ],
                "",
            ),
            finding(
                "push alone improves first paint a little",
                &[faster(self.first_paint("push", "nothing"))
                    .tested("below 1; the article gives no figure for \"a little\"")],
                "",
            ),
            finding(
                "push on top of reprioritisation changes nothing: the page needs about 10 round trips, and push can save one at most",
                &[Check::alike(&on_top, changed.as_ref())],
                "Here the page needs fewer round trips than there, so one weighs more",
            ),
            finding("servers differ by up to a factor of two in first paint", &servers, ""),
            finding(
                "hypothesis of its author: behind a TCP proxy that keeps much data in flight, push helps more, because round trips at the application get longer",
                &[Check::smaller(&proxied, with.as_ref(), &plain, without.as_ref())],
                "Our proxy ends TCP midway and keeps 1 MB in flight",
            ),
        ]
    }
}
