//! A call on its way to the thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::oneshot;

use crate::engine::sqlite::database::Database;
use crate::lock::lock;
use crate::{Error, Result};

pub(super) trait Call: Send {
    /// May run twice: again and alone, if another call of its transaction failed.
    fn run(&mut self, database: &mut Database) -> Result<()>;
    fn reply(self: Box<Self>, outcome: Result<()>);
}

/// Turns a panic of the work into an error of its call. The transaction is rolled back, and other calls
/// continue.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::panicked()))
}

struct TypedCall<T, F> {
    work: F,
    done: Option<T>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T: Send, F: FnMut(&mut Database) -> Result<T> + Send> Call for TypedCall<T, F> {
    fn run(&mut self, database: &mut Database) -> Result<()> {
        self.done = Some(caught(|| (self.work)(database))?);
        Ok(())
    }

    fn reply(self: Box<Self>, outcome: Result<()>) {
        let TypedCall { done, reply, .. } = *self;
        let nothing = || Error::internal("the work left no result");
        let _ = reply.send(outcome.and_then(|()| done.ok_or_else(nothing)));
    }
}

/// A call that waits for the thread. Either the thread claims it and runs it, or its caller claims it and
/// gives up. Nothing is kept of a call that was given up.
pub(crate) struct Job {
    pub(super) writes: bool,
    /// When the caller gives up, unless the job has begun.
    pub(super) until: Instant,
    call: Mutex<Option<Box<dyn Call>>>,
}

impl Job {
    pub(super) fn new<T: Send + 'static>(
        writes: bool,
        until: Instant,
        reply: oneshot::Sender<Result<T>>,
        work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Arc<Job> {
        let call: Box<dyn Call> = Box::new(TypedCall { work, done: None, reply });
        Arc::new(Job { writes, until, call: Mutex::new(Some(call)) })
    }

    /// `None`: it was claimed before.
    pub(super) fn claim(&self) -> Option<Box<dyn Call>> {
        lock(&self.call).take()
    }

    pub(super) fn is_claimed(&self) -> bool {
        lock(&self.call).is_none()
    }
}
