//! A bit filter: whether a name may be in the block already. Most often a bit says no, and nothing is compared.

/// The names of one block. It tells at most 64 of them apart.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NameFilter(u64);

impl NameFilter {
    /// Adds a name; false where neither it nor one that differs from it in case was there before.
    pub(super) fn add(&mut self, name: &[u8]) -> bool {
        let at = |index: usize| name.get(index).map_or(0, |byte| u32::from(byte | 0x20));
        let length = name.len();
        let ends = at(0) ^ at(length.wrapping_sub(1)) << 8 ^ at(length / 2) << 16;
        let mixed = (ends ^ (length as u32) << 24).wrapping_mul(0x9e37_79b9);
        let bit = 1 << (mixed >> 26);
        let before = self.0 & bit != 0;
        self.0 |= bit;
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_may_be_there_in_any_case_and_little_else() {
        let mut filter = NameFilter::default();
        let names =
            [":host", ":path", "accept", "accept-encoding", "cookie", "user-agent", "x", ""];
        let maybe = names.iter().filter(|name| filter.add(name.as_bytes())).count();
        assert!(maybe <= 1, "{maybe}");
        assert!(names.iter().all(|name| filter.add(name.to_uppercase().as_bytes())));
    }
}
