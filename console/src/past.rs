//! What the console keeps of the history of a queue, so that it asks only for what has come since.

use std::time::{Duration, SystemTime};

use leaseq::{HistoryKind, HistoryRow, WorkQueue};

/// The rows of a history from a time on, the oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Past {
    since: SystemTime,
    rows: Vec<HistoryRow>,
}

impl Past {
    /// Reads what it lacks. Without an old one that goes back far enough, that is everything.
    pub(crate) async fn read(
        queue: &WorkQueue,
        kind: HistoryKind,
        since: SystemTime,
        old: Option<Past>,
    ) -> leaseq::Result<Past> {
        if let Some(mut past) = old.filter(|old| old.has(since))
            && let Some(last) = past.rows.pop()
        {
            let new = queue.history_since(kind, last.at).await?;
            // Otherwise another queue has its name now, or the clock of the server was put back.
            if new.first().is_some_and(|row| (row.at, &row.totals) == (last.at, &last.totals)) {
                past.rows.extend(new);
                past.drop_old(kind);
                return Ok(past);
            }
        }
        Ok(Past { since, rows: queue.history_since(kind, since).await? })
    }

    /// Whether it goes back as far as that.
    pub(crate) fn has(&self, since: SystemTime) -> bool {
        self.since <= since
    }

    /// The rows of this time and later ones.
    pub(crate) fn from(&self, since: SystemTime) -> &[HistoryRow] {
        let first = self.rows.partition_point(|row| row.at < since);
        &self.rows[first..]
    }

    /// The server has overwritten these.
    fn drop_old(&mut self, kind: HistoryKind) {
        const DAY: Duration = Duration::from_secs(86_400);
        let life = match kind {
            HistoryKind::Minutes => DAY,
            HistoryKind::Hours => 31 * DAY,
        };
        let oldest = self.rows.last().and_then(|last| last.at.checked_sub(life));
        let expired =
            self.rows.partition_point(|row| oldest.is_some_and(|oldest| row.at <= oldest));
        self.rows.drain(..expired);
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use HistoryKind::{Hours, Minutes};
    use leaseq::{Client, Item, Measured};
    use leaseq_test_support::RedisServer;

    use super::*;

    /// Scripts that were called since the last time.
    fn requests(server: &RedisServer) -> usize {
        let stats = server.cli(&["INFO", "commandstats"]);
        server.command(&["CONFIG", "RESETSTAT"]);
        let calls = |line: &str| {
            line.strip_prefix("cmdstat_evalsha:calls=")?.split(',').next()?.parse().ok()
        };
        stats.lines().find_map(calls).unwrap_or(0)
    }

    async fn began(queue: &WorkQueue, server: &RedisServer) -> usize {
        queue.add_item(Item::new("x")).await.unwrap();
        let mut measured = Measured::default();
        measured.run.record(1_000);
        queue.record_history(&measured).await.unwrap();
        requests(server)
    }

    /// Writes a row for each minute of the last day before this one.
    fn day(server: &RedisServer, last: SystemTime) {
        let last = last.duration_since(UNIX_EPOCH).unwrap().as_millis() / 60_000;
        for index in last - 1_439..last {
            let row = format!("m{}", index % 1_440);
            let numbers = format!("{} 1 0 0 0 0 0 0 0 0 0 1 0 0 0 0", index * 60_000);
            server.command(&["HSET", "leaseq:{mail}:history", &row, &numbers]);
        }
    }

    #[tokio::test]
    async fn what_has_come_since_costs_one_command() {
        let server = RedisServer::start();
        let queue = Client::connect(&server.url()).await.unwrap().queue("mail").unwrap();
        began(&queue, &server).await;
        let read = async |kind, since, old| Past::read(&queue, kind, since, old).await.unwrap();
        let first = read(Minutes, UNIX_EPOCH, None).await;
        day(&server, first.rows[0].at);
        requests(&server);
        let full = read(Minutes, UNIX_EPOCH, None).await;
        assert_eq!((full.rows.len(), requests(&server)), (1_440, 4));

        // As it was some minutes ago, when the last row had not all of its measurements, and an older one was there.
        let mut old = full.clone();
        old.rows.truncate(1_430);
        old.rows[1_429].measured.run.record(7);
        old.rows.insert(0, old.rows[0].clone());
        old.rows[0].at -= Duration::from_secs(60);
        let now = read(Minutes, UNIX_EPOCH, Some(old)).await;
        assert_eq!((&now.rows, requests(&server)), (&full.rows, 1));

        // Only the last hour, and then more.
        let since = full.rows[1_380].at;
        let hour = read(Minutes, since, None).await;
        assert_eq!((&hour.rows[..], requests(&server)), (&full.rows[1_380..], 1));
        let more = read(Minutes, full.rows[900].at, Some(hour)).await;
        assert_eq!((more.rows.len(), requests(&server)), (540, 2));
        assert_eq!(more.from(since), &full.rows[1_380..]);
        assert_eq!(read(Hours, UNIX_EPOCH, None).await.rows.len(), 1);
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_queue_that_was_dropped() {
        let server = RedisServer::start();
        let client = Client::connect(&server.url()).await.unwrap();
        let queue = client.queue("mail").unwrap();
        began(&queue, &server).await;
        let old = Past::read(&queue, Minutes, UNIX_EPOCH, None).await.unwrap();
        day(&server, old.rows[0].at);
        let old = Past::read(&queue, Minutes, UNIX_EPOCH, None).await.unwrap();
        assert_eq!(old.rows.len(), 1_440);
        assert!(queue.drop_queue().await.unwrap());
        let none = Past::read(&queue, Minutes, UNIX_EPOCH, Some(old.clone())).await.unwrap();
        assert!(none.rows.is_empty());
        let queue = client.queue("mail").unwrap();
        began(&queue, &server).await;
        for old in [old, none] {
            let new = Past::read(&queue, Minutes, UNIX_EPOCH, Some(old)).await.unwrap();
            assert_eq!(new.rows.len(), 1);
        }
    }
}
