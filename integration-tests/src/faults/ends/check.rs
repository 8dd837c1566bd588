//! Whether each end has added what it had to, exactly once and not before. Pure code: its tests plant violations.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::super::history::{Outcome, Time};
use super::history::{Fire, Group, History, Left, On, Plan, Seen, result_of};

type Count = RangeInclusive<usize>;

/// What is known of the end of an item or a group.
struct Ended {
    /// How often each kind of follow-up must have been added.
    completed: Count,
    dead: Count,
    ended: Count,
    /// Before these times it cannot have ended so; `None`: never.
    completed_from: Option<Time>,
    dead_from: Option<Time>,
}

impl Ended {
    const NOT: Ended = Ended {
        completed: 0..=0,
        dead: 0..=0,
        ended: 0..=0,
        completed_from: None,
        dead_from: None,
    };

    fn of(&self, on: On) -> (Count, Option<Time>) {
        match on {
            On::Completed => (self.completed.clone(), self.completed_from),
            On::Dead => (self.dead.clone(), self.dead_from),
            On::Ended => {
                let first = self.completed_from.into_iter().chain(self.dead_from).min();
                (self.ended.clone(), first)
            }
        }
    }
}

/// What happened to all items of one name.
struct Life<'a> {
    plan: &'a Plan,
    seen: &'a [Seen],
    left: Vec<&'a Left>,
}

impl Life<'_> {
    /// How many items there were.
    fn items(&self) -> usize {
        let seen: BTreeSet<_> = self.seen.iter().map(|one| (&one.id, &one.generation)).collect();
        let is_new = |left: &&&Left| !self.seen.iter().any(|one| one.id == left.id);
        seen.len() + self.left.iter().filter(is_new).count()
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        let left = self.left.iter().map(|left| left.id.as_str());
        self.seen.iter().map(|one| one.id.as_str()).chain(left)
    }

    /// The first time that somebody had it.
    fn first(&self) -> Option<Time> {
        self.seen.iter().map(|one| one.at).min()
    }

    fn is_dead(&self) -> bool {
        self.left.iter().any(|left| left.is_dead)
    }

    /// When the first call began that may have ended it so.
    fn called(&self, on: On) -> Option<Time> {
        let ends = self.seen.iter().flat_map(|one| &one.ends).filter(|end| end.on == on);
        ends.map(|end| end.span.began).min()
    }

    fn ended(&self) -> Ended {
        if self.items() == 0 {
            return Ended::NOT;
        }
        let completed = usize::from(!self.is_dead());
        let ends = || self.seen.iter().flat_map(|one| &one.ends).filter(|end| end.on == On::Dead);
        let died = self.is_dead() || ends().any(|end| end.outcome == Outcome::Yes);
        let may_die = died || self.plan.limited || ends().next().is_some();
        let by_itself = if self.plan.limited { Some(Time::ZERO) } else { None };
        Ended {
            completed: completed..=completed,
            dead: usize::from(died)..=usize::from(may_die),
            ended: 1..=1,
            completed_from: self.called(On::Completed),
            dead_from: by_itself.or(self.called(On::Dead)),
        }
    }
}

/// What is wrong.
pub(super) fn check(history: &History) -> Vec<String> {
    let mut found = Vec::new();
    let lives: BTreeMap<&str, Life<'_>> = history
        .plans
        .iter()
        .map(|(name, plan)| {
            let seen = history.seen.get(name).map_or(&[][..], Vec::as_slice);
            let left = history.left.iter().filter(|left| left.name == *name).collect();
            (name.as_str(), Life { plan, seen, left })
        })
        .collect();
    for (name, life) in &lives {
        let expected = match life.plan.added {
            Some(Outcome::Yes) => Some(1..=1),
            Some(Outcome::Unknown) => Some(0..=1),
            Some(_) => Some(0..=0),
            None => None,
        };
        if let Some(expected) = expected {
            count(name, life, &expected, "", &mut found);
        }
        place(name, life, &mut found);
        let ended = life.ended();
        if ended.completed == (1..=1) && ended.completed_from.is_none() {
            found.push(format!("{name} is gone, and nobody has completed it"));
        }
        let ids: BTreeSet<_> = life.ids().collect();
        for fire in &life.plan.fires {
            let result = (fire.on == On::Completed).then(|| result_of(name));
            fires(&lives, name, &ended, fire, &ids, result.as_deref(), &mut found);
        }
    }
    for group in &history.groups {
        let (name, ended) = (&group.name, group_ended(group, &lives));
        let ids = BTreeSet::from([name.as_str()]);
        for fire in &group.fires {
            fires(&lives, name, &ended, fire, &ids, None, &mut found);
        }
        let either = group.fires.iter().filter(|fire| fire.on != On::Ended);
        let all: usize = either.filter_map(|fire| lives.get(&*fire.name)).map(Life::items).sum();
        if all != 1 && ended.ended == (1..=1) {
            found.push(format!("{name} has ended {all} times, as completed or as dead"));
        }
    }
    for name in history.seen.keys().chain(history.left.iter().map(|left| &left.name)) {
        if !lives.contains_key(&**name) {
            found.push(format!("nobody has asked for {name}"));
        }
    }
    let items: usize = lives.values().map(Life::items).sum();
    if let Some(added) = history.added.filter(|added| *added != items as u64) {
        found.push(format!("{added} items were added, and {items} were seen"));
    }
    found
}

/// A group ends when its last member has. What was dead for a while, and is completed in the end, may count as either.
fn group_ended(group: &Group, lives: &BTreeMap<&str, Life<'_>>) -> Ended {
    let mut all = Ended { completed: 1..=1, dead: 0..=0, ended: 1..=1, ..Ended::NOT };
    let mut from = Time::ZERO;
    for member in &group.members {
        let Some(ended) = lives.get(member.as_str()).map(Life::ended) else { return Ended::NOT };
        let (counts, Some(first)) = ended.of(On::Ended) else { return Ended::NOT };
        if counts == (0..=0) {
            return Ended::NOT;
        }
        from = from.max(first);
        let (is_dead, may_be_dead) = (ended.completed == (0..=0), *ended.dead.end() > 0);
        all.completed = if is_dead { 0 } else { usize::from(!may_be_dead) }
            .min(*all.completed.start())
            ..=usize::from(!is_dead).min(*all.completed.end());
    }
    all.dead = 1 - all.completed.end()..=1 - all.completed.start();
    (all.completed_from, all.dead_from) = (Some(from), Some(from));
    all
}

/// One item that an end adds.
fn fires(
    lives: &BTreeMap<&str, Life<'_>>,
    by: &str,
    ended: &Ended,
    fire: &Fire,
    ids: &BTreeSet<&str>,
    result: Option<&str>,
    found: &mut Vec<String>,
) {
    let Some(life) = lives.get(fire.name.as_str()) else { return };
    let (name, (expected, from)) = (&fire.name, ended.of(fire.on));
    let why = format!(" by the end of {by} ({})", fire.on.word());
    count(name, life, &expected, &why, found);
    if let Some(at) = life.first()
        && from.is_none_or(|from| at < from)
    {
        found.push(format!("{name} was there at {at:?}, before {by} can have ended"));
    }
    for seen in life.seen {
        let Some((id, told)) = &seen.trigger else {
            found.push(format!("{name} knows nothing of {by}"));
            break;
        };
        if !ids.contains(id.as_str()) {
            found.push(format!("{name} was added by {id}, not by {by}"));
        }
        if result.is_some() && told.as_deref() != result {
            found.push(format!("{name} was told the result {told:?} of {by}"));
        }
    }
}

fn count(name: &str, life: &Life<'_>, expected: &Count, why: &str, found: &mut Vec<String>) {
    let items = life.items();
    if !expected.contains(&items) {
        found.push(format!("{name} was added {items} times{why}, not {expected:?}"));
    }
}

fn place(name: &str, life: &Life<'_>, found: &mut Vec<String>) {
    let queues = life.seen.iter().map(|one| &one.queue).chain(life.left.iter().map(|it| &it.queue));
    let queue = &life.plan.queue;
    if let Some(other) = queues.into_iter().find(|other| *other != queue) {
        found.push(format!("{name} is in the queue {other}, not in {queue}"));
    }
}
