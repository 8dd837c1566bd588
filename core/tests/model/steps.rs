//! Each operation, on the queue and on the model.

use std::time::{Duration, UNIX_EPOCH};

use leaseq::{
    CompleteOptions, Ending, FailOptions, Item, ItemInfo, ItemRef, Lease, LeaseOptions,
    ListOptions, ReleaseOptions, Releases, Revision, State, WorkQueue,
};
use rand::Rng;
use rand::seq::IndexedRandom;

use crate::driver::Driver;
use crate::ends::Batch;
use crate::keys::is_waiting;
use crate::model::{Change, Entry, Target, Token};
use crate::support::*;

impl Driver<'_> {
    pub(crate) async fn add(&mut self, queue: &WorkQueue) {
        let mut items = Vec::new();
        for id in self.some_ids() {
            let rng = &mut self.rng;
            let plain = rng.random_bool(0.5);
            let priority = if plain { 0 } else { *[0, 0, 1, 5, 9].choose(rng).unwrap() };
            let max_attempts = [None, Some(1), Some(2), Some(3)].choose(rng).copied().unwrap();
            let max_attempts = if plain { None } else { max_attempts };
            let data: Vec<u8> = (0..rng.random_range(0..20)).map(|_| rng.random()).collect();
            let delay = if plain { 0 } else { self.delay() };
            let by_time = self.rng.random_bool(0.3);
            let mut item = Item::new(data).with_id(id).priority(priority);
            item = if by_time {
                item.due_at(UNIX_EPOCH + ms(self.model.now + delay))
            } else {
                item.delay(ms(delay))
            };
            if let Some(max) = max_attempts {
                item = item.max_attempts(max);
            }
            let mut more = self.more();
            more.due_at = by_time.then_some(self.model.now + delay);
            // A time is compared with the machine's clock, which is not that of the bench.
            more.expires_in = more.expires_in.filter(|_| !by_time).map(|time| time.max(delay));
            item = match more.expires_in {
                Some(time) => item.expires_in(ms(time)),
                None => item,
            };
            item = item.retain(ms(more.retain)).unique_for(ms(more.unique_for));
            item = if let Some(key) = &more.unique { item.unique(key) } else { item };
            item = if more.replace { item.replace() } else { item };
            item = if more.successor { item.successor() } else { item };
            item = if let Some(key) = &more.key { item.key(key) } else { item };
            // The numbers of those of a batch that wait come before the others on Redis, which shows if they are due at the same time.
            let alone = more.successor;
            items.push((item, (priority, delay, max_attempts), more));
            if alone {
                items.drain(..items.len() - 1);
                break;
            }
        }
        self.note(format!("add {items:?}"));
        let mut batch = Batch::default();
        let expected: Vec<bool> =
            items.iter().map(|(i, o, more)| self.model.add(i, *o, more, &mut batch)).collect();
        let answers = if let [(item, ..)] = &items[..] {
            vec![queue.add_item(item.clone()).await.unwrap()]
        } else {
            queue.add_items(items.into_iter().map(|(item, ..)| item)).await.unwrap()
        };
        assert_eq!(answers, expected);
    }

    pub(crate) async fn lease(&mut self, queue: &WorkQueue) {
        let (count, duration) = (self.rng.random_range(1..6), self.duration());
        self.note(format!("lease {count} for {duration}"));
        let options = LeaseOptions::new(ms(duration)).wait(Duration::ZERO);
        let leases = queue.lease_many(count, options).await.unwrap();
        let expected = self.expected(&leases, count, duration);
        self.leased(leases, expected);
    }

    pub(crate) async fn complete_and_lease(&mut self, queue: &WorkQueue) {
        let (some, strict) = (self.some_handles(), self.rng.random_bool(0.2));
        let tokens: Vec<Token> = some.iter().map(|i| self.handles[*i].1).collect();
        let (count, duration) = (self.rng.random_range(1..6), self.duration());
        let (retain, results) = self.ends(some.len());
        self.note(format!(
            "complete {tokens:?}, strict {strict}, retain {retain:?}, lease {count} for {duration}"
        ));
        let complete = complete_options(retain, &results);
        let complete = if strict { complete.strict() } else { complete };
        let options = LeaseOptions::new(ms(duration)).wait(Duration::ZERO);
        let leases = some.iter().map(|i| &self.handles[*i].0);
        let done = queue.complete_and_lease_with(leases, complete, count, options).await.unwrap();
        let completed: Vec<bool> = self.completed(&tokens, strict, retain, results);
        assert_eq!(done.completed, completed);
        let expected = self.expected(&done.leases, count, duration);
        self.leased(done.leases, expected);
    }

    fn leased(&mut self, leases: Vec<Lease>, expected: Vec<(Token, Entry)>) {
        let seen: Vec<_> = leases.iter().map(|lease| lease.id()).collect();
        assert_eq!(seen, expected.iter().map(|(_, e)| &e.id[..]).collect::<Vec<_>>());
        for (lease, (token, entry)) in leases.into_iter().zip(expected) {
            assert_eq!(lease.data(), &entry.data);
            assert_eq!((lease.failures(), lease.expiries()), (entry.failures, entry.expiries));
            assert_eq!(lease.attempt(), 1 + entry.failures + entry.expiries);
            assert_eq!(
                (lease.priority(), lease.max_attempts()),
                (entry.priority, entry.max_attempts)
            );
            assert_eq!((lease.last_error(), lease.key()), (&entry.error[..], entry.key.as_deref()));
            assert_history(lease.endings(), lease.releases(), &entry);
            assert_eq!(since_1970(lease.deadline()), entry.at);
            let number = *self.generations.entry(token.generation).or_insert(lease.generation());
            assert_eq!(number, lease.generation(), "one number in one generation");
            if self.handles.len() >= 60 {
                let out = self.rng.random_range(0..self.handles.len());
                self.handles.swap_remove(out);
            }
            self.handles.push((lease, token));
        }
    }

    pub(crate) async fn complete(&mut self, queue: &WorkQueue) {
        let (some, strict) = (self.some_handles(), self.rng.random_bool(0.2));
        let tokens: Vec<Token> = some.iter().map(|i| self.handles[*i].1).collect();
        let (retain, results) = self.ends(some.len());
        self.note(format!("complete {tokens:?}, strict {strict}, retain {retain:?}"));
        let options = complete_options(retain, &results);
        let options = if strict { options.strict() } else { options };
        let leases = some.iter().map(|i| &self.handles[*i].0);
        let answers = queue.complete_many_with(leases, options).await.unwrap();
        let expected: Vec<bool> = self.completed(&tokens, strict, retain, results);
        assert_eq!(answers, expected);
    }

    fn completed(
        &mut self,
        tokens: &[Token],
        strict: bool,
        retain: Option<u64>,
        results: Vec<Option<Vec<u8>>>,
    ) -> Vec<bool> {
        let each = tokens.iter().zip(results);
        let done = each.map(|(token, result)| self.model.complete(*token, strict, retain, result));
        let done = done.collect();
        self.model.follow(tokens.iter().map(|token| token.generation));
        done
    }

    pub(crate) async fn fail(&mut self, queue: &WorkQueue) {
        let (some, dead) = (self.some_handles(), self.rng.random_bool(0.1));
        let delay = if dead { 0 } else { self.delay() };
        let tokens: Vec<Token> = some.iter().map(|i| self.handles[*i].1).collect();
        self.note(format!("fail {tokens:?}, delay {delay}, dead {dead}"));
        let error = format!("error {}", self.trail.steps.len());
        let failures = some.iter().map(|i| (&self.handles[*i].0, &error[..]));
        let options = FailOptions::new().delay(ms(delay));
        let options = if dead { options.dead() } else { options };
        let answers = queue.fail_many_with(failures, options).await.unwrap();
        let expected: Vec<Option<State>> =
            tokens.iter().map(|token| self.model.fail(*token, &error, delay, dead)).collect();
        self.model.follow(tokens.iter().map(|token| token.generation));
        assert_eq!(answers.into_iter().map(found).collect::<Vec<_>>(), expected);
    }

    pub(crate) async fn release(&mut self, queue: &WorkQueue) {
        let (some, delay) = (self.some_handles(), self.delay());
        let tokens: Vec<Token> = some.iter().map(|i| self.handles[*i].1).collect();
        let reason = *["", "", "a:;H9:b", "c"].choose(&mut self.rng).unwrap();
        self.note(format!("release {tokens:?}, delay {delay}, reason {reason}"));
        let leases = some.iter().map(|i| &self.handles[*i].0);
        let options = ReleaseOptions::new().delay(ms(delay)).reason(reason);
        let answers = queue.release_many_with(leases, options).await.unwrap();
        let answers: Vec<bool> = answers.into_iter().map(|a| found(a).is_some()).collect();
        assert_eq!(answers, self.model.release(&tokens, delay, reason));
    }

    pub(crate) async fn extend(&mut self, queue: &WorkQueue) {
        let (some, duration) = (self.some_handles(), self.duration());
        let tokens: Vec<Token> = some.iter().map(|i| self.handles[*i].1).collect();
        self.note(format!("extend {tokens:?} by {duration}"));
        let leases = some.iter().map(|i| &self.handles[*i].0);
        let answers = queue.extend_many(leases, ms(duration)).await.unwrap();
        let answers: Vec<_> = answers.into_iter().map(|a| found(a).map(since_1970)).collect();
        let expected: Vec<_> =
            tokens.iter().map(|token| self.model.extend(*token, duration)).collect();
        assert_eq!(answers, expected);
    }

    /// The first value of a lease is stored at once; a later one would wait.
    pub(crate) async fn set_progress(&mut self, queue: &WorkQueue) {
        let Some(i) = self.some_handles().first().copied() else { return };
        let (lease, token) = &self.handles[i];
        if !self.reported.insert(*token) {
            return;
        }
        let value: Vec<u8> = (0..self.rng.random_range(0..9)).map(|_| self.rng.random()).collect();
        self.trail.steps.push(format!("set progress {token:?} {value:?}"));
        let answer = found(queue.set_progress(lease, value.clone()).await).is_some();
        assert_eq!(answer, self.model.set_progress(*token, value));
    }

    pub(crate) async fn light_clean(&mut self, queue: &WorkQueue) {
        self.note("light clean".to_owned());
        let report = queue.light_clean().await.unwrap();
        let light = self.model.light_clean();
        assert_eq!((report.promoted, report.expired), (light.promoted, light.expired));
        assert_eq!((report.died, report.next_in), (light.died, light.next_in.map(ms)));
    }

    /// Some items, a few of them as they were seen before.
    pub(crate) fn some_targets(&mut self) -> Vec<(ItemRef, Target)> {
        let targets = self.some_ids().into_iter().map(|id| {
            let named = self.named.get(&id).filter(|_| self.rng.random_bool(0.3));
            let reference = named.map(|(text, _)| ItemRef::new(&id).if_generation(text));
            let generation = named.map(|(_, generation)| *generation);
            (reference.unwrap_or_else(|| ItemRef::new(&id)), Target { id, generation })
        });
        targets.collect()
    }

    pub(crate) async fn remove(&mut self, queue: &WorkQueue) {
        let (items, targets): (Vec<_>, Vec<_>) = self.some_targets().into_iter().unzip();
        self.note(format!("remove {targets:?}"));
        let expected: Vec<bool> = targets.iter().map(|one| self.model.remove(one)).collect();
        assert_eq!(queue.remove_many(items).await.unwrap(), expected);
    }

    pub(crate) async fn requeue(&mut self, queue: &WorkQueue) {
        let (items, targets): (Vec<_>, Vec<_>) = self.some_targets().into_iter().unzip();
        self.note(format!("requeue {targets:?}"));
        let expected: Vec<bool> = targets.iter().map(|one| self.model.requeue(one)).collect();
        assert_eq!(queue.requeue(items).await.unwrap(), expected);
    }

    pub(crate) async fn bury(&mut self, queue: &WorkQueue) {
        let (items, targets): (Vec<_>, Vec<_>) = self.some_targets().into_iter().unzip();
        self.note(format!("bury {targets:?}"));
        let error = format!("buried {}", self.trail.steps.len());
        let expected: Vec<bool> = targets.iter().map(|one| self.model.bury(one, &error)).collect();
        assert_eq!(queue.bury(items, &error).await.unwrap(), expected);
    }

    pub(crate) async fn revise(&mut self, queue: &WorkQueue) {
        let (mut revisions, mut changes) = (Vec::new(), Vec::new());
        for (item, target) in self.some_targets() {
            let delay = self.delay();
            let rng = &mut self.rng;
            let large = if rng.random_bool(0.05) { 20_000 } else { 20 };
            let mut change = Change::default();
            let mut revision = Revision::new();
            if rng.random_bool(0.5) {
                let data: Vec<u8> = (0..rng.random_range(0..large)).map(|_| rng.random()).collect();
                revision = revision.data(&data);
                change.data = Some(data);
            }
            if rng.random_bool(0.3) {
                change.priority = [0, 1, 5, 9].choose(rng).copied();
                revision = revision.priority(change.priority.unwrap());
            }
            if rng.random_bool(0.3) {
                change.delay = Some(delay);
                revision = match rng.random_bool(0.3) {
                    true => revision.due_at(UNIX_EPOCH + ms(self.model.now + delay)),
                    false => revision.delay(ms(delay)),
                };
            }
            if revision == Revision::new() || rng.random_bool(0.3) {
                change.max_attempts = [1, 2, 3].choose(rng).copied();
                revision = revision.max_attempts(change.max_attempts.unwrap());
            }
            revisions.push((item, revision));
            changes.push((target, change));
        }
        self.note(format!("revise {changes:?}"));
        let expected: Vec<bool> =
            changes.iter().map(|(target, change)| self.model.revise(target, change)).collect();
        assert_eq!(queue.revise_many(revisions).await.unwrap(), expected);
    }

    pub(crate) async fn purge(&mut self, queue: &WorkQueue) {
        // Seldom, so that queues grow old.
        if self.rng.random_bool(0.3) {
            let state = *State::ALL.choose(&mut self.rng).unwrap();
            self.note(format!("purge {state:?}"));
            let expected = match self.keyed && is_waiting(state) {
                true => {
                    let all = self.waiting(queue, state).await;
                    self.model.purge_these(all)
                }
                false => self.model.purge(state),
            };
            assert_eq!(queue.purge(state).await.unwrap(), expected);
        }
    }

    pub(crate) async fn drop_queue(&mut self, queue: &WorkQueue) {
        // More seldom still.
        if self.rng.random_bool(0.15) {
            self.note("drop the queue".to_owned());
            assert_eq!(queue.drop_queue().await.unwrap(), self.model.drop_queue());
        }
    }

    pub(crate) async fn get(&mut self, queue: &WorkQueue) {
        let id = self.ids.choose(&mut self.rng).unwrap().clone();
        self.note(format!("get {id:?}"));
        let info = queue.get(&id).await.unwrap();
        let expected = self.model.get(&id);
        assert_eq!(info.is_some(), expected.is_some());
        if let Some((info, (generation, entry))) = info.zip(expected) {
            assert_same(&info, &entry);
            if let Some((text, before)) = self.named.get(&id) {
                assert_eq!(*text == info.generation, *before == generation);
            }
            self.named.insert(id, (info.generation, generation));
        }
    }

    pub(crate) async fn get_many(&mut self, queue: &WorkQueue) {
        let ids = self.some_ids();
        self.note(format!("get {ids:?}"));
        let found = queue.get_many(&ids).await.unwrap();
        assert_eq!(found.len(), ids.len());
        for (id, info) in ids.iter().zip(found) {
            let expected = self.model.get(id);
            assert_eq!(info.is_some(), expected.is_some());
            if let Some((info, (_, entry))) = info.zip(expected) {
                assert_same(&info, &entry);
            }
        }
    }

    pub(crate) async fn counts(&mut self, queue: &WorkQueue) {
        self.note("counts".to_owned());
        let counts = queue.counts().await.unwrap();
        let by_priority = self.model.ready.each_ref().map(|line| line.len() as u64);
        if self.keyed {
            assert!(
                counts.ready_by_priority.iter().zip(by_priority).all(|(seen, all)| *seen <= all)
            );
            assert_eq!(counts.ready, counts.ready_by_priority.iter().sum::<u64>());
        } else {
            assert_eq!((counts.ready_by_priority, counts.held), (by_priority, 0));
        }
        assert_eq!(counts.ready + counts.held, by_priority.iter().sum::<u64>());
        let number = |state| self.model.list(state).len() as u64;
        assert_eq!(
            (counts.delayed, counts.leased, counts.dead),
            (number(State::Delayed), number(State::Leased), number(State::Dead))
        );
        assert_eq!(counts.completed, number(State::Completed));
        assert_eq!(counts.cancelled, number(State::Cancelled));
        assert_eq!(counts.paused, self.model.is_paused());
        assert_eq!(counts.rate_limited, self.model.is_limited());
        assert_eq!(counts.totals.replaced, self.model.replaced);
        assert_eq!(counts.totals.expired_unleased, self.model.expired_unleased);
        assert_eq!(counts.totals.cancelled, self.model.cancelled);
        let t = counts.totals;
        assert_eq!(
            [t.added, t.leased, t.completed, t.expired, t.failed, t.died, t.removed],
            self.model.totals
        );
        // The age is told from a few at the front.
        if by_priority.iter().all(|length| *length <= 16) && counts.held == 0 {
            assert_eq!(counts.oldest_ready, self.model.oldest_ready().map(ms));
        }
    }

    pub(crate) async fn list(&mut self, queue: &WorkQueue) {
        let state = *State::ALL.choose(&mut self.rng).unwrap();
        let limit = self.rng.random_range(1..30);
        let mut options = ListOptions::new().limit(limit);
        options.reverse = self.rng.random();
        let length = self.rng.random_range(0..2);
        options.id_prefix = self.ids.choose(&mut self.rng).unwrap()[..length].to_vec();
        self.note(format!("list {state:?} {options:?}"));
        let mut listed = list_all_with(queue, state, &options).await;
        if self.keyed && is_waiting(state) {
            for info in &listed {
                assert!(info.state == state && info.id.starts_with(&options.id_prefix));
                assert_same(info, &self.model.items[&self.model.ids[&info.id[..]]]);
            }
            return;
        }
        let mut expected = self.model.list(state);
        expected
            .retain(|generation| self.model.items[generation].id.starts_with(&options.id_prefix));
        if options.reverse {
            expected.reverse();
        }
        // Those that end in one millisecond are in any order.
        if state.is_retained() {
            listed.sort_by_key(|info| info.id.clone());
            expected.sort_by_key(|generation| self.model.items[generation].id.clone());
        }
        assert_eq!(listed.len(), expected.len());
        for (info, generation) in listed.iter().zip(&expected) {
            assert_same(info, &self.model.items[generation]);
            if self.rng.random_bool(0.2) {
                self.named.insert(info.id.to_vec(), (info.generation.clone(), *generation));
            }
        }
    }
}

fn complete_options(retain: Option<u64>, results: &[Option<Vec<u8>>]) -> CompleteOptions {
    let options = CompleteOptions::new();
    let options = if let Some(retain) = retain { options.retain(ms(retain)) } else { options };
    match results.iter().any(Option::is_some) {
        true => options.results(results.iter().map(|result| result.clone().map(Into::into))),
        false => options,
    }
}

/// `None` if the lease is lost; any other error is none of this.
fn found<T: std::fmt::Debug>(answer: leaseq::Result<T>) -> Option<T> {
    if answer.is_err() {
        assert!(is_lost(answer));
        return None;
    }
    answer.ok()
}

fn assert_history(endings: &[Ending], releases: Option<&Releases>, entry: &Entry) {
    let endings: Vec<_> = endings.iter().map(|end| (end.kind, since_1970(end.at))).collect();
    assert_eq!(endings, entry.endings);
    let releases =
        releases.map(|made| (made.reason.clone(), made.count, since_1970(made.first_at)));
    assert_eq!(releases, entry.releases);
}

fn assert_same(info: &ItemInfo, entry: &Entry) {
    assert_eq!((&info.id[..], &info.data[..]), (&entry.id[..], &entry.data[..]));
    // The model does not know which items are held.
    let is_held = info.state == State::Held && entry.key.is_some();
    assert_eq!(if is_held { State::Ready } else { info.state }, entry.state);
    assert_eq!(info.key.as_deref(), entry.key.as_deref());
    assert_eq!((info.priority, info.max_attempts), (entry.priority, entry.max_attempts));
    assert_eq!((info.failures, info.expiries), (entry.failures, entry.expiries));
    assert_eq!(info.last_error, entry.error);
    assert_history(&info.endings, info.releases.as_ref(), entry);
    assert_eq!((info.retain, info.unique.as_deref()), (ms(entry.retain), entry.unique.as_deref()));
    assert_eq!(info.ended_at.map(since_1970), entry.ended_at);
    assert_eq!(info.expires_at.map(since_1970), entry.expires);
    assert_eq!(info.result.as_deref(), entry.result.as_deref());
    assert_eq!(info.progress.as_deref(), entry.progress.as_deref());
    assert_eq!(info.cancel_requested, entry.marked);
    assert_eq!(since_1970(info.added_at), entry.added_at, "{info:?}");
    assert_eq!(info.at.map(since_1970), (entry.state != State::Ready).then_some(entry.at));
}
