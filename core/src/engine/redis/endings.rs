//! Replies that say how items have ended.

use redis::Value;

use super::details::read_details;
use super::record::restore_id;
use super::reply;
use crate::Result;
use crate::engine::{Ended, EndingPlace, EndingReport, Found, Outcomes};
use crate::item::{NOT_LEASED, Outcome};

/// Reads what `parts/outcomes.lua` returns.
pub(super) fn read_outcomes(reply: Value, asked: usize) -> Result<Outcomes> {
    let [place, letters, texts] = reply::array(reply)?;
    let place = reply::text(place)?;
    let place = read_place(place.as_bytes()).ok_or_else(|| reply::unexpected(place))?;
    let mut texts = reply::list(texts)?.into_iter();
    let mut text = || reply::bytes(texts.next().unwrap_or(Value::Nil));
    let mut found = Vec::with_capacity(asked);
    for letter in reply::bytes(letters)? {
        found.push(match letter {
            b'n' => Found::Nothing,
            b'o' => Found::Open,
            b'C' => {
                let result = text()?;
                let result = (!result.is_empty()).then(|| result.slice(1..));
                Found::Ended(Outcome::Completed { result })
            }
            b'X' => Found::Ended(Outcome::Cancelled),
            b'd' => Found::Ended(Outcome::Dead { error: read_details(&text()?).error }),
            b'e' => Found::Ended(Outcome::Dead { error: NOT_LEASED.to_owned() }),
            other => return Err(reply::unexpected(other)),
        });
    }
    if found.is_empty() || found.len() > asked {
        return Err(reply::unexpected(format_args!("{} answers of {asked}", found.len())));
    }
    Ok(Outcomes { place, found })
}

fn read_place(text: &[u8]) -> Option<EndingPlace> {
    let (time, count) = std::str::from_utf8(text).ok()?.split_once('-')?;
    Some(EndingPlace(time.parse().ok()?, count.parse().ok()?))
}

/// The reports in a reply to `XREAD`, by stream. What cannot be read is left out: clients also ask.
pub(super) fn read_streams(reply: Value) -> Vec<(Vec<u8>, Vec<EndingReport>)> {
    let streams = match reply {
        Value::Array(streams) => streams,
        _ => return Vec::new(),
    };
    let read = |stream| {
        let [key, entries] = reply::array(stream).ok()?;
        let entries = reply::list(entries).ok()?;
        let reports = entries.into_iter().filter_map(read_entry).flatten().collect();
        Some((reply::bytes(key).ok()?.to_vec(), reports))
    };
    streams.into_iter().filter_map(read).collect()
}

fn read_entry(entry: Value) -> Option<Vec<EndingReport>> {
    let [place, fields] = reply::array(entry).ok()?;
    let place = read_place(&reply::bytes(place).ok()?)?;
    let mut fields = reply::list(fields).ok()?.into_iter();
    let mut reports = Vec::new();
    while let (Some(letter), Some(id)) = (fields.next(), fields.next()) {
        let how = Ended::from_letter(*reply::bytes(letter).ok()?.first()?)?;
        reports.push(EndingReport { place, id: restore_id(&reply::bytes(id).ok()?), how });
    }
    Some(reports)
}
