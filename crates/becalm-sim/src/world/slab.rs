//! Where do things live that come and go? In places that are used again, each with a generation.

use super::event::GENERATION_BITS;

/// Things that stay in their place until they are taken out. No allocation once it has grown to
/// what is needed at once.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    thing: T,
}

/// No place.
pub(super) const NOWHERE: u32 = u32::MAX;

impl<T> Slab<T> {
    pub fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Puts a thing in a free place. What was there last is dropped now.
    #[inline]
    pub fn insert(&mut self, thing: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.places[index as usize].thing = thing;
            return index;
        }
        // Places are counted in 32 bits; memory ends earlier.
        let index = u32::try_from(self.places.len()).unwrap_or(NOWHERE);
        self.places.push(Place {
            generation: 0,
            thing,
        });
        index
    }

    /// A free place with what was there last, or `None` where a new one is needed.
    #[inline]
    pub fn reuse(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Frees a place: whoever remembers its generation finds nothing there. The thing stays until
    /// the place is used again.
    #[inline]
    pub fn free(&mut self, index: u32) {
        let place = &mut self.places[index as usize];
        place.generation = (place.generation + 1) & ((1 << GENERATION_BITS) - 1);
        self.free.push(index);
    }

    #[inline]
    pub fn generation(&self, index: u32) -> u32 {
        self.places[index as usize].generation
    }

    #[inline]
    pub fn is(&self, index: u32, generation: u32) -> bool {
        self.generation(index) == generation
    }

    /// How many places there are, free ones included.
    pub fn len(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(NOWHERE)
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.places[index as usize].thing
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.places[index as usize].thing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_used_again_has_another_generation() {
        let mut slab = Slab::new();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        let generation = slab.generation(a);
        slab.free(a);
        let c = slab.insert('c');
        assert_eq!((c, slab.len()), (a, 2));
        assert!(!slab.is(c, generation));
        assert_eq!((slab[b], slab[c]), ('b', 'c'));
    }
}
