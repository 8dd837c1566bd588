//! What children write to their standard error: it goes to that of this process, and the end of it is kept.

use std::collections::VecDeque;
use std::io::Write;
use std::process::ChildStderr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// How much of the end is kept.
const KEPT: usize = 2048;
/// How many pieces wait to be written. Children that write more wait, as with a pipe.
const WAITING: usize = 16;
/// How long a worker that ends waits until they are written.
const WRITING: Duration = Duration::from_millis(500);

/// The thread that writes for all children.
static OUT: OnceLock<Option<mpsc::Sender<Piece>>> = OnceLock::new();

enum Piece {
    Text(Box<[u8]>),
    /// All that was sent before is written.
    Written(oneshot::Sender<()>),
}

/// The end of what a process has written.
#[derive(Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<VecDeque<u8>>>);

impl LastWords {
    fn lock(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, text: &[u8]) {
        let mut words = self.lock();
        words.extend(text);
        let surplus = words.len().saturating_sub(KEPT);
        words.drain(..surplus);
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    pub(super) fn text(&self) -> String {
        let words: Vec<u8> = self.lock().iter().copied().collect();
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}

/// Passes on what a process writes, and keeps the end.
pub(super) async fn listen(stderr: ChildStderr, last_words: LastWords) {
    let Ok(mut stderr) = pipe::Receiver::from_owned_fd(stderr.into()) else { return };
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        last_words.add(&chunk[..count]);
        if let Some(out) = out() {
            // The thread never ends.
            _ = out.send(Piece::Text(chunk[..count].into())).await;
        }
    }
}

/// Waits until what children have written is passed on: this process may end next.
pub(crate) async fn passed_on() {
    let Some(Some(out)) = OUT.get() else { return };
    let (sender, written) = oneshot::channel();
    let passed_on = async {
        if out.send(Piece::Written(sender)).await.is_ok() {
            _ = written.await;
        }
    };
    // Nobody may read the standard error of this process.
    _ = timeout(WRITING, passed_on).await;
}

/// One thread writes for all children: if nobody reads the standard error of this process, only that thread is blocked,
/// however many children come and go. `None`: there can be no thread.
fn out() -> Option<&'static mpsc::Sender<Piece>> {
    let start = || {
        let (sender, mut pieces) = mpsc::channel(WAITING);
        let write = move || {
            while let Some(piece) = pieces.blocking_recv() {
                match piece {
                    // A closed standard error is no reason to end children.
                    Piece::Text(text) => _ = std::io::stderr().write_all(&text),
                    // The worker may have stopped waiting.
                    Piece::Written(waiter) => _ = waiter.send(()),
                }
            }
        };
        let thread = std::thread::Builder::new().name("leaseq-stderr".to_owned());
        thread.spawn(write).ok().map(|_| sender)
    };
    OUT.get_or_init(start).as_ref()
}
