//! Deep cleans of a damaged queue, stopped after each call.

use ::redis::Connection;
use leaseq::{Result, WorkQueue};

use crate::damage::Hurt;
use crate::fixtures::{Leases, add_fixtures};
use crate::support::*;
use crate::verify::Stage;

/// Some of everything that a deep clean mends.
fn hurt(raw: &mut Connection, queue: &str) {
    let q = &mut Hurt { raw, queue };
    q.drop_from("ready", "ready");
    q.drop_from("delayed", "later");
    q.drop_from("dead", "dead");
    q.push("RPUSH", "ready", "s-dead");
    q.score("dead", "due-high", "1800000000000");
    q.score("leased", "due-high", "1800000000000");
    q.push("LPUSH", "ready:2", "ready-too");
    q.run("ZADD", "leased", &["1", "999"]);
    q.run("HSET", "details", &["999", "1:0:0:0:0:0:0:0:"]);
    q.score("delayed", "due", "+inf");
    let (details, astray) = (q.number("due-front"), q.number("s-ready"));
    q.run("HSET", "details", &[&details, "garbage"]);
    q.run("HSET", "meta", &["gone:3", "5"]);
    q.run("HSET", "ids", &["nothing", "999", "due-high", &astray]);
    q.run("HDEL", "ids", &["ready-high"]);
}

#[tokio::test]
async fn deep_clean() {
    let mut stage = Stage::new().await;
    stage.hurt = Some(hurt);
    let act =
        async |queue: &WorkQueue, _: &Leases| -> Result<()> { queue.deep_clean().await.map(drop) };
    for script in
        ["audit_items", "audit_ready", "mend_doubled", "mend_stray", "audit_index", "audit_counts"]
    {
        let prepare = async |bench: &Bench, queue: &WorkQueue| add_fixtures(bench, queue).await;
        stage.acts(script, &[], prepare, act).await;
    }
}
