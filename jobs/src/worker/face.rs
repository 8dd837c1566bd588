//! What handlers have in common.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use tokio_util::task::TaskTracker;

use super::context::{Context, States};
use super::event::{Event, Hook};
use super::handler::{Output, Registered, panicked};
use super::middleware::{Middleware, Next};
use crate::{Children, Finish, JobError, Policy, Task};

/// The handlers, and everything around them.
#[derive(Clone, Default)]
pub(super) struct Face {
    pub(super) handlers: HashMap<&'static str, Arc<Registered>>,
    /// Of the jobs that have handlers.
    pub(super) queues: Vec<&'static str>,
    /// Instead of handlers.
    pub(super) children: Option<Children>,
    pub(super) middleware: Vec<Arc<dyn Middleware>>,
    pub(super) hooks: Vec<Arc<Hook>>,
    states: Arc<States>,
}

impl Face {
    pub(super) fn share<T: Send + Sync + 'static>(&mut self, value: T) {
        Arc::make_mut(&mut self.states).insert(TypeId::of::<T>(), Arc::new(value));
    }

    pub(super) fn notify(&self, event: &Event<'_>) {
        for hook in &self.hooks {
            let call = std::panic::AssertUnwindSafe(|| hook(event));
            if std::panic::catch_unwind(call).is_err() {
                tracing::error!(?event, "a hook has panicked");
            }
        }
    }

    /// Runs the handler of a task, and reports how it ended.
    pub(super) async fn run(self: &Arc<Self>, task: Task, hooks: &TaskTracker) {
        let context = self.start(task);
        let begun = Instant::now();
        let finish = self.call(&context).await;
        self.end(context, finish, begun, hooks);
    }

    /// Tells the hooks that a handler starts.
    pub(super) fn start(&self, task: Task) -> Context {
        let context = Context::new(task, self.states.clone());
        self.notify(&Event::Started(&context));
        context
    }

    /// Reports how a handler that began then has ended. Hooks hear of it in the background, when the job is settled.
    pub(super) fn end(
        self: &Arc<Self>,
        context: Context,
        finish: Finish,
        begun: Instant,
        hooks: &TaskTracker,
    ) {
        if self.hooks.is_empty() {
            // It is finished once.
            _ = context.task().report(finish);
            return;
        }
        let (face, elapsed) = (self.clone(), begun.elapsed());
        let settled = context.task().finish(finish);
        hooks.spawn(async move {
            if let Ok(settled) = settled.await {
                face.notify(&Event::Ended(&context, &settled, elapsed));
            }
        });
    }

    async fn call(&self, context: &Context) -> Finish {
        // The core starts no other jobs.
        let Some(handler) = self.handlers.get(context.name()) else {
            return Finish::InvalidArgs("there is no handler".into());
        };
        let run = async {
            let prepared = handler.prepare(context)?;
            Ok(Next::new(&self.middleware, prepared).run(context).await)
        };
        // What a panic leaves behind is dropped with the handler.
        let run = std::panic::AssertUnwindSafe(run).catch_unwind();
        if handler.is_blocking() {
            return finish_of(run.await);
        }
        tokio::select! {
            biased;
            ended = run => finish_of(ended),
            () = context.task().killed() => Finish::Cancelled,
        }
    }
}

/// A panic, arguments that do not fit, or what the handler has returned.
type Ended = Result<Result<Result<Output, JobError>, String>, Box<dyn Any + Send>>;

fn finish_of(ended: Ended) -> Finish {
    match ended {
        Ok(Err(invalid)) => Finish::InvalidArgs(invalid),
        Ok(Ok(Ok(output))) => Finish::Done { result: output.into_json() },
        Ok(Ok(Err(error))) => match error.wants() {
            Policy::Snooze(delay) => Finish::Snooze(delay),
            _ => Finish::Failed(error),
        },
        Err(panic) => Finish::Failed(panicked(&*panic)),
    }
}
