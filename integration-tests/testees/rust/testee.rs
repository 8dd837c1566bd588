//! The testee in Rust. Requests and answers: `testees/README.md`.
#![allow(clippy::expect_used, clippy::panic, clippy::unit_arg, reason = "a testee may stop")]

mod jobs;
mod leases;
mod listing;

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leaseq::{Client, GetOptions, Lease, Result};
use leaseq_conformance::conformance::wire;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::task::AbortHandle;
use tracing_subscriber::filter::LevelFilter;

use self::jobs::Jobs;
use self::leases::Leases;

#[derive(Default)]
struct Testee {
    clients: Mutex<HashMap<String, Client>>,
    leases: Leases,
    jobs: Jobs,
    calls: Mutex<HashMap<String, AbortHandle>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    // Why a worker ends: standard output has the answers.
    let log = tracing_subscriber::fmt().with_max_level(LevelFilter::ERROR);
    log.with_ansi(false).with_writer(std::io::stderr).init();
    let testee = Arc::new(Testee::default());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let request: Value = serde_json::from_str(&line)?;
        let (n, call) = (request["n"].clone(), request["call"].as_str().map(str::to_owned));
        let this = testee.clone();
        let work = tokio::spawn(async move { this.obey(&request).await });
        if let Some(call) = call.filter(|_| !line.contains(r#""op":"cancel""#)) {
            lock(&testee.calls).insert(call, work.abort_handle());
        }
        tokio::spawn(async move {
            let answer = match work.await {
                Ok(Ok(value)) => json!({ "n": n, "gives": value }),
                Ok(Err(error)) => json!({ "n": n, "fails": wire::failure(&error) }),
                Err(end) if end.is_cancelled() => json!({ "n": n, "gives": "cancelled" }),
                Err(_) => std::process::exit(1), // it has panicked, and said why
            };
            let mut output = std::io::stdout().lock();
            let _ = writeln!(output, "{answer}").and_then(|()| output.flush());
        });
    }
    Ok(())
}

impl Testee {
    async fn obey(&self, request: &Value) -> Result<Value> {
        let text = |name: &str| request[name].as_str().unwrap_or_default();
        let number = |name: &str| request[name].as_u64();
        let ms = |name: &str| number(name).map(Duration::from_millis);
        let duration = ms("duration_ms").unwrap_or_default();
        let client = text("client");
        match text("op") {
            "hello" => {
                return Ok(
                    json!({ "can": ["cancel", "nul", "order", "jobs", "force_stop", "hang", "chains", "job_groups", "children", "fork_children", "follow_ups"] }),
                );
            }
            "connect" => {
                let opened = Client::connect(text("url")).await?;
                return Ok(lock(&self.clients).insert(client.to_owned(), opened).is_some().into());
            }
            "cancel" => {
                lock(&self.calls).remove(text("call")).iter().for_each(AbortHandle::abort);
                return Ok(Value::Null);
            }
            "drop" => return Ok(self.leases.drop(text("lease")).into()),
            "look" => return Ok(wire::lease(&self.leases.get(text("lease")))),
            _ => {}
        }
        let name = client;
        let client = lock(&self.clients).get(name).cloned();
        let client = client.expect("the runner connects first");
        if let Some(answer) = self.jobs.obey(&client, request, name).await {
            return answer;
        }
        match text("op") {
            "close" => {
                self.jobs.close(name);
                return Ok(client.close().await.into());
            }
            "queues" => return Ok(client.queues().await?.into()),
            "registry" => {
                let arguments = request["arguments"].to_string();
                let answer = client.call_registry(text("operation"), &arguments).await?;
                return Ok(serde_json::from_str(&answer).unwrap_or_default());
            }
            _ => {}
        }
        let queue = client.queue(text("queue"))?;
        let (options, complete) = (wire::lease_options(request), wire::complete_options(request));
        let (fail, release) = (wire::fail_options(request), wire::release_options(request));
        let one = || self.leases.get(text("lease"));
        let names = wire::strings(&request["leases"]);
        let held: Vec<Arc<Lease>> = names.map(|name| self.leases.get(name)).collect();
        let many = || held.iter().map(AsRef::as_ref);
        let items = || wire::item_refs(request);
        let state = wire::state(text("state"));
        let count = number("count").unwrap_or_default() as usize;
        Ok(match text("op") {
            "add_item" => queue.add_item(wire::item(request)).await?.into(),
            "add_items" => {
                let items = request["items"].as_array().into_iter().flatten().map(wire::item);
                queue.add_items(items).await?.into()
            }
            "lease" => match queue.lease(options).await? {
                Some(lease) => self.leases.keep(text("as").to_owned(), lease),
                None => Value::Null,
            },
            "lease_many" => {
                self.leases.keep_all(text("as"), queue.lease_many(count, options).await?)
            }
            "complete_and_lease" => {
                let done = queue.complete_and_lease_with(many(), complete, count, options).await?;
                let leases = self.leases.keep_all(text("as"), done.leases);
                json!({ "completed": done.completed, "leases": leases })
            }
            "complete" => queue.complete_with(&one(), complete).await?.into(),
            "complete_many" => queue.complete_many_with(many(), complete).await?.into(),
            "extend" => wire::ms_of(queue.extend(&one(), duration).await?),
            "extend_many" => wire::each(queue.extend_many(many(), duration).await?, wire::ms_of),
            "set_progress" => {
                queue.set_progress(&one(), wire::bytes(text("progress"))).await?.into()
            }
            "release" => queue.release_with(&one(), release).await?.into(),
            "release_many" => {
                wire::each(queue.release_many_with(many(), release).await?, |()| Value::Null)
            }
            "fail" => queue.fail_with(&one(), text("error"), fail).await?.as_str().into(),
            "fail_many" => {
                let failures = many().map(|lease| (lease, text("error")));
                let failed = queue.fail_many_with(failures, fail).await?;
                wire::each(failed, |state| state.as_str().into())
            }
            "light_clean" => json!(queue.light_clean().await?),
            "deep_clean" => json!(queue.deep_clean().await?),
            "check" => json!(queue.check().await?),
            "queue_len" => queue.queue_len().await?.into(),
            "processing" => queue.processing().await?.into(),
            "counts" => json!(queue.counts().await?),
            "get" => wire::maybe(queue.get(wire::bytes(text("id"))).await?.as_ref()),
            "get_many" => {
                let mut options = GetOptions::new();
                options.data = request["with_data"] != false;
                let ids = wire::strings(&request["ids"]).map(wire::bytes);
                let found = queue.get_many_with(ids, options).await?;
                found.iter().map(|info| wire::maybe(info.as_ref())).collect()
            }
            "outcome" => {
                let id = wire::bytes(text("id"));
                wire::outcome(queue.outcome(id, wire::outcome_options(request)).await?.as_ref())
            }
            "outcome_many" => {
                let ids = wire::strings(&request["ids"]).map(wire::bytes);
                let found = queue.outcome_many(ids, wire::outcome_options(request)).await?;
                let each = found.iter().map(|found| match found {
                    Ok(outcome) => wire::outcome(outcome.as_ref()),
                    Err(error) => json!({ "fails": wire::failure(error) }),
                });
                each.collect()
            }
            "list" => {
                let cursor = request["cursor"].as_str().map(str::parse).transpose()?;
                wire::page(
                    &queue.list_with(state, cursor.as_ref(), &listing::options(request)).await?,
                )
            }
            "remove" => queue.remove(wire::item_ref(request)).await?.into(),
            "remove_many" => queue.remove_many(items()).await?.into(),
            "requeue" => queue.requeue(items()).await?.into(),
            "bury" => queue.bury(items(), text("error")).await?.into(),
            "cancel_item" => queue.cancel(wire::item_ref(request)).await?.into(),
            "cancel_many" => queue.cancel_many(items()).await?.into(),
            "attach" => {
                let (item, follow_up) = wire::attachment(request);
                queue.attach(item, follow_up).await?.into()
            }
            "attach_many" => {
                let all = request["attachments"].as_array().into_iter().flatten();
                queue.attach_many(all.map(wire::attachment)).await?.into()
            }
            "create_group" => {
                wire::group_value(&queue.create_group(wire::new_group(request)).await?)
            }
            "seal_group" => {
                let places = request["places"].as_u64().unwrap_or(0).try_into();
                let group = wire::group(&request["group"])?;
                queue.seal_group(&group, places.unwrap_or(u32::MAX)).await?.into()
            }
            "cancel_group" => queue.cancel_group(&wire::group(&request["group"])?).await?.into(),
            "remove_group" => queue.remove_group(&wire::group(&request["group"])?).await?.into(),
            "group" => {
                let found = queue.group(wire::bytes(text("id"))).await?;
                found.as_ref().map_or(Value::Null, wire::group_info)
            }
            "group_outcome" => {
                let id = wire::bytes(text("id"));
                let ended = queue.group_outcome(id, wire::outcome_options(request)).await?;
                ended.as_ref().map_or(Value::Null, wire::group_outcome)
            }
            "group_places" => {
                let first = request["first"].as_u64().unwrap_or(0).try_into().unwrap_or(u32::MAX);
                let group = wire::group(&request["group"])?;
                serde_json::json!(queue.group_places(&group, first).await?)
            }
            "wait_cancelled" => one().cancelled().await.into(),
            "revise" => {
                let (item, revision) = wire::revision(request);
                queue.revise(item, revision).await?.into()
            }
            "revise_many" => {
                let all = request["revisions"].as_array().into_iter().flatten();
                queue.revise_many(all.map(wire::revision)).await?.into()
            }
            "configure" => {
                wire::settings(queue.configure(wire::settings_change(request)).await?.as_ref())
            }
            "set_key_limits" => queue.set_key_limits(wire::key_limits(request)).await?.into(),
            "get_keys" => {
                let keys = wire::strings(&request["keys"]).map(wire::bytes);
                wire::keys(&queue.get_keys(keys).await?)
            }
            "settings" => wire::settings(Some(&queue.settings().await?)),
            "pause" => queue.pause_with(wire::pause_options(request)).await?.into(),
            "resume" => queue.resume().await?.into(),
            "put_schedule" => wire::put(queue.put_schedule(wire::schedule(request)?).await?),
            "sync_schedules" => {
                let all = request["schedules"].as_array().into_iter().flatten();
                let all = all.map(wire::schedule).collect::<Result<Vec<_>>>()?;
                let revision = number("revision").unwrap_or_default();
                wire::synced(&queue.sync_schedules(text("owner"), revision, all).await?)
            }
            "schedules" => {
                let mut options = GetOptions::new();
                options.data = request["with_data"] != false;
                queue.schedules_with(options).await?.iter().map(wire::schedule_info).collect()
            }
            "record_history" => {
                queue.record_history_json(&request["measured"].to_string()).await?.into()
            }
            "history" => {
                let rows = queue.history_json(text("kind")).await?;
                serde_json::from_str(&rows).unwrap_or_default()
            }
            "events" => {
                let limit = request["limit"].as_u64().unwrap_or(100) as usize;
                let wait = Duration::from_millis(request["wait_ms"].as_u64().unwrap_or(0));
                let options = leaseq::EventsOptions::new().limit(limit).wait(wait);
                let page = queue.events_json(request["after"].as_str(), options).await?;
                serde_json::from_str(&page).unwrap_or_default()
            }
            "remove_schedule" => queue.remove_schedule(text("name")).await?.into(),
            "pause_schedule" => {
                let options = wire::pause_options(request);
                queue.pause_schedule_with(text("name"), options).await?.into()
            }
            "resume_schedule" => queue.resume_schedule(text("name")).await?.into(),
            "run_now" => queue.run_now(text("name")).await?.into(),
            "purge" => queue.purge(state).await?.into(),
            "drop_queue" => queue.drop_queue().await?.into(),
            op => panic!("unknown operation {op}"),
        })
    }
}
