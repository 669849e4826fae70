//! Datagrams of acknowledgements alone. The one rule: they are not in flight (RFC 9002 §2), and after some of them this
//! side asks for an acknowledgement of its own, as it would remember all of them otherwise (RFC 9000 §13.2.4).

use super::congestion;
use quinn_proto::{Connection, FrameStats};

/// How many a connection has sent one after another.
#[derive(Debug, Default)]
pub(super) struct AckOnly {
    /// Frames that elicit an acknowledgement, sent so far.
    eliciting: u64,
    datagrams: u32,
}

/// Of each, quinn-proto keeps some 190 bytes until it is acknowledged, and of 1,000 at most.
const MOST: u32 = 64;

impl AckOnly {
    /// Datagrams of `bytes` were made.
    pub(super) fn handle_sent(&mut self, bytes: usize, quic: &mut Connection) {
        let eliciting = eliciting(&quic.stats().frame_tx);
        // While it shakes hands, acknowledgements are in datagrams of full size, which count as in flight.
        if eliciting != self.eliciting || quic.is_handshaking() {
            *self = Self { eliciting, datagrams: 0 };
            return;
        }
        congestion::take_out_of_flight(quic.congestion_state(), bytes as u64);
        self.datagrams += 1;
        if self.datagrams == MOST {
            self.datagrams = 0;
            quic.ping();
        }
    }
}

/// All but ACK, PADDING and CONNECTION_CLOSE (RFC 9002 §2).
fn eliciting(sent: &FrameStats) -> u64 {
    let of_streams = sent.stream + sent.reset_stream + sent.stop_sending;
    let of_limits = sent.max_data
        + sent.max_stream_data
        + sent.max_streams_bidi
        + sent.max_streams_uni
        + sent.data_blocked
        + sent.stream_data_blocked
        + sent.streams_blocked_bidi
        + sent.streams_blocked_uni;
    let of_paths = sent.path_challenge
        + sent.path_response
        + sent.new_connection_id
        + sent.retire_connection_id
        + sent.ping;
    let others = sent.crypto
        + sent.datagram
        + sent.new_token
        + sent.ack_frequency
        + sent.immediate_ack
        + u64::from(sent.handshake_done);
    of_streams + of_limits + of_paths + others
}
