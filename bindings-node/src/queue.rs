//! The operations on a queue, except those on leases and those that change items: convert the
//! arguments, call the core, convert the answer.

use std::future::Future;
use std::sync::Arc;

use leaseq::{DropOptions, GetOptions, Item, WorkQueue};
use napi::Result;
use napi::bindgen_prelude::{Array, Either};
use napi_derive::napi;

use crate::call_batch::{CallBatch, LeaseBatch};
use crate::failure::Failure;
use crate::held::Held;
use crate::input::{self, Data, ItemOptions, bytes};
use crate::item::{follow_ups, items, place};
use crate::parts::Parts;
use crate::submission_queue::SubmissionQueue;
use crate::wire::{Answer, Outcome};

/// One queue of a client.
#[napi]
pub struct NativeQueue {
    pub(crate) submissions: Arc<SubmissionQueue>,
    pub(crate) queue: Arc<WorkQueue>,
}

impl NativeQueue {
    /// Submits a call; wrong input is its answer.
    pub(crate) fn call<I, F>(
        &self,
        call: u32,
        input: std::result::Result<I, Failure>,
        work: impl FnOnce(Arc<WorkQueue>, I) -> F,
    ) where
        F: Future<Output = Answer> + Send + 'static,
    {
        match input {
            Ok(input) => self.submissions.call(call, work(self.queue.clone(), input)),
            Err(failure) => self.refuse(call, failure),
        }
    }

    pub(crate) fn refuse(&self, call: u32, failure: Failure) {
        self.submissions.call(call, async { Err(failure) });
    }
}

#[napi]
impl NativeQueue {
    /// Answers with a boolean.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "an object would cost more than the call")]
    pub fn add(
        &self,
        call: u32,
        data: Either<String, &[u8]>,
        id: Option<Either<String, &[u8]>>,
        priority: Option<f64>,
        delay_ms: Option<f64>,
        due_at_ms: Option<f64>,
        max_attempts: Option<f64>,
        retain_ms: Option<f64>,
        unique: Option<Either<String, &[u8]>>,
        unique_for_ms: Option<f64>,
        replace: Option<bool>,
        successor: Option<bool>,
        expires_in_ms: Option<f64>,
        key: Option<Either<String, &[u8]>>,
        queue: Option<String>,
        #[napi(ts_arg_type = "unknown[] | undefined | null")] follow_ups: Option<Array<'_>>,
        #[napi(ts_arg_type = "unknown[] | undefined | null")] place: Option<Array<'_>>,
    ) -> Result<()> {
        let follow_ups = self::follow_ups(follow_ups.as_ref())?;
        let place = self::place(place.as_ref())?;
        let (follow_ups, place) = match (follow_ups, place) {
            (Ok(follow_ups), Ok(place)) => (follow_ups, place),
            (Err(failure), _) | (_, Err(failure)) => {
                self.refuse(call, failure);
                return Ok(());
            }
        };
        let options = ItemOptions {
            id,
            priority,
            delay_ms,
            due_at_ms,
            max_attempts,
            retain_ms,
            unique,
            unique_for_ms,
            replace,
            successor,
            expires_in_ms,
            key,
            queue,
            follow_ups,
            place,
        };
        let item = options.apply(Item::new(bytes(&data)));
        self.call(call, item, |queue, item| async move {
            Ok(Outcome::Bool(queue.add_item(item).await?))
        });
        Ok(())
    }

    /// Many calls of `add` for items without options. For each its number, the length of its id
    /// (`u32::MAX`: one is to be made) and that of its data; `bytes` has ids and data in turn. Each
    /// answers with a boolean. Throws if the lengths do not add up; then none of them is made.
    #[napi]
    pub fn add_together(&self, sizes: &[u32], bytes: &[u8]) -> Result<()> {
        let (each, rest) = sizes.as_chunks::<3>();
        let mut parts = Parts::new(bytes);
        let mut ids = Vec::with_capacity(each.len());
        let data = each.iter().map(|[_, id, data]| {
            ids.push((*id != u32::MAX).then(|| parts.next(*id)));
            parts.next(*data)
        });
        let items = Item::new_many(data);
        parts.check(rest)?;
        let (mut slots, mut accepted) = (Vec::new(), Vec::new());
        for (([call, ..], mut item), id) in each.iter().zip(items).zip(ids) {
            if let Some(id) = id {
                item = item.with_id(id);
            }
            match self.queue.accepts(&item) {
                Ok(()) => {
                    slots.push(*call);
                    accepted.push(item);
                }
                Err(error) => self.refuse(*call, error.into()),
            }
        }
        let queue = self.queue.clone();
        self.submissions.batch(CallBatch::Add { queue, slots, items: accepted });
        Ok(())
    }

    /// For each item its data, and the arguments of `add` that follow. Answers with 0 or 1 for each.
    #[napi]
    pub fn add_many(
        &self,
        call: u32,
        #[napi(ts_arg_type = "unknown[]")] fields: Array<'_>,
    ) -> Result<()> {
        let items = items(&fields)?;
        self.call(call, items, |queue, items| async move {
            let added = queue.add_items(items).await?;
            Ok(Outcome::Many(added.into_iter().map(f64::from).collect()))
        });
        Ok(())
    }

    /// Many calls for one lease. Each answers with leases; can be cancelled. A keep-alive limit of
    /// Infinity is none.
    #[napi]
    pub fn lease(
        &self,
        calls: &[u32],
        duration_ms: f64,
        wait_ms: Option<f64>,
        keep_alive_ms: Option<f64>,
    ) {
        match input::lease_options(duration_ms, wait_ms, keep_alive_ms) {
            Ok(options) => {
                let batch = LeaseBatch::new(&self.queue, options, calls.to_vec(), Vec::new());
                self.submissions.batch(CallBatch::Lease(batch));
            }
            Err(failure) => calls.iter().for_each(|call| self.refuse(*call, failure.clone())),
        }
    }

    /// Answers with leases; can be cancelled.
    #[napi]
    pub fn lease_many(
        &self,
        call: u32,
        count: f64,
        duration_ms: f64,
        wait_ms: Option<f64>,
        keep_alive_ms: Option<f64>,
    ) {
        let options = input::lease_options(duration_ms, wait_ms, keep_alive_ms);
        let count = input::count("a number of leases,", count);
        let (options, count) = match (options, count) {
            (Ok(options), Ok(count)) => (options, count),
            (Err(failure), _) | (_, Err(failure)) => return self.refuse(call, failure),
        };
        let queue = self.queue.clone();
        self.submissions.wait(call, async move {
            let kept_alive = options.keep_alive.is_some();
            let leases = queue.lease_many(count, options).await?;
            Ok(Outcome::Leases { leases: Held::all(&queue, leases), kept_alive })
        });
    }

    /// Answers with counts.
    #[napi]
    pub fn counts(&self, call: u32) {
        self.call(call, Ok(()), |queue, ()| async move { Outcome::json(&queue.counts().await?) });
    }

    /// Answers with an item or nothing for each.
    #[napi]
    pub fn get(&self, call: u32, ids: Vec<Either<String, &[u8]>>, data: bool) {
        self.call(call, Ok(copied(&ids)), move |queue, ids| async move {
            let mut options = GetOptions::new();
            options.data = data;
            let items = queue.get_many_with(ids, options).await?;
            Ok(Outcome::Items { items, cursor: None, examined: 0 })
        });
    }

    /// Answers with outcomes; can be cancelled.
    #[napi]
    pub fn outcome(
        &self,
        call: u32,
        ids: Vec<Either<String, &[u8]>>,
        wait_ms: Option<f64>,
        expect: bool,
    ) {
        let options = match input::outcome_options(wait_ms, expect) {
            Ok(options) => options,
            Err(failure) => return self.refuse(call, failure),
        };
        let (queue, ids) = (self.queue.clone(), copied(&ids));
        self.submissions
            .wait(call, async move { Ok(Outcome::Ends(queue.outcome_many(ids, options).await?)) });
    }

    /// Answers with items and a cursor.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "as `add`")]
    pub fn list(
        &self,
        call: u32,
        state: String,
        cursor: Option<String>,
        limit: f64,
        reverse: bool,
        since_ms: Option<f64>,
        until_ms: Option<f64>,
        data: bool,
        id_prefix: Option<Either<String, &[u8]>>,
        data_contains: Option<Either<String, &[u8]>>,
        error_contains: Option<String>,
    ) {
        let options = input::list_options(limit, since_ms, until_ms).map(|mut options| {
            (options.reverse, options.data) = (reverse, data);
            options.id_prefix = id_prefix.iter().flat_map(bytes).copied().collect();
            options.data_contains = data_contains.iter().flat_map(bytes).copied().collect();
            options.error_contains = error_contains.unwrap_or_default();
            options
        });
        self.call(call, options, |queue, options| async move {
            let cursor = cursor.map(|cursor| cursor.parse()).transpose()?;
            let page = queue.list_with(state.parse()?, cursor.as_ref(), &options).await?;
            let cursor = page.cursor.map(|cursor| cursor.to_string());
            let items = page.items.into_iter().map(Some).collect();
            Ok(Outcome::Items { items, cursor, examined: page.examined })
        });
    }

    /// Answers with a boolean.
    #[napi]
    pub fn drop_queue(&self, call: u32, force: bool) {
        let options = DropOptions::new();
        let options = if force { options.force() } else { options };
        self.call(call, Ok(options), |queue, options| async move {
            Ok(Outcome::Bool(queue.drop_queue_with(options).await?))
        });
    }

    /// Answers with a number.
    #[napi]
    pub fn purge(&self, call: u32, state: String) {
        self.call(call, Ok(state), |queue, state| async move {
            Ok(Outcome::Number(queue.purge(state.parse()?).await? as f64))
        });
    }

    /// Answers with a report.
    #[napi]
    pub fn light_clean(&self, call: u32) {
        self.call(
            call,
            Ok(()),
            |queue, ()| async move { Outcome::json(&queue.light_clean().await?) },
        );
    }

    /// Answers with a report.
    #[napi]
    pub fn deep_clean(&self, call: u32, mend: bool) {
        self.call(call, Ok(mend), |queue, mend| async move {
            Outcome::json(&if mend { queue.deep_clean().await? } else { queue.check().await? })
        });
    }
}

/// Ids of a call that goes on after it.
pub(crate) fn copied(ids: &[Data<'_>]) -> Vec<Vec<u8>> {
    ids.iter().map(|id| bytes(id).to_vec()).collect()
}
