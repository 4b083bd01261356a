//! What helps where a word is none of those that are read?

use becalm::support::nearest;

/// Asks for the word that is most like it; where none is, names all: `the fields are a, b`.
pub fn did_you_mean(word: &str, all_are: &str, known: &[&str]) -> String {
    nearest(word, known.iter().copied()).map_or_else(
        || format!("{all_are} are {}", known.join(", ")),
        |meant| format!("did you mean `{meant}`?"),
    )
}
