//! Which answers are there already? A look-aside cache.

use crate::engine::Stream;
use crate::scenario::Cache;

use super::plan::nanos;

/// The entries of one service's cache, shared by its instances.
#[derive(Debug, Clone)]
pub(super) struct Entries {
    /// When the entry of each key expires; 0 where there is none.
    expires: Vec<u64>,
    hot: f64,
    ttl: u64,
    pub keeps_late_fills: bool,
}

impl Entries {
    /// Warm entries have any age, equally likely.
    pub fn new(cache: &Cache, stream: &mut Stream) -> Self {
        let ttl = cache.ttl.map_or(u64::MAX, nanos);
        let mut warm = || match ttl {
            u64::MAX => u64::MAX,
            ttl => stream.below(ttl).saturating_add(1),
        };
        let expires = (0..cache.keys)
            .map(|_| if cache.starts_warm { warm() } else { 0 })
            .collect();
        Self {
            expires,
            hot: cache.hot,
            ttl,
            keeps_late_fills: cache.keeps_late_fills,
        }
    }

    /// Which of the keys that are asked for again and again the bits of a call mean, if any.
    fn key(&self, bits: u64) -> Option<usize> {
        let mut bits = Stream::of(bits, 0);
        if self.hot <= 0.0 || !bits.chance(self.hot) {
            return None;
        }
        usize::try_from(bits.below(self.expires.len() as u64)).ok()
    }

    /// Whether the answer is there.
    pub fn has(&self, bits: u64, now: u64) -> bool {
        let expires = self.key(bits).and_then(|key| self.expires.get(key));
        expires.is_some_and(|expires| *expires > now)
    }

    /// Puts the answer in. A key that nobody asks for again takes no room.
    pub fn fill(&mut self, bits: u64, now: u64) {
        let ttl = self.ttl;
        let entry = self.key(bits).and_then(|key| self.expires.get_mut(key));
        if let Some(expires) = entry {
            *expires = now.saturating_add(ttl);
        }
    }

    /// All is lost.
    pub fn clear(&mut self) {
        self.expires.fill(0);
    }
}
