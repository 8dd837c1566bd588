//! Jobs that are added because others have ended.

use std::time::Duration;

use leaseq_jobs::{Context, JobError, JobGroup, JobRef, NewJob, Policy, Worker};

use crate::support::{Bench, Echo, PATIENCE, Seen, on_every_engine};

on_every_engine!(
    each_step_of_a_chain_gets_the_result_of_the_one_before,
    a_failure_ends_a_chain_and_adds_what_waits_for_it,
    a_job_follows_a_group_when_all_members_have_succeeded,
    a_member_that_fails_makes_another_job_follow_its_group,
    a_cancelled_group_runs_no_more,
    a_group_is_added_again_after_a_crash,
);

fn echo(text: &str) -> NewJob {
    NewJob::from(Echo::named(text)).retain(PATIENCE)
}

async fn each_step_of_a_chain_gets_the_result_of_the_one_before(bench: Bench) {
    let last = echo("c").id("last").queue("other");
    let first = echo("a").then([echo("b"), last]).on_end(echo("after a"));
    bench.producer().enqueue(first.id("first")).await.unwrap();
    let seen = Seen::default();
    let notes = seen.clone();
    let worker = bench.worker().queue("echo", 1).queue("other", 1).handle(
        move |echo: Echo, job: Context| {
            let notes = notes.clone();
            async move {
                let previous = job.previous::<String>()?.unwrap_or_default();
                notes.push(format!("{} after {previous:?}", echo.text));
                Ok(format!("{previous}{}", echo.text))
            }
        },
    );
    worker.run_until_idle().await.unwrap();
    let mut seen = seen.take();
    seen.sort();
    assert_eq!(seen, ["a after \"\"", "after a after \"a\"", "b after \"a\"", "c after \"ab\""]);
    let queue = bench.client.queue("other").unwrap();
    let last = queue.get("last").await.unwrap().unwrap();
    assert_eq!(last.result.unwrap(), "\"abc\"");
}

async fn a_failure_ends_a_chain_and_adds_what_waits_for_it(bench: Bench) {
    let first = echo("fails").id("first").then([echo("never")]).on_failure(echo("sees"));
    bench.producer().enqueue(first).await.unwrap();
    let seen = Seen::default();
    let notes = seen.clone();
    let worker = bench.worker().handle(move |echo: Echo, job: Context| {
        let notes = notes.clone();
        async move {
            let previous = job.previous_id().map(|id| String::from_utf8_lossy(id).into_owned());
            notes.push(format!("{} {previous:?}", echo.text));
            match echo.text.as_str() {
                "fails" => Err(JobError::new("Broken", "").policy(Policy::Bury)),
                _ => Ok(job.previous::<String>()?.is_none()),
            }
        }
    });
    worker.run_until_idle().await.unwrap();
    assert_eq!(seen.take(), ["fails None", "sees Some(\"first\")"]);
}

/// A worker that notes each job and the id of what it follows.
fn noting(worker: Worker, seen: &Seen) -> Worker {
    let seen = seen.clone();
    worker.handle(move |echo: Echo, job: Context| {
        let previous = job.previous_id().map(String::from_utf8_lossy);
        seen.push(format!("{} after {}", echo.text, previous.as_deref().unwrap_or("nothing")));
        async move {
            match echo.text.as_str() {
                "fails" => Err(JobError::bury("no")),
                _ => Ok(()),
            }
        }
    })
}

async fn a_job_follows_a_group_when_all_members_have_succeeded(bench: Bench) {
    let group = JobGroup::new("g", [echo("a"), echo("b").queue("other").id("own"), echo("c")])
        .then([echo("sum").queue("other"), echo("mail")])
        .on_failure(echo("never"))
        .on_end(echo("end"));
    let added = bench.producer().enqueue_group(group).await.unwrap();
    assert_eq!((added.group.queue(), added.group.id()), ("echo", &b"g"[..]));
    let ids: Vec<_> = added.jobs.iter().map(JobRef::id).collect();
    assert_eq!(ids, [&b"g/0"[..], b"own", b"g/2"]);
    assert!(added.jobs.iter().all(JobRef::added));
    assert_eq!(added.outcome(Duration::ZERO).await.unwrap(), None);
    let seen = Seen::default();
    let worker = bench.worker().queue("echo", 1).queue("other", 1);
    noting(worker, &seen).run_until_idle().await.unwrap();
    let outcome = added.outcome(PATIENCE).await.unwrap().unwrap();
    assert_eq!((outcome.as_str(), outcome.info().unwrap().completed), ("completed", 3));
    // Another one has its id.
    let home = bench.client.queue("echo").unwrap();
    assert!(home.remove_group(&added.group).await.unwrap());
    let other = home.create_group(leaseq::NewGroup::new("g")).await.unwrap();
    assert!(home.add_item(leaseq::Item::new("x").in_group(&other, 0)).await.unwrap());
    assert!(home.seal_group(&other, 1).await.unwrap());
    home.purge(leaseq::State::Ready).await.unwrap();
    let outcome = home.group_outcome("g", leaseq::OutcomeOptions::new()).await.unwrap().unwrap();
    assert_eq!((outcome.as_str(), &outcome.info().unwrap().group), ("ended", &other));
    assert_eq!(added.outcome(PATIENCE).await.unwrap(), Some(leaseq::GroupOutcome::Gone));
    let mut seen = seen.take();
    // The one in the middle has the id of the job before it, which is a random one.
    seen.iter_mut().filter(|line| line.starts_with("mail after ")).for_each(|line| {
        assert_eq!(line.len(), "mail after ".len() + 36, "{line}");
        line.truncate("mail".len());
    });
    seen.sort();
    let members = ["a after nothing", "b after nothing", "c after nothing"];
    assert_eq!(seen[..3], members);
    assert_eq!(seen[3..], ["end after g", "mail", "sum after g"]);
}

async fn a_member_that_fails_makes_another_job_follow_its_group(bench: Bench) {
    let group = JobGroup::new("g", [echo("a"), echo("fails")])
        .on_success(echo("never"))
        .on_failure(echo("sees"));
    bench.producer().enqueue_group(group).await.unwrap();
    let seen = Seen::default();
    noting(bench.worker(), &seen).run_until_idle().await.unwrap();
    let mut seen = seen.take();
    seen.sort();
    assert_eq!(seen, ["a after nothing", "fails after nothing", "sees after g"]);
}

async fn a_cancelled_group_runs_no_more(bench: Bench) {
    let group = JobGroup::new("g", [echo("a"), echo("b").queue("other")])
        .on_success(echo("never"))
        .on_failure(echo("sees"));
    let added = bench.producer().enqueue_group(group).await.unwrap();
    assert!(added.cancel().await.unwrap());
    let seen = Seen::default();
    let worker = bench.worker().queue("echo", 1).queue("other", 1);
    noting(worker, &seen).run_until_idle().await.unwrap();
    assert_eq!(seen.take(), ["sees after g"]);
    assert_eq!(added.outcome(PATIENCE).await.unwrap().unwrap().as_str(), "ended");
    assert!(!added.cancel().await.unwrap());
}

/// A program dies after it has added some of the members, which then end.
async fn a_group_is_added_again_after_a_crash(bench: Bench) {
    let member = |text| NewJob::from(Echo::named(text)).retain(Duration::ZERO);
    let group = |members: &[&'static str]| {
        JobGroup::new("g", members.iter().map(|text| member(text))).then([echo("sum")])
    };
    let queue = bench.client.queue("echo").unwrap();
    let created = leaseq::NewGroup::new("g").follow_up(leaseq::FollowUp::new(
        leaseq::On::Completed,
        leaseq::Item::new(r#"{"v":1,"job":"test.echo","args":{"text":"sum"}}"#),
    ));
    let created = queue.create_group(created).await.unwrap();
    let first = member("a").id("g/0").in_group(&created, 0);
    assert!(bench.producer().enqueue(first).await.unwrap().added());
    let seen = Seen::default();
    let run = async || {
        let notes = seen.clone();
        let worker = bench.worker().handle(move |echo: Echo, _: Context| {
            notes.push(echo.text);
            async { Ok::<_, JobError>(()) }
        });
        worker.run_until_idle().await.unwrap();
        let mut seen = seen.take();
        seen.sort();
        seen
    };
    assert_eq!(run().await, ["a"]);
    for added in [[false, true], [false, false]] {
        let again = bench.producer().enqueue_group(group(&["a", "b"])).await.unwrap();
        assert_eq!(again.group, created);
        assert_eq!(again.jobs.iter().map(JobRef::added).collect::<Vec<_>>(), added);
        let expected: &[&str] = if added[1] { &["b", "sum"] } else { &[] };
        assert_eq!(run().await, expected);
    }
    for members in [&[][..], &["a", "b", "c"]] {
        let refused = bench.producer().enqueue_group(group(members)).await.unwrap_err();
        assert_eq!(refused.kind(), leaseq::ErrorKind::Invalid, "{refused}");
    }
}
