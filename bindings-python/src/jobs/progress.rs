//! Reports how far a handler is, in the background. Of what it says meanwhile, only the last counts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use leaseq::ErrorKind;
use leaseq_jobs::Task;
use tokio::runtime::Handle;

#[derive(Default)]
struct State {
    next: Option<Bytes>,
    sending: bool,
}

#[derive(Default)]
pub(super) struct Progress(Mutex<State>);

impl Progress {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn report(self: &Arc<Self>, runtime: &Handle, task: &Arc<Task>, progress: Bytes) {
        let mut state = self.state();
        state.next = Some(progress);
        if !std::mem::replace(&mut state.sending, true) {
            // A task that is dropped without its end fails, and that must not wait for this.
            let (this, task) = (self.clone(), Arc::downgrade(task));
            runtime.spawn(async move {
                while let Some(progress) = this.next()
                    && let Some(task) = task.upgrade()
                {
                    match task.progress(progress).await {
                        Err(error) if error.kind() != ErrorKind::LeaseLost => {
                            tracing::warn!("progress was not stored: {error}");
                        }
                        // A lost lease cancels the task.
                        _ => {}
                    }
                }
            });
        }
    }

    fn next(&self) -> Option<Bytes> {
        let mut state = self.state();
        let next = state.next.take();
        state.sending = next.is_some();
        next
    }
}
