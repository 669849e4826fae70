//! Agents: one load from several processes, on one machine or many. They meet at the address of the first, which
//! starts them together, takes in what each counted, and judges. All of them have one command line but for their number, and end
//! with one exit code.
//!
//! The protocol: frames over TCP, a length of four bytes before each. An agent sends its [`Hello`]; the first one sends
//! [`Order`]s, and hears [`LoadRun`] after each run. Nothing is secret and nobody is checked: it is for a network of one's own.

use super::run::LoadRun;
use crate::error::CliError;
use client::load::BadTally;
use os::reactor::Stop;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;
use study::shard::Shard;
use unit::Instant;

/// How long agents wait for each other: an engine starts them when it has room.
const PATIENCE: Duration = Duration::from_secs(600);

/// How often one looks for the others.
const LOOK: Duration = Duration::from_millis(50);

/// What a hand-shake may take of a peer that is there.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// A frame's bytes at most: the histograms of thousands of seconds.
const LONGEST_FRAME: u32 = 1 << 28;

/// What an agent says first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Hello {
    version: String,
    agent: Shard,
    /// The command line without what says which agent it is.
    words: Vec<String>,
}

/// What the first agent tells the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Run the plan, at this rate where one is searched for.
    Run(Option<f64>),
    /// It is over, with this exit code.
    End(u8),
}

/// Where agents meet, and who this one is.
#[derive(Debug, Clone)]
pub(crate) struct Meeting {
    /// This agent.
    pub(crate) agent: Shard,
    /// The first agent's address: HOST:PORT.
    pub(crate) at: String,
    /// The command line without what says which agent it is.
    pub(crate) words: Vec<String>,
}

/// An agent's place among the others, once all are there.
pub(crate) enum Place {
    /// The first, which leads.
    First(Followers),
    /// Another, which follows.
    Other(Leader),
}

impl Meeting {
    /// Waits until all agents are there.
    pub(crate) fn hold(
        &self,
        stop: &Stop,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Place, CliError> {
        match self.agent.number() {
            1 => self.gather(is_stopped).map(Place::First),
            _ => self.join(stop, is_stopped).map(Place::Other),
        }
    }

    fn gather(&self, is_stopped: &dyn Fn() -> bool) -> Result<Followers, CliError> {
        let port = self.at.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        let port = port.ok_or_else(|| no_address(&self.at))?;
        let failed = |error: io::Error| {
            CliError::lacking(format!("listening for agents on port {port}: {error}"))
                .remedy("name another port by --rendezvous HOST:PORT, the same for all agents")
        };
        // Any address of this machine: the others may know it by another name.
        let listener = TcpListener::bind(("::", port))
            .or_else(|_| TcpListener::bind(("0.0.0.0", port)))
            .map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let mut others: Vec<(Shard, TcpStream)> = Vec::new();
        let deadline = os::clock::now() + PATIENCE;
        while others.len() + 1 < self.agent.of() as usize {
            match listener.accept() {
                Ok((stream, _)) => {
                    if let Some(other) = self.greet(stream, &others)? {
                        others.push(other);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait(deadline, is_stopped, || {
                        format!("{} of {} agents came", others.len() + 1, self.agent.of())
                    })?;
                }
                Err(error) => return Err(failed(error)),
            }
        }
        others.sort_by_key(|(agent, _)| *agent);
        Ok(Followers { others })
    }

    /// None for a peer that is no agent: a scanner of ports must not end a load.
    fn greet(
        &self,
        mut stream: TcpStream,
        others: &[(Shard, TcpStream)],
    ) -> Result<Option<(Shard, TcpStream)>, CliError> {
        let prepared = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_nodelay(true))
            .and_then(|()| stream.set_read_timeout(Some(HANDSHAKE)));
        let Ok(hello) = prepared.and_then(|()| receive::<Hello>(&mut stream)) else {
            return Ok(None);
        };
        let ours = self.hello();
        let is_there =
            others.iter().any(|(agent, _)| *agent == hello.agent) || hello.agent == self.agent;
        let wrong = match () {
            () if hello.version != ours.version => {
                format!("is wirelap {}, and this is {}", hello.version, ours.version)
            }
            () if hello.agent.of() != self.agent.of() => {
                format!("counts {} agents, and this one {}", hello.agent.of(), self.agent.of())
            }
            () if is_there => "is there already".to_owned(),
            () if hello.words != ours.words => {
                format!("was called otherwise: {}", hello.words.join(" "))
            }
            () => return Ok(Some((hello.agent, stream))),
        };
        Err(CliError::misuse(format!("agent {} {wrong}", hello.agent))
            .remedy("call all agents alike, but for --agent"))
    }

    fn join(&self, stop: &Stop, is_stopped: &dyn Fn() -> bool) -> Result<Leader, CliError> {
        let deadline = os::clock::now() + PATIENCE;
        loop {
            // A name may be known to the resolver only once its pod is there.
            let found = self.at.to_socket_addrs().ok().and_then(|addresses| {
                addresses
                    .into_iter()
                    .find_map(|one| TcpStream::connect_timeout(&one, HANDSHAKE).ok())
            });
            if let Some(mut stream) = found {
                let said = stream.set_nodelay(true).and_then(|()| send(&mut stream, &self.hello()));
                said.map_err(|error| lost("the first agent", &error))?;
                return Ok(Leader { stream, stop: stop.clone() });
            }
            wait(deadline, is_stopped, || {
                format!("the first agent did not answer at {}", self.at)
            })?;
        }
    }

    fn hello(&self) -> Hello {
        Hello {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            agent: self.agent,
            words: self.words.clone(),
        }
    }
}

fn no_address(at: &str) -> CliError {
    CliError::misuse(format!("`{at}` is no address where agents meet"))
        .remedy("write --rendezvous HOST:PORT, with the host of the first agent")
}

/// Waits a little, until the deadline.
fn wait(
    deadline: Instant,
    is_stopped: &dyn Fn() -> bool,
    missing: impl Fn() -> String,
) -> Result<(), CliError> {
    if is_stopped() {
        return Err(CliError::interrupted("the load had not begun"));
    }
    if os::clock::now() > deadline {
        let minutes = PATIENCE.as_secs() / 60;
        return Err(CliError::failed(format!("{} in {minutes} minutes", missing())));
    }
    std::thread::sleep(LOOK);
    Ok(())
}

/// The other agents, as the first one sees them.
pub(crate) struct Followers {
    others: Vec<(Shard, TcpStream)>,
}

impl Followers {
    /// Has all of them begin, and gives when that was.
    pub(crate) fn begin(&mut self, rate: Option<f64>) -> Result<Instant, CliError> {
        self.tell(Order::Run(rate))?;
        Ok(os::clock::now())
    }

    /// Adds what each counted since `began`; they may take `most` longer than this one.
    pub(crate) fn add_to(
        &mut self,
        run: &mut LoadRun,
        began: Instant,
        most: Duration,
    ) -> Result<(), CliError> {
        for (agent, stream) in &mut self.others {
            let name = format!("agent {agent}");
            let received = stream.set_read_timeout(Some(most)).and_then(|()| receive_bytes(stream));
            let bytes = received.map_err(|error| lost(&name, &error))?;
            let added = run.add(&bytes, began);
            added.map_err(|BadTally| CliError::failed(format!("{name} sent no counts")))?;
        }
        Ok(())
    }

    /// Tells all of them that it is over. One that is gone knows.
    pub(crate) fn end(mut self, code: u8) {
        for (_, stream) in &mut self.others {
            let _heard = send(stream, &Order::End(code));
        }
    }

    fn tell(&mut self, order: Order) -> Result<(), CliError> {
        for (agent, stream) in &mut self.others {
            send(stream, &order).map_err(|error| lost(&format!("agent {agent}"), &error))?;
        }
        Ok(())
    }
}

/// The first agent, as another one sees it.
pub(crate) struct Leader {
    stream: TcpStream,
    stop: Stop,
}

impl Leader {
    /// What is to be done next.
    pub(crate) fn order(&mut self) -> Result<Order, CliError> {
        let order = self.stream.set_read_timeout(None).and_then(|()| receive(&mut self.stream));
        let order = order.map_err(|error| lost("the first agent", &error))?;
        if matches!(order, Order::Run(_)) {
            self.stop_when_gone();
        }
        Ok(order)
    }

    /// Hands in what was counted.
    pub(crate) fn hand_in(&mut self, run: &LoadRun) -> Result<(), CliError> {
        let mut bytes = Vec::new();
        run.put(&mut bytes);
        send_bytes(&mut self.stream, &bytes).map_err(|error| lost("the first agent", &error))
    }

    /// Ends the run of this agent once the first one is gone: nobody would hear of it.
    fn stop_when_gone(&self) {
        let (Ok(stream), stop) = (self.stream.try_clone(), self.stop.clone()) else { return };
        std::thread::spawn(move || {
            // Nothing comes before the run is over.
            if !matches!(stream.peek(&mut [0]), Ok(1)) {
                stop.stop();
            }
        });
    }
}

fn lost(who: &str, error: &io::Error) -> CliError {
    CliError::failed(format!("{who} was lost: {error}"))
        .remedy("what it says itself tells why; start all agents again")
}

fn send<T: Serialize>(stream: &mut TcpStream, value: &T) -> io::Result<()> {
    send_bytes(stream, &serde_json::to_vec(value)?)
}

fn receive<T: DeserializeOwned>(stream: &mut TcpStream) -> io::Result<T> {
    Ok(serde_json::from_slice(&receive_bytes(stream)?)?)
}

fn send_bytes(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= LONGEST_FRAME);
    let length = length.ok_or(io::ErrorKind::FileTooLarge)?;
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(bytes)
}

fn receive_bytes(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > LONGEST_FRAME {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    // As much memory as really comes.
    stream.take(length.into()).read_to_end(&mut bytes)?;
    match bytes.len() == length as usize {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
