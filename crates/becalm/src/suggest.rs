//! Which known word was probably meant?
//!
//! Wherever one of a closed set of words is read, here and in the command. Own code because the usual
//! crates for this need `std`, and policies are read without it.

use alloc::vec::Vec;
#[cfg(feature = "text")]
use alloc::{format, string::String};

/// The known word nearest to `word`: one that `word` begins, or one at most a third of its letters
/// away. Of several, the first.
///
/// ```
/// use becalm::support::nearest;
///
/// assert_eq!(nearest("exponetial", ["fixed", "exponential"]), Some("exponential"));
/// assert_eq!(nearest("cubic", ["fixed", "exponential"]), None);
/// ```
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_of(word, &mut known.into_iter())
}

/// Compiled once for all sets of words.
fn nearest_of<'a>(word: &str, known: &mut dyn Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = letters(word);
    let limit = (word.len() / 3).max(1);
    known
        .filter_map(|candidate| {
            let other = letters(candidate);
            let distance = if word.len() > 2 && other.starts_with(&word) {
                0
            } else {
                distance(&word, &other)
            };
            (distance <= limit).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// What to write instead of a word: the nearest of those that are known, or what `all` says.
#[cfg(feature = "text")]
pub(crate) fn remedy<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    all: impl FnOnce() -> String,
) -> String {
    nearest(word, known).map_or_else(all, |known| format!("did you mean `{known}`?"))
}

/// The words apart by commas, and the last by `last`.
#[cfg(feature = "text")]
pub(crate) fn list<'a>(start: &str, words: impl Iterator<Item = &'a str>, last: &str) -> String {
    match words.collect::<Vec<_>>()[..] {
        [] => format!("{start}none"),
        [word] => format!("{start}{word}"),
        [ref words @ .., end] => format!("{start}{}{last}{end}", words.join(", ")),
    }
}

/// The letters that count: case and the choice between `-` and `_` do not. Past 64, which no known
/// word has, the rest is left out, so that a hostile text costs little.
fn letters(word: &str) -> Vec<char> {
    let letter = |c: char| {
        if c == '_' {
            '-'
        } else {
            c.to_ascii_lowercase()
        }
    };
    word.chars().take(64).map(letter).collect()
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one into the other
/// (Damerau 1964, in the restricted form that edits no letter twice).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(i + 1);
        for (j, other) in b.iter().enumerate() {
            let substituted = row[j] + usize::from(letter != other);
            let mut least = substituted.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *other && b[j - 1] == *letter {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = core::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = ["attempts", "attempt_timeout", "base", "cap", "deadline"];

    #[test]
    fn a_slip_of_the_finger_finds_its_word() {
        for (typed, meant) in [
            ("atempts", "attempts"),
            ("attempt-timeout", "attempt_timeout"),
            ("abse", "base"),
            ("Deadline", "deadline"),
            ("dead", "deadline"),
            ("caps", "cap"),
        ] {
            assert_eq!(nearest(typed, KNOWN), Some(meant), "{typed}");
        }
    }

    #[test]
    fn a_stranger_finds_none() {
        for typed in ["", "x", "retries", "a", "timeout"] {
            assert_eq!(nearest(typed, KNOWN), None, "{typed}");
        }
        assert_eq!(nearest(&"a".repeat(1 << 20), KNOWN), None);
    }

    #[test]
    fn distances_are_the_textbook_ones() {
        for (a, b, expected) in [("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 1)] {
            assert_eq!(distance(&letters(a), &letters(b)), expected, "{a} {b}");
            assert_eq!(distance(&letters(b), &letters(a)), expected, "{b} {a}");
        }
    }
}
