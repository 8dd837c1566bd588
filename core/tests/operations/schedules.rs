//! Schedules. The clock of the bench begins at 2027-01-15 08:00 UTC, a Friday.

use std::time::Duration;

use leaseq::{
    ErrorKind, Item, LeaseOptions, Missed, PutSchedule, Schedule, ScheduleInfo, ScheduleRule,
    State, WorkQueue,
};

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn every(interval: Duration) -> ScheduleRule {
    ScheduleRule::every(interval).unwrap()
}

fn cron(expression: &str) -> ScheduleRule {
    ScheduleRule::cron(expression, "UTC").unwrap()
}

fn schedule(name: &str, rule: ScheduleRule) -> Schedule {
    Schedule::new(name, rule, Item::new("data"))
}

async fn only(queue: &WorkQueue) -> ScheduleInfo {
    let [schedule] = queue.schedules().await.unwrap().try_into().unwrap();
    schedule
}

/// Processes what is due, as a cleaner does. Returns the ids of all ready items.
async fn tick(queue: &WorkQueue) -> Vec<String> {
    queue.light_clean().await.unwrap();
    let ready = list_all(queue, State::Ready, 100).await;
    ready.iter().map(|item| String::from_utf8(item.id.to_vec()).unwrap()).collect()
}

async fn each_tick_adds_one_item(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    let item = Item::new("report").priority(3).max_attempts(2).retain(secs(60));
    let put = Schedule::new("report", cron("30 8,9 * * *"), item);
    assert_eq!(queue.put_schedule(put).await.unwrap(), PutSchedule::Added);
    let info = only(&other).await;
    assert_eq!((&*info.name, &info.rule), ("report", &cron("30 8,9 * * *")));
    assert_eq!(info.next.map(since_1970), Some(bench.now() + 1_800_000));
    assert_eq!((info.last_id, info.paused, info.data.as_ref()), (None, false, &b"report"[..]));
    bench.advance(secs(1_799));
    assert!(tick(&other).await.is_empty());
    let rest = other.light_clean().await.unwrap().next_in;
    assert_eq!(rest, Some(secs(1)));
    bench.advance(secs(1));
    assert_eq!(tick(&other).await, ["report@2027-01-15T08:30:00Z"]);
    assert_eq!(tick(&queue).await.len(), 1);
    let lease = take(&queue).await;
    assert_eq!((lease.data().as_ref(), lease.priority()), (&b"report"[..], 3));
    assert_eq!(lease.max_attempts(), Some(2));
    queue.complete(&lease).await.unwrap();
    bench.advance(HOUR);
    assert_eq!(tick(&queue).await, ["report@2027-01-15T09:30:00Z"]);
    let info = only(&queue).await;
    assert_eq!(info.last_id.as_deref(), Some(&b"report@2027-01-15T09:30:00Z"[..]));
    assert_eq!(info.next.map(since_1970), Some(bench.now() + 23 * 3_600_000));
    assert_sound(&queue).await;
}

async fn any_number_of_clients_tick_once(bench: &Bench) {
    let queue = bench.queue().await;
    queue.put_schedule(schedule("s", every(secs(1))).overlap()).await.unwrap();
    let mut queues = Vec::new();
    for _ in 0..8 {
        queues.push(bench.queue().await);
    }
    for _ in 0..5 {
        bench.advance(secs(1));
        let mut calls = tokio::task::JoinSet::new();
        for queue in queues.clone() {
            calls.spawn(async move { queue.light_clean().await.unwrap() });
        }
        calls.join_all().await;
    }
    assert_eq!(queue.counts().await.unwrap().totals.added, 5);
}

async fn no_item_while_the_last_one_has_not_ended(bench: &Bench) {
    let queue = bench.queue().await;
    queue.put_schedule(schedule("s", every(secs(10)))).await.unwrap();
    bench.advance(secs(10));
    assert_eq!(tick(&queue).await, ["s@2027-01-15T08:00:10Z"]);
    let lease = queue.lease(LeaseOptions::new(HOUR)).await.unwrap().unwrap();
    for _ in 0..3 {
        bench.advance(secs(10));
        assert!(tick(&queue).await.is_empty());
    }
    queue.complete(&lease).await.unwrap();
    bench.advance(secs(10));
    assert_eq!(tick(&queue).await, ["s@2027-01-15T08:00:50Z"]);
    // A dead one has ended, and one that is retained.
    queue.bury(&["s@2027-01-15T08:00:50Z"], "no").await.unwrap();
    bench.advance(secs(10));
    assert_eq!(tick(&queue).await, ["s@2027-01-15T08:01:00Z"]);
    let with_overlap = schedule("s", every(secs(10))).overlap();
    assert_eq!(queue.put_schedule(with_overlap).await.unwrap(), PutSchedule::Updated);
    bench.advance(secs(10));
    assert_eq!(tick(&queue).await.len(), 2);
}

async fn missed_ticks(bench: &Bench) {
    let queue = bench.queue().await;
    for (name, missed) in [("skip", Missed::Skip), ("one", Missed::One), ("all", Missed::All(3))] {
        let put = schedule(name, every(secs(100))).missed(missed).overlap();
        queue.put_schedule(put).await.unwrap();
    }
    // The tick at 500 s is 61 s late, that at 600 s is not due yet.
    bench.advance(secs(561));
    let ids = async || {
        let mut ids = tick(&queue).await;
        ids.sort();
        ids
    };
    let caught_up = [
        "all@2027-01-15T08:01:40Z",
        "all@2027-01-15T08:03:20Z",
        "all@2027-01-15T08:05:00Z",
        "one@2027-01-15T08:01:40Z",
    ];
    assert_eq!(ids().await, caught_up);
    // The next one is in time for all of them.
    bench.advance(secs(99));
    let next = ["all", "one", "skip"].map(|name| format!("{name}@2027-01-15T08:10:00Z"));
    let mut expected = [&caught_up.map(str::to_owned)[..], &next].concat();
    expected.sort();
    assert_eq!(ids().await, expected);
}

/// Nobody looks after the queue from 08:00 on one day to 09:30 on the next.
async fn a_day_without_any_process(bench: &Bench) {
    let queue = bench.queue().await;
    for (name, missed) in [("skip", Missed::Skip), ("one", Missed::One), ("all", Missed::All(20))] {
        queue
            .put_schedule(schedule(name, cron("0 * * * *")).missed(missed).overlap())
            .await
            .unwrap();
    }
    // Overlap is for what has not ended: of many missed ticks one adds an item.
    let put = schedule("alone", cron("0 * * * *")).missed(Missed::All(20));
    queue.put_schedule(put).await.unwrap();
    bench.advance(25 * HOUR + HOUR / 2);
    let ids = tick(&queue).await;
    let of = |name: &str| ids.iter().filter(|id| id.starts_with(name)).count();
    assert_eq!(["skip", "one", "all", "alone"].map(of), [0, 1, 20, 1], "{ids:?}");
    assert!(ids.contains(&"all@2027-01-15T09:00:00Z".into()), "the earliest ones: {ids:?}");
    assert!(ids.contains(&"all@2027-01-16T04:00:00Z".into()), "{ids:?}");
    for info in queue.schedules().await.unwrap() {
        let next = info.next.map(since_1970);
        assert_eq!(
            next,
            Some(bench.now() + 1_800_000),
            "{}: the next one is no missed one",
            info.name
        );
    }
    assert_eq!(tick(&queue).await.len(), ids.len(), "once");
}

/// While one deployment replaces another, processes of both declare what they know, in any order.
async fn two_deployments_with_different_rules(bench: &Bench) {
    let (old, new) = (bench.queue().await, bench.queue().await);
    let declared = |names: &[&str], interval| -> Vec<Schedule> {
        names.iter().map(|name| schedule(name, every(secs(interval))).overlap()).collect()
    };
    let (before, after) = (declared(&["both", "old"], 60), declared(&["both", "new"], 90));
    old.sync_schedules("app", 1, before.clone()).await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..40 {
        let (queue, revision, all) = match n % 2 {
            0 => (old.clone(), 1, before.clone()),
            _ => (new.clone(), 2, after.clone()),
        };
        calls.spawn(async move { queue.sync_schedules("app", revision, all).await.map(drop) });
    }
    while let Some(call) = calls.join_next().await {
        call.unwrap().unwrap();
    }
    let late = old.sync_schedules("app", 1, before).await.unwrap();
    assert_eq!(late.outdated, ["both", "old", "new"]);
    let known: Vec<_> = new.schedules().await.unwrap();
    let shown: Vec<_> =
        known.iter().map(|it| (&*it.name, it.rule.to_string(), it.revision)).collect();
    assert_eq!(shown, [("both", "every 90000".into(), 2), ("new", "every 90000".into(), 2)]);
    bench.advance(secs(90));
    let mut ids = tick(&old).await;
    ids.sort();
    assert_eq!(ids, ["both@2027-01-15T08:01:30Z", "new@2027-01-15T08:01:30Z"]);
}

async fn a_tick_in_time_is_no_missed_one(bench: &Bench) {
    let queue = bench.queue().await;
    let put = schedule("s", every(secs(10))).missed(Missed::Skip).grace(secs(5)).overlap();
    queue.put_schedule(put).await.unwrap();
    // Those at 10, 20 and 30 s are missed, that at 40 s is 4 s late.
    bench.advance(secs(44));
    assert_eq!(tick(&queue).await, ["s@2027-01-15T08:00:40Z"]);
}

async fn an_unchanged_rule_keeps_its_phase(bench: &Bench) {
    let queue = bench.queue().await;
    let put = schedule("s", every(secs(60)));
    assert_eq!(queue.put_schedule(put.clone()).await.unwrap(), PutSchedule::Added);
    let next = only(&queue).await.next;
    bench.advance(secs(30));
    assert_eq!(queue.put_schedule(put.clone()).await.unwrap(), PutSchedule::Unchanged);
    let updated = queue.put_schedule(put.clone().grace(secs(1))).await.unwrap();
    assert_eq!((updated, only(&queue).await.next), (PutSchedule::Updated, next));
    let slower = schedule("s", every(secs(90)));
    assert_eq!(queue.put_schedule(slower).await.unwrap(), PutSchedule::Updated);
    assert_eq!(only(&queue).await.next.map(since_1970), Some(bench.now() + 90_000));
}

async fn older_revisions_are_refused(bench: &Bench) {
    let queue = bench.queue().await;
    let put = |revision| schedule("s", every(secs(60))).owner("app").revision(revision);
    assert_eq!(queue.put_schedule(put(7)).await.unwrap(), PutSchedule::Added);
    assert_eq!(queue.put_schedule(put(6)).await.unwrap(), PutSchedule::Outdated);
    assert_eq!(queue.put_schedule(put(8)).await.unwrap(), PutSchedule::Updated);
    assert_eq!(queue.put_schedule(put(7)).await.unwrap(), PutSchedule::Outdated);
    assert!(queue.remove_schedule("s").await.unwrap());
    assert!(!queue.remove_schedule("s").await.unwrap());
    assert!(queue.schedules().await.unwrap().is_empty());
    assert_eq!(queue.put_schedule(put(7)).await.unwrap(), PutSchedule::Outdated);
    assert_eq!(queue.put_schedule(put(8)).await.unwrap(), PutSchedule::Added);
    let foreign = schedule("s", every(secs(60))).owner("other").revision(9);
    let error = queue.put_schedule(foreign).await.unwrap_err();
    assert!(error.to_string().contains("belongs to \"app\""), "{error}");
}

async fn an_owner_declares_its_schedules(bench: &Bench) {
    let queue = bench.queue().await;
    queue.put_schedule(schedule("operator", every(secs(60)))).await.unwrap();
    let declare = async |revision, names: &[&str]| {
        let all = names.iter().map(|name| schedule(name, every(secs(60)))).collect();
        queue.sync_schedules("app", revision, all).await.unwrap()
    };
    assert_eq!(declare(2, &["a", "b"]).await.added, ["a", "b"]);
    let synced = declare(3, &["b", "c"]).await;
    assert_eq!(
        (synced.added, synced.updated, synced.removed),
        (vec!["c".into()], vec!["b".into()], vec!["a".into()])
    );
    let names = async || -> Vec<String> {
        queue.schedules().await.unwrap().into_iter().map(|schedule| schedule.name).collect()
    };
    assert_eq!(names().await, ["b", "c", "operator"]);
    assert_eq!(declare(3, &["b", "c"]).await.unchanged, ["b", "c"]);
    // An older deployment neither restores nor removes anything, nor adds what no newer one has had.
    assert_eq!(declare(2, &["a", "b"]).await.outdated, ["a", "b", "c"]);
    assert_eq!(declare(2, &["d"]).await.outdated, ["d", "b", "c"]);
    assert!(queue.remove_schedule("b").await.unwrap());
    assert_eq!(declare(4, &["c"]).await.updated, ["c"]);
    assert_eq!(declare(3, &["b", "c"]).await.outdated, ["b", "c"]);
    assert_eq!(names().await, ["c", "operator"]);
    for (owner, revision, problem) in [
        ("", 1, "the owner \"\" has 0 bytes, not between 1 and 128"),
        ("a\n", 1, "the owner \"a\\n\" has a control character"),
        ("app", (1 << 53) + 1, "revision 9007199254740993 is above 2^53"),
    ] {
        let error = queue.sync_schedules(owner, revision, Vec::new()).await.unwrap_err();
        assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::Invalid, problem));
    }
    assert_eq!(names().await, ["c", "operator"]);
}

/// Two deployments that start at the same time.
async fn the_newer_deployment_wins(bench: &Bench) {
    let (old, new) = (bench.queue().await, bench.queue().await);
    for round in 0..10 {
        let owner = format!("app{round}");
        let declare = async |queue: &WorkQueue, revision, name: &str| {
            let named = |i| schedule(&format!("{owner}-{name}-{i}"), every(HOUR));
            queue.sync_schedules(&owner, revision, (0..5).map(named).collect()).await.unwrap()
        };
        tokio::join!(declare(&old, 2, "old"), declare(&new, 3, "new"));
        let all = new.schedules().await.unwrap();
        let left: Vec<_> = all.iter().filter(|one| one.owner == owner).collect();
        assert!(left.len() == 5 && left.iter().all(|one| one.revision == 3), "{left:?}");
    }
}

async fn an_owner_may_replace_all_its_schedules(bench: &Bench) {
    let queue = bench.queue().await;
    for (revision, name) in [(1, "old"), (2, "new")] {
        let all = (0..600).map(|i| schedule(&format!("{name}{i}"), every(HOUR))).collect();
        let synced = queue.sync_schedules("app", revision, all).await.unwrap();
        assert_eq!(synced.added.len(), 600);
        assert_eq!(synced.removed.len(), if revision == 2 { 600 } else { 0 });
    }
    let all = queue.schedules().await.unwrap();
    assert!(all.len() == 600 && all.iter().all(|one| one.name.starts_with("new")));
}

async fn a_pause_keeps_the_phase(bench: &Bench) {
    let queue = bench.queue().await;
    let first = bench.now() + 60_000;
    let next = async || only(&queue).await.next.map(since_1970);
    queue.put_schedule(schedule("s", every(secs(60)))).await.unwrap();
    // Within an interval, and over some.
    for (seconds, due) in [(20, first), (200, first + 180_000)] {
        queue.pause_schedule("s").await.unwrap();
        bench.advance(secs(seconds / 2));
        queue.pause_schedule("s").await.unwrap();
        bench.advance(secs(seconds / 2));
        assert!(queue.resume_schedule("s").await.unwrap());
        assert_eq!(next().await, Some(due));
    }
    assert!(tick(&queue).await.is_empty());
    // Another rule begins anew.
    queue.pause_schedule("s").await.unwrap();
    queue.put_schedule(schedule("s", every(secs(50)))).await.unwrap();
    bench.advance(secs(7));
    queue.resume_schedule("s").await.unwrap();
    assert_eq!(next().await, Some(bench.now() + 50_000));
    // What was due before a pause is added.
    bench.advance(secs(55));
    queue.pause_schedule("s").await.unwrap();
    assert_eq!(tick(&queue).await.len(), 1);
    bench.advance(HOUR);
    assert_eq!(tick(&queue).await.len(), 1);
    assert_sound(&queue).await;
}

async fn a_delay_begins_with_the_tick(bench: &Bench) {
    let queue = bench.queue().await;
    let item = Item::new("data").delay(secs(10));
    queue.put_schedule(Schedule::new("s", every(secs(60)), item).overlap()).await.unwrap();
    bench.advance(secs(67));
    assert!(tick(&queue).await.is_empty());
    bench.advance(secs(2));
    assert!(tick(&queue).await.is_empty());
    bench.advance(secs(1));
    assert_eq!(tick(&queue).await.len(), 1);
    // Its time has passed already.
    bench.advance(secs(65));
    assert_eq!(tick(&queue).await.len(), 2);
}

async fn paused_schedules_and_runs_at_once(bench: &Bench) {
    let queue = bench.queue().await;
    queue.put_schedule(schedule("s", every(secs(60)))).await.unwrap();
    assert!(queue.pause_schedule("s").await.unwrap());
    assert!(only(&queue).await.paused);
    bench.advance(HOUR);
    assert!(tick(&queue).await.is_empty());
    // Putting it again does not resume it.
    queue.put_schedule(schedule("s", every(secs(30)))).await.unwrap();
    assert_eq!(only(&queue).await.next, None);
    assert!(queue.run_now("s").await.unwrap());
    assert!(queue.run_now("s").await.unwrap());
    assert_eq!(tick(&queue).await.len(), 2);
    assert!(queue.resume_schedule("s").await.unwrap());
    assert_eq!(only(&queue).await.next.map(since_1970), Some(bench.now() + 30_000));
    assert!(!queue.pause_schedule("none").await.unwrap());
    assert!(!queue.resume_schedule("none").await.unwrap());
    assert!(!queue.run_now("none").await.unwrap());
}

async fn a_paused_queue_gets_its_items(bench: &Bench) {
    let queue = bench.queue().await;
    queue.put_schedule(schedule("s", every(secs(60)))).await.unwrap();
    queue.pause().await.unwrap();
    bench.advance(secs(60));
    assert_eq!(tick(&queue).await.len(), 1);
}

/// A server may have begun with a clock that is ahead.
async fn the_clock_was_ahead(bench: &Bench) {
    let queue = bench.queue().await;
    for name in ["put", "check"] {
        let item = Item::new("data of the item");
        queue.put_schedule(Schedule::new(name, cron("0 * * * *"), item)).await.unwrap();
    }
    bench.backend().set_clock(bench.now() - 86_400_000);
    let next = async || -> Vec<u64> {
        let all = queue.schedules().await.unwrap();
        all.into_iter().map(|schedule| since_1970(schedule.next.unwrap())).collect()
    };
    let (late, early) = (bench.now() + 3_600_000, bench.now() - 86_400_000 + 3_600_000);
    assert_eq!(next().await, [late, late]);
    let same = Schedule::new("put", cron("0 * * * *"), Item::new("data of the item"));
    let updated = queue.put_schedule(same).await.unwrap();
    assert_eq!(updated, PutSchedule::Updated);
    assert_eq!(next().await, [late, early]);
    assert!(queue.check().await.unwrap().mended.is_empty());
    assert_eq!(next().await, [late, early]);
    let report = queue.deep_clean().await.unwrap();
    let late = "schedule \"check\" is due later than its rule says";
    assert!(report.details.iter().any(|line| line.contains(late)), "{:?}", report.details);
    assert_eq!(next().await, [early, early]);
    for mended in queue.schedules().await.unwrap() {
        assert_eq!(mended.data, "data of the item", "{}", mended.name);
    }
    assert_sound(&queue).await;
}

async fn dropping_the_queue_ends_its_schedules(bench: &Bench) {
    let queue = bench.queue().await;
    queue.put_schedule(schedule("s", every(secs(60)))).await.unwrap();
    assert_eq!(bench.client().await.queues().await.unwrap(), ["jobs"]);
    queue.drop_queue().await.unwrap();
    assert!(queue.schedules().await.unwrap().is_empty());
    bench.advance(HOUR);
    assert!(tick(&queue).await.is_empty());
}

async fn as_many_as_a_queue_may_have(bench: &Bench) {
    let queue = bench.queue().await;
    for i in 0..1_000 {
        queue.put_schedule(schedule(&format!("s{i:03}"), every(HOUR))).await.unwrap();
    }
    let error = queue.put_schedule(schedule("more", every(HOUR))).await.unwrap_err();
    assert!(error.to_string().contains("has 1000 schedules"), "{error}");
    assert_eq!(queue.schedules().await.unwrap().len(), 1_000);
    bench.advance(HOUR);
    queue.light_clean().await.unwrap();
    assert_eq!(queue.counts().await.unwrap().ready, 1_000);
    assert!(queue.remove_schedule("s500").await.unwrap());
    queue.put_schedule(schedule("more", every(HOUR))).await.unwrap();
}

/// An application may have new names every day.
async fn removed_schedules_keep_no_new_ones_out(bench: &Bench) {
    let queue = bench.queue().await;
    let put = |name: &str, revision| schedule(name, every(HOUR)).owner("app").revision(revision);
    for i in 0..1_000 {
        let name = format!("s{i:03}");
        queue.put_schedule(put(&name, 2)).await.unwrap();
        if i != 500 {
            assert!(queue.remove_schedule(&name).await.unwrap());
            bench.advance(ms(1));
        }
    }
    // The one that was removed first is forgotten; the others still keep an old deployment from restoring its rules.
    assert_eq!(queue.put_schedule(put("more", 1)).await.unwrap(), PutSchedule::Added);
    assert_eq!(queue.put_schedule(put("s001", 1)).await.unwrap(), PutSchedule::Outdated);
    assert_eq!(queue.put_schedule(put("s999", 1)).await.unwrap(), PutSchedule::Outdated);
    assert_eq!(queue.put_schedule(put("s000", 1)).await.unwrap(), PutSchedule::Added);
    assert_eq!(queue.put_schedule(put("s001", 1)).await.unwrap(), PutSchedule::Added);
    let names: Vec<_> = queue.schedules().await.unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["more", "s000", "s001", "s500"]);
    assert_sound(&queue).await;
}

async fn a_waiting_call_wakes_for_the_tick(bench: &Bench) {
    let queue = bench.queue_in_real_time().await;
    let other = bench.queue_in_real_time().await;
    let waits = LeaseOptions::new(secs(60)).wait(secs(60));
    let call = tokio::spawn(async move { other.lease(waits).await.unwrap().unwrap() });
    queue.put_schedule(schedule("s", every(ms(300)))).await.unwrap();
    let lease = call.await.unwrap();
    let due = since_1970(only(&queue).await.next.unwrap()) - 300;
    let added = since_1970(lease.deadline()) - 60_000;
    assert!((due..due + 150).contains(&added), "due at {due}, leased at {added}");
}

/// Callers may be on any thread.
async fn every_call_can_be_spawned(bench: &Bench) {
    let queue = bench.queue().await;
    let all = tokio::spawn(async move {
        queue.put_schedule(schedule("s", every(secs(60)))).await?;
        queue.sync_schedules("app", 1, vec![schedule("a", every(secs(60)))]).await?;
        queue.pause_schedule("s").await?;
        queue.resume_schedule("s").await?;
        queue.run_now("s").await?;
        queue.remove_schedule("s").await?;
        queue.schedules().await
    });
    assert_eq!(all.await.unwrap().unwrap().len(), 1);
}

/// Lists show schedules whose data is large.
async fn schedules_are_read_without_their_data(bench: &Bench) {
    let queue = bench.queue().await;
    let large = vec![b'\n'; 1 << 20];
    for i in 0..40 {
        let item = Item::new(&large).key("k").unique([0xff, b'\n']).delay(secs(i));
        let put = Schedule::new(format!("s{i:02}"), every(HOUR), item).owner("app").revision(2);
        queue.put_schedule(put).await.unwrap();
    }
    let without = leaseq::GetOptions::new().without_data();
    let all = queue.schedules_with(without.clone()).await.unwrap();
    assert_eq!(all.len(), 40);
    for (info, i) in all.iter().zip(0..) {
        assert_eq!((&*info.name, info.delay), (&*format!("s{i:02}"), secs(i)));
        assert_eq!(
            (info.key.as_deref(), info.unique.as_deref()),
            (Some(&b"k"[..]), Some(&[0xff, b'\n'][..]))
        );
        assert!(info.data.is_empty());
    }
    // What reads them without their data stores none of them so.
    assert_eq!(queue.sync_schedules("app", 2, Vec::new()).await.unwrap().removed.len(), 40);
    let kept = Schedule::new("kept", every(HOUR), Item::new(&large));
    queue.put_schedule(kept).await.unwrap();
    queue.deep_clean().await.unwrap();
    assert_eq!(only(&queue).await.data, large);
    assert!(queue.schedules_with(without).await.unwrap()[0].data.is_empty());
    assert_sound(&queue).await;
}

on_every_engine!(
    every_call_can_be_spawned,
    schedules_are_read_without_their_data,
    each_tick_adds_one_item,
    any_number_of_clients_tick_once,
    no_item_while_the_last_one_has_not_ended,
    missed_ticks,
    a_day_without_any_process,
    two_deployments_with_different_rules,
    a_tick_in_time_is_no_missed_one,
    an_unchanged_rule_keeps_its_phase,
    older_revisions_are_refused,
    an_owner_declares_its_schedules,
    the_newer_deployment_wins,
    an_owner_may_replace_all_its_schedules,
    a_pause_keeps_the_phase,
    a_delay_begins_with_the_tick,
    paused_schedules_and_runs_at_once,
    a_paused_queue_gets_its_items,
    dropping_the_queue_ends_its_schedules,
    as_many_as_a_queue_may_have,
    removed_schedules_keep_no_new_ones_out,
    a_waiting_call_wakes_for_the_tick,
);

#[tokio::test]
async fn the_clock_of_a_server_was_ahead() {
    the_clock_was_ahead(&redis::bench()).await;
}
