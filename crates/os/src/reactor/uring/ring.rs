//! One io_uring instance, and all memory of this process that its operations point to. The one rule: this module owns
//! that memory until the operation's completion was seen, whatever happens to the socket.
#![allow(unsafe_code)]

use super::buffers::{self, Buffers, Filled};
use super::operation::Operation;
use crate::reactor::table::Token;
use crate::tcp;
use endpoint::SendBuf;
use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use slab::Slab;
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The most operations submitted in one call.
const SUBMISSIONS: u32 = 1024;

/// Completions that may wait to be seen. The kernel keeps further ones, but ends multishot operations.
const COMPLETIONS: u32 = 16 * 1024;

/// Pieces in one vectored write.
const SLICES: usize = 64;

/// When the ring is dropped: how often, and how long each time, it waits for the end of all operations before it leaks
/// their memory.
const LAST_WAITS: usize = 100;
const LAST_WAIT: Duration = Duration::from_millis(10);

/// What came of an operation.
#[derive(Debug)]
pub(super) struct Completion {
    pub(super) operation: Operation,
    /// A count, or the bits of poll(2).
    pub(super) result: Result<u32, i32>,
    /// Bytes that arrived, where the operation receives.
    pub(super) filled: Option<Filled>,
    /// The operation goes on.
    pub(super) more: bool,
}

/// How often an operation receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receive {
    /// Again and again: as many buffers as bytes are there.
    Multishot,
    /// Once, so many bytes at most, and one buffer. Further ones stay in the kernel.
    Once(usize),
}

/// Bytes in the kernel's hands.
pub(super) struct Sending {
    pub(super) token: Token,
    pub(super) pending: SendBuf,
    /// Where they are in more than one piece.
    message: Option<Box<Message>>,
}

/// The arguments of sendmsg(2).
struct Message {
    header: libc::msghdr,
    slices: Vec<libc::iovec>,
}

/// An io_uring instance.
pub(super) struct Ring {
    ring: IoUring,
    buffers: Option<Buffers>,
    sends: Slab<Sending>,
    /// Receive operations whose end was not seen.
    receives: usize,
    /// Descriptors to close once the kernel has been asked to cancel their operations. Until then an operation that
    /// waits to be submitted may name them.
    closing: Vec<OwnedFd>,
    completions: Vec<cqueue::Entry>,
    /// How many of these were looked at.
    seen: usize,
}

impl Ring {
    pub(super) fn new() -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_cqsize(COMPLETIONS)
            .setup_submit_all()
            // One thread submits, and runs the kernel's deferred work within its own waits: no interrupts, no other
            // threads.
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(SUBMISSIONS)?;
        let buffers = Some(Buffers::register(&ring)?);
        let (sends, closing, completions) = (Slab::new(), Vec::new(), Vec::new());
        Ok(Self { ring, buffers, sends, receives: 0, closing, completions, seen: 0 })
    }

    /// Receives from a socket, until it ends, fails or is cancelled.
    pub(super) fn receive(
        &mut self,
        fd: BorrowedFd<'_>,
        token: Token,
        how: Receive,
    ) -> io::Result<()> {
        let fd = Fd(fd.as_raw_fd());
        let entry = match how {
            Receive::Multishot => opcode::RecvMulti::new(fd, buffers::GROUP).build(),
            Receive::Once(most) => opcode::Recv::new(fd, std::ptr::null_mut(), most as u32)
                .buf_group(buffers::GROUP)
                .build()
                .flags(squeue::Flags::BUFFER_SELECT),
        };
        self.push(entry, Operation::Receive(token))?;
        self.receives += 1;
        Ok(())
    }

    /// Tells once that `bits` of poll(2) hold.
    pub(super) fn poll(
        &mut self,
        fd: BorrowedFd<'_>,
        bits: i16,
        operation: Operation,
    ) -> io::Result<()> {
        self.push(opcode::PollAdd::new(Fd(fd.as_raw_fd()), bits as u32).build(), operation)
    }

    /// Reports each change of the poll(2) events `bits`.
    pub(super) fn watch(
        &mut self,
        fd: BorrowedFd<'_>,
        bits: i16,
        operation: Operation,
    ) -> io::Result<()> {
        let entry = opcode::PollAdd::new(Fd(fd.as_raw_fd()), bits as u32).multi(true).build();
        self.push(entry, operation)
    }

    /// Sends the bytes before the first part of a file, of which there must be some. Sends all of them unless it fails
    /// in between.
    pub(super) fn send(
        &mut self,
        fd: BorrowedFd<'_>,
        token: Token,
        pending: SendBuf,
    ) -> Result<(), (SendBuf, io::Error)> {
        let place = self.sends.vacant_entry();
        let number = place.key();
        let sending = place.insert(Sending { token, pending, message: None });
        let entry = sending.entry(Fd(fd.as_raw_fd()));
        let pushed = self.push(entry, Operation::Send(number));
        pushed.map_err(|error| (self.sends.remove(number).pending, error))
    }

    /// The outcome of a send whose completion was seen.
    pub(super) fn take_sent(&mut self, number: usize) -> Option<Sending> {
        self.sends.try_remove(number)
    }

    /// Ends an operation; its completion is either the cancellation or the result that came before it.
    pub(super) fn cancel(&mut self, operation: Operation) -> io::Result<()> {
        self.push(opcode::AsyncCancel::new(operation.encode()).build(), Operation::Unobserved)
    }

    /// Closes a descriptor after ending all that is done for it.
    pub(super) fn close(&mut self, fd: OwnedFd) {
        let all = CancelBuilder::fd(Fd(fd.as_raw_fd())).all();
        if self.push(opcode::AsyncCancel2::new(all).build(), Operation::Unobserved).is_err() {
            // The kernel has no memory for more operations. This ends the socket's pending operations too.
            tcp::end(fd.as_fd());
        }
        self.closing.push(fd);
    }

    /// Submits what was asked and waits up to `timeout` for a completion. Returns how many there are.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        let outcome = match timeout {
            Some(Duration::ZERO) => self.enter_at_once(),
            Some(timeout) => {
                let span = Timespec::from(timeout);
                self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&span))
            }
            None => self.ring.submitter().submit_and_wait(1),
        };
        match outcome {
            Ok(_) => {}
            // ETIME: the time is over. EBUSY: completions must be handled first. EAGAIN: no memory for more operations,
            // which completions free.
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)
                ) => {}
            Err(error) => return Err(error),
        }
        if self.ring.submission().is_empty() {
            self.closing.clear();
        }
        self.completions.clear();
        self.seen = 0;
        self.completions.extend(self.ring.completion());
        Ok(self.completions.len())
    }

    /// One completion of the last wait. Each is returned once.
    pub(super) fn completion(&mut self, index: usize) -> Completion {
        self.seen = index + 1;
        let entry = &self.completions[index];
        let (operation, flags) = (Operation::decode(entry.user_data()), entry.flags());
        let result = u32::try_from(entry.result()).map_err(|_negative| -entry.result());
        let more = cqueue::more(flags);
        if matches!(operation, Operation::Receive(_)) && !more {
            self.receives -= 1;
        }
        let filled = cqueue::buffer_select(flags).and_then(|number| {
            let length = result.map_or(0, |count| count as usize);
            Buffers::filled(number, length)
        });
        Completion { operation, result, filled, more }
    }

    /// Whether there are completions that were not looked at.
    pub(super) fn has_completions(&mut self) -> bool {
        self.seen < self.completions.len() || !self.ring.completion().is_empty()
    }

    /// Bytes that arrived.
    pub(super) fn bytes(&self, filled: &Filled) -> &[u8] {
        self.buffers.as_ref().map_or(&[], |buffers| buffers.bytes(filled))
    }

    /// Gives their buffer back.
    pub(super) fn recycle(&mut self, filled: Filled) {
        if let Some(buffers) = &mut self.buffers {
            buffers.recycle(filled);
        }
    }

    /// Submits what was asked, without a wait, until nothing is left to be closed.
    pub(super) fn flush(&mut self) {
        let mut tries = 0..LAST_WAITS;
        while !self.closing.is_empty() && tries.next().is_some() {
            if self.enter_at_once().is_ok() && self.ring.submission().is_empty() {
                self.closing.clear();
            }
        }
    }

    fn push(&mut self, entry: squeue::Entry, operation: Operation) -> io::Result<()> {
        let entry = entry.user_data(operation.encode());
        // SAFETY: the entry's descriptor is open, and stays so until the entry is handed over (`closing`); what it
        // points to is owned by `sends` or `buffers` until its completion was seen.
        if unsafe { self.ring.submission().push(&entry) }.is_ok() {
            return Ok(());
        }
        self.ring.submitter().submit()?;
        // SAFETY: as above.
        unsafe { self.ring.submission().push(&entry) }
            .map_err(|_full| io::Error::from_raw_os_error(libc::EBUSY))
    }

    /// Submits what was asked and runs the kernel's deferred work, without a wait.
    fn enter_at_once(&mut self) -> io::Result<usize> {
        let count = self.ring.submission().len() as u32;
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: no argument is passed, and so many entries stand in the queue.
        unsafe { self.ring.submitter().enter::<libc::sigset_t>(count, 0, flags, None) }
    }

    /// Whether the kernel no longer uses this process's memory.
    fn is_idle(&self) -> bool {
        self.sends.is_empty() && self.receives == 0
    }

    fn see_to_the_end(&mut self) -> io::Result<()> {
        self.flush();
        let all = self.ring.submitter().register_sync_cancel(None, CancelBuilder::any());
        if let Err(error) = all
            && error.kind() != ErrorKind::NotFound
        {
            return Err(error);
        }
        for _ in 0..LAST_WAITS {
            for index in
                0..self.wait(Some(if self.is_idle() { Duration::ZERO } else { LAST_WAIT }))?
            {
                if let Operation::Send(number) = self.completion(index).operation {
                    drop(self.take_sent(number));
                }
            }
            if self.is_idle() {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let _ends_with_the_ring = self.see_to_the_end();
        if !self.is_idle() {
            // The kernel may still write there. A leak is better than a write to freed memory.
            std::mem::forget(self.buffers.take());
            std::mem::forget(std::mem::take(&mut self.sends));
        }
    }
}

impl Sending {
    /// The operation. What it points to does not move with `self`: the bytes stand on the heap, and so does the message.
    fn entry(&mut self, fd: Fd) -> squeue::Entry {
        // MSG_WAITALL: what does not fit is sent when there is space, as one operation.
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let mut pieces = self.pending.chunks();
        if let (Some(only), None) = (pieces.next(), pieces.next()) {
            return opcode::Send::new(fd, only.as_ptr(), only.len() as u32).flags(flags).build();
        }
        let mut slices = [IoSlice::new(&[]); SLICES];
        let filled = self.pending.io_slices(&mut slices);
        let offered = slices[..filled].iter().map(|slice| slice.len()).sum::<usize>();
        // MSG_MORE: what follows at once, such as a file behind its head, fills the segment.
        let more = if offered < self.pending.len() { libc::MSG_MORE } else { 0 };
        let vector = |slice: &IoSlice<'_>| libc::iovec {
            iov_base: slice.as_ptr().cast_mut().cast(),
            iov_len: slice.len(),
        };
        let slices = slices[..filled].iter().map(vector).collect();
        // SAFETY: msghdr is plain data for which all zeros is a value.
        let header = unsafe { std::mem::zeroed() };
        let message = self.message.insert(Box::new(Message { header, slices }));
        message.header.msg_iov = message.slices.as_mut_ptr();
        message.header.msg_iovlen = message.slices.len() as _;
        opcode::SendMsg::new(fd, &raw const message.header).flags((flags | more) as u32).build()
    }
}
