//! `wirelap probe` (hidden): one end of a calibration's measurement. It reads its job, says that it is ready, does the
//! job, and reports what arrived.

use crate::error::CliError;
use os::net::probe::{
    Arrival, PingSpec, PushSpec, Receiver, StreamSpec, core_delays, drain_datagrams, ping,
    push_datagrams, send_stream,
};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::time::Duration;

/// What an end does.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ProbeJob {
    /// Ask for echoes, which the other kernel answers by itself.
    Ping(PingSpec),
    /// Send numbered packets.
    Send(StreamSpec),
    /// Receive them, until none came for `quiet`.
    Receive { port: u16, quiet: Duration },
    /// Send over TCP for `span`.
    Push { to: SocketAddr, span: Duration },
    /// Take in what is pushed.
    Drain { port: u16 },
    /// Send datagrams.
    PushDatagrams(PushSpec),
    /// Take them in.
    DrainDatagrams { port: u16 },
    /// Poll the clock for `span`.
    Poll { span: Duration },
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ProbeReport {
    /// Each round trip in nanoseconds, None without an answer.
    Pinged(Vec<Option<u64>>),
    /// All went out.
    Sent,
    /// The packets that came.
    Received(Vec<Arrival>),
    /// Bytes, and the time from the first of them to the last.
    Drained { bytes: u64, nanos: u64 },
    /// How late each moment was found, in nanoseconds.
    Polled(Vec<u64>),
}

/// How long the other end may take to begin.
const PATIENCE: Duration = Duration::from_secs(5);
/// From one polled time to the next. It is no multiple of a timer's tick.
const MOMENTS: Duration = Duration::from_micros(97);
const BUFFER: usize = 256 * 1024;

/// Does the job.
pub(crate) fn run() -> Result<ExitCode, CliError> {
    let Some(job) = crate::console::read_job::<ProbeJob>()? else { return Ok(ExitCode::FAILURE) };
    let report = match job {
        ProbeJob::Ping(spec) => {
            ready()?;
            ProbeReport::Pinged(ping(&spec)?)
        }
        ProbeJob::Send(spec) => {
            ready()?;
            send_stream(&spec)?;
            ProbeReport::Sent
        }
        ProbeJob::Receive { port, quiet } => {
            let receiver = Receiver::bind(port)?;
            ready()?;
            let arrivals = receiver.receive(PATIENCE, quiet)?;
            ProbeReport::Received(arrivals)
        }
        ProbeJob::Push { to, span } => {
            ready()?;
            push(to, span)
                .map_err(|error| CliError::failed(format!("pushing to {to}: {error}")))?;
            ProbeReport::Sent
        }
        ProbeJob::PushDatagrams(spec) => {
            ready()?;
            push_datagrams(&spec)?;
            ProbeReport::Sent
        }
        ProbeJob::DrainDatagrams { port } => {
            let socket = UdpSocket::bind(("0.0.0.0", port))
                .map_err(|error| CliError::failed(format!("taking in on port {port}: {error}")))?;
            ready()?;
            let (bytes, span) = drain_datagrams(&socket, PATIENCE)?;
            ProbeReport::Drained { bytes, nanos: span.as_nanos() as u64 }
        }
        ProbeJob::Poll { span } => {
            ready()?;
            ProbeReport::Polled(core_delays(span, MOMENTS))
        }
        ProbeJob::Drain { port } => drain(port)
            .map_err(|error| CliError::failed(format!("taking in on port {port}: {error}")))?,
    };
    crate::console::print_job(&report)?;
    Ok(ExitCode::SUCCESS)
}

fn ready() -> Result<(), CliError> {
    crate::console::print("ready\n")
}

fn push(to: SocketAddr, span: Duration) -> std::io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    let bytes = vec![0; BUFFER];
    let end = os::clock::now() + span;
    while os::clock::now() < end {
        stream.write_all(&bytes)?;
    }
    Ok(())
}

fn drain(port: u16) -> std::io::Result<ProbeReport> {
    let listener = TcpListener::bind(("0.0.0.0", port))?;
    ready().map_err(|error| std::io::Error::other(error.to_string()))?;
    let (mut stream, _) = listener.accept()?;
    let mut buffer = vec![0; BUFFER];
    let mut bytes = 0;
    let began = os::clock::now();
    loop {
        match stream.read(&mut buffer)? {
            0 => break,
            count => bytes += count as u64,
        }
    }
    let nanos = os::clock::now().since(began).as_nanos() as u64;
    Ok(ProbeReport::Drained { bytes, nanos })
}
