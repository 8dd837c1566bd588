//! Target 2: what an item takes of the server's memory, queued and leased, with its data.

use crate::Scale;
use crate::load::BULK;
use crate::report::{Bound, Report, Scene};
use crate::setup::{Setup, at_once};

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    for (data, items) in [(100, scale.deep / 10), (10_000, scale.deep / 100)] {
        let setup = Setup::new().await;
        let queue = setup.queue("memory");
        let before = setup.used_memory();
        BULK.add(&queue, items, data).await;
        let queued = (setup.used_memory() - before) / items as f64;
        let mut left = items;
        while left > 0 {
            left -= queue.lease_many(1_000, at_once()).await.unwrap().len();
        }
        let leased = (setup.used_memory() - before) / items as f64;
        report.scene(Scene::redis("one client").data(data));
        let note =
            format!("used_memory, {items} items; {:.0} besides the data", queued - data as f64);
        if data == 100 {
            let at_most = (Bound::AtMost, 320.0);
            report.target("2", "memory of a queued item", queued, "bytes", at_most, note);
        } else {
            report.info("", "memory of a queued item", queued, "bytes", note);
        }
        let note = format!("{:.0} besides the data", leased - data as f64);
        report.info("", "memory of a leased item", leased, "bytes", note);
    }
}
