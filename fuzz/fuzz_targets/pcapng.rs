//! Whatever reads as a block is written and read again as the same one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::pcapng::Block;

fuzz_target!(|bytes: &[u8]| {
    let Ok((block, length)) = Block::decode(bytes) else { return };
    assert!(length <= bytes.len());
    if matches!(block, Block::Other(_)) {
        return;
    }
    let mut written = Vec::new();
    block.encode(&mut written);
    assert_eq!(Block::decode(&written), Ok((block, written.len())));
});
