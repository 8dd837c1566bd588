//! Rows that something else has changed: none of them keeps anybody from the others, `check` finds them,
//! and they can be removed.

use std::time::Duration;

use leaseq::{
    Damage, ErrorKind, Item, LeaseOptions, Rate, Revision, SettingsChange, State, WorkQueue,
};
use rusqlite::Connection;

use crate::support::{Place, assert_sound, at_once, item, ms};

/// What to do to the row of the item `bad`, what `check` finds, and whether the item can be given to
/// anybody then.
struct Case {
    hurt: &'static str,
    finds: Damage,
    readable: bool,
}

const fn record(hurt: &'static str) -> Case {
    Case { hurt, finds: Damage::BadRecord, readable: false }
}

const fn details(hurt: &'static str) -> Case {
    Case { hurt, finds: Damage::BadDetails, readable: true }
}

const CASES: &[Case] = &[
    record("DELETE FROM large"),
    record("UPDATE large SET data = 'text'"),
    record("UPDATE item SET id = x'' WHERE id = x'626164'"),
    record("UPDATE item SET id = zeroblob(600) WHERE id = x'626164'"),
    record("UPDATE item SET id = NULL WHERE id = x'626164'"),
    record("UPDATE item SET id = 'bad' WHERE id = x'626164'"),
    record("UPDATE item SET data = 5 WHERE id = x'626164'"),
    details("UPDATE item SET priority = 77 WHERE id = x'626164'"),
    details("UPDATE item SET priority = -1 WHERE id = x'626164'"),
    details("UPDATE item SET priority = 'high' WHERE id = x'626164'"),
    details("UPDATE item SET priority = NULL WHERE id = x'626164'"),
    details("UPDATE item SET max_attempts = 1 << 40 WHERE id = x'626164'"),
    details("UPDATE item SET max_attempts = -3 WHERE id = x'626164'"),
    details("UPDATE item SET failures = -1 WHERE id = x'626164'"),
    details("UPDATE item SET expiries = 1 << 33 WHERE id = x'626164'"),
    details("UPDATE item SET deliveries = -1 WHERE id = x'626164'"),
    details("UPDATE item SET deliveries = 1.5 WHERE id = x'626164'"),
    details("UPDATE item SET front = 9 WHERE id = x'626164'"),
    details("UPDATE item SET added_at = NULL WHERE id = x'626164'"),
    details("UPDATE item SET since = 'noon' WHERE id = x'626164'"),
    details("UPDATE item SET error = NULL WHERE id = x'626164'"),
    details("UPDATE item SET error = 4 WHERE id = x'626164'"),
];

/// Runs this on the file as if its columns had no types.
fn hurt(place: &Place, sql: &str) {
    let connection = Connection::open(place.file()).unwrap();
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    let strict = |from: &str, to: &str| {
        let change = format!(
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}')
             WHERE name IN ('item', 'large', 'extra', 'unique_key', 'open_key', 'key_limit', 'queue'); PRAGMA writable_schema = RESET;"
        );
        connection.execute_batch(&change).unwrap();
    };
    // A column without a type keeps what it gets.
    const CHANGES: [(&str, &str); 6] = [
        (") STRICT", ") /*any*/"),
        ("INTEGER NOT NULL", "BLOB /*integer*/"),
        ("TEXT NOT NULL", "BLOB /*text*/"),
        ("BLOB NOT NULL", "BLOB /*blob*/"),
        ("unique_key BLOB", "unique_key /*key*/"),
        ("ended_at   INTEGER", "ended_at /*time*/"),
    ];
    for (from, to) in CHANGES {
        strict(from, to);
    }
    connection.execute_batch(sql).unwrap();
    for (from, to) in CHANGES {
        strict(to, from);
    }
}

async fn ids(queue: &WorkQueue) -> Vec<String> {
    let leases = queue.lease_many(1_000, at_once()).await.unwrap();
    let ids = leases.iter().map(|lease| lease.id_str().unwrap().to_owned()).collect();
    assert_eq!(queue.complete_many(&leases).await.unwrap(), vec![true; leases.len()]);
    ids
}

fn found(report: &leaseq::DeepReport, damage: Damage) -> u64 {
    report.found.get(&damage).copied().unwrap_or(0)
}

const STATES: [State; 4] = [State::Ready, State::Delayed, State::Leased, State::Dead];

#[tokio::test]
async fn no_row_keeps_anybody_from_the_others() {
    for (case, state) in CASES.iter().flat_map(|case| STATES.map(|state| (case, state))) {
        let what = format!("{} while {state:?}", case.hurt);
        let place = Place::new();
        let queue = place.queue().await;
        let bad = Item::new(vec![b'x'; 2_000]).with_id("bad").max_attempts(1_000);
        let bad = if state == State::Delayed { bad.delay(ms(1)) } else { bad };
        let bad = if state == State::Dead { bad.max_attempts(1) } else { bad };
        queue.add_item(bad).await.unwrap();
        match state {
            State::Leased => {
                let options = LeaseOptions::new(ms(1)).wait(Duration::ZERO);
                assert!(queue.lease(options).await.unwrap().is_some());
            }
            State::Dead => {
                let lease = queue.lease(at_once()).await.unwrap().unwrap();
                queue.fail(&lease, "broken", Duration::ZERO).await.unwrap();
            }
            _ => {}
        }
        queue.add_items(["a", "b", "c"].map(item)).await.unwrap();
        hurt(&place, case.hurt);
        let queue = place.queue().await;

        let report = queue.check().await.unwrap();
        // SQLite may find it as well.
        assert!(found(&report, case.finds) >= 1, "{what}: {:?}", report.details);
        // Whoever looks passes it over.
        for state in State::ALL {
            queue.list(state, None, 1_000).await.unwrap();
        }
        // Both engines say so to whoever asks for this very item.
        match queue.get("bad").await {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::Internal, "{what}: {error}"),
        }
        tokio::time::sleep(ms(3)).await;
        queue.light_clean().await.unwrap();
        let came = ids(&queue).await;
        let expected: &[&str] = match (case.readable, state) {
            (false, _) | (true, State::Dead) => &["a", "b", "c"],
            (true, State::Delayed) => &["a", "b", "c", "bad"],
            (true, _) => &["bad", "a", "b", "c"],
        };
        if case.hurt.contains("priority = 77") || case.hurt.contains("priority = -1") {
            // It stands where its priority was.
            assert_eq!(came.len(), expected.len(), "{what}");
        } else {
            assert_eq!(came, expected, "{what}");
        }
        assert_eq!(ids(&queue).await, [""; 0], "{what}");
        queue.add_item(item("next")).await.unwrap();
        assert_eq!(ids(&queue).await, ["next"], "{what}");
        // What nobody can be given is dead, for operators to see and to remove.
        let counts = queue.counts().await.unwrap();
        let dead = u64::from(!case.readable || state == State::Dead);
        assert_eq!((counts.ready, counts.leased, counts.dead), (0, 0, dead), "{what}");
        queue.deep_clean().await.unwrap();
        assert_eq!(queue.purge(State::Dead).await.unwrap(), dead, "{what}");
        queue.deep_clean().await.unwrap();
        assert_sound(&queue).await;
    }
}

#[tokio::test]
async fn thousands_of_rows_at_the_front_keep_nobody_from_what_is_behind_them() {
    let place = Place::new();
    let queue = place.queue().await;
    let bad = (0..5_000).map(|n| Item::new(vec![b'x'; 1_100]).with_id(format!("bad {n}")));
    queue.add_items(bad).await.unwrap();
    queue.add_items((0..1_000).map(|n| item(format!("good {n}")))).await.unwrap();
    hurt(&place, "DELETE FROM large");
    // One that waits gets something in its first call.
    let options = LeaseOptions::new(Duration::from_secs(60)).wait(Duration::from_secs(20));
    let mut leases = Vec::new();
    while leases.len() < 1_000 {
        let more = queue.lease_many(1_000, options.clone()).await.unwrap();
        assert!(!more.is_empty() && more.iter().all(|lease| lease.data().starts_with(b"good")));
        leases.extend(more);
    }
    // The next ones are not held up by them any more.
    queue.add_item(item("next")).await.unwrap();
    assert_eq!(ids(&queue).await, ["next"]);
    assert_eq!(queue.counts().await.unwrap().dead, 5_000);
    let report = queue.check().await.unwrap();
    assert_eq!(found(&report, Damage::BadRecord), 5_000);
    assert!(queue.remove("bad 17").await.unwrap());
    assert_eq!(queue.purge(State::Dead).await.unwrap(), 4_999);
    assert_sound(&queue).await;
}

#[tokio::test]
async fn items_in_no_state_and_in_no_place_are_mended() {
    for (sql, finds) in [
        ("UPDATE item SET state = 7", Damage::Stray),
        ("UPDATE item SET state = 'ready'", Damage::Stray),
        ("UPDATE item SET sort_key = 'first'", Damage::Stray),
        ("UPDATE item SET sort_key = -20", Damage::Stray),
        ("UPDATE item SET position = NULL", Damage::Stray),
        ("UPDATE item SET state = 1, sort_key = 'soon'", Damage::BadTime),
        ("UPDATE item SET state = 1, sort_key = NULL", Damage::BadTime),
        ("UPDATE item SET state = 2, sort_key = 1.5", Damage::BadTime),
        ("UPDATE item SET state = 1, sort_key = 1 << 60", Damage::BadTime),
    ] {
        let place = Place::new();
        let queue = place.queue().await;
        queue.add_item(item("bad")).await.unwrap();
        hurt(&place, &format!("{sql} WHERE id = x'626164'"));
        let queue = place.queue().await;
        queue.add_item(item("good")).await.unwrap();
        let report = queue.check().await.unwrap();
        assert_eq!(found(&report, finds), 1, "{sql}: {:?}", report.details);
        assert!(report.mended.is_empty());
        // Nobody turns pages for ever.
        for state in State::ALL {
            let mut cursor = None;
            for pages in 0.. {
                assert!(pages < 10, "{sql}: a listing without an end");
                let page = queue.list(state, cursor.as_ref(), 1).await.unwrap();
                cursor = page.cursor;
                if cursor.is_none() {
                    break;
                }
            }
        }
        let report = queue.deep_clean().await.unwrap();
        assert_eq!(report.mended.get(&finds), Some(&1), "{sql}");
        assert_sound(&queue).await;
        let mut came = ids(&queue).await;
        came.sort();
        assert_eq!(came, ["bad", "good"], "{sql}");
        assert_sound(&queue).await;
    }
}

#[tokio::test]
async fn what_belongs_to_no_item_is_deleted_and_a_lost_key_comes_back() {
    for (sql, finds) in [
        ("INSERT INTO extra (number, retain) VALUES (77, 5)", Damage::DanglingDetails),
        ("INSERT INTO unique_key SELECT queue, x'78', 77, 0 FROM item", Damage::BadUnique),
        ("DELETE FROM unique_key", Damage::BadUnique),
        ("UPDATE unique_key SET number = 77", Damage::BadUnique),
        ("UPDATE unique_key SET number = 'one'", Damage::BadUnique),
        ("UPDATE unique_key SET until = 'noon'", Damage::BadUnique),
        ("UPDATE unique_key SET key = 'k', until = 1", Damage::BadUnique),
    ] {
        let place = Place::new();
        let queue = place.queue().await;
        queue.add_item(item("a").unique("k").retain(Duration::from_secs(9))).await.unwrap();
        hurt(&place, sql);
        let queue = place.queue().await;
        queue.light_clean().await.unwrap();
        let report = queue.check().await.unwrap();
        assert!(found(&report, finds) >= 1, "{sql}: {:?}", report.details);
        let report = queue.deep_clean().await.unwrap();
        assert!(report.mended[&finds] >= 1, "{sql}");
        assert_sound(&queue).await;
        assert!(!queue.add_item(item("b").unique("k")).await.unwrap(), "{sql}");
        assert!(queue.add_item(item("c").unique("x")).await.unwrap(), "{sql}");
    }
}

/// Whatever is in the tables of keys, held items are leased, and a deep clean mends it.
#[tokio::test]
async fn keys_that_were_changed_are_mended() {
    for (sql, finds, taken) in [
        ("DELETE FROM open_key", Damage::BadKey, 0),
        ("UPDATE open_key SET position = 1 << 61", Damage::BadKey, 1),
        ("UPDATE open_key SET position = 'x'", Damage::BadKey, 0),
        ("UPDATE open_key SET sort_key = NULL", Damage::BadKey, 0),
        ("UPDATE open_key SET key = 'k'", Damage::BadKey, 0),
        ("INSERT INTO key_limit SELECT queue, x'6b', 'many' FROM queue", Damage::BadSettings, 1),
        ("INSERT INTO key_limit SELECT queue, x'6b', 0 FROM queue", Damage::BadSettings, 1),
        ("INSERT INTO key_limit SELECT queue, 'k', 5 FROM queue", Damage::BadSettings, 1),
        ("UPDATE item SET key = NULL WHERE state = 6", Damage::Stray, 0),
        ("UPDATE item SET key = 'k' WHERE state = 6", Damage::BadDetails, 0),
        ("UPDATE item SET key = zeroblob(129) WHERE state = 6", Damage::BadDetails, 0),
        ("UPDATE item SET position = 'x' WHERE id = x'62'", Damage::Stray, 1),
        ("UPDATE item SET sort_key = NULL WHERE id = x'62'", Damage::Stray, 1),
        ("UPDATE queue SET held = held + 1", Damage::BadCount, 1),
        ("UPDATE queue SET held = 0", Damage::BadCount, 1),
    ] {
        let place = Place::new();
        let queue = place.queue().await;
        queue.add_items(["a", "b", "c"].map(|id| item(id).key("k"))).await.unwrap();
        let lease = queue.lease(at_once()).await.unwrap().unwrap();
        assert!(queue.lease(at_once()).await.unwrap().is_none());
        assert!(queue.complete(&lease).await.unwrap());
        hurt(&place, sql);
        let queue = place.queue().await;
        let report = queue.check().await.unwrap();
        assert!(found(&report, finds) >= 1, "{sql}: {:?}", report.details);
        let held = queue.list(State::Held, None, 9).await.unwrap().items;
        assert!(held.len() <= 2, "{sql}");
        // Nothing of it keeps others waiting.
        let early = queue.lease(at_once()).await.unwrap();
        assert_eq!(early.is_some(), taken == 1, "{sql}");
        queue.add_item(item("other").priority(9)).await.unwrap();
        assert_eq!(ids(&queue).await.last().map(String::as_str), Some("other"), "{sql}");
        queue.deep_clean().await.unwrap();
        assert_sound(&queue).await;
        if let Some(lease) = early {
            assert!(queue.complete(&lease).await.unwrap());
        }
        assert!(queue.lease(at_once()).await.unwrap().is_some(), "{sql}");
        assert_sound(&queue).await;
    }
}

/// What a row of `extra` has may be of any type.
#[tokio::test]
async fn an_unreadable_extra_row_keeps_nobody_from_looking() {
    for column in
        ["retain = 'long'", "unique_key = 5", "ended_at = 'noon'", "result = 7", "progress = 3"]
    {
        let place = Place::new();
        let queue = place.queue().await;
        queue
            .add_items(["a", "b"].map(|id| item(id).retain(Duration::from_secs(999))))
            .await
            .unwrap();
        let lease = queue.lease(at_once()).await.unwrap().unwrap();
        assert!(queue.complete(&lease).await.unwrap());
        hurt(&place, &format!("UPDATE extra SET {column}"));
        let queue = place.queue().await;
        assert_eq!(
            queue.get_many(["a", "b"]).await.unwrap().iter().flatten().count(),
            2,
            "{column}"
        );
        for state in [State::Ready, State::Completed] {
            assert_eq!(queue.list(state, None, 9).await.unwrap().items.len(), 1, "{column}");
        }
        queue.deep_clean().await.unwrap();
        let lease = queue.lease(at_once()).await.unwrap().unwrap();
        queue.set_progress(&lease, "half").await.unwrap();
        let info = queue.get("b").await.unwrap().unwrap();
        assert_eq!(info.progress.as_deref(), Some(&b"half"[..]), "{column}");
        assert!(queue.complete(&lease).await.unwrap());
    }
}

/// Nor whatever a row of an item that expires has.
#[tokio::test]
async fn an_unreadable_time_keeps_nobody_from_working() {
    for column in [
        "expires_at = 'noon'",
        "expires_at = 5",
        "expires_at = -9223372036854775807 - 1",
        "expires_at = 9223372036854775807",
        "retain = 'long'",
        "unique_key = 5",
        "ended_at = 'noon'",
        "result = 7",
        "progress = 3",
        "queue = 'x'",
    ] {
        let place = Place::new();
        let queue = place.queue().await;
        let items = ["failed", "released", "done", "ready"]
            .map(|id| item(id).unique(id).expires_in(Duration::from_secs(999)));
        queue.add_items(items).await.unwrap();
        let [failed, released, done] = &queue.lease_many(3, at_once()).await.unwrap()[..] else {
            panic!("three leases")
        };
        hurt(&place, &format!("UPDATE extra SET {column}"));
        let queue = place.queue().await;
        let (again, other) = (queue.get("failed").await, queue.get("ready").await);
        assert!(again.unwrap().is_some() && other.unwrap().is_some(), "{column}");
        queue.light_clean().await.unwrap();
        let old = place.queue().await;
        old.fail(failed, "no", Duration::ZERO).await.unwrap();
        old.release(released, Duration::ZERO).await.unwrap();
        assert!(old.complete(done).await.unwrap(), "{column}");
        queue.light_clean().await.unwrap();
        queue.deep_clean().await.unwrap();
        assert!(queue.lease(at_once()).await.unwrap().is_some(), "{column}");
        queue.requeue(["failed", "released", "ready"]).await.unwrap();
    }
}

/// The smallest and largest numbers, where times and counts stand. Debug builds check arithmetic.
#[tokio::test]
async fn no_number_in_the_file_makes_a_call_panic() {
    const FIELDS: [&str; 14] = [
        "item SET added_at",
        "item SET since",
        "item SET sort_key",
        "item SET position",
        "item SET state = 1, position = 0, sort_key",
        "item SET state = 2, position = 0, sort_key",
        "item SET deliveries",
        "meta SET clock",
        "meta SET sequence",
        "meta SET changes",
        "queue SET ready0",
        "queue SET ready5",
        "queue SET leased",
        "queue SET corrected",
    ];
    for (field, value) in FIELDS.iter().flat_map(|field| {
        ["-9223372036854775807 - 1", "9223372036854775807"].map(|value| (field, value))
    }) {
        let what = format!("{field} = {value}");
        let place = Place::new();
        let queue = place.queue().await;
        queue.add_items(["bad", "good"].map(item)).await.unwrap();
        hurt(&place, &format!("UPDATE {what}"));
        let queue = place.queue().await;
        // Whatever they say: none of them panics, and none keeps the next one from its transaction.
        let fine = |error: Option<leaseq::Error>| {
            let text = error.map_or_else(String::new, |error| error.to_string());
            let bad = ["panic", "no thread", "transaction within"];
            assert!(!bad.iter().any(|bad| text.contains(bad)), "{what}: {text}");
        };
        fine(queue.check().await.err());
        fine(queue.counts().await.err());
        fine(queue.add_item(item("new")).await.err());
        for state in State::ALL {
            fine(queue.list(state, None, 1_000).await.err());
        }
        fine(queue.light_clean().await.err());
        fine(queue.revise("bad", Revision::new().data("new").delay(ms(0))).await.err());
        fine(queue.bury(["bad"], "").await.err());
        fine(queue.requeue(["bad"]).await.err());
        match queue.lease_many(1_000, at_once()).await {
            Ok(leases) => fine(queue.release_many(&leases, Duration::ZERO).await.err()),
            Err(error) => fine(Some(error)),
        }
        match queue.lease_many(1_000, at_once()).await {
            Ok(leases) => {
                let failures = leases.iter().map(|lease| (lease, "no"));
                fine(queue.fail_many(failures, ms(5)).await.err());
            }
            Err(error) => fine(Some(error)),
        }
        fine(queue.deep_clean_if_due(ms(1)).await.err());
        fine(queue.deep_clean().await.err());
        fine(queue.deep_clean().await.err());
        fine(queue.counts().await.err());
    }
}

#[tokio::test]
async fn a_text_that_is_not_utf8_is_shown_as_far_as_it_can_be() {
    let place = Place::new();
    let queue = place.queue().await;
    queue.add_item(item("bad")).await.unwrap();
    hurt(&place, "UPDATE item SET error = CAST(x'6ff06b' AS TEXT)");
    let lease = queue.lease(at_once()).await.unwrap().unwrap();
    assert!(lease.last_error().starts_with('o'), "{:?}", lease.last_error());
    assert!(queue.complete(&lease).await.unwrap());
    assert_sound(&queue).await;
}

#[tokio::test]
async fn a_lease_of_a_row_that_is_damaged_afterwards_can_be_settled() {
    for case in CASES.iter().filter(|case| case.readable && !case.hurt.contains("deliveries")) {
        let place = Place::new();
        let queue = place.queue().await;
        let items = ["bad", "good"].map(|id| item(id).max_attempts(5));
        queue.add_items(items).await.unwrap();
        let leases = queue.lease_many(2, at_once()).await.unwrap();
        hurt(&place, case.hurt);
        let queue = place.queue().await;
        let failures = leases.iter().map(|lease| (lease, "no"));
        queue.fail_many(failures, Duration::ZERO).await.unwrap();
        assert_eq!(queue.counts().await.unwrap().ready, 2, "{}", case.hurt);
        let leases = queue.lease_many(2, at_once()).await.unwrap();
        hurt(&place, case.hurt);
        assert_eq!(queue.complete_many(&leases).await.unwrap(), [true, true], "{}", case.hurt);
        assert_sound(&queue).await;
    }
}

#[tokio::test]
async fn a_damaged_row_keeps_nobody_from_changing_items() {
    for case in CASES {
        let place = Place::new();
        let queue = place.queue().await;
        let large = |id| Item::new(vec![b'x'; 2_000]).with_id(id);
        queue.add_items(["bad", "good"].map(large)).await.unwrap();
        hurt(&place, case.hurt);
        let queue = place.queue().await;
        let ids = ["bad", "good"];
        let revise = |id| (id, Revision::new().max_attempts(9));
        let revised = queue.revise_many(ids.map(revise)).await.unwrap();
        let buried = queue.bury(ids, "no").await.unwrap();
        if case.readable {
            assert_eq!((revised, buried), (vec![true; 2], vec![true; 2]), "{}", case.hurt);
            assert_eq!(queue.requeue(ids).await.unwrap(), [true; 2]);
            assert_eq!(queue.lease_many(2, at_once()).await.unwrap().len(), 2, "{}", case.hurt);
        } else {
            // Some of them are about both items.
            assert!(case.hurt.contains("large") || revised[1] && buried[1], "{}", case.hurt);
        }
        queue.deep_clean().await.unwrap();
        for state in State::ALL {
            queue.purge(state).await.unwrap();
        }
        queue.deep_clean().await.unwrap();
        assert_sound(&queue).await;
    }
}

/// What is out of range counts as not set, and a deep clean drops it.
#[tokio::test]
async fn settings_out_of_range_count_as_none() {
    let place = Place::new();
    let queue = place.queue().await;
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    hurt(
        &place,
        "UPDATE queue SET max_dead = -1, max_attempts = 70000, retain = 1 << 50, max_retained = 7,
        revision = -3, paused = 1 << 50, swept = -1, pause_note = 'x'",
    );
    let queue = place.queue().await;
    let settings = queue.settings().await.unwrap();
    assert_eq!(
        (settings.max_attempts, settings.max_dead, settings.max_retained),
        (None, None, Some(7))
    );
    assert_eq!((settings.retain, settings.revision), (Duration::ZERO, 0));
    assert_eq!(found(&queue.check().await.unwrap(), Damage::BadSettings), 7);
    assert_eq!(found(&queue.deep_clean().await.unwrap(), Damage::BadSettings), 7);
    assert_sound(&queue).await;
    let mended = queue.settings().await.unwrap();
    assert!(mended.revision > 1_700_000_000_000, "nobody has seen it");
    assert_eq!(mended.max_retained, Some(7));
    assert!(mended.paused_until.is_some(), "a pause that is too long is shortened");
    queue.resume().await.unwrap();
    assert_eq!(ids(&queue).await, ["a", "b"]);
}

/// What cannot be read of a rate counts as used up.
#[tokio::test]
async fn a_rate_out_of_range_is_mended() {
    for (damage, limited) in [
        ("rate_used = -1", true),
        ("rate_used = 3600001, rate_at = 5", true),
        ("rate_used = 3600000, rate_at = 1 << 50", true),
        ("rate_at = -1", false),
        ("rate_burst = 0", false),
        ("rate_period = 1 << 40", false),
    ] {
        let place = Place::new();
        let queue = place.queue().await;
        let rate = Rate::new(1, Duration::from_secs(3_600));
        queue.configure(SettingsChange::new().rate(rate)).await.unwrap();
        hurt(&place, &format!("UPDATE queue SET {damage}"));
        let queue = place.queue().await;
        assert_eq!(queue.counts().await.unwrap().rate_limited, limited, "{damage}");
        let whole = !damage.contains("burst") && !damage.contains("period");
        // Those of a part of a rate are all dropped.
        let wrong = if whole {
            1
        } else if damage.ends_with("= 0") {
            2
        } else {
            3
        };
        assert_eq!(found(&queue.check().await.unwrap(), Damage::BadSettings), wrong, "{damage}");
        let cleaned = queue.deep_clean().await.unwrap();
        assert_eq!(found(&cleaned, Damage::BadSettings), wrong, "{damage}");
        assert_sound(&queue).await;
        assert_eq!(queue.counts().await.unwrap().rate_limited, limited, "{damage}");
        assert_eq!(queue.settings().await.unwrap().rate, whole.then_some(rate), "{damage}");
    }
}

/// The doctor looks at queues by name. One that cannot be read does not hide those behind it.
#[tokio::test]
async fn the_doctor_looks_at_queues_behind_an_unreadable_one() {
    let place = Place::new();
    let client = leaseq::Client::connect(&place.url()).await.unwrap();
    for name in ["a", "b"] {
        assert!(client.queue(name).unwrap().add_item(item("x")).await.unwrap());
    }
    let many = "UPDATE queue SET dead = 100001 WHERE name = 'b'";
    hurt(&place, &format!("UPDATE queue SET dead = 'text' WHERE name = 'a'; {many}"));
    client.queue("a").unwrap().counts().await.unwrap_err();
    let diagnosis = client.doctor().await.unwrap();
    let about = |queue: &str| diagnosis.advice.iter().any(|advice| advice.found.contains(queue));
    assert!(about("queue b keeps 100001 dead items"), "{diagnosis:?}");
    assert!(!about("queue a "), "{diagnosis:?}");
}
