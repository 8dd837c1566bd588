//! The operations on leases, which are given as holders and indexes.

use std::sync::Arc;

use bytes::Bytes;
use leaseq::{CompleteOptions, ErrorKind, Item, Lease, State};
use napi::Result;
use napi::bindgen_prelude::{Array, ClassInstance, Either};
use napi_derive::napi;

use crate::call_batch::{CallBatch, LeaseBatch};
use crate::held::Held;
use crate::input::{
    bytes, complete_options, duration, fail_options, lease_options, release_options, results,
};
use crate::item::items_for_each;
use crate::lease::Leases;
use crate::parts::Parts;
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

/// A call that completes an item.
struct Completion {
    call: u32,
    lease: Arc<Lease>,
    result: Option<Bytes>,
}

/// The calls of a batch, without results. An error concerns all of them: none was submitted yet.
fn pairs(calls: &[u32], holder: &Leases) -> Result<Vec<Completion>> {
    let (pairs, rest) = calls.as_chunks();
    as_many(rest, &[(); 0])?;
    let one = |[call, index]: &[u32; 2]| {
        Ok(Completion { call: *call, lease: holder.get(*index)?.clone(), result: None })
    };
    pairs.iter().map(one).collect()
}

/// The same with results: of each call also the length of its result, `u32::MAX` for none.
fn triples(calls: &[u32], holder: &Leases, results: &[u8]) -> Result<Vec<Completion>> {
    let (triples, rest) = calls.as_chunks();
    let mut parts = Parts::new(results);
    let one = |[call, index, size]: &[u32; 3]| {
        let result = (*size != u32::MAX).then(|| parts.next(*size));
        Ok(Completion { call: *call, lease: holder.get(*index)?.clone(), result })
    };
    let calls = triples.iter().map(one).collect::<Result<_>>()?;
    parts.check(rest)?;
    Ok(calls)
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
    /// The calls and leases of a batch. The core refuses a lease of another queue and a result that is too
    /// large, and would refuse the whole batch with it: such a call is made by itself.
    fn acceptable(
        &self,
        calls: Vec<Completion>,
        mut options: CompleteOptions,
    ) -> (Vec<u32>, Vec<Arc<Lease>>, CompleteOptions) {
        let (mut slots, mut leases) = (Vec::new(), Vec::new());
        for Completion { call, lease, result } in calls {
            let fits = |result: &Bytes| self.queue.accepts(&Item::new(result.clone())).is_ok();
            if lease.queue() == self.queue.name() && result.as_ref().is_none_or(fits) {
                slots.push(call);
                leases.push(lease);
                options.results.push(result);
            } else {
                let mut options = options.clone();
                options.results = vec![result];
                self.call(call, Ok(options), |queue, options| async move {
                    Ok(Outcome::Bool(queue.complete_with(&lease, options).await?))
                });
            }
        }
        (slots, leases, options)
    }
}

#[napi]
impl NativeQueue {
    /// Many calls: number of the call, number of the lease, length of the result (`u32::MAX`: none).
    /// `results` has the results. Each answers with a boolean. Throws if the lengths do not add up.
    #[napi]
    pub fn complete(
        &self,
        calls: &[u32],
        holder: &Leases,
        strict: bool,
        retain_ms: Option<f64>,
        results: &[u8],
    ) -> Result<()> {
        let calls = triples(calls, holder, results)?;
        match complete_options(strict, retain_ms) {
            Ok(options) => {
                let (slots, leases, options) = self.acceptable(calls, options);
                let queue = self.queue.clone();
                self.submissions.batch(CallBatch::Complete { queue, options, slots, leases });
            }
            Err(failure) => calls.iter().for_each(|one| self.refuse(one.call, failure.clone())),
        }
        Ok(())
    }

    /// Answers with 0 or 1 for each. Without results, or one for each; so with `adds`, lists of the fields
    /// of items.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "as `complete_and_lease`")]
    pub fn complete_many(
        &self,
        call: u32,
        holders: Vec<ClassInstance<'_, Leases>>,
        indexes: Vec<u32>,
        strict: bool,
        retain_ms: Option<f64>,
        results: Vec<Option<Either<String, &[u8]>>>,
        #[napi(ts_arg_type = "unknown[][]")] adds: Array<'_>,
    ) -> Result<()> {
        let (leases, results) = (many(&holders, &indexes)?, self::results(&results));
        let adds = items_for_each(&adds)?;
        let options = complete_options(strict, retain_ms)
            .and_then(|options| Ok(options.results(results).adds(adds?)));
        self.call(call, options, |queue, options| async move {
            let leases = leases.iter().map(AsRef::as_ref);
            let completed = queue.complete_many_with(leases, options).await?;
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
        retain_ms: Option<f64>,
        results: Vec<Option<Either<String, &[u8]>>>,
        #[napi(ts_arg_type = "unknown[][]")] adds: Array<'_>,
        count: f64,
        duration_ms: f64,
        wait_ms: Option<f64>,
        keep_alive_ms: Option<f64>,
    ) -> Result<()> {
        let (before, results) = (many(&holders, &indexes)?, self::results(&results));
        let complete = complete_options(strict, retain_ms);
        let adds = items_for_each(&adds)?;
        let wanted = lease_options(duration_ms, wait_ms, keep_alive_ms);
        let count = crate::input::count("a number of leases,", count);
        let queue = self.queue.clone();
        self.submissions.wait(call, async move {
            let complete = complete?.results(results).adds(adds?);
            let (wanted, count) = (wanted?, count?);
            let kept_alive = wanted.keep_alive.is_some();
            let before = before.iter().map(AsRef::as_ref);
            let done = queue.complete_and_lease_with(before, complete, count, wanted).await?;
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
        let calls = pairs(calls, holder)?;
        match lease_options(duration_ms, wait_ms, keep_alive_ms) {
            Ok(options) => {
                let (slots, before, _) = self.acceptable(calls, CompleteOptions::new());
                let batch = LeaseBatch::new(&self.queue, options, slots, before);
                self.submissions.batch(CallBatch::Lease(batch));
            }
            Err(failure) => calls.iter().for_each(|one| self.refuse(one.call, failure.clone())),
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

    /// Answers with nothing.
    #[napi]
    pub fn set_progress(
        &self,
        call: u32,
        holder: &Leases,
        index: u32,
        progress: Either<String, &[u8]>,
    ) -> Result<()> {
        let lease = holder.get(index)?.clone();
        let progress = Bytes::copy_from_slice(bytes(&progress));
        self.call(call, Ok(progress), |queue, progress| async move {
            queue.set_progress(&lease, progress).await?;
            Ok(Outcome::Done)
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

    /// Answers with the number of the state. `adds` as in `complete_many`.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "as `complete_and_lease`")]
    pub fn fail(
        &self,
        call: u32,
        holder: &Leases,
        index: u32,
        error: String,
        delay_ms: f64,
        dead: bool,
        #[napi(ts_arg_type = "unknown[][]")] adds: Array<'_>,
    ) -> Result<()> {
        let adds = items_for_each(&adds)?;
        let options = fail_options(delay_ms, dead).and_then(|options| Ok(options.adds(adds?)));
        let lease = holder.get(index)?.clone();
        self.call(call, options, |queue, options| async move {
            Ok(Outcome::Number(state_number(queue.fail_with(&lease, &error, options).await?)))
        });
        Ok(())
    }

    /// Answers with the number of the state for each. `adds` as in `complete_many`.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "as `complete_and_lease`")]
    pub fn fail_many(
        &self,
        call: u32,
        holders: Vec<ClassInstance<'_, Leases>>,
        indexes: Vec<u32>,
        errors: Vec<String>,
        delay_ms: f64,
        dead: bool,
        #[napi(ts_arg_type = "unknown[][]")] adds: Array<'_>,
    ) -> Result<()> {
        let adds = items_for_each(&adds)?;
        let options = fail_options(delay_ms, dead).and_then(|options| Ok(options.adds(adds?)));
        let leases = many(&holders, &indexes)?;
        as_many(&leases, &errors)?;
        self.call(call, options, |queue, options| async move {
            let errors = errors.iter().map(String::as_str);
            let failures = leases.iter().map(AsRef::as_ref).zip(errors);
            answers(queue.fail_many_with(failures, options).await?, state_number)
        });
        Ok(())
    }
}
