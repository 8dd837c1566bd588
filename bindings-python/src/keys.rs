//! The limits of keys.

use leaseq::options::MAX_KEY_LIMIT;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyTuple};

use crate::answer::Answer;
use crate::convert;
use crate::queue::{Caller, Queue, Reply};

fn key(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    Ok(convert::key("a key", value)?.into_owned())
}

#[pymethods]
impl Queue {
    fn set_key_limits<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        limits: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let Ok(mapping) = limits.cast::<PyMapping>() else {
            return Err(convert::wrong_type("limits", "a dict", limits));
        };
        let mut read = Vec::new();
        for pair in mapping.items()? {
            let pair = pair.cast_into::<PyTuple>()?;
            let limit = pair.get_item(1)?;
            let limit = match limit.is_none() {
                true => None,
                false => Some(convert::number("key_limit", &limit, 1, MAX_KEY_LIMIT)?),
            };
            read.push((key(&pair.get_item(0)?)?, limit));
        }
        self.run(py, bridge, async move |queue| {
            queue.set_key_limits(read).await.map(|()| Answer::Nothing)
        })
    }

    fn get_keys<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        keys: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let keys = convert::several("keys", keys)?
            .map(|value| key(&value?))
            .collect::<PyResult<Vec<_>>>()?;
        self.run(py, bridge, async move |queue| Ok(Answer::Keys(queue.get_keys(keys).await?)))
    }
}
