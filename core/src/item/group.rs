//! Naming a group, and a member's place in it.

use bytes::Bytes;

use super::limits::check_id;
use crate::engine::Generation;
use crate::error::show_id;
use crate::name::QueueName;
use crate::{Error, Result};

/// Names a group: its queue, its id and its generation, so never a later group with its id. Whoever knows the three can
/// add members, in any process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Group {
    pub(crate) queue: QueueName,
    pub(crate) id: Bytes,
    pub(crate) generation: Generation,
}

impl Group {
    /// From what [`queue`](Group::queue), [`id`](Group::id) and [`generation`](Group::generation) of another one have said.
    ///
    /// # Errors
    /// `Invalid` if one of them is not valid.
    pub fn new(queue: &str, id: impl AsRef<[u8]>, generation: &str) -> Result<Self> {
        let (queue, id) = (QueueName::new(queue)?, Bytes::copy_from_slice(id.as_ref()));
        check_id(&id)?;
        let Some(generation) = Generation::read(generation.as_bytes()) else {
            let (id, text) = (show_id(&id), show_id(generation.as_bytes()));
            return Err(Error::invalid(format_args!("group {id}: {text} is not a generation")));
        };
        Ok(Group { queue, id, generation })
    }

    /// The name of its queue.
    pub fn queue(&self) -> &str {
        self.queue.as_str()
    }

    /// The id.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// Distinguishes it from other groups that have had its id.
    pub fn generation(&self) -> String {
        self.generation.to_string()
    }
}

/// Where a member stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupPlace {
    pub(crate) group: Group,
    pub(crate) place: u32,
}
