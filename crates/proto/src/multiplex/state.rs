//! The life of a stream (RFC 9113 §5.1), as the RFC draws it.

/// A stream's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Idle,
    ReservedLocal,
    ReservedRemote,
    Open,
    HalfClosedLocal,
    HalfClosedRemote,
    Closed,
}

/// What moves a stream from one state to another. `End` is the END_STREAM flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    SendHeaders,
    ReceiveHeaders,
    SendPromise,
    ReceivePromise,
    SendEnd,
    ReceiveEnd,
}

impl State {
    /// The state after a step; None where the step is not allowed. RST_STREAM leads to `Closed` from
    /// everywhere, and the stream is forgotten then.
    pub(crate) fn after(self, step: Step) -> Option<Self> {
        use State::{
            Closed, HalfClosedLocal, HalfClosedRemote, Idle, Open, ReservedLocal, ReservedRemote,
        };
        Some(match (self, step) {
            (Idle, Step::SendHeaders | Step::ReceiveHeaders) => Open,
            (Idle, Step::SendPromise) => ReservedLocal,
            (Idle, Step::ReceivePromise) => ReservedRemote,
            (Idle, Step::SendEnd | Step::ReceiveEnd) => return None,

            (ReservedLocal, Step::SendHeaders) => HalfClosedRemote,
            (ReservedRemote, Step::ReceiveHeaders) => HalfClosedLocal,
            (ReservedLocal | ReservedRemote, _) => return None,

            (Open, Step::SendHeaders | Step::ReceiveHeaders) => Open,
            (Open, Step::SendEnd) => HalfClosedLocal,
            (Open, Step::ReceiveEnd) => HalfClosedRemote,
            (Open, Step::SendPromise | Step::ReceivePromise) => return None,

            (HalfClosedLocal, Step::ReceiveHeaders) => HalfClosedLocal,
            (HalfClosedLocal, Step::ReceiveEnd) => Closed,
            (HalfClosedLocal, _) => return None,

            (HalfClosedRemote, Step::SendHeaders) => HalfClosedRemote,
            (HalfClosedRemote, Step::SendEnd) => Closed,
            (HalfClosedRemote, _) => return None,

            (Closed, _) => return None,
        })
    }

    /// Whether DATA may be received.
    pub(crate) fn takes_data(self) -> bool {
        matches!(self, Self::Open | Self::HalfClosedLocal)
    }

    /// Whether DATA may be sent.
    pub(crate) fn gives_data(self) -> bool {
        matches!(self, Self::Open | Self::HalfClosedRemote)
    }

    /// Whether it counts against the limit on concurrent streams (RFC 9113 §5.1.2).
    pub(crate) fn is_active(self) -> bool {
        matches!(self, Self::Open | Self::HalfClosedLocal | Self::HalfClosedRemote)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_with_a_body_and_its_answer_walk_the_whole_diagram() {
        let mut state = State::Idle;
        for (step, expected) in [
            (Step::ReceiveHeaders, State::Open),
            (Step::ReceiveEnd, State::HalfClosedRemote),
            (Step::SendHeaders, State::HalfClosedRemote),
            (Step::SendEnd, State::Closed),
        ] {
            state = state.after(step).unwrap();
            assert_eq!(state, expected);
        }
        assert_eq!(state.after(Step::SendHeaders), None);
    }

    #[test]
    fn a_promised_stream_is_half_closed_from_the_start() {
        assert_eq!(State::Idle.after(Step::SendPromise), Some(State::ReservedLocal));
        assert_eq!(State::ReservedLocal.after(Step::SendHeaders), Some(State::HalfClosedRemote));
        assert_eq!(State::ReservedLocal.after(Step::ReceiveHeaders), None);
        assert_eq!(State::ReservedRemote.after(Step::ReceiveHeaders), Some(State::HalfClosedLocal));
    }
}
