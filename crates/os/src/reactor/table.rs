//! The sockets of a reactor, by the kernel's token and by the end point's number. An index is used again at once. The
//! generation in the token separates late events of a closed socket from those of its successor.

use super::datagrams::Datagrams;
use super::socket::Socket;
use endpoint::SocketId;
use slab::Slab;

/// Identifies a socket: its index in the low half, its generation (from 1) in the high half. A listener's generation is
/// 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Token(pub(super) u64);

impl Token {
    fn new(index: usize, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | index as u64)
    }

    fn index(self) -> usize {
        (self.0 & u64::from(u32::MAX)) as usize
    }

    pub(super) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// This bit is set in the index of a datagram socket. No process has so many descriptors.
const DATAGRAMS: usize = 1 << 27;

#[derive(Debug, Default)]
pub(super) struct Table {
    sockets: Slab<Socket>,
    datagrams: Slab<Datagrams>,
    /// The tokens of both, by the end point's number.
    tokens: Vec<Option<Token>>,
    generation: u32,
}

impl Table {
    /// Takes a socket in; its `generation` is set here.
    pub(super) fn insert(&mut self, mut socket: Socket) -> Token {
        socket.generation = self.next_generation();
        let id = socket.id;
        let token = Token::new(self.sockets.insert(socket), self.generation);
        self.attach(id, token);
        token
    }

    /// Takes a datagram socket in; its `generation` is set here.
    pub(super) fn insert_datagrams(&mut self, mut datagrams: Datagrams) -> Token {
        datagrams.generation = self.next_generation();
        let id = datagrams.id;
        let token = Token::new(DATAGRAMS | self.datagrams.insert(datagrams), self.generation);
        self.attach(id, token);
        token
    }

    fn next_generation(&mut self) -> u32 {
        self.generation = self.generation.wrapping_add(1).max(1);
        self.generation
    }

    fn attach(&mut self, SocketId(number): SocketId, token: Token) {
        if self.tokens.len() <= number {
            self.tokens.resize(number + 1, None);
        }
        debug_assert!(self.tokens[number].is_none(), "the end point gave a number that is in use");
        self.tokens[number] = Some(token);
    }

    /// The stream socket. None where it is gone, and for a datagram socket's token.
    pub(super) fn find(&mut self, token: Token) -> Option<&mut Socket> {
        let socket = self.sockets.get_mut(token.index())?;
        (socket.generation == token.generation()).then_some(socket)
    }

    /// The datagram socket. None where it is gone, and for a stream socket's token.
    pub(super) fn find_datagrams(&mut self, token: Token) -> Option<&mut Datagrams> {
        let index = token.index() & !DATAGRAMS;
        let datagrams = self.datagrams.get_mut(index).filter(|_| token.index() & DATAGRAMS != 0)?;
        (datagrams.generation == token.generation()).then_some(datagrams)
    }

    /// The tokens of all stream sockets.
    pub(super) fn stream_tokens(&self) -> Vec<Token> {
        self.sockets.iter().map(|(index, socket)| Token::new(index, socket.generation)).collect()
    }

    /// The token of the end point's number.
    pub(super) fn token(&self, SocketId(number): SocketId) -> Option<Token> {
        *self.tokens.get(number)?
    }

    /// The end point lets go of the number; the socket stays.
    pub(super) fn detach(&mut self, SocketId(number): SocketId) -> Option<Token> {
        self.tokens.get_mut(number)?.take()
    }

    /// Takes the socket out.
    pub(super) fn remove(&mut self, token: Token) -> Option<Socket> {
        self.find(token)?;
        let socket = self.sockets.remove(token.index());
        if socket.phase.is_attached() {
            self.detach(socket.id);
        }
        Some(socket)
    }

    /// Takes the datagram socket out.
    pub(super) fn remove_datagrams(&mut self, token: Token) -> Option<Datagrams> {
        self.find_datagrams(token)?;
        let datagrams = self.datagrams.remove(token.index() & !DATAGRAMS);
        if datagrams.is_attached {
            self.detach(datagrams.id);
        }
        Some(datagrams)
    }

    /// Takes out every stream socket that the end point still holds.
    pub(super) fn take_attached(&mut self) -> Vec<Socket> {
        let attached = self.sockets.iter().filter(|(_index, socket)| socket.phase.is_attached());
        let indices: Vec<usize> = attached.map(|(index, _socket)| index).collect();
        self.tokens.clear();
        indices.into_iter().map(|index| self.sockets.remove(index)).collect()
    }

    /// The tokens of the datagram sockets that the end point still holds.
    pub(super) fn attached_datagrams(&self) -> Vec<Token> {
        let attached = self.datagrams.iter().filter(|(_index, datagrams)| datagrams.is_attached);
        attached.map(|(index, held)| Token::new(DATAGRAMS | index, held.generation)).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sockets.is_empty() && self.datagrams.is_empty()
    }
}
