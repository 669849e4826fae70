//! The sockets of a reactor, by the kernel's token and by the end point's number. A place is used
//! again at once; a generation in the token keeps events of a socket that is gone from its successor.

use super::socket::Socket;
use endpoint::SocketId;
use slab::Slab;

/// Names a socket: its place in the low half, its generation (from 1) in the high half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Token(pub(super) u64);

impl Token {
    fn new(place: usize, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | place as u64)
    }

    fn place(self) -> usize {
        (self.0 & u64::from(u32::MAX)) as usize
    }

    pub(super) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

#[derive(Debug, Default)]
pub(super) struct Table {
    sockets: Slab<Socket>,
    names: Vec<Option<Token>>,
    generation: u32,
}

impl Table {
    /// Takes a socket in; its `generation` is set here.
    pub(super) fn insert(&mut self, mut socket: Socket) -> Token {
        // 0 marks the tokens of listeners.
        self.generation = self.generation.wrapping_add(1).max(1);
        socket.generation = self.generation;
        let SocketId(name) = socket.id;
        let token = Token::new(self.sockets.insert(socket), self.generation);
        if self.names.len() <= name {
            self.names.resize(name + 1, None);
        }
        debug_assert!(self.names[name].is_none(), "the end point gave a number that is in use");
        self.names[name] = Some(token);
        token
    }

    /// The socket, unless it is gone.
    pub(super) fn find(&mut self, token: Token) -> Option<&mut Socket> {
        let socket = self.sockets.get_mut(token.place())?;
        (socket.generation == token.generation()).then_some(socket)
    }

    /// The token of the end point's number.
    pub(super) fn token(&self, SocketId(name): SocketId) -> Option<Token> {
        *self.names.get(name)?
    }

    /// The end point lets go of the number; the socket stays.
    pub(super) fn detach(&mut self, SocketId(name): SocketId) -> Option<Token> {
        self.names.get_mut(name)?.take()
    }

    /// Takes the socket out.
    pub(super) fn remove(&mut self, token: Token) -> Option<Socket> {
        self.find(token)?;
        let socket = self.sockets.remove(token.place());
        if socket.phase.is_attached() {
            self.detach(socket.id);
        }
        Some(socket)
    }

    /// Takes out every socket that the end point still holds.
    pub(super) fn take_attached(&mut self) -> Vec<Socket> {
        let attached = self.sockets.iter().filter(|(_place, socket)| socket.phase.is_attached());
        let places: Vec<usize> = attached.map(|(place, _socket)| place).collect();
        self.names.clear();
        places.into_iter().map(|place| self.sockets.remove(place)).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }
}
