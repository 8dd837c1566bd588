//! Progress that holders of leases report. The first value of a lease is sent at once. Apart from these, a queue sends
//! one request a second: of what its leases report in between, the last values wait and are sent together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::items::ItemOp;
use crate::Result;
use crate::dispatch::batcher::Batcher;
use crate::dispatch::queue_context::QueueContext;
use crate::engine::{Progress, Token};
use crate::lease::Shared;
use crate::lock::lock;
use crate::options::MAX_BATCH;

const INTERVAL: Duration = Duration::from_secs(1);
/// How long a client that closes tries to send what waits.
const MAX_AT_CLOSE: Duration = Duration::from_secs(1);

/// The reports of one queue.
#[derive(Clone)]
pub(crate) struct Reports {
    batcher: Batcher<ItemOp<Progress, bool>>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// When the last request of this second began.
    sent: Option<Instant>,
    waiting: HashMap<Token, (Bytes, Arc<Shared>)>,
    /// A task sends what waits.
    has_task: bool,
}

/// What was logged since the last success.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Logged {
    Nothing,
    Waits,
    Lost,
}

impl Logged {
    /// Whether this is worse than what was logged, and so is logged too.
    fn adds(&mut self, found: Logged) -> bool {
        let adds = found > *self;
        if adds {
            *self = found;
        }
        adds
    }
}

impl State {
    /// When what waits is due.
    fn due(&self) -> Instant {
        self.sent.map_or_else(Instant::now, |sent| sent + INTERVAL)
    }
}

impl Reports {
    pub(crate) fn new(batcher: Batcher<ItemOp<Progress, bool>>) -> Reports {
        Reports { batcher, state: Arc::default() }
    }

    fn queue(&self) -> &Arc<QueueContext> {
        self.batcher.queue()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Sends the value, or lets it wait and returns at once. False: the lease is not current.
    pub(crate) async fn report(
        &self,
        token: Token,
        value: Bytes,
        shared: &Arc<Shared>,
        until: Instant,
    ) -> Result<bool> {
        if shared.refuses_reports() {
            return Ok(false);
        }
        if let Some(value) = self.keep(token, value, shared) {
            let stored = self.batcher.call(vec![Progress { token, value }], until).await?;
            return Ok(stored == [true]);
        }
        Ok(true)
    }

    /// Returns the value if it is to be sent at once. While the task runs, it may be sending an earlier value of the
    /// same lease, and may have to send that again: the value must not overtake it.
    fn keep(&self, token: Token, value: Bytes, shared: &Arc<Shared>) -> Option<Bytes> {
        let mut state = self.state();
        let is_due = state.due() <= Instant::now();
        if shared.begin_report() || (is_due && !state.has_task) {
            if is_due {
                state.sent = Some(Instant::now());
            }
            return Some(value);
        }
        state.waiting.insert(token, (value, shared.clone()));
        if !std::mem::replace(&mut state.has_task, true) {
            let this = self.clone();
            self.queue().context.spawn(async move { this.run().await });
        }
        None
    }

    /// Removes the values of these leases that wait.
    pub(crate) fn take(&self, tokens: impl Iterator<Item = Token>) -> Vec<Progress> {
        let mut state = self.state();
        if state.waiting.is_empty() {
            return Vec::new();
        }
        let taken =
            |token| state.waiting.remove(&token).map(|(value, _)| Progress { token, value });
        tokens.filter_map(taken).collect()
    }

    /// Sends values that were taken.
    pub(crate) async fn send(&self, progress: Vec<Progress>, until: Instant) -> Result<Vec<bool>> {
        self.batcher.call(progress, until).await
    }

    async fn run(&self) {
        let QueueContext { context, queue, .. } = &**self.queue();
        let mut logged = Logged::Nothing;
        loop {
            let due = self.state().due();
            tokio::select! {
                () = tokio::time::sleep_until(due.into()) => {}
                () = context.closed.cancelled() => {}
            }
            let closes = context.closed.is_cancelled();
            let until = context.until();
            let until = if closes { until.min(Instant::now() + MAX_AT_CLOSE) } else { until };
            let Some(waiting) = self.take_all() else { return };
            for part in waiting.chunks(MAX_BATCH) {
                match self.send_part(part, until).await {
                    Ok(()) => logged = Logged::Nothing,
                    Err(error) => {
                        // Repeating a request that cannot succeed would help nobody.
                        let again = error.kind().is_retryable() && !closes;
                        if again {
                            self.put_back(part);
                        }
                        if logged.adds(if again { Logged::Waits } else { Logged::Lost }) {
                            let lost = if again { "for now" } else { "and is lost" };
                            tracing::warn!(%queue, %error, "progress is not stored {lost}");
                        }
                    }
                }
            }
        }
    }

    /// What waits, of leases that have not ended. `None`: nothing does, and the task ends.
    fn take_all(&self) -> Option<Vec<(Token, Bytes, Arc<Shared>)>> {
        let mut state = self.state();
        let waiting = state.waiting.drain().filter(|(_, (_, shared))| !shared.refuses_reports());
        let waiting: Vec<_> =
            waiting.map(|(token, (value, shared))| (token, value, shared)).collect();
        if waiting.is_empty() {
            state.has_task = false;
            return None;
        }
        state.sent = Some(Instant::now());
        Some(waiting)
    }

    async fn send_part(&self, part: &[(Token, Bytes, Arc<Shared>)], until: Instant) -> Result<()> {
        let progress =
            part.iter().map(|(token, value, _)| Progress { token: *token, value: value.clone() });
        let stored = self.batcher.call(progress.collect(), until).await?;
        for ((_, _, shared), stored) in part.iter().zip(stored) {
            if !stored {
                shared.refuse_reports();
            }
        }
        Ok(())
    }

    /// Lets values wait again, unless there are newer ones.
    fn put_back(&self, part: &[(Token, Bytes, Arc<Shared>)]) {
        let mut state = self.state();
        for (token, value, shared) in part {
            state.waiting.entry(*token).or_insert_with(|| (value.clone(), shared.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_logged_after_other_failures_but_once() {
        let mut logged = Logged::Nothing;
        let found = [Logged::Waits, Logged::Waits, Logged::Lost, Logged::Lost, Logged::Waits];
        assert_eq!(found.map(|found| logged.adds(found)), [true, false, true, false, false]);
    }
}
