//! The history of a queue as engines store it.

use crate::history::{HistoryKind, HistoryRow, Measured};
use crate::item::Totals;
use crate::unix_time::from_ms;

/// How many numbers a stored row has.
const NUMBERS: usize = 16;

impl HistoryKind {
    pub(crate) const ALL: [HistoryKind; 2] = [HistoryKind::Minutes, HistoryKind::Hours];

    /// What a row stands for, in ms.
    pub(crate) fn ms(self) -> u64 {
        match self {
            HistoryKind::Minutes => 60_000,
            HistoryKind::Hours => 3_600_000,
        }
    }

    /// How many rows there are. They are a ring: the row of a time replaces the one a day, or 31 days, before.
    pub(crate) fn count(self) -> u64 {
        match self {
            HistoryKind::Minutes => 1_440,
            HistoryKind::Hours => 744,
        }
    }

    /// Where the row of this time is.
    pub(crate) fn slot(self, ms: u64) -> u64 {
        ms / self.ms() % self.count()
    }
}

impl Measured {
    /// As it is stored: the histograms with `;` between, each as `value:count` with spaces between.
    pub(crate) fn write(&self) -> String {
        let histograms = [&self.waiting, &self.run, &self.lease_use].map(|histogram| {
            let values = histogram.values().map(|(value, count)| format!("{value}:{count}"));
            values.collect::<Vec<_>>().join(" ")
        });
        histograms.join(";")
    }

    /// What cannot be read is left out.
    pub(crate) fn read(text: &str) -> Self {
        let mut read = Measured::default();
        let all = [&mut read.waiting, &mut read.run, &mut read.lease_use];
        for (histogram, part) in all.into_iter().zip(text.split(';')) {
            histogram.extend(part.split(' ').filter_map(|entry| {
                let (value, count) = entry.split_once(':')?;
                Some((value.parse().ok()?, count.parse().ok()?))
            }));
        }
        read
    }
}

/// The numbers of a row as they are stored: with spaces between, the time in ms first.
pub(crate) fn write_numbers(row: &HistoryRow, now_ms: u64) -> String {
    let totals = &row.totals;
    let numbers: [u64; NUMBERS] = [
        now_ms,
        totals.added,
        totals.leased,
        totals.completed,
        totals.expired,
        totals.failed,
        totals.died,
        totals.removed,
        totals.replaced,
        totals.expired_unleased,
        totals.cancelled,
        row.ready,
        row.delayed,
        row.leased,
        row.dead,
        row.held,
    ];
    numbers.map(|number| number.to_string()).join(" ")
}

/// A row from its numbers, and from its measurements, which begin with the same time. `None` if it cannot be read, or is
/// not of the day or month that ends now.
pub(crate) fn read_row(
    kind: HistoryKind,
    numbers: &str,
    measured: &str,
    now_ms: u64,
) -> Option<HistoryRow> {
    let parsed: Vec<u64> = numbers.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [at, added, leased, completed, expired, failed, died, removed, replaced, rest @ ..] =
        <[u64; NUMBERS]>::try_from(parsed).ok()?;
    let [expired_unleased, cancelled, ready, delayed, now_leased, dead, held] = rest;
    let age = (now_ms / kind.ms()).checked_sub(at / kind.ms())?;
    if age >= kind.count() {
        return None;
    }
    let totals = Totals {
        added,
        leased,
        completed,
        expired,
        failed,
        died,
        removed,
        replaced,
        expired_unleased,
        cancelled,
    };
    let measured = measured.split_once(' ').filter(|(time, _)| *time == at.to_string());
    Some(HistoryRow {
        at: from_ms(at),
        totals,
        ready,
        delayed,
        leased: now_leased,
        dead,
        held,
        measured: measured.map(|(_, text)| Measured::read(text)).unwrap_or_default(),
    })
}
