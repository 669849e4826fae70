//! Splitting any packet gives packets that parse, none larger than asked for, with all the payload of a
//! TCP one in order.

use crate::{decode, reached};
use wire::ip::{Packet, Segments};

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(u16, &[u8])>(input) else { return };
    let (size, bytes) = input;
    let Ok(packet) = Packet::parse(bytes) else { return };
    let (_, mark) = (packet.flow(), packet.tcp_mark());
    let Ok(mut segments) = Segments::of(bytes, usize::from(size)) else { return };
    reached::note_value();
    let (mut out, mut payload) = (Vec::new(), 0_u64);
    loop {
        out.clear();
        if !segments.write_next(&mut out) {
            break;
        }
        let segment = Packet::parse(&out).expect("a segment is a packet");
        assert_eq!(
            (segment.source(), segment.destination()),
            (packet.source(), packet.destination())
        );
        payload += segment.tcp_mark().map_or(0, |mark| u64::from(mark.payload));
    }
    if let Some(mark) = mark {
        assert_eq!(payload, u64::from(mark.payload));
    }
}
