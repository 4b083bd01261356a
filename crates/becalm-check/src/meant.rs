//! What helps where a word is none of those that are read?

use crate::hints::is_one_off;

/// No word that is read has as many letters: such a one is compared with none.
const LONGEST: usize = 200;

/// The known word nearest to this one.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    (word.len() <= LONGEST).then(|| becalm::support::nearest(word, known))?
}

/// Asks for the word that is most like it; where none is, names all: `the fields are a, b`.
pub fn did_you_mean(word: &str, all_are: &str, known: &[&str]) -> String {
    nearest(word, known.iter().copied()).map_or_else(
        || format!("{all_are} are {}", known.join(", ")),
        |meant| format!("did you mean `{meant}`?"),
    )
}

/// Asks for the one word that is most like it; where several are as near, or none is, names all.
pub fn did_you_mean_one(word: &str, all_are: &str, known: &[&str]) -> String {
    let all = || known.iter().copied();
    let is_one = nearest(word, all()) == nearest(word, all().rev());
    did_you_mean(if is_one { word } else { "" }, all_are, known)
}

/// As [`did_you_mean_one`] of a list with blanks between its words: several may stand in one.
pub fn did_you_mean_words(word: &str, known: &[&str]) -> String {
    run_together(word, known).map_or_else(
        || did_you_mean_one(word, "the words", known),
        |meant| format!("did you mean `{meant}`?"),
    )
}

/// `error timeout`, of `errortimeout` and `Error,timeout`. No word begins with another one.
fn run_together(word: &str, known: &[&str]) -> Option<String> {
    let plain = word.to_ascii_lowercase().replace('-', "_");
    let between = |it: char| it.is_ascii_punctuation();
    let mut rest = plain.get(..LONGEST.min(plain.len()))?;
    let mut meant = Vec::new();
    while !rest.is_empty() {
        let next = known.iter().find(|it| rest.starts_with(**it))?;
        meant.push(*next);
        rest = rest[next.len()..].trim_start_matches(between);
    }
    (word.len() <= LONGEST && !meant.is_empty()).then(|| meant.join(" "))
}

/// The word that this misspells: one letter is wrong, or the case.
pub fn slip_of<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if known.contains(&word) {
        return None;
    }
    let mut known = known.iter().copied();
    known.find(|it| it.eq_ignore_ascii_case(word) || is_one_off(word, it))
}
