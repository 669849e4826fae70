//! Either end of a WebSocket under arbitrary bytes in arbitrary pieces: it takes all of them, tells the
//! same however they are cut, holds no more than its limit, and comes to its end.

use crate::{decode, reached};
use endpoint::SendBuf;
use proto::ws::{Agreed, Connection, DeflateParameters, Event, Role, Settings};
use trace::Tracer;
use unit::{Instant, Seed};

const NOW: Instant = Instant::ZERO;

fn events_of<'a>(
    role: Role,
    agreed: &Agreed,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Vec<Event> {
    let settings = Settings { max_message: 100_000, max_pongs: 4, ..Settings::default() };
    let mut connection = Connection::new(NOW, role, settings, agreed, Tracer::off());
    let mut events = Vec::new();
    let mut hear = |connection: &mut Connection, mut piece: &[u8]| {
        while let Some(event) = connection.handle_bytes(NOW, &mut piece) {
            if !matches!(event, Event::Closed { .. }) {
                reached::note_value();
            }
            if let Event::Message { data, .. } = &event {
                assert!(data.len() <= 100_000);
            }
            events.push(event);
        }
        assert!(piece.is_empty());
    };
    for piece in pieces {
        hear(&mut connection, piece);
    }
    connection.handle_eof(NOW);
    hear(&mut connection, b"");
    let mut out = SendBuf::new();
    connection.poll_transmit(NOW, &mut out, usize::MAX);
    assert!(connection.wants_end());
    // Which of two broken rules is told may depend on the cut; that one is told may not.
    let end = events.pop();
    assert!(matches!(end, Some(Event::Closed { .. })));
    events
}

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(bool, bool, u8, &[u8])>(input) else { return };
    let (is_server, deflates, size, bytes) = input;
    let role = if is_server { Role::Server } else { Role::Client { masks: Seed(1) } };
    let deflate = deflates.then(DeflateParameters::default);
    let agreed = Agreed { deflate, ..Agreed::default() };
    let whole = events_of(role, &agreed, std::iter::once(bytes));
    assert_eq!(whole, events_of(role, &agreed, bytes.chunks(usize::from(size).max(1))));
}
