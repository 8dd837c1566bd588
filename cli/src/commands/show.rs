//! `show`: one item.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::os::unix::ffi::OsStringExt;

use clap::Args;
use leaseq::ItemInfo;
use leaseq_report::escaped_bytes;

use crate::failure::{Ended, Failure};
use crate::global::Shared;
use crate::item_json;
use crate::output::Cell;
use crate::text;

/// Longest data that is shown on a terminal.
const MAX_SHOWN: usize = 64 << 10;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    pub(crate) queue: String,
    /// The id of the item
    id: OsString,
    /// The id is written as lists show it, with \u001b, \xff and \\
    #[arg(long)]
    escaped: bool,
    /// Write only the data, as it is
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// Write only the result, as it is
    #[arg(long, conflicts_with_all = ["json", "raw"])]
    raw_result: bool,
}

pub(crate) async fn show(shared: &Shared, args: ShowArgs) -> Ended {
    let wrong = || Failure::usage("this is no id as lists show them");
    let id = match args.escaped {
        true => text::unescape(&args.id.to_string_lossy()).ok_or_else(wrong)?,
        false => args.id.into_vec(),
    };
    let queue = shared.existing(&args.queue).await?;
    let Some(info) = queue.get(&id).await? else {
        let id = text::id(&id);
        return Err(Failure::no(format_args!("queue {}: there is no item {id}", args.queue)));
    };
    let output = &shared.output;
    if args.raw {
        return raw(&info.data);
    }
    if args.raw_result {
        let none = || Failure::no("the item has no result");
        return raw(info.result.as_ref().ok_or_else(none)?);
    }
    if output.json {
        output.document(&item_json::item(&info, true))?;
        return Ok(0);
    }
    let lines = fields(&info);
    let lines = lines.iter().map(|(name, cell)| match output.table {
        true => format!("{name:<18}{}", cell.shown()),
        false => format!("{name}\t{}", cell.exact()),
    });
    output.line(&lines.collect::<Vec<_>>().join("\n"))?;
    if output.table {
        for (name, bytes) in [("data", Some(&info.data)), ("result", info.result.as_ref())] {
            if let Some(bytes) = bytes {
                output.line(&format!("\n{name}, {} bytes:\n{}", bytes.len(), readable(bytes)))?;
            }
        }
    } else {
        output.line(&format!("data\t{}", escaped_bytes(&info.data)))?;
        if let Some(result) = &info.result {
            output.line(&format!("result\t{}", escaped_bytes(result)))?;
        }
    }
    Ok(0)
}

fn raw(bytes: &[u8]) -> Ended {
    let mut out = std::io::stdout().lock();
    // On a terminal it could do anything.
    if out.is_terminal() && readable(bytes).as_bytes() != bytes {
        return Err(Failure::usage("the bytes could control the terminal")
            .hint("write them into a file or a pipe, or leave out --raw"));
    }
    out.write_all(bytes)?;
    out.flush()?;
    Ok(0)
}

/// The data for people.
fn readable(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(MAX_SHOWN)];
    let mut text = leaseq_report::readable(cut, cut.len() == bytes.len());
    if cut.len() < bytes.len() {
        text.push_str(&format!("\n… {} bytes more: leaseq show --raw", bytes.len() - cut.len()));
    }
    text
}

fn fields(info: &ItemInfo) -> Vec<(&'static str, Cell)> {
    let mut fields = vec![
        ("id", Cell::Id(info.id.to_vec())),
        ("state", Cell::word(info.state.as_str())),
        ("priority", Cell::Number(info.priority.into())),
        ("failures", Cell::Number(info.failures.into())),
        ("expiries", Cell::Number(info.expiries.into())),
        ("max_attempts", info.max_attempts.map_or(Cell::Empty, |most| Cell::Number(most.into()))),
        ("last_error", Cell::text(&info.last_error)),
        ("added_at", Cell::Time(info.added_at)),
        ("at", Cell::time(info.at)),
        ("ended_at", Cell::time(info.ended_at)),
        ("expires_at", Cell::time(info.expires_at)),
        ("retain", Cell::Duration(info.retain)),
        ("cancel_requested", Cell::word(info.cancel_requested.to_string())),
        ("generation", Cell::text(&info.generation)),
    ];
    for (name, bytes) in
        [("unique", &info.unique), ("key", &info.key), ("progress", &info.progress)]
    {
        fields.extend(bytes.as_ref().map(|bytes| (name, Cell::text(bytes))));
    }
    if let Some(releases) = &info.releases {
        let since = text::exact_time(releases.first_at);
        let text = format!("{} times since {since}: {}", releases.count, releases.reason);
        fields.push(("released", Cell::text(text)));
    }
    for ending in &info.endings {
        fields.push((ending.kind.as_str(), Cell::Time(ending.at)));
    }
    for follow_up in &info.follow_ups {
        fields.push(("follow_up", Cell::word(leaseq_report::text::follow_up(follow_up))));
    }
    if info.retain.is_zero() {
        fields.retain(|(name, _)| *name != "retain");
    }
    fields
}
