//! The settings of a queue.

use std::time::Duration;

use askama::Template;
use axum::response::Response;
use leaseq::{Rate, Settings, SettingsChange};
use leaseq_report::duration;
use serde_json::{Value, json};

use super::chrome::Chrome;
use super::queue_head::QueueHead;
use crate::context::Context;
use crate::failure::Failure;
use crate::fields::Fields;
use crate::links;

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage {
    chrome: Chrome,
    head: QueueHead,
    fields: Vec<Field>,
    revision: u64,
}

struct Field {
    name: &'static str,
    label: &'static str,
    help: &'static str,
    value: String,
    none: &'static str,
}

fn fields(settings: &Settings) -> Vec<Field> {
    let field = |name, label, help, none, value: Option<String>| Field {
        name,
        label,
        help,
        none,
        value: value.unwrap_or_default(),
    };
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    let time = |time: Option<Duration>| time.map(duration::show);
    let retain = Some(settings.retain).filter(|retain| !retain.is_zero());
    vec![
        field(
            "max_attempts",
            "Most attempts",
            "of items without a limit of their own",
            "no limit",
            number(settings.max_attempts.map(u64::from)),
        ),
        field(
            "retain",
            "Keep ended items",
            "such as 24h, for items that do not say how long",
            "not at all",
            time(retain),
        ),
        field(
            "max_dead",
            "Most dead items",
            "the oldest are removed",
            "no limit",
            number(settings.max_dead),
        ),
        field(
            "max_dead_age",
            "Keep dead items",
            "such as 30d",
            "for ever",
            time(settings.max_dead_age),
        ),
        field(
            "max_retained",
            "Most ended items",
            "completed and cancelled ones",
            "no limit",
            number(settings.max_retained),
        ),
        field(
            "max_retained_age",
            "Longest time of ended items",
            "whatever they were added with",
            "no limit",
            time(settings.max_retained_age),
        ),
        field(
            "key_limit",
            "Leased items of a key",
            "unless the key has a limit of its own",
            "1",
            number(Some(settings.key_limit.into())),
        ),
        field(
            "rate",
            "Leases in a time",
            "such as 10/1s or 10/1s,burst=50",
            "no limit",
            settings.rate.map(show_rate),
        ),
        field(
            "events",
            "Kept events",
            "up to 1,000,000; the timelines of items are made of them",
            "none",
            number(settings.events),
        ),
    ]
}

fn show_rate(rate: Rate) -> String {
    format!("{}/{},burst={}", rate.count, duration::show(rate.period), rate.burst)
}

fn read_rate(text: &str) -> Option<Rate> {
    let (rate, burst) = match text.split_once(",burst=") {
        Some((rate, burst)) => (rate, Some(burst.trim().parse().ok()?)),
        None => (text, None),
    };
    let (count, period) = rate.split_once('/')?;
    let rate = Rate::new(count.trim().parse().ok()?, duration::read(period.trim()).ok()?);
    Some(burst.map_or(rate, |burst| rate.burst(burst)))
}

fn as_json(settings: &Settings) -> Value {
    let value = |field: &Field| (field.name.to_owned(), field.value.clone().into());
    Value::Object(fields(settings).iter().map(value).collect())
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let counts = cx.app.counts(queue.name()).await?;
    let settings = queue.settings().await?;
    let page = SettingsPage {
        chrome: Chrome::of(&cx, "overview", format!("Settings · {}", queue.name())),
        head: QueueHead::of(&cx.app, &queue, &counts, "settings").await?,
        fields: fields(&settings),
        revision: settings.revision,
    };
    cx.html(&page)
}

/// What the form changes: everything that it has. An empty value removes a setting.
fn change(form: &Fields) -> Result<SettingsChange, Failure> {
    let number = |name| form.parse::<u64>(name);
    let small = |name| form.parse::<u32>(name);
    let time = |name| form.get(name).map(duration::read).transpose().map_err(Failure::invalid);
    let wrong = || Failure::invalid("rate: write 10/1s or 10/1s,burst=50");
    let rate = form.get("rate").map(|text| read_rate(text).ok_or_else(wrong)).transpose()?;
    let revision = form.parse::<u64>("revision")?;
    let revision = revision.ok_or_else(|| Failure::invalid("the form has no revision"))?;
    Ok(SettingsChange::new()
        .max_attempts(small("max_attempts")?)
        .retain(time("retain")?)
        .max_dead(number("max_dead")?)
        .max_dead_age(time("max_dead_age")?)
        .max_retained(number("max_retained")?)
        .max_retained_age(time("max_retained_age")?)
        .key_limit(small("key_limit")?)
        .rate(rate)
        .events(number("events")?)
        .expect_revision(revision))
}

pub(crate) async fn save(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let change = change(&cx.form)?;
    let before = queue.settings().await?;
    let Some(after) = queue.configure(change).await? else {
        return Err(Failure::conflict(
            "the settings have changed since this page was loaded: load it again",
        ));
    };
    let what = json!({ "before": as_json(&before), "after": as_json(&after) });
    cx.audit("settings", queue.name(), what);
    Ok(cx.to(&format!("{}/settings?done=settings", links::queue(queue.name()))))
}
