//! What a connection is set to, and what the peer said that it takes.

use super::framing::protocol;
use super::priority::to_dependency;
use crate::multiplex::{KeepAlive, Limits, Role, Rule, rule};
use crate::schedule::Exclusive;
use crate::{SERVER_STREAMS, StreamId};
use std::time::Duration;
use wire::h2::{Dependency, ErrorCode, LARGEST_WINDOW, Setting, SettingId, SettingsList};

/// RFC 9113 §6.5.2, §6.9.2: what holds until SETTINGS arrive.
pub(super) const DEFAULT_WINDOW: u32 = 65_535;
pub(super) const DEFAULT_TABLE: u32 = 4096;
const DEFAULT_FRAME: u32 = 16_384;

/// How a client sends the priorities of its streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrioritySignal {
    /// PRIORITY frames, for dependencies (RFC 7540 §5.3).
    Dependencies,
    /// PRIORITY_UPDATE frames, for urgencies (RFC 9218 §7.1).
    Urgencies,
    /// Both.
    Both,
    /// Not at all.
    Silent,
}

/// A stream that is never opened, and stands in the dependency tree for a group of those that depend on it (RFC 7540
/// §5.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Its number, which is odd and below 2^31.
    pub stream: u32,
    /// The number of its parent; 0 for the root.
    pub parent: u32,
    /// 1 to 256.
    pub weight: u16,
}

/// Settings of a connection. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// SETTINGS_HEADER_TABLE_SIZE: what our decoder keeps.
    pub header_table_size: u32,
    /// What our encoder keeps at most, whatever the peer allows.
    pub encoder_table_size: u32,
    /// SETTINGS_MAX_HEADER_LIST_SIZE: larger heads are refused.
    pub max_header_list_size: u32,
    /// SETTINGS_INITIAL_WINDOW_SIZE: credit of a stream.
    pub stream_window: u32,
    /// Credit of the connection, 65,535 at least.
    pub connection_window: u32,
    /// SETTINGS_MAX_FRAME_SIZE: largest payload taken, 16,384 to 16,777,215.
    pub max_frame_size: u32,
    /// Largest DATA payload sent, within what the peer takes.
    pub data_frame_size: u32,
    /// SETTINGS_MAX_CONCURRENT_STREAMS: what the peer may open (promises, at a client).
    pub max_concurrent_streams: u32,
    /// SETTINGS_ENABLE_PUSH, sent by clients.
    pub enable_push: bool,
    /// SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441), sent by servers.
    pub enable_connect_protocol: bool,
    /// SETTINGS_NO_RFC7540_PRIORITIES (RFC 9218 §2.1).
    pub no_rfc7540_priorities: bool,
    /// What a client's `prioritise` sends.
    pub priority_signal: PrioritySignal,
    /// The groups that a client announces before its first request, where it sends dependencies. It opens no stream with a number
    /// up to the highest of theirs.
    pub groups: Vec<Group>,
    /// `Event::Writable` comes when fewer bytes than this wait on a stream.
    pub send_low_water: usize,
    /// How long the peer may take to acknowledge our SETTINGS.
    pub settings_timeout: Duration,
    /// How long a header block may take to become whole.
    pub head_timeout: Duration,
    /// How long queued bytes may wait for credit.
    pub stall_timeout: Duration,
    /// How long a draining server waits for requests that are under way.
    pub drain_timeout: Duration,
    /// Whether to check by PING that a silent peer is alive.
    pub keep_alive: Option<KeepAlive>,
    /// How often the peer may do what costs us work and brings nothing.
    pub limits: Limits,
}

impl Settings {
    /// A client with Chromium's figures (net/spdy/spdy_session.h, net/http/http_network_session.cc).
    pub fn client() -> Self {
        Self {
            header_table_size: 65_536,
            encoder_table_size: 4096,
            max_header_list_size: 262_144,
            stream_window: 6_291_456,
            connection_window: 15_728_640,
            max_frame_size: DEFAULT_FRAME,
            data_frame_size: 16_384,
            max_concurrent_streams: 1000,
            enable_push: false,
            enable_connect_protocol: false,
            no_rfc7540_priorities: false,
            priority_signal: PrioritySignal::Urgencies,
            groups: Vec::new(),
            send_low_water: 65_536,
            settings_timeout: Duration::from_secs(60),
            head_timeout: Duration::from_secs(60),
            stall_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(5),
            keep_alive: None,
            limits: Limits::default(),
        }
    }

    /// A server for the open web: large windows for uploads, a low limit for heads.
    pub fn server() -> Self {
        Self {
            header_table_size: DEFAULT_TABLE,
            max_header_list_size: 65_536,
            stream_window: 1_048_576,
            connection_window: 4_194_304,
            max_concurrent_streams: SERVER_STREAMS,
            enable_connect_protocol: false,
            ..Self::client()
        }
    }

    /// The parameters of the first SETTINGS of this role.
    pub(super) fn first(&self, role: Role) -> Vec<Setting> {
        let defaults = [
            (SettingId::HEADER_TABLE_SIZE, self.header_table_size, DEFAULT_TABLE),
            (SettingId::INITIAL_WINDOW_SIZE, self.stream_window, DEFAULT_WINDOW),
            (SettingId::MAX_FRAME_SIZE, self.max_frame_size, DEFAULT_FRAME),
            (SettingId::NO_RFC7540_PRIORITIES, u32::from(self.no_rfc7540_priorities), 0),
        ];
        let changed = defaults.into_iter().filter(|(_, value, default)| value != default);
        let mut list: Vec<_> = changed.map(|(id, value, _)| Setting { id, value }).collect();
        let mut push = |id, value| list.push(Setting { id, value });
        push(SettingId::MAX_HEADER_LIST_SIZE, self.max_header_list_size);
        if role == Role::Client {
            push(SettingId::ENABLE_PUSH, u32::from(self.enable_push));
        }
        if role == Role::Server || self.enable_push {
            push(SettingId::MAX_CONCURRENT_STREAMS, self.max_concurrent_streams);
        }
        list.sort_by_key(|setting| setting.id.0);
        if role == Role::Server && self.enable_connect_protocol {
            // Apache HttpClient 5.0.0 to 5.0.3 refuses the connection where a setting that it does not know stands last.
            list.insert(0, Setting { id: SettingId::ENABLE_CONNECT_PROTOCOL, value: 1 });
        }
        list
    }

    /// The groups that this role announces, of those that the wire can carry.
    pub(super) fn announced_groups(
        &self,
        role: Role,
    ) -> impl Iterator<Item = (u32, Dependency)> + use<> {
        let signal = self.priority_signal;
        let sends = matches!(signal, PrioritySignal::Dependencies | PrioritySignal::Both);
        let groups = match role == Role::Client && sends {
            true => self.groups.clone(),
            false => Vec::new(),
        };
        groups.into_iter().filter_map(|Group { stream, parent, weight }| {
            let parent = StreamId(u64::from(parent));
            let dependency = to_dependency(parent, weight, Exclusive::Shared)?;
            (stream % 2 == 1 && stream >> 31 == 0).then_some((stream, dependency))
        })
    }

    /// These settings, corrected to the bounds of the protocol.
    pub(super) fn bounded(mut self) -> Self {
        self.stream_window = self.stream_window.min(LARGEST_WINDOW);
        self.connection_window = self.connection_window.clamp(DEFAULT_WINDOW, LARGEST_WINDOW);
        self.max_frame_size = self.max_frame_size.clamp(DEFAULT_FRAME, (1 << 24) - 1);
        self.data_frame_size = self.data_frame_size.clamp(1, (1 << 24) - 1);
        self
    }
}

/// The settings that the peer sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PeerSettings {
    pub(super) header_table_size: u32,
    pub(super) enable_push: bool,
    pub(super) max_concurrent_streams: u32,
    pub(super) initial_window: u32,
    pub(super) max_frame_size: u32,
    pub(super) max_header_list_size: u32,
    pub(super) enable_connect_protocol: bool,
    pub(super) have_come: bool,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            header_table_size: DEFAULT_TABLE,
            enable_push: true,
            // RFC 9113 §6.5.2: no limit at first, and 100 is the least recommended; more would only
            // be refused by most servers.
            max_concurrent_streams: 100,
            initial_window: DEFAULT_WINDOW,
            max_frame_size: DEFAULT_FRAME,
            max_header_list_size: u32::MAX,
            enable_connect_protocol: false,
            have_come: false,
        }
    }
}

/// What new settings of the peer change beside its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Applied {
    pub(super) is_first: bool,
    /// The smallest HEADER_TABLE_SIZE on the way to the last.
    pub(super) smallest_table: u32,
    /// How far the initial window has moved.
    pub(super) window_shift: i64,
    /// Its dependencies mean nothing (RFC 9218 §2.1).
    pub(super) rules_out_dependencies: bool,
}

impl PeerSettings {
    /// Whether its first SETTINGS have come.
    pub(super) fn have_come(&self) -> bool {
        self.have_come
    }

    /// Takes the parameters of a peer over, in order (RFC 9113 §6.5.3). `role` is ours.
    pub(super) fn apply(
        &mut self,
        role: Role,
        list: SettingsList<'_>,
    ) -> Result<Applied, Rule<ErrorCode>> {
        let is_first = !std::mem::replace(&mut self.have_come, true);
        if is_first {
            // RFC 9113 §6.5.2: without a word, there is no limit.
            self.max_concurrent_streams = u32::MAX;
        }
        let before = i64::from(self.initial_window);
        let mut smallest_table = self.header_table_size;
        let mut rules_out_dependencies = false;
        for Setting { id, value } in list.iter() {
            match id {
                SettingId::HEADER_TABLE_SIZE => {
                    self.header_table_size = value;
                    smallest_table = smallest_table.min(value);
                }
                SettingId::ENABLE_PUSH => {
                    self.enable_push = switch(value, "RFC 9113 §6.5.2: ENABLE_PUSH is 0 or 1")?;
                    if self.enable_push && role == Role::Client {
                        return Err(protocol("RFC 9113 §6.5.2: a server cannot enable push"));
                    }
                }
                SettingId::MAX_CONCURRENT_STREAMS => self.max_concurrent_streams = value,
                SettingId::INITIAL_WINDOW_SIZE if value > LARGEST_WINDOW => {
                    let text = "RFC 9113 §6.5.2: a window is below 2^31";
                    return Err(rule(ErrorCode::FLOW_CONTROL_ERROR, text));
                }
                SettingId::INITIAL_WINDOW_SIZE => self.initial_window = value,
                SettingId::MAX_FRAME_SIZE if !(DEFAULT_FRAME..1 << 24).contains(&value) => {
                    let text = "RFC 9113 §6.5.2: MAX_FRAME_SIZE is 2^14 to 2^24 - 1";
                    return Err(protocol(text));
                }
                SettingId::MAX_FRAME_SIZE => self.max_frame_size = value,
                SettingId::MAX_HEADER_LIST_SIZE => self.max_header_list_size = value,
                SettingId::ENABLE_CONNECT_PROTOCOL => {
                    let text = "RFC 8441 §3: ENABLE_CONNECT_PROTOCOL is 0 or 1, and stays 1";
                    let enabled = switch(value, text)?;
                    if self.enable_connect_protocol && !enabled {
                        return Err(protocol(text));
                    }
                    self.enable_connect_protocol = enabled;
                }
                SettingId::NO_RFC7540_PRIORITIES => {
                    let text = "RFC 9218 §2.1: NO_RFC7540_PRIORITIES is 0 or 1";
                    // The value cannot change after the first SETTINGS.
                    rules_out_dependencies |= switch(value, text)? && is_first;
                }
                // RFC 9113 §6.5.2: what is not known is ignored.
                SettingId(_) => {}
            }
        }
        let window_shift = i64::from(self.initial_window) - before;
        Ok(Applied { is_first, smallest_table, window_shift, rules_out_dependencies })
    }
}

fn switch(value: u32, text: &'static str) -> Result<bool, Rule<ErrorCode>> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(protocol(text)),
    }
}
