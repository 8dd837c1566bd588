//! `items`, `leases` and `dead`: lists of items.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use clap::Args;
use leaseq::{Cursor, ItemInfo, ListOptions, State, WorkQueue};
use leaseq_report::error_kind;
use serde_json::{Value, json};

use crate::failure::{Ended, Failure, NO};
use crate::global::Shared;
use crate::item_json;
use crate::output::Cell;
use crate::progress::Progress;
use crate::select::{Filter, state_parser};
use crate::text::exact_time;

/// How many entries of a queue a list examines unless it may examine all.
const BUDGET: u64 = 20_000;
/// Items of a page.
const PAGE: usize = 500;

#[derive(Debug, Args)]
pub(crate) struct ItemsArgs {
    pub(crate) queue: String,
    /// The state of the items
    #[arg(long, default_value = "ready", value_parser = state_parser())]
    state: State,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    filter: Filter,
}

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// The opposite order: the last to be leased, or the latest, comes first
    #[arg(long)]
    reverse: bool,
    /// How many items to show at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Show all items, and search the whole queue for them. Otherwise a search ends after 20,000 entries
    #[arg(long)]
    all: bool,
    /// Go on where an earlier list has ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<Cursor>,
}

#[derive(Debug, Args)]
pub(crate) struct DeadArgs {
    pub(crate) queue: String,
    /// Count the dead items by their error. Numbers in errors do not distinguish them
    #[arg(long)]
    group: bool,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    filter: Filter,
}

#[derive(Debug, Args)]
pub(crate) struct LeasesArgs {
    /// The queue [default: all queues]
    pub(crate) queue: Option<String>,
    /// How many leases of a queue to show at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

/// What was found, and where to go on.
struct Found {
    items: Vec<ItemInfo>,
    cursor: Option<Cursor>,
    examined: u64,
}

async fn find(
    queue: &WorkQueue,
    state: State,
    page: &PageArgs,
    options: ListOptions,
) -> Result<Found, Failure> {
    let limit = if page.all { usize::MAX } else { page.limit };
    let mut found = Found { items: Vec::new(), cursor: page.cursor.clone(), examined: 0 };
    if limit == 0 {
        return Err(Failure::usage("a limit is at least 1"));
    }
    loop {
        let mut options = options.clone().limit(PAGE.min(limit - found.items.len()));
        options.reverse = page.reverse;
        let listed = queue.list_with(state, found.cursor.as_ref(), &options).await?;
        found.items.extend(listed.items);
        found.examined += listed.examined;
        found.cursor = listed.cursor;
        let enough = found.items.len() >= limit || (!page.all && found.examined >= BUDGET);
        if found.cursor.is_none() || enough {
            return Ok(found);
        }
    }
}

pub(crate) async fn items(shared: &Shared, args: ItemsArgs) -> Ended {
    list(shared, &args.queue, args.state, &args.page, &args.filter).await
}

async fn list(
    shared: &Shared,
    name: &str,
    state: State,
    page: &PageArgs,
    filter: &Filter,
) -> Ended {
    let queue = shared.existing(name).await?;
    let output = &shared.output;
    let mut options = filter.options();
    options.data = !output.table;
    let found = find(&queue, state, page, options).await?;
    if output.json {
        let items: Vec<_> = found.items.iter().map(|info| item_json::item(info, true)).collect();
        let cursor = found.cursor.as_ref().map(Cursor::to_string);
        output
            .document(&json!({ "items": items, "cursor": cursor, "examined": found.examined }))?;
    } else {
        let (headings, rows) = table(state, &found.items, output.table);
        output.rows(&headings, &rows)?;
        if let Some(cursor) = &found.cursor {
            output.note(&format!("examined {}; continue with --cursor {cursor}", found.examined));
        }
    }
    Ok(if found.items.is_empty() { NO } else { 0 })
}

/// For people, the columns that matter in the state; else all, which are the same for each state.
fn table(
    state: State,
    items: &[ItemInfo],
    for_people: bool,
) -> (Vec<&'static str>, Vec<Vec<Cell>>) {
    let attempts = |info: &ItemInfo| Cell::Number((info.failures + info.expiries).into());
    let error = |info: &ItemInfo| Cell::text(&info.last_error);
    if !for_people {
        let row = |info: &ItemInfo| {
            vec![
                Cell::Id(info.id.to_vec()),
                Cell::word(info.state.as_str()),
                Cell::Number(info.priority.into()),
                attempts(info),
                Cell::Time(info.added_at),
                Cell::time(info.at),
                error(info),
                Cell::text(&info.data),
            ]
        };
        return (Vec::new(), items.iter().map(row).collect());
    }
    let at = match state {
        State::Delayed => "DUE",
        State::Leased => "DEADLINE",
        State::Dead => "DIED",
        State::Completed | State::Cancelled => "KEPT UNTIL",
        _ => "ADDED",
    };
    let row = |info: &ItemInfo| {
        vec![
            Cell::Id(info.id.to_vec()),
            Cell::Number(info.priority.into()),
            attempts(info),
            Cell::Time(info.at.unwrap_or(info.added_at)),
            error(info),
        ]
    };
    let rows = items.iter().map(row).collect();
    (vec!["ID", "PRIORITY", "ATTEMPTS", at, "LAST ERROR"], rows)
}

pub(crate) async fn leases(shared: &Shared, args: LeasesArgs) -> Ended {
    let names = shared.names(args.queue.as_slice()).await?;
    let page = PageArgs { reverse: false, limit: args.limit, all: false, cursor: None };
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for name in names {
        let queue = shared.queue(&name).await?;
        let found = find(&queue, State::Leased, &page, ListOptions::new().without_data()).await?;
        for info in &found.items {
            let at = info.at.unwrap_or(info.added_at);
            let left = at.duration_since(SystemTime::now());
            let shown = match &left {
                Ok(left) => Cell::Duration(*left),
                Err(_) if shared.output.table => Cell::Word("expired".into(), true),
                Err(_) => Cell::Duration(Duration::ZERO),
            };
            rows.push(vec![
                Cell::text(&name),
                Cell::Id(info.id.to_vec()),
                shown,
                Cell::Time(at),
                Cell::Number(u64::from(info.failures + info.expiries) + 1),
            ]);
            let mut value = item_json::item(info, false);
            value["queue"] = json!(name);
            value["left_ms"] = item_json::ms(left.ok());
            values.push(value);
        }
        if found.cursor.is_some() && !shared.output.json {
            shared.output.note(&format!("queue {name} has more leases: see --limit"));
        }
    }
    if shared.output.json {
        shared.output.document(&Value::Array(values))?;
    } else {
        shared.output.rows(&["QUEUE", "ID", "LEFT", "DEADLINE", "ATTEMPT"], &rows)?;
    }
    Ok(if rows.is_empty() { NO } else { 0 })
}

pub(crate) async fn dead(shared: &Shared, args: DeadArgs) -> Ended {
    if args.group {
        return groups(shared, &args).await;
    }
    let page = PageArgs { reverse: !args.page.reverse, ..args.page };
    list(shared, &args.queue, State::Dead, &page, &args.filter).await
}

/// Dead items with the same error.
struct Group {
    count: u64,
    first: SystemTime,
    last: SystemTime,
    example: ItemInfo,
}

/// The most groups that are kept; the items of others are counted together.
const MAX_GROUPS: usize = 1_000;
const OTHERS: &str = "(other errors)";

async fn groups(shared: &Shared, args: &DeadArgs) -> Ended {
    let queue = shared.existing(&args.queue).await?;
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let total = queue.counts().await?.dead;
    let progress = Progress::new("dead items", total);
    let options = args.filter.options().without_data().limit(PAGE);
    let mut cursor = args.page.cursor.clone();
    loop {
        let page = queue.list_with(State::Dead, cursor.as_ref(), &options).await?;
        progress.add(page.examined);
        for info in page.items {
            let at = info.at.unwrap_or(info.added_at);
            let mut key = error_kind(&info.last_error);
            if groups.len() >= MAX_GROUPS && !groups.contains_key(&key) {
                key = OTHERS.into();
            }
            let group = groups.entry(key).or_insert_with(|| Group {
                count: 0,
                first: at,
                last: at,
                example: info,
            });
            group.count += 1;
            (group.first, group.last) = (group.first.min(at), group.last.max(at));
        }
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    progress.end();
    let mut groups: Vec<(String, Group)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
    if shared.output.json {
        let value = |(error, group): &(String, Group)| {
            json!({
                "error": error,
                "count": group.count,
                "first_at": exact_time(group.first),
                "last_at": exact_time(group.last),
                "example": item_json::item(&group.example, false),
            })
        };
        shared.output.document(&json!(groups.iter().map(value).collect::<Vec<_>>()))?;
    } else {
        let row = |(error, group): &(String, Group)| {
            vec![
                Cell::Number(group.count),
                Cell::Time(group.first),
                Cell::Time(group.last),
                Cell::Id(group.example.id.to_vec()),
                Cell::text(error),
            ]
        };
        let rows: Vec<_> = groups.iter().map(row).collect();
        shared.output.rows(&["COUNT", "FIRST", "LAST", "EXAMPLE", "ERROR"], &rows)?;
    }
    Ok(if groups.is_empty() { NO } else { 0 })
}
