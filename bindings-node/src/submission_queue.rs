//! Calls on their way to the driver. They wait here until JavaScript sends them.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::{AbortHandle, Abortable};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::call_batch::{CallBatch, Done};
use crate::wire::{Answer, Outcome};

pub(crate) type Call = Pin<Box<dyn Future<Output = Completion> + Send>>;

pub(crate) enum Command {
    Call(Call),
    /// A call that may wait for long, and can be cancelled.
    Wait(u32, AbortHandle, Call),
    Batch(CallBatch),
    Cancel(u32),
}

/// The result of a call, or of a batch of calls.
pub(crate) enum Completion {
    One(u32, Answer),
    Many(Done),
}

/// Calls that were not sent yet, and where they go. Only JavaScript may keep it alive: the driver
/// ends when it is dropped.
pub(crate) struct SubmissionQueue {
    commands: Mutex<Vec<Command>>,
    driver: UnboundedSender<Vec<Command>>,
}

impl SubmissionQueue {
    pub(crate) fn new() -> (SubmissionQueue, UnboundedReceiver<Vec<Command>>) {
        let (driver, commands) = unbounded_channel();
        (SubmissionQueue { commands: Mutex::default(), driver }, commands)
    }

    /// Adds a call that the engine answers soon.
    pub(crate) fn call(&self, call: u32, work: impl Future<Output = Answer> + Send + 'static) {
        self.push(Command::Call(Box::pin(async move { Completion::One(call, work.await) })));
    }

    /// Adds a call that may wait for long. Cancelling it drops it.
    pub(crate) fn wait(&self, call: u32, work: impl Future<Output = Answer> + Send + 'static) {
        let (abort, work) = abortable(call, work);
        self.push(Command::Wait(call, abort, work));
    }

    pub(crate) fn batch(&self, batch: CallBatch) {
        self.push(Command::Batch(batch));
    }

    pub(crate) fn cancel(&self, call: u32) {
        self.push(Command::Cancel(call));
    }

    pub(crate) fn send(&self) {
        let commands = std::mem::take(&mut *self.commands());
        // It fails only if the driver has ended, which happens later.
        let _ = self.driver.send(commands);
    }

    fn push(&self, command: Command) {
        self.commands().push(command);
    }

    fn commands(&self) -> MutexGuard<'_, Vec<Command>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
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
