//! Which items of a queue somebody wants: what forms and addresses say of it.

use std::time::SystemTime;

use leaseq::{Cursor, ItemInfo, ListOptions, Page, State, WorkQueue};
use leaseq_report::{error_kind, text};

use crate::budget::Budget;
use crate::failure::Failure;
use crate::fields::Fields;
use crate::links;
use crate::redact::Redaction;

/// A state, and what its items must have.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    pub(crate) state: State,
    /// Where ids begin, as lists show them.
    pub(crate) id: String,
    pub(crate) data: String,
    pub(crate) error: String,
    /// What their errors have in common, as `error_kind` makes it of them. Empty: nothing.
    pub(crate) kind: String,
}

impl Filter {
    pub(crate) fn read(fields: &Fields, default: State) -> Result<Filter, Failure> {
        let name = fields.get("state");
        let known = |name: &str| State::ALL.into_iter().find(|state| state.as_str() == name);
        let state = match name {
            None => default,
            Some(name) => known(name).ok_or_else(|| Failure::invalid("there is no such state"))?,
        };
        let part = |name| fields.get(name).unwrap_or_default().to_owned();
        let filter = Filter {
            state,
            id: part("id"),
            data: part("data"),
            error: part("error"),
            kind: part("kind"),
        };
        filter.prefix()?;
        Ok(filter)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.id.is_empty() && self.data.is_empty() && self.error.is_empty() && self.kind.is_empty()
    }

    fn prefix(&self) -> Result<Vec<u8>, Failure> {
        text::unescape(&self.id).ok_or_else(|| Failure::invalid("no id as lists show them"))
    }

    /// As a part of an address.
    pub(crate) fn query(&self) -> String {
        let mut query = format!("state={}", self.state.as_str());
        for (name, value) in
            [("id", &self.id), ("data", &self.data), ("error", &self.error), ("kind", &self.kind)]
        {
            if !value.is_empty() {
                query.push_str(&format!("&{name}={}", links::value(value)));
            }
        }
        query
    }

    pub(crate) fn options(&self, redaction: &Redaction) -> Result<ListOptions, Failure> {
        let mut options = ListOptions::new();
        options.id_prefix = self.prefix()?;
        options.data_contains = self.data.clone().into_bytes();
        options.error_contains = self.error.clone();
        // What is hidden in an error depends on the data.
        options.data = !redaction.is_empty();
        Ok(options)
    }

    /// Whether what the viewer sees of the item has what was searched for: the engine has compared the hidden parts too.
    pub(crate) fn sees(&self, redaction: &Redaction, info: &ItemInfo) -> bool {
        if redaction.is_empty() {
            return self.kind.is_empty() || error_kind(&info.last_error) == self.kind;
        }
        let data = redaction.data(&info.data);
        let has = |wanted: &str| {
            wanted.is_empty() || data.windows(wanted.len()).any(|part| part == wanted.as_bytes())
        };
        let error = redaction.error(&info.last_error, &info.data);
        has(&self.data)
            && error.contains(&self.error)
            && (self.kind.is_empty() || error_kind(&error) == self.kind)
    }

    /// A page of the items, in bounded time: it may have fewer, or none, although there are more.
    pub(crate) async fn page(
        &self,
        redaction: &Redaction,
        queue: &WorkQueue,
        cursor: Option<Cursor>,
        reverse: bool,
        limit: usize,
    ) -> Result<Page, Failure> {
        let mut options = self.options(redaction)?;
        (options.reverse, options.limit) = (reverse, limit);
        let mut budget = Budget::new();
        let mut page = queue.list_with(self.state, cursor.as_ref(), &options).await?;
        page.items.retain(|info| self.sees(redaction, info));
        let mut examined = page.examined;
        while budget.spend(examined) && page.items.len() < limit && page.cursor.is_some() {
            options.limit = limit - page.items.len();
            // Where many items were buried or removed, their entries are still in the line. With a time, which all ready
            // items have passed, a step examines as many entries as it can.
            options.since = (self.state == State::Ready).then_some(SystemTime::UNIX_EPOCH);
            let next = queue.list_with(self.state, page.cursor.as_ref(), &options).await?;
            page.items.extend(next.items.into_iter().filter(|info| self.sees(redaction, info)));
            (page.cursor, examined) = (next.cursor, next.examined);
        }
        page.examined = budget.examined;
        Ok(page)
    }
}
