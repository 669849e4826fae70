//! What traced ends tell of their QUIC packets, in virtual time: both ends agree with each other and with the link.

use crate::world::{START, Trusted};
use client::{Bodies, Client, FetchList, FetchSpec, Transport};
use link::{LinkSpec, no_traces};
use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock};
use sim::{Ended, Path, World};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;
use trace::{
    ControlFrame, Direction, Event, Fate, PacketRecord, QuicEnd, QuicFrame, QuicInitiator,
    QuicPacket, QuicSpace, Sink, Tracer,
};
use transport::QuicSettings;
use unit::Instant;

/// What an end has told.
#[derive(Debug, Default)]
struct Told {
    started: u32,
    parameters: Vec<QuicInitiator>,
    sent: Vec<(Instant, QuicPacket)>,
    received: Vec<(Instant, QuicPacket)>,
    lost: Vec<(QuicSpace, u64)>,
    windows: BTreeSet<u64>,
    closed: Vec<QuicEnd>,
    http3: BTreeSet<&'static str>,
}

#[derive(Debug, Default)]
struct Log(RefCell<Told>);

impl Sink for Log {
    fn record(&self, at: Instant, _connection: u64, event: &Event<'_>) {
        let mut told = self.0.borrow_mut();
        match event {
            Event::QuicStarted { .. } => told.started += 1,
            Event::QuicParameters { by, parameters } => {
                assert!(parameters.len() > 5, "{parameters:?}");
                told.parameters.push(*by);
            }
            Event::QuicPacketSent(packet) => told.sent.push((at, (*packet).clone())),
            Event::QuicPacketReceived(packet) => told.received.push((at, (*packet).clone())),
            Event::QuicPacketLost { kind, number, .. } => told.lost.push((kind.space(), *number)),
            Event::QuicMetricsUpdated(metrics) => {
                told.windows.insert(metrics.congestion_window);
            }
            Event::QuicClosed(end) => told.closed.push(*end),
            Event::FrameCreated { frame, .. } | Event::FrameParsed { frame, .. } => {
                told.http3.insert(frame);
            }
            Event::ControlFrameCreated { frame, .. } | Event::ControlFrameParsed { frame, .. } => {
                if let ControlFrame::Settings(settings) = frame {
                    assert!(settings.len() > 2, "{settings:?}");
                    told.http3.insert("SETTINGS");
                }
            }
            _ => {}
        }
    }
}

/// What both ends tell of a download of 300 kB, and what the link saw.
fn downloaded(link: &str) -> (Told, Told, Vec<PacketRecord>) {
    let trusted = Trusted::new(&["h2"]);
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let kind = ListenerKind::Quic(trusted.server.clone(), QuicSettings::default());
    let (near_log, far_log) = (Rc::new(Log::default()), Rc::new(Log::default()));
    let parts = Parts { tracer: Tracer::to(far_log.clone()), ..Parts::default() };
    let origin = Origin::new(OriginConfig::new(vec![kind], wall_clock), parts);
    let url = "https://a.test/image/1?bytes=300000".parse().unwrap();
    let list = FetchList::new([FetchSpec::get(url)], Bodies::Keep);
    let mut config = trusted.config(Transport::H3);
    config.tracer = Tracer::to(near_log.clone());
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", Client::new(config, list));
    let far = world.host("10.0.0.2", origin);
    world.listen_datagrams(far, "10.0.0.2:443");
    world.connect(near, far, Path::link(LinkSpec::parse(link, no_traces).unwrap()));
    world.record_packets();
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    world.run_for(Duration::from_secs(10));
    let packets = world.packets().to_vec();
    (near_log.0.take(), far_log.0.take(), packets)
}

fn by_number(packets: &[(Instant, QuicPacket)]) -> BTreeMap<(QuicSpace, u64), &QuicPacket> {
    packets.iter().map(|(_, packet)| ((packet.kind.space(), packet.number), packet)).collect()
}

/// What one end has sent, the other one received, and the link carried that way.
fn check_way(sent: &Told, received: &Told, packets: &[PacketRecord], way: Direction) {
    let (all, came) = (by_number(&sent.sent), by_number(&received.received));
    assert_eq!(all.len(), sent.sent.len(), "a number is used once");
    for (number, packet) in &came {
        assert_eq!(all.get(number), Some(packet), "{way:?} {number:?}");
    }
    assert_eq!(came.len(), received.received.len(), "no number came twice");
    // The sizes of the packets of a moment are those of its datagrams.
    let mut told: BTreeMap<Instant, u64> = BTreeMap::new();
    sent.sent.iter().for_each(|(at, packet)| *told.entry(*at).or_default() += packet.length);
    let mut seen: BTreeMap<Instant, u64> = BTreeMap::new();
    let own = packets.iter().filter(|packet| packet.direction == way);
    // What the link let through has come, until the receiver closed the connection.
    let closes = |packet: &QuicPacket| {
        packet.frames.iter().any(|frame| matches!(frame, QuicFrame::ConnectionClose { .. }))
    };
    let closed = received.sent.iter().find(|(_, packet)| closes(packet)).map(|(at, _)| *at);
    let is_heard = |at| closed.is_none_or(|closed| at <= closed);
    let mut delivered = 0;
    for packet in own {
        let bytes = u64::from(packet.udp.unwrap().payload);
        *seen.entry(packet.at).or_default() += bytes;
        delivered += match packet.fate {
            Fate::Delivered { at } if is_heard(at) => bytes,
            _ => 0,
        };
    }
    assert_eq!(told, seen, "{way:?}");
    let came_bytes: u64 = came.values().map(|packet| packet.length).sum();
    assert_eq!(came_bytes, delivered, "{way:?}");
    // Nothing is reordered here, so that only what is lost is taken for lost.
    let lost: BTreeSet<_> = sent.lost.iter().copied().collect();
    assert_eq!(lost.len(), sent.lost.len());
    assert!(lost.iter().all(|number| all.contains_key(number) && !came.contains_key(number)));
    // RFC 9002 §6.1.1: a packet is lost once one that was sent three later is acknowledged.
    let acked =
        sent.received.iter().filter(|(_, packet)| packet.kind.space() == QuicSpace::Application);
    let acked = acked.flat_map(|(_, packet)| &packet.frames).filter_map(|frame| match frame {
        QuicFrame::Ack(ack) => ack.ranges.last().map(|(_, last)| *last),
        _ => None,
    });
    let last = acked.max().unwrap_or(0);
    let missing = all.iter().filter(|(number, packet)| {
        let elicits_ack = packet.frames.iter().any(|frame| {
            !matches!(
                frame,
                QuicFrame::Ack(_) | QuicFrame::Padding { .. } | QuicFrame::ConnectionClose { .. }
            )
        });
        number.0 == QuicSpace::Application
            && number.1 + 3 <= last
            && !came.contains_key(number)
            && elicits_ack
    });
    for (number, packet) in missing {
        assert!(
            lost.contains(number),
            "{way:?}: {number:?} is lost and nobody says so: {packet:?}"
        );
    }
}

#[test]
fn both_ends_and_the_link_agree_packet_for_packet() {
    for link in ["rtt=40ms,down=20mbit,up=20mbit", "rtt=40ms,down=20mbit,up=20mbit,loss=3%"] {
        let (near, far, packets) = downloaded(link);
        check_way(&near, &far, &packets, Direction::Up);
        check_way(&far, &near, &packets, Direction::Down);
        assert_eq!(link.contains("loss"), !far.lost.is_empty());
        for told in [&near, &far] {
            assert_eq!((told.started, told.parameters.len()), (1, 2), "{told:?}");
            for frame in ["SETTINGS", "HEADERS", "DATA"] {
                assert!(told.http3.contains(frame), "{:?}", told.http3);
            }
        }
        assert!(far.windows.len() > 3, "{:?}", far.windows);
        let closed = |told: &Told| match told.closed[..] {
            [QuicEnd::Closed { by, code, .. }] => (by, code),
            ref other => panic!("{other:?}"),
        };
        // H3_NO_ERROR.
        assert_eq!(closed(&near), (QuicInitiator::Local, 0x100));
        assert_eq!(closed(&far), (QuicInitiator::Remote, 0x100));
    }
}
