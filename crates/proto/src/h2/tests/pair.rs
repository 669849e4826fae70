//! Two ends of random settings that talk, and an end that is given random bytes.

use super::*;
use crate::h2::framing::Http2;
use crate::multiplex::Role;
use crate::multiplex::tests::pair;
use crate::{ClientConnection, Fin, RequestHead, Scheme};
use proptest::prelude::*;
use unit::{Random, Seed};

fn settings(role: Role, random: &mut Random) -> Settings {
    let mut settings = match role {
        Role::Client => Settings::client(),
        Role::Server => Settings::server(),
    };
    settings.stream_window = 1 + random.below(60_000) as u32;
    settings.connection_window = 65_535 + random.below(50_000) as u32;
    settings.header_table_size = random.below(9_000) as u32;
    settings.data_frame_size = 1 + random.below(20_000) as u32;
    settings.limits.resets.burst = 10_000;
    settings.limits.chatter.burst = 1_000_000;
    settings
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_byte_is_lost_and_every_window_comes_back(seed in any::<u64>(), resets in any::<bool>()) {
        let mut random = Seed(seed).child("settings").random();
        pair::run(Seed(seed).child("pair").random(), resets, |endowment| {
            let settings = settings(endowment.role, &mut random);
            Http2::session(endowment, settings)
        })?;
    }

    #[test]
    fn random_bytes_after_the_greeting_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
        kinds in proptest::collection::vec((0_u8..12, any::<u8>(), 0_u32..6, 0_usize..60), 0..30),
    ) {
        let mut hand = ByHand::greeted(Settings::server());
        let mut near = client(Settings { enable_push: true, ..Settings::client() });
        let head = RequestHead::get(Scheme::Http, "a", "/");
        near.request(Instant::ZERO, &head, Fin::More).unwrap();
        let mut rest = &bytes[..];
        let mut stream = Vec::new();
        Setting::encode_all(&[], &mut stream);
        for (kind, flags, id, length) in kinds {
            let (payload, tail) = rest.split_at(length.min(rest.len()));
            let kind = wire::h2::FrameKind(kind);
            let header = FrameHeader { length: payload.len() as u32, kind, flags, stream: id };
            stream.extend(header.bytes());
            stream.extend(payload);
            rest = tail;
        }
        stream.extend(rest);
        hand.give(&stream);
        hand.take();
        events(&mut near, Instant::ZERO, &stream);
        near.handle_eof(Instant::ZERO);
        events(&mut near, Instant::ZERO, &[]);
    }
}
