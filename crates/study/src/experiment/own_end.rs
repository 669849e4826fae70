//! Which end of a contender has to be wirelap's own for a setting to have an effect. The one rule: a setting without effect is refused;
//! otherwise its rows would say that it had one. Files and `--client` are judged by this one table.

use super::contender::{ClientSubject, Contender, Settings, Temperature};
use super::file::SettingsFile;
use super::service::Server;
use super::terms::Terms;
use std::ops::Range;
use toml::Spanned;

/// The end that has to be wirelap's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnEnd {
    /// The client.
    Client,
    /// The origin.
    Origin,
    /// Any server but one that runs already. What a declared server cannot do, its trials say.
    StartedServer,
    /// The client and the origin.
    Both,
    /// The client, or what sends from far: the origin, or the relay to a service that already runs.
    Either,
    /// The client, or the origin, whose log tells what another's client did.
    ClientOrLog,
}

/// A setting that needs an end of wirelap's own.
pub(super) struct OwnSetting {
    name: &'static str,
    needs: OwnEnd,
    /// Where a file asks for it.
    given: fn(&SettingsFile) -> Option<Range<usize>>,
    /// Takes it from the usual settings.
    leave: fn(&mut Settings, &Settings),
}

impl OwnSetting {
    /// Where a file asks for a setting that these ends cannot have, and why they cannot.
    pub(super) fn refused(
        given: &SettingsFile,
        client: Option<&str>,
        server: &Server,
    ) -> Option<(Range<usize>, String)> {
        ALL.iter().find_map(|setting| {
            let words = setting.lacking(client, server)?;
            Some(((setting.given)(given)?, words))
        })
    }

    /// Gives a contender another's client. What only wirelap's own client has falls away. The error says which other setting
    /// would have no effect.
    pub(super) fn give(contender: &mut Contender, client: &str) -> Result<(), String> {
        contender.client = Some(ClientSubject { name: client.to_owned(), warmup: 0 });
        let mut usual = Settings::usual(contender.transport);
        let has_own_end = has_own_end(Some(client), &contender.server);
        let is_shipped = contender.settings.terms == Terms::AsShipped;
        usual.mtu_discovery = contender.transport.is_over_quic() && is_shipped;
        for setting in ALL {
            let Some(words) = setting.lacking(Some(client), &contender.server) else { continue };
            let mut without = contender.settings.clone();
            (setting.leave)(&mut without, &usual);
            if setting.needs != OwnEnd::Client && without != contender.settings {
                return Err(words);
            }
            contender.settings = without;
        }
        contender.settings.mtu_discovery &= has_own_end;
        Ok(())
    }

    /// Why these ends cannot have it; None where they can.
    fn lacking(&self, client: Option<&str>, server: &Server) -> Option<String> {
        let name = self.name;
        let is_running = matches!(server, Server::Running(_));
        let runs =
            || format!("`{name}` is of a server that wirelap starts, and this one runs already");
        let needs = |whom: &str| format!("`{name}` needs wirelap's own {whom}");
        match self.needs {
            OwnEnd::Client => client.map(|_| needs("client")),
            OwnEnd::StartedServer => is_running.then(runs),
            OwnEnd::Origin | OwnEnd::Both if is_running => Some(runs()),
            OwnEnd::Origin => (!server.is_origin()).then(|| needs("origin")),
            OwnEnd::Both => {
                (client.is_some() || !server.is_origin()).then(|| needs("client and server"))
            }
            OwnEnd::Either => (!has_own_end(client, server)).then(|| needs("client or server")),
            OwnEnd::ClientOrLog => (client.is_some() && !server.is_origin()).then(|| {
                format!(
                    "`{name}` of another's client needs wirelap's own server, whose log shows it"
                )
            }),
        }
    }
}

/// Whether wirelap's own client, origin or relay sends.
pub(super) fn has_own_end(client: Option<&str>, server: &Server) -> bool {
    client.is_none() || server.is_origin() || matches!(server, Server::Running(_))
}

fn span<T>(field: &Option<Spanned<T>>) -> Option<Range<usize>> {
    field.as_ref().map(Spanned::span)
}

/// Where it is asked for: false is what there is without it.
fn span_if_true(field: &Option<Spanned<bool>>) -> Option<Range<usize>> {
    field.as_ref().filter(|field| *field.get_ref()).map(Spanned::span)
}

const ALL: &[OwnSetting] = &[
    OwnSetting {
        name: "push",
        needs: OwnEnd::Client,
        given: |file| span(&file.push),
        leave: |own, usual| own.push = usual.push,
    },
    OwnSetting {
        name: "early_hints",
        needs: OwnEnd::Client,
        given: |file| span(&file.early_hints),
        leave: |own, usual| own.early_hints = usual.early_hints,
    },
    OwnSetting {
        name: "profile",
        needs: OwnEnd::Client,
        given: |file| span(&file.profile),
        leave: |own, usual| own.profile = usual.profile,
    },
    OwnSetting {
        name: "raise",
        needs: OwnEnd::Client,
        given: |file| span(&file.raise),
        leave: |own, usual| own.raise = usual.raise,
    },
    OwnSetting {
        name: "server_keep_alive",
        needs: OwnEnd::Origin,
        given: |file| span(&file.server_keep_alive),
        leave: |own, usual| own.server_keep_alive = usual.server_keep_alive,
    },
    OwnSetting {
        name: "priorities",
        needs: OwnEnd::Origin,
        given: |file| span(&file.priorities),
        leave: |own, usual| own.priorities = usual.priorities,
    },
    OwnSetting {
        name: "server_nodelay",
        needs: OwnEnd::Origin,
        given: |file| span(&file.server_nodelay),
        leave: |own, usual| own.server.nodelay = usual.server.nodelay,
    },
    OwnSetting {
        name: "server_quickack",
        needs: OwnEnd::Origin,
        given: |file| span(&file.server_quickack),
        leave: |own, usual| own.server.quickack = usual.server.quickack,
    },
    OwnSetting {
        name: "server_writes",
        needs: OwnEnd::Origin,
        given: |file| span(&file.server_writes),
        leave: |own, usual| own.server.writes = usual.server.writes,
    },
    OwnSetting {
        name: "server_deflate",
        needs: OwnEnd::Origin,
        given: |file| span(&file.server_deflate),
        leave: |own, usual| own.server.deflate = usual.server.deflate,
    },
    OwnSetting {
        name: "server_time",
        needs: OwnEnd::StartedServer,
        given: |file| span(&file.server_time),
        leave: |own, usual| own.server_time = usual.server_time,
    },
    OwnSetting {
        name: "policy",
        needs: OwnEnd::StartedServer,
        given: |file| span(&file.policy),
        leave: |own, usual| own.policy.clone_from(&usual.policy),
    },
    OwnSetting {
        name: "fast_open",
        needs: OwnEnd::Both,
        given: |file| span_if_true(&file.fast_open),
        leave: |own, usual| own.fast_open = usual.fast_open,
    },
    OwnSetting {
        name: "pacing",
        needs: OwnEnd::Either,
        given: |file| span_if_true(&file.pacing),
        leave: |own, usual| own.pacing = usual.pacing,
    },
    OwnSetting {
        name: "mtu_discovery",
        needs: OwnEnd::Either,
        given: |file| span(&file.mtu_discovery),
        leave: |own, usual| own.mtu_discovery = usual.mtu_discovery,
    },
    OwnSetting {
        name: "gso",
        needs: OwnEnd::Either,
        given: |file| span(&file.gso),
        leave: |own, usual| own.gso = usual.gso,
    },
    OwnSetting {
        name: "ack_threshold",
        needs: OwnEnd::Either,
        given: |file| span(&file.ack_threshold),
        leave: |own, usual| own.ack_threshold = usual.ack_threshold,
    },
    OwnSetting {
        name: "temperature",
        needs: OwnEnd::ClientOrLog,
        given: |file| {
            let warm =
                file.temperature.as_ref().filter(|field| *field.get_ref() != Temperature::Cold);
            warm.map(Spanned::span)
        },
        leave: |own, usual| own.temperature = usual.temperature,
    },
    OwnSetting {
        name: "next_view",
        needs: OwnEnd::ClientOrLog,
        given: |file| span(&file.next_view),
        leave: |own, usual| own.next_view.clone_from(&usual.next_view),
    },
];

#[cfg(test)]
mod tests;
