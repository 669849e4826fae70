//! Agents: one load from several processes, on one machine or many. They meet at the address of the first, which
//! starts them together, takes in what each counted, and judges. All of them have one command line but for their number, and end
//! with one exit code.
//!
//! The protocol: frames over TCP, a length of four bytes before each. An agent sends its [`Hello`]; the first one sends
//! [`Order`]s, and hears [`LoadRun`] after each run. An interrupt of any agent ends the run of all of them: an agent hands in
//! at once and says why, and the first one has the others stop. Nothing is secret and nobody is checked: it is for a network of one's own.

use super::run::LoadRun;
use crate::error::CliError;
use client::load::{BadTally, TALLY_FORMAT};
use os::reactor::Stop;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use study::shard::Shard;
use unit::Instant;

/// How long agents wait for each other: an engine starts them when it has room.
const PATIENCE: Duration = Duration::from_secs(600);

/// How often one looks for the others.
const LOOK: Duration = Duration::from_millis(50);

/// What a hand-shake may take of a peer that is there.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long agents have to hand in once the run was stopped.
const STOPPING: Duration = Duration::from_secs(10);

/// How long an agent that was interrupted waits for the first one's word.
const LAST_WORD: Duration = Duration::from_secs(30);

/// A frame's bytes at most: the histograms of thousands of seconds.
const LONGEST_FRAME: u32 = 1 << 28;

/// What an agent says first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Hello {
    version: String,
    /// The format of what agents hand in; versions before it had a number say none.
    #[serde(default)]
    format: u64,
    agent: Shard,
    /// The command line without what says which agent it is.
    words: Vec<String>,
}

/// What the first agent tells the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Run the plan, at this rate where one is searched for.
    Run(Option<f64>),
    /// End the run now, and hand in what was counted.
    Stop,
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
            () if (&hello.version, hello.format) != (&ours.version, ours.format) => format!(
                "is wirelap {} (format {}), and this is {} (format {})",
                hello.version, hello.format, ours.version, ours.format
            ),
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
                return Ok(Leader { stream, stop: stop.clone(), run: None });
            }
            wait(deadline, is_stopped, || {
                format!("the first agent did not answer at {}", self.at)
            })?;
        }
    }

    fn hello(&self) -> Hello {
        Hello {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            format: TALLY_FORMAT,
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

/// A run that the other agents have begun.
pub(crate) struct Begun {
    at: Instant,
    /// What each hands in, with its place among the others.
    hand_ins: Receiver<(usize, io::Result<Vec<u8>>)>,
}

impl Followers {
    /// Has all of them begin. One that is interrupted or lost ends the first agent's own run by `stop`.
    pub(crate) fn begin(&mut self, rate: Option<f64>, stop: &Stop) -> Result<Begun, CliError> {
        self.tell(Order::Run(rate))?;
        let at = os::clock::now();
        let (sender, hand_ins) = channel();
        for (place, (agent, stream)) in self.others.iter().enumerate() {
            let own = stream.set_read_timeout(None).and_then(|()| stream.try_clone());
            let mut stream = own.map_err(|error| lost(&format!("agent {agent}"), &error))?;
            let (sender, stop) = (sender.clone(), stop.clone());
            std::thread::spawn(move || {
                let handed_in = receive_bytes(&mut stream);
                if handed_in.as_ref().map_or(true, |bytes| LoadRun::tells_interrupt(bytes)) {
                    stop.stop();
                }
                // Nobody listens any more where the command has ended.
                let _heard = sender.send((place, handed_in));
            });
        }
        Ok(Begun { at, hand_ins })
    }

    /// Adds what each counted; they may take `most` longer than this one. Once any agent is interrupted, this one too, all are
    /// stopped. Gives how many handed in nothing then; without an interrupt each must.
    pub(crate) fn add_to(
        &mut self,
        run: &mut LoadRun,
        begun: &Begun,
        most: Duration,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<usize, CliError> {
        let mut handed_in: Vec<Option<Vec<u8>>> = vec![None; self.others.len()];
        let (mut deadline, mut is_stopped, mut gone) = (os::clock::now() + most, false, 0);
        while gone + handed_in.iter().flatten().count() < self.others.len() {
            run.is_interrupted |= is_interrupted();
            if run.is_interrupted && !is_stopped {
                is_stopped = true;
                deadline = os::clock::now() + STOPPING;
                self.send_each(Order::Stop);
            }
            match begun.hand_ins.recv_timeout(LOOK) {
                Ok((place, Ok(bytes))) => {
                    run.is_interrupted |= LoadRun::tells_interrupt(&bytes);
                    handed_in[place] = Some(bytes);
                }
                Ok((_, Err(_))) if run.is_interrupted => gone += 1,
                Ok((place, Err(error))) => return Err(lost(&self.name(place), &error)),
                Err(RecvTimeoutError::Timeout) if os::clock::now() < deadline => {}
                Err(_) => break,
            }
        }
        for (place, bytes) in handed_in.iter().enumerate() {
            let name = self.name(place);
            match bytes {
                Some(bytes) => run
                    .add(bytes, begun.at)
                    .map_err(|BadTally| CliError::failed(format!("{name} sent no counts")))?,
                None if run.is_interrupted => {}
                None => return Err(lost(&name, &io::ErrorKind::TimedOut.into())),
            }
        }
        Ok(handed_in.iter().filter(|bytes| bytes.is_none()).count())
    }

    /// Tells all of them that it is over.
    pub(crate) fn end(mut self, code: u8) {
        self.send_each(Order::End(code));
    }

    /// One that is gone knows that it is over.
    fn send_each(&mut self, order: Order) {
        for (_, stream) in &mut self.others {
            let _heard = send(stream, &order);
        }
    }

    fn tell(&mut self, order: Order) -> Result<(), CliError> {
        for (agent, stream) in &mut self.others {
            send(stream, &order).map_err(|error| lost(&format!("agent {agent}"), &error))?;
        }
        Ok(())
    }

    fn name(&self, place: usize) -> String {
        format!("agent {}", self.others[place].0)
    }
}

/// The first agent, as another one sees it.
pub(crate) struct Leader {
    stream: TcpStream,
    stop: Stop,
    /// Whether the last run is over; None before the first.
    run: Option<Arc<AtomicBool>>,
}

impl Leader {
    /// What is to be done next. Where this agent is interrupted, the first one hears it from the next hand-in; before the first
    /// run, from the connection's end.
    pub(crate) fn order(&mut self, is_interrupted: &dyn Fn() -> bool) -> Result<Order, CliError> {
        let order = self.await_order(is_interrupted)?.and_then(|()| {
            self.stream.set_read_timeout(Some(HANDSHAKE))?;
            let order = receive(&mut self.stream)?;
            self.stream.set_read_timeout(None)?;
            Ok(order)
        });
        let order = order.map_err(|error| lost("the first agent", &error))?;
        if matches!(order, Order::Run(_)) {
            self.stop_when_told();
        }
        Ok(order)
    }

    /// Hands in what was counted.
    pub(crate) fn hand_in(&mut self, run: &LoadRun) -> Result<(), CliError> {
        // Before the first agent can answer: its next order is no word about this run.
        if let Some(is_over) = &self.run {
            is_over.store(true, Ordering::SeqCst);
        }
        let mut bytes = Vec::new();
        run.put(&mut bytes);
        send_bytes(&mut self.stream, &bytes).map_err(|error| lost("the first agent", &error))
    }

    /// Waits until there is something to read, or nobody who would write it.
    fn await_order(&self, is_interrupted: &dyn Fn() -> bool) -> Result<io::Result<()>, CliError> {
        if let Err(error) = self.stream.set_read_timeout(Some(LOOK)) {
            return Ok(Err(error));
        }
        let mut interrupted: Option<Instant> = None;
        while self.stream.peek(&mut [0]).is_err_and(|error| is_nothing_yet(&error)) {
            if is_interrupted() {
                if self.run.is_none() {
                    return Err(CliError::interrupted("the load had not begun"));
                }
                let since = *interrupted.get_or_insert_with(os::clock::now);
                if os::clock::now().since(since) > LAST_WORD {
                    return Ok(Err(io::ErrorKind::TimedOut.into()));
                }
            }
        }
        Ok(Ok(()))
    }

    /// Ends the run of this agent once the first one says so, or is gone: nobody would hear of it.
    fn stop_when_told(&mut self) {
        let is_over = Arc::new(AtomicBool::new(false));
        self.run = Some(Arc::clone(&is_over));
        let (Ok(stream), stop) = (self.stream.try_clone(), self.stop.clone()) else { return };
        std::thread::spawn(move || {
            // The word itself is read after the run.
            let _there = stream.peek(&mut [0]);
            if !is_over.load(Ordering::SeqCst) {
                stop.stop();
            }
        });
    }
}

/// Whether a read ended because nothing has come yet.
fn is_nothing_yet(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

fn lost(who: &str, error: &io::Error) -> CliError {
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
        _ => error.to_string(),
    };
    CliError::failed(format!("{who} was lost: {why}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_is_gone_has_closed_the_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        drop(listener.accept().unwrap());
        let error = receive_bytes(&mut stream).unwrap_err();
        let told = lost("agent 2/2", &error).to_string();
        assert!(told.contains("agent 2/2 was lost: it closed the connection"), "{told}");
    }
}
