//! Memory that the C library's allocator keeps although nothing uses it any more. What a program has freed stays with the
//! process where parts behind it are still used (malloc_trim(3)), and so does the end of an arena up to a threshold, which grows with the
//! largest piece that was freed (mallopt(3)). Nothing here does anything where the C library is not glibc.
#![allow(unsafe_code)]

use std::fs;

/// What is kept unused is given back to the system where it is more than this, in bytes.
const MUCH: usize = 2 << 20;

/// The most that stays at the end of an arena, in bytes: less costs page faults in ordinary work.
#[cfg(target_env = "gnu")]
const MOST_AT_END: i32 = 4 << 20;

/// From this size on a piece is mapped by itself, in bytes, and so given back as soon as it is freed.
#[cfg(target_env = "gnu")]
const MAPPED_FROM: i32 = 1 << 20;

/// The most looks to leave out.
const LONGEST_PAUSE: u32 = 8;

/// Gives back what the allocator keeps, where that is much.
#[derive(Debug, Default)]
pub struct UnusedMemory {
    /// Looks to leave out: pages of which a part is used cannot be given back, so that it is no use to try again at once.
    pause: u32,
    /// How many were left out after the last time.
    last_pause: u32,
    /// What was used at the last try, in bytes: where much of it is freed since then, no look is left out.
    last_used: usize,
}

impl UnusedMemory {
    /// Fixes the allocator's thresholds. To be called before the threads begin.
    pub fn new() -> Self {
        fix_thresholds();
        Self::default()
    }

    /// To be called every second. Other threads wait for it in their calls of the allocator, some milliseconds for 100 MB.
    pub fn give_back(&mut self) {
        let Some(Usage { used, unused }) = usage() else { return };
        if !self.is_due(used) || unused <= MUCH {
            return;
        }
        trim();
        let left = usage().map_or(unused, |after| after.unused);
        self.rest(used, unused.saturating_sub(left));
    }

    /// Whether to try at this look.
    fn is_due(&mut self, used: usize) -> bool {
        if self.pause == 0 || self.last_used.saturating_sub(used) > MUCH {
            return true;
        }
        self.pause -= 1;
        false
    }

    /// After a try: leaves out twice as many looks as the last time where little was given back.
    fn rest(&mut self, used: usize, given: usize) {
        self.last_used = used;
        self.last_pause =
            if given > MUCH { 0 } else { (2 * self.last_pause).clamp(1, LONGEST_PAUSE) };
        self.pause = self.last_pause;
    }
}

/// What this process has of memory, in bytes.
struct Usage {
    /// Allocated and not freed, but for what is mapped by itself.
    used: usize,
    /// Resident, but neither a file's nor used. What is mapped by itself counts here, too, for of that nobody tells how much
    /// is resident.
    unused: usize,
}

fn usage() -> Option<Usage> {
    let used = used()?;
    let unused = anonymous(&fs::read_to_string("/proc/self/statm").ok()?)?.saturating_sub(used);
    Some(Usage { used, unused })
}

/// Resident bytes that are no file's, from the text of /proc/self/statm (proc(5)): in pages, the second number is all that is
/// resident, the third one what of it is shared.
fn anonymous(statm: &str) -> Option<usize> {
    let pages: Vec<usize> = statm.split(' ').map_while(|pages| pages.parse().ok()).collect();
    let [_, resident, shared] = *pages.first_chunk()?;
    // SAFETY: takes a number and gives one.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some(resident.saturating_sub(shared) * page)
}

/// Bytes that the program has allocated and not freed, but for what is mapped by itself.
#[cfg(target_env = "gnu")]
fn used() -> Option<usize> {
    // SAFETY: takes nothing and gives numbers.
    let told = unsafe { libc::mallinfo() };
    // It is 32 bits wide, and goes on from 0 above 4 GiB.
    #[allow(clippy::cast_sign_loss, reason = "it is unsigned, whatever its type says")]
    Some(told.uordblks as u32 as usize)
}

#[cfg(not(target_env = "gnu"))]
fn used() -> Option<usize> {
    None
}

#[cfg(target_env = "gnu")]
fn fix_thresholds() {
    // SAFETY: both take numbers and change what comes later.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, MOST_AT_END);
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM);
    }
}

#[cfg(not(target_env = "gnu"))]
fn fix_thresholds() {}

#[cfg(target_env = "gnu")]
fn trim() {
    // SAFETY: leaves what is allocated as it is.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
fn trim() {}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn what_was_freed_between_used_parts_is_given_back() {
        // Each part ends with a piece that stays, so that the allocator cannot give the others back by itself.
        let parts: Vec<_> = (0..64)
            .map(|_| {
                let pieces: Vec<Vec<u8>> = (0..16).map(|_| black_box(vec![1; 64 * 1024])).collect();
                (pieces, black_box(vec![1_u8; 100]))
            })
            .collect();
        let stay: Vec<Vec<u8>> = parts.into_iter().map(|(_, stays)| stays).collect();
        let unused = || usage().unwrap().unused;
        let before = unused();
        assert!(before > 32 << 20, "{before} bytes");
        UnusedMemory::default().give_back();
        let after = unused();
        assert!(after < before - (32 << 20), "{before} and then {after} bytes");
        drop(stay);
    }

    #[test]
    fn where_little_could_be_given_back_it_is_tried_less_often() {
        let mut memory = UnusedMemory::default();
        let mut pauses = Vec::new();
        for given in [MUCH + 1, 0, MUCH, 1, 0, 0, MUCH + 1, 0] {
            memory.rest(1, given);
            pauses.push(memory.pause);
        }
        assert_eq!(pauses, [0, 1, 2, 4, 8, 8, 0, 1]);
        assert!(!memory.is_due(1));
        assert!(memory.is_due(1));
    }

    #[test]
    fn no_look_is_left_out_once_much_is_freed() {
        let mut memory = UnusedMemory::default();
        memory.rest(10 * MUCH, 0);
        memory.rest(10 * MUCH, 0);
        assert!(!memory.is_due(11 * MUCH));
        assert!(memory.is_due(9 * MUCH - 1));
        assert_eq!(memory.pause, 1);
    }

    #[test]
    fn anonymous_pages_are_the_resident_ones_without_the_shared() {
        // SAFETY: takes a number and gives one.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap();
        assert_eq!(anonymous("5000 300 100 7 0 90 0\n"), Some(200 * page));
        assert_eq!(anonymous("5000 300"), None);
        assert_eq!(anonymous(""), None);
    }
}
