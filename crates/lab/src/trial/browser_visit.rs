//! What a browser does beside its work: the visit before it, by which it finds what its contender asks for, or the load after it
//! over HTTP/3. What was so, `study` judges by the server's log.

use crate::trial::task::Task;
use study::experiment::{Contender, FirstVisit, Temperature};
use subject::contract::{EarlierVisit, Leaves};

/// Where wirelap's own origin answers a visit, and how it is asked to close the connection afterwards.
const PATH: &str = "/visit";
const CLOSING_PATH: &str = "/visit?close";

/// Whether a request is one of a visit.
pub(crate) fn is_path(path: &str) -> bool {
    path.starts_with(PATH)
}

/// Whether a contender's client makes one, where it is not wirelap's own.
pub(crate) fn is_asked_for(contender: &Contender) -> bool {
    is_earlier(contender) || finds_by_alt_svc(contender)
}

fn is_earlier(contender: &Contender) -> bool {
    let settings = &contender.settings;
    let is_warm = settings.temperature != Temperature::Cold || settings.next_view.is_some();
    contender.client.is_some() && is_warm
}

fn finds_by_alt_svc(contender: &Contender) -> bool {
    contender.client.is_some() && contender.settings.first_visit == FirstVisit::AltSvc
}

/// What a browser asks for between its two loads, where it finds HTTP/3 by Alt-Svc; None: it knows that `origin` speaks HTTP/3.
pub(crate) fn alt_svc(contender: &Contender, origin: &str) -> Option<String> {
    finds_by_alt_svc(contender).then(|| format!("{origin}{CLOSING_PATH}"))
}

/// The visit of a contender's browser to the server at `origin`, such as `https://origin.test`; None: it makes none.
pub(crate) fn earlier(contender: &Contender, task: &Task, origin: &str) -> Option<EarlierVisit> {
    if !is_earlier(contender) {
        return None;
    }
    let settings = &contender.settings;
    let page = settings.next_view.is_some() && matches!(task, Task::Page { .. });
    let connections = match contender.transport.protocol().multiplexes() {
        true => 1,
        false => settings.connections,
    };
    let (asks, leaves) = match settings.temperature {
        Temperature::Cold => (Vec::new(), Leaves::Files),
        // One is enough: the server closes all connections.
        Temperature::Resumed | Temperature::Early => {
            (vec![format!("{origin}{CLOSING_PATH}")], Leaves::Sessions)
        }
        // The connections of the page itself stand.
        Temperature::Open if page => (Vec::new(), Leaves::Connections),
        Temperature::Open => {
            let asked = (0..connections).map(|nth| format!("{origin}{PATH}?nth={nth}"));
            (asked.collect(), Leaves::Connections)
        }
    };
    let early_data = settings.temperature == Temperature::Early;
    Some(EarlierVisit { page, asks, early_data, leaves })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::job::tests::order;
    use std::path::Path;
    use unit::Seed;

    fn visit(contender: &str) -> Option<EarlierVisit> {
        let order = order("kind = \"page\"\nimages = 1\nbytes = 10", contender);
        let task = Task::of(&order.plan.cell, Path::new("."), Seed(1)).unwrap();
        earlier(&order.plan.cell.contender, &task, "https://origin.test")
    }

    #[test]
    fn each_setting_has_its_visit_and_a_cold_browser_none() {
        let with = |transport: &str, settings: &str| {
            visit(&format!(
                "transport = \"{transport}\"\nclient = \"chromium\"\nsettings = {{ {settings} }}"
            ))
        };
        assert_eq!(with("h2", ""), None);
        assert_eq!(visit("transport = \"h2\"\nsettings = { temperature = \"open\" }"), None);
        let open = with("h2", "temperature = \"open\"").unwrap();
        assert_eq!((open.page, open.leaves), (false, Leaves::Connections));
        assert_eq!(open.asks, ["https://origin.test/visit?nth=0"]);
        let six = with("http/1.1", "temperature = \"open\"").unwrap();
        assert_eq!(six.asks.len(), 6);
        let resumed = with("h3", "temperature = \"resumed\", next_view = {}").unwrap();
        assert!(resumed.page && resumed.asks == ["https://origin.test/visit?close"]);
        let cold = with("h2", "next_view = {}").unwrap();
        assert_eq!((cold.page, cold.asks.len(), cold.leaves), (true, 0, Leaves::Files));
        let warm = with("h2", "next_view = {}, temperature = \"open\"").unwrap();
        assert_eq!((warm.page, warm.asks.len(), warm.leaves), (true, 0, Leaves::Connections));
        assert_eq!(with("h3", "first_visit = \"alt-svc\""), None);
    }

    #[test]
    fn a_browser_that_finds_http3_by_alt_svc_asks_for_an_end_of_its_connections() {
        let order = |settings: &str| {
            let contender = format!("transport = \"h3\"\nclient = \"chromium\"{settings}");
            order("kind = \"page\"\nimages = 1\nbytes = 10", &contender)
        };
        let finding = order("\nsettings = { first_visit = \"alt-svc\" }");
        let asked = alt_svc(&finding.plan.cell.contender, "https://origin.test");
        assert_eq!(asked.as_deref(), Some("https://origin.test/visit?close"));
        assert_eq!(alt_svc(&order("").plan.cell.contender, "https://origin.test"), None);
    }
}
