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

/// The word that this misspells: one letter is wrong, or the case.
pub fn slip_of<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if known.contains(&word) {
        return None;
    }
    let mut known = known.iter().copied();
    known.find(|it| it.eq_ignore_ascii_case(word) || is_one_off(word, it))
}
