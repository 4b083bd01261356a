//! How are numbers grouped? Each for itself up to 128, and then to within a sixty-fourth.
//!
//! The simulator's record groups alike. It is no dependency of this crate, and these two functions are no reason for one.

/// More requests than this are not told apart.
pub const MOST: usize = 4096;

/// The group of a number of requests; groups are in the order of the numbers.
#[inline]
pub fn group(number: usize) -> usize {
    group_of_any(number.min(MOST))
}

/// The group of a number without a bound.
#[inline]
pub fn group_of_any(number: usize) -> usize {
    let magnitude = number.checked_ilog2().unwrap_or(0).saturating_sub(6);
    ((magnitude as usize) << 6) + (number >> magnitude)
}

/// The least number of a group.
#[inline]
pub fn least(group: usize) -> usize {
    let magnitude = (group >> 6).saturating_sub(1);
    (group - (magnitude << 6)) << magnitude
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_begins_with_its_least_number() {
        let mut last = 0;
        for number in 0..=MOST {
            let at = group(number);
            assert!(at == last || at == last + 1, "{number}");
            assert!(least(at) <= number && number < least(at + 1), "{number}");
            assert!(number - least(at) <= number / 64);
            last = at;
        }
        assert_eq!(group(MOST + 1), group(MOST));
        assert_eq!((group(127), group(128), group(129)), (127, 128, 128));
    }
}
