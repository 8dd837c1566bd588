//! What changes something. The route table says who may do it.

pub(crate) mod edit;
pub(crate) mod items;
pub(crate) mod queue;
