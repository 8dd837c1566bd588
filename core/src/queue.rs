//! The operations on one queue.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;

use crate::clean::{DeepReport, LightReport};
use crate::dispatch::{Dispatch, lease};
use crate::engine::{Complete, Extend, Fail, Release};
use crate::item::{Counts, Cursor, Item, ItemInfo, Page, State, check_id};
use crate::lease::{Lease, from_ms};
use crate::options::{
    CompleteOptions, LeaseOptions, MAX_BATCH, MAX_BATCH_BYTES, MAX_ERROR_TEXT, check_delay,
    check_lease,
};
use crate::{Client, Error, Result, keep_alive};

/// One queue. Clones are cheap, and may be used by any number of tasks at the same time: calls made
/// at the same time travel in one request.
///
/// Besides the errors named, every operation may give `Unavailable` (no answer within the client's
/// timeout), `Closed` (after [`Client::close`]), `Incompatible` (a queue written by a version with
/// another storage format) and `Internal` (damage; see [`check`](WorkQueue::check)).
#[derive(Clone)]
pub struct WorkQueue {
    // Keeps the connections open for as long as a queue is in use.
    _client: Client,
    dispatch: Arc<Dispatch>,
}

impl fmt::Debug for WorkQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl WorkQueue {
    pub(crate) fn new(client: Client, dispatch: Arc<Dispatch>) -> Self {
        WorkQueue { _client: client, dispatch }
    }

    /// The queue's name.
    pub fn name(&self) -> &str {
        self.dispatch.queue.as_str()
    }

    /// Adds an item. True: it is stored and will be delivered. False: an item with this id exists
    /// in some state; nothing changed, its data was not overwritten.
    ///
    /// # Errors
    /// `Invalid` for an id, data or option outside its limits.
    pub async fn add_item(&self, item: Item) -> Result<bool> {
        item.validate(self.dispatch.context.max_data)?;
        self.dispatch.open().await?;
        only(self.dispatch.add.call(vec![item]).await?)
    }

    /// Adds many items; the answers stand in their order. Each chunk of at most 1,000 items and
    /// 16 MiB is one atomic step. Of two items with the same id only the first can be true.
    ///
    /// # Errors
    /// `Invalid` if any of them is outside its limits; then none is added. After another error,
    /// earlier chunks have been added.
    pub async fn add_items(&self, items: impl IntoIterator<Item = Item>) -> Result<Vec<bool>> {
        let items: Vec<Item> = items.into_iter().collect();
        for item in &items {
            item.validate(self.dispatch.context.max_data)?;
        }
        self.dispatch.open().await?;
        let mut added = Vec::with_capacity(items.len());
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        for item in items {
            let size = item.id.len() + item.data.len();
            if !chunk.is_empty() && (chunk.len() == MAX_BATCH || bytes + size > MAX_BATCH_BYTES) {
                added.extend(self.dispatch.add.call(std::mem::take(&mut chunk)).await?);
                bytes = 0;
            }
            bytes += size;
            chunk.push(item);
        }
        if !chunk.is_empty() {
            added.extend(self.dispatch.add.call(chunk).await?);
        }
        Ok(added)
    }

    /// Leases the oldest ready item of the highest priority. `None`: there was none within
    /// [`wait`](LeaseOptions::wait), which is not an error; without `wait` it waits until there is
    /// one. Dropping the future strands nothing: what was leased for it is given back at once.
    ///
    /// # Errors
    /// `Invalid` for a duration outside 1 ms to 30 days.
    pub async fn lease(&self, options: LeaseOptions) -> Result<Option<Lease>> {
        Ok(self.lease_many(1, options).await?.pop())
    }

    /// Leases up to `count` items: waits for the first, then takes what is there, at most 1,000
    /// and about 16 MiB. Empty: there was none within [`wait`](LeaseOptions::wait).
    ///
    /// # Errors
    /// `Invalid` for a count of 0, or a duration outside 1 ms to 30 days.
    pub async fn lease_many(&self, count: usize, options: LeaseOptions) -> Result<Vec<Lease>> {
        let duration_ms = options.validate()?;
        if count == 0 {
            return Err(Error::invalid("a lease of 0 items: the least is 1"));
        }
        self.dispatch.open().await?;
        let leases = lease(&self.dispatch, count.min(MAX_BATCH), duration_ms, options.wait).await?;
        if let Some(keep) = &options.keep_alive {
            for lease in &leases {
                keep_alive::start(&self.dispatch, lease, keep);
            }
        }
        Ok(leases)
    }

    /// Completes the item: it is gone. True for exactly one caller in a generation. A holder whose
    /// lease has expired may still be that caller, wherever the item is by then; whoever has leased
    /// it meanwhile gets false.
    ///
    /// # Errors
    /// `Invalid` for a lease of another queue.
    pub async fn complete(&self, lease: &Lease) -> Result<bool> {
        self.complete_with(lease, CompleteOptions::default()).await
    }

    /// [`complete`](WorkQueue::complete) with options.
    ///
    /// # Errors
    /// As for [`complete`](WorkQueue::complete).
    pub async fn complete_with(&self, lease: &Lease, options: CompleteOptions) -> Result<bool> {
        only(self.complete_many_with([lease], options).await?)
    }

    /// Completes many items; the answers stand in their order.
    ///
    /// # Errors
    /// As for [`complete`](WorkQueue::complete).
    pub async fn complete_many<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
    ) -> Result<Vec<bool>> {
        self.complete_many_with(leases, CompleteOptions::default()).await
    }

    /// [`complete_many`](WorkQueue::complete_many) with options.
    ///
    /// # Errors
    /// As for [`complete`](WorkQueue::complete).
    pub async fn complete_many_with<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
        options: CompleteOptions,
    ) -> Result<Vec<bool>> {
        let leases = self.own(leases)?;
        self.dispatch.open().await?;
        let mut completed = Vec::with_capacity(leases.len());
        for chunk in leases.chunks(MAX_BATCH) {
            let call = chunk.iter().map(|lease| Complete {
                token: lease.token(),
                id: lease.item.id.clone(),
                strict: options.strict,
            });
            let answers = self.dispatch.complete.call(call.collect()).await?;
            for (lease, done) in chunk.iter().zip(&answers) {
                if *done || !options.strict { lease.shared.settle() } else { lease.shared.lose() }
            }
            completed.extend(answers);
        }
        Ok(completed)
    }

    /// Extends the lease: its deadline becomes the later of the old one and now + `duration`, on
    /// the server's clock. Returns the deadline. Works after the deadline too, as long as nobody
    /// has reclaimed the item.
    ///
    /// # Errors
    /// `LeaseLost`; `Invalid` for a duration outside 1 ms to 30 days or a lease of another queue.
    pub async fn extend(&self, lease: &Lease, duration: Duration) -> Result<SystemTime> {
        only(self.extend_many([lease], duration).await?)?
    }

    /// Extends many leases; the answers stand in their order.
    ///
    /// # Errors
    /// As for [`extend`](WorkQueue::extend); `LeaseLost` for each lease by itself.
    pub async fn extend_many<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
        duration: Duration,
    ) -> Result<Vec<Result<SystemTime>>> {
        let duration_ms = check_lease(duration)?;
        let leases = self.own(leases)?;
        self.dispatch.open().await?;
        let mut extended = Vec::with_capacity(leases.len());
        for chunk in leases.chunks(MAX_BATCH) {
            let asked = Instant::now();
            let call = chunk.iter().map(|lease| Extend { token: lease.token(), duration_ms });
            let answers = self.dispatch.extend.call(call.collect()).await?;
            extended.extend(chunk.iter().zip(answers).map(|(lease, answer)| match answer {
                Some(deadline_ms) => {
                    lease.shared.extended(deadline_ms, asked + duration);
                    Ok(from_ms(deadline_ms))
                }
                None => Err(lost(lease)),
            }));
        }
        Ok(extended)
    }

    /// Gives the item back without counting an attempt: to the front of its priority, at once or
    /// when the delay ends.
    ///
    /// # Errors
    /// `LeaseLost`; `Invalid` for a delay over 366 days or a lease of another queue.
    pub async fn release(&self, lease: &Lease, delay: Duration) -> Result<()> {
        only(self.release_many([lease], delay).await?)?
    }

    /// Gives many items back; the answers stand in their order.
    ///
    /// # Errors
    /// As for [`release`](WorkQueue::release); `LeaseLost` for each lease by itself.
    pub async fn release_many<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
        delay: Duration,
    ) -> Result<Vec<Result<()>>> {
        let delay_ms = check_delay(delay)?;
        let leases = self.own(leases)?;
        self.dispatch.open().await?;
        let mut released = Vec::with_capacity(leases.len());
        for chunk in leases.chunks(MAX_BATCH) {
            let call = chunk.iter().map(|lease| Release { token: lease.token(), delay_ms });
            let answers = self.dispatch.release.call(call.collect()).await?;
            released.extend(chunk.iter().zip(answers).map(|(lease, given_back)| {
                if !given_back {
                    return Err(lost(lease));
                }
                lease.shared.settle();
                Ok(())
            }));
        }
        Ok(released)
    }

    /// Counts a failure of the item: it goes to the back of its priority, at once or when the
    /// delay ends, or is dead when its limit of attempts is reached. Returns the state it is in
    /// now. The error text is kept with the item, its first 1,024 bytes.
    ///
    /// # Errors
    /// `LeaseLost`; `Invalid` for a delay over 366 days or a lease of another queue.
    pub async fn fail(&self, lease: &Lease, error: &str, delay: Duration) -> Result<State> {
        only(self.fail_many([(lease, error)], delay).await?)?
    }

    /// Counts failures of many items; the answers stand in their order.
    ///
    /// # Errors
    /// As for [`fail`](WorkQueue::fail); `LeaseLost` for each lease by itself.
    pub async fn fail_many<'a>(
        &self,
        failures: impl IntoIterator<Item = (&'a Lease, &'a str)>,
        delay: Duration,
    ) -> Result<Vec<Result<State>>> {
        let delay_ms = check_delay(delay)?;
        let (leases, errors): (Vec<&Lease>, Vec<&str>) = failures.into_iter().unzip();
        let leases = self.own(leases)?;
        self.dispatch.open().await?;
        let mut failed = Vec::with_capacity(leases.len());
        for (chunk, errors) in leases.chunks(MAX_BATCH).zip(errors.chunks(MAX_BATCH)) {
            let call = chunk.iter().zip(errors).map(|(lease, error)| Fail {
                token: lease.token(),
                delay_ms,
                error: cut(error, MAX_ERROR_TEXT).to_owned(),
            });
            let answers = self.dispatch.fail.call(call.collect()).await?;
            failed.extend(chunk.iter().zip(answers).map(|(lease, state)| {
                let state = state.ok_or_else(|| lost(lease))?;
                lease.shared.settle();
                Ok(state)
            }));
        }
        Ok(failed)
    }

    /// Makes due items ready and reclaims expired leases, for queues that nobody is waiting on.
    /// Costs by what is due or expired, not by what is queued or leased.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn light_clean(&self) -> Result<LightReport> {
        self.dispatch.open().await?;
        let context = &self.dispatch.context;
        let mut lane = context.lanes.take();
        let mut total = LightReport::default();
        loop {
            let stamp = lane.next(context.until());
            let (step, more) = context.engine.light_clean(&self.dispatch.queue, &stamp).await?;
            total.promoted += step.promoted;
            total.expired += step.expired;
            total.died += step.died;
            total.next_in = step.next_in;
            if !more {
                context.lanes.put_back(lane);
                return Ok(total);
            }
        }
    }

    /// Finds and mends every broken invariant, in small atomic steps: safe under full load and
    /// beside other cleaners. On a sound queue it changes nothing. Takes about as long as reading
    /// the whole queue, and 8 bytes of memory for each ready item.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn deep_clean(&self) -> Result<DeepReport> {
        self.dispatch.open().await?;
        self.dispatch.context.engine.audit(&self.dispatch.queue, true).await
    }

    /// [`deep_clean`](WorkQueue::deep_clean) that only looks.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn check(&self) -> Result<DeepReport> {
        self.dispatch.open().await?;
        self.dispatch.context.engine.audit(&self.dispatch.queue, false).await
    }

    /// How many items are ready.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn queue_len(&self) -> Result<u64> {
        Ok(self.counts().await?.ready)
    }

    /// How many items are leased, expired ones that nobody has reclaimed yet included.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn processing(&self) -> Result<u64> {
        Ok(self.counts().await?.leased)
    }

    /// How many items are in each state, the age of the oldest ready one, and totals.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn counts(&self) -> Result<Counts> {
        self.dispatch.open().await?;
        self.dispatch.context.engine.counts(&self.dispatch.queue).await
    }

    /// Looks at an item without leasing it. `None`: there is no item with this id.
    ///
    /// # Errors
    /// `Invalid` for an id outside 1 to 512 bytes.
    pub async fn get(&self, id: impl AsRef<[u8]>) -> Result<Option<ItemInfo>> {
        check_id(id.as_ref())?;
        self.dispatch.open().await?;
        self.dispatch.context.engine.get(&self.dispatch.queue, id.as_ref()).await
    }

    /// Looks at up to `limit` items of a state, 1 to 1,000: ready ones in the order of leasing,
    /// the others by time. `None` as cursor begins; [`Page::cursor`] goes on. Not a snapshot:
    /// items that move while you turn pages may be missed or shown twice. A page may hold fewer
    /// items than the limit, also if it is not the last one.
    ///
    /// # Errors
    /// `Invalid` for a limit outside 1 to 1,000.
    pub async fn list(&self, state: State, cursor: Option<&Cursor>, limit: usize) -> Result<Page> {
        if limit == 0 || limit > MAX_BATCH {
            return Err(Error::invalid(format_args!(
                "a limit of {limit} items is not between 1 and {MAX_BATCH}"
            )));
        }
        self.dispatch.open().await?;
        self.dispatch.context.engine.list(&self.dispatch.queue, state, cursor, limit).await
    }

    /// Removes an item in whatever state it is. False: there is no item with this id. A holder of
    /// its lease gets false or `LeaseLost` from then on.
    ///
    /// # Errors
    /// `Invalid` for an id outside 1 to 512 bytes.
    pub async fn remove(&self, id: impl AsRef<[u8]>) -> Result<bool> {
        only(self.remove_many([id]).await?)
    }

    /// Removes many items; the answers stand in their order.
    ///
    /// # Errors
    /// As for [`remove`](WorkQueue::remove).
    pub async fn remove_many<T: AsRef<[u8]>>(
        &self,
        ids: impl IntoIterator<Item = T>,
    ) -> Result<Vec<bool>> {
        let ids = checked_ids(ids)?;
        self.dispatch.open().await?;
        let mut removed = Vec::with_capacity(ids.len());
        for chunk in ids.chunks(MAX_BATCH) {
            removed.extend(self.dispatch.remove.call(chunk.to_vec()).await?);
        }
        Ok(removed)
    }

    /// Makes dead items ready again, at the back of their priority and with their attempts counted
    /// anew. False for an id that is not there, or not dead.
    ///
    /// # Errors
    /// `Invalid` for an id outside 1 to 512 bytes.
    pub async fn requeue<T: AsRef<[u8]>>(
        &self,
        ids: impl IntoIterator<Item = T>,
    ) -> Result<Vec<bool>> {
        let ids = checked_ids(ids)?;
        self.dispatch.open().await?;
        let mut requeued = Vec::with_capacity(ids.len());
        for chunk in ids.chunks(MAX_BATCH) {
            requeued.extend(self.dispatch.requeue.call(chunk.to_vec()).await?);
        }
        Ok(requeued)
    }

    /// Stops leasing from this queue, for every client, until [`resume`](WorkQueue::resume).
    /// Adding, completing and reclaiming go on; calls that lease wait, or get nothing.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn pause(&self) -> Result<()> {
        self.dispatch.open().await?;
        self.dispatch.context.engine.set_paused(&self.dispatch.queue, true).await
    }

    /// Goes on leasing after [`pause`](WorkQueue::pause); waiting calls wake.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn resume(&self) -> Result<()> {
        self.dispatch.open().await?;
        self.dispatch.context.engine.set_paused(&self.dispatch.queue, false).await
    }

    /// Removes every item of a state, as many as there are when it begins, and returns how many.
    /// In steps: other clients go on meanwhile.
    ///
    /// # Errors
    /// See [`WorkQueue`]. After an error, some have been removed.
    pub async fn purge(&self, state: State) -> Result<u64> {
        let counts = self.counts().await?;
        let context = &self.dispatch.context;
        let mut lane = context.lanes.take();
        let mut left = match state {
            State::Ready => counts.ready,
            State::Delayed => counts.delayed,
            State::Leased => counts.leased,
            State::Dead => counts.dead,
        };
        let mut removed = 0;
        while left > 0 {
            let stamp = lane.next(context.until());
            let limit = left.min(MAX_BATCH as u64);
            let (gone, seen) =
                context.engine.purge(&self.dispatch.queue, state, limit, &stamp).await?;
            if seen == 0 {
                break;
            }
            removed += gone;
            left = left.saturating_sub(gone);
        }
        context.lanes.put_back(lane);
        Ok(removed)
    }

    /// The leases as a list, if they are all of this queue.
    fn own<'a>(&self, leases: impl IntoIterator<Item = &'a Lease>) -> Result<Vec<&'a Lease>> {
        let leases: Vec<&Lease> = leases.into_iter().collect();
        match leases.iter().find(|lease| lease.queue != self.dispatch.queue) {
            Some(lease) => Err(Error::invalid(format_args!(
                "a lease of queue {} was given to queue {}",
                lease.queue, self.dispatch.queue
            ))),
            None => Ok(leases),
        }
    }
}

fn lost(lease: &Lease) -> Error {
    lease.shared.lose();
    Error::lease_lost(lease.queue.as_str(), &lease.item.id)
}

/// The first `most` bytes of the text, or a few less: whole characters.
fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn checked_ids<T: AsRef<[u8]>>(ids: impl IntoIterator<Item = T>) -> Result<Vec<Bytes>> {
    ids.into_iter()
        .map(|id| check_id(id.as_ref()).map(|()| Bytes::copy_from_slice(id.as_ref())))
        .collect()
}

/// The answer to a batch of one.
fn only<T>(answers: Vec<T>) -> Result<T> {
    answers.into_iter().next().ok_or_else(|| Error::internal("the engine gave no answer"))
}
