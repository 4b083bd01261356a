//! How is a list of words written in a line?

/// The words of a text, with one blank between two, as a list that is made when this is compiled.
macro_rules! list {
    ($text:literal) => {{
        const ALL: [&str; $crate::list::count($text)] = $crate::list::split($text);
        &ALL
    }};
}
pub(crate) use list;

pub(crate) const fn count(text: &str) -> usize {
    let (mut count, mut at) = (1, 0);
    while at < text.len() {
        if text.as_bytes()[at] == b' ' {
            count += 1;
        }
        at += 1;
    }
    count
}

pub(crate) const fn split<const WORDS: usize>(text: &'static str) -> [&'static str; WORDS] {
    let mut words = [""; WORDS];
    let mut left = text.as_bytes();
    let mut at = 0;
    while at < WORDS {
        let mut end = 0;
        while end < left.len() && left[end] != b' ' {
            end += 1;
        }
        let (word, rest) = left.split_at(end);
        if let Ok(word) = std::str::from_utf8(word) {
            words[at] = word;
        }
        if let Some((_, behind)) = rest.split_first() {
            left = behind;
        }
        at += 1;
    }
    words
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_line_is_its_words() {
        assert_eq!(list!("a"), &["a"]);
        assert_eq!(list!("a bc é"), &["a", "bc", "é"]);
        assert_eq!(
            list!(
                "a \
                 b"
            ),
            &["a", "b"]
        );
    }
}
