//! The last part of a trial: from what was observed to its row. Nothing here starts, reads or waits.

use super::assets::{Assets, paint_metrics};
use super::audit;
use super::contender::{CarriedBy, terms};
use super::job::NearReport;
use super::observed::{Ends, Observed};
use super::outcome::{failed, unsaved_capture};
use super::task::Task;
use super::{Trial, earlier_visit, read_back, tcp_settings};
use crate::inputs::links;
use os::net::LinkCounters;
use secure::NO_VERSION;
use std::collections::BTreeMap;
use study::audit::{Audit, Trial as AuditedTrial};
use study::experiment::Tls;
use study::metric;
use study::outcome::Outcome;
use study::reconcile::{
    Finding, LinkFacts, asset_metrics, call_metrics, echo_metrics, put_cached, put_hints,
    stream_metrics, token_objection,
};
use study::record::{self, TrialRecord, without_figures};
use study::timeline::Timeline;
use trace::{PacketRecord, Protocol};

impl Trial<'_> {
    /// The row. When it was run, and for how long, the worker fills in.
    pub(super) fn judge(&self, observed: Observed) -> TrialRecord {
        let plan = || self.order.plan.clone();
        let link = link_counters(&observed.counters, observed.machine.dropped);
        let mut audit = audit::surroundings(&observed.machine, &observed.counters);
        let ends = match (observed.ends, observed.capture) {
            (Ok(ends), Ok(())) => ends,
            (Ok(_), Err(error)) => return without_figures(plan(), unsaved_capture(error), 0),
            (Err(outcome), _) => {
                // What broke the link may have failed the ends too.
                let outcome = audit.judge(outcome, self.audited(None));
                return TrialRecord { link, audit, ..without_figures(plan(), outcome, 0) };
            }
        };
        let mut packets = observed.packets;
        tcp_settings::forget(&mut packets, &ends.near().before);
        if let Some(began) = ends.near().began {
            earlier_visit::forget(&mut packets, began);
        }
        if let Some(next) = &ends.near().next {
            earlier_visit::forget_since(&mut packets, next.began);
        }
        // A log with gaps is no witness.
        let log = (observed.missed == 0).then_some(packets.as_slice());
        let mut settings = self.settings(&ends, observed.namespace_settings);
        settings.extend(observed.link_settings);
        if observed.missed > 0 {
            settings.insert("packets missing from the log".to_owned(), observed.missed.to_string());
        }
        let link_facts = self.link_facts(ends.near());
        let (mut finding, evidence) = ends.find(&self.order.plan.cell.contender, log, link_facts);
        let told = ends.near();
        match &self.setup.task {
            Task::Calls { .. } => finding.metrics.extend(call_metrics(&told.fetches)),
            Task::Echo(_) => finding.metrics.extend(echo_metrics(&told.fetches, &told.connections)),
            Task::Page { page, .. } => {
                let assets = Assets::of(page);
                finding.metrics.extend(asset_metrics(&told.fetches, |fetch| assets.find(fetch)));
                put_hints(&told.hints, &mut finding.metrics);
                put_cached(&ends.cached(&self.order.plan.cell.contender), &mut finding.metrics);
                finding.metrics.extend(told.paint.map(paint_metrics).unwrap_or_default());
            }
            Task::Stream(_) => {
                let one_way = self.network.forward.link.down.delay;
                let link = self.network.limits.then_some(one_way);
                let tokens = &told.tokens;
                let figures = stream_metrics(tokens, &told.fetches, &told.connections, link);
                finding.metrics.extend(figures);
                if let (Outcome::Measured, Some(reason)) =
                    (&finding.outcome, token_objection(tokens))
                {
                    finding.outcome = Outcome::Invalid { reason };
                }
            }
            Task::Download { .. } => {}
        }
        if let Some(Err(reason)) = told.next.as_ref().map(|next| &next.times)
            && finding.outcome == Outcome::Measured
        {
            finding.outcome = failed(reason);
        }
        if let Some(Ok(next)) = told.next.as_ref().map(|next| &next.times) {
            let millis = |span: std::time::Duration| span.as_secs_f64() * 1e3;
            finding.metrics.insert(metric::NEXT_LOAD_MS.to_owned(), millis(next.load));
            finding.metrics.insert(metric::NEXT_FIRST_BYTE_MS.to_owned(), millis(next.first_byte));
        }
        // What QUIC sends again is in new packets (RFC 9000 §13.3): the link cannot tell it.
        let may_be_quic = self.may_be_over_quic();
        // Of somebody else's client it is found by when its work began; the log may have a warm-up or a visit before that.
        let of_work = finding.metrics.remove(metric::RETRANSMITTED);
        if log.is_some() && !may_be_quic {
            let all = finding.packets.up.retransmitted + finding.packets.down.retransmitted;
            let again = of_work.unwrap_or(all as f64);
            finding.metrics.insert(metric::RETRANSMITTED.to_owned(), again);
        }
        let timeline = log.and_then(|log| Timeline::of(log, &ends.near().fetches, link_facts));
        let outcome = self.outcome(&finding, log, &mut settings);
        let outcome = self.audit(&ends, &finding, outcome, &mut audit);
        finding.metrics.extend(ends.metrics());
        let (near, cpu, resources) = (ends.near(), ends.cpu, ends.resources);
        TrialRecord {
            plan: plan(),
            outcome,
            started_unix_ms: 0,
            duration_ms: 0.0,
            metrics: finding.metrics,
            parts: finding.parts,
            fetches: near.fetches.clone(),
            connections: near.connections.clone(),
            next_connections: near.next.iter().flat_map(|next| next.connections.clone()).collect(),
            deliveries: ends.deliveries(),
            link,
            packets: finding.packets,
            timeline,
            settings,
            cpu,
            resources,
            evidence,
            audit,
            machine: None,
        }
    }

    /// What was set and read back, of the namespaces and of both ends.
    fn settings(
        &self,
        ends: &Ends,
        namespaces: BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let mut settings = namespaces;
        let near = ends.near();
        settings.extend(near.settings.clone());
        // Its connections over QUIC ended last.
        settings.extend(near.next.iter().flat_map(|next| next.settings.clone()));
        settings.extend(ends.far_settings.clone());
        settings.insert("cores".to_owned(), self.cores());
        let cell = &self.order.plan.cell;
        let by = match self.was_over_quic(ends.near()) {
            true => CarriedBy::Quic,
            false => CarriedBy::Tcp,
        };
        let terms = terms(&cell.contender, by, !links::is_loopback(&cell.link));
        settings.extend(terms.map(|terms| ("terms".to_owned(), terms)));
        settings
    }

    /// The finding's outcome, unless TCP did not do what the contender asked of it. What the wire shows of Fast Open
    /// joins the settings.
    fn outcome(
        &self,
        finding: &Finding,
        log: Option<&[PacketRecord]>,
        settings: &mut BTreeMap<String, String>,
    ) -> Outcome {
        let contender = &self.order.plan.cell.contender;
        let fast_open = log.and_then(|log| tcp_settings::seen(contender, log));
        if let Some((fact, _)) = &fast_open {
            settings.insert("near fast open".to_owned(), fact.clone());
        }
        if finding.outcome != Outcome::Measured {
            return with_versions(contender.tls, finding.outcome.clone());
        }
        let refused = read_back::refused(contender, settings);
        refused.or_else(|| fast_open?.1).unwrap_or(Outcome::Measured)
    }

    /// Adds the figures of both ends to the audit; the outcome, unless the audit makes it invalid.
    fn audit(
        &self,
        ends: &Ends,
        finding: &Finding,
        outcome: Outcome,
        audit: &mut Audit,
    ) -> Outcome {
        let figure = |name: &str| finding.metrics.get(name).copied();
        audit::note_ends(audit, ends, figure(metric::MEAN_MS));
        audit.judge(outcome, self.audited(figure(metric::LOAD_MS)))
    }

    fn audited(&self, load_ms: Option<f64>) -> AuditedTrial {
        let own_cores = self.network.has_own_core();
        AuditedTrial { load_ms, has_link: self.network.limits, own_cores }
    }

    /// Whether the contender asks for QUIC to carry the view that is judged, or allows it.
    fn may_be_over_quic(&self) -> bool {
        let contender = &self.order.plan.cell.contender;
        contender.transport.is_over_quic()
            && contender.settings.first_visit.carriers().contains(&Protocol::Http3)
    }

    /// Whether QUIC carried the view that is judged: which of a race's two did, only the fetches say.
    fn was_over_quic(&self, near: &NearReport) -> bool {
        let mut carried = near.fetches.iter().filter_map(|fetch| fetch.protocol.known());
        carried.next().map_or_else(|| self.may_be_over_quic(), Protocol::is_over_quic)
    }

    fn link_facts(&self, near: &NearReport) -> LinkFacts {
        let link = &self.network.forward.link;
        // Of TCP the log has what near says to the proxy: to near that is the far side.
        let is_split = !self.was_over_quic(near);
        let near_half = link.halves().filter(|_| is_split).map(|[near, _]| near);
        LinkFacts {
            rtt: near_half.as_ref().unwrap_or(link).rtt(),
            down: link.down.bottleneck.mean_rate(),
            up: link.up.bottleneck.mean_rate(),
        }
    }
}

/// `dropped` by the devices at both ends of the link.
fn link_counters(counters: &LinkCounters, dropped: u64) -> record::LinkCounters {
    let way = |way: os::net::WayCounters| record::DirectionCounters {
        packets: way.packets,
        bytes: way.bytes,
        lost: way.lost,
        queue_full: way.queue_full,
        aqm_dropped: way.aqm_dropped,
        policed: way.policed,
        blocked: way.blocked,
        marked: way.marked,
    };
    record::LinkCounters {
        down: way(counters.down),
        up: way(counters.up),
        kernel_drops: counters.unplanned() + dropped,
        lateness_max_us: counters.lateness.max().as_secs_f64() * 1e6,
        lateness_p99_us: counters.lateness.quantile_bound(0.99).as_secs_f64() * 1e6,
    }
}

/// A failure for want of a common version of TLS, with the version that was offered and what asks for another.
fn with_versions(tls: Tls, outcome: Outcome) -> Outcome {
    match (tls, outcome) {
        (Tls::V1_3, Outcome::Failed { reason }) if reason.contains(NO_VERSION) => {
            let remedy = "(1.3 alone); `tls = \"1.2\"` in the contender offers 1.2";
            Outcome::Failed { reason: format!("{reason} {remedy}") }
        }
        (_, outcome) => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_speaks_no_tls_1_3_is_told_with_what_was_offered_and_the_way_out() {
        let failed = |what: &str| Outcome::Failed { reason: format!("the alert {what}") };
        let Outcome::Failed { reason } = with_versions(Tls::V1_3, failed(NO_VERSION)) else {
            panic!("no failure")
        };
        assert!(
            reason.ends_with("offered (1.3 alone); `tls = \"1.2\"` in the contender offers 1.2")
        );
        assert_eq!(with_versions(Tls::V1_2, failed(NO_VERSION)), failed(NO_VERSION));
        assert_eq!(with_versions(Tls::V1_3, failed("other")), failed("other"));
    }
}
