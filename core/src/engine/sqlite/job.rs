//! A call on its way to the thread: what to do, and whom to tell.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;

use super::database::Database;
use crate::{Error, Result};

pub(super) trait Call: Send {
    /// May run twice: alone, if another call of its transaction failed.
    fn run(&mut self, database: &mut Database) -> Result<()>;
    fn reply(self: Box<Self>, outcome: Result<()>);
}

/// A panic in the work is an error of its call: the transaction is rolled back, and others go on.
pub(super) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
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

/// A call that waits for the thread. Whoever comes first takes it out: the thread that begins with it,
/// or the caller who gives up, so that nothing is kept of what nobody wants any more.
pub(super) struct Job {
    pub(super) writes: bool,
    /// When the caller gives up, unless it was begun.
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

    /// `None`: it was begun or given up before.
    pub(super) fn claim(&self) -> Option<Box<dyn Call>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn is_over(&self) -> bool {
        self.call.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}
