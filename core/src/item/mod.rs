//! Items: what is added to a queue, and what it looks like there.

mod counts;
mod cursor;
mod due;
mod follow_up_json;
mod group;
mod history;
mod info;
mod item_ref;
mod key;
mod limits;
mod new_item;
mod outcome;
mod revision;
mod state;
mod validate;

pub use self::counts::{Counts, Totals};
pub use self::cursor::Cursor;
pub(crate) use self::due::Due;
pub use self::group::Group;
pub(crate) use self::group::GroupPlace;
pub(crate) use self::history::History;
pub use self::history::{Ending, EndingKind, Releases};
pub(crate) use self::info::NOT_LEASED;
pub(crate) use self::info::read_json;
pub use self::info::{ItemInfo, Page};
pub use self::item_ref::ItemRef;
pub use self::key::KeyInfo;
pub(crate) use self::limits::{check_id, check_key};
pub use self::new_item::{FollowUp, Item, On, Trigger};
pub use self::outcome::Outcome;
pub use self::revision::Revision;
pub use self::state::State;
pub(crate) use self::validate::{check_added, check_attached, size_of_added};
