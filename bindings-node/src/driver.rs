//! Runs the calls of one event loop, beside it.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::AbortHandle;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::bridge::Shared;
use crate::call_batch::{CallBatch, Done, LeaseCall, Waiting};
use crate::submission_queue::{Call, Command, Completion, abortable};
use crate::wire::{Answer, Outcome};

/// A call that can be cancelled.
enum Slot {
    Waiting(AbortHandle),
    /// It may have to wait when its batch has its answer. True: not any more.
    Grouped(bool),
}

/// What the driver has begun.
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
            Command::CallBatch(batch) => match batch.alone() {
                Ok(waiting) => self.wait(waiting),
                Err(batch) => {
                    if let CallBatch::Lease { calls, .. } = &batch {
                        let grouped = |call: &LeaseCall| (call.slot, Slot::Grouped(false));
                        self.slots.extend(calls.iter().map(grouped));
                    }
                    self.calls.push(Box::pin(async move { Completion::Many(batch.run().await) }));
                }
            },
            Command::Cancel(number) => match self.slots.get_mut(&number) {
                None => {}
                Some(Slot::Waiting(abort)) => abort.abort(),
                Some(Slot::Grouped(cancelled)) => *cancelled = true,
            },
        }
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
                        Some(Slot::Grouped(true)) => {
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

/// Runs the calls of one event loop until that ends, then drops them, and gives back what they won.
pub(crate) async fn drive(mut commands: UnboundedReceiver<Vec<Command>>, shared: Arc<Shared>) {
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
            shared.put(&mut running.answers);
        }
        Poll::Pending
    })
    .await;
    drop(running);
    let unseen = std::mem::take(&mut shared.outbox().holders);
    for held in unseen.into_iter().flatten() {
        // It would expire anyway, only later.
        tokio::spawn(async move { held.queue.release(&held.lease, Default::default()).await });
    }
}
