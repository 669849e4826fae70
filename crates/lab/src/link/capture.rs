//! The packets of a trial, or of a link, as pcapng with the TLS secrets inside. The one rule: each packet is there once,
//! as the near end saw it: what near sent when it entered the link, what it was sent when it left. Packets that the
//! link did not let through say so. Those that near never saw have the far end's stamp, and the place in the file where
//! they would have come: a reader that takes the packets as they stand has every stream whole and in order. Not so what
//! near sends over a link that decides late (`aqm=`, `reorder=`): it stands where its fate was decided, with its own stamp.
//!
//! Packets go to a file as they pass, and memory stays small. Secrets are known at the end alone and belong before the
//! packets that need them, which is why the packets have a file of their own until then.

use os::net::{Frame, FrameEvent};
use os::replace::NewFile;
use std::collections::VecDeque;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;
use trace::{Direction, Fate};
use wire::pcapng::{Block, Captured, Interface, Section, Way};

/// Bytes that are written at a time: a page cache takes them in less than the link's own lateness.
const PIECE: usize = 64 << 10;

const NEAR: u32 = 0;
const FAR: u32 = 1;

/// A capture under way.
pub(crate) struct Capture {
    /// The packets so far.
    out: BufWriter<NewFile>,
    /// What went wrong first; nothing is written from then on.
    error: Option<io::Error>,
    /// Realtime less our clock, in nanoseconds.
    shift: u64,
    frame: Vec<u8>,
    /// Packets to near that are in the link, or were, in their order.
    pending: VecDeque<PendingPacket>,
}

/// A packet to near.
enum PendingPacket {
    /// It will leave the link.
    Due,
    /// It will not: its block.
    Never(Vec<u8>),
}

impl Capture {
    /// Begins one that will become the file `to`. Until then its packets wait in a file beside that.
    pub(crate) fn begin(to: &Path) -> io::Result<Self> {
        let out = BufWriter::with_capacity(PIECE, NewFile::beside(to)?);
        let (realtime, now) = (os::clock::realtime().as_nanos() as u64, os::clock::now().nanos());
        let shift = realtime.wrapping_sub(now);
        Ok(Self { out, error: None, shift, frame: Vec::new(), pending: VecDeque::new() })
    }

    /// Takes a frame where near saw it, or should have.
    pub(crate) fn take(&mut self, frame: Frame<'_>) {
        match (frame.direction, frame.event) {
            (Direction::Up, FrameEvent::Entered(fate)) => {
                let block = self.block(frame, NEAR, Way::Outbound, comment(fate));
                self.put(&block);
            }
            (Direction::Up, FrameEvent::Left) => {}
            (Direction::Down, FrameEvent::Entered(Fate::Delivered { .. })) => {
                self.pending.push_back(PendingPacket::Due);
            }
            (Direction::Down, FrameEvent::Entered(fate)) => {
                let block = self.block(frame, FAR, Way::Outbound, comment(fate));
                self.pending.push_back(PendingPacket::Never(block));
            }
            (Direction::Down, FrameEvent::Left) => {
                self.put_missing();
                let block = self.block(frame, NEAR, Way::Inbound, None);
                self.put(&block);
            }
        }
    }

    /// What was to come before the packet that comes now.
    fn put_missing(&mut self) {
        while let Some(PendingPacket::Never(block)) = self.pending.pop_front() {
            self.put(&block);
        }
    }

    fn block(
        &mut self,
        frame: Frame<'_>,
        interface: u32,
        way: Way,
        comment: Option<&str>,
    ) -> Vec<u8> {
        self.frame.clear();
        frame.write_to(&mut self.frame);
        let at = frame.at.nanos().wrapping_add(self.shift);
        let mut block = Vec::with_capacity(self.frame.len() + 64);
        Block::Packet(Captured { interface, at, way, frame: &self.frame, comment })
            .encode(&mut block);
        block
    }

    fn put(&mut self, block: &[u8]) {
        if self.error.is_none() {
            self.error = self.out.write_all(block).err();
        }
    }

    /// Writes the whole file: what it is, the secrets, the packets. It is there whole or not at all.
    pub(crate) fn finish(mut self, to: &Path, about: &str, keys: &str) -> io::Result<()> {
        for pending in std::mem::take(&mut self.pending) {
            if let PendingPacket::Never(block) = pending {
                self.put(&block);
            }
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.out.flush()?;
        let mut whole = NewFile::beside(to)?;
        whole.file().write_all(&before_packets(about, keys))?;
        let packets = self.out.get_mut().file();
        packets.rewind()?;
        io::copy(packets, whole.file())?;
        whole.replace(to)
    }
}

/// What stands before the packets.
fn before_packets(about: &str, keys: &str) -> Vec<u8> {
    let application = concat!("wirelap ", env!("CARGO_PKG_VERSION"));
    let mut out = Vec::new();
    Block::Section(Section { application: Some(application), comment: Some(about) })
        .encode(&mut out);
    let interface = |name, description| {
        Block::Interface(Interface { name: Some(name), description: Some(description) })
    };
    interface("near", "the client's end of the link").encode(&mut out);
    interface("far", "the server's end: only what the link did not let through").encode(&mut out);
    if !keys.is_empty() {
        Block::TlsKeys(keys.as_bytes()).encode(&mut out);
    }
    out
}

fn comment(fate: Fate) -> Option<&'static str> {
    match fate {
        Fate::Delivered { .. } => None,
        Fate::Lost => Some("lost by the link's plan"),
        Fate::QueueFull => Some("dropped: the link's queue was full"),
        Fate::AqmDropped => Some("dropped by the queue's active management"),
        Fate::Policed => Some("dropped by the link's policer"),
        Fate::Blocked => Some("blocked by the link"),
    }
}
