//! Jobs that are added because others have ended.

use leaseq_jobs::{Context, JobError, NewJob, Policy};

use crate::support::{Bench, Echo, PATIENCE, Seen, on_every_engine};

on_every_engine!(
    each_step_of_a_chain_gets_the_result_of_the_one_before,
    a_failure_ends_a_chain_and_adds_what_waits_for_it,
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
