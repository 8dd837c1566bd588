//! How a member, or a call, names a group.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::class::class;
use crate::convert;
use crate::error::exception;

/// Where its classes are.
pub(crate) const MODULE: &str = "leaseq._groups";

/// Reads a `leaseq.Group`.
pub(crate) fn read(value: &Bound<'_, PyAny>) -> PyResult<leaseq::Group> {
    let py = value.py();
    if !value.is_instance(class!(py, MODULE, "Group")?)? {
        return Err(convert::wrong_type("a group", "a Group", value));
    }
    let text = |name, what| {
        let field = value.getattr(name)?;
        let text = field.cast::<PyString>();
        let text = text.map_err(|_| convert::wrong_type(what, "str", &field))?;
        Ok::<_, PyErr>(convert::text(what, text)?.to_owned())
    };
    let queue = text(intern!(py, "queue"), "the queue of a group")?;
    let generation = text(intern!(py, "generation"), "the generation of a group")?;
    let id = value.getattr(intern!(py, "id"))?;
    let group = leaseq::Group::new(&queue, convert::id(&id)?, &generation);
    group.map_err(|error| exception(py, &error))
}
