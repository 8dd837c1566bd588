//! Runs the calls of one event loop on the core's thread.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::AbortHandle;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::call_batch::{CallBatch, Done, Waiting};
use crate::outbox::Outbox;
use crate::submission_queue::{Call, Command, Completion, abortable};
use crate::wire::{Answer, Outcome};

/// A call that can be cancelled.
enum Slot {
    Waiting(AbortHandle),
    /// It starts to wait if its batch finds nothing for it, unless it was cancelled.
    InBatch {
        cancelled: bool,
    },
}

/// The calls that run.
#[derive(Default)]
struct Running {
    calls: FuturesUnordered<Call>,
    slots: HashMap<u32, Slot>,
    answers: Vec<(u32, Answer)>,
}

impl Running {
    fn begin(&mut self, command: Command) {
        match command {
            Command::Call(call) => self.calls.push(call),
            Command::Wait(number, abort, call) => {
                self.slots.insert(number, Slot::Waiting(abort));
                self.calls.push(call);
            }
            Command::Batch(CallBatch::Lease(batch)) => match batch.alone() {
                Ok(waiting) => self.wait(waiting),
                Err(batch) => {
                    let in_batch = |slot: &u32| (*slot, Slot::InBatch { cancelled: false });
                    self.slots.extend(batch.slots.iter().map(in_batch));
                    self.run(CallBatch::Lease(batch));
                }
            },
            Command::Batch(batch) => self.run(batch),
            Command::Cancel(number) => match self.slots.get_mut(&number) {
                None => {}
                Some(Slot::Waiting(abort)) => abort.abort(),
                Some(Slot::InBatch { cancelled }) => *cancelled = true,
            },
        }
    }

    fn run(&mut self, batch: CallBatch) {
        self.calls.push(Box::pin(async move { Completion::Many(batch.run().await) }));
    }

    fn wait(&mut self, waiting: Waiting) {
        let number = waiting.slot;
        let (abort, call) = abortable(number, waiting.run());
        self.slots.insert(number, Slot::Waiting(abort));
        self.calls.push(call);
    }

    fn end(&mut self, completion: Completion) {
        match completion {
            Completion::One(number, answer) => self.answer(number, answer),
            Completion::Many(Done { answers, waiting }) => {
                for (number, answer) in answers {
                    self.answer(number, answer);
                }
                for waiting in waiting {
                    match self.slots.get(&waiting.slot) {
                        Some(Slot::InBatch { cancelled: true }) => {
                            self.answer(waiting.slot, Ok(Outcome::Cancelled))
                        }
                        _ => self.wait(waiting),
                    }
                }
            }
        }
    }

    fn answer(&mut self, number: u32, answer: Answer) {
        self.slots.remove(&number);
        self.answers.push((number, answer));
    }
}

/// Runs the calls of one event loop until it ends. Then drops them, and releases the leases that
/// nobody took.
pub(crate) async fn drive(mut commands: UnboundedReceiver<Vec<Command>>, outbox: Arc<Outbox>) {
    let mut running = Running::default();
    poll_fn(|task: &mut Context<'_>| {
        while let Poll::Ready(next) = commands.poll_recv(task) {
            let Some(next) = next else { return Poll::Ready(()) };
            for command in next {
                running.begin(command);
            }
        }
        while let Poll::Ready(Some(completion)) = running.calls.poll_next_unpin(task) {
            running.end(completion);
        }
        if !running.answers.is_empty() {
            outbox.put(&mut running.answers);
        }
        Poll::Pending
    })
    .await;
    drop(running);
    for held in outbox.take().holders.into_iter().flatten() {
        // Otherwise the lease would expire later.
        tokio::spawn(async move { held.queue.release(&held.lease, Default::default()).await });
    }
}
