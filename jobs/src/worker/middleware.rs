//! What is done around every handler.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::context::Context;
use super::handler::{Output, Prepared};
use crate::JobError;

/// Something that is done around every handler, such as opening a span.
#[async_trait]
pub trait Middleware: Send + Sync + 'static {
    /// Runs the handler by [`next.run(job)`](Next::run), and returns what that has returned, or something else. Without
    /// that call the handler does not run.
    async fn handle(&self, job: &Context, next: Next<'_>) -> Result<Output, JobError>;
}

/// The middleware behind the current one, and the handler behind the last.
pub struct Next<'a> {
    rest: &'a [Arc<dyn Middleware>],
    handler: Prepared,
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("rest", &self.rest.len()).finish_non_exhaustive()
    }
}

impl<'a> Next<'a> {
    pub(super) fn new(rest: &'a [Arc<dyn Middleware>], handler: Prepared) -> Next<'a> {
        Next { rest, handler }
    }

    /// Goes on.
    ///
    /// # Errors
    /// Those of the handler and of the middleware around it.
    pub async fn run(self, job: &Context) -> Result<Output, JobError> {
        match self.rest.split_first() {
            Some((first, rest)) => first.handle(job, Next { rest, handler: self.handler }).await,
            None => self.handler.await,
        }
    }
}
