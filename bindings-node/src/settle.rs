//! The operations on leases, which are given as holders and indexes.

use std::sync::Arc;

use leaseq::{ErrorKind, Lease, State};
use napi::Result;
use napi::bindgen_prelude::ClassInstance;
use napi_derive::napi;

use crate::call_batch::{CallBatch, LeaseBatch, complete_options};
use crate::held::Held;
use crate::input::{duration, fail_options, lease_options, release_options};
use crate::lease::Leases;
use crate::queue::NativeQueue;
use crate::time::ms;
use crate::wire::{Answer, Outcome};

fn many(holders: &[ClassInstance<'_, Leases>], indexes: &[u32]) -> Result<Vec<Arc<Lease>>> {
    as_many(holders, indexes)?;
    holders.iter().zip(indexes).map(|(holder, index)| holder.get(*index).cloned()).collect()
}

fn as_many<A, B>(one: &[A], other: &[B]) -> Result<()> {
    let error = || napi::Error::from_reason("lists of different lengths");
    (one.len() == other.len()).then_some(()).ok_or_else(error)
}

/// The slot and the lease of each call. An error concerns all of them: none was submitted yet.
fn pairs(calls: &[u32], holder: &Leases) -> Result<Vec<(u32, Arc<Lease>)>> {
    let (pairs, rest) = calls.as_chunks();
    as_many(rest, &[(); 0])?;
    pairs.iter().map(|[call, index]| Ok((*call, holder.get(*index)?.clone()))).collect()
}

/// The answer for each lease; NaN for one that is lost.
fn answers<T>(results: Vec<leaseq::Result<T>>, number: impl Fn(T) -> f64) -> Answer {
    let mut numbers = Vec::with_capacity(results.len());
    for result in results {
        match result {
            Ok(value) => numbers.push(number(value)),
            Err(error) if error.kind() == ErrorKind::LeaseLost => numbers.push(f64::NAN),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Outcome::Many(numbers))
}

fn state_number(state: State) -> f64 {
    State::ALL.iter().position(|one| *one == state).map_or(f64::NAN, |place| place as f64)
}

impl NativeQueue {
    /// The calls and leases of this queue. The others are refused.
    fn own(&self, pairs: Vec<(u32, Arc<Lease>)>) -> (Vec<u32>, Vec<Arc<Lease>>) {
        let is_own = |pair: &(u32, Arc<Lease>)| pair.1.queue() == self.queue.name();
        let (own, foreign): (Vec<_>, Vec<_>) = pairs.into_iter().partition(is_own);
        for (call, lease) in foreign {
            self.refuse_foreign(call, lease);
        }
        own.into_iter().unzip()
    }

    /// The core refuses a lease of another queue, and would refuse the whole batch with it.
    fn refuse_foreign(&self, call: u32, lease: Arc<Lease>) {
        self.call(call, Ok(lease), |queue, lease| async move {
            Ok(Outcome::Bool(queue.complete(&lease).await?))
        });
    }
}

#[napi]
impl NativeQueue {
    /// Many calls: number of the call, number of the lease. Each answers with a boolean.
    #[napi]
    pub fn complete(&self, calls: &[u32], holder: &Leases, strict: bool) -> Result<()> {
        let (slots, leases) = self.own(pairs(calls, holder)?);
        let queue = self.queue.clone();
        self.submissions.batch(CallBatch::Complete { queue, strict, slots, leases });
        Ok(())
    }

    /// Answers with 0 or 1 for each.
    #[napi]
    pub fn complete_many(
        &self,
        call: u32,
        holders: Vec<ClassInstance<'_, Leases>>,
        indexes: Vec<u32>,
        strict: bool,
    ) -> Result<()> {
        let leases = many(&holders, &indexes)?;
        self.call(call, Ok(leases), |queue, leases| async move {
            let leases = leases.iter().map(AsRef::as_ref);
            let completed = queue.complete_many_with(leases, complete_options(strict)).await?;
            Ok(Outcome::Many(completed.into_iter().map(f64::from).collect()))
        });
        Ok(())
    }

    /// Answers with 0 or 1 for each, and with leases; can be cancelled.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "an object would cost more than the call")]
    pub fn complete_and_lease(
        &self,
        call: u32,
        holders: Vec<ClassInstance<'_, Leases>>,
        indexes: Vec<u32>,
        strict: bool,
        count: f64,
        duration_ms: f64,
        wait_ms: Option<f64>,
        keep_alive_ms: Option<f64>,
    ) -> Result<()> {
        let before = many(&holders, &indexes)?;
        let wanted = lease_options(duration_ms, wait_ms, keep_alive_ms);
        let count = crate::input::count("a number of leases,", count);
        let queue = self.queue.clone();
        self.submissions.wait(call, async move {
            let (wanted, count) = (wanted?, count?);
            let kept_alive = wanted.keep_alive.is_some();
            let before = before.iter().map(AsRef::as_ref);
            let done = queue
                .complete_and_lease_with(before, complete_options(strict), count, wanted)
                .await?;
            let leases = Held::all(&queue, done.leases);
            Ok(Outcome::Both { completed: done.completed, leases, kept_alive })
        });
        Ok(())
    }

    /// Many calls that do the same for one and one, as loops want it: number of the call, number of the
    /// lease. Each answers with leases; can be cancelled.
    #[napi]
    pub fn complete_then_lease(
        &self,
        calls: &[u32],
        holder: &Leases,
        duration_ms: f64,
        wait_ms: Option<f64>,
        keep_alive_ms: Option<f64>,
    ) -> Result<()> {
        let pairs = pairs(calls, holder)?;
        match lease_options(duration_ms, wait_ms, keep_alive_ms) {
            Ok(options) => {
                let (slots, before) = self.own(pairs);
                let batch = LeaseBatch::new(&self.queue, options, slots, before);
                self.submissions.batch(CallBatch::Lease(batch));
            }
            Err(failure) => {
                pairs.into_iter().for_each(|(call, _)| self.refuse(call, failure.clone()));
            }
        }
        Ok(())
    }

    /// Answers with the deadline.
    #[napi]
    pub fn extend(&self, call: u32, holder: &Leases, index: u32, duration_ms: f64) -> Result<()> {
        let input = duration("a lease", duration_ms);
        let lease = holder.get(index)?.clone();
        self.call(call, input, |queue, time| async move {
            Ok(Outcome::Number(ms(queue.extend(&lease, time).await?)))
        });
        Ok(())
    }

    /// Answers with the deadline for each.
    #[napi]
    pub fn extend_many(
        &self,
        call: u32,
        holders: Vec<ClassInstance<'_, Leases>>,
        indexes: Vec<u32>,
        duration_ms: f64,
    ) -> Result<()> {
        let leases = many(&holders, &indexes)?;
        self.call(call, duration("a lease", duration_ms), |queue, time| async move {
            answers(queue.extend_many(leases.iter().map(AsRef::as_ref), time).await?, ms)
        });
        Ok(())
    }

    /// Answers with nothing. An empty reason is none.
    #[napi]
    pub fn release(
        &self,
        call: u32,
        holder: &Leases,
        index: u32,
        delay_ms: f64,
        reason: String,
    ) -> Result<()> {
        let lease = holder.get(index)?.clone();
        self.call(call, release_options(delay_ms, reason), |queue, options| async move {
            queue.release_with(&lease, options).await?;
            Ok(Outcome::Done)
        });
        Ok(())
    }

    /// Answers with 1 for each. An empty reason is none.
    #[napi]
    pub fn release_many(
        &self,
        call: u32,
        holders: Vec<ClassInstance<'_, Leases>>,
        indexes: Vec<u32>,
        delay_ms: f64,
        reason: String,
    ) -> Result<()> {
        let leases = many(&holders, &indexes)?;
        self.call(call, release_options(delay_ms, reason), |queue, options| async move {
            let leases = leases.iter().map(AsRef::as_ref);
            answers(queue.release_many_with(leases, options).await?, |()| 1.0)
        });
        Ok(())
    }

    /// Answers with the number of the state.
    #[napi]
    pub fn fail(
        &self,
        call: u32,
        holder: &Leases,
        index: u32,
        error: String,
        delay_ms: f64,
        dead: bool,
    ) -> Result<()> {
        let lease = holder.get(index)?.clone();
        self.call(call, fail_options(delay_ms, dead), |queue, options| async move {
            Ok(Outcome::Number(state_number(queue.fail_with(&lease, &error, options).await?)))
        });
        Ok(())
    }

    /// Answers with the number of the state for each.
    #[napi]
    pub fn fail_many(
        &self,
        call: u32,
        holders: Vec<ClassInstance<'_, Leases>>,
        indexes: Vec<u32>,
        errors: Vec<String>,
        delay_ms: f64,
        dead: bool,
    ) -> Result<()> {
        let leases = many(&holders, &indexes)?;
        as_many(&leases, &errors)?;
        self.call(call, fail_options(delay_ms, dead), |queue, options| async move {
            let errors = errors.iter().map(String::as_str);
            let failures = leases.iter().map(AsRef::as_ref).zip(errors);
            answers(queue.fail_many_with(failures, options).await?, state_number)
        });
        Ok(())
    }
}
