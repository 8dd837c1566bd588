//! Checks from the times of leases that a queue has kept to its rate.

use leaseq::{Lease, Rate};

/// A rate, and when it was set, by the engine's clock in ms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Set {
    pub(crate) at: u64,
    pub(crate) rate: Rate,
}

/// When the lease began, by the engine's clock in ms. `duration`: of the lease, which was not extended.
pub(crate) fn begin_of(lease: &Lease, duration: std::time::Duration) -> u64 {
    super::since_1970(lease.deadline()) - duration.as_millis() as u64
}

/// What has gone wrong, if so. `leases`: the time of each. Whatever happens in the millisecond in which a rate is set
/// may have come before it or after it.
///
/// All windows of time hold at most `burst + count × t / period` leases if and only if a bucket never overflows that has
/// room for the burst, gets one for each lease and loses `count / period` in each ms.
pub(crate) fn check(rates: &[Set], leases: &[u64]) -> Result<(), String> {
    let mut leases = leases.to_vec();
    leases.sort_unstable();
    let drained = |level: f64, rate: Rate, ms: u64| {
        (level - ms as f64 * f64::from(rate.count) / rate.period.as_millis() as f64).max(0.0)
    };
    let burst = |set: &Set| f64::from(set.rate.burst);
    let (mut current, mut level, mut now) = (0, 0.0, rates[0].at);
    for (n, at) in leases.iter().copied().enumerate() {
        while let Some(next) = rates.get(current + 1).filter(|next| next.at <= at) {
            // Both rates count in that millisecond.
            level = drained(level, rates[current].rate, (next.at + 1).saturating_sub(now));
            level = f64::min(level, burst(next));
            (current, now) = (current + 1, next.at);
        }
        level = drained(level, rates[current].rate, at.saturating_sub(now)) + 1.0;
        now = at;
        let in_force = (0..=current).rev().take_while(|i| *i == current || rates[i + 1].at == at);
        let room = in_force.map(|i| burst(&rates[i])).fold(0.0, f64::max);
        if level > room + 1e-6 {
            let (all, rate) = (leases.len(), rates[current]);
            return Err(format!("lease {n} of {all} at {at}: {level:.3} of {room}, {rate:?}"));
        }
        level = level.min(if rates[current].at == at { burst(&rates[current]) } else { level });
    }
    Ok(())
}
