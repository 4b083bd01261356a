//! On top of which file is that of a profile read?

use super::{TOGETHER, tree, words};
use crate::document::{Document, Together};

/// The file below a document's, and the profile: `application.yml` and `prod` for `application-prod.yml`, where both are checked
/// together.
pub fn base<'a>(document: &Document<'a>) -> Option<(&'a Together<'a>, &'a str)> {
    let (directory, own) = stem(document.file)?;
    let profile = |it: &Together<'a>| {
        let (_, name) = stem(it.file).filter(|(beside, _)| *beside == directory)?;
        let profile = own.strip_prefix(name)?.strip_prefix('-');
        profile.filter(|it| !it.is_empty())
    };
    let found = document.together.iter();
    let found = found.filter_map(|it| Some((it, profile(it)?)));
    // `application-prod-eu.yml` is of the profile `prod-eu`, even beside an `application-prod.yml`.
    found.max_by_key(|(_, profile)| profile.len())
}

/// Whether a document is in a file that looks like one of a profile, and the one below is in none of the files.
pub fn lacks_base(document: &Document<'_>) -> bool {
    stem(document.file).is_some_and(|(_, name)| name.contains('-')) && base(document).is_none()
}

/// What a document, one beside it or the file below imports: `spring.config.import`, a text or a list.
pub fn imports(document: &Document<'_>) -> Option<String> {
    let below = base(document).map_or(&[][..], |(base, _)| base.trees);
    let mut all = document.beside.iter().chain(below).take(TOGETHER);
    all.find_map(|tree| {
        let import = tree::found(tree, &["spring", "config", "import"]).next()?;
        let first = words(import).into_iter().next();
        first.map(|(word, _)| word)
    })
}

/// The directory of a file of YAML, and its name without the ending.
fn stem(file: &str) -> Option<(&str, &str)> {
    let at = file.rfind(['/', '\\']).map_or(0, |it| it + 1);
    let (directory, name) = file.split_at(at);
    let name = name
        .strip_suffix(".yml")
        .or_else(|| name.strip_suffix(".yaml"))?;
    Some((directory, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_has_a_directory_and_an_ending() {
        assert_eq!(
            stem("a/b/application-prod.yml"),
            Some(("a/b/", "application-prod"))
        );
        assert_eq!(stem("application.yaml"), Some(("", "application")));
        assert_eq!(
            [stem("/dev/stdin"), stem("application.properties")],
            [None; 2]
        );
    }
}
