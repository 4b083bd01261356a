//! How is an unknown word answered?

use becalm::support::nearest;

/// The remedy for a word that is not known, as the end of a sentence.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known)
        .map(|known| format!("; did you mean `{known}`?"))
        .unwrap_or_default()
}
