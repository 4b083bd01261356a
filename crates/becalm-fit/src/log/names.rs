//! What is left of a name that a log says? A number, from which nobody gets back to it.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Makes numbers of addresses, paths and ids by a hash whose key is drawn anew for each reading, and is nowhere written.
#[derive(Debug, Default)]
pub struct Names {
    key: RandomState,
    upstreams: HashMap<u64, u32>,
    /// The last one asked for: requests often come to one upstream after another.
    latest: (u64, u32),
}

/// More upstreams than that are not told apart: a file whose upstreams never repeat must not fill the memory.
const UPSTREAMS: usize = 65_536;

impl Names {
    /// The number of a name that stands in one piece or several; 0 for one that says nothing.
    pub fn number(&self, parts: &[&[u8]]) -> u64 {
        if parts.iter().all(|part| says_nothing(part)) {
            return 0;
        }
        let mut hasher = self.key.build_hasher();
        for part in parts {
            hasher.write(part);
        }
        hasher.finish().max(1)
    }

    /// The number of a number together with a name, for a name that means something only there.
    pub fn within(&self, place: u64, name: &[u8]) -> u64 {
        if says_nothing(name) {
            return 0;
        }
        let mut hasher = self.key.build_hasher();
        hasher.write(name);
        hasher.write_u64(place);
        hasher.finish().max(1)
    }

    /// Which upstream this is, from 1 in the order in which they appear; 0 for one that says nothing.
    pub fn upstream(&mut self, name: &[u8]) -> u32 {
        let hash = self.number(&[name]);
        if hash == 0 || hash == self.latest.0 {
            return if hash == 0 { 0 } else { self.latest.1 };
        }
        let known = self.upstreams.len();
        let number = match self.upstreams.get(&hash) {
            Some(number) => *number,
            None if known >= UPSTREAMS => 0,
            None => {
                let next = u32::try_from(known).map_or(0, |it| it + 1);
                self.upstreams.insert(hash, next);
                next
            }
        };
        self.latest = (hash, number);
        number
    }
}

fn says_nothing(name: &[u8]) -> bool {
    matches!(name, b"" | b"-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_equal_numbers_and_only_within_one_reading() {
        let names = Names::default();
        assert_eq!(names.number(&[b"10.0.0.1"]), names.number(&[b"10.0.0.1"]));
        assert_ne!(names.number(&[b"10.0.0.1"]), names.number(&[b"10.0.0.2"]));
        assert_eq!([&b"-"[..], b""].map(|it| names.number(&[it])), [0, 0]);
        assert_ne!(names.within(1, b"a"), names.within(2, b"a"));
        let other = Names::default();
        assert_ne!(names.number(&[b"10.0.0.1"]), other.number(&[b"10.0.0.1"]));
    }

    #[test]
    fn upstreams_are_counted_as_they_appear() {
        let mut names = Names::default();
        let seen = ["a:1", "b:1", "a:1", "-", "b:1"].map(|it| names.upstream(it.as_bytes()));
        assert_eq!(seen, [1, 2, 1, 0, 2]);
        for number in 0..UPSTREAMS + 10 {
            names.upstream(number.to_string().as_bytes());
        }
        assert_eq!(names.upstream(b"one more"), 0);
        assert_eq!(names.upstreams.len(), UPSTREAMS);
    }
}
