//! Which words look like retries, whatever system they are of?

use crate::list::list;

/// Parts of words that a configuration of retries has, in small letters and without separators.
const STEMS: [&str; 10] = [
    "retry",
    "retri",
    "attempt",
    "backoff",
    "initialinterval",
    "hedg",
    "nextupstream",
    "redispatch",
    "redeliver",
    "reconnect",
];

/// Whole parts of a name.
const PARTS: [&str; 2] = ["try", "tries"];

/// Words that a part of a name may misspell.
const MEANT: [&str; 4] = ["retry", "retries", "attempt", "attempts"];

/// Whether a text has a word that looks like retries. The schema of a resource sets nothing.
pub fn holds_retries(text: &str) -> bool {
    let is_schema = |it: &&str| it.lines().any(|it| it == "kind: CustomResourceDefinition");
    let mut others = text.split("\n---").filter(|it| !is_schema(it));
    others.any(|it| {
        let plain = plain(it);
        has_stem(&plain) || plain.contains("proxypass")
    })
}

/// Whether the name of a key looks like retries, perhaps misspelled.
pub fn looks_like_retries(name: &str) -> bool {
    if name.len() < 3 || name.len() > 200 {
        return false;
    }
    let plain = plain(name);
    if plain.contains("quic") && is_of_quic(name) {
        return false;
    }
    let is_stem = if plain.contains("preconnect") {
        let others = parts(name).map(|it| it.strip_prefix("preconnect").unwrap_or(&it).to_owned());
        has_stem(&others.collect::<String>())
    } else {
        has_stem(&plain)
    };
    is_stem
        || parts(name)
            .any(|part| PARTS.contains(&&*part) || MEANT.iter().any(|meant| is_slip(&part, meant)))
}

/// Whether it is about the Retry packet of QUIC, by which a client proves its address: `quic-force-retry`.
fn is_of_quic(name: &str) -> bool {
    let parts: Vec<_> = parts(name).collect();
    let has = |it: &str| parts.iter().any(|part| part == it);
    let counts = ["max", "num", "count", "limit"].iter().any(|it| has(it));
    let last = parts
        .last()
        .is_some_and(|it| it == "retry" || it == "threshold");
    has("quic") && has("retry") && last && !counts
}

/// The first setting of retries in a text of lines, or of one, as snippets of proxies have it.
pub fn word_of_text(text: &str) -> Option<&str> {
    let is_value = !text.contains(['\n', ';']);
    text.lines().find_map(|line| {
        let ends = |c: char| c.is_whitespace() || ":=;{\"'".contains(c);
        let mut words = line.split(ends).filter(|it| !it.is_empty() && *it != "-");
        let first = words.next()?;
        let is_number = |it: &str| it.parse::<u32>().is_ok();
        // A patch of JSON (RFC 6902), in a patch of kustomize.
        if first == "path" && !is_value && text.contains("op") {
            let path = line.split_once("path").map_or("", |(_, it)| it);
            let path = path.trim_matches(|c: char| c.is_whitespace() || ":,\"'".contains(c));
            return path.split('/').find(|it| looks_like_retries(it));
        }
        let is_next = first.contains("_next_upstream") && !first.starts_with(['#', '/']);
        let is_own =
            IN_TEXTS.contains(&first) || first == "retries" && words.next().is_some_and(is_number);
        let is_line = || {
            let (_, after) = line.split_once(first).unwrap_or_default();
            is_setting(after)
        };
        (is_next || is_own && (!is_value || is_line())).then_some(first)
    })
}

/// Whether what follows a word is its value, and no prose: `retryPolicy is of the mesh`, `retries 3 times`.
fn is_setting(after: &str) -> bool {
    let value = after.trim_start_matches(|it: char| it.is_whitespace() || ":='\"".contains(it));
    if value.starts_with(['{', '[']) {
        return true;
    }
    let mut words = value.split_whitespace();
    let is_one = words.clone().count() == 1;
    let is_no_prose = |it: &str| {
        !it.trim_end_matches(['.', ','])
            .bytes()
            .all(|it| it.is_ascii_alphabetic() || it == b'\'')
    };
    value.starts_with(|it: char| it.is_ascii_alphanumeric()) && (is_one || words.all(is_no_prose))
}

/// Words that begin a line about retries in the files of proxies, but for HAProxy's `retries 3`.
const IN_TEXTS: &[&str] = list!(
    "retry-on retry_on retryOn retry_policy retryPolicy num_retries numRetries max_connect_attempts"
);

fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let letters = text.chars().filter(|it| !matches!(it, '_' | '-'));
    plain.extend(letters.map(|it| it.to_ascii_lowercase()));
    plain
}

/// `retrieve` is none of them.
fn has_stem(plain: &str) -> bool {
    let is_stem = STEMS.iter().any(|stem| {
        let mut found = plain.match_indices(stem);
        found.any(|(at, _)| !plain[at..].starts_with("retriev"))
    });
    is_stem || ends_of_next_upstream(plain)
}

/// Whether the words of nginx stand in it, one letter off.
fn ends_of_next_upstream(plain: &str) -> bool {
    let near = |at: usize, length: usize, meant: &str| {
        let word = at.checked_sub(length).and_then(|from| plain.get(from..at));
        word.is_some_and(|it| is_one_off(it, meant))
    };
    let mut lasts = plain.match_indices("upstream");
    let mut firsts = plain.match_indices("proxynext");
    lasts.any(|(at, _)| (8..=10).any(|length| near(at, length, "proxynext")))
        || firsts.any(|(at, _)| {
            let from = at + "proxynext".len();
            (7..=9).any(|length| near(from + length, length, "upstream"))
        })
}

/// `perTryTimeout` is `per`, `try` and `timeout`.
pub fn parts(name: &str) -> impl Iterator<Item = String> {
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

/// Whether it is one letter off, and the first letter is right.
fn is_slip(word: &str, meant: &str) -> bool {
    word.as_bytes().first() == meant.as_bytes().first() && is_one_off(word, meant)
}

/// Whether one letter is missing, too many, another, or two stand the wrong way round.
pub fn is_one_off(word: &str, meant: &str) -> bool {
    let (word, meant) = (word.as_bytes(), meant.as_bytes());
    if word.len().abs_diff(meant.len()) > 1 {
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

/// Whether two letters are missing, too many, or others, side by side or apart.
pub fn is_two_off(word: &str, meant: &str) -> bool {
    let is_near = |at: usize, skip: usize, add: &str| {
        let (Some(head), Some(tail)) = (word.get(..at), word.get(at + skip..)) else {
            return false;
        };
        is_one_off(&format!("{head}{add}{tail}"), meant)
    };
    let same = word.bytes().zip(meant.bytes());
    let same = same.take_while(|(one, other)| one == other).count();
    let two = word.get(same..same + 2).unwrap_or_default();
    let swapped: String = two.chars().rev().collect();
    // The first letter that differs is wrong, missing, too many, or swapped with the next.
    let next = meant.get(same..=same).unwrap_or_default();
    word.len().abs_diff(meant.len()) <= 2
        && (is_near(same, 1, next)
            || is_near(same, 0, next)
            || is_near(same, 1, "")
            || is_near(same, two.len(), &swapped))
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
            "proxy-ext-upstream",
            "proxy_next_upsteam_tries",
            "tcpReconnect",
            "http_reconnect_delay",
            "preconnectRetries",
            "quicMaxRetries",
            "quic_retry_policy",
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
            "proxy_upstream",
            "nextStep",
            "preconnectPolicy",
            "perUpstreamPreconnectRatio",
            "quic-force-retry",
            "tune.quic.retry-threshold",
        ] {
            assert!(!looks_like_retries(name), "{name}");
        }
        assert!(
            holds_retries("a: {{ x }}\nRetry-On: 1") && !holds_retries("a: {{ x }}\nb: retrieve")
        );
        let schema = "{{- if .x }}\nkind: CustomResourceDefinition\nspec: {retry: {type: object}}\n{{- end }}";
        let (_, bare) = schema.split_once('\n').unwrap();
        assert!(!holds_retries(&bare.replace('\n', "\r\n")));
        assert!(!holds_retries(schema) && holds_retries(&format!("{schema}\n---\nretries: 3")));
    }
}
