//! Where do things live that come and go? In places that are used again, each with a generation.

use super::event::GENERATION_BITS;

/// Things that stay in their place until they are taken out. No allocation once it has grown to
/// what is needed at once.
#[derive(Debug)]
pub(super) struct Slab<T> {
    things: Vec<T>,
    /// Apart from the things: whether one is still there is asked more often than what it is, and
    /// those who ask are often late.
    generations: Vec<u32>,
    free: Vec<u32>,
}

/// No place.
pub(super) const NOWHERE: u32 = u32::MAX;

impl<T> Slab<T> {
    /// With memory for so many things, which is only taken as they come; it grows past them.
    pub fn for_about(things: usize) -> Self {
        Self {
            things: Vec::with_capacity(things),
            generations: Vec::with_capacity(things),
            free: Vec::new(),
        }
    }

    /// Puts a thing in a free place. What was there last is dropped now.
    #[inline]
    pub fn insert(&mut self, thing: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.things[index as usize] = thing;
            return index;
        }
        // Places are counted in 32 bits; memory ends earlier.
        let index = self.len();
        self.things.push(thing);
        self.generations.push(0);
        index
    }

    /// A free place with what was there last, or `None` where a new one is needed.
    #[inline]
    pub fn reuse(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Frees a place: those who remember its generation find nothing there. The thing stays until
    /// the place is used again.
    #[inline]
    pub fn free(&mut self, index: u32) {
        let generation = &mut self.generations[index as usize];
        *generation = (*generation + 1) & ((1 << GENERATION_BITS) - 1);
        self.free.push(index);
    }

    #[inline]
    pub fn generation(&self, index: u32) -> u32 {
        self.generations[index as usize]
    }

    #[inline]
    pub fn is(&self, index: u32, generation: u32) -> bool {
        self.generation(index) == generation
    }

    /// The thing in this place, if there is such a place.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&T> {
        self.things.get(index as usize)
    }

    /// How many places there are, free ones included.
    pub fn len(&self) -> u32 {
        u32::try_from(self.things.len()).unwrap_or(NOWHERE)
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.things[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.things[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_used_again_has_another_generation() {
        let mut slab = Slab::for_about(1);
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        let generation = slab.generation(a);
        slab.free(a);
        let c = slab.insert('c');
        assert_eq!((c, slab.len()), (a, 2));
        assert!(!slab.is(c, generation));
        assert_eq!((slab[b], slab[c]), ('b', 'c'));
    }
}
