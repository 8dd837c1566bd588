//! Handlers of any job, made from functions of one.

use std::any::Any;
use std::pin::Pin;

use bytes::Bytes;
use serde::Serialize;

use super::context::Context;
use crate::{Job, JobError, Policy};

/// A handler that has its arguments and was not polled.
pub(super) type Prepared = Pin<Box<dyn Future<Output = Result<Output, JobError>> + Send>>;

/// The result of a handler, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output(Option<Bytes>);

impl Output {
    /// A result, for middleware that replaces that of a handler. `()` and `None` are no result.
    ///
    /// # Errors
    /// If the value cannot be written as JSON, which makes the job dead.
    pub fn new<T: Serialize>(value: &T) -> Result<Output, JobError> {
        // The next attempt would have the same result.
        let json = serde_json::to_vec(value).map_err(|error| {
            JobError::new("InvalidResult", error.to_string()).policy(Policy::Bury)
        })?;
        Ok(Output((json != b"null").then(|| json.into())))
    }

    /// The result; `None` if there is none.
    pub fn json(&self) -> Option<&Bytes> {
        self.0.as_ref()
    }

    pub(super) fn into_json(self) -> Option<Bytes> {
        self.0
    }
}

type Prepare = dyn Fn(&Context) -> Result<Prepared, String> + Send + Sync;

/// The handler of a job.
pub(super) struct Registered {
    prepare: Box<Prepare>,
    blocking: bool,
}

impl Registered {
    pub(super) fn future<J, F, Fut, T>(handler: F) -> Registered
    where
        J: Job,
        F: Fn(J, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, JobError>> + Send + 'static,
        T: Serialize + 'static,
    {
        let prepare = move |context: &Context| -> Result<Prepared, String> {
            let run = handler(args(context)?, context.clone());
            Ok(Box::pin(async move { Output::new(&run.await?) }))
        };
        Registered { prepare: Box::new(prepare), blocking: false }
    }

    pub(super) fn blocking<J, F, T>(handler: F) -> Registered
    where
        J: Job,
        F: Fn(J, Context) -> Result<T, JobError> + Send + Sync + 'static,
        T: Serialize + 'static,
    {
        let handler = std::sync::Arc::new(handler);
        let prepare = move |context: &Context| -> Result<Prepared, String> {
            let (handler, context) = (handler.clone(), context.clone());
            let job = args(&context)?;
            Ok(Box::pin(async move {
                match on_a_thread(move || Output::new(&handler(job, context)?)).await? {
                    Ok(ended) => ended,
                    Err(panic) => Err(panicked(&*panic)),
                }
            }))
        };
        Registered { prepare: Box::new(prepare), blocking: true }
    }

    /// Whether nothing can stop it.
    pub(super) fn is_blocking(&self) -> bool {
        self.blocking
    }

    /// Reads the arguments, and calls the function. Fails if they do not fit.
    pub(super) fn prepare(&self, context: &Context) -> Result<Prepared, String> {
        (self.prepare)(context)
    }
}

/// Runs a function on a thread of its own. The end of the runtime does not wait for that thread, as it does for those
/// of the runtime: a handler that hangs must not keep its process alive. Fails if there can be no thread.
async fn on_a_thread<T: Send + 'static>(
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<std::thread::Result<T>, JobError> {
    let (sender, ended) = tokio::sync::oneshot::channel();
    let runtime = tokio::runtime::Handle::current();
    let run = move || {
        let _entered = runtime.enter();
        let run = std::panic::AssertUnwindSafe(run);
        _ = sender.send(std::panic::catch_unwind(run));
    };
    std::thread::Builder::new().name("leaseq-job".into()).spawn(run)?;
    Ok(ended.await?)
}

fn args<J: Job>(context: &Context) -> Result<J, String> {
    serde_json::from_slice(context.task().args()).map_err(|error| error.to_string())
}

/// The error of a handler that has panicked.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> JobError {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    JobError::new("Panic", text.unwrap_or_default())
}
