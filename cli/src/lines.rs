//! Items as lines of JSON: what `export` and `--save` write and `import` reads.

use std::io;
use std::time::{Duration, SystemTime};

use leaseq::{Item, ItemInfo, On};
use serde_json::{Map, Value};

use crate::follow_ups;
use crate::item_json;
use crate::text::get_bytes;

/// One line, without its end.
pub(crate) fn write(info: &ItemInfo) -> String {
    item_json::item(info, true).to_string()
}

/// An item that was read.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) id: Vec<u8>,
    pub(crate) item: Item,
    /// The error of a dead item.
    pub(crate) dead: Option<String>,
    /// It has ended: it is history, not work.
    pub(crate) ended: bool,
}

pub(crate) fn read(text: &str) -> Result<Line, String> {
    let object: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| format!("no JSON object: {error}"))?;
    let number = |name: &str| match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_u64().map(Some).ok_or_else(|| format!("{name} is no whole number")),
    };
    let small = |name: &str| match number(name)?.map(u32::try_from) {
        Some(Err(_)) => Err(format!("{name} is too large")),
        Some(Ok(number)) => Ok(Some(number)),
        None => Ok(None),
    };
    let time = |name: &str| match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let text = value.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
            text.map(|time| Some(SystemTime::from(time)))
                .ok_or_else(|| format!("{name} is no time"))
        }
    };
    let id = get_bytes(&object, "id")?.ok_or("there is no id")?;
    let data = get_bytes(&object, "data")?.ok_or("there is no data")?;
    let state = object.get("state").and_then(Value::as_str).unwrap_or("ready");
    let mut item = Item::new(data).with_id(&id);
    if let Some(priority) = number("priority")? {
        item = item.priority(u8::try_from(priority).map_err(|_| "priority is too large")?);
    }
    if let Some(most) = small("max_attempts")? {
        item = item.max_attempts(most);
    }
    if let Some(ms) = number("retain_ms")? {
        item = item.retain(Duration::from_millis(ms));
    }
    if let Some(unique) = get_bytes(&object, "unique")? {
        item = item.unique(unique);
    }
    if let Some(key) = get_bytes(&object, "key")? {
        item = item.key(key);
    }
    if state == "delayed"
        && let Some(due) = time("at")?
    {
        item = item.due_at(due);
    } else if state != "dead"
        && let Some(expires) = time("expires_at")?
    {
        // It had expired when it is read: it expires at once.
        let left = expires.duration_since(SystemTime::now()).unwrap_or_default();
        item = item.expires_in(left.max(Duration::from_millis(1)));
    }
    if let Some(value) = object.get("follow_ups") {
        let mut all = follow_ups::from_json(value)?;
        // The others were added when it died.
        all.retain(|follow_up| state != "dead" || follow_up.on() == On::Completed);
        item = all.into_iter().fold(item, Item::follow_up);
    }
    let error = || object.get("last_error").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Line {
        id,
        item,
        dead: (state == "dead").then(error),
        ended: matches!(state, "completed" | "cancelled"),
    })
}

/// A file of removed items, which never lacks one that was removed.
#[derive(Debug)]
pub(crate) struct Saved(std::fs::File);

impl Saved {
    /// A new file, or the end of an old one if the work is continued.
    pub(crate) fn open(path: &std::path::Path, continued: bool) -> io::Result<Saved> {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(!continued).create(continued);
        // What it has may be secret.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
        Ok(Saved(file))
    }

    /// Writes these items to the disk and returns where they begin.
    pub(crate) fn append(&mut self, items: &[ItemInfo]) -> io::Result<u64> {
        let begin = io::Seek::stream_position(&mut self.0)?;
        let text: String = items.iter().map(|info| write(info) + "\n").collect();
        io::Write::write_all(&mut self.0, text.as_bytes())?;
        self.0.sync_data()?;
        Ok(begin)
    }

    /// Writes these from there on instead.
    pub(crate) fn replace(&mut self, begin: u64, items: &[ItemInfo]) -> io::Result<()> {
        self.0.set_len(begin)?;
        io::Seek::seek(&mut self.0, io::SeekFrom::Start(begin))?;
        self.append(items).map(drop)
    }
}
