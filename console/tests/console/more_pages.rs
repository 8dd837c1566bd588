//! Leases, workers, schedules, settings, wasted work and health.

use std::time::Duration;

use leaseq::{
    Beat, Item, LeaseOptions, Measured, RunningItem, Schedule, ScheduleRule, SettingsChange,
    WorkerId,
};
use leaseq_test_support::eventually;

use crate::support::Engine;

fn lease() -> LeaseOptions {
    LeaseOptions::new(Duration::from_secs(60)).wait(Duration::ZERO)
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_and_workers_are_shown_together() {
    for engine in Engine::all() {
        let client = engine.client().await;
        let queue = client.queue("mail").unwrap();
        queue.add_item(Item::new("x").with_id("order-7")).await.unwrap();
        let held = queue.lease(lease()).await.unwrap().unwrap();
        let mut beat = Beat::new(WorkerId::new("mailer").with_instance("one"));
        (beat.host, beat.slots, beat.queues) = ("host-a".into(), 4, vec!["mail".into()]);
        beat.running.push(RunningItem {
            queue: "mail".into(),
            id: "order-7".into(),
            elapsed: Duration::from_secs(15),
            deadline: held.deadline(),
        });
        beat.run.record(2_000);
        beat.lease_use.record_many(300, 96);
        beat.lease_use.record_many(1_200, 4);
        client.beat(&beat).await.unwrap();
        let measured = Measured { lease_use: beat.lease_use.clone(), ..Measured::default() };
        queue.record_history(&measured).await.unwrap();
        let console = engine.console().await;
        let page = console.get("/queues/mail/leases").await;
        page.has(200, "order-7").has(200, "mailer").has(200, "too short for 4.0 %");
        console.get("/queues/mail/item?id=order-7").await.has(200, "Leased by mailer");
        let page = console.get("/workers").await;
        page.has(200, "host-a").has(200, "1 of 4 in use").has(200, "order-7");
        console.get("/queues/mail/wasted").await.has(200, "mailer").has(200, "All time");
        let worker = [("name", "mailer"), ("instance", "one")];
        let quiet = console.post("/workers/quiet", &worker).await;
        console
            .get(quiet.header("location").unwrap())
            .await
            .has(200, "lease nothing")
            .has(200, "data-flag=\"quiet\">quiet<");
        assert!(client.beat(&beat).await.unwrap().quiet);
        console.post("/workers/resume", &worker).await;
        let cancel = [worker[0], worker[1], ("queue", "mail"), ("id", "order-7")];
        assert_eq!(console.post("/workers/cancel", &cancel).await.status, 303);
        assert_eq!(console.post("/workers/stop", &worker).await.status, 303);
        let reply = client.beat(&beat).await.unwrap();
        assert_eq!((reply.quiet, reply.commands.len()), (false, 2));
        let nobody = [("name", "mailer"), ("instance", "two")];
        console.post("/workers/stop", &nobody).await.has(404, "no such worker any more");
        assert_eq!(console.audit.all().len(), 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn schedules_are_run_and_paused() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        let rule = ScheduleRule::cron("30 4 * * *", "Europe/Berlin").unwrap();
        let item = Item::new("x").priority(3).key("<b>");
        queue.put_schedule(Schedule::new("nightly", rule, item)).await.unwrap();
        let console = engine.console().await;
        console
            .get("/queues/mail/schedules")
            .await
            .has(200, "nightly")
            .has(200, "Europe/Berlin")
            .has(200, "priority 3, key &#60;b&#62;")
            .has(200, "never run");
        let form = [("name", "nightly")];
        let run = console.post("/queues/mail/schedules/run", &form).await;
        console.get(run.header("location").unwrap()).await.has(200, "Added an item");
        assert_eq!(queue.counts().await.unwrap().ready, 1);
        console.post("/queues/mail/schedules/pause", &form).await;
        assert!(queue.schedules().await.unwrap()[0].paused);
        console.get("/queues/mail/schedules").await.has(200, ">paused<");
        console.post("/queues/mail/schedules/resume", &form).await;
        assert!(!queue.schedules().await.unwrap()[0].paused);
        console
            .post("/queues/mail/schedules/run", &[("name", "other")])
            .await
            .has(404, "no schedule");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_saved_unless_they_have_changed() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        queue.configure(SettingsChange::new().max_attempts(3)).await.unwrap();
        let console = engine.console().await;
        let page = console.get("/queues/mail/settings").await;
        page.has(200, "name=\"max_attempts\" value=\"3\"");
        let revision = queue.settings().await.unwrap().revision.to_string();
        let form = [
            ("revision", revision.as_str()),
            ("max_attempts", "5"),
            ("retain", "24h"),
            ("rate", "10/1s"),
        ];
        let saved = console.post("/queues/mail/settings", &form).await;
        assert_eq!(saved.status, 303, "{saved:?}");
        let settings = queue.settings().await.unwrap();
        assert_eq!(
            (settings.max_attempts, settings.retain),
            (Some(5), Duration::from_secs(86_400))
        );
        assert_eq!(settings.rate.map(|rate| rate.count), Some(10));
        console.post("/queues/mail/settings", &form).await.has(409, "have changed");
        let now = settings.revision.to_string();
        for (name, value) in
            [("retain", "9"), ("rate", "x"), ("max_attempts", "0"), ("key_limit", "-1")]
        {
            let answer = console
                .post("/queues/mail/settings", &[("revision", now.as_str()), (name, value)])
                .await;
            assert_eq!(answer.status, 400, "{name}: {answer:?}");
        }
        let line = &console.audit.all()[0];
        assert_eq!(
            (&line["before"]["max_attempts"], &line["after"]["max_attempts"]),
            (&"3".into(), &"5".into())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_shows_the_doctor_and_looks_for_damage() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        queue.add_item(Item::new("x")).await.unwrap();
        let _gone =
            queue.lease(LeaseOptions::new(Duration::from_millis(1))).await.unwrap().unwrap();
        let console = engine.console().await;
        console.get("/health").await.has(200, "Durability").has(200, "What the doctor found");
        let begun = console.post("/queues/mail/check", &[]).await;
        assert_eq!(begun.status, 303, "{begun:?}");
        let sound = async || console.get("/health").await.body.contains(">sound<");
        assert!(
            eventually(Duration::from_secs(20), sound).await,
            "{:?}",
            console.get("/health").await
        );
        let lines = console.audit.all();
        assert_eq!((&lines[0]["action"], &lines[1]["found"]), (&"check".into(), &"sound".into()));
    }
}
