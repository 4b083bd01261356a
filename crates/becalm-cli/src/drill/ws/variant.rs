//! Which ways to come back are set against each other? Plain data.

use becalm::duration::Human;
use becalm_report::Colour;

use super::schedule::Schedule;
use super::setup::Setup;

/// What a variant is in the drill to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The server is up again, and the service stays down.
    Storm,
}

/// One way to come back.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The name in the JSON document and of `--only`: stable.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What it is, in a few words.
    pub description: String,
    pub colour: Colour,
    pub schedule: Schedule,
    pub role: Role,
}

/// The names of all.
pub const NAMES: [&str; 3] = ["fixed", "exponential", "full-jitter"];

/// All variants of a drill.
pub fn all(setup: &Setup) -> Vec<Variant> {
    let Setup { base, cap, .. } = *setup;
    let waits = format!("{} x 2 up to {}", Human(base), Human(cap));
    let storm = |name, title, description, colour, schedule| Variant {
        name,
        title,
        description,
        colour,
        schedule,
        role: Role::Storm,
    };
    vec![
        storm(
            "fixed",
            "fixed delay",
            format!("dials again after {}", Human(base)),
            Colour::Red,
            Schedule::Fixed(base),
        ),
        storm(
            "exponential",
            "exponential",
            format!("{waits}, no jitter"),
            Colour::Orange,
            Schedule::Exponential(base, cap),
        ),
        storm(
            "full-jitter",
            "full jitter",
            format!("drawn below {waits}"),
            Colour::Purple,
            Schedule::FullJitter(base, cap),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::setup::tests::usual;
    use super::*;

    #[test]
    fn each_is_valid_and_has_its_name() {
        let variants = all(&usual());
        let names: Vec<_> = variants.iter().map(|it| it.name).collect();
        assert_eq!(names, NAMES);
        for variant in variants {
            assert_eq!(variant.schedule.reconnect().validate(), Ok(()));
        }
    }
}
