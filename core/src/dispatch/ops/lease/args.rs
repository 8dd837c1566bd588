//! What a call that leases is made with.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{SetOnce, oneshot};

use crate::dispatch::batcher::Call;
use crate::dispatch::batcher::pending::PendingCalls;
use crate::dispatch::ops::unclaimed::UnclaimedLeases;
use crate::engine::Complete;
use crate::lease::Shared;
use crate::wanted::Wanted;

pub(crate) struct LeaseArgs {
    pub(super) duration_ms: u64,
    /// When the wait for an item ends; `None`: never.
    pub(super) until: Option<Instant>,
    /// What is completed before anything is leased for the call; `None` when the engine was asked to.
    pub(super) completing: Option<Box<Completing>>,
    /// Set when the engine had nothing for the call.
    pub(super) asked: Arc<SetOnce<()>>,
    /// How many items it wants, if that can change.
    pub(super) wanted: Option<Wanted>,
}

pub(super) type LeaseCall = Call<LeaseArgs, UnclaimedLeases>;
pub(super) type PendingLeases = PendingCalls<LeaseArgs, UnclaimedLeases>;

/// Whether the call stays pending when there is nothing for it.
pub(super) fn waits_on(call: &LeaseCall) -> bool {
    !call.is_gone() && call.args.until.is_none_or(|until| until > Instant::now())
}

/// Whether there is nothing left to do for the call. What it completes is completed even if its caller is
/// gone.
pub(super) fn is_done(call: &LeaseCall) -> bool {
    call.is_gone() && call.args.completing.is_none()
}

/// At most [`MAX_BATCH`](crate::options::MAX_BATCH) leases that a call completes.
pub(crate) struct Completing {
    pub(super) leases: Vec<Complete>,
    /// Their handles, which are notified at once, while the call may go on waiting.
    pub(super) handles: Vec<Arc<Shared>>,
    pub(super) reply: oneshot::Sender<Vec<bool>>,
}
