//! The connection between a worker and a child.

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

use super::message::FromChild;

/// The longest frame: the largest data or result of an item, and what is around it.
const MAX_FRAME: usize = MAX_MAX_DATA + (1 << 20);
/// How long a child may take to read a message.
pub(super) const READING: Duration = Duration::from_secs(10);

pub(super) struct Connection(Framed<UnixStream, LengthDelimitedCodec>);

/// Why nothing more can be said to a child, or heard from it.
pub(super) enum Trouble {
    /// The connection is closed: the child has ended, or is about to.
    Closed,
    /// It breaks the rules: how, in words.
    Confused(String),
}

impl Connection {
    /// This process's end, and the child's.
    pub(super) fn open() -> io::Result<(Connection, OwnedFd)> {
        let (here, there) = Socket::pair()?;
        here.set_nonblocking(true)?;
        let mut codec = LengthDelimitedCodec::new();
        codec.set_max_frame_length(MAX_FRAME);
        Ok((Connection(Framed::new(UnixStream::from_std(here)?, codec)), there.into()))
    }

    /// The next message. Dropping the future loses nothing.
    pub(super) async fn read(&mut self) -> Result<FromChild, Trouble> {
        match self.0.next().await {
            Some(Ok(frame)) => FromChild::read(&frame)
                .map_err(|error| Trouble::Confused(format!("what it says is no message: {error}"))),
            Some(Err(error)) if error.kind() == ErrorKind::InvalidData => {
                Err(Trouble::Confused(format!("what it says cannot be read: {error}")))
            }
            // A child that is killed may have written a part of a frame.
            Some(Err(_)) | None => Err(Trouble::Closed),
        }
    }

    pub(super) async fn write(&mut self, frame: Bytes) -> Result<(), Trouble> {
        match timeout(READING, self.0.send(frame)).await {
            Ok(sent) => sent.map_err(|_| Trouble::Closed),
            Err(_) => {
                Err(Trouble::Confused(format!("it did not read a message within {READING:?}")))
            }
        }
    }
}
