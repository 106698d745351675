//! Something for each of many numbers that are given from below. No change takes much longer than another, as it would
//! where everything is moved when room ends.

const PART: usize = 256;

/// Things by number.
pub(crate) struct Places<T>(Vec<Option<Box<[Option<T>]>>>);

impl<T> Places<T> {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let part = self.0.get(number as usize / PART)?.as_ref()?;
        part[number as usize % PART].as_ref()
    }

    pub(crate) fn insert(&mut self, number: u32, thing: T) {
        let index = number as usize / PART;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        let part = self.0[index].get_or_insert_with(|| std::iter::repeat_with(|| None).take(PART).collect());
        part[number as usize % PART] = Some(thing);
    }

    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        let part = self.0.get_mut(number as usize / PART)?.as_mut()?;
        part[number as usize % PART].take()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_a_map(steps in prop::collection::vec((0..2000_u32, any::<bool>()), 0..200)) {
            let (mut places, mut model) = (Places::new(), BTreeMap::new());
            for (index, (number, removes)) in steps.into_iter().enumerate() {
                if removes {
                    prop_assert_eq!(places.remove(number), model.remove(&number));
                } else {
                    places.insert(number, index);
                    model.insert(number, index);
                }
            }
            for number in 0..3000 {
                prop_assert_eq!(places.get(number), model.get(&number));
            }
        }
    }
}
