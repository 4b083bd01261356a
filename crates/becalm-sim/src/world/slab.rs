//! Where do things live that come and go? In places that are used again, each with a generation.

use super::event::GENERATION_BITS;

/// Things that stay in their place until they are taken out. No allocation once it has grown to
/// what is needed at once.
#[derive(Debug)]
pub(super) struct Slab<T> {
    /// The first of them.
    things: Vec<T>,
    /// All others, in blocks that stay where they are: a list that moved as it grows would hold all
    /// of them twice meanwhile.
    more: Vec<Vec<T>>,
    /// Apart from the things: whether one is still there is asked more often than what it is, and
    /// those who ask are often late.
    generations: Vec<u32>,
    free: Vec<u32>,
}

/// Things of a block, as a power of two, and of the first list at most.
const BLOCK: u32 = 16;

/// No place.
pub(super) const NOWHERE: u32 = u32::MAX;

impl<T> Slab<T> {
    /// With memory for so many things, which is only taken as they come; it grows past them.
    pub fn for_about(things: usize) -> Self {
        Self {
            things: Vec::with_capacity(things.min(1 << BLOCK)),
            more: Vec::new(),
            generations: Vec::with_capacity(things),
            free: Vec::new(),
        }
    }

    /// Puts a thing in a free place. What was there last is dropped now.
    #[inline]
    pub fn insert(&mut self, thing: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self[index] = thing;
            return index;
        }
        self.add(thing)
    }

    /// In a new place.
    #[cold]
    fn add(&mut self, thing: T) -> u32 {
        // Places are counted in 32 bits; memory ends earlier.
        let index = self.len();
        self.push(thing);
        self.generations.push(0);
        index
    }

    fn push(&mut self, thing: T) {
        if self.things.len() < 1 << BLOCK {
            self.things.push(thing);
            return;
        }
        let full = |block: &Vec<T>| block.len() == 1 << BLOCK;
        if self.more.last().is_none_or(full) {
            self.more.push(Vec::with_capacity(1 << BLOCK));
        }
        if let Some(last) = self.more.last_mut() {
            last.push(thing);
        }
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
        match self.things.get(index as usize) {
            None => {
                let (block, within) = far(index);
                self.more.get(block)?.get(within)
            }
            near => near,
        }
    }

    /// How many places there are, free ones included.
    pub fn len(&self) -> u32 {
        u32::try_from(self.generations.len()).unwrap_or(NOWHERE)
    }
}

/// The block of a place behind the first list, and where it is in it.
#[inline]
fn far(index: u32) -> (usize, usize) {
    let block = (index >> BLOCK) as usize;
    (block.wrapping_sub(1), index as usize % (1 << BLOCK))
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        if let Some(near) = self.things.get(index as usize) {
            near
        } else {
            let (block, within) = far(index);
            &self.more[block][within]
        }
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        if let Some(near) = self.things.get_mut(index as usize) {
            near
        } else {
            let (block, within) = far(index);
            &mut self.more[block][within]
        }
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

    #[test]
    fn s3_what_comes_later_lies_in_blocks_that_do_not_move() {
        let mut slab = Slab::for_about(0);
        let all = (2 << BLOCK) + 1;
        assert!((0..all).all(|thing| slab.insert(thing) == thing));
        assert!((0..all).all(|place| slab[place] == place && slab.get(place) == Some(&place)));
        assert_eq!((slab.len(), slab.get(all)), (all, None));
        slab[all - 1] = 7;
        slab.free(all - 1);
        assert_eq!((slab.insert(8), slab[all - 1]), (all - 1, 8));
        assert_eq!(slab.more.len(), 2);
    }
}
