//! Every frequent statement finds its rows by an index, in the order of the index.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::database::Database;
use super::location::Location;
use super::opening::Opening;
use super::{
    add, admin, audit, audit_keys, cancel, change, clean, distribute, dropped, endings, events,
    groups, history, keys, lease, list, maintenance, open, outcomes, progress, query, settings,
    settle, succeed, successors, workers,
};
use crate::clock::Clock;
use crate::engine::{
    Awaited, Bury, ChangeGroup, Complete, EndingPlace, Extend, Fail, GroupChange, KeyLimit,
    LeaseRequest, LeaseStatus, LeasedItem, ListStep, Progress, Release, Revise, StoredBeat,
    StoredCommand, StoredName, Subject, Target, Turn, WhichEvents, WhichWorkers,
};
use crate::event::Place;
use crate::group::PlaceState;
use crate::history::{HistoryKind, Measured};
use crate::item::{Due, FollowUp, Group, Item, On, State};
use crate::name::QueueName;
use crate::pause::PauseOptions;
use crate::settings::{Configure, Setting};

/// Cancels an item in each way.
fn cancel_all(db: &mut Database, name: &QueueName) {
    let items = [12, 13, 14].map(|id| Item::new([id; 2_000]).with_id([id, id]));
    let [plain, retained, leased] = items.map(|item| item.retain(Duration::from_secs(1)));
    let plain = plain.retain(Duration::ZERO);
    add::add(db, name, &[plain, retained, leased.priority(9)]).unwrap();
    let wanted = [LeaseRequest { count: 1, duration_ms: 1 }];
    let token = lease::lease(db, name, &wanted).unwrap().items[0].token;
    let target = |id: u8| Target { id: vec![id, id].into(), generation: None };
    let answers = cancel::cancel(db, name, &[12, 13, 14].map(target)).unwrap();
    assert_eq!(answers, [Some(true); 3]);
    let found = cancel::cancellations(db, name, &[token]).unwrap();
    assert_eq!(found.leases, [LeaseStatus::Cancelled]);
    let fail = Fail {
        token,
        id: Bytes::new(),
        delay_ms: 1,
        dead: false,
        error: "no".into(),
        add: Default::default(),
    };
    assert_eq!(settle::fail(db, name, &[fail]).unwrap(), [Some(State::Cancelled)]);
}

/// Leases items with keys in each way.
fn use_keys(db: &mut Database, name: &QueueName) {
    let item = |id: u8| Item::new([id; 3]).with_id([id, id, id]).key("key");
    let limit = |limit| KeyLimit { key: "key".into(), limit };
    let wanted = [LeaseRequest { count: 4, duration_ms: 1_000 }];
    keys::set_limits(db, name, &[limit(Some(2)), limit(None)]).unwrap();
    add::add(db, name, &[1, 2, 3, 4, 5].map(item)).unwrap();
    let leases = lease::lease(db, name, &wanted).unwrap().items;
    assert_eq!(leases.len(), 1);
    keys::set_limits(db, name, &[limit(Some(2))]).unwrap();
    assert!(lease::peek(db, name).unwrap().is_none());
    let more = lease::lease(db, name, &wanted).unwrap().items;
    assert_eq!(more.len(), 1);
    assert_eq!(keys::get(db, name, &["key".into()]).unwrap()[0].leased, 2);
    let complete = |leased: &LeasedItem, retain_ms| Complete {
        token: leased.token,
        id: leased.id.clone(),
        strict: false,
        added_with: leased.added_with.clone(),
        retain_ms,
        result: None,
        add: Default::default(),
        data_len: 0,
    };
    let completes = [complete(&leases[0], None), complete(&more[0], Some(1))];
    assert_eq!(settle::complete(db, name, &completes).unwrap(), [true; 2]);
    let queue = db.queue(name).unwrap().unwrap();
    settings::raise(db, queue).unwrap();
    assert!(keys::is_raised(db, queue).unwrap());
    assert_eq!(lease::lease(db, name, &wanted).unwrap().items.len(), 2);
    for from in [None, Some(Vec::new())] {
        audit_keys::held_keys(db, name, from.unwrap_or_default(), true, &mut Default::default())
            .unwrap();
    }
    audit_keys::open_keys(db, name, Vec::new(), true, &mut Default::default()).unwrap();
    audit_keys::key_meters(db, name, Vec::new(), true, &mut Default::default()).unwrap();
    audit_keys::key_limits(db, name, Vec::new(), true, &mut Default::default()).unwrap();
    admin::purge(db, name, State::Leased, 10, None).unwrap();
    admin::purge(db, name, State::Held, 10, None).unwrap();
    assert!(lease::lease(db, name, &wanted).unwrap().items.is_empty());
}

/// Beats, commands and lists; writes and reads a history.
fn observe(db: &mut Database, name: &QueueName) {
    let worker = StoredName { name: "w".into(), instance: "1".into() };
    let beat = |body: &'static str| StoredBeat {
        worker: worker.clone(),
        body: body.into(),
        acknowledged: vec![1],
    };
    let command = StoredCommand { number: 1, text: "stop".into() };
    workers::beat(db, &beat("{}")).unwrap();
    assert!(workers::command(db, &worker, &command).unwrap());
    for name in [None, Some("w".to_owned())] {
        let which = WhichWorkers { after: None, name, limit: 10 };
        assert_eq!(workers::read(db, &which).unwrap().found[0].commands.len(), 1);
    }
    assert!(workers::beat(db, &beat("{}")).unwrap().commands.is_empty());
    workers::set_quiet(db, "w", false).unwrap();
    workers::beat(db, &beat("")).unwrap();
    let mut measured = Measured::default();
    for _ in 0..2 {
        measured.run.record(1);
        assert!(history::record(db, name, &measured).unwrap());
    }
    assert_eq!(history::read(db, name, HistoryKind::Hours, 0).unwrap().len(), 1);
}

/// A group in each state.
fn use_groups(db: &mut Database, name: &QueueName) {
    let change = |change| ChangeGroup { id: "g".into(), change };
    let follow_up = FollowUp::new(On::Ended, Item::new("x").with_id("group-then"));
    let item = Item::new([]).with_id("g").follow_up(follow_up);
    let create = change(GroupChange::Create(Box::new(item)));
    let generation = groups::change(db, name, &create).unwrap().unwrap();
    let group = Group { queue: name.clone(), id: "g".into(), generation };
    let member = Item::new("m").with_id("member").in_group(&group, 501);
    let refused = member.clone().in_group(&group, 502).unique("member");
    add::add(db, name, &[member, refused]).unwrap();
    let target = || Target { id: "member".into(), generation: None };
    let bury = Bury { target: target(), error: "no".into() };
    change::bury(db, name, &[bury]).unwrap();
    admin::requeue(db, name, &[target()]).unwrap();
    admin::remove(db, name, &[target()]).unwrap();
    let seal = change(GroupChange::Seal { generation, places: 600 });
    assert!(groups::change(db, name, &seal).unwrap().is_some());
    let found = groups::read(db, name, b"g", 500, 10).unwrap().unwrap();
    assert_eq!((found.ended, &found.states[1..3]), (2, &[PlaceState::Ended; 2][..]));
    let remove = change(GroupChange::Remove { generation });
    assert!(groups::change(db, name, &remove).unwrap().is_some());
    let create = change(GroupChange::Create(Box::new(Item::new([]).with_id("g"))));
    let generation = groups::change(db, name, &create).unwrap().unwrap();
    let group = Group { queue: name.clone(), id: "g".into(), generation };
    let member = |id: &'static str| [Item::new("m").with_id(id).in_group(&group, 0)];
    distribute::add(db, name, &member("member")).unwrap();
    let cancel = change(GroupChange::Cancel { generation });
    assert!(groups::change(db, name, &cancel).unwrap().is_some());
    distribute::add_pending(db).unwrap();
    distribute::add(db, name, &member("late")).unwrap();
    let found = groups::read(db, name, b"g", 0, 10).unwrap().unwrap();
    assert_eq!(found.states[0], PlaceState::Ended);
    // Both are retained as cancelled.
    assert_eq!(cancel::cancel(db, name, &[target()]).unwrap(), [Some(false)]);
}

/// Keeps events, and reads them.
fn keep_events(db: &mut Database, name: &QueueName) {
    let change = |most| Configure { changes: vec![(Setting::Events, most)], revision: None };
    settings::configure(db, name, &change(10)).unwrap();
    let item = |id: &'static str| Item::new("x").with_id(id);
    assert_eq!(add::add(db, name, &[item("event"), item("event 2")]).unwrap(), [true, true]);
    admin::purge(db, name, State::Ready, 1, None).unwrap();
    db.write_events().unwrap();
    let which = |after| WhichEvents { after, limit: 10 };
    let page = events::read(db, name, &which(Place::Start)).unwrap();
    assert!(page.events.len() >= 3);
    assert!(events::read(db, name, &which(page.cursor.0)).unwrap().events.is_empty());
    settings::configure(db, name, &change(0)).unwrap();
}

/// Stores successors, and lets them follow, drops them, and finds one whose item is not leased.
fn use_successors(db: &mut Database, name: &QueueName) {
    let first = |id: &'static str| Item::new("x").with_id(id).unique(id);
    let next = |id: &'static str, unique: &'static str| {
        let next = Item::new(vec![0; 2_000]).with_id(id).unique(unique).replace().successor();
        next.follow_up(FollowUp::new(On::Ended, Item::new("x").with_id("over")))
    };
    add::add(db, name, &["s1", "s2", "s3"].map(first)).unwrap();
    let wanted = [LeaseRequest { count: 3, duration_ms: 1_000 }];
    let leases = lease::lease(db, name, &wanted).unwrap().items;
    for _ in 0..2 {
        let all = [next("s1", "s4"), next("other", "s2"), next("s3", "s3")];
        assert_eq!(add::add(db, name, &all).unwrap(), [true; 3]);
    }
    assert_eq!(add::add(db, name, &[first("other")]).unwrap(), [false]);
    let release =
        |n: usize| Release { token: leases[n].token, id: Bytes::new(), delay_ms: 0, reason: None };
    assert_eq!(settle::release(db, name, &[release(0)]).unwrap(), [true]);
    let target = Target { id: "s2".into(), generation: None };
    assert_eq!(admin::remove(db, name, &[target]).unwrap(), [true]);
    let third = leases[2].token.generation.count;
    db.execute(&format!("UPDATE item SET state = 3 WHERE number = {third}")).unwrap();
    let mut report = Default::default();
    succeed::audit(db, name, 0, true, &mut report).unwrap();
    assert!(!report.is_sound());
    let queue = db.queue(name).unwrap().unwrap();
    successors::delete_some(db, queue, 1).unwrap();
}

/// Runs every operation; returns the text of every statement.
fn statements(db: &mut Database) -> BTreeSet<String> {
    let name = QueueName::new("jobs").unwrap();
    let wanted = [LeaseRequest { count: 4, duration_ms: 1 }];
    let items: Vec<Item> = (0..20u8).map(|n| Item::new([n; 2_000]).with_id([n + 1])).collect();
    add::add(db, &name, &items).unwrap();
    for _ in 0..2 {
        let unique = Item::new("x").with_id("unique").unique("key").retain(Duration::from_secs(1));
        add::add(db, &name, &[unique.unique_for(Duration::from_millis(1)).replace()]).unwrap();
    }
    assert!(lease::peek(db, &name).unwrap().is_none());
    let leases = lease::lease(db, &name, &wanted).unwrap().items;
    let [a, b, c, d] = [0, 1, 2, 3].map(|n: usize| leases[n].token);
    settle::extend(db, &name, &[Extend { token: a, duration_ms: 1 }]).unwrap();
    let half = Progress { token: a, value: "half".into() };
    assert_eq!(progress::set_progress(db, &name, &[half]).unwrap(), [true]);
    settle::release(
        db,
        &name,
        &[Release { token: a, id: Bytes::new(), delay_ms: 1, reason: None }],
    )
    .unwrap();
    settle::fail(
        db,
        &name,
        &[Fail {
            token: b,
            id: Bytes::new(),
            delay_ms: 1,
            dead: false,
            error: "no".into(),
            add: Default::default(),
        }],
    )
    .unwrap();
    for (token, strict) in [(c, false), (d, true)] {
        let retain_ms = Some(u64::from(strict));
        let result = Some("done".into());
        let id = Bytes::new();
        let (added_with, data_len) = (None, 0);
        let complete = Complete {
            token,
            id,
            strict,
            added_with,
            retain_ms,
            result,
            data_len,
            add: Default::default(),
        };
        settle::complete(db, &name, &[complete]).unwrap();
    }
    lease::lease(db, &name, &wanted).unwrap();
    db.now += 100;
    let _ = clean::nothing_due(db, &name).unwrap();
    clean::light_clean(db, &name).unwrap();
    cancel_all(db, &name);
    use_keys(db, &QueueName::new("keys").unwrap());
    use_successors(db, &QueueName::new("successors").unwrap());
    for state in State::ALL {
        for (reverse, with_data) in [(false, true), (true, false)] {
            let (since_ms, until_ms) = (Some(1), Some(1 << 60));
            let begin =
                ListStep { state, cursor: None, reverse, limit: 10, with_data, since_ms, until_ms };
            list::list(db, &name, &begin).unwrap();
            let cursor = Some(begin.cursor_at("3:0:9".into()));
            list::list(db, &name, &ListStep { cursor, ..begin }).unwrap();
        }
        admin::purge(db, &name, state, 2, None).unwrap();
    }
    let short = |id: &str| Item::new("x").with_id(id).expires_in(Duration::from_millis(1));
    add::add(db, &name, &(0..600).map(|i| short(&format!("short {i}"))).collect::<Vec<_>>())
        .unwrap();
    let leased = lease::lease(db, &name, &wanted).unwrap().items;
    db.now += 10;
    lease::lease(db, &name, &wanted).unwrap();
    let token = leased[0].token;
    settle::release(db, &name, &[Release { token, id: Bytes::new(), delay_ms: 0, reason: None }])
        .unwrap();
    let changes = Setting::ALL.map(|setting| (setting, 1)).to_vec();
    let change = Configure { changes, revision: None };
    assert!(settings::configure(db, &name, &change).unwrap().is_some());
    let pause = PauseOptions::new().duration(Duration::from_millis(1)).validate().unwrap();
    settings::set_paused(db, &name, &pause).unwrap();
    let dead = items.iter().rev().take(4).map(|item| Bury {
        target: Target { id: Bytes::copy_from_slice(item.id()), generation: None },
        error: "".into(),
    });
    change::bury(db, &name, &dead.collect::<Vec<_>>()).unwrap();
    let _ = clean::nothing_due(db, &name).unwrap();
    db.now += 10;
    clean::light_clean(db, &name).unwrap();
    settings::check(db, &name, true, &mut Default::default()).unwrap();
    query::counts(db, &name).unwrap();
    observe(db, &name);
    keep_events(db, &name);
    let ids = [1, 7].map(|id| Bytes::from(vec![id]));
    query::get(db, &name, &ids, true).unwrap();
    query::get(db, &name, &ids, false).unwrap();
    let target = |id: u8| Target { id: Bytes::copy_from_slice(&[id]), generation: None };
    admin::remove(db, &name, &[target(9)]).unwrap();
    admin::requeue(db, &name, &[target(8)]).unwrap();
    change::bury(db, &name, &[Bury { target: target(10), error: "".into() }]).unwrap();
    for data in [None, Some(Bytes::new()), Some(vec![0; 2_000].into())] {
        let (target, due) = (target(11), Some(Due::After(0)));
        let revise = Revise { target, data, priority: None, due, max_attempts: None };
        assert_eq!(change::revise(db, &name, &[revise]).unwrap(), [Some(true)]);
    }
    audit::items(db, &name, 0, true, &mut Default::default()).unwrap();
    for table in ["large", "extra"] {
        audit::belongings(db, table, 0, true, &mut Default::default()).unwrap();
    }
    let id = |id: u8| Bytes::copy_from_slice(&[id]);
    let awaited = [Subject::Item(id(1)), Subject::Item(id(200)), Subject::Group(id(1))]
        .map(|subject| Awaited { subject, expect: true });
    outcomes::await_outcomes(db, &name, &awaited, Duration::from_secs(1), None).unwrap();
    add::add(db, &name, &[Item::new("x").with_id([200])]).unwrap();
    admin::remove(db, &name, &[target(200)]).unwrap();
    assert_eq!(endings::reports(db, &name, EndingPlace(0, 0)).unwrap().reports.len(), 1);
    assert!(!outcomes::needs_sweep(db).unwrap());
    outcomes::sweep(db).unwrap();
    outcomes::audit(db, true, &mut Default::default()).unwrap();
    audit::unique_keys(db, &name, Vec::new(), true, &mut Default::default()).unwrap();
    audit::wrong_counts(db, &name).unwrap();
    maintenance::next_due(db, &name).unwrap();
    for turn in [Turn::Take { interval: Duration::ZERO }, Turn::Keep, Turn::Done, Turn::Drop] {
        maintenance::deep_turn(db, &name, turn).unwrap();
    }
    let queue = db.queue(&name).unwrap().unwrap();
    use_groups(db, &name);
    dropped::detach(db, &name, queue, false, false).unwrap();
    while let Some(queue) = dropped::next(db, &BTreeSet::new()).unwrap() {
        dropped::sweep(db, queue).unwrap();
    }
    assert!(db.queue(&name).unwrap().is_none());
    db.statements.take()
}

#[test]
fn statements_use_indexes() {
    let location = Location { path: None, full: true };
    let opening = Opening::new(location, Clock::machine(), Duration::from_secs(1));
    let mut db = open::open(&opening).unwrap();
    db.begin_write(Instant::now() + Duration::from_secs(1)).unwrap();
    let statements = statements(&mut db);
    db.end_write(Ok(())).unwrap();
    assert!(statements.len() > 30, "{}", statements.len());
    for sql in statements.iter().filter(|sql| !sql.starts_with("PRAGMA")) {
        let plan: Vec<String> = db
            .run(&format!("EXPLAIN QUERY PLAN {sql}"), |statement| {
                let values = vec![1; statement.parameter_count()];
                let rows = statement.query_map(rusqlite::params_from_iter(values), |r| r.get(3))?;
                rows.collect()
            })
            .unwrap();
        for step in &plan {
            // The one row of meta, and a walk in the order of the numbers.
            let is_list = step.starts_with("SCAN json_each VIRTUAL TABLE");
            let whole = is_list
                || step == "SCAN meta"
                || (step == "SCAN item" && sql.contains("NOT EXISTS"));
            let bad = step.starts_with("SCAN") && !whole
                || step.contains("TEMP B-TREE")
                || step.contains("item_id (queue=?)");
            assert!(!bad, "{sql}\n{plan:#?}");
        }
    }
}
