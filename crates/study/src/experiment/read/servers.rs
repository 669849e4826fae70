//! Who answers the contenders of an experiment's file. The one rule: what a service that already runs cannot do, or cannot
//! be set, is refused, or its rows would say that it had.

use super::super::contender::{Contender, Tls};
use super::super::file::{ContenderFile, TlsFile};
use super::super::one_or_table::ServerField;
use super::super::own_end::OwnSetting;
use super::super::service::{PortKind, RunningService, Server};
use super::super::workload::{Workload, WorkloadKind};
use super::{ExperimentError, Reader};
use toml::Spanned;

impl Reader<'_> {
    pub(super) fn server(&self, field: &Spanned<ServerField>) -> Result<Server, ExperimentError> {
        match &field.get_ref().server {
            Server::Named(name) => {
                let name = Spanned::new(field.span(), name.clone());
                self.named("server", &name).map(Server::Named)
            }
            Server::Running(service) => {
                service.check().map_err(|fault| {
                    let span = field.get_ref().span(fault.key).unwrap_or(field.span());
                    self.fault(span, fault.words)
                })?;
                Ok(Server::Running(service.clone()))
            }
        }
    }

    /// A contender with its own server, else with the experiment's `usual` one.
    pub(super) fn served_contender(
        &self,
        mut file: ContenderFile,
        usual: Option<&Spanned<ServerField>>,
        workloads: &[Workload],
    ) -> Result<Contender, ExperimentError> {
        if let (None, Some(usual)) = (&file.server, usual) {
            file.server = Some(usual.clone());
        }
        let span = file.server.as_ref().map_or(file.transport.span(), Spanned::span);
        let server = file.server.as_ref().map(|field| self.server(field)).transpose()?;
        let fault = |words: String| Err(self.fault(span.clone(), words));
        self.own_ends(&file, server.as_ref().unwrap_or(&Server::default()))?;
        let Some(Server::Running(service)) = server else {
            if let Some(words) = unanswered(workloads) {
                return fault(words);
            }
            return self.contender(file);
        };
        if let Some((key, words)) = cannot_serve(&file, &service, workloads) {
            let span = match key {
                "transport" => file.transport.span(),
                key => {
                    file.server.as_ref().and_then(|field| field.get_ref().span(key)).unwrap_or(span)
                }
            };
            return Err(self.fault(span, words));
        }
        let is_said = !matches!(file.tls, TlsFile::Auto);
        let contender = self.contender(file)?;
        let clashes = match service.port_kind() {
            Some(PortKind::Clear) => is_said && contender.tls != Tls::None,
            Some(PortKind::Tls) => is_said && contender.tls == Tls::None,
            None => false,
        };
        if clashes {
            return fault(format!("`{}` and `tls` say different things of the port", service.at));
        }
        Ok(if is_said { contender } else { contender.at(&service) })
    }

    /// Refuses a setting of which the end that has to follow it is not wirelap's own.
    fn own_ends(&self, file: &ContenderFile, server: &Server) -> Result<(), ExperimentError> {
        let client = file.client.as_ref().map(|field| field.get_ref().as_str());
        match OwnSetting::refused(&file.settings, client, server) {
            Some((span, words)) => Err(self.fault(span, words)),
            None => Ok(()),
        }
    }
}

/// Why a service that already runs cannot be this contender's server, and the key that says so; None where it can.
fn cannot_serve(
    file: &ContenderFile,
    service: &RunningService,
    workloads: &[Workload],
) -> Option<(&'static str, String)> {
    let place = service.place();
    let transport = *file.transport.get_ref();
    if transport.is_over_quic() {
        return Some(("transport", service.no_udp(transport)));
    }
    let is_clear =
        matches!(file.tls, TlsFile::None) || service.port_kind() == Some(PortKind::Clear);
    if is_clear && (service.ca.is_some() || service.insecure) {
        let key = if service.ca.is_some() { "ca" } else { "insecure" };
        let words = format!("`ca` and `insecure` are TLS's, and {place} is asked in the clear");
        return Some((key, words));
    }
    if service.ca.is_some() && service.insecure {
        let words = "`insecure` believes any certificate: `ca` would count for nothing";
        return Some(("ca", words.to_owned()));
    }
    let other = workloads.iter().find(|workload| match &workload.kind {
        WorkloadKind::Calls(calls) => calls.requests.is_none(),
        _ => true,
    })?;
    let words = format!(
        "{place} has what it has, and `{}` asks for what wirelap makes: a service that already runs answers \
         `calls` with `requests`",
        other.name
    );
    Some(("at", words))
}

/// Why a server that wirelap starts cannot answer the workloads; None where it can.
fn unanswered(workloads: &[Workload]) -> Option<String> {
    let other = workloads.iter().find(|workload| match &workload.kind {
        WorkloadKind::Calls(calls) => calls.requests.is_some() && calls.bytes.0 == 0,
        _ => false,
    })?;
    Some(format!(
        "`{}` needs `bytes`, how long each answer is: this contender's server is one that wirelap starts, \
         and it has no answers of its own",
        other.name
    ))
}
