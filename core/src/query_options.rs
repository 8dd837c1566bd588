//! The options of the operations that read items.

use std::time::{Duration, SystemTime};

use crate::options::{MAX_BATCH, MAX_ERROR_TEXT, MAX_ID, MAX_SEARCHED};
use crate::{Error, Result};

/// How [`WorkQueue::get_many_with`](crate::WorkQueue::get_many_with) reads items, and
/// [`WorkQueue::schedules_with`](crate::WorkQueue::schedules_with) schedules.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GetOptions {
    /// Whether to read data and results. Without, there are none, and large items cost no more than small ones.
    /// Default: yes.
    pub data: bool,
}

impl Default for GetOptions {
    fn default() -> Self {
        GetOptions { data: true }
    }
}

impl GetOptions {
    /// The defaults.
    pub fn new() -> Self {
        GetOptions::default()
    }

    /// Leaves out the data.
    pub fn without_data(mut self) -> Self {
        self.data = false;
        self
    }
}

/// How [`WorkQueue::outcome`](crate::WorkQueue::outcome) waits.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OutcomeOptions {
    /// How long to wait for the end of the items. Zero: look once. Default: without a limit.
    pub wait: Option<Duration>,
    /// Also waits for an item that does not exist yet. Default: no.
    pub expect: bool,
}

impl OutcomeOptions {
    /// The defaults.
    pub fn new() -> Self {
        OutcomeOptions::default()
    }

    /// Waits no longer than this.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Also waits for an item that does not exist yet.
    pub fn expect(mut self) -> Self {
        self.expect = true;
        self
    }
}

/// How [`WorkQueue::list_with`](crate::WorkQueue::list_with) reads a page. An item is listed if it has all that is
/// asked for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListOptions {
    /// How many items a page has at most: 1 to 1,000. Default: 100.
    pub limit: usize,
    /// The opposite order: what is leased last, or has the latest time, comes first. Default: no.
    pub reverse: bool,
    /// Items whose time is not before this one. The time is the one by which the state is ordered: when an item is
    /// due, when its lease expires, when it died, until when it is kept; of ready items, which are in the order of
    /// leasing, when they were added. Default: none.
    pub since: Option<SystemTime>,
    /// Items whose time is before this one. Default: none.
    pub until: Option<SystemTime>,
    /// Whether to return data and results. Without, there are none. Default: yes.
    pub data: bool,
    /// Items whose id begins with these bytes, at most 512. Default: none.
    pub id_prefix: Vec<u8>,
    /// Items whose data contains these bytes, at most 1,024. Default: none.
    pub data_contains: Vec<u8>,
    /// Items whose last error contains this text, at most 1,024 bytes. Default: none.
    pub error_contains: String,
}

impl Default for ListOptions {
    fn default() -> Self {
        ListOptions {
            limit: 100,
            reverse: false,
            since: None,
            until: None,
            data: true,
            id_prefix: Vec::new(),
            data_contains: Vec::new(),
            error_contains: String::new(),
        }
    }
}

impl ListOptions {
    /// The defaults.
    pub fn new() -> Self {
        ListOptions::default()
    }

    /// Pages of at most this many items, 1 to 1,000.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// The opposite order.
    pub fn reverse(mut self) -> Self {
        self.reverse = true;
        self
    }

    /// Only items whose time is not before this one.
    pub fn since(mut self, time: SystemTime) -> Self {
        self.since = Some(time);
        self
    }

    /// Only items whose time is before this one.
    pub fn until(mut self, time: SystemTime) -> Self {
        self.until = Some(time);
        self
    }

    /// Leaves out the data.
    pub fn without_data(mut self) -> Self {
        self.data = false;
        self
    }

    /// Only items whose id begins with these bytes.
    pub fn id_prefix(mut self, prefix: impl Into<Vec<u8>>) -> Self {
        self.id_prefix = prefix.into();
        self
    }

    /// Only items whose data contains these bytes.
    pub fn data_contains(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.data_contains = bytes.into();
        self
    }

    /// Only items whose last error contains this text.
    pub fn error_contains(mut self, text: impl Into<String>) -> Self {
        self.error_contains = text.into();
        self
    }

    pub(crate) fn validate(&self) -> Result<()> {
        if self.limit == 0 || self.limit > MAX_BATCH {
            return Err(Error::invalid(format_args!(
                "a limit of {} items is not between 1 and {MAX_BATCH}",
                self.limit
            )));
        }
        for (what, length, most) in [
            ("id_prefix", self.id_prefix.len(), MAX_ID),
            ("data_contains", self.data_contains.len(), MAX_SEARCHED),
            ("error_contains", self.error_contains.len(), MAX_ERROR_TEXT),
        ] {
            if length > most {
                return Err(Error::invalid(format_args!(
                    "{what} of {length} bytes is over the limit of {most}"
                )));
            }
        }
        if self.since.zip(self.until).is_some_and(|(since, until)| since > until) {
            return Err(Error::invalid("since is after until"));
        }
        Ok(())
    }
}
