//! What lies below an error? Each source down to the root cause, in words that are said once.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::error::Error;
use core::fmt::{Display, Write};

/// An error that is its own source would have no end.
const DEEPEST: usize = 64;

/// The errors below this one.
fn below<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    core::iter::successors(error.source(), |&error| error.source()).take(DEEPEST)
}

/// ": this cause: that one", of all that lies below an error and is not said yet. Many errors say in their own words what
/// their sources say.
pub fn causes(said: &dyn Display, error: &(dyn Error + 'static)) -> Option<Box<str>> {
    let mut said = said.to_string();
    let known = said.len();
    for cause in below(error) {
        let words = cause.to_string();
        if !said.contains(&words) {
            let _ = write!(said, ": {words}"); // a String takes all
        }
    }
    let new = said.get(known..).filter(|new| !new.is_empty());
    new.map(Box::from)
}

/// An error and all that lies below it, down to the root cause.
pub fn to_the_root(error: &(dyn Error + 'static)) -> String {
    let mut said = error.to_string();
    if let Some(causes) = causes(&said, error) {
        said.push_str(&causes);
    }
    said
}

/// The first error below this one that is not said yet: what `source` returns beside a `Display` that says so much.
pub fn unsaid<'e>(
    said: &dyn Display,
    error: &'e (dyn Error + 'static),
) -> Option<&'e (dyn Error + 'static)> {
    let said = said.to_string();
    below(error).find(|cause| !said.contains(&cause.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::fmt;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|layer| layer as _)
        }
    }

    fn layers(words: &[&'static str]) -> Layer {
        let mut layers = words.iter().rev();
        let root = Layer(layers.next().expect("one at least"), None);
        layers.fold(root, |below, words| Layer(words, Some(Box::new(below))))
    }

    #[test]
    fn each_cause_is_said_once() {
        for (words, expected) in [
            (
                &["sending", "connecting", "refused"][..],
                "sending: connecting: refused",
            ),
            (&["sending: refused", "refused"], "sending: refused"),
            (&["sending", "sending", "", "refused"], "sending: refused"),
            (&["refused"], "refused"),
        ] {
            assert_eq!(to_the_root(&layers(words)), expected);
        }
        let error = layers(&["sending: connecting", "connecting", "refused"]);
        let next = unsaid(&error, &error).expect("a cause");
        assert_eq!(next.to_string(), "refused");
        assert!(unsaid(&"sending, connecting, refused", &error).is_none());
    }
}
