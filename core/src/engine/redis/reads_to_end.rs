//! A stream that is read to its end, although its peer accepts no more data.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A server that refuses a request sends the reason and closes the connection, perhaps while the rest of the
/// request is still being written. If the failed write ended the connection, nobody would read the reason. So
/// data that a closed peer does not accept counts as written, and the reader finds the end after the reply.
pub(super) struct ReadsToEnd<S> {
    stream: S,
    closed: bool,
}

impl<S> ReadsToEnd<S> {
    pub(super) fn new(stream: S) -> Self {
        ReadsToEnd { stream, closed: false }
    }

    fn written<T>(&mut self, result: Result<T>, all: T) -> Poll<Result<T>> {
        let is_closed = |error: &Error| {
            matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
        };
        Poll::Ready(match result {
            Err(error) if is_closed(&error) => {
                self.closed = true;
                Ok(all)
            }
            other => other,
        })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReadsToEnd<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(task, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReadsToEnd<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        if self.closed {
            return Poll::Ready(Ok(bytes.len()));
        }
        let result = ready!(Pin::new(&mut self.stream).poll_write(task, bytes));
        self.written(result, bytes.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let all = slices.iter().map(|slice| slice.len()).sum();
        if self.closed {
            return Poll::Ready(Ok(all));
        }
        let result = ready!(Pin::new(&mut self.stream).poll_write_vectored(task, slices));
        self.written(result, all)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<()>> {
        if self.closed {
            return Poll::Ready(Ok(()));
        }
        let result = ready!(Pin::new(&mut self.stream).poll_flush(task));
        self.written(result, ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn the_answer_of_a_peer_that_has_closed_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut peer, _) = listener.accept().await.unwrap();
        let mut stream = ReadsToEnd::new(stream);
        stream.write_all(b"first").await.unwrap();
        let mut first = [0; 5];
        peer.read_exact(&mut first).await.unwrap();
        peer.write_all(b"no").await.unwrap();
        drop(peer);
        // The peer's kernel answers the first of these with a reset.
        while !stream.closed {
            stream.write_all(&[0; 1 << 16]).await.unwrap();
            stream.flush().await.unwrap();
        }
        stream.write_all(b"more").await.unwrap();
        let mut answer = [0; 2];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"no");
        assert!(!matches!(stream.read(&mut answer).await, Ok(1..)), "the end");
    }
}
