//! Which place of a scenario is a part of a policy's text about?
//!
//! `attempts=2; orders->db: default;cap=5s` is about the clients and about a call: behind a place and
//! a colon, everything is about that place. `orders->db.cap=5s` is one setting there.

use becalm_sim::change::Place;
use becalm_sim::scenario::Scenario;

/// What a text says about one place.
#[derive(Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// As it is written; `None` for what names none.
    pub place: Option<&'a str>,
    /// What the policy starts from and its settings, none of them empty but the only one.
    pub parts: Vec<&'a str>,
}

/// The sections of a text, that without a place first.
pub fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections = vec![Section {
        place: None,
        parts: Vec::new(),
    }];
    let mut current = 0;
    for part in text.split(';').map(str::trim) {
        match placed(part) {
            Some(Placed::From(place, rest)) => {
                current = open(&mut sections, place);
                push(&mut sections, current, rest);
            }
            Some(Placed::One(place, setting)) => {
                let at = open(&mut sections, place);
                push(&mut sections, at, setting);
            }
            None => push(&mut sections, current, part),
        }
    }
    sections
}

/// The places that a name means.
///
/// # Errors
///
/// A sentence that names all that there are.
pub fn places(scenario: Option<&Scenario>, name: &str) -> Result<Vec<Place>, String> {
    let Some(scenario) = scenario else {
        return Err(format!(
            "`{name}` is no place of this scenario, which has one policy and no services"
        ));
    };
    Place::named(scenario, name).map_err(|unknown| unknown.to_string())
}

/// Whether this begins a section, and so a policy of its own in a list.
pub fn begins(piece: &str) -> bool {
    placed(piece.trim()).is_some()
}

enum Placed<'a> {
    /// From here on all is about this place: the place, and the first part.
    From(&'a str, &'a str),
    /// One setting of this place.
    One(&'a str, &'a str),
}

/// Parts of a budget or a breaker have no space behind their colons, and two jitters do not name places.
fn placed(part: &str) -> Option<Placed<'_>> {
    let name_ends = part.find([':', '=']).unwrap_or(part.len());
    let (name, rest) = part.split_at(name_ends);
    if let Some(rest) = rest.strip_prefix(':') {
        let is_apart = rest.is_empty() || rest.starts_with(char::is_whitespace);
        let is_jitter = ["proportional", "additive"].contains(&name.trim());
        let is_place = name.contains("->") || (is_apart && !is_jitter);
        return is_place.then(|| Placed::From(name.trim(), rest.trim()));
    }
    let (place, setting) = name.rsplit_once('.')?;
    let setting = part.get(part.len() - rest.len() - setting.len()..)?;
    let is_set = rest.starts_with('=') && !place.contains('/');
    is_set.then(|| Placed::One(place.trim(), setting))
}

/// The index of the section of this place.
fn open<'a>(sections: &mut Vec<Section<'a>>, place: &'a str) -> usize {
    let found = sections.iter().position(|it| it.place == Some(place));
    found.unwrap_or_else(|| {
        sections.push(Section {
            place: Some(place),
            parts: Vec::new(),
        });
        sections.len() - 1
    })
}

fn push<'a>(sections: &mut [Section<'a>], at: usize, part: &'a str) {
    if let Some(section) = sections.get_mut(at).filter(|_| !part.is_empty()) {
        section.parts.push(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_a_text_is_read_place_by_place() {
        let read = |text| -> Vec<(Option<&str>, Vec<&str>)> {
            let sections = sections(text).into_iter();
            sections.map(|it| (it.place, it.parts)).collect()
        };
        assert_eq!(read("full"), [(None, vec!["full"])]);
        assert_eq!(
            read("attempts=2; orders->db: default;cap=5s"),
            [
                (None, vec!["attempts=2"]),
                (Some("orders->db"), vec!["default", "cap=5s"])
            ]
        );
        assert_eq!(
            read("users: attempts=1;a->b:none;a.b->c.budget=ratio:0.1,burst:10;base=1s"),
            [
                (None, vec![]),
                (Some("users"), vec!["attempts=1"]),
                (Some("a->b"), vec!["none", "base=1s"]),
                (Some("a.b->c"), vec!["budget=ratio:0.1,burst:10"])
            ]
        );
        for text in [
            "additive:1s",
            "proportional: 0.2",
            "budget=ratio:0.1,burst: 3",
            "./a:b/c",
            "multiplier=1.5",
            "./x.y/mine.toml",
        ] {
            assert_eq!(read(text), [(None, vec![text])]);
        }
    }
}
