//! A global allocator that counts the bytes that each thread holds. The one rule: it passes every call on unchanged.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which also counts. Every binary that links this crate uses it.
struct CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

thread_local! {
    // Without a destructor and without lazy initialisation, so that they can be used within an allocation.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

/// Bytes that this thread allocated and has not freed. What another thread freed counts as held.
pub(crate) fn held() -> isize {
    HELD.get()
}

/// The most that [`held`] was since [`reset_peak`].
pub(crate) fn peak() -> isize {
    PEAK.get()
}

/// Bytes that this thread ever allocated, freed or not: a measure of work that does not depend on the machine.
#[cfg(test)]
pub(crate) fn allocated() -> usize {
    ALLOCATED.get()
}

/// Begins a new maximum.
pub(crate) fn reset_peak() {
    PEAK.set(HELD.get());
}

fn note(change: isize) {
    let held = HELD.get() + change;
    HELD.set(held);
    PEAK.set(PEAK.get().max(held));
    ALLOCATED.set(ALLOCATED.get().wrapping_add_signed(change.max(0)));
}

fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

// SAFETY: every call goes to `System` with the caller's own arguments, and its result goes back unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(signed(layout.size()));
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(signed(layout.size()));
        // SAFETY: the caller keeps `alloc_zeroed`'s contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        note(-signed(layout.size()));
        // SAFETY: the caller keeps `dealloc`'s contract.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(signed(size) - signed(layout.size()));
        // SAFETY: the caller keeps `realloc`'s contract.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_and_its_peak_are_counted() {
        reset_peak();
        let (before, allocated_before) = (held(), allocated());
        let some = vec![1_u8; 100_000];
        assert_eq!(held() - before, 100_000);
        drop(some);
        assert_eq!(held(), before);
        assert_eq!(peak() - before, 100_000);
        assert_eq!(allocated() - allocated_before, 100_000);
    }
}
