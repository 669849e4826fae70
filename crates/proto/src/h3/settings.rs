//! What a connection is set to, and what the peer said that it takes.

use super::session::{Broken, connection};
use crate::multiplex::guard::Limits;
use crate::multiplex::status::Role;
use std::time::Duration;
use wire::h3::{ErrorCode, LARGEST, Setting, SettingId, SettingsList, reserved};
use wire::qpack::{DecoderLimits, EncoderLimits};

/// Settings of a connection. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// SETTINGS_QPACK_MAX_TABLE_CAPACITY: what our decoder keeps.
    pub qpack_table_capacity: usize,
    /// SETTINGS_QPACK_BLOCKED_STREAMS: requests that may wait for the dynamic table.
    pub qpack_blocked_streams: usize,
    /// What our encoder keeps at most, whatever the peer allows.
    pub encoder_table_capacity: usize,
    /// SETTINGS_MAX_FIELD_SECTION_SIZE: larger heads are refused.
    pub max_field_section_size: usize,
    /// Bytes of a body that may wait for the application; then its stream is not read.
    pub stream_window: usize,
    /// SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 9220), sent by servers.
    pub enable_connect_protocol: bool,
    /// SETTINGS_H3_DATAGRAM (RFC 9297).
    pub datagrams: bool,
    /// `Event::Writable` comes when fewer bytes than this wait on a stream.
    pub send_low_water: usize,
    /// How long the peer's SETTINGS may take to come.
    pub settings_timeout: Duration,
    /// How long a head may take to become whole, with its wait for QPACK's table. Its stream is reset then.
    pub head_timeout: Duration,
    /// How long queued bytes may wait for the transport. A stream that takes less than 16 KiB in that time, beyond what
    /// QUIC holds of it already, is reset; where no stream gets on, the connection ends.
    pub stall_timeout: Duration,
    /// Server: from the first GOAWAY to the one that refuses requests. HTTP/3 has no PING whose echo would tell that the
    /// first one has arrived: this should be longer than a round trip.
    pub drain_timeout: Duration,
    /// Reserved settings, frames and a stream are sent, so that the peer's rule to ignore them is exercised; the
    /// number chooses among them. None for none (RFC 9114 §7.2.8).
    pub grease: Option<u64>,
    /// Client: settings of the server from an earlier connection, for early data (RFC 9114 §7.2.4.2).
    pub remembered: Option<PeerSettings>,
    /// How often the peer may do what costs us work and brings nothing.
    pub limits: Limits,
}

impl Settings {
    /// A client with Chromium's figures (net/quic/quic_context.h, net/quic/quic_session_pool.cc).
    pub fn client() -> Self {
        Self {
            qpack_table_capacity: 65_536,
            qpack_blocked_streams: 100,
            encoder_table_capacity: 4096,
            max_field_section_size: 262_144,
            stream_window: 6_291_456,
            enable_connect_protocol: false,
            datagrams: false,
            send_low_water: 65_536,
            settings_timeout: Duration::from_secs(60),
            head_timeout: Duration::from_secs(60),
            stall_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(1),
            grease: Some(0),
            remembered: None,
            limits: Limits::default(),
        }
    }

    /// A server for the open web: a small table, a low limit for heads.
    pub fn server() -> Self {
        Self {
            qpack_table_capacity: 4096,
            // The requests of a page come together, before the first of them has brought its entries.
            qpack_blocked_streams: 100,
            max_field_section_size: 65_536,
            stream_window: 1_048_576,
            ..Self::client()
        }
    }

    pub(super) fn decoder_limits(&self) -> DecoderLimits {
        let blocked_streams = self.qpack_blocked_streams;
        DecoderLimits { max_capacity: self.qpack_table_capacity, blocked_streams }
    }

    /// The parameters of SETTINGS. A value that is the default is left out.
    pub(super) fn list(&self, role: Role) -> Vec<Setting> {
        let connect = role == Role::Server && self.enable_connect_protocol;
        let mut list = vec![
            (SettingId::QPACK_MAX_TABLE_CAPACITY, self.qpack_table_capacity as u64),
            (SettingId::MAX_FIELD_SECTION_SIZE, self.max_field_section_size as u64),
            (SettingId::QPACK_BLOCKED_STREAMS, self.qpack_blocked_streams as u64),
            (SettingId::ENABLE_CONNECT_PROTOCOL, u64::from(connect)),
            (SettingId::H3_DATAGRAM, u64::from(self.datagrams)),
        ];
        list.retain(|&(_, value)| value > 0);
        if let Some(number) = self.grease {
            list.push((SettingId(reserved(number)), number & LARGEST));
        }
        list.into_iter().map(|(id, value)| Setting { id, value }).collect()
    }
}

/// The settings that a peer sent, or what holds until they come (RFC 9114 §7.2.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerSettings {
    /// Bytes that its decoder keeps.
    pub qpack_table_capacity: usize,
    /// Requests of ours that may wait for the dynamic table.
    pub qpack_blocked_streams: usize,
    /// The largest head that it takes, in bytes.
    pub max_field_section_size: u64,
    /// Whether it takes extended CONNECT (RFC 9220).
    pub enable_connect_protocol: bool,
    /// Whether it takes HTTP datagrams (RFC 9297).
    pub datagrams: bool,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            qpack_table_capacity: 0,
            qpack_blocked_streams: 0,
            max_field_section_size: u64::MAX,
            enable_connect_protocol: false,
            datagrams: false,
        }
    }
}

impl PeerSettings {
    /// Reads a peer's SETTINGS.
    pub(super) fn read(list: SettingsList<'_>) -> Result<Self, Broken> {
        let mut peer = Self::default();
        for Setting { id, value } in list.iter() {
            let size = usize::try_from(value).unwrap_or(usize::MAX);
            match id {
                SettingId::QPACK_MAX_TABLE_CAPACITY => peer.qpack_table_capacity = size,
                SettingId::QPACK_BLOCKED_STREAMS => peer.qpack_blocked_streams = size,
                SettingId::MAX_FIELD_SECTION_SIZE => peer.max_field_section_size = value,
                SettingId::ENABLE_CONNECT_PROTOCOL => {
                    let text = "RFC 9220 §3: ENABLE_CONNECT_PROTOCOL is 0 or 1";
                    peer.enable_connect_protocol = switch(value, text)?;
                }
                SettingId::H3_DATAGRAM => {
                    peer.datagrams = switch(value, "RFC 9297 §2.1.1: H3_DATAGRAM is 0 or 1")?;
                }
                // RFC 9114 §7.2.4: what is not known is ignored.
                SettingId(_) => {}
            }
        }
        Ok(peer)
    }

    /// Checks settings that come after `remembered` ones were used for early data that the server accepted: they may
    /// take nothing back (RFC 9114 §7.2.4.2, RFC 9204 §3.2.3).
    pub(super) fn check_against(&self, remembered: &Self) -> Result<(), Broken> {
        let kept = self.qpack_blocked_streams >= remembered.qpack_blocked_streams
            && self.max_field_section_size >= remembered.max_field_section_size
            && self.enable_connect_protocol >= remembered.enable_connect_protocol
            && self.datagrams >= remembered.datagrams
            && (remembered.qpack_table_capacity == 0
                || self.qpack_table_capacity == remembered.qpack_table_capacity);
        match kept {
            true => Ok(()),
            false => {
                let text = "RFC 9114 §7.2.4.2: SETTINGS take back what early data relied on";
                Err(connection(ErrorCode::SETTINGS_ERROR, text))
            }
        }
    }

    /// What `role`'s encoder may do. A server's answers refer to nothing that is not acknowledged (RFC 9204 §2.1.2): none waits
    /// for a lost packet of another stream, and nghttp3 1.x drops an answer that is whole before it can be decoded.
    pub(super) fn encoder_limits(&self, role: Role) -> EncoderLimits {
        let blocked_streams = match role {
            Role::Client => self.qpack_blocked_streams,
            Role::Server => 0,
        };
        EncoderLimits { max_capacity: self.qpack_table_capacity, blocked_streams }
    }
}

fn switch(value: u64, text: &'static str) -> Result<bool, Broken> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(connection(ErrorCode::SETTINGS_ERROR, text)),
    }
}
