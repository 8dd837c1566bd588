//! Calls that gather until the event loop has finished its turn.

use crate::call_batch::CallBatch;
use crate::driver::Call;

enum Gathered {
    Call(Call),
    Batch(CallBatch),
}

/// Calls in the order in which they were made.
#[derive(Default)]
pub(crate) struct GatheredCalls {
    calls: Vec<Gathered>,
    /// How many there are; those of a batch count one by one.
    count: usize,
}

impl GatheredCalls {
    pub(crate) fn push(&mut self, call: Call) {
        self.count += 1;
        self.calls.push(Gathered::Call(call));
    }

    /// Adds a call to the newest batch, if that is of the same kind and nothing has followed it.
    pub(crate) fn join(&mut self, call: CallBatch) {
        self.count += 1;
        let apart = match self.calls.last_mut() {
            Some(Gathered::Batch(batch)) => batch.join(call),
            _ => Err(call),
        };
        self.calls.extend(apart.err().map(Gathered::Batch));
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn take(&mut self) -> Vec<Call> {
        self.count = 0;
        let calls = std::mem::take(&mut self.calls).into_iter();
        calls
            .map(|gathered| match gathered {
                Gathered::Call(call) => call,
                Gathered::Batch(batch) => batch.into_call(),
            })
            .collect()
    }
}
