//! Calls that run in the background.

use super::*;

#[test]
fn background_calls_are_executed_in_the_order_in_which_they_are_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("q.db");
    let client = connect(&format!("sqlite:{}?synchronous=normal", file.display()));
    let queue = Arc::new(client.queue("q").unwrap());
    let (send, answers) = mpsc::channel();
    for round in 0..500 {
        // What each of them returns depends on the one before.
        for add in [true, false].repeat(3) {
            let (queue, send) = (queue.clone(), send.clone());
            start(async move {
                let queue = queue.in_this_process().await.unwrap();
                let done = match add {
                    true => queue.add_item(Item::new("x").with_id("id")).await.unwrap(),
                    false => queue.remove("id").await.unwrap(),
                };
                send.send(done).unwrap();
            })
            .unwrap();
        }
        for _ in 0..6 {
            assert!(answers.recv().unwrap(), "round {round}");
        }
    }
}

#[test]
fn a_background_call_that_panics_harms_no_other() {
    let (send, answers) = mpsc::channel();
    start(async { panic!("at once") }).unwrap();
    start(async {
        tokio::task::yield_now().await;
        panic!("later");
    })
    .unwrap();
    start(async move { send.send(()).unwrap() }).unwrap();
    answers.recv().unwrap();
}
