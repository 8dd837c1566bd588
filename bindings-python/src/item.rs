//! An item to add.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime};

use leaseq::On;
use leaseq::options::{MAX_ATTEMPTS, MAX_PLACES, MAX_PRIORITY};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple, PyType};

use crate::convert;
use crate::error::invalid;
use crate::group;

/// How many bytes of its data the `repr` of an item shows.
const SHOWN: usize = 64;

/// An item to add: an id, data and options. It can be compared, hashed and pickled.
///
/// - `data`: bytes, or text, which becomes UTF-8; at most 8 MiB unless the client says otherwise.
/// - `id`: 1 to 512 bytes, or text; default: a random UUID.
/// - `priority`: 0 to 9, higher ones are leased first; default 0.
/// - `delay`: the item is ready only after this time, in seconds or as a timedelta, at most 366 days.
/// - `due_at`: the item is ready at this time by the server's clock, a datetime with a time zone, or at once if
///   it has passed; at most 366 days ahead, and not together with a delay.
/// - `max_attempts`: the item is dead after so many failed or expired attempts, 1 to 65,535; default: no
///   limit.
/// - `retain`: how long the item stays after its completion, in the state `completed` and with its result, in
///   seconds or as a timedelta, at most 366 days; its id is taken until then. Default: not at all.
/// - `unique`: 1 to 512 bytes, or text, that only one item of the queue may have: while another one that is ready,
///   delayed, leased or retained has it, the item is not added. Default: none.
/// - `unique_for`: how long the unique key stays taken from the add on, even if the item ends before, at most 366
///   days. Default: no longer than the item needs it.
/// - `replace`: replaces an item that has the id or the unique key, unless it is leased. Default: the item is
///   not added.
/// - `successor`, with `replace`: if the item in the way is leased, this one waits, and takes its place when the lease
///   ends. A later one takes the place of one that waits. Default: the item is not added.
/// - `key`: 1 to 128 bytes, or text: no more items of a key are leased at the same time than its limit allows, which
///   is one unless it was set; the others wait. Default: none.
/// - `follow_ups`: up to 16 `FollowUp`s, items that are added when this one ends.
/// - `queue`: the name of the queue to which this item is added if it is a follow-up, or `complete` or `fail` adds it.
///   Default: the queue of the item that ends.
/// - `group`, `place`: the end of the item fills this place, 0 to 99,999, of a `Group`, which may be in another queue.
///   Such an item must not replace others, nor be a follow-up or the item of a schedule. Default: it is in no group.
/// - `expires_in`: the item is dead after this time, 1 ms to 366 days, if it is not leased then and no attempt has
///   counted; not shorter than a delay. Default: it does not expire.
///
/// Raises `InvalidError`. The limits of a client are checked when the item is added.
///
/// >>> Item("your order", id="order-17", priority=5)
/// Item(b'your order', id='order-17', priority=5)
#[pyclass(frozen, eq, module = "leaseq")]
pub(crate) struct Item {
    item: leaseq::Item,
    /// 0 to 9.
    #[pyo3(get)]
    priority: u32,
    delay: Duration,
    /// When it is due, if that was given, in UTC.
    #[pyo3(get)]
    due_at: Option<SystemTime>,
    /// The limit of attempts, if there is one.
    #[pyo3(get)]
    max_attempts: Option<u32>,
    retain: Duration,
    unique: Option<Vec<u8>>,
    unique_for: Duration,
    /// Whether it replaces another item.
    #[pyo3(get)]
    replace: bool,
    /// Whether it may be the successor of a leased item.
    #[pyo3(get)]
    successor: bool,
    key: Option<Vec<u8>>,
    expires_in: Option<Duration>,
    /// Those that it was made with, a tuple.
    #[pyo3(get)]
    follow_ups: Py<PyTuple>,
    /// The queue that was given, if one was.
    #[pyo3(get)]
    queue: Option<String>,
    /// The group that was given, if one was.
    #[pyo3(get)]
    group: Option<Py<PyAny>>,
    /// The place in the group, if one was given.
    #[pyo3(get)]
    place: Option<u32>,
}

/// The item of the core has all its options.
impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        self.item == other.item
    }
}

/// A follow-up of the core, from one that Python has.
pub(crate) fn follow_up(value: &Bound<'_, PyAny>) -> PyResult<leaseq::FollowUp> {
    let py = value.py();
    let field = |name| value.getattr(name);
    let on = field(intern!(py, "on"))?;
    let on = match &*on.cast::<PyString>()?.to_string_lossy() {
        "completed" => On::Completed,
        "dead" => On::Dead,
        "ended" => On::Ended,
        other => {
            let shown: String = other.chars().take(SHOWN).collect();
            let message = format_args!("a follow-up on {shown:?}, not on completed, dead or ended");
            return Err(invalid(py, message));
        }
    };
    let item = Item::from(&field(intern!(py, "item"))?)?;
    let follow_up = leaseq::FollowUp::new(on, item);
    match field(intern!(py, "with_trigger"))?.is_truthy()? {
        true => Ok(follow_up.with_trigger()),
        false => Ok(follow_up),
    }
}

impl Item {
    /// The argument of `add_item`: an item, or only data.
    pub(crate) fn from(value: &Bound<'_, PyAny>) -> PyResult<leaseq::Item> {
        match value.cast::<Item>() {
            Ok(item) => Ok(item.get().item.clone()),
            Err(_) => Ok(leaseq::Item::new(convert::data("data", value)?)),
        }
    }
}

#[pymethods]
impl Item {
    #[new]
    #[pyo3(signature = (
        data, *, id=None, priority=None, delay=None, due_at=None, max_attempts=None,
        retain=None, unique=None, unique_for=None, replace=false, successor=false, key=None,
        expires_in=None, follow_ups=None, queue=None, group=None, place=None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords where users see them")]
    fn new(
        data: &Bound<'_, PyAny>,
        id: Option<&Bound<'_, PyAny>>,
        priority: Option<&Bound<'_, PyAny>>,
        delay: Option<&Bound<'_, PyAny>>,
        due_at: Option<&Bound<'_, PyAny>>,
        max_attempts: Option<&Bound<'_, PyAny>>,
        retain: Option<&Bound<'_, PyAny>>,
        unique: Option<&Bound<'_, PyAny>>,
        unique_for: Option<&Bound<'_, PyAny>>,
        replace: bool,
        successor: bool,
        key: Option<&Bound<'_, PyAny>>,
        expires_in: Option<&Bound<'_, PyAny>>,
        follow_ups: Option<&Bound<'_, PyAny>>,
        queue: Option<String>,
        group: Option<&Bound<'_, PyAny>>,
        place: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = data.py();
        let mut item = leaseq::Item::new(convert::data("data", data)?);
        if let Some(id) = id {
            item = item.with_id(convert::id(id)?);
        }
        let priority = match priority {
            Some(priority) => {
                convert::number(format_args!("{item}: priority"), priority, 0, MAX_PRIORITY.into())?
            }
            None => 0,
        };
        let duration = |what: &str, value: Option<&Bound<'_, PyAny>>| match value {
            Some(value) => convert::duration(format_args!("{item}: {what}"), value),
            None => Ok(Duration::ZERO),
        };
        let delay = duration("a delay", delay)?;
        let retain = duration("a retention", retain)?;
        let unique_for = duration("unique_for", unique_for)?;
        let expires_in = expires_in.map(|time| duration("expires_in", Some(time))).transpose()?;
        let time = |value| convert::time(format_args!("{item}: due_at"), value);
        let due_at = due_at.map(time).transpose()?;
        let limit =
            |value| convert::number(format_args!("{item}: max_attempts"), value, 1, MAX_ATTEMPTS);
        let max_attempts = max_attempts.map(limit).transpose()?;
        let unique = unique.map(|key| convert::key("a unique key", key)).transpose()?;
        let unique = unique.map(Cow::into_owned);
        let key = key.map(|key| convert::key("a key", key)).transpose()?.map(Cow::into_owned);
        item = item.priority(priority as u8).delay(delay).retain(retain).unique_for(unique_for);
        if let Some(due_at) = due_at {
            item = item.due_at(due_at);
        }
        if let Some(max_attempts) = max_attempts {
            item = item.max_attempts(max_attempts);
        }
        if let Some(key) = &unique {
            item = item.unique(key);
        }
        if let Some(key) = &key {
            item = item.key(key);
        }
        if replace {
            item = item.replace();
        }
        if successor {
            item = item.successor();
        }
        if let Some(time) = expires_in {
            item = item.expires_in(time);
        }
        if let Some(queue) = &queue {
            item = item.queue(queue);
        }
        let place = match (group, place) {
            (None, None) => None,
            (Some(group), Some(place)) => {
                let what = format_args!("{item}: a place");
                let place = convert::number(what, place, 0, MAX_PLACES - 1)?;
                item = item.in_group(&group::read(group)?, place);
                Some(place)
            }
            (Some(_), None) => {
                return Err(invalid(py, format_args!("{item}: a group without a place")));
            }
            (None, Some(_)) => {
                return Err(invalid(py, format_args!("{item}: a place without a group")));
            }
        };
        let mut values = Vec::new();
        if let Some(follow_ups) = follow_ups {
            for value in convert::several("follow-ups", follow_ups)? {
                let value = value?;
                item = item.follow_up(follow_up(&value)?);
                values.push(value);
            }
        }
        Ok(Item {
            item,
            follow_ups: PyTuple::new(py, values)?.unbind(),
            priority,
            delay,
            due_at,
            max_attempts,
            retain,
            unique,
            unique_for,
            replace,
            successor,
            key,
            expires_in,
            queue,
            group: group.map(|group| group.clone().unbind()),
            place,
        })
    }

    /// An item with this value as JSON, and the same options. Raises `InvalidError` if JSON cannot express it.
    ///
    /// >>> Item.json({"to": "you"}, id="1").data
    /// b'{"to":"you"}'
    #[classmethod]
    #[pyo3(signature = (value, **options))]
    fn json<'py>(
        class: &Bound<'py, PyType>,
        value: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = class.py();
        let text = py.import("leaseq._values")?.call_method1("to_json", (value,))?;
        class.call((text,), options)
    }

    /// The id as text, with surrogates for bytes that are not UTF-8, as in names of files.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::id_text(py, self.item.id())
    }

    /// The id as bytes.
    #[getter]
    fn id_bytes(&self) -> &[u8] {
        self.item.id()
    }

    /// The data.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.item.data())
    }

    /// The delay, in seconds.
    #[getter]
    fn delay(&self) -> f64 {
        self.delay.as_secs_f64()
    }

    /// How long the item stays after its completion, in seconds.
    #[getter]
    fn retain(&self) -> f64 {
        self.retain.as_secs_f64()
    }

    /// The unique key, if there is one, as text like the id.
    #[getter]
    fn unique<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.unique.as_ref().map(|key| convert::id_text(py, key)).transpose()
    }

    /// The unique key as bytes.
    #[getter]
    fn unique_bytes(&self) -> Option<&[u8]> {
        self.unique.as_deref()
    }

    /// How long the unique key stays taken at least, in seconds.
    #[getter]
    fn unique_for(&self) -> f64 {
        self.unique_for.as_secs_f64()
    }

    /// The key, if there is one, as text like the id.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.key.as_ref().map(|key| convert::id_text(py, key)).transpose()
    }

    /// The key as bytes.
    #[getter]
    fn key_bytes(&self) -> Option<&[u8]> {
        self.key.as_deref()
    }

    /// After which time the item is dead if it is not leased, in seconds, if that was given.
    #[getter]
    fn expires_in(&self) -> Option<f64> {
        self.expires_in.as_ref().map(Duration::as_secs_f64)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.item.id().hash(&mut hasher);
        self.item.data().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let data = self.item.data();
        let shown = PyBytes::new(py, &data[..data.len().min(SHOWN)]).repr()?;
        let mut text = format!("Item({shown}");
        if data.len() > SHOWN {
            text += &format!("... {} bytes", data.len());
        }
        text += &format!(", id={}", self.id(py)?.repr()?);
        if self.priority != 0 {
            text += &format!(", priority={}", self.priority);
        }
        if !self.delay.is_zero() {
            text += &format!(", delay={:?}", self.delay());
        }
        if let Some(due_at) = self.due_at {
            text += &format!(", due_at={}", due_at.into_pyobject(py)?.repr()?);
        }
        if let Some(max_attempts) = self.max_attempts {
            text += &format!(", max_attempts={max_attempts}");
        }
        if !self.retain.is_zero() {
            text += &format!(", retain={:?}", self.retain());
        }
        if let Some(key) = self.unique(py)? {
            text += &format!(", unique={}", key.repr()?);
        }
        if !self.unique_for.is_zero() {
            text += &format!(", unique_for={:?}", self.unique_for());
        }
        if self.replace {
            text += ", replace=True";
        }
        if self.successor {
            text += ", successor=True";
        }
        if let Some(key) = self.key(py)? {
            text += &format!(", key={}", key.repr()?);
        }
        if let Some(time) = self.expires_in() {
            text += &format!(", expires_in={time:?}");
        }
        if !self.follow_ups.bind(py).is_empty() {
            text += &format!(", follow_ups={}", self.follow_ups.bind(py).repr()?);
        }
        if let Some(queue) = &self.queue {
            text += &format!(", queue={}", PyString::new(py, queue).repr()?);
        }
        if let (Some(group), Some(place)) = (&self.group, self.place) {
            text += &format!(", group={}, place={place}", group.bind(py).repr()?);
        }
        Ok(text + ")")
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let options = PyDict::new(py);
        options.set_item("id", self.id_bytes())?;
        options.set_item("priority", self.priority)?;
        options.set_item("delay", self.delay())?;
        options.set_item("due_at", self.due_at)?;
        options.set_item("max_attempts", self.max_attempts)?;
        options.set_item("retain", self.retain())?;
        options.set_item("unique", self.unique_bytes())?;
        options.set_item("unique_for", self.unique_for())?;
        options.set_item("replace", self.replace)?;
        options.set_item("successor", self.successor)?;
        options.set_item("key", self.key_bytes())?;
        options.set_item("expires_in", self.expires_in())?;
        options.set_item("follow_ups", &self.follow_ups)?;
        options.set_item("queue", &self.queue)?;
        options.set_item("group", &self.group)?;
        options.set_item("place", self.place)?;
        Ok((PyTuple::new(py, [self.data(py)])?, options))
    }
}
