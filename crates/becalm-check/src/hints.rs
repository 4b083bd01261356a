//! Which words look like retries, whatever system they are of?

/// Parts of words that a configuration of retries has, in small letters and without separators.
const STEMS: [&str; 9] = [
    "retry",
    "retri",
    "attempt",
    "backoff",
    "hedg",
    "nextupstream",
    "redispatch",
    "redeliver",
    "reconnect",
];

/// Whole parts of a name.
const PARTS: [&str; 2] = ["try", "tries"];

/// Words of which a part of a name may be a slip.
const MEANT: [&str; 4] = ["retry", "retries", "attempt", "attempts"];

/// Whether a text has a word that looks like retries.
pub fn holds_retries(text: &str) -> bool {
    let plain = plain(text);
    has_stem(&plain) || plain.contains("proxypass")
}

/// Whether the name of a key looks like retries, perhaps misspelled.
pub fn looks_like_retries(name: &str) -> bool {
    if name.len() < 3 || name.len() > 200 {
        return false;
    }
    let mut parts = parts(name);
    has_stem(&plain(name))
        || parts
            .any(|part| PARTS.contains(&&*part) || MEANT.iter().any(|meant| is_slip(&part, meant)))
}

fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let letters = text.chars().filter(|it| !matches!(it, '_' | '-'));
    plain.extend(letters.map(|it| it.to_ascii_lowercase()));
    plain
}

/// `retrieve` is none of them.
fn has_stem(plain: &str) -> bool {
    STEMS.iter().any(|stem| {
        let mut found = plain.match_indices(stem);
        found.any(|(at, _)| !plain[at..].starts_with("retriev"))
    })
}

/// `perTryTimeout` is `per`, `try` and `timeout`.
fn parts(name: &str) -> impl Iterator<Item = String> {
    let mut before = false;
    let begins = name.char_indices().filter_map(move |(at, c)| {
        let is_small = std::mem::replace(&mut before, c.is_lowercase());
        (is_small && c.is_uppercase()).then_some(at)
    });
    let ends = begins.chain([name.len()]);
    let mut from = 0;
    let humps = ends.map(move |end| &name[std::mem::replace(&mut from, end)..end]);
    let words = humps.flat_map(|it| it.split(|c: char| !c.is_alphanumeric()));
    words.map(str::to_ascii_lowercase)
}

/// Whether one letter is missing, too many, another, or two stand the wrong way round; the first one is right.
fn is_slip(word: &str, meant: &str) -> bool {
    let (word, meant) = (word.as_bytes(), meant.as_bytes());
    if word.len().abs_diff(meant.len()) > 1 || word.first() != meant.first() {
        return false;
    }
    let same = word
        .iter()
        .zip(meant)
        .take_while(|(one, other)| one == other)
        .count();
    let (left, right) = (&word[same..], &meant[same..]);
    let after = |of: &[u8], by: usize| of.get(by..).map(<[u8]>::to_vec);
    let is_swapped = match (left, right) {
        ([a, b, rest @ ..], [c, d, other @ ..]) => a == d && b == c && rest == other,
        _ => false,
    };
    is_swapped
        || after(left, 1) == after(right, 1)
        || after(left, 1).as_deref() == Some(right)
        || after(right, 1).as_deref() == Some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_retries_are_told_from_others() {
        for name in [
            "retries",
            "numRetries",
            "retry_policy",
            "maxAttempts",
            "perTryTimeout",
            "max-tries",
            "retrys",
            "retires",
            "atempts",
            "attmepts",
            "numRetris",
            "proxy_next_upstream",
            "retryOn",
            "RetryCount",
            "back_off",
        ] {
            assert!(looks_like_retries(name), "{name}");
        }
        for name in [
            "entries",
            "retrieve",
            "retrievalMode",
            "timeout",
            "country",
            "registry",
            "entry",
            "replicas",
            "route",
        ] {
            assert!(!looks_like_retries(name), "{name}");
        }
        assert!(
            holds_retries("a: {{ x }}\nRetry-On: 1") && !holds_retries("a: {{ x }}\nb: retrieve")
        );
    }
}
