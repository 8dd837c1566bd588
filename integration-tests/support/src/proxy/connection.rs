//! One client's connection. Each of its two directions has a reader, which splits the stream into values
//! and decides what happens to them, and a writer, which delays, holds back and sends. Reading never
//! stops, so the end of a connection is noticed.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

use super::faults::{Faults, Open, Then, name_of};
use super::resp::{Splitter, strings};

/// What a reader passes to its writer, due at a time.
enum Piece {
    Forward(Vec<u8>),
    /// Replaces a discarded reply.
    Swallowed(Then),
}

type Sender = UnboundedSender<(Instant, Piece)>;
type Receiver = UnboundedReceiver<(Instant, Piece)>;

struct Connection {
    id: u64,
    faults: Arc<Faults>,
    /// For each command without a reply so far, in order: what to do with that reply.
    expected: Mutex<VecDeque<Option<Then>>>,
    /// A reply was discarded, and the connection stays open.
    silent: AtomicBool,
    /// The client has closed.
    left: Notify,
    /// The client has subscribed, so messages come between replies.
    subscribed: AtomicBool,
}

/// Carries bytes between the two until one side is done or the proxy resets the client.
pub(super) async fn run(open: Open, mut client: TcpStream, upstream: u16) {
    let (id, faults) = (open.id, open.faults.clone());
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", upstream)).await else {
        faults.pass(id).await;
        drop(client.set_zero_linger());
        return;
    };
    // Every piece must leave at once, or split bytes would be joined again.
    drop((client.set_nodelay(true), server.set_nodelay(true)));
    let connection = Connection {
        id,
        faults,
        expected: Mutex::default(),
        silent: AtomicBool::default(),
        left: Notify::default(),
        subscribed: AtomicBool::default(),
    };
    let reset = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let (commands_in, commands_out) = unbounded_channel();
        let (replies_in, replies_out) = unbounded_channel();
        // In any case the writer to the client ends last.
        let others = async {
            tokio::join!(
                connection.read_commands(from_client, commands_in, open),
                connection.write_commands(to_server, commands_out),
                connection.read_replies(from_server, replies_in),
            );
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = others => false,
            reset = connection.write_replies(to_client, replies_out) => reset,
            () = connection.faults.reset(id) => true,
        }
    };
    if reset {
        drop(client.set_zero_linger());
    }
}

impl Connection {
    async fn read_commands(&self, mut from: ReadHalf<'_>, to: Sender, open: Open) {
        let mut splitter = Splitter::default();
        while let Ok(bytes) = read(&mut from).await {
            if self.faults.opaque {
                self.send(&to, Piece::Forward(bytes));
                continue;
            }
            splitter.push(&bytes);
            while let Some(command) = splitter.next() {
                let args = strings(&command);
                let drop_reply = self.faults.on_command(&args);
                if name_of(&args).ends_with("SUBSCRIBE") {
                    // Confirmed by as many messages as there are channels, not by a reply.
                    self.subscribed.store(true, SeqCst);
                } else {
                    self.expected.lock().unwrap().push_back(drop_reply);
                }
                self.send(&to, Piece::Forward(command));
            }
        }
        drop(open);
        self.left.notify_one();
    }

    async fn write_commands(&self, mut to: WriteHalf<'_>, mut from: Receiver) {
        while let Some(piece) = self.receive(&mut from).await {
            if let (Piece::Forward(bytes), false) = (piece, self.silent.load(SeqCst)) {
                // If the server is gone, the end of its replies shows that too.
                drop(to.write_all(&bytes).await);
            }
        }
        drop(to.shutdown().await);
    }

    async fn read_replies(&self, mut from: ReadHalf<'_>, to: Sender) {
        let mut splitter = Splitter::default();
        while let Ok(bytes) = read(&mut from).await {
            if self.faults.opaque {
                self.send(&to, Piece::Forward(bytes));
                continue;
            }
            splitter.push(&bytes);
            while let Some(reply) = splitter.next() {
                let expected = match self.is_message(&reply) {
                    true => None,
                    false => self.expected.lock().unwrap().pop_front().flatten(),
                };
                self.send(&to, expected.map_or(Piece::Forward(reply), Piece::Swallowed));
            }
        }
    }

    /// True: reset the client. False: the server closed.
    async fn write_replies(&self, mut to: WriteHalf<'_>, mut from: Receiver) -> bool {
        while let Some(piece) = self.receive(&mut from).await {
            match piece {
                Piece::Forward(_) if self.faults.mutes(self.id) => {
                    self.faults.dropped.send_modify(|dropped| *dropped += 1);
                }
                Piece::Forward(bytes) => {
                    if self.write_reply(&mut to, &bytes).await.is_err() {
                        return false;
                    }
                }
                Piece::Swallowed(then) => {
                    self.silent.store(true, SeqCst);
                    self.faults.dropped.send_modify(|dropped| *dropped += 1);
                    if then == Then::KeepOpen {
                        self.left.notified().await;
                    }
                    return then == Then::Close;
                }
            }
        }
        false
    }

    async fn write_reply(&self, to: &mut WriteHalf<'_>, bytes: &[u8]) -> io::Result<()> {
        if !self.faults.state().split {
            return to.write_all(bytes).await;
        }
        for byte in bytes {
            to.write_all(std::slice::from_ref(byte)).await?;
            // So that the client reads this byte alone.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    fn send(&self, to: &Sender, piece: Piece) {
        // Without its writer, the connection has ended already.
        drop(to.send((Instant::now() + self.faults.state().delay, piece)));
    }

    /// The next piece, when it is due and the connection is not in a black hole. A black hole also holds
    /// back the end of the stream.
    async fn receive(&self, from: &mut Receiver) -> Option<Piece> {
        let next = from.recv().await;
        if let Some((due, _)) = &next {
            sleep_until(*due).await;
        }
        self.faults.pass(self.id).await;
        next.map(|(_, piece)| piece)
    }

    /// True for unrequested values: pushes, and messages to a subscriber.
    fn is_message(&self, reply: &[u8]) -> bool {
        match reply.first() {
            Some(b'>') => true,
            Some(b'*') if self.subscribed.load(SeqCst) => {
                let kind = strings(reply).into_iter().next().unwrap_or_default();
                kind.ends_with(b"message") || kind.ends_with(b"subscribe")
            }
            _ => false,
        }
    }
}

/// The bytes that have arrived; an error at the end.
async fn read(from: &mut ReadHalf<'_>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(16 * 1024);
    match from.read_buf(&mut bytes).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(bytes),
    }
}
