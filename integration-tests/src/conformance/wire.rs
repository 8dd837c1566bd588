//! The values of the core, as the testee in Rust sends them: see `testees/README.md`.

#![allow(
    clippy::missing_panics_doc,
    clippy::expect_used,
    clippy::panic,
    reason = "a testee may stop"
)]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leaseq::{
    CompleteOptions, Ending, Error, FailOptions, FollowUp, Group, GroupInfo, GroupOutcome, Item,
    ItemInfo, ItemRef, KeepAlive, KeyInfo, Lease, LeaseOptions, Missed, NewGroup, On, Outcome,
    OutcomeOptions, Page, PauseOptions, PutSchedule, Rate, ReleaseOptions, Releases, Result,
    Revision, Schedule, ScheduleInfo, ScheduleRule, Settings, SettingsChange, State,
    SyncedSchedules,
};
use serde_json::{Value, json};

use super::value::{hex, unhex};

/// The texts of a list.
pub fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn list(values: &Value) -> impl Iterator<Item = &Value> {
    values.as_array().into_iter().flatten()
}

/// What a call adds if it ends its items, for each lease.
fn additions(request: &Value) -> Vec<Vec<Item>> {
    match request["add"].is_null() {
        false => vec![list(&request["add"]).map(item).collect()],
        true => list(&request["adds"]).map(|items| list(items).map(item).collect()).collect(),
    }
}

/// Bytes from a field.
pub fn bytes(digits: &str) -> Vec<u8> {
    unhex(digits).expect("the runner sends hexadecimal")
}

/// An item to add.
pub fn item(fields: &Value) -> Item {
    let number = |name: &str| fields[name].as_u64();
    let mut item = Item::new(bytes(fields["data"].as_str().unwrap_or_default()));
    if let Some(id) = fields["id"].as_str() {
        item = item.with_id(bytes(id));
    }
    if let Some(most) = number("max_attempts") {
        item = item.max_attempts(most.try_into().unwrap_or(u32::MAX));
    }
    item = item.priority(number("priority").unwrap_or(0).try_into().unwrap_or(u8::MAX));
    if let Some(at) = number("due_at_ms") {
        item = item.due_at(UNIX_EPOCH + Duration::from_millis(at));
    }
    if let Some(key) = fields["unique"].as_str() {
        item = item.unique(bytes(key));
    }
    if let Some(key) = fields["key"].as_str() {
        item = item.key(bytes(key));
    }
    if fields["replace"].as_bool() == Some(true) {
        item = item.replace();
    }
    if fields["successor"].as_bool() == Some(true) {
        item = item.successor();
    }
    if let Some(time) = number("expires_in_ms") {
        item = item.expires_in(Duration::from_millis(time));
    }
    if let Some(queue) = fields["queue"].as_str() {
        item = item.queue(queue);
    }
    for fields in list(&fields["follow_ups"]) {
        item = item.follow_up(follow_up(fields));
    }
    if let Some(place) = number("place") {
        let place = place.try_into().unwrap_or(u32::MAX);
        item = item.in_group(&group(&fields["group"]).expect("a group of an answer"), place);
    }
    let ms = |name: &str| Duration::from_millis(number(name).unwrap_or(0));
    item.delay(delay(fields)).retain(ms("retain_ms")).unique_for(ms("unique_for_ms"))
}

fn follow_up(fields: &Value) -> FollowUp {
    let on = match fields["on"].as_str() {
        Some("completed") => On::Completed,
        Some("dead") => On::Dead,
        _ => On::Ended,
    };
    let follow_up = FollowUp::new(on, item(&fields["item"]));
    match fields["with_trigger"].as_bool() {
        Some(true) => follow_up.with_trigger(),
        _ => follow_up,
    }
}

/// A group to create.
pub fn new_group(fields: &Value) -> NewGroup {
    let new = NewGroup::new(bytes(fields["id"].as_str().unwrap_or_default()));
    list(&fields["follow_ups"]).map(follow_up).fold(new, NewGroup::follow_up)
}

/// A group that an answer has named.
pub fn group(fields: &Value) -> Result<Group> {
    let text = |name: &str| fields[name].as_str().unwrap_or_default();
    Group::new(text("queue"), bytes(text("id")), text("generation"))
}

/// A group, for an answer.
pub fn group_value(group: &Group) -> Value {
    json!({ "queue": group.queue(), "id": hex(group.id()), "generation": group.generation() })
}

/// How a group has ended, for an answer.
pub fn group_outcome(outcome: &GroupOutcome) -> Value {
    let info = outcome.info();
    json!({
        "kind": outcome.as_str(),
        "places": info.and_then(|info| info.places),
        "ended": info.map(|info| info.ended),
        "completed": info.map(|info| info.completed),
    })
}

/// A group as it is now, for an answer.
pub fn group_info(info: &GroupInfo) -> Value {
    json!({
        "group": group_value(&info.group),
        "places": info.places,
        "ended": info.ended,
        "completed": info.completed,
        "has_ended": info.has_ended,
        "changed_at_ms": ms_of(info.changed),
    })
}

/// A follow-up, and the item that is to have it.
pub fn attachment(fields: &Value) -> (ItemRef, FollowUp) {
    (item_ref(fields), follow_up(fields))
}

/// An item of the queue, perhaps of one generation.
pub fn item_ref(fields: &Value) -> ItemRef {
    let item = ItemRef::new(bytes(fields["id"].as_str().unwrap_or_default()));
    fields["if_generation"].as_str().into_iter().fold(item, ItemRef::if_generation)
}

/// Items of the queue, each perhaps of one generation.
pub fn item_refs(request: &Value) -> impl Iterator<Item = ItemRef> {
    let one = |(i, id)| {
        let item = ItemRef::new(bytes(id));
        request["if_generation"][i].as_str().into_iter().fold(item, ItemRef::if_generation)
    };
    strings(&request["ids"]).enumerate().map(one)
}

/// What to change of an item.
pub fn revision(fields: &Value) -> (ItemRef, Revision) {
    let number = |name: &str| fields[name].as_u64();
    let mut revision = Revision::new();
    if let Some(data) = fields["data"].as_str() {
        revision = revision.data(bytes(data));
    }
    if let Some(priority) = number("priority") {
        revision = revision.priority(priority.try_into().unwrap_or(u8::MAX));
    }
    if let Some(delay) = number("delay_ms") {
        revision = revision.delay(Duration::from_millis(delay));
    }
    if let Some(at) = number("due_at_ms") {
        revision = revision.due_at(UNIX_EPOCH + Duration::from_millis(at));
    }
    if let Some(most) = number("max_attempts") {
        revision = revision.max_attempts(most.try_into().unwrap_or(u32::MAX));
    }
    (item_ref(fields), revision)
}

/// How to lease.
pub fn lease_options(request: &Value) -> LeaseOptions {
    let ms = |name: &str| request[name].as_u64().map(Duration::from_millis);
    let mut options = LeaseOptions::new(ms("duration_ms").unwrap_or_default());
    options.wait = ms("wait_ms");
    if request["keep_alive"].as_bool() == Some(true) {
        let mut keep_alive = KeepAlive::new();
        keep_alive.limit = ms("keep_alive_limit_ms");
        options.keep_alive = Some(keep_alive);
    }
    options
}

/// How to wait for the ends of items.
pub fn outcome_options(request: &Value) -> OutcomeOptions {
    let mut options = OutcomeOptions::new();
    options.wait = request["wait_ms"].as_u64().map(Duration::from_millis);
    options.expect = request["expect"].as_bool() == Some(true);
    options
}

/// How an item has ended, or null.
pub fn outcome(outcome: Option<&Outcome>) -> Value {
    outcome.map_or(Value::Null, |outcome| {
        let result = outcome.result().map(|result| hex(result));
        let retained = matches!(outcome, Outcome::Completed { retained: true, .. });
        json!({ "kind": outcome.as_str(), "result": result, "error": outcome.error(), "retained": retained })
    })
}

/// How to complete.
pub fn complete_options(request: &Value) -> CompleteOptions {
    let mut options = CompleteOptions::new();
    options.strict = request["strict"].as_bool() == Some(true);
    options.retain = request["retain_ms"].as_u64().map(Duration::from_millis);
    options.results = match (&request["result"], &request["results"]) {
        (Value::String(one), _) => vec![Some(bytes(one).into())],
        (_, Value::Array(many)) => {
            many.iter().map(|one| one.as_str().map(|one| bytes(one).into())).collect()
        }
        _ => Vec::new(),
    };
    options.adds = additions(request);
    options
}

/// How to fail.
pub fn fail_options(request: &Value) -> FailOptions {
    let mut options = FailOptions::new().delay(delay(request));
    options.dead = request["dead"].as_bool() == Some(true);
    options.adds = additions(request);
    options
}

/// How to release.
pub fn release_options(request: &Value) -> ReleaseOptions {
    let reason = request["reason"].as_str().unwrap_or_default();
    ReleaseOptions::new().delay(delay(request)).reason(reason)
}

/// What to change of the settings of a queue; null removes one.
pub fn settings_change(request: &Value) -> SettingsChange {
    let mut change = SettingsChange::new();
    let time = |value: &Value| value.as_u64().map(Duration::from_millis);
    for (name, value) in request["change"].as_object().into_iter().flatten() {
        change = match name.as_str() {
            "max_attempts" => change.max_attempts(value.as_u64().map(|most| most as u32)),
            "retain_ms" => change.retain(time(value)),
            "max_dead" => change.max_dead(value.as_u64()),
            "max_retained" => change.max_retained(value.as_u64()),
            "max_dead_age_ms" => change.max_dead_age(time(value)),
            "max_retained_age_ms" => change.max_retained_age(time(value)),
            "events" => change.events(value.as_u64()),
            "key_limit" => change.key_limit(value.as_u64().map(|limit| limit as u32)),
            "rate" => change.rate(rate(value)),
            "key_rate" => change.key_rate(rate(value)),
            name => panic!("unknown setting {name}"),
        };
    }
    match request["revision"].as_u64() {
        Some(revision) => change.expect_revision(revision),
        None => change,
    }
}

fn rate(value: &Value) -> Option<Rate> {
    let number = |name: &str| value[name].as_u64();
    let period = Duration::from_millis(number("period_ms")?);
    let rate = Rate::new(number("count")? as u32, period);
    Some(number("burst").map_or(rate, |burst| rate.burst(burst as u32)))
}

/// How to pause.
pub fn pause_options(request: &Value) -> PauseOptions {
    let mut options = PauseOptions::new();
    options.duration = request["duration_ms"].as_u64().map(Duration::from_millis);
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    options.by(text("by")).reason(text("reason"))
}

fn say_rate(rate: Rate) -> Value {
    json!({ "count": rate.count, "period_ms": ms(rate.period), "burst": rate.burst })
}

/// Settings, if a change was not refused.
pub fn settings(settings: Option<&Settings>) -> Value {
    let Some(settings) = settings else { return Value::Null };
    json!({
        "max_attempts": settings.max_attempts,
        "retain_ms": ms(settings.retain),
        "max_dead": settings.max_dead,
        "max_retained": settings.max_retained,
        "max_dead_age_ms": settings.max_dead_age.map(ms),
        "max_retained_age_ms": settings.max_retained_age.map(ms),
        "key_limit": settings.key_limit,
        "events": settings.events,
        "rate": settings.rate.map(say_rate),
        "key_rate": settings.key_rate.map(say_rate),
        "revision": settings.revision,
        "paused": settings.paused,
        "paused_until_ms": settings.paused_until.map(ms_of),
        "paused_at_ms": settings.paused_at.map(ms_of),
        "paused_by": settings.paused_by,
        "pause_reason": settings.pause_reason,
        "rate_limited_until_ms": settings.rate_limited_until.map(ms_of),
    })
}

/// Keys and their limits; null: that of the queue.
pub fn key_limits(request: &Value) -> impl Iterator<Item = (Vec<u8>, Option<u32>)> {
    let pair = |one: &Value| {
        let limit = one["limit"].as_u64().map(|limit| limit.try_into().unwrap_or(u32::MAX));
        (bytes(one["key"].as_str().unwrap_or_default()), limit)
    };
    request["limits"].as_array().into_iter().flatten().map(pair)
}

/// Keys and what is leased of them.
pub fn keys(found: &[KeyInfo]) -> Value {
    let one = |key: &KeyInfo| {
        json!({
            "key": hex(&key.key),
            "limit": key.limit,
            "own_limit": key.own_limit,
            "leased": key.leased,
        })
    };
    found.iter().map(one).collect()
}

/// A schedule to put.
///
/// # Errors
/// If the rule is invalid.
pub fn schedule(fields: &Value) -> Result<Schedule> {
    let text = |name: &str| fields[name].as_str();
    let rule = match text("cron") {
        Some(cron) => ScheduleRule::cron(cron, text("zone").unwrap_or("UTC"))?,
        None => {
            ScheduleRule::every(Duration::from_millis(fields["every_ms"].as_u64().unwrap_or(0)))?
        }
    };
    let mut schedule = Schedule::new(text("name").unwrap_or_default(), rule, item(&fields["item"]));
    schedule = match &fields["missed"] {
        Value::String(word) if word == "skip" => schedule.missed(Missed::Skip),
        Value::Number(most) => schedule.missed(Missed::All(most.as_u64().unwrap_or(0) as u32)),
        _ => schedule,
    };
    if let Some(grace) = fields["grace_ms"].as_u64() {
        schedule = schedule.grace(Duration::from_millis(grace));
    }
    if let Some(revision) = fields["revision"].as_u64() {
        schedule = schedule.revision(revision);
    }
    if fields["overlap"].as_bool() == Some(true) {
        schedule = schedule.overlap();
    }
    Ok(text("owner").into_iter().fold(schedule, Schedule::owner))
}

/// What putting a schedule has done.
pub fn put(done: PutSchedule) -> Value {
    match done {
        PutSchedule::Added => "added",
        PutSchedule::Updated => "updated",
        PutSchedule::Unchanged => "unchanged",
        _ => "outdated",
    }
    .into()
}

/// What the owner's declaration has done.
pub fn synced(done: &SyncedSchedules) -> Value {
    json!({
        "added": done.added,
        "updated": done.updated,
        "removed": done.removed,
        "unchanged": done.unchanged,
        "outdated": done.outdated,
    })
}

/// A schedule of the queue.
pub fn schedule_info(info: &ScheduleInfo) -> Value {
    let rule = info.rule.to_string();
    let mut words = rule.splitn(3, ' ');
    let (kind, second, third) = (words.next(), words.next(), words.next());
    let cron = kind == Some("cron");
    let unless_zero = |time: Duration| (!time.is_zero()).then(|| ms(time));
    json!({
        "name": info.name,
        "data": hex(&info.data),
        "cron": third,
        "zone": second.filter(|_| cron),
        "every_ms": second.filter(|_| !cron).and_then(|ms| ms.parse::<u64>().ok()),
        "owner": info.owner,
        "revision": info.revision,
        "missed": match info.missed {
            Missed::Skip => "skip".into(),
            Missed::All(most) => Value::from(most),
            _ => "one".into(),
        },
        "grace_ms": info.grace.map(ms),
        "overlap": info.overlap,
        "priority": info.priority,
        "delay_ms": ms(info.delay),
        "max_attempts": info.max_attempts,
        "retain_ms": unless_zero(info.retain),
        "unique": info.unique.as_ref().map(|key| hex(key)),
        "unique_for_ms": unless_zero(info.unique_for),
        "replace": info.replace,
        "successor": info.successor,
        "key": info.key.as_ref().map(|key| hex(key)),
        "expires_in_ms": info.expires_in.map(ms),
        "paused": info.paused,
        "paused_at_ms": info.paused_at.map(ms_of),
        "paused_by": info.paused_by,
        "pause_reason": info.pause_reason,
        "next_ms": info.next.map(ms_of),
        "last_id": info.last_id.as_ref().map(|id| String::from_utf8_lossy(id)),
    })
}

fn delay(fields: &Value) -> Duration {
    Duration::from_millis(fields["delay_ms"].as_u64().unwrap_or(0))
}

/// A state by its name.
pub fn state(name: &str) -> State {
    name.parse().unwrap_or(State::Ready)
}

/// An error.
pub fn failure(error: &Error) -> Value {
    let unknown = error.outcome_unknown();
    json!({ "kind": error.kind().code(), "message": error.to_string(), "unknown": unknown })
}

/// A point in time.
pub fn ms_of(time: SystemTime) -> Value {
    ms(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn ms(duration: Duration) -> Value {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).into()
}

/// Answers, each of which may be an error.
pub fn each<T>(answers: Vec<Result<T>>, value: impl Fn(T) -> Value) -> Value {
    let one = |answer: Result<T>| {
        answer.map_or_else(|error| json!({ "fails": error.kind().code() }), &value)
    };
    answers.into_iter().map(one).collect()
}

fn endings(endings: &[Ending]) -> Value {
    let one = |ending: &Ending| json!({ "kind": ending.kind, "at_ms": ms_of(ending.at) });
    endings.iter().map(one).collect()
}

fn releases(releases: &Releases) -> Value {
    json!({
        "reason": releases.reason,
        "count": releases.count,
        "first_at_ms": ms_of(releases.first_at),
    })
}

/// An item from `get` or `list`.
pub fn info(item: &ItemInfo) -> Value {
    json!({
        "id": hex(&item.id),
        "data": hex(&item.data),
        "state": item.state.as_str(),
        "priority": item.priority,
        "max_attempts": item.max_attempts,
        "failures": item.failures,
        "expiries": item.expiries,
        "last_error": item.last_error,
        "endings": endings(&item.endings),
        "releases": item.releases.as_ref().map(releases),
        "generation": item.generation,
        "added_at_ms": ms_of(item.added_at),
        "at_ms": item.at.map(ms_of),
        "ended_at_ms": item.ended_at.map(ms_of),
        "cancel_requested": item.cancel_requested,
        "result": item.result.as_ref().map(|result| hex(result)),
        "progress": item.progress.as_ref().map(|progress| hex(progress)),
        "retain_ms": (!item.retain.is_zero()).then(|| ms(item.retain)),
        "unique": item.unique.as_ref().map(|key| hex(key)),
        "key": item.key.as_ref().map(|key| hex(key)),
        "expires_at_ms": item.expires_at.map(ms_of),
        "followed_by": serde_json::from_str::<Value>(&FollowUp::all_to_json(&item.follow_ups))
            .unwrap_or_default(),
    })
}

/// An item, if there is one.
pub fn maybe(item: Option<&ItemInfo>) -> Value {
    item.map_or(Value::Null, info)
}

/// A page of items.
pub fn page(page: &Page) -> Value {
    let items: Vec<Value> = page.items.iter().map(info).collect();
    let cursor = page.cursor.as_ref().map(ToString::to_string);
    json!({ "items": items, "cursor": cursor, "examined": page.examined })
}

/// A lease.
pub fn lease(lease: &Lease) -> Value {
    json!({
        "queue": lease.queue(),
        "id": hex(lease.id()),
        "data": hex(lease.data()),
        "key": lease.key().map(hex),
        "trigger": lease.trigger().map(|of| json!({ "id": hex(of.id()), "result": of.result().map(|r| hex(r)) })),
        "attempt": lease.attempt(),
        "failures": lease.failures(),
        "expiries": lease.expiries(),
        "max_attempts": lease.max_attempts(),
        "priority": lease.priority(),
        "last_error": lease.last_error(),
        "endings": endings(lease.endings()),
        "releases": lease.releases().map(releases),
        "generation": lease.generation(),
        "waited_ms": lease.waited().as_millis() as u64,
        "deadline_ms": ms_of(lease.deadline()),
        "lost": lease.is_lost(),
        "completed": lease.completed(),
    })
}
