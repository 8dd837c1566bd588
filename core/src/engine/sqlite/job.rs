//! A call on its way to the thread: what to do, and whom to tell.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokio::sync::oneshot;

use super::database::Database;
use crate::{Error, Result};

pub(super) trait Call: Send {
    /// May run twice: alone, if another call of its transaction failed.
    fn run(&mut self, database: &mut Database) -> Result<()>;
    fn reply(self: Box<Self>, outcome: Result<()>);
}

struct TypedCall<T, F> {
    work: F,
    done: Option<T>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T: Send, F: FnMut(&mut Database) -> Result<T> + Send> Call for TypedCall<T, F> {
    fn run(&mut self, database: &mut Database) -> Result<()> {
        self.done = Some((self.work)(database)?);
        Ok(())
    }

    fn reply(self: Box<Self>, outcome: Result<()>) {
        let TypedCall { done, reply, .. } = *self;
        let nothing = || Error::internal("the work left no result");
        let _ = reply.send(outcome.and_then(|()| done.ok_or_else(nothing)));
    }
}

pub(super) struct Job {
    pub(super) call: Box<dyn Call>,
    pub(super) writes: bool,
    /// When the caller gives up, unless it was begun.
    pub(super) until: Instant,
    /// Set by whoever comes first: the thread that begins, or the caller who gives up.
    pub(super) claimed: Arc<AtomicBool>,
}

impl Job {
    pub(super) fn new<T: Send + 'static>(
        writes: bool,
        until: Instant,
        claimed: &Arc<AtomicBool>,
        reply: oneshot::Sender<Result<T>>,
        work: impl FnMut(&mut Database) -> Result<T> + Send + 'static,
    ) -> Job {
        let call = Box::new(TypedCall { work, done: None, reply });
        Job { call, writes, until, claimed: claimed.clone() }
    }

    /// True if the caller still waits: from now on it does so until the end.
    pub(super) fn claim(&self) -> bool {
        !self.claimed.swap(true, Ordering::AcqRel)
    }
}
