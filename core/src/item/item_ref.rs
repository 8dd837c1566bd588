//! Naming items that are in the queue.

use bytes::Bytes;

use super::info::ItemInfo;
use super::limits::check_id;
use crate::engine::{Generation, Target};
use crate::error::show_id;
use crate::{Error, Result};

/// Names an item of the queue: by its id alone, or only the generation of it that the caller has seen.
///
/// Calls that take an `ItemRef` take an id as well, or an [`ItemInfo`], which names its own generation: so
/// `queue.remove_many(&page.items)` removes what the page shows, and nothing that was added or changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemRef {
    id: Bytes,
    generation: Option<String>,
}

impl ItemRef {
    /// The item with this id.
    pub fn new(id: impl AsRef<[u8]>) -> Self {
        ItemRef { id: Bytes::copy_from_slice(id.as_ref()), generation: None }
    }

    /// Only if the item is of this generation, as [`ItemInfo::generation`] gives it. Default: any.
    pub fn if_generation(mut self, generation: impl Into<String>) -> Self {
        self.generation = Some(generation.into());
        self
    }

    pub(crate) fn target(self) -> Result<Target> {
        check_id(&self.id)?;
        let read = |text: String| {
            Generation::read(text.as_bytes()).ok_or_else(|| {
                let (id, text) = (show_id(&self.id), show_id(text.as_bytes()));
                Error::invalid(format_args!("item {id}: {text} is not a generation"))
            })
        };
        let generation = self.generation.map(read).transpose()?;
        Ok(Target { id: self.id, generation })
    }
}

impl<T: AsRef<[u8]>> From<T> for ItemRef {
    fn from(id: T) -> Self {
        ItemRef::new(id)
    }
}

impl From<&ItemInfo> for ItemRef {
    fn from(info: &ItemInfo) -> Self {
        ItemRef { id: info.id.clone(), generation: Some(info.generation.clone()) }
    }
}
