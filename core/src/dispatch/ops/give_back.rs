//! Gives leases back that reached no caller.

use std::sync::Arc;

use bytes::Bytes;

use super::items::ItemOp;
use crate::dispatch::batcher::Batcher;
use crate::dispatch::queue_context::QueueContext;
use crate::engine::{Release, Token};

/// Gives leases of a queue back.
#[derive(Clone)]
pub(crate) struct GiveBack(Batcher<ItemOp<Release, bool>>);

impl GiveBack {
    pub(crate) fn new(release: &Batcher<ItemOp<Release, bool>>) -> GiveBack {
        GiveBack(release.clone())
    }

    fn queue(&self) -> &Arc<QueueContext> {
        self.0.queue()
    }

    /// Releases them in the background. Their items go to the front, as if they had never been leased.
    pub(crate) fn release(&self, tokens: Vec<Token>) {
        if tokens.is_empty() {
            return;
        }
        let this = self.clone();
        self.queue().context.spawn(async move { this.retry(tokens).await });
    }

    async fn retry(&self, tokens: Vec<Token>) {
        let QueueContext { context, queue, .. } = &**self.queue();
        let mut backoff = context.backoff();
        loop {
            let releases = tokens
                .iter()
                .map(|&token| Release { token, id: Bytes::new(), delay_ms: 0, reason: None })
                .collect();
            match self.0.call(releases, context.until()).await {
                // Repeating a release is harmless: the second one finds the lease lost.
                Err(error) if error.kind().is_retryable() && !context.closed.is_cancelled() => {
                    context.pause(&mut backoff).await;
                }
                Err(error) => {
                    tracing::warn!(%queue, %error, "leases of a dropped call run out by themselves");
                    return;
                }
                Ok(_) => return,
            }
        }
    }
}
