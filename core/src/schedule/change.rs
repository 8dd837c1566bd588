//! Changes of schedules, by those who declare or operate them.

use std::collections::BTreeSet;
use std::time::Instant;

use super::body::{Body, Standing};
use super::ticks;
use super::types::{PutSchedule, Schedule, ScheduleInfo, check_name};
use crate::clean::{Damage, DeepReport};
use crate::dispatch::QueueContext;
use crate::engine::{Schedules, StoredSchedule, Swap, Swapped, WhichSchedules};
use crate::options::MAX_SCHEDULES;
use crate::pause::PauseNote;
use crate::{Error, Result};

/// Changes schedules of one queue within the time of a call.
pub(crate) struct Changes<'a> {
    pub(crate) queue: &'a QueueContext,
    pub(crate) until: Instant,
}

/// What is to be done about a schedule, and what its caller gets then.
enum Change<T> {
    Nothing(T),
    Swap(Swap, T),
}

impl Changes<'_> {
    /// Reads the schedule, and swaps it as `decide` says, again until nobody else has changed it meanwhile. Also returns
    /// which of the items of the swap were added.
    async fn change<T>(
        &self,
        name: &str,
        decide: impl Fn(u64, Option<&StoredSchedule>) -> Result<Change<T>>,
    ) -> Result<(T, Vec<bool>)> {
        let engine = &self.queue.context.engine;
        let which = WhichSchedules::Named(name.to_owned());
        loop {
            let read = engine.read_schedules(&self.queue.queue, &which, true).await?;
            let (swap, answer) = match decide(read.now_ms, read.found.first())? {
                Change::Nothing(answer) => return Ok((answer, Vec::new())),
                Change::Swap(swap, answer) => (swap, answer),
            };
            match self.queue.swap_schedule(&swap, self.until).await? {
                Swapped::Refused if Instant::now() < self.until => {}
                Swapped::Refused => {
                    let queue = &self.queue.queue;
                    return Err(Error::unavailable(
                        format_args!("queue {queue}, schedule {name:?}: it changes all the time"),
                        false,
                    ));
                }
                Swapped::Full if Instant::now() < self.until && self.forget_one().await? => {}
                Swapped::Full => {
                    let queue = &self.queue.queue;
                    return Err(Error::invalid(format_args!(
                        "queue {queue} has {MAX_SCHEDULES} schedules, which is the most"
                    )));
                }
                Swapped::Skipped => return Ok((answer, Vec::new())),
                Swapped::Done { added } => return Ok((answer, added)),
            }
        }
    }

    /// Deletes what is left of the schedule that was removed first, to make room for another one. False: none was removed.
    async fn forget_one(&self) -> Result<bool> {
        let all = self.read_all(false).await?;
        let removed = all.iter().filter(|(_, body)| body.standing == Standing::Removed);
        let Some((stored, _)) = removed.min_by_key(|(_, body)| body.removed) else {
            return Ok(false);
        };
        // Refused: somebody has put it again, and there may be room or another one.
        self.queue.swap_schedule(&Swap::deletion(stored), self.until).await?;
        Ok(true)
    }

    pub(crate) async fn put(&self, schedule: &Schedule) -> Result<PutSchedule> {
        Ok(self.change(&schedule.name, |now, stored| put(schedule, now, stored)).await?.0)
    }

    /// `revision`: that of the deployment which removes it; `None`: an operator does.
    pub(crate) async fn remove(&self, name: &str, revision: Option<u64>) -> Result<bool> {
        check_name("the name of a schedule", name, 1)?;
        Ok(self.change(name, |now, stored| Ok(remove(stored, now, revision))).await?.0)
    }

    /// `None`: it goes on.
    pub(crate) async fn set_paused(&self, name: &str, pause: Option<&PauseNote>) -> Result<bool> {
        check_name("the name of a schedule", name, 1)?;
        Ok(self.change(name, |now, stored| Ok(set_paused(stored, now, pause))).await?.0)
    }

    pub(crate) async fn run_now(&self, name: &str) -> Result<bool> {
        check_name("the name of a schedule", name, 1)?;
        let ((), added) = self.change(name, |now, stored| Ok(run_now(stored, now))).await?;
        Ok(added == [true])
    }

    /// All schedules, in the order of their names. Without `with_data` their data is empty.
    pub(crate) async fn all(&self, with_data: bool) -> Result<Vec<ScheduleInfo>> {
        let mut found = self.read_all(with_data).await?;
        found.retain(|(_, body)| body.standing != Standing::Removed);
        Ok(found.into_iter().map(|(stored, body)| body.info(stored)).collect())
    }

    /// Finds, and with `mend` repairs, schedules that are due at another time than their rules say, or cannot be read.
    pub(crate) async fn check(&self, mend: bool, report: &mut DeepReport) -> Result<()> {
        let mut after = String::new();
        while let Some(read) = self.read_page(&mut after, false).await? {
            for stored in &read.found {
                let Some((_, wrong)) = mending(stored, read.now_ms) else { continue };
                let what = format!("schedule {:?} {wrong}", stored.name);
                report.note(Damage::BadSettings, 1, mend, what);
                if mend {
                    self.mend(&stored.name).await?;
                }
            }
        }
        Ok(())
    }

    async fn mend(&self, name: &str) -> Result<()> {
        let engine = &self.queue.context.engine;
        let which = WhichSchedules::Named(name.to_owned());
        let read = engine.read_schedules(&self.queue.queue, &which, true).await?;
        if let Some((swap, _)) = read.found.first().and_then(|stored| mending(stored, read.now_ms))
        {
            // Refused: somebody else has changed it.
            self.queue.swap_schedule(&swap, self.queue.context.until()).await?;
        }
        Ok(())
    }

    /// The next schedules behind this name, which is then that of the last of them. `None`: there are no more. Without
    /// `with_data` none of them may be stored again.
    async fn read_page(&self, after: &mut String, with_data: bool) -> Result<Option<Schedules>> {
        let engine = &self.queue.context.engine;
        let which = WhichSchedules::After(after.clone());
        let read = engine.read_schedules(&self.queue.queue, &which, with_data).await?;
        let Some(last) = read.found.last() else { return Ok(None) };
        after.clone_from(&last.name);
        Ok(Some(read))
    }

    /// With those that were removed. `with_data`: as for `read_page`.
    async fn read_all(&self, with_data: bool) -> Result<Vec<(StoredSchedule, Body)>> {
        let (mut found, mut after) = (Vec::new(), String::new());
        while let Some(read) = self.read_page(&mut after, with_data).await? {
            found.extend(read.found.into_iter().filter_map(|stored| {
                let body = Body::read(&stored);
                if body.is_none() {
                    let (queue, name) = (&self.queue.queue, &stored.name);
                    tracing::warn!(%queue, name, "a schedule cannot be read");
                }
                Some((stored, body?))
            }));
        }
        found.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        Ok(found)
    }

    /// What is stored of this owner.
    pub(crate) async fn owned(&self, owner: &str) -> Result<Owned> {
        let mut owned = Owned::default();
        for (stored, body) in self.read_all(false).await? {
            let is_live = body.standing != Standing::Removed;
            owned.live_in_queue += u64::from(is_live);
            if body.schedule.owner == owner {
                owned.newest = owned.newest.max(body.schedule.revision);
                owned.live.extend(is_live.then_some(stored.name));
            }
        }
        Ok(owned)
    }

    /// Removes a schedule that this deployment has added, although a newer one does not have it.
    pub(crate) async fn retract(&self, schedule: &Schedule, newest: u64) -> Result<bool> {
        let Schedule { name, owner, revision, .. } = schedule;
        let decide = |now, stored: Option<&StoredSchedule>| {
            let is_own = readable(stored).is_some_and(|(_, body)| {
                body.schedule.owner == *owner && body.schedule.revision == *revision
            });
            Ok(if is_own { remove(stored, now, Some(newest)) } else { Change::Nothing(false) })
        };
        Ok(self.change(name, decide).await?.0)
    }
}

/// What is stored of an owner.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    /// The highest revision of its schedules, also of those that were removed.
    pub(crate) newest: u64,
    /// The names of its schedules.
    pub(crate) live: BTreeSet<String>,
    /// How many schedules the queue has, those of others too.
    pub(crate) live_in_queue: u64,
}

fn put(
    schedule: &Schedule,
    now: u64,
    stored: Option<&StoredSchedule>,
) -> Result<Change<PutSchedule>> {
    let mut body = Body::active(schedule.clone());
    let first = body.rule().next(now, now);
    let Some(stored) = stored else {
        let swap = Swap::first(&schedule.name, body.write(), first);
        return Ok(Change::Swap(swap, PutSchedule::Added));
    };
    let Some(before) = Body::read(stored) else {
        return Ok(Change::Swap(Swap::new(stored, body.write(), first), PutSchedule::Updated));
    };
    let removed = before.standing == Standing::Removed;
    let owner = &before.schedule.owner;
    if *owner == schedule.owner {
        if schedule.revision < before.schedule.revision {
            return Ok(Change::Nothing(PutSchedule::Outdated));
        }
    } else if !removed && !owner.is_empty() {
        return Err(Error::invalid(format_args!(
            "schedule {:?} belongs to {owner:?}, not to {:?}",
            schedule.name, schedule.owner
        )));
    }
    if removed {
        return Ok(Change::Swap(Swap::new(stored, body.write(), first), PutSchedule::Added));
    }
    // An operator's pause stays.
    body.standing = before.standing;
    body.pause.clone_from(&before.pause);
    let same_rule = before.rule() == body.rule();
    body.due = before.due.filter(|_| same_rule);
    let next = match (before.standing, stored.next_ms) {
        (Standing::Paused, _) => None,
        // The clock may have been set back since.
        (_, Some(next)) if same_rule && first.is_none_or(|first| next <= first) => Some(next),
        _ => first,
    };
    if body.is_same(&before) && next == stored.next_ms {
        return Ok(Change::Nothing(PutSchedule::Unchanged));
    }
    Ok(Change::Swap(Swap::new(stored, body.write(), next), PutSchedule::Updated))
}

/// What mends the schedule, and what is wrong with it.
fn mending(stored: &StoredSchedule, now: u64) -> Option<(Swap, &'static str)> {
    let Some(body) = Body::read(stored) else {
        return Some((Swap::deletion(stored), "cannot be read"));
    };
    let latest = match body.standing {
        Standing::Active => body.rule().next(now, now),
        Standing::Paused | Standing::Removed => None,
    };
    let wrong = match (stored.next_ms, latest) {
        (Some(next), Some(latest)) if next <= latest => return None,
        (None, None) => return None,
        (Some(_), Some(_)) => "is due later than its rule says",
        (Some(_), None) => "is due, although it is paused or has no time",
        (None, Some(_)) => "is never due",
    };
    Some((Swap::new(stored, body.write(), latest), wrong))
}

/// The schedule, unless it was removed or cannot be read.
fn readable(stored: Option<&StoredSchedule>) -> Option<(&StoredSchedule, Body)> {
    let stored = stored?;
    let body = Body::read(stored).filter(|body| body.standing != Standing::Removed)?;
    Some((stored, body))
}

fn remove(stored: Option<&StoredSchedule>, now: u64, revision: Option<u64>) -> Change<bool> {
    let Some(stored) = stored else { return Change::Nothing(false) };
    let Some(mut body) = Body::read(stored) else {
        return Change::Swap(Swap::deletion(stored), true);
    };
    let before = body.schedule.revision;
    if body.standing == Standing::Removed || revision.is_some_and(|own| own < before) {
        return Change::Nothing(false);
    }
    body.schedule.revision = revision.unwrap_or(before);
    if body.schedule.revision == 0 {
        return Change::Swap(Swap::deletion(stored), true);
    }
    body.standing = Standing::Removed;
    body.removed = Some(now);
    (body.pause, body.due) = (None, None);
    body.schedule.item = crate::Item::new([]);
    Change::Swap(Swap::new(stored, body.write(), None), true)
}

fn set_paused(
    stored: Option<&StoredSchedule>,
    now: u64,
    pause: Option<&PauseNote>,
) -> Change<bool> {
    let Some((stored, mut body)) = readable(stored) else { return Change::Nothing(false) };
    if pause.is_none() && body.standing == Standing::Active {
        return Change::Nothing(true);
    }
    // Of several pauses the last one counts, as for queues.
    body.pause = pause.map(|note| note.at(now));
    let next = if pause.is_some() {
        body.standing = Standing::Paused;
        body.due = body.due.or(stored.next_ms);
        None
    } else {
        body.standing = Standing::Active;
        let (due, latest) = (body.due.take(), body.rule().next(now, now));
        match due {
            Some(due) if due <= now => body.rule().next(due, now),
            // The clock may have been set back since.
            Some(due) if latest.is_none_or(|latest| due <= latest) => Some(due),
            _ => latest,
        }
    };
    Change::Swap(Swap::new(stored, body.write(), next), true)
}

fn run_now(stored: Option<&StoredSchedule>, now: u64) -> Change<()> {
    let Some((stored, body)) = readable(stored) else { return Change::Nothing(()) };
    let mut swap = Swap::new(stored, body.write(), stored.next_ms);
    // Ticks have no such ids, nor has a second call in the same millisecond.
    let id = format!("{}+{}", ticks::shown(now), &swap.version[..6]);
    swap.items = vec![ticks::item(&body, &id)];
    Change::Swap(swap, ())
}
