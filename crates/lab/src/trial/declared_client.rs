//! What a declared client is asked for by a contender and its workload, or why it cannot do it. All of this follows from
//! the experiment and the declaration alone: a race tells it beforehand, and each trial holds to it.

use crate::trial::browser_visit;
use crate::trial::task::CallPattern;
use study::experiment::{Contender, EchoPattern, Side, Tls, WorkloadKind};
use subject::{ClientDeclaration, Lacking, contract};

/// What the client is asked for, in the contract's words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) workload: contract::Workload,
    pub(crate) transport: contract::Transport,
    pub(crate) pattern: contract::Pattern,
}

impl Asked {
    /// What `contender` asks of its client for a workload of this kind. The error says what the client cannot do.
    pub(crate) fn of(
        client: &ClientDeclaration,
        contender: &Contender,
        kind: &WorkloadKind,
    ) -> Result<Self, Lacking> {
        if let WorkloadKind::Page(page) = kind {
            client.tells(page.metric)?;
        }
        let transport = contract::Transport::of(contender.transport.protocol());
        let (Some(workload), Some(transport)) = (workload(kind), transport) else {
            return Err(no_word(client));
        };
        let pattern = pattern(kind).ok_or_else(|| no_mixed_calls(client))?;
        let is_browser = client.is_browser();
        if browser_visit::is_asked_for(contender) && !is_browser {
            return Err(no_visit(client));
        }
        client.supports(transport, workload)?;
        if is_browser && is_set(contender.settings.client) {
            return Err(no_side(client));
        }
        if is_browser && contender.tls != Tls::None && contender.service().is_some() {
            return Err(no_trust(client));
        }
        Ok(Self { workload, transport, pattern })
    }
}

/// A kind of workload in the contract's words; None where it has none.
fn workload(kind: &WorkloadKind) -> Option<contract::Workload> {
    match kind {
        WorkloadKind::Download(_) => Some(contract::Workload::Download),
        WorkloadKind::Calls(_) => Some(contract::Workload::Calls),
        WorkloadKind::Page(_) | WorkloadKind::Har(_) => Some(contract::Workload::Page),
        WorkloadKind::Echo(_) => Some(contract::Workload::Echo),
        WorkloadKind::Stream(_) => None,
    }
}

/// A workload's pattern in the contract's words; None where it has none.
fn pattern(kind: &WorkloadKind) -> Option<contract::Pattern> {
    match kind {
        WorkloadKind::Calls(calls) => CallPattern::from(calls.pattern).in_contract(),
        WorkloadKind::Echo(echo) => Some(match echo.pattern {
            EchoPattern::Serial => contract::Pattern::Serial,
            EchoPattern::Parallel => contract::Pattern::Parallel,
        }),
        WorkloadKind::Download(_)
        | WorkloadKind::Page(_)
        | WorkloadKind::Har(_)
        | WorkloadKind::Stream(_) => Some(contract::Pattern::Parallel),
    }
}

/// Whether a client's side is to send or acknowledge in another way than by itself. Browsers offer compression in any case.
fn is_set(side: Side) -> bool {
    Side { deflate: Side::default().deflate, ..side } != Side::default()
}

fn lacking(reason: String, remedy: &str) -> Lacking {
    Lacking { reason, remedy: remedy.to_owned() }
}

fn no_word(client: &ClientDeclaration) -> Lacking {
    let reason = format!(
        "{} is asked for fetches and messages, and not for streams or for a WebSocket over HTTP/2 or HTTP/3",
        client.name
    );
    lacking(reason, FOR_THIS_WORKLOAD)
}

fn no_mixed_calls(client: &ClientDeclaration) -> Lacking {
    let reason = format!("{} is asked for calls in one pattern, and these are mixed", client.name);
    lacking(reason, FOR_THIS_WORKLOAD)
}

const FOR_THIS_WORKLOAD: &str = "leave the contender's client away for this workload";

fn no_visit(client: &ClientDeclaration) -> Lacking {
    lacking(
        format!(
            "{} makes no visit before its work: browsers and wirelap's own client do",
            client.name
        ),
        "leave `temperature`, `next_view` and `first_visit` away, or the contender's client",
    )
}

fn no_side(browser: &ClientDeclaration) -> Lacking {
    let reason = format!(
        "{} sends and acknowledges in its own way: `client_nodelay`, `client_quickack` and `client_writes` are not for it",
        browser.name
    );
    lacking(reason, "leave them away, or the contender's client")
}

fn no_trust(browser: &ClientDeclaration) -> Lacking {
    lacking(
        format!("{} trusts no certificate of a service that runs already", browser.name),
        "leave the contender's client away, or race over http/1.1 without TLS",
    )
}
