//! Arguments of Python as values for the core.

use std::borrow::Cow;
use std::fmt::Display;
use std::time::{Duration, SystemTime};

use leaseq::options::MAX_REPLICAS;
use leaseq::{Fsync, State};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDateTime, PyDelta, PyFloat, PyInt, PyMemoryView, PyString,
};

use crate::class::class;
use crate::error::{exception, invalid};

/// After so many elements of an iterable, signals are handled and other threads may run.
const PAUSES: usize = 1_000;

/// Seconds as a number, or a `timedelta`. `what` names the argument in an error: "a lease".
pub(crate) fn duration(what: impl Display, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let py = value.py();
    let seconds: f64 = if let Ok(seconds) = value.cast::<PyFloat>() {
        seconds.extract()?
    } else if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        value.extract().map_err(|error: PyErr| {
            match error.is_instance_of::<PyOverflowError>(py) {
                true => no_duration(&what, value),
                false => error,
            }
        })?
    } else if value.is_instance_of::<PyDelta>() {
        value.call_method0(intern!(py, "total_seconds"))?.extract()?
    } else {
        return Err(wrong_type(&what, "seconds as a number, or a timedelta", value));
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| no_duration(&what, value))
}

/// A time: a datetime with a time zone. One before 1970 becomes 1970.
pub(crate) fn time(what: impl Display, value: &Bound<'_, PyAny>) -> PyResult<SystemTime> {
    let Ok(time) = value.cast::<PyDateTime>() else {
        return Err(wrong_type(&what, "a datetime", value));
    };
    if time.call_method0(intern!(value.py(), "utcoffset"))?.is_none() {
        let shown = cut(&value.str()?.to_string_lossy());
        return Err(invalid(value.py(), format_args!("{what} {shown} has no time zone")));
    }
    let seconds: f64 = time.call_method0(intern!(value.py(), "timestamp"))?.extract()?;
    // What is before 1970 cannot be extracted. It has passed as well.
    if seconds < 0.0 { Ok(SystemTime::UNIX_EPOCH) } else { value.extract() }
}

fn no_duration(what: impl Display, value: &Bound<'_, PyAny>) -> PyErr {
    let shown = value.str().map_or_else(|_| "so many".into(), |text| cut(&text.to_string_lossy()));
    invalid(value.py(), format_args!("{what} of {shown} seconds is not a time from zero on"))
}

fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}

pub(crate) fn wrong_type(what: impl Display, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
    match value.get_type().name() {
        Ok(name) => PyTypeError::new_err(format!("{what} is {wanted}, not {name}")),
        Err(error) => error,
    }
}

/// True or false, and nothing that only counts as one of them.
pub(crate) fn flag(what: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.extract().map_err(|_| wrong_type(what, "a bool", value))
}

/// Text that is valid UTF-8. The error shows none of it, because a URL contains secrets.
pub(crate) fn text<'a>(what: &str, value: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    value.to_str().map_err(|_| invalid(value.py(), format_args!("{what} is not UTF-8")))
}

/// A text of Python, and nothing else.
pub(crate) fn string(what: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let string: &Bound<'_, PyString> =
        value.cast().map_err(|_| wrong_type(what, "a str", value))?;
    Ok(text(what, string)?.to_owned())
}

/// Data: bytes, any object with a buffer, or text, which becomes UTF-8. `what` names it in an error.
pub(crate) fn data<'a>(what: &str, value: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(text) = value.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) => Ok(Cow::Borrowed(text.as_bytes())),
            Err(error) => Err(invalid(value.py(), format_args!("{what} is no text: {error}"))),
        };
    }
    match bytes(value)? {
        Some(bytes) => Ok(bytes),
        None => Err(wrong_type(what, "bytes or str", value)),
    }
}

/// An id: bytes, or text, with surrogates for bytes that are not UTF-8 as in names of files.
pub(crate) fn id<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    key("an id", value)
}

/// An id, or a unique key, which is given in the same way.
pub(crate) fn key<'a>(what: &str, value: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(text) = value.cast::<PyString>() {
        if let Ok(text) = text.to_str() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        let py = value.py();
        let escaped = text.call_method1(intern!(py, "encode"), ("utf-8", "surrogateescape"));
        let escaped =
            escaped.map_err(|error| invalid(py, format_args!("{what} is no text: {error}")))?;
        return Ok(Cow::Owned(escaped.extract()?));
    }
    match bytes(value)? {
        Some(bytes) => Ok(bytes),
        None => Err(wrong_type(what, "str or bytes", value)),
    }
}

/// Several ids. A text is one id, not several characters.
pub(crate) fn ids(values: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<u8>>> {
    several("ids", values)?.map(|value| Ok(id(&value?)?.into_owned())).collect()
}

/// The elements of an iterable. Text and bytes are an error: they are single values.
pub(crate) fn several<'py>(
    what: &str,
    values: &Bound<'py, PyAny>,
) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>>> {
    if values.is_instance_of::<PyString>() || values.is_instance_of::<PyBytes>() {
        return Err(wrong_type(what, "a list", values));
    }
    let py = values.py();
    Ok(values.try_iter()?.enumerate().map(move |(at, value)| {
        // An iterator that is not written in Python may run for long, or for ever.
        if at % PAUSES == PAUSES - 1 {
            py.check_signals()?;
            py.detach(|| ());
        }
        value
    }))
}

fn bytes<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Option<Cow<'a, [u8]>>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Some(Cow::Borrowed(bytes.as_bytes())));
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(Some(Cow::Owned(bytes.to_vec())));
    }
    // The stable interface of 3.10 has no other access to a buffer.
    let view = match PyMemoryView::from(value) {
        Ok(view) => view,
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => return Ok(None),
        // The buffer was released, or the object raised an error of its own.
        Err(error) => return Err(error),
    };
    let bytes = view.call_method0(intern!(value.py(), "tobytes"))?;
    Ok(Some(Cow::Owned(bytes.cast::<PyBytes>()?.as_bytes().to_vec())))
}

/// An id or a unique key for Python: text, with surrogates for bytes that are not UTF-8.
pub(crate) fn id_text<'py>(py: Python<'py>, id: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match std::str::from_utf8(id) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(_) => {
            PyBytes::new(py, id).call_method1(intern!(py, "decode"), ("utf-8", "surrogateescape"))
        }
    }
}

/// A whole number between two limits, both included.
pub(crate) fn number(
    what: impl Display,
    value: &Bound<'_, PyAny>,
    min: u32,
    max: u32,
) -> PyResult<u32> {
    if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
        return Err(wrong_type(what, "a whole number", value));
    }
    match value.extract::<u32>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => {
            let shown =
                value.str().map_or_else(|_| String::new(), |text| cut(&text.to_string_lossy()));
            Err(invalid(value.py(), format_args!("{what} {shown} is not between {min} and {max}")))
        }
    }
}

/// The revision of settings: a whole number.
pub(crate) fn revision(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
        return Err(wrong_type("a revision", "a whole number", value));
    }
    value.extract().map_err(|_| {
        let shown = value.str().map_or_else(|_| String::new(), |text| cut(&text.to_string_lossy()));
        invalid(value.py(), format_args!("a revision of {shown} is not between 0 and 2^64 - 1"))
    })
}

/// Whose disks must have a change: `local`, or a number of replicas.
pub(crate) fn fsync(value: &Bound<'_, PyAny>) -> PyResult<Fsync> {
    if let Ok(word) = value.cast::<PyString>() {
        let read = text("fsync", word)?.parse();
        return read.map_err(|error: leaseq::Error| exception(value.py(), &error));
    }
    number("fsync", value, 1, MAX_REPLICAS).map(Fsync::Replicas)
}

/// A state: its name, or the member of the enumeration, which is a text too.
pub(crate) fn state(value: &Bound<'_, PyAny>) -> PyResult<State> {
    let Ok(text) = value.cast::<PyString>() else {
        return Err(wrong_type("a state", "a State or its name", value));
    };
    let name = text.to_string_lossy();
    State::ALL.into_iter().find(|state| state.as_str() == name).ok_or_else(|| {
        let names = State::ALL.map(State::as_str).join(", ");
        invalid(value.py(), format_args!("{:?} is not a state: {names}", cut(&name)))
    })
}

/// The state as the member of the enumeration.
pub(crate) fn state_member<'py>(py: Python<'py>, state: State) -> PyResult<Bound<'py, PyAny>> {
    class!(py, "leaseq._values", "State")?.call1((state.as_str(),))
}
