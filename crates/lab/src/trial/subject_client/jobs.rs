//! The job of each process of a subject: a trial in the contract's words. Nothing here does IO.

use super::{FILM, OUTPUT, ROOT};
use crate::trial::declared_client::Asked;
use crate::trial::echo::EchoTask;
use crate::trial::job::TrialOrder;
use crate::trial::own_calls::CallBody;
use crate::trial::site_contents::SiteReplay;
use crate::trial::task::Task;
use crate::trial::{browser_visit, capture};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use study::experiment::{Contender, Processes, Settings, Tls, Transport};
use subject::contract::{self, Fetch, Job, Message, ReceiveWindows};

/// How the subject does what it is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner<'a> {
    /// Fetches that it makes before its work counts.
    pub(super) warmup: u32,
    /// What a browser gets; None: the subject is none.
    pub(super) browser: Option<BrowserJob<'a>>,
}

/// What the job of a browser has beside another's.
#[derive(Debug, Clone, Copy)]
pub(super) struct BrowserJob<'a> {
    /// What it trusts servers by, in Base64.
    pub(super) public_key: &'a str,
    /// Whether it films the page.
    pub(super) films: bool,
    /// The recorded site that it loads.
    pub(super) site: Option<&'a SiteReplay>,
}

/// One job for each process.
pub(super) fn jobs(order: &TrialOrder, task: &Task, asked: Asked, how: Manner<'_>) -> Vec<Job> {
    let contender = &order.plan.cell.contender;
    let settings = &contender.settings;
    let is_clear = contender.tls == Tls::None;
    let is_download = matches!(task, Task::Download { .. });
    let site = how.browser.and_then(|browser| browser.site);
    let fetches = match site {
        Some(site) => (0..)
            .zip(site.fetches())
            .map(|(id, (url, _))| Fetch::get(id, url.to_string(), None))
            .collect(),
        None => fetches(order, task, is_clear),
    };
    let origin = fetches.first().map(Fetch::origin).unwrap_or_default();
    let receive_windows = receive_windows(contender);
    let contract = match fetches.iter().all(Fetch::is_plain_get) {
        _ if receive_windows.is_some() => contract::CONTRACT_WITH_WINDOWS,
        true => contract::CONTRACT,
        false => contract::CONTRACT_WITH_REQUESTS,
    };
    let whole = Job {
        contract,
        workload: asked.workload,
        transport: asked.transport,
        tls: contender.tls,
        negotiation: settings.negotiation,
        pattern: asked.pattern,
        connections: connections(task).unwrap_or(settings.connections),
        keep_alive: settings.keep_alive,
        resumption: settings.resumption && !is_clear,
        receive_windows,
        trust: (!is_clear).then(|| order.scratch.join(ROOT)),
        public_keys: how
            .browser
            .filter(|_| !is_clear)
            .map(|browser| browser.public_key.to_owned())
            .into_iter()
            .collect(),
        earlier: browser_visit::earlier(contender, task, origin),
        alt_svc: browser_visit::alt_svc(contender, origin),
        film: how.browser.filter(|browser| browser.films).map(|_| order.scratch.join(FILM)),
        replay: site.map(|site| contract::Replay { epoch_ms: site.epoch_ms }),
        output: is_download.then(|| order.scratch.join(OUTPUT)),
        key_log: (!is_clear).then(|| capture::near_keys(order)),
        warmup: how.warmup,
        timeout_ms: order.plan.timeout.as_millis() as u64,
        fetches,
    };
    match task {
        Task::Download { processes: Processes::Each, .. } => {
            let one = |fetch: &Fetch| Job { fetches: vec![fetch.clone()], ..whole.clone() };
            whole.fetches.iter().map(one).collect()
        }
        _ => vec![whole],
    }
}

/// The contender's receive windows where they are not the usual ones; None leaves them to the subject, or its protocol has none.
fn receive_windows(contender: &Contender) -> Option<ReceiveWindows> {
    let usual = Settings::usual(contender.transport);
    let settings = &contender.settings;
    let is_set = settings.stream_window != usual.stream_window
        || settings.connection_window != usual.connection_window;
    (is_set && contender.transport.has_receive_windows()).then_some(ReceiveWindows {
        stream: settings.stream_window.0 as u32,
        connection: settings.connection_window.0 as u32,
    })
}

/// What the workload says of connections; None leaves it to the contender.
fn connections(task: &Task) -> Option<u32> {
    match task {
        Task::Download { connections, .. } => *connections,
        Task::Calls { .. } | Task::Page { .. } | Task::Echo(_) | Task::Stream(_) => None,
    }
}

/// Bodies that stand in the experiment, and the files that the subject finds them in.
pub(super) fn bodies(order: &TrialOrder, task: &Task) -> BTreeMap<String, PathBuf> {
    let Task::Calls { calls, .. } = task else { return BTreeMap::new() };
    let texts: BTreeSet<&String> = calls
        .iter()
        .filter_map(|call| match &call.own.as_ref()?.body {
            CallBody::Text(text) => Some(text),
            CallBody::None | CallBody::File(_) => None,
        })
        .collect();
    let file =
        |(nth, text): (usize, &String)| (text.clone(), order.scratch.join(format!("body-{nth}")));
    texts.into_iter().enumerate().map(file).collect()
}

fn fetches(order: &TrialOrder, task: &Task, is_clear: bool) -> Vec<Fetch> {
    if let Task::Echo(echo) = task {
        return messages(echo, order.plan.cell.contender.transport, is_clear);
    }
    let mut fetches = plain_fetches(task, is_clear);
    let Task::Calls { calls, .. } = task else { return fetches };
    let files = bodies(order, task);
    for (fetch, call) in fetches.iter_mut().zip(calls) {
        let Some(own) = call.own.as_ref().filter(|own| !own.is_plain_get()) else { continue };
        fetch.method = Some(own.method.clone());
        fetch.headers = own.headers.iter().cloned().collect();
        fetch.body_file = match &own.body {
            CallBody::None => None,
            CallBody::Text(text) => files.get(text).cloned(),
            CallBody::File(file) => Some(file.clone()),
        };
    }
    fetches
}

/// The messages of an echo, as requests, or behind the opening of the WebSocket that takes them.
fn messages(echo: &EchoTask, transport: Transport, is_clear: bool) -> Vec<Fetch> {
    let secured = |url: &page::Url| {
        let scheme = if is_clear { page::Scheme::Http } else { page::Scheme::Https };
        page::Url { scheme, ..url.clone() }.to_string()
    };
    // A browser's scheme of WebSockets (RFC 6455 §3).
    let socket = secured(&echo.socket).replacen("http", "ws", 1);
    let message = |(id, message): (u32, &crate::trial::echo::EchoMessage)| {
        let is_socket = transport.is_web_socket();
        let url = if is_socket { socket.clone() } else { secured(&message.url) };
        let text = (is_socket || message.posted).then(|| message.text.clone());
        let message = Some(Message { text, answer: message.answer.clone() });
        Fetch { message, ..Fetch::get(id, url, None) }
    };
    match transport.is_web_socket() {
        true => std::iter::once(Fetch::get(0, socket.clone(), None))
            .chain((1..).zip(&echo.messages).map(message))
            .collect(),
        false => (0..).zip(&echo.messages).map(message).collect(),
    }
}

fn plain_fetches(task: &Task, is_clear: bool) -> Vec<Fetch> {
    let scheme = if is_clear { page::Scheme::Http } else { page::Scheme::Https };
    let is_download = matches!(task, Task::Download { .. });
    let fetch = |(id, (mut url, _)): (u32, (page::Url, Option<u64>))| {
        url.scheme = scheme;
        Fetch::get(id, url.to_string(), is_download.then(|| id.to_string()))
    };
    (0..).zip(task.bodies()).map(fetch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::job::tests::order;

    const DOWNLOAD: &str = "kind = \"download\"\nfiles = [\"1MB\"]\ncount = 3";

    fn told(workload: &str, contender: &str) -> Vec<Job> {
        let order = order(workload, contender);
        let seed = unit::Seed(order.plan.seed);
        let task = Task::of(&order.plan.cell, &order.inputs, seed).unwrap();
        let transport = order.plan.cell.contender.transport.protocol();
        let asked = Asked {
            workload: contract::Workload::Download,
            transport: contract::Transport::of(transport).unwrap(),
            pattern: contract::Pattern::Parallel,
        };
        jobs(&order, &task, asked, Manner { warmup: 0, browser: None })
    }

    #[test]
    fn a_client_that_takes_a_process_for_each_file_is_told_one_at_a_time() {
        let jobs = told(&format!("{DOWNLOAD}\nprocesses = \"each\""), "transport = \"h2\"");
        assert_eq!(jobs.len(), 3);
        assert!(jobs.iter().all(|job| job.fetches.len() == 1 && job.output.is_some()));
        let ids: Vec<u32> = jobs.iter().map(|job| job.fetches[0].id).collect();
        assert_eq!(ids, [0, 1, 2]);
        assert_eq!(told(DOWNLOAD, "transport = \"h2\"").len(), 1);
    }

    #[test]
    fn windows_that_a_contender_sets_are_told_where_its_protocol_has_any() {
        let turned = |transport: &str, set: &str| {
            let contender = format!("transport = \"{transport}\"\nsettings = {{ {set} }}");
            let job = told(DOWNLOAD, &contender).remove(0);
            (job.contract, job.receive_windows)
        };
        let set = "stream_window = \"100kB\", connection_window = \"200kB\"";
        let windows = ReceiveWindows { stream: 100_000, connection: 200_000 };
        assert_eq!(turned("h2", set), (3, Some(windows)));
        assert_eq!(turned("h3", set), (3, Some(windows)));
        assert_eq!(turned("http/1.1", "stream_window = \"100kB\""), (1, None));
        let usual = &told(DOWNLOAD, "transport = \"h2\"")[0];
        assert_eq!((usual.contract, usual.receive_windows), (1, None));
    }

    #[test]
    fn over_clear_connections_nothing_is_trusted_and_no_secret_is_kept() {
        let clear = &told(DOWNLOAD, "transport = \"http/1.1\"\ntls = \"none\"")[0];
        assert!(clear.trust.is_none() && clear.key_log.is_none() && !clear.resumption);
        assert!(clear.fetches[0].url.starts_with("http://"), "{}", clear.fetches[0].url);
        let secure = &told(DOWNLOAD, "transport = \"http/1.1\"\ntls = \"1.3\"")[0];
        assert!(secure.trust.is_some() && secure.key_log.is_some());
        assert!(secure.fetches[0].url.starts_with("https://"), "{}", secure.fetches[0].url);
    }
}
