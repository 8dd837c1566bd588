//! Listing the items of a state, page by page.

use std::time::SystemTime;

use memchr::memmem::Finder;

use super::work_queue::WorkQueue;
use crate::engine::ListStep;
use crate::item::{Cursor, ItemInfo, Page, State};
use crate::options::MAX_BATCH;
use crate::query_options::ListOptions;
use crate::{Error, Result};

/// How many further steps of a page search for the place to go on.
const MAX_SEARCHES: u32 = 20;

impl WorkQueue {
    /// Inspects up to `limit` items of a state, 1 to 1,000: ready ones in the order of leasing, others by time.
    /// See [`list_with`](WorkQueue::list_with).
    ///
    /// # Errors
    /// `Invalid` for a limit outside 1 to 1,000, and for a cursor of another listing.
    pub async fn list(&self, state: State, cursor: Option<&Cursor>, limit: usize) -> Result<Page> {
        self.list_with(state, cursor, &ListOptions::new().limit(limit)).await
    }

    /// Inspects items of a state: ready ones in the order of leasing, others by time ([`ItemInfo::at`]), or in the
    /// opposite order. Begins without a cursor, and continues with [`Page::cursor`].
    ///
    /// A page examines at most 1,000 items and 16 MiB of them, or one item, and ends early if the next one does not
    /// fit. So any page may have fewer items than the limit, or none at all, although there are more:
    /// [`Page::cursor`] says whether there are.
    ///
    /// A listing is no snapshot, but its cursor stays right while items are added and taken: an item that stays
    /// where it is is shown once, and one that is added, completed or removed meanwhile at most once. An item whose
    /// time changes meanwhile, or that is revised, or leased and comes back, may be missed or shown twice.
    ///
    /// # Errors
    /// `Invalid` for options outside their limits, if `since` is after `until`, and for a cursor of another state,
    /// direction or engine.
    pub async fn list_with(
        &self,
        state: State,
        cursor: Option<&Cursor>,
        options: &ListOptions,
    ) -> Result<Page> {
        options.validate()?;
        let dispatch = &self.dispatch;
        let is_other =
            |cursor: &&Cursor| (cursor.reverse, cursor.state) != (options.reverse, state);
        if let Some(cursor) = cursor.filter(is_other) {
            let queue = &dispatch.queue;
            return Err(Error::invalid(format_args!(
                "queue {queue}: a cursor of another state or the other direction: {cursor}"
            )));
        }
        let filter = Filter::new(state, options);
        let mut step = ListStep {
            state,
            cursor: cursor.cloned(),
            reverse: options.reverse,
            limit: if filter.is_some() { MAX_BATCH } else { options.limit },
            with_data: options.data || !options.data_contains.is_empty(),
            since_ms: options.since.map(in_ms),
            until_ms: options.until.map(in_ms),
        };
        let engine = &dispatch.context.engine;
        let mut listed = dispatch.look(engine.list(&dispatch.queue, &step)).await?;
        // A step without entries has searched for the place to go on, behind many new items.
        for _ in 0..MAX_SEARCHES {
            if !listed.entries.is_empty() || listed.cursor.is_none() {
                break;
            }
            step.cursor = listed.cursor.take();
            listed = dispatch.look(engine.list(&dispatch.queue, &step)).await?;
        }
        let count = listed.entries.len();
        let mut page = Page { items: Vec::new(), cursor: listed.cursor, examined: count as u64 };
        for (n, (info, cursor)) in (1..).zip(listed.entries) {
            let found = info.filter(|info| filter.as_ref().is_none_or(|filter| filter.has(info)));
            page.items.extend(found);
            if page.items.len() == options.limit && n < count {
                (page.cursor, page.examined) = (Some(cursor), n as u64);
                break;
            }
        }
        if !options.data {
            for info in &mut page.items {
                info.data.clear();
                info.result = None;
            }
        }
        Ok(page)
    }
}

/// In ms since 1970. Rounds up: an item's time is a whole number of ms.
fn in_ms(time: SystemTime) -> u64 {
    let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// What a listed item must have. The engine finds the times of all states but ready by itself.
struct Filter<'a> {
    options: &'a ListOptions,
    by_added_at: bool,
    data: Finder<'a>,
    error: Finder<'a>,
}

impl<'a> Filter<'a> {
    /// `None`: every item is listed.
    fn new(state: State, options: &'a ListOptions) -> Option<Self> {
        let ListOptions { id_prefix, data_contains, error_contains, .. } = options;
        let has_times = options.since.is_some() || options.until.is_some();
        let filter = Filter {
            options,
            by_added_at: state == State::Ready && has_times,
            data: Finder::new(data_contains),
            error: Finder::new(error_contains),
        };
        let texts = [&id_prefix[..], data_contains, error_contains.as_bytes()];
        let filters = filter.by_added_at || texts.iter().any(|text| !text.is_empty());
        filters.then_some(filter)
    }

    fn has(&self, info: &ItemInfo) -> bool {
        let ListOptions { since, until, id_prefix, .. } = self.options;
        let in_time = since.is_none_or(|since| info.added_at >= since)
            && until.is_none_or(|until| info.added_at < until);
        (in_time || !self.by_added_at)
            && info.id.starts_with(id_prefix)
            && self.data.find(&info.data).is_some()
            && self.error.find(info.last_error.as_bytes()).is_some()
    }
}
