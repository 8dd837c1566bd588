//! The connection between a worker and a child.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use leaseq::options::MAX_MAX_DATA;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

use super::message::FromChild;

/// The longest frame: the largest data or result of an item, and what is around it.
const MAX_FRAME: usize = MAX_MAX_DATA + (1 << 20);
/// How long a child may take to read a message, or the next piece of a long one.
pub(super) const READING: Duration = Duration::from_secs(10);
const PIECE: usize = 1 << 20;

pub(super) struct Connection {
    frames: FramedRead<OwnedReadHalf, LengthDelimitedCodec>,
    writer: OwnedWriteHalf,
}

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
        let (reader, writer) = UnixStream::from_std(here)?.into_split();
        Ok((Connection { frames: FramedRead::new(reader, codec), writer }, there.into()))
    }

    /// The next message. Dropping the future loses nothing.
    pub(super) async fn read(&mut self) -> Result<FromChild, Trouble> {
        match self.frames.next().await {
            Some(Ok(frame)) => FromChild::read(&frame)
                .map_err(|error| Trouble::Confused(format!("what it says is no message: {error}"))),
            Some(Err(error)) if error.kind() == ErrorKind::InvalidData => {
                Err(Trouble::Confused(format!("what it says cannot be read: {error}")))
            }
            // A child that is killed may have written a part of a frame.
            Some(Err(_)) | None => Err(Trouble::Closed),
        }
    }

    /// Says something. If the future is dropped, nothing more can be said.
    pub(super) async fn write(&mut self, json: Bytes) -> Result<(), Trouble> {
        let length = u32::try_from(json.len())
            .map_err(|_| Trouble::Confused(format!("a message of {} bytes", json.len())))?;
        let length = length.to_be_bytes();
        for piece in std::iter::once(&length[..]).chain(json.chunks(PIECE)) {
            match timeout(READING, self.writer.write_all(piece)).await {
                Ok(written) => written.map_err(|_| Trouble::Closed)?,
                Err(_) => {
                    let what = format!("it did not read a message within {READING:?}");
                    return Err(Trouble::Confused(what));
                }
            }
        }
        Ok(())
    }
}
