//! Which adds can share a request.

use std::collections::HashSet;

use bytes::Bytes;

use crate::item::Item;

/// What the calls that share a request name. For bindings that add the items of several callers as one batch.
///
/// Of a batch, only the first item with an id or a unique key is added, and none replaces another one. A call by
/// itself comes after the earlier ones, and may replace what they have added, or add what they could not. So it goes
/// into another request.
#[derive(Debug, Default)]
pub struct SharedAdds(Option<Box<Named>>);

#[derive(Debug, Default)]
struct Named {
    ids: HashSet<Bytes>,
    keys: HashSet<Bytes>,
}

impl SharedAdds {
    /// Whether a call that adds these items can share the request of the earlier ones. Costs nothing as long as no
    /// item replaces others or has a unique key: then a later item with the same id is refused in any case.
    pub fn admits<'a>(
        &mut self,
        earlier: impl IntoIterator<Item = &'a Item>,
        call: &[Item],
    ) -> bool {
        let plain = |item: &Item| item.unique.is_none() && !item.replace;
        if self.0.is_none() && call.iter().all(plain) {
            return true;
        }
        let named = self.0.get_or_insert_with(|| {
            let mut named = Box::<Named>::default();
            earlier.into_iter().for_each(|item| named.add(item));
            named
        });
        let admitted = !call.iter().any(|item| named.meets(item));
        if admitted {
            call.iter().for_each(|item| named.add(item));
        }
        admitted
    }
}

impl Named {
    fn add(&mut self, item: &Item) {
        self.ids.insert(item.id.clone());
        self.keys.extend(item.unique.clone());
    }

    fn meets(&self, item: &Item) -> bool {
        let same_key = |key| item.replace && self.keys.contains(key);
        self.ids.contains(&item.id) || item.unique.as_ref().is_some_and(same_key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_depends_on_an_earlier_one_is_sent_apart() {
        let item = |id: &str| Item::new("").with_id(id);
        let first = [item("a"), item("b").unique("k")];
        let admits = |call| {
            let mut shared = SharedAdds::default();
            assert!(shared.admits(&[], &first));
            shared.admits(&first, &[item("other"), call])
        };
        assert!(admits(item("c")) && admits(item("c").unique("k")) && admits(item("c").replace()));
        assert!(!admits(item("a")) && !admits(item("a").replace()) && !admits(item("b")));
        assert!(!admits(item("c").unique("k").replace()));

        let mut plain = SharedAdds::default();
        let (one, two) = ([item("a")], [item("a"), item("b")]);
        assert!(plain.admits(&[], &one) && plain.admits(&one, &two) && plain.0.is_none());
        assert!(!plain.admits(one.iter().chain(&two), &[item("b").replace()]));
    }
}
