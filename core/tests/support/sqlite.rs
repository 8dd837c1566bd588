//! Test code for SQLite.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leaseq::{Clock, ConnectOptions};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tempfile::TempDir;

use super::Bench;
use super::bench::Backend;

pub(crate) struct Sqlite {
    folder: TempDir,
    clock: Arc<AtomicU64>,
}

pub(crate) fn bench() -> Bench {
    let folder = tempfile::Builder::new().prefix("leaseq-sqlite-").tempdir();
    let folder = folder.expect("a temporary directory can be made");
    Bench::new(Sqlite { folder, clock: Arc::default() })
}

impl Backend for Sqlite {
    fn url(&self) -> String {
        format!("sqlite:{}?synchronous=normal", self.folder.path().join("queue.db").display())
    }

    fn with_clock(&self, mut options: ConnectOptions) -> ConnectOptions {
        let clock = self.clock.clone();
        options.clock = Some(Clock::from(move || clock.load(Ordering::Relaxed)));
        options
    }

    fn set_clock(&self, ms: u64) {
        self.clock.store(ms, Ordering::Relaxed);
    }

    fn dump(&self) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
        let open = Connection::open(self.folder.path().join("queue.db"));
        let connection = open.expect("the file can be opened");
        let mut dump = BTreeMap::new();
        for table in ["queue", "item", "large", "extra", "open_key", "key_limit", "key_meter"] {
            dump_table(&connection, table, &mut dump).expect("the file can be read");
        }
        dump
    }
}

/// Each row, keyed by its table and its place there.
fn dump_table(
    connection: &Connection,
    table: &str,
    dump: &mut BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
) -> rusqlite::Result<()> {
    let mut query = connection.prepare(&format!("SELECT * FROM {table}"))?;
    let columns = query.column_count();
    let mut rows = query.query([])?;
    let mut place = 0;
    while let Some(row) = rows.next()? {
        place += 1;
        let value = |i| {
            row.get_ref(i).map(|value| match value {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
                other => format!("{other:?}").into_bytes(),
            })
        };
        let values = (0..columns).map(value).collect::<rusqlite::Result<_>>()?;
        dump.insert(format!("{table} {place}").into_bytes(), values);
    }
    Ok(())
}
