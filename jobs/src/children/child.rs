//! A child: a process that speaks the protocol.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use leaseq::options::MAX_MAX_DATA;
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use super::memory;
use super::message::{Declared, FromChild, ToChild, VERSION};
use super::options::Children;
use super::process::Process;

/// The longest frame: the largest data or result of an item, and what is around it.
const MAX_FRAME: usize = MAX_MAX_DATA + (1 << 20);
/// How long a child may take between its answer and being ready for the next job.
const READY_AFTER: Duration = Duration::from_secs(10);
/// How long a child may take to read a message.
pub(super) const LISTENING: Duration = Duration::from_secs(10);
/// How long a child may take to end when it is asked to.
const STOPPING: Duration = Duration::from_secs(1);

/// A child that is ready for a job, or runs one.
pub(crate) struct Child {
    pub(super) process: Process,
    pub(super) connection: Connection,
    /// How many jobs it has got. The last one is the number of its task.
    pub(super) jobs: u64,
}

/// The connection between a worker and a child.
pub(super) struct Connection(Framed<UnixStream, LengthDelimitedCodec>);

impl Connection {
    /// This process's end, and the child's.
    fn open() -> io::Result<(Connection, OwnedFd)> {
        let (here, there) = Socket::pair()?;
        here.set_nonblocking(true)?;
        let mut codec = LengthDelimitedCodec::new();
        codec.set_max_frame_length(MAX_FRAME);
        Ok((Connection(Framed::new(UnixStream::from_std(here)?, codec)), there.into()))
    }

    /// The next message. Dropping the future loses nothing.
    pub(super) async fn read(&mut self) -> Result<FromChild, String> {
        match self.0.next().await {
            Some(Ok(frame)) => FromChild::read(&frame)
                .map_err(|error| format!("what it says is no message: {error}")),
            // A child that is killed may have written a part of a frame.
            Some(Err(error)) if error.kind() != ErrorKind::InvalidData => Err(CLOSED.to_owned()),
            Some(Err(error)) => Err(format!("what it says cannot be read: {error}")),
            None => Err(CLOSED.to_owned()),
        }
    }

    /// Fails if the child does not read.
    pub(super) async fn write(&mut self, frame: Bytes) -> Result<(), String> {
        match timeout(LISTENING, self.0.send(frame)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(CLOSED.to_owned()),
            Err(_) => Err(format!("it did not read a message within {LISTENING:?}")),
        }
    }
}

/// The jobs that a child has handlers for.
pub(crate) type Jobs = BTreeMap<String, Declared>;

impl Child {
    /// Starts a child, and waits until it is ready for a job. Fails with the reason, for a message.
    pub(super) async fn start(options: &Children) -> Result<(Child, Jobs), String> {
        let failed = |error: io::Error| format!("it cannot be started: {error}");
        let (connection, socket) = Connection::open().map_err(failed)?;
        let process = Process::start(options.command(), socket).await.map_err(failed)?;
        let mut child = Child { process, connection, jobs: 0 };
        let greeting = timeout(options.start_timeout, child.greet()).await;
        match greeting {
            Ok(Ok(jobs)) => Ok((child, jobs)),
            Ok(Err(reason)) => Err(child.reason(reason).await),
            Err(_) => Err(format!("it was not ready after {:?}", options.start_timeout)),
        }
    }

    async fn greet(&mut self) -> Result<Jobs, String> {
        let jobs = match self.connection.read().await? {
            FromChild::Hello { version: VERSION, jobs } => jobs,
            FromChild::Hello { version, .. } => {
                return Err(format!("it speaks version {version}, this worker version {VERSION}"));
            }
            _ => return Err("its first message is not `hello`".to_owned()),
        };
        match self.connection.read().await? {
            FromChild::Ready => Ok(jobs),
            _ => Err("its second message is not `ready`".to_owned()),
        }
    }

    /// Returns with a reason when the child, which has nothing to do, has ended or says anything.
    pub(crate) async fn broken(&mut self) -> String {
        let reason = tokio::select! {
            biased;
            message = self.connection.read() => match message {
                Ok(_) => "it speaks although it has no job".to_owned(),
                Err(reason) => reason,
            },
            _ = self.process.exited() => CLOSED.to_owned(),
        };
        self.reason(reason).await
    }

    /// Waits until it is ready for the next job. Fails with the reason, for a message.
    pub(crate) async fn ready(&mut self) -> Result<(), String> {
        let reason = match timeout(READY_AFTER, self.connection.read()).await {
            Ok(Ok(FromChild::Ready)) => return Ok(()),
            Ok(Ok(_)) => "it speaks after its answer".to_owned(),
            Ok(Err(reason)) => reason,
            Err(_) => format!("it was not ready {READY_AFTER:?} after its answer"),
        };
        Err(self.reason(reason).await)
    }

    /// Whether it has run as many jobs, or uses as much memory, as it may.
    pub(crate) fn is_used_up(&self, options: &Children) -> bool {
        let resident = || self.process.pid().and_then(memory::resident);
        options.max_jobs.is_some_and(|most| self.jobs >= most)
            || options.max_memory.is_some_and(|most| resident().is_some_and(|bytes| bytes > most))
    }

    /// Asks it to end, and kills it if it does not.
    pub(crate) async fn stop(mut self) {
        let stop = async {
            if let Ok(frame) = ToChild::Stop.write() {
                _ = self.connection.write(frame).await;
            }
            self.process.exited().await;
        };
        if timeout(STOPPING, stop).await.is_err() {
            self.process.end().await;
        }
    }

    /// Ends it. If it has closed the connection, the reason is how it has ended.
    async fn reason(&mut self, reason: String) -> String {
        if reason != CLOSED {
            self.process.end().await;
            return reason;
        }
        self.settle_down().await;
        self.process.obituary().await.to_string()
    }

    /// It has closed the connection: it is about to end, or is made to.
    pub(super) async fn settle_down(&self) {
        if timeout(STOPPING, self.process.exited()).await.is_err() {
            self.process.end().await;
        }
    }
}

/// The connection is closed.
pub(super) const CLOSED: &str = "it has closed the connection";
