//! The blocking face: calls of many threads, interruptions, and forks at any moment.
#![allow(clippy::unwrap_used, clippy::panic)]

mod background;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use leaseq::blocking::{Client, ProcessBound, Queue, run, run_while, start};
use leaseq::{
    CompleteOptions, ConnectOptions, Error, ErrorKind, Item, KeepAlive, LeaseOptions, Result, fork,
};
use leaseq_test_support::{Proxy, RedisServer};

fn connect(url: &str) -> Arc<Client> {
    run(Client::connect(Some(url), ConnectOptions::default())).unwrap()
}

fn soon() -> LeaseOptions {
    LeaseOptions::new(Duration::from_secs(30)).wait(Duration::from_secs(5))
}

/// Adds an item, leases one and completes it.
fn cycle(queue: &Queue) -> Result<bool> {
    run(async { queue.in_this_process().await?.add_item(Item::new("data")).await })?;
    let lease = run(async { queue.in_this_process().await?.lease(soon()).await })?.unwrap();
    run(async { queue.in_this_process().await?.complete(&lease).await })
}

/// Runs `work` in a forked child; true if it came to its end and answered true.
fn in_child(work: impl FnOnce() -> bool) -> bool {
    fork::before();
    // SAFETY: the child touches nothing that another thread may hold, and ends by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        fork::after_in_child();
        // SAFETY: plain system calls. A child that hangs ends by the alarm.
        unsafe { libc::alarm(20) };
        let well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(false);
        unsafe { libc::_exit(i32::from(!well)) };
    }
    fork::after_in_parent();
    assert!(child > 0, "no fork");
    let mut status = 0;
    // SAFETY: waits for a child of this process; `status` is its own.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status == 0
}

#[test]
fn a_child_goes_on_with_connections_of_its_own_while_threads_of_the_parent_work() {
    let server = RedisServer::start();
    let client = connect(&server.url());
    let queue = Arc::new(client.queue("forked").unwrap());
    let (ended, cycles) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (queue, ended, cycles) = (queue.clone(), ended.clone(), cycles.clone());
            std::thread::spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    assert!(cycle(&queue).unwrap());
                    cycles.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for round in 0..100 {
        let child = in_child(|| {
            let grandchild = round % 10 != 0 || in_child(|| cycle(&queue).unwrap());
            grandchild
                && cycle(&queue).unwrap()
                && run(async {
                    client.close().await;
                    Ok(())
                })
                .is_ok()
        });
        assert!(child, "child {round}");
        let before = cycles.load(Ordering::Relaxed);
        let began = Instant::now();
        while cycles.load(Ordering::Relaxed) == before {
            assert!(began.elapsed() < Duration::from_secs(10), "the parent stands still");
            std::thread::yield_now();
        }
    }
    ended.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    let counts = run(async { queue.in_this_process().await?.counts().await }).unwrap();
    assert_eq!(counts.ready + counts.leased, 0);
    assert_eq!(counts.totals.completed, cycles.load(Ordering::Relaxed) + 110);
}

#[test]
fn a_lease_of_the_parent_stays_the_parents() {
    let server = RedisServer::start();
    let client = connect(&server.url());
    let queue = client.queue("q").unwrap();
    run(async { queue.in_this_process().await?.add_item(Item::new("data")).await }).unwrap();
    let lease = run(async { queue.in_this_process().await?.lease(soon()).await }).unwrap().unwrap();
    let lease = ProcessBound::new(lease);
    assert!(in_child(|| {
        let error = lease.get("the lease").unwrap_err();
        error.kind() == ErrorKind::Invalid && lease.peek().unwrap().data() == "data"
    }));
    let lease = lease.get("the lease").unwrap();
    assert!(run(async { queue.in_this_process().await?.complete(lease).await }).unwrap());
}

#[test]
fn a_memory_queue_does_not_follow_into_a_child() {
    let client = connect("memory:");
    let queue = client.queue("q").unwrap();
    assert!(in_child(|| {
        let error = cycle(&queue).unwrap_err();
        let own = connect("memory:");
        error.kind() == ErrorKind::Invalid && cycle(&own.queue("q").unwrap()).unwrap()
    }));
    assert!(cycle(&queue).unwrap());
}

#[test]
fn an_interrupted_wait_ends_soon_and_leases_nothing() {
    let client = connect("memory:");
    let queue = Arc::new(client.queue("q").unwrap());
    let (began, mut asked) = (Instant::now(), 0);
    let call = queue.clone();
    let waiting = async move {
        call.in_this_process().await?.lease(LeaseOptions::new(Duration::from_secs(30))).await
    };
    let error = run_while(waiting, Duration::from_millis(20), || {
        asked += 1;
        if asked < 3 { Ok(()) } else { Err(Stopped) }
    });
    assert!(matches!(error, Err(Stopped)));
    assert!(began.elapsed() < Duration::from_secs(5));
    run(async { queue.in_this_process().await?.add_item(Item::new("data")).await }).unwrap();
    let counts = run(async { queue.in_this_process().await?.counts().await }).unwrap();
    assert_eq!((counts.ready, counts.leased), (1, 0));
}

#[test]
fn whoever_is_asked_to_go_on_may_make_a_call_of_its_own() {
    let client = connect("memory:");
    let queue = Arc::new(client.queue("q").unwrap());
    let mut asked = 0;
    let call = queue.clone();
    let waiting = async move { call.in_this_process().await?.lease(soon()).await };
    let lease = run_while(waiting, Duration::from_millis(10), || {
        asked += 1;
        if asked == 2 {
            run(async { queue.in_this_process().await?.add_item(Item::new("data")).await })?;
        }
        Ok::<(), Error>(())
    });
    assert_eq!(lease.unwrap().unwrap().data(), "data");
    assert!(asked >= 2);
}

/// A signal may come while the first call on a queue still looks at it, and its handler may make a call that needs that.
#[test]
fn whoever_is_asked_to_go_on_may_need_what_the_call_has_begun() {
    let server = RedisServer::start();
    let proxy = Proxy::start_blocking(server.port());
    let queue = Arc::new(connect(&proxy.url()).queue("q").unwrap());
    proxy.delay(Duration::from_millis(100));
    let call = queue.clone();
    let waiting = async move { call.in_this_process().await?.lease(soon()).await };
    let mut asked = 0;
    let lease = run_while(waiting, Duration::from_millis(20), || {
        asked += 1;
        if asked == 1 {
            run(async { queue.in_this_process().await?.add_item(Item::new("data")).await })?;
        }
        Ok::<(), Error>(())
    });
    assert_eq!(lease.unwrap().unwrap().data(), "data");
}

#[test]
fn what_is_given_back_is_ready_again_even_if_the_client_closes() {
    let server = RedisServer::start();
    let client = connect(&server.url());
    let queue = client.queue("q").unwrap();
    run(async { queue.in_this_process().await?.add_item(Item::new("data")).await }).unwrap();
    let lease = run(async { queue.in_this_process().await?.lease(soon()).await }).unwrap().unwrap();
    assert!(!lease.is_settled());
    run(async {
        queue.in_this_process().await?.give_back([&lease]);
        client.close().await;
        Ok(())
    })
    .unwrap();
    assert!(lease.is_settled() && !lease.is_lost());
    let client = connect(&server.url());
    let queue = client.queue("q").unwrap();
    let counts = run(async { queue.in_this_process().await?.counts().await }).unwrap();
    assert_eq!((counts.ready, counts.leased), (1, 0));
}

/// Longer than any lease of these tests lasts by itself.
/// On the embedded engine a short call has its answer at once, and then drives nothing else.
#[test]
fn background_work_goes_on_between_calls_that_never_wait() {
    let client = connect("memory:");
    let queue = client.queue("busy").unwrap();
    for round in 0..200 {
        run(async { queue.in_this_process().await?.add_item(Item::new("data")).await }).unwrap();
        let lease =
            run(async { queue.in_this_process().await?.lease(soon()).await }).unwrap().unwrap();
        run(async {
            queue.in_this_process().await?.give_back([&lease]);
            Ok(())
        })
        .unwrap();
        let begun = Instant::now();
        while run(async { queue.in_this_process().await?.processing().await }).unwrap() > 0 {
            assert!(begun.elapsed() < Duration::from_secs(10), "it was not given back: {round}");
        }
        let lease =
            run(async { queue.in_this_process().await?.lease(soon()).await }).unwrap().unwrap();
        assert!(run(async { queue.in_this_process().await?.complete(&lease).await }).unwrap());
    }
}

fn do_something_else() {
    std::thread::sleep(Duration::from_millis(4_000));
}

#[test]
fn a_lease_is_kept_alive_whatever_its_thread_does() {
    let server = RedisServer::start();
    let client = connect(&server.url());
    let queue = Arc::new(client.queue("kept").unwrap());
    let hold = || {
        run(async { queue.in_this_process().await?.add_item(Item::new("kept")).await }).unwrap();
        let options = LeaseOptions::new(Duration::from_secs(3)).keep_alive(KeepAlive::new());
        run(async { queue.in_this_process().await?.lease(options).await }).unwrap().unwrap()
    };
    let is_kept = |lease: leaseq::Lease| {
        // Before a call that would let the work in the background go on.
        assert!(!lease.is_lost(), "its time is over");
        let strictly = CompleteOptions::new().strict();
        run(async { queue.in_this_process().await?.complete_with(&lease, strictly).await }).unwrap()
    };
    // Nothing, after calls in a row.
    let lease = hold();
    let other = client.queue("other").unwrap();
    (0..200).for_each(|_| assert!(cycle(&other).unwrap()));
    do_something_else();
    assert!(is_kept(lease));
    // Waiting, for longer than another one that began after it.
    let lease = hold();
    let waits = |wait: u64| {
        let queue = client.queue("empty").unwrap();
        let options = LeaseOptions::new(Duration::from_secs(1)).wait(Duration::from_millis(wait));
        move || {
            run(async { queue.in_this_process().await?.lease(options).await }).unwrap().is_none()
        }
    };
    let waiting = [waits(600), waits(300)].map(std::thread::spawn);
    assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
    do_something_else();
    assert!(is_kept(lease));
    // A signal's handler, in the middle of a call.
    let lease = hold();
    let call = queue.clone();
    let wait = async move {
        call.in_this_process().await?.lease(soon().wait(Duration::from_millis(50))).await
    };
    let mut asked = 0;
    let nothing = run_while(wait, Duration::from_millis(10), || {
        asked += 1;
        if asked == 1 {
            do_something_else();
        }
        Ok::<(), Error>(())
    });
    assert!(nothing.unwrap().is_none() && asked > 0);
    assert!(is_kept(lease));
}

struct Stopped;

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        panic!("{error}");
    }
}

#[test]
fn a_blocking_call_inside_a_runtime_is_refused() {
    let (send, answer) = mpsc::channel();
    start(async move { send.send(run(async { Ok(()) })).unwrap() }).unwrap();
    assert_eq!(answer.recv().unwrap().unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn after_close_everything_is_closed() {
    let client = connect("memory:");
    let queue = client.queue("q").unwrap();
    run(async {
        client.close().await;
        Ok(())
    })
    .unwrap();
    assert_eq!(cycle(&queue).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(client.queue("q").unwrap_err().kind(), ErrorKind::Closed);
}
