//! The operations whose calls share requests.

pub(super) mod give_back;
pub(super) mod items;
pub(super) mod lease;
pub(super) mod reports;
mod unclaimed;
