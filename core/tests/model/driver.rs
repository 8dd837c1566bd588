//! Runs the same random operations on a queue and on the model.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, UNIX_EPOCH};

use leaseq::{Lease, State, WorkQueue};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::ends::More;
use crate::keys::is_waiting;
use crate::model::{Model, Token};
use crate::support::*;

/// Says how to come back here when something differs.
pub(crate) struct Trail {
    seed: u64,
    pub(crate) steps: Vec<String>,
}

impl Drop for Trail {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let from = self.steps.len().saturating_sub(40);
            eprintln!("{}", self.steps[from..].join("\n"));
            eprintln!("step {} of LEASEQ_SEED={}", self.steps.len(), self.seed);
        }
    }
}

pub(crate) struct Driver<'a> {
    bench: &'a Bench,
    /// The same queue through several clients, and twice through one.
    queues: Vec<WorkQueue>,
    pub(crate) model: Model,
    pub(crate) rng: StdRng,
    pub(crate) ids: Vec<Vec<u8>>,
    /// Whether items are retained, and have unique keys.
    pub(crate) extended: bool,
    /// Whether items have keys.
    pub(crate) keyed: bool,
    /// Current and stale ones.
    pub(crate) handles: Vec<(Lease, Token)>,
    /// Leases whose holders have reported progress.
    pub(crate) reported: HashSet<Token>,
    pub(crate) generations: HashMap<u64, u64>,
    /// Generations of some ids as an operator has seen them, with those of the model.
    pub(crate) named: HashMap<Vec<u8>, (String, u64)>,
    pub(crate) trail: Trail,
}

pub(crate) async fn run(bench: &Bench, seed: u64, operations: usize) {
    let name = format!("queue-{seed}");
    let mut queues = Vec::new();
    for _ in 0..2 {
        queues.push(bench.client().await.queue(&name).unwrap());
    }
    queues.push(queues[0].clone());
    let mut rng = StdRng::seed_from_u64(seed);
    let ids = (0..rng.random_range(3..90)).map(|i| make_id(&mut rng, i)).collect::<BTreeSet<_>>();
    let extended = rng.random_bool(0.67);
    let keyed = extended && rng.random_bool(0.6);
    let mut driver = Driver {
        bench,
        queues,
        model: Model::new(bench.now()),
        rng,
        ids: ids.into_iter().collect(),
        extended,
        keyed,
        handles: Vec::new(),
        reported: HashSet::new(),
        generations: HashMap::new(),
        named: HashMap::new(),
        trail: Trail { seed, steps: Vec::new() },
    };
    for step in 1..=operations {
        driver.step().await;
        if step % 500 == 0 {
            driver.compare_all().await;
        }
    }
}

fn make_id(rng: &mut StdRng, i: u32) -> Vec<u8> {
    match i % 4 {
        0 => format!("{:032x}", rng.random::<u128>()).into_bytes(),
        1 => uuid::Uuid::from_u128(rng.random()).to_string().into_bytes(),
        2 => (0..rng.random_range(1..6)).map(|_| rng.random_range(0..4)).collect(),
        _ => format!("id {i}").into_bytes(),
    }
}

impl Driver<'_> {
    async fn step(&mut self) {
        // Time moves in half of the steps; sometimes far.
        if self.rng.random_bool(0.5) {
            let by = [0, 1, 1, 2, 5, 20, 20, 100, 3000].choose(&mut self.rng).unwrap();
            self.bench.advance(ms(*by));
            self.model.now += by;
        }
        let queue = self.queues.choose(&mut self.rng).unwrap().clone();
        if self.keyed && self.rng.random_bool(0.06) {
            match self.rng.random() {
                true => self.set_key_limits(&queue).await,
                false => self.get_keys(&queue).await,
            }
        }
        match self.rng.random_range(0..100) {
            0..20 => self.add(&queue).await,
            20..42 => self.lease(&queue).await,
            42..48 => self.complete(&queue).await,
            48..54 => self.complete_and_lease(&queue).await,
            54..62 => self.fail(&queue).await,
            62..65 => self.set_progress(&queue).await,
            65..72 => self.release(&queue).await,
            72..78 => self.extend(&queue).await,
            78..80 => self.light_clean(&queue).await,
            80..82 => self.cancel(&queue).await,
            82..84 => self.remove(&queue).await,
            84..86 => self.requeue(&queue).await,
            86..88 => self.bury(&queue).await,
            88..90 => self.revise(&queue).await,
            90..91 => self.purge(&queue).await,
            91..92 => self.pause(&queue).await,
            92..93 => self.configure(&queue).await,
            93..94 => self.drop_queue(&queue).await,
            94..95 => self.get(&queue).await,
            95..96 => self.get_many(&queue).await,
            96..97 => self.outcome(&queue).await,
            97..98 => self.counts(&queue).await,
            _ => self.list(&queue).await,
        }
        self.decide(&queue).await;
    }

    pub(crate) fn note(&mut self, step: String) {
        self.trail.steps.push(format!("{} {step}", self.model.now));
    }

    /// Some handles, the same one perhaps twice; often just one.
    pub(crate) fn some_handles(&mut self) -> Vec<usize> {
        if self.handles.is_empty() {
            return Vec::new();
        }
        let most = if self.rng.random_bool(0.5) { 1 } else { 6 };
        let count = self.rng.random_range(1..=most);
        (0..count).map(|_| self.rng.random_range(0..self.handles.len())).collect()
    }

    pub(crate) fn some_ids(&mut self) -> Vec<Vec<u8>> {
        let count = self.rng.random_range(1..=4);
        (0..count).map(|_| self.ids.choose(&mut self.rng).unwrap().clone()).collect()
    }

    /// For how long an item is retained, or a key reserved.
    pub(crate) fn keeping(&mut self) -> u64 {
        *[0, 0, 1, 20, 500, 5000].choose(&mut self.rng).unwrap()
    }

    /// The options of an item in an extended queue.
    pub(crate) fn more(&mut self) -> More {
        if !self.extended || self.rng.random_bool(0.3) {
            return More { key: self.key(), ..More::default() };
        }
        let unique = self.rng.random_bool(0.5).then(|| vec![b'k', self.rng.random_range(0..12)]);
        let unique_for = if unique.is_some() { self.keeping() } else { 0 };
        let expires = self.rng.random_bool(0.4);
        let expires_in = [1, 5, 20, 100, 1000, 5000].choose(&mut self.rng).copied();
        let expires_in = expires_in.filter(|_| expires);
        let replace = self.rng.random_bool(0.4);
        let successor = replace && self.rng.random_bool(0.6);
        let key = self.key();
        let retain = self.keeping();
        let due_at = None;
        More { retain, unique, unique_for, replace, successor, due_at, expires_in, key }
    }

    /// How long completed items are retained, and the results of this many.
    pub(crate) fn ends(&mut self, count: usize) -> (Option<u64>, Vec<Option<Vec<u8>>>) {
        if !self.extended {
            return (None, vec![None; count]);
        }
        let retain = self.rng.random_bool(0.4).then(|| self.keeping());
        let dense = self.rng.random_bool(0.5);
        let result = |i: usize| (dense || i.is_multiple_of(2)).then(|| vec![b'r'; i]);
        (retain, (0..count).map(result).collect())
    }

    pub(crate) fn duration(&mut self) -> u64 {
        *[1, 2, 10, 50, 200, 5000].choose(&mut self.rng).unwrap()
    }

    pub(crate) fn delay(&mut self) -> u64 {
        *[0, 0, 0, 1, 5, 50, 1000].choose(&mut self.rng).unwrap()
    }

    async fn compare_all(&mut self) {
        let queue = self.queues[0].clone();
        self.counts(&queue).await;
        if self.keyed {
            self.get_keys(&queue).await;
            self.compare_waiting(&queue).await;
        }
        for state in State::ALL {
            if self.keyed && is_waiting(state) {
                continue;
            }
            let listed = list_all(&queue, state, 1000).await;
            let mut listed: Vec<_> = listed.iter().map(|info| (info.at, &info.id[..])).collect();
            let items = self.model.list(state).into_iter().map(|g| &self.model.items[&g]);
            let at = |ms| (state != State::Ready).then(|| UNIX_EPOCH + Duration::from_millis(ms));
            let mut expected: Vec<_> = items.map(|item| (at(item.at), &item.id[..])).collect();
            // Those that end in one millisecond are in any order.
            if state.is_retained() || state == State::Dead {
                listed.sort();
                expected.sort();
            }
            assert_eq!(listed, expected, "{state:?}");
        }
        assert_sound(&queue).await;
    }
}
