//! Items as JavaScript hands them over: the fields of one after those of the other.

use bytes::Bytes;
use leaseq::{FollowUp, Group, Item, On};
use napi::Result;
use napi::bindgen_prelude::{Array, FromNapiValue};

use crate::failure::Failure;
use crate::input::{Data, ItemOptions, bytes};

/// How many fields an item has.
const FIELDS: usize = 16;

pub(crate) fn items(fields: &Array<'_>) -> Result<std::result::Result<Vec<Item>, Failure>> {
    let number = |place| Ok::<_, napi::Error>(fields.get::<Option<f64>>(place)?.flatten());
    let given = |place| Ok::<_, napi::Error>(fields.get::<Option<Data<'_>>>(place)?.flatten());
    let firsts = || (0..fields.len()).step_by(FIELDS);
    let mut data = Vec::with_capacity(firsts().len());
    for first in firsts() {
        let one = required::<Data<'_>>(fields, first)?;
        data.push(Bytes::copy_from_slice(bytes(&one)));
    }
    let mut items = Vec::with_capacity(data.len());
    for (item, first) in Item::new_many(data).into_iter().zip(firsts()) {
        let follow_ups = fields.get::<Option<Array<'_>>>(first + 14)?.flatten();
        let follow_ups = match self::follow_ups(follow_ups.as_ref())? {
            Ok(follow_ups) => follow_ups,
            Err(failure) => return Ok(Err(failure)),
        };
        let place = fields.get::<Option<Array<'_>>>(first + 15)?.flatten();
        let place = match self::place(place.as_ref())? {
            Ok(place) => place,
            Err(failure) => return Ok(Err(failure)),
        };
        let options = ItemOptions {
            id: given(first + 1)?,
            priority: number(first + 2)?,
            delay_ms: number(first + 3)?,
            due_at_ms: number(first + 4)?,
            max_attempts: number(first + 5)?,
            retain_ms: number(first + 6)?,
            unique: given(first + 7)?,
            unique_for_ms: number(first + 8)?,
            replace: fields.get::<Option<bool>>(first + 9)?.flatten(),
            successor: fields.get::<Option<bool>>(first + 10)?.flatten(),
            expires_in_ms: number(first + 11)?,
            key: given(first + 12)?,
            queue: fields.get::<Option<String>>(first + 13)?.flatten(),
            follow_ups,
            place,
        };
        match options.apply(item) {
            Ok(item) => items.push(item),
            Err(failure) => return Ok(Err(failure)),
        }
    }
    Ok(Ok(items))
}

/// Items for each lease.
pub(crate) fn items_for_each(
    fields: &Array<'_>,
) -> Result<std::result::Result<Vec<Vec<Item>>, Failure>> {
    let mut each = Vec::with_capacity(fields.len() as usize);
    for place in 0..fields.len() {
        match items(&required(fields, place)?)? {
            Ok(items) => each.push(items),
            Err(failure) => return Ok(Err(failure)),
        }
    }
    Ok(Ok(each))
}

/// The follow-ups of an item: a list of the ends that fire them, one of whether they have their triggers,
/// and the fields of their items.
pub(crate) fn follow_ups(
    given: Option<&Array<'_>>,
) -> Result<std::result::Result<Vec<FollowUp>, Failure>> {
    let Some(given) = given else { return Ok(Ok(Vec::new())) };
    let ends = required::<Vec<String>>(given, 0)?;
    let triggers = required::<Vec<bool>>(given, 1)?;
    let items = match items(&required(given, 2)?)? {
        Ok(items) => items,
        Err(failure) => return Ok(Err(failure)),
    };
    if ends.len() != items.len() || triggers.len() != items.len() {
        return Err(napi::Error::from_reason("lists of different lengths"));
    }
    let all = ends.iter().zip(triggers).zip(items).map(|((end, with_trigger), item)| {
        let follow_up = FollowUp::new(on(end)?, item);
        Ok(if with_trigger { follow_up.with_trigger() } else { follow_up })
    });
    Ok(all.collect())
}

/// The place of a member: queue, id and generation of its group, and the place.
pub(crate) fn place(
    given: Option<&Array<'_>>,
) -> Result<std::result::Result<Option<(Group, f64)>, Failure>> {
    let Some(given) = given else { return Ok(Ok(None)) };
    let (queue, generation) = (required::<String>(given, 0)?, required::<String>(given, 2)?);
    let group = Group::new(&queue, bytes(&required::<Data<'_>>(given, 1)?), &generation);
    let place = required::<f64>(given, 3)?;
    Ok(group.map(|group| Some((group, place))).map_err(Failure::from))
}

fn on(end: &str) -> std::result::Result<On, Failure> {
    match end {
        "completed" => Ok(On::Completed),
        "dead" => Ok(On::Dead),
        "ended" => Ok(On::Ended),
        _ => Err(Failure::invalid(format_args!(
            "a follow-up on {end:?}, not on completed, dead or ended"
        ))),
    }
}

fn required<T: FromNapiValue>(fields: &Array<'_>, place: u32) -> Result<T> {
    fields.get(place)?.ok_or_else(|| napi::Error::from_reason("a field of an item is missing"))
}
