//! Leasing, also with completing before it. Its calls share requests as those of other operations do, and
//! calls that get nothing go back to the pending ones, until there is an item or their wait is over.

mod args;
mod batch;
mod call;
mod distribute;
mod op;
mod request;

pub(crate) use self::call::LeaseParams;
pub(crate) use self::op::LeaseOp;
