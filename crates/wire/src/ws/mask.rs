//! Masking (RFC 6455 §5.3): eight bytes a step, which compilers turn into vector code.

/// Masks or unmasks `bytes`, of which the first is the `offset`th of the frame's payload.
pub fn mask(bytes: &mut [u8], key: [u8; 4], offset: usize) {
    let [a, b, c, d] = std::array::from_fn(|index| key[(offset + index) % 4]);
    let word = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let mut words = bytes.chunks_exact_mut(8);
    for chunk in &mut words {
        if let Ok(eight) = <[u8; 8]>::try_from(&*chunk) {
            chunk.copy_from_slice(&(u64::from_ne_bytes(eight) ^ word).to_ne_bytes());
        }
    }
    for (byte, key) in words.into_remainder().iter_mut().zip(word.to_ne_bytes()) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_masking_of_the_rfc_wherever_it_is_cut(
            plain in proptest::collection::vec(any::<u8>(), 0..100),
            key in any::<[u8; 4]>(),
            cut in any::<prop::sample::Index>(),
        ) {
            // RFC 6455 §5.3: j = i MOD 4; transformed-byte-i = original-byte-i XOR masking-key-byte-j
            let expected: Vec<u8> =
                plain.iter().enumerate().map(|(i, byte)| byte ^ key[i % 4]).collect();
            let mut bytes = plain.clone();
            let cut = cut.index(plain.len() + 1);
            let (front, back) = bytes.split_at_mut(cut);
            mask(front, key, 0);
            mask(back, key, cut);
            prop_assert_eq!(bytes, expected);
        }
    }
}
