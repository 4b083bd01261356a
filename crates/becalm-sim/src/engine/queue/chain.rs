//! Where do the events of many buckets lie, when any of them may hold all or none?
//!
//! In blocks of one common pool, each bucket a chain of them: what one bucket frees the next one
//! takes, so memory follows the pending events and not the buckets' past.

use super::Event;

/// Events in a block: eight cache lines.
const BLOCK: usize = 64;
/// No block.
const NONE: u32 = u32::MAX;

/// Chains of blocks, one for each bucket.
#[derive(Debug)]
pub struct Chains {
    buckets: Vec<Chain>,
    pool: Vec<Event>,
    /// For each block the next one of its chain, or of the free ones.
    next: Vec<u32>,
    free: u32,
}

/// The events of a bucket: every block but the last one is full.
#[derive(Debug, Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
    len: usize,
    /// When the earliest is due, which would else be looked for in memory that no cache holds.
    earliest: u64,
}

impl Chain {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
        len: 0,
        earliest: u64::MAX,
    };
}

/// What is left of a chain that was detached from its bucket.
#[derive(Debug)]
pub struct Rest {
    chain: Chain,
    taken: usize,
}

impl Chains {
    /// So many empty chains, with memory for so many events.
    pub fn of(chains: usize, events: usize) -> Self {
        let blocks = events.div_ceil(BLOCK);
        Self {
            buckets: vec![Chain::EMPTY; chains],
            pool: Vec::with_capacity(blocks * BLOCK),
            next: Vec::with_capacity(blocks),
            free: NONE,
        }
    }

    #[inline]
    pub fn len(&self, chain: usize) -> usize {
        self.buckets.get(chain).map_or(0, |chain| chain.len)
    }

    /// Appends an event.
    #[inline]
    pub fn push(&mut self, chain: usize, event: Event) {
        let Some(chain) = self.buckets.get_mut(chain) else {
            return;
        };
        let within = chain.len % BLOCK;
        if within == 0 {
            let block = Self::block(&mut self.free, &mut self.next, &mut self.pool);
            match self.next.get_mut(chain.last as usize) {
                Some(next) => *next = block,
                None => chain.first = block,
            }
            chain.last = block;
        }
        chain.len += 1;
        chain.earliest = chain.earliest.min(event.at);
        if let Some(slot) = self.pool.get_mut(chain.last as usize * BLOCK + within) {
            *slot = event;
        }
    }

    /// When the earliest event of a chain is due; the end of time if it has none.
    #[inline]
    pub fn earliest(&self, chain: usize) -> u64 {
        self.buckets.get(chain).map_or(u64::MAX, |it| it.earliest)
    }

    /// Empties a chain into a list.
    pub fn take(&mut self, chain: usize, events: &mut Vec<Event>) {
        let mut rest = self.detach(chain);
        while rest.chain.len > 0 {
            events.extend_from_slice(self.events(rest.chain.first, rest.chain.len.min(BLOCK)));
            self.free_first(&mut rest.chain);
        }
    }

    /// Empties a chain; [`shift`](Self::shift) hands out its events.
    pub fn detach(&mut self, chain: usize) -> Rest {
        let taken = self.buckets.get_mut(chain);
        let chain = taken.map_or(Chain::EMPTY, |chain| std::mem::replace(chain, Chain::EMPTY));
        Rest { chain, taken: 0 }
    }

    /// The next event of a detached chain. A block is free again once it is empty.
    #[inline]
    pub fn shift(&mut self, rest: &mut Rest) -> Option<Event> {
        if rest.taken == BLOCK {
            self.free_first(&mut rest.chain);
            rest.taken = 0;
        }
        if rest.taken < rest.chain.len {
            let at = rest.chain.first as usize * BLOCK + rest.taken;
            rest.taken += 1;
            return self.pool.get(at).copied();
        }
        if rest.taken > 0 {
            self.free_first(&mut rest.chain);
            rest.taken = 0;
        }
        None
    }

    fn events(&self, block: u32, len: usize) -> &[Event] {
        let start = block as usize * BLOCK;
        self.pool.get(start..start + len).unwrap_or_default()
    }

    fn free_first(&mut self, chain: &mut Chain) {
        let freed = chain.first;
        if let Some(next) = self.next.get_mut(freed as usize) {
            chain.first = std::mem::replace(next, self.free);
            self.free = freed;
        }
        chain.len = chain.len.saturating_sub(BLOCK);
    }

    /// A block that nobody uses.
    fn block(free: &mut u32, next: &mut Vec<u32>, pool: &mut Vec<Event>) -> u32 {
        let block = *free;
        if let Some(following) = next.get_mut(block as usize) {
            *free = std::mem::replace(following, NONE);
            return block;
        }
        let block = u32::try_from(next.len()).unwrap_or(NONE);
        next.push(NONE);
        pool.resize(pool.len() + BLOCK, Event::default());
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_chain_frees_the_next_one_takes() {
        let mut chains = Chains::of(10, 0);
        for chain in 0..10 {
            for at in 0..5 * BLOCK as u64 {
                chains.push(chain, Event { at, what: 0 });
            }
            let mut rest = chains.detach(chain);
            let taken = std::iter::from_fn(|| chains.shift(&mut rest));
            assert!(taken.map(|event| event.at).eq(0..5 * BLOCK as u64));
        }
        assert_eq!(chains.pool.len(), 5 * BLOCK);
    }
}
