//! What the tracer hears.

use super::hand::{GET, coded, section};
use super::*;
use std::cell::RefCell;
use std::rc::Rc;
use wire::h3::Frame;

/// The lengths of the DATA frames that were sent.
#[derive(Default)]
struct Lengths(RefCell<Vec<u64>>);

impl trace::Sink for Lengths {
    fn record(&self, _at: Instant, _connection: u64, event: &trace::Event<'_>) {
        if let trace::Event::FrameCreated { stream: 0, frame: "DATA", length } = event {
            self.0.borrow_mut().push(*length);
        }
    }
}

#[test]
fn the_length_of_a_data_frame_is_that_of_its_payload_whatever_stands_before_it() {
    for limit in [100, 1_200, 60_000] {
        let lengths = Rc::new(Lengths::default());
        let tracer = Tracer::to(lengths.clone());
        let mut server = Server::new(NOW, Settings::server(), Policy::Auto.scheduler(), tracer);
        let request = coded(&[Frame::Headers(&section(&GET))]);
        let mut input = &request[..];
        while server.handle_stream(NOW, StreamId(0), &mut input, Fin::Last).is_some() {}
        server.respond(StreamId(0), &ResponseHead::new(Status::OK), Fin::More).unwrap();
        server.send(StreamId(0), vec![7; 10_000].into(), Fin::More).unwrap();
        server.send(StreamId(0), vec![7; 30_000].into(), Fin::Last).unwrap();
        while server.poll_stream_transmit(NOW, &mut SendBuf::new(), limit).is_some() {}
        let lengths = lengths.0.take();
        assert_eq!(lengths.iter().sum::<u64>(), 40_000, "{limit}: {lengths:?}");
    }
}
