//! Flags of `wirelap serve`: how long it bears with a peer, how much it holds for peers, and QUIC's congestion control.

use super::get::parse_time;
use clap::{Args, ValueEnum};
use origin::Limits;
use std::time::Duration;
use transport::CongestionController;
use unit::ByteSize;

/// The origin's limits, which a test holds against its own defaults.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Patience")]
pub(crate) struct PatienceArgs {
    /// For a TLS handshake
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10s")]
    handshake_timeout: Duration,
    /// For the head of a request, from its first byte to its last
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s")]
    head_timeout: Duration,
    /// For a connection on which nothing is asked
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "75s")]
    idle_timeout: Duration,
    /// For a request under way of which no byte goes either way
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "120s")]
    stall_timeout: Duration,
    /// Memory for all peers together: bodies that wait to be sent, echoes, WebSocket messages. Above it the connections
    /// that hold most are reset. One connection may hold three eighths of a thread's share, one address three quarters
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    max_memory: ByteSize,
}

impl PatienceArgs {
    /// The limits of each of so many threads.
    pub(crate) fn limits(self, threads: usize) -> Limits {
        let all = usize::try_from(self.max_memory.0).unwrap_or(usize::MAX);
        let held = all / threads.max(1);
        Limits {
            held,
            held_by_peer: held / 4 * 3,
            held_by_connection: held / 8 * 3,
            handshake: self.handshake_timeout,
            head: self.head_timeout,
            idle: self.idle_timeout,
            stall: self.stall_timeout,
            ..Limits::default()
        }
    }
}

/// A congestion controller of QUIC, by name.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum QuicCongestion {
    /// CUBIC with HyStart++
    #[default]
    Cubic,
    /// NewReno with HyStart++
    Reno,
    /// BBR, version 1, of the library quinn-proto
    Bbr,
}

impl From<QuicCongestion> for CongestionController {
    fn from(name: QuicCongestion) -> Self {
        match name {
            QuicCongestion::Cubic => Self::Cubic,
            QuicCongestion::Reno => Self::NewReno,
            QuicCongestion::Bbr => Self::Bbr,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        patience: PatienceArgs,
    }

    #[test]
    fn without_flags_the_origins_own_limits_hold() {
        let line = Line::try_parse_from(["serve"]).unwrap();
        assert_eq!(line.patience.limits(2), Limits::default());
    }
}
