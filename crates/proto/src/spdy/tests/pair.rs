//! Two ends of random settings that talk, and ends that are given random bytes.

use super::*;
use crate::multiplex::Role;
use crate::multiplex::tests::pair;
use crate::spdy::framing::Spdy;
use crate::{ClientConnection, ConnectionState, Fin, RequestHead, Scheme};
use proptest::prelude::*;
use unit::{Random, Seed};

fn settings(version: Version, role: Role, random: &mut Random) -> Settings {
    let mut settings = match role {
        Role::Client => Settings::client(version),
        Role::Server => Settings::server(version),
    };
    settings.stream_window = 65_536 + random.below(20_000) as u32;
    settings.session_window = 65_536 + random.below(50_000) as u32;
    settings.data_frame_size = 1 + random.below(20_000) as u32;
    settings.effort = match random.below(20) {
        level @ 0..10 => Effort::Zlib(level as u8),
        _ => Effort::Fields,
    };
    settings.limits.resets.burst = 10_000;
    settings.limits.chatter.burst = 1_000_000;
    settings
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_byte_is_lost_and_every_window_comes_back(seed in any::<u64>(), resets in any::<bool>()) {
        let mut random = Seed(seed).child("settings").random();
        let version = if random.below(2) == 0 { Version::V3 } else { Version::V3_1 };
        let ends = pair::run(Seed(seed).child("pair").random(), resets, |endowment| {
            let settings = settings(version, endowment.role, &mut random);
            Spdy::session(endowment, settings)
        })?;
        prop_assert!(ends.iter().all(|end| end.framing.late.is_empty()));
    }

    #[test]
    fn random_bytes_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
        kinds in proptest::collection::vec((0_u8..12, any::<u8>(), 0_u32..6, 0_usize..60), 0..30),
    ) {
        let mut far = server(Settings::server(Version::V3_1));
        let mut near = client(Settings { enable_push: true, ..Settings::client(Version::V3_1) });
        let head = RequestHead::get(Scheme::Http, "a", "/");
        near.subject.request(near.now, &head, Fin::More).unwrap();
        let mut rest = &bytes[..];
        let mut stream = Vec::new();
        for (kind, flags, id, length) in kinds {
            let (payload, tail) = rest.split_at(length.min(rest.len()));
            let mut payload = payload.to_vec();
            let kind = wire::spdy::FrameKind(u16::from(kind));
            let mut header = FrameHeader::control(kind, flags, 0);
            if kind.0 == 0 {
                header.subject = Subject::Data { stream: id };
            } else if let Some(name) = payload.first_chunk_mut() {
                *name = id.to_be_bytes();
            }
            header.length = payload.len() as u32;
            stream.extend(header.bytes());
            stream.extend(payload);
            rest = tail;
        }
        stream.extend(rest);
        far.give(&stream);
        far.take();
        near.give(&stream);
        near.subject.handle_eof(near.now);
        near.give(&[]);
        prop_assert_eq!(near.subject.state(), ConnectionState::Closed);
    }
}
