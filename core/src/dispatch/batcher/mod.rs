//! Group commit: calls made at the same time share a request, and the reply is shared out to them.
//!
//! A call joins the [`pending`] ones. The first pending call starts a [`poll_loop`] and drives it itself; a
//! second call moves the loop to its own task. The loop takes pending calls as a batch, sends the batch as
//! one request ([`request_lane`]) and distributes the reply. While a request is in flight the next batch fills.
//! An [`op`] says what is particular to a kind of operation.

mod batch;
mod call;
mod deadline;
mod enqueue;
mod linger;
pub(super) mod op;
pub(super) mod pending;
mod poll_loop;
mod replies;
mod request_lane;
mod state;

pub(super) use self::batch::Batch;
pub(super) use self::call::Call;
pub(super) use self::deadline::GRACE;
pub(crate) use self::enqueue::Batcher;
