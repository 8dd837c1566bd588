//! Classes that the package defines in Python.

/// The class of this name in this module, imported once for each place that names it.
macro_rules! class {
    ($py:expr, $module:expr, $name:literal) => {{
        use pyo3::sync::PyOnceLock;
        use pyo3::types::PyType;
        static CLASS: PyOnceLock<pyo3::Py<PyType>> = PyOnceLock::new();
        CLASS.import($py, $module, $name)
    }};
}
pub(crate) use class;
