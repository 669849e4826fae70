//! Whatever reads as a block is written and read again as the same one.

use crate::reached;
use wire::pcapng::Block;

pub(crate) fn run(bytes: &[u8]) {
    let Ok((block, length)) = Block::decode(bytes) else { return };
    assert!(length <= bytes.len());
    if matches!(block, Block::Other(_)) {
        return;
    }
    reached::note_value();
    let mut written = Vec::new();
    block.encode(&mut written);
    assert_eq!(Block::decode(&written), Ok((block, written.len())));
}
