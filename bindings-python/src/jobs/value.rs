//! Values of Python as JSON.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::ser::{Error, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

/// A value, and the function that turns what JSON does not have into what it has.
pub(super) struct Value<'a, 'py> {
    pub(super) value: &'a Bound<'py, PyAny>,
    pub(super) encode: &'a Bound<'py, PyAny>,
}

impl Value<'_, '_> {
    fn sequence<'py, S: Serializer>(
        &self,
        serializer: S,
        length: usize,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(length))?;
        for value in items {
            sequence.serialize_element(&Value { value: &value, encode: self.encode })?;
        }
        sequence.end()
    }

    fn map<S: Serializer>(
        &self,
        serializer: S,
        dict: &Bound<'_, PyDict>,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(dict.len()))?;
        // A copy: encoding a value may run code that changes the dict.
        for pair in dict.items() {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
                pair.extract().map_err(S::Error::custom)?;
            let Ok(key) = key.cast::<PyString>() else {
                let kind = key.get_type();
                return Err(S::Error::custom(format_args!("a key is a {kind}, not a str")));
            };
            let key = key.to_str().map_err(S::Error::custom)?;
            map.serialize_entry(key, &Value { value: &value, encode: self.encode })?;
        }
        map.end()
    }
}

impl Serialize for Value<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.value;
        if value.is_none() {
            serializer.serialize_unit()
        } else if let Ok(text) = value.cast::<PyString>() {
            serializer.serialize_str(text.to_str().map_err(S::Error::custom)?)
        } else if let Ok(flag) = value.cast::<PyBool>() {
            serializer.serialize_bool(flag.is_true())
        } else if value.is_instance_of::<PyInt>() {
            match value.extract() {
                Ok(number) => serializer.serialize_i64(number),
                Err(_) => Err(S::Error::custom("an integer is beyond 2^53")),
            }
        } else if let Ok(number) = value.cast::<PyFloat>() {
            serializer.serialize_f64(number.extract().map_err(S::Error::custom)?)
        } else if let Ok(dict) = value.cast::<PyDict>() {
            self.map(serializer, dict)
        } else if let Ok(list) = value.cast::<PyList>() {
            self.sequence(serializer, list.len(), list.iter())
        } else if let Ok(tuple) = value.cast::<PyTuple>() {
            self.sequence(serializer, tuple.len(), tuple.iter())
        } else {
            let encoded = self.encode.call1((value,));
            let value = encoded.map_err(|error| S::Error::custom(error.value(value.py())))?;
            Value { value: &value, encode: self.encode }.serialize(serializer)
        }
    }
}
