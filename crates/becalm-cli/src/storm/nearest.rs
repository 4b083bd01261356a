//! Which known word was probably meant?

/// The known word nearest to this one: one that it begins, or one at most a third of its letters
/// away. Of several, the first.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // No known word is longer: a hostile text costs little.
    let word: String = word.chars().take(64).collect();
    let limit = (word.chars().count() / 3).max(1);
    let distance = |other: &str| {
        if word.len() > 2 && other.starts_with(&word) {
            0
        } else {
            strsim::damerau_levenshtein(&word, other)
        }
    };
    known
        .into_iter()
        .map(|candidate| (distance(candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The remedy for a word that is not known, as the end of a sentence.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known)
        .map(|known| format!("; did you mean `{known}`?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_another_word_finds_none() {
        let known = ["herd", "metastable", "moments"];
        assert_eq!(nearest("herdd", known), Some("herd"));
        assert_eq!(nearest("meta", known), Some("metastable"));
        assert_eq!(nearest("momnets", known), Some("moments"));
        assert_eq!(nearest("drill", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest(&"herd".repeat(1_000), known), None);
    }
}
