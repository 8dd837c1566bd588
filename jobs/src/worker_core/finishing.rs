//! From the end of a handler to the settlement of its job.

use std::sync::Arc;

use leaseq::{Error, Item, Result};
use tokio::sync::oneshot;

use super::finish::Finish;
use super::running::{Claim, Running};
use super::settlement::{Settled, decide};
use super::state::{Finished, Shared};
use crate::{JobError, Policy};

/// Queues the settlement of a task that a face has finished. `reply` gets what has become of the job.
pub(super) fn finish(
    shared: &Arc<Shared>,
    running: &Arc<Running>,
    finish: Finish,
    reply: Option<oneshot::Sender<Settled>>,
) -> Result<()> {
    match running.claim() {
        Claim::Own => {}
        Claim::TakenOver => {
            if let Some(reply) = reply {
                _ = reply.send(Settled::Lost);
            }
            return Ok(());
        }
        Claim::Finished => {
            return Err(Error::invalid(format_args!("{running}: the task was finished before")));
        }
    }
    let finish = match finish {
        Finish::Done { result: Some(result) } => {
            // A batch is refused because of one result that is too large.
            let size = result.len();
            let checked = Item::new_many([result.clone()]).pop();
            match checked.map(|item| running.queue.accepts(&item)) {
                // It would be as large the next time.
                Some(Err(_)) => Finish::Failed(
                    JobError::new(
                        "ResultTooLarge",
                        format!("a result of {size} bytes is over the limit of the client"),
                    )
                    .policy(Policy::Bury),
                ),
                _ => Finish::Done { result: Some(result) },
            }
        }
        finish => finish,
    };
    let settlement = decide(finish, &running.facts());
    shared.settle(Finished { running: running.clone(), settlement, reply });
    Ok(())
}
