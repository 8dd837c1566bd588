//! Calls on their way to the driver: they gather here until JavaScript sends them on.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::{AbortHandle, Abortable};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::call_batch::{CallBatch, CallBatches, Done};
use crate::wire::{Answer, Outcome};

pub(crate) type Call = Pin<Box<dyn Future<Output = Completion> + Send>>;

pub(crate) enum Command {
    Call(Call),
    /// A call that may have to wait for long, and can be cancelled.
    Wait(u32, AbortHandle, Call),
    CallBatch(CallBatch),
    Cancel(u32),
}

/// What a call, or a batch of calls, results in.
pub(crate) enum Completion {
    One(u32, Answer),
    Many(Done),
}

/// Calls that were not sent yet, and where they go. Only what JavaScript holds may hold
/// it: the driver ends with the last one.
pub(crate) struct SubmissionQueue {
    commands: Mutex<Vec<Command>>,
    driver: UnboundedSender<Vec<Command>>,
}

impl SubmissionQueue {
    pub(crate) fn new() -> (SubmissionQueue, UnboundedReceiver<Vec<Command>>) {
        let (driver, commands) = unbounded_channel();
        (SubmissionQueue { commands: Mutex::default(), driver }, commands)
    }

    /// Puts a call in line that the engine answers soon.
    pub(crate) fn call(&self, call: u32, work: impl Future<Output = Answer> + Send + 'static) {
        self.push(Command::Call(Box::pin(async move { Completion::One(call, work.await) })));
    }

    /// Puts a call in line that may wait for long. Cancelling it drops it.
    pub(crate) fn wait(&self, call: u32, work: impl Future<Output = Answer> + Send + 'static) {
        let (abort, work) = abortable(call, work);
        self.push(Command::Wait(call, abort, work));
    }

    /// For calls that go together with others.
    pub(crate) fn batches(&self) -> impl CallBatches {
        Open(self.commands())
    }

    pub(crate) fn cancel(&self, call: u32) {
        self.push(Command::Cancel(call));
    }

    pub(crate) fn send(&self) {
        let commands = std::mem::take(&mut *self.commands());
        // The driver ends later than this.
        let _ = self.driver.send(commands);
    }

    fn push(&self, command: Command) {
        self.commands().push(command);
    }

    fn commands(&self) -> MutexGuard<'_, Vec<Command>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Open<'a>(MutexGuard<'a, Vec<Command>>);

impl CallBatches for Open<'_> {
    fn newest(&mut self) -> Option<&mut CallBatch> {
        match self.0.last_mut() {
            Some(Command::CallBatch(batch)) => Some(batch),
            _ => None,
        }
    }

    fn begin(&mut self, batch: CallBatch) {
        self.0.push(Command::CallBatch(batch));
    }
}

pub(crate) fn abortable(
    call: u32,
    work: impl Future<Output = Answer> + Send + 'static,
) -> (AbortHandle, Call) {
    let (abort, registration) = AbortHandle::new_pair();
    let work = Abortable::new(work, registration);
    let cancelled = Ok(Outcome::Cancelled);
    (abort, Box::pin(async move { Completion::One(call, work.await.unwrap_or(cancelled)) }))
}
