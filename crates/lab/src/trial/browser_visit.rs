//! What a browser does beside its work: the visit before it, by which it finds what its contender asks for, or the load after it
//! over HTTP/3. What was so, `study` judges by the server's log.

use crate::trial::task::Task;
use study::experiment::{Contender, FirstVisit, Temperature};
use subject::contract::{Discovery, EarlierVisit, Leaves};

/// Where wirelap's own origin answers a visit, and how it is asked to close the connection afterwards.
const PATH: &str = "/visit";
const CLOSING_PATH: &str = "/visit?close";

/// Whether a request is one of a visit.
pub(crate) fn is_path(path: &str) -> bool {
    path.starts_with(PATH)
}

/// Whether a contender's client makes one, where it is not wirelap's own.
pub(crate) fn is_asked_for(contender: &Contender) -> bool {
    let settings = &contender.settings;
    contender.client.is_some()
        && (settings.temperature != Temperature::Cold
            || settings.next_view.is_some()
            || discovery(contender) == Discovery::AltSvc)
}

/// How a contender's browser finds HTTP/3.
pub(crate) fn discovery(contender: &Contender) -> Discovery {
    match contender.settings.first_visit {
        FirstVisit::AltSvc => Discovery::AltSvc,
        _ => Discovery::Known,
    }
}

/// The visit of a contender's browser to the server at `origin`, such as `https://origin.test`; None: it makes none.
pub(crate) fn of(contender: &Contender, task: &Task, origin: &str) -> Option<EarlierVisit> {
    if !is_asked_for(contender) {
        return None;
    }
    let settings = &contender.settings;
    let page = settings.next_view.is_some() && matches!(task, Task::Page { .. });
    let connections = match contender.transport.protocol().multiplexes() {
        true => 1,
        false => settings.connections,
    };
    let opened = || (0..connections).map(|nth| format!("{origin}{PATH}?nth={nth}")).collect();
    // One is enough: the server closes all connections.
    let closed = || vec![format!("{origin}{CLOSING_PATH}")];
    let (asks, leaves) = match settings.temperature {
        Temperature::Cold if discovery(contender) == Discovery::AltSvc => {
            (closed(), Leaves::Browser)
        }
        Temperature::Cold => (Vec::new(), Leaves::Profile),
        Temperature::Resumed | Temperature::Early => (closed(), Leaves::Browser),
        // The connections of the page itself stand.
        Temperature::Open if page => (Vec::new(), Leaves::Browser),
        Temperature::Open => (opened(), Leaves::Browser),
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
        of(&order.plan.cell.contender, &task, "https://origin.test")
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
        assert_eq!((open.page, open.leaves), (false, Leaves::Browser));
        assert_eq!(open.asks, ["https://origin.test/visit?nth=0"]);
        let six = with("http/1.1", "temperature = \"open\"").unwrap();
        assert_eq!(six.asks.len(), 6);
        let resumed = with("h3", "temperature = \"resumed\", next_view = {}").unwrap();
        assert!(resumed.page && resumed.asks == ["https://origin.test/visit?close"]);
        let cold = with("h2", "next_view = {}").unwrap();
        assert_eq!((cold.page, cold.asks.len(), cold.leaves), (true, 0, Leaves::Profile));
        let warm = with("h2", "next_view = {}, temperature = \"open\"").unwrap();
        assert_eq!((warm.page, warm.asks.len(), warm.leaves), (true, 0, Leaves::Browser));
        assert!(with("h3", "first_visit = \"alt-svc\"").unwrap().asks[0].contains("close"));
    }
}
