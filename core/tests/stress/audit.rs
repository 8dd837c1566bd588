//! Looks at all items of a queue in one atomic step, while others work on it.

use redis::{Connection, Script};
use rusqlite::OpenFlags;

/// A view of a store, past the product.
pub(crate) enum Auditor {
    Redis(Box<Connection>),
    Sqlite(Box<rusqlite::Connection>),
}

/// What must never be: unique keys that two live items have, and live items whose keys lead to others.
#[derive(Debug, PartialEq, Default)]
pub(crate) struct Violations {
    pub(crate) doubled: Vec<String>,
    pub(crate) astray: Vec<String>,
}

/// Keys in a readable length.
fn shown(keys: Vec<Vec<u8>>) -> Vec<String> {
    let show = |key: Vec<u8>| format!("{} bytes, {:?}", key.len(), &key[..key.len().min(8)]);
    keys.into_iter().map(show).collect()
}

/// A live item is ready, delayed or leased, and has not expired.
const LOOK: &str = "
local prefix = 'leaseq:{jobs}:'
local time = redis.call('LRANGE', 'test-clock', 0, 1)
if not time[1] then time = redis.call('TIME') end
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local items, doubled, astray, seen = redis.call('HGETALL', prefix .. 'items'), {}, {}, {}
for i = 1, #items, 2 do
  -- Of the head: flags and the length of the id, the id, perhaps the time of retention, the length of the key, the key.
  local number, record = items[i], items[i + 1]
  local word = struct.unpack('>I2', record)
  local alive, key = math.floor(word / 16384) % 2 == 1, nil
  if alive then
    local at = 3 + word % 4096 + (word >= 32768 and 6 or 0)
    key = string.sub(record, at + 2, at + 1 + struct.unpack('>I2', record, at))
  end
  for _, set in ipairs({ 'dead', 'completed', 'cancelled' }) do
    alive = alive and not redis.call('ZSCORE', prefix .. set, number)
  end
  local expires = redis.call('ZSCORE', prefix .. 'expiries', number)
  if expires and math.abs(tonumber(expires)) <= now and not redis.call('ZSCORE', prefix .. 'leased', number) then
    alive = false
  end
  if alive then
    if seen[key] then doubled[#doubled + 1] = key end
    seen[key] = true
    local owner = redis.call('HGET', prefix .. 'uniques', key) or ''
    if owner ~= number then astray[#astray + 1] = key end
  end
end
return { doubled, astray }";

const ALIVE: &str = "FROM extra JOIN item ON item.number = extra.number
    JOIN queue ON queue.queue = item.queue AND queue.name IS NOT NULL
    WHERE extra.unique_key IS NOT NULL AND item.state IN (0, 1, 2)
    AND (item.state = 1 OR extra.expires_at IS NULL OR abs(extra.expires_at) > ?1)";

impl Auditor {
    /// `url`: of a bench, or of a server of another test.
    pub(crate) fn new(url: &str) -> Auditor {
        let Some(file) = url.strip_prefix("sqlite:") else {
            let client = redis::Client::open(url).unwrap();
            return Auditor::Redis(Box::new(client.get_connection().unwrap()));
        };
        let file = file.split('?').next().unwrap_or_default();
        let open = rusqlite::Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY);
        Auditor::Sqlite(Box::new(open.unwrap()))
    }

    /// `now`: the clock of the queue, read after the look has begun, so that it is not earlier than anything seen.
    pub(crate) fn look(&mut self, now: impl Fn() -> u64) -> Violations {
        match self {
            Auditor::Redis(connection) => {
                let look = Script::new(LOOK);
                let (doubled, astray) = look.invoke(connection).unwrap();
                Violations { doubled: shown(doubled), astray: shown(astray) }
            }
            Auditor::Sqlite(connection) => {
                let view = connection.transaction().unwrap();
                let items = "SELECT count(*) FROM item";
                view.query_row(items, [], |row| row.get::<_, i64>(0)).unwrap();
                let now = now() as i64;
                let keys = |query: &str| -> Vec<Vec<u8>> {
                    let mut query = view.prepare(query).unwrap();
                    let rows = query.query_map([now], |row| row.get(0)).unwrap();
                    rows.collect::<rusqlite::Result<_>>().unwrap()
                };
                let doubled = format!(
                    "SELECT extra.unique_key {ALIVE}
                    GROUP BY item.queue, extra.unique_key HAVING count(*) > 1"
                );
                let astray = format!(
                    "SELECT extra.unique_key {ALIVE} AND NOT EXISTS (SELECT 1 FROM unique_key
                        WHERE unique_key.queue = item.queue AND unique_key.key = extra.unique_key
                        AND unique_key.number = item.number)"
                );
                Violations { doubled: shown(keys(&doubled)), astray: shown(keys(&astray)) }
            }
        }
    }
}
