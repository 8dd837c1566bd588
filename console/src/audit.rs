//! A line for each change.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use leaseq_report::escaped;
use leaseq_report::text::exact_time;
use serde_json::{Value, json};

use crate::access::Identity;

/// Where the lines go. Clones write to the same place.
#[derive(Clone)]
pub struct Audit(Arc<Mutex<Box<dyn Write + Send>>>);

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit").finish_non_exhaustive()
    }
}

impl Audit {
    /// Writes each line with one call, and flushes it.
    pub fn new(to: impl Write + Send + 'static) -> Audit {
        Audit(Arc::new(Mutex::new(Box::new(to))))
    }

    /// Writes who did what, as one line of JSON. `what` is an object.
    pub(crate) fn write(&self, who: &Identity, action: &str, what: Value) {
        let mut line = json!({
            "at": exact_time(SystemTime::now()),
            "user": who.name,
            "role": who.role.as_str(),
            "from": who.from.to_string(),
            "action": action,
        });
        if let (Some(line), Value::Object(what)) = (line.as_object_mut(), what) {
            line.extend(what);
        }
        let text = format!("{}\n", escaped(&line.to_string()));
        let mut to = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Nowhere to report it.
        let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
    }
}
