//! What a session is set to, and what the peer said that it takes.

use crate::SERVER_STREAMS;
use crate::multiplex::{KeepAlive, Limits, Role};
use std::time::Duration;
use wire::spdy::{Effort, LARGEST_WINDOW, Persistence, Setting, SettingId, SettingsList};

/// SPDY §2.6.8: the initial size of a window.
pub(super) const DEFAULT_WINDOW: u32 = 65_536;

/// Which SPDY is spoken. They differ in the flow control of the session alone, and say "version 3" in
/// their frames both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// SPDY/3: streams have windows, the session has none.
    V3,
    /// SPDY/3.1: the session has a window too.
    V3_1,
}

impl Version {
    /// Its name in ALPN.
    pub fn alpn(self) -> &'static str {
        match self {
            Self::V3 => "spdy/3",
            Self::V3_1 => "spdy/3.1",
        }
    }
}

/// Settings of a session. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Which SPDY.
    pub version: Version,
    /// How hard header blocks are compressed.
    pub effort: Effort,
    /// Largest inflated header block taken.
    pub max_header_list_size: u32,
    /// Largest payload of a control frame taken, 8192 at least (SPDY §2.2.1).
    pub max_control_frame: u32,
    /// SETTINGS_INITIAL_WINDOW_SIZE: credit of a stream, 65,536 at least. There is no
    /// acknowledgement after which less would hold.
    pub stream_window: u32,
    /// Credit of the session in SPDY/3.1, 65,536 at least.
    pub session_window: u32,
    /// Largest DATA payload sent.
    pub data_frame_size: u32,
    /// SETTINGS_MAX_CONCURRENT_STREAMS: what the peer may open (pushes, at a client).
    pub max_concurrent_streams: u32,
    /// Whether a client takes pushes.
    pub enable_push: bool,
    /// The priority of a stream without one: 0 (first) to 7 (last).
    pub default_priority: u8,
    /// Server: whether the client is asked to keep our parameters for its next session.
    pub persistence: Persistence,
    /// Client: what the server asked to keep in an earlier session ([`super::Client::persisted`]).
    pub persisted: Vec<Setting>,
    /// `Event::Writable` comes when fewer bytes than this wait on a stream.
    pub send_low_water: usize,
    /// How long a control frame may take to become whole.
    pub head_timeout: Duration,
    /// How long queued bytes may wait for credit.
    pub stall_timeout: Duration,
    /// Whether to check by PING that a silent peer is alive.
    pub keep_alive: Option<KeepAlive>,
    /// How often the peer may do what costs us work and brings nothing.
    pub limits: Limits,
}

impl Settings {
    /// A client with the windows of Chromium 32 (net/spdy/spdy_session.h).
    pub fn client(version: Version) -> Self {
        Self {
            version,
            effort: Effort::FAST,
            max_header_list_size: 262_144,
            max_control_frame: 262_144,
            stream_window: 10_485_760,
            session_window: 10_485_760,
            data_frame_size: 16_384,
            max_concurrent_streams: 1000,
            enable_push: false,
            default_priority: 3,
            persistence: Persistence::Session,
            persisted: Vec::new(),
            send_low_water: 65_536,
            head_timeout: Duration::from_secs(60),
            stall_timeout: Duration::from_secs(60),
            keep_alive: None,
            limits: Limits::default(),
        }
    }

    /// A server for the open web: large windows for uploads, a low limit for heads.
    pub fn server(version: Version) -> Self {
        Self {
            max_header_list_size: 65_536,
            max_control_frame: 65_536,
            stream_window: 1_048_576,
            session_window: 4_194_304,
            max_concurrent_streams: SERVER_STREAMS,
            ..Self::client(version)
        }
    }

    /// The parameters of the first SETTINGS of this role.
    pub(super) fn first(&self, role: Role) -> Vec<Setting> {
        let (streams, persistence) = match role {
            // A client that takes no pushes lets the server open no streams.
            Role::Client if !self.enable_push => (0, Persistence::Session),
            Role::Client => (self.max_concurrent_streams, Persistence::Session),
            Role::Server => (self.max_concurrent_streams, self.persistence),
        };
        let own = |id, value| Setting { id, value, persistence };
        let mut list = vec![own(SettingId::MAX_CONCURRENT_STREAMS, streams)];
        if self.stream_window != DEFAULT_WINDOW {
            list.push(own(SettingId::INITIAL_WINDOW_SIZE, self.stream_window));
        }
        if role == Role::Client {
            // SPDY §2.6.4: of two entries with one identifier the first counts, so ours come first and
            // persisted settings that the client returns follow where we set nothing ourselves.
            let ours = list.len();
            let is_new = |back: &&Setting| list[..ours].iter().all(|own| own.id != back.id);
            let told_back: Vec<_> = self.persisted.iter().filter(is_new).copied().collect();
            let persistence = Persistence::Persisted;
            list.extend(told_back.into_iter().map(|setting| Setting { persistence, ..setting }));
        }
        list
    }

    /// These settings, corrected to the bounds of the protocol.
    pub(super) fn bounded(mut self) -> Self {
        self.stream_window = self.stream_window.clamp(DEFAULT_WINDOW, LARGEST_WINDOW);
        self.session_window = self.session_window.clamp(DEFAULT_WINDOW, LARGEST_WINDOW);
        self.max_control_frame = self.max_control_frame.clamp(8192, (1 << 24) - 1);
        self.data_frame_size = self.data_frame_size.clamp(1, (1 << 24) - 1);
        self.default_priority = self.default_priority.min(7);
        self
    }
}

/// The settings that the peer sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PeerSettings {
    pub(super) max_concurrent_streams: u32,
    pub(super) initial_window: u32,
    /// What a server asked to keep.
    pub(super) persisted: Vec<Setting>,
    have_come: bool,
}

impl PeerSettings {
    pub(super) fn new(persisted: Vec<Setting>) -> Self {
        // SPDY §2.6.4: no limit at first, and 100 is the least recommended; more would only be refused
        // by most servers.
        let initial_window = DEFAULT_WINDOW;
        Self { max_concurrent_streams: 100, initial_window, persisted, have_come: false }
    }

    /// Takes the parameters over (SPDY §2.6.4); gives how far the initial window has moved. An error
    /// names the rule broken.
    pub(super) fn apply(
        &mut self,
        clear: bool,
        list: SettingsList<'_>,
    ) -> Result<i64, &'static str> {
        if !std::mem::replace(&mut self.have_come, true) {
            // SPDY §2.6.4: without a word, there is no limit.
            self.max_concurrent_streams = u32::MAX;
        }
        let before = i64::from(self.initial_window);
        if clear {
            self.persisted.clear();
        }
        let mut seen = 0_u32;
        for setting in list.iter() {
            // Of two entries with one identifier the first counts. What is not known is ignored.
            let known = (1..=SettingId::CLIENT_CERTIFICATE_VECTOR_SIZE.0).contains(&setting.id.0);
            if !known || seen >> setting.id.0 & 1 == 1 {
                continue;
            }
            seen |= 1 << setting.id.0;
            match setting.persistence {
                // Our own words of an earlier session.
                Persistence::Persisted => continue,
                Persistence::Persist => {
                    self.persisted.retain(|kept| kept.id != setting.id);
                    self.persisted.push(setting);
                }
                Persistence::Session => {}
            }
            match setting.id {
                SettingId::MAX_CONCURRENT_STREAMS => self.max_concurrent_streams = setting.value,
                SettingId::INITIAL_WINDOW_SIZE if setting.value > LARGEST_WINDOW => {
                    return Err("SPDY §2.6.8: a window is below 2^31");
                }
                SettingId::INITIAL_WINDOW_SIZE => self.initial_window = setting.value,
                _ => {}
            }
        }
        Ok(i64::from(self.initial_window) - before)
    }
}
