//! Buffers that the kernel chooses from when it receives (IORING_REGISTER_PBUF_RING). The one rule: a buffer belongs to the
//! kernel from `give` until a completion names it, and to this process until it is given again.
#![allow(unsafe_code)]

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use std::alloc::{self, Layout};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// The group's number; there is one.
pub(super) const GROUP: u16 = 0;

/// How many buffers there are: a power of two. This many sockets may receive in one turn before others wait. Buffers
/// are used in order, so a larger number would not stay in the processor's caches.
const COUNT: u16 = 128;

/// Bytes in each buffer: an odd number of cache lines. Buffers a power of two apart would all begin in the same few
/// sets of the cache.
pub(super) const LENGTH: usize = 131 * 64;

/// What io_uring_register(2) asks of the ring's address.
const PAGE: usize = 4096;

/// A part of a buffer, which holds bytes that arrived. There is one for each buffer that the kernel filled: it can be
/// neither copied nor used once the buffer was given back. [`Buffers::recycle`] takes it.
#[derive(Debug)]
pub(super) struct Filled {
    number: u16,
    length: usize,
}

/// The buffers and their ring.
#[derive(Debug)]
pub(super) struct Buffers {
    entries: NonNull<BufRingEntry>,
    bytes: NonNull<u8>,
    /// How many buffers were given to the kernel so far, as it counts them.
    tail: u16,
}

impl Buffers {
    /// Makes them and hands them all to `ring`.
    pub(super) fn register(ring: &IoUring) -> io::Result<Self> {
        let entries: NonNull<BufRingEntry> = allocate(entries_layout())?.cast();
        let bytes = allocate(bytes_layout()).inspect_err(|_refused| {
            // SAFETY: allocated above with this layout, and handed to nobody.
            unsafe { alloc::dealloc(entries.as_ptr().cast(), entries_layout()) };
        })?;
        let mut buffers = Self { entries, bytes, tail: 0 };
        // SAFETY: COUNT entries at the address, which live as long as `buffers`; whoever owns both drops it only when
        // the kernel no longer receives (`Ring::drop`).
        unsafe {
            let address = entries.as_ptr() as u64;
            ring.submitter().register_buf_ring_with_flags(address, COUNT, GROUP, 0)?;
        }
        for number in 0..COUNT {
            buffers.give(number);
        }
        Ok(buffers)
    }

    /// The bytes that a completion says it filled; None for a number that the kernel cannot have given.
    pub(super) fn filled(number: u16, length: usize) -> Option<Filled> {
        (number < COUNT && length <= LENGTH).then_some(Filled { number, length })
    }

    /// The bytes that arrived.
    pub(super) fn bytes(&self, filled: &Filled) -> &[u8] {
        let at = usize::from(filled.number) * LENGTH;
        // SAFETY: within the allocation (`filled` checks both); the buffer is not the kernel's until it is given
        // again, which takes `&mut self`.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().add(at), filled.length) }
    }

    /// Gives a buffer back to the kernel.
    pub(super) fn recycle(&mut self, filled: Filled) {
        self.give(filled.number);
    }

    fn give(&mut self, number: u16) {
        let place = usize::from(self.tail % COUNT);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: `place` is below COUNT and `number` too; this slot is not the kernel's, since no more than COUNT
        // buffers were ever given at once. The tail lies in the first entry, is written here alone, and is read by
        // the kernel as an atomic.
        unsafe {
            let entry = &mut *self.entries.as_ptr().add(place);
            entry.set_addr(self.bytes.as_ptr().add(usize::from(number) * LENGTH) as u64);
            entry.set_len(LENGTH as u32);
            entry.set_bid(number);
            let tail = BufRingEntry::tail(self.entries.as_ptr());
            AtomicU16::from_ptr(tail.cast_mut()).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: both were allocated with these layouts and are freed once.
        unsafe {
            alloc::dealloc(self.entries.as_ptr().cast(), entries_layout());
            alloc::dealloc(self.bytes.as_ptr(), bytes_layout());
        }
    }
}

fn entries_layout() -> Layout {
    layout(usize::from(COUNT) * size_of::<BufRingEntry>())
}

fn bytes_layout() -> Layout {
    layout(usize::from(COUNT) * LENGTH)
}

const fn layout(length: usize) -> Layout {
    match Layout::from_size_align(length, PAGE) {
        Ok(layout) => layout,
        Err(_) => panic!("the sizes of this file fit"),
    }
}

fn allocate(layout: Layout) -> io::Result<NonNull<u8>> {
    // SAFETY: no layout of this file is empty.
    let pointer = unsafe { alloc::alloc_zeroed(layout) };
    NonNull::new(pointer).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}
