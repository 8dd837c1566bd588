//! What a schedule that is due adds, and when it is due again.

use std::time::Duration;

use jiff::Timestamp;

use super::body::Body;
use super::types::Missed;
use crate::engine::{StoredSchedule, Swap};
use crate::item::Item;
use crate::options::ms;

/// How late a tick may be processed by default, if the next one does not come earlier.
const GRACE: Duration = Duration::from_secs(60);

/// The step that processes what is due at `now`. `None`: nothing is.
pub(super) fn tick(stored: &StoredSchedule, body: &Body, now: u64) -> Option<Swap> {
    let due = stored.next_ms.filter(|due| *due <= now)?;
    let rule = body.rule();
    let following = rule.next(due, due);
    let grace = match body.schedule.grace {
        Some(grace) => ms(grace),
        None => following.map_or(ms(GRACE), |next| (next - due).min(ms(GRACE))),
    };
    let (times, next_ms) = if now - due <= grace {
        (vec![due], following)
    } else {
        // The first one that is not missed; it may be due, too.
        let next = rule.next(due, now.saturating_sub(grace + 1));
        let most = match body.schedule.missed {
            Missed::Skip => 0,
            Missed::One => 1,
            Missed::All(most) => most as usize,
        };
        let missed = std::iter::successors(Some(due), |last| rule.next(*last, *last));
        let missed = missed.take_while(|at| next.is_none_or(|next| *at < next) && *at <= now);
        (missed.take(most).collect(), next)
    };
    let mut items: Vec<Item> = times
        .into_iter()
        .map(|at| {
            let mut item = item(body, &shown(at));
            // It begins with the tick.
            item.delay = item.delay.saturating_sub(Duration::from_millis(now - at));
            item
        })
        .collect();
    if !body.schedule.overlap {
        items.truncate(1);
    }
    let unless_live = !body.schedule.overlap;
    Some(Swap { items, unless_live, ..Swap::new(stored, body.write(), next_ms) })
}

/// The item of the tick at this time, as text.
pub(super) fn item(body: &Body, time: &str) -> Item {
    let mut item = body.schedule.item.clone();
    item.id = format!("{}@{time}", body.schedule.name).into();
    item
}

/// A time in ms, as the ids of items show it.
pub(super) fn shown(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.unwrap_or(Timestamp::MAX).to_string()
}
