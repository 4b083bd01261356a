//! How is the same done again?

use std::hash::{BuildHasher, RandomState};

/// The seed, and the command line that uses it again; `arguments` are the command's own.
pub fn seeded(given: Option<u64>, arguments: impl IntoIterator<Item = String>) -> (u64, String) {
    // The standard library's hash keys are drawn from the operating system's entropy. A short
    // number is easier to copy.
    let seed = given.unwrap_or_else(|| RandomState::new().hash_one(()) >> 40);
    let mut command = line(arguments);
    if given.is_none() {
        command.push_str(" --seed ");
        command.push_str(&seed.to_string());
    }
    (seed, command)
}

/// The command's own arguments; what is no UTF-8 in them is told with marks in its place.
pub fn arguments() -> impl Iterator<Item = String> {
    let all = std::env::args_os().skip(1);
    all.map(|it| it.to_string_lossy().into_owned())
}

/// The command line of these arguments, for a POSIX shell.
pub fn line(arguments: impl IntoIterator<Item = String>) -> String {
    let quoted = arguments.into_iter().map(|argument| quoted(&argument));
    let words: Vec<_> = [String::from("becalm")].into_iter().chain(quoted).collect();
    words.join(" ")
}

/// The argument for a POSIX shell.
pub fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+%".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.into()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_that_was_drawn_is_added_and_one_that_was_given_is_not() {
        let arguments = || ["drill", "--svg", "my pictures/it's.svg"].map(String::from);
        let (seed, command) = seeded(None, arguments());
        let expected = format!(r"becalm drill --svg 'my pictures/it'\''s.svg' --seed {seed}");
        assert_eq!(command, expected);
        assert_eq!(
            seeded(Some(7), ["drill".into()]),
            (7, "becalm drill".into())
        );
        let other = seeded(None, arguments()).0;
        assert_ne!(seed, other, "drawn anew: equal once in 16 million");
    }
}
