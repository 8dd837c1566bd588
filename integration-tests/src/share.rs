//! Which part of its matrix a program runs, as arguments.

use std::num::NonZeroU64;

use leaseq_test_support::Share;

/// Options of the programs that have a long matrix.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ShareArgs {
    /// Run only one of this many parts of the matrix, chosen by the date
    #[arg(long, default_value = "1")]
    parts: NonZeroU64,
    /// The date as days since 1970-01-01, instead of today
    #[arg(long, default_value_t = Share::today())]
    day: u64,
}

impl ShareArgs {
    pub(crate) fn share(&self) -> Share {
        Share { parts: self.parts, day: self.day }
    }
}
