//! Replies that say how items have ended.

use redis::Value;

use super::details::read_details;
use super::reply;
use super::stored_subject::restore_subject;
use crate::Result;
use crate::engine::{Ended, EndingPlace, EndingReport, Endings, Found, Outcomes};
use crate::item::{NOT_LEASED, Outcome};

/// Reads what `parts/outcomes.lua` returns.
pub(super) fn read_outcomes(reply: Value, asked: usize) -> Result<Outcomes> {
    let [place, letters, texts, streams] = reply::array(reply)?;
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
                Found::Ended(Outcome::Completed { result, retained: true })
            }
            b'X' => Found::Ended(Outcome::Cancelled),
            b'g' => Found::Ended(Ended::Group.outcome()),
            b'd' => Found::Ended(Outcome::Dead { error: read_details(&text()?).error }),
            b'e' => Found::Ended(Outcome::Dead { error: NOT_LEASED.to_owned() }),
            other => return Err(reply::unexpected(other)),
        });
    }
    if found.is_empty() || found.len() > asked {
        return Err(reply::unexpected(format_args!("{} answers of {asked}", found.len())));
    }
    let endings = read_streams(streams).pop().map(|(_, endings)| endings).unwrap_or_default();
    Ok(Outcomes { place, found, endings })
}

fn read_place(text: &[u8]) -> Option<EndingPlace> {
    let (time, count) = std::str::from_utf8(text).ok()?.split_once('-')?;
    Some(EndingPlace(time.parse().ok()?, count.parse().ok()?))
}

pub(super) fn place_text(place: EndingPlace) -> String {
    format!("{}-{}", place.0, place.1)
}

/// The reports in a reply to `XREAD`, by stream. What cannot be read is left out: clients also ask.
pub(super) fn read_streams(reply: Value) -> Vec<(Vec<u8>, Endings)> {
    let streams = match reply {
        Value::Array(streams) => streams,
        _ => return Vec::new(),
    };
    let read = |stream| {
        let [key, entries] = reply::array(stream).ok()?;
        let mut endings = Endings::default();
        for entry in reply::list(entries).ok()? {
            read_entry(entry, &mut endings);
        }
        Some((reply::bytes(key).ok()?.to_vec(), endings))
    };
    streams.into_iter().filter_map(read).collect()
}

fn read_entry(entry: Value, endings: &mut Endings) -> Option<()> {
    let [place, fields] = reply::array(entry).ok()?;
    let place = read_place(&reply::bytes(place).ok()?)?;
    endings.last = Some(place);
    let mut fields = reply::list(fields).ok()?.into_iter();
    while let (Some(letter), Some(id)) = (fields.next(), fields.next()) {
        let (letter, id) = (reply::bytes(letter).ok()?, reply::bytes(id).ok()?);
        if let Some(how) = letter.first().and_then(|letter| Ended::from_letter(*letter)) {
            endings.reports.push(EndingReport { place, subject: restore_subject(&id), how });
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_passed() {
        let text = |text: &str| Value::BulkString(text.into());
        let entry = |place, fields: &[&str]| {
            let fields = fields.iter().map(|field| text(field)).collect();
            Value::Array(vec![text(place), Value::Array(fields)])
        };
        let entries = vec![
            entry("5-0", &["c", "a", "?", "b", "d", "c"]),
            entry("6-0", &["c"]),
            entry("7-1", &["", "a"]),
        ];
        let stream = Value::Array(vec![text("key"), Value::Array(entries)]);
        let streams = read_streams(Value::Array(vec![stream]));
        let (_, endings) = &streams[0];
        let read: Vec<_> =
            endings.reports.iter().map(|report| (report.place.0, report.how)).collect();
        assert_eq!(read, [(5, Ended::Completed { retained: false }), (5, Ended::Dead)]);
        assert_eq!(endings.last, Some(EndingPlace(7, 1)));
    }
}
