//! Schedules: wherever a script stops, no tick is lost, and none adds two items.

use leaseq::{Item, Schedule, ScheduleRule, State, WorkQueue};

use crate::fixtures::Leases;
use crate::support::*;
use crate::verify::Stage;

fn every_minute(name: &str) -> Schedule {
    Schedule::new(name, ScheduleRule::every(secs(60)).unwrap(), Item::new("data").unique(name))
}

/// How many items of schedules there are.
async fn items(queue: &WorkQueue) -> usize {
    let ready = list_all(queue, State::Ready, 1000).await;
    ready.iter().filter(|item| item.id.starts_with(b"tick@")).count()
}

#[tokio::test]
async fn schedules() {
    let mut stage = Stage::new().await;
    let put = async |queue: &WorkQueue, _: &Leases| {
        let first = queue.put_schedule(every_minute("tick")).await.map(drop);
        if first.is_err() {
            queue.put_schedule(every_minute("tick")).await.unwrap();
        }
        assert!(queue.schedules().await.unwrap()[0].next.is_some());
        first
    };
    stage.acts("set_schedule", &[], async |_, _| Leases::new(), put).await;
    stage.furnished("set_schedule", &[], put).await;
    let scheduled = async |_: &Bench, queue: &WorkQueue| {
        queue.put_schedule(every_minute("tick").revision(1)).await.unwrap();
        Leases::new()
    };
    let pause = async |queue: &WorkQueue, _: &Leases| {
        let first = queue.pause_schedule("tick").await.map(drop);
        assert!(queue.pause_schedule("tick").await.unwrap());
        first
    };
    stage.acts("set_schedule", &[], scheduled, pause).await;
    let remove = async |queue: &WorkQueue, _: &Leases| {
        let first = queue.remove_schedule("tick").await.map(drop);
        queue.remove_schedule("tick").await.unwrap();
        assert!(queue.schedules().await.unwrap().is_empty());
        first
    };
    stage.acts("set_schedule", &[], scheduled, remove).await;
    let due = async |bench: &Bench, queue: &WorkQueue| {
        let leases = scheduled(bench, queue).await;
        bench.advance(secs(60));
        leases
    };
    let tick = async |queue: &WorkQueue, _: &Leases| {
        let first = queue.light_clean().await.map(drop);
        queue.light_clean().await.unwrap();
        // One that was added half-way is put in its place.
        queue.deep_clean().await.unwrap();
        assert_eq!(items(queue).await, 1);
        first
    };
    stage.acts("tick", &[], due, tick).await;
}
