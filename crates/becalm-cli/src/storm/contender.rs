//! Which policies are compared? The text of `--compare`.
//!
//! A list has its policies apart by commas. A policy is what it starts from, settings, or both, apart
//! by semicolons: `full`, `grpc`, `mine.toml`, `attempts=3;budget=none`, `grpc;cap=5s`. The budgets and
//! breakers of a setting hold commas themselves (`budget=ratio:0.1,burst:10`); what is behind such a
//! comma has a colon behind its first word, which nothing has that begins a policy, but for the
//! two jitters that are known.
//!
//! What is about one place of the scenario says so: `orders->db: budget=none`, or
//! `orders->db.budget=none`.

use becalm::Policy;
use becalm_sim::catalogue::Candidate;
use becalm_sim::change::Change;
use becalm_sim::scenario::Scenario;

use super::beginning::{Beginning, OWN, is_path};
pub use super::beginning::{DEFAULT, YOURS};
use super::section::{self, Section, sections};

/// What the policies of a comparison start from.
pub struct Start<'a> {
    /// The scenario's own policy.
    pub own: Policy,
    /// This policy as the flags change it, or the policy that they name instead.
    pub yours: Box<dyn Fn(Policy) -> Result<Policy, String> + 'a>,
    /// Whether there are any flags.
    pub is_given: bool,
    /// The place that the flags, and what names none, are about; `None` for the scenario's policy.
    pub at: Option<&'a str>,
    /// The scenario with its places; `None` where it has none.
    pub scenario: Option<Scenario>,
}

/// The policies to compare.
///
/// `lists` are the values of `--compare`; without any, the scenario's own are compared, and the
/// policy of the flags beside them, if it is given and new.
///
/// # Errors
///
/// A sentence that names the policy and the remedy.
pub fn candidates(
    lists: &[String],
    by_default: &[&str],
    start: &Start,
) -> Result<Vec<Candidate>, String> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let asked: Vec<String> = lists.iter().flat_map(|list| split(list)).collect();
    if asked.is_empty() {
        for text in by_default {
            let mut candidate = start.candidate(text)?;
            if *text == YOURS && !start.is_given {
                // Nobody gave any: it is called after what it is.
                start.own_name().clone_into(&mut candidate.name);
            }
            candidates.push(candidate);
        }
        let yours = start.candidate(YOURS)?;
        let is_yours =
            |it: &Candidate| (&it.policy, &it.changes) == (&yours.policy, &yours.changes);
        let is_new = !candidates.iter().any(is_yours);
        if is_new && (start.is_given || candidates.is_empty()) {
            candidates.push(yours);
        }
        return Ok(candidates);
    }
    for text in &asked {
        let candidate = start.candidate(text)?;
        if candidates.iter().any(|other| other.name == candidate.name) {
            return Err(format!(
                "--compare names `{text}` twice; leave one of them out"
            ));
        }
        candidates.push(candidate);
    }
    Ok(candidates)
}

/// The texts of a list.
fn split(list: &str) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for piece in list.split(',') {
        match texts.last_mut() {
            Some(text) if text.contains('=') && goes_on(piece) && !section::begins(piece) => {
                text.push(',');
                text.push_str(piece.trim());
            }
            _ => texts.push(piece.trim().into()),
        }
    }
    texts
}

/// Whether this is a part of the setting before it, and not a policy of its own.
fn goes_on(piece: &str) -> bool {
    let end = piece.find([':', '=', ';']).unwrap_or(piece.len());
    let (word, rest) = piece.split_at(end);
    let is_jitter = ["proportional", "additive"].contains(&word.trim());
    let is_number = rest
        .get(1..)
        .is_some_and(|value| value.starts_with(|c: char| c.is_ascii_digit()));
    // The floor of a budget is `floor:10/h`, which has the slash of a path.
    let is_rate = is_number && !word.contains(['/', '.']);
    rest.starts_with(':') && !is_jitter && (is_rate || !is_path(piece))
}

impl Start<'_> {
    /// What the scenario's own policy is called.
    fn own_name(&self) -> &'static str {
        if self.own == Policy::default() {
            DEFAULT
        } else {
            OWN
        }
    }

    /// The policy of the flags, under its name.
    pub fn yours(&self) -> Result<Candidate, String> {
        self.candidate(YOURS)
    }

    fn candidate(&self, text: &str) -> Result<Candidate, String> {
        let refused = |sentence: String| format!("--compare `{text}`: {sentence}");
        let mut candidate = Candidate::new(text, self.own.clone());
        let sections = sections(text);
        let is_alone = sections.len() == 1;
        for Section { place, parts } in sections {
            let Some(name) = place.or(self.at) else {
                // A list with a policy of no text is a slip; a text of places leaves the rest.
                let parts = if parts.is_empty() && is_alone {
                    vec![""]
                } else {
                    parts
                };
                let from = Beginning {
                    own: &self.own,
                    yours: (self.yours)(self.own.clone())?,
                };
                candidate.policy = from.policy(&parts, text)?;
                continue;
            };
            let is_meant = place.is_none() || place == self.at;
            let is_left = match parts[..] {
                [] | [YOURS] => !(is_meant && self.is_given),
                [OWN] => true,
                _ => false,
            };
            let places = section::places(self.scenario.as_ref(), name).map_err(refused)?;
            for place in places.iter().filter(|_| !is_left) {
                let own = self.scenario.as_ref().and_then(|it| place.policy(it));
                let own = own.unwrap_or(&self.own);
                let yours = if is_meant {
                    (self.yours)(own.clone())?
                } else {
                    own.clone()
                };
                let policy = Beginning { own, yours }.policy(&parts, text)?;
                let change = Change::policy(place.name(), policy);
                candidate.changes.push(change);
            }
        }
        Ok(candidate)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use becalm::{Budget, Jitter, preset::Preset};
    use becalm_sim::scenario::{Arrivals, Distribution, Downstream, Population, Service};

    use super::super::beginning::words;
    use super::*;

    /// A scenario in which `a` calls `b`, whatever the flags make of its policy.
    fn start<'a>(
        yours: impl Fn(Policy) -> Result<Policy, String> + 'a,
        is_given: bool,
    ) -> Start<'a> {
        let own = Policy::default().attempts(8);
        let time = Distribution::Constant(Duration::from_millis(1));
        let call = Downstream::new("b", Policy::default().attempts(2));
        let clients = Population::new("users", "a", Arrivals::Constant(1.0), own.clone());
        let scenario = Scenario::new("orders", Duration::from_secs(1))
            .service(Service::new("a", 1, time.clone()).calls(call))
            .service(Service::new("b", 1, time))
            .population(clients);
        Start {
            own,
            yours: Box::new(yours),
            is_given,
            at: None,
            scenario: Some(scenario),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "as every reader of a policy")]
    fn default(_: Policy) -> Result<Policy, String> {
        Ok(Policy::default())
    }

    fn asked(lists: &[&str]) -> Result<Vec<Candidate>, String> {
        let lists: Vec<String> = lists.iter().map(|list| (*list).to_owned()).collect();
        candidates(&lists, &["none", "full"], &start(default, false))
    }

    fn one(text: &str) -> Policy {
        let found = asked(&[text]).unwrap();
        assert_eq!(found.len(), 1, "{text}");
        found.into_iter().next().unwrap().policy
    }

    #[test]
    fn lists_are_split_between_policies_and_not_within_them() {
        for (list, expected) in [
            ("none,equal,full", &["none", "equal", "full"][..]),
            (
                "additive:1s,proportional:0.2",
                &["additive:1s", "proportional:0.2"],
            ),
            (
                "full,budget=ratio:0.1,burst:10;attempts=3,additive:1s,grpc",
                &[
                    "full",
                    "budget=ratio:0.1,burst:10;attempts=3",
                    "additive:1s",
                    "grpc",
                ],
            ),
            (
                "breaker=share:0.5,within:10s,min:20;budget=none,attempts=2",
                &[
                    "breaker=share:0.5,within:10s,min:20;budget=none",
                    "attempts=2",
                ],
            ),
            ("mine.toml, ./a:b/c", &["mine.toml", "./a:b/c"]),
            (
                "budget=ratio:0.1,burst:10,floor:10/h,attempts=2",
                &["budget=ratio:0.1,burst:10,floor:10/h", "attempts=2"],
            ),
            (
                "budget=ratio:0.1,burst:5s,min:10,floor:2.5/m + per-minute:60,./a:b/c",
                &[
                    "budget=ratio:0.1,burst:5s,min:10,floor:2.5/m + per-minute:60",
                    "./a:b/c",
                ],
            ),
        ] {
            assert_eq!(split(list), expected, "{list}");
        }
    }

    #[test]
    fn every_preset_and_every_budget_can_be_written() {
        for preset in Preset::all() {
            assert_eq!(one(preset.name()), preset.policy());
            let name = preset.name().to_owned();
            assert!(name.parse::<Jitter>().is_err() && !words().contains(&name));
            let budget = preset.policy().budget;
            let text = format!("none,budget={budget},full");
            let found = asked(&[&text]).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(found.len(), 3, "{text}");
            assert_eq!(found[1].policy.budget, budget);
        }
        for text in [
            "ratio:0.1,burst:10,floor:10/h",
            "ratio:0.1,burst:5s,min:10,floor:10/h",
        ] {
            assert_eq!(one(&format!("budget={text}")).budget, text.parse().unwrap());
        }
    }

    #[test]
    fn a_policy_that_nobody_gave_is_called_after_what_it_is() {
        let names = |own: Policy, is_given| {
            let start = Start {
                own,
                ..start(Ok, is_given)
            };
            let found = candidates(&[], &["attempts=1", "yours"], &start).unwrap();
            found.into_iter().map(|it| it.name).collect::<Vec<_>>()
        };
        let other = Policy::default().attempts(8);
        assert_eq!(names(Policy::default(), false), ["attempts=1", "default"]);
        assert_eq!(names(other.clone(), false), ["attempts=1", "own"]);
        assert_eq!(names(other, true), ["attempts=1", "yours"]);
        assert_eq!(one("default"), Policy::default());
    }

    #[test]
    fn a_policy_is_what_it_starts_from_with_its_settings() {
        let policy = Policy::default;
        assert_eq!(one("equal"), policy().jitter(Jitter::Equal));
        assert_eq!(one("yours"), policy());
        assert_eq!(one("own"), policy().attempts(8));
        assert_eq!(
            one("attempts=3;budget=none"),
            policy().attempts(3).budget(Budget::None)
        );
        let cap = Duration::from_secs(7);
        assert_eq!(one("none;cap=7s"), policy().jitter(Jitter::None).cap(cap));
        let grpc = Preset::by_name("grpc").unwrap().policy();
        assert_eq!(one("grpc;cap=7s"), grpc.cap(cap));
        assert_eq!(one("attempt_timeout=7s"), policy().attempt_timeout(cap));
    }

    #[test]
    fn files_are_read_in_both_formats() {
        let folder = tempfile::tempdir().unwrap();
        let expected = Policy::default().attempts(9);
        for (name, text) in [("a.toml", "attempts = 9"), ("a.json", "{\"attempts\": 9}")] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            assert_eq!(one(path.to_str().unwrap()), expected);
        }
    }

    #[test]
    fn without_a_list_the_scenario_chooses_and_a_given_policy_stands_beside() {
        let names = |policy: Policy, is_given| {
            let yours = |_: Policy| Ok(policy.clone());
            let found = candidates(&[], &["none", "full"], &start(yours, is_given)).unwrap();
            found.into_iter().map(|it| it.name).collect::<Vec<_>>()
        };
        let equal = Policy::default().jitter(Jitter::Equal);
        assert_eq!(names(equal.clone(), false), ["none", "full"]);
        assert_eq!(names(equal, true), ["none", "full", "yours"]);
        let same_as_full = Policy::default();
        assert_eq!(names(same_as_full, true), ["none", "full"]);
        let alone = candidates(&[], &[], &start(default, false)).unwrap();
        assert_eq!(alone.len(), 1);
    }

    /// The policies of the clients and of the call.
    fn both(candidate: &Candidate, start: &Start<'_>) -> [Policy; 2] {
        let build = |policy: &Policy| start.scenario.as_ref().unwrap().under(policy);
        let scenario = candidate.scenario(build);
        let clients = &scenario.populations[0].variants[0].policy;
        [clients, &scenario.services[0].calls[0].policy].map(Clone::clone)
    }

    #[test]
    fn s2_a_policy_is_that_of_the_place_that_it_names_and_leaves_the_others() {
        let start = start(Ok, false);
        let one = |text: &str| both(&start.candidate(text).unwrap(), &start);
        let [own, call] = [8, 2].map(|attempts| Policy::default().attempts(attempts));
        assert_eq!(one("own"), [own.clone(), call.clone()]);
        assert_eq!(one("a->b: default"), [own.clone(), Policy::default()]);
        let unbounded = call.clone().budget(Budget::None);
        assert_eq!(one("a->b: budget=none"), [own.clone(), unbounded.clone()]);
        assert_eq!(one("a->b.budget=none"), [own.clone(), unbounded.clone()]);
        assert_eq!(
            one("attempts=3; a->b: budget=none"),
            [own.clone().attempts(3), unbounded]
        );
        assert_eq!(
            one("users: none; a->b: attempts=5"),
            [own.clone().jitter(Jitter::None), call.clone().attempts(5)]
        );
        let capped = |policy: Policy| policy.cap(Duration::from_secs(3));
        assert_eq!(one("all: cap=3s"), [capped(own), capped(call)]);
    }

    #[test]
    fn s2_places_stand_in_a_list_as_every_policy_does() {
        for (list, expected) in [
            ("own,a->b: default", &["own", "a->b: default"][..]),
            (
                "budget=ratio:0.1,burst:10,users: attempts=1,a->b.breaker=share:0.5,within:10s",
                &[
                    "budget=ratio:0.1,burst:10",
                    "users: attempts=1",
                    "a->b.breaker=share:0.5,within:10s",
                ],
            ),
        ] {
            assert_eq!(split(list), expected, "{list}");
        }
    }

    #[test]
    fn s2_flags_are_about_the_place_that_is_named_with_them() {
        let twice = |policy: Policy| Ok(policy.budget(Budget::None));
        let mut start = start(twice, true);
        start.at = Some("a->b");
        let [own, call] = [8, 2].map(|attempts| Policy::default().attempts(attempts));
        let changed = call.clone().budget(Budget::None);
        let named = |text: &str| both(&start.candidate(text).unwrap(), &start);
        assert_eq!(named("yours"), [own.clone(), changed.clone()]);
        assert_eq!(named("own"), [own.clone(), call]);
        assert_eq!(
            named("attempts=7"),
            [own.clone(), changed.clone().attempts(7)]
        );
        assert_eq!(
            named("users: attempts=7"),
            [own.clone().attempts(7), changed]
        );
        let found = candidates(&[], &["own"], &start).unwrap();
        let called: Vec<_> = found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(called, ["own", "yours"]);
    }

    #[test]
    fn slips_are_refused_with_a_remedy() {
        for (text, part) in [
            ("a->c: default", "did you mean `a->b`"),
            ("user: default", "did you mean `users`"),
            ("a->c.attempts=3", "there are users, a->b, and all"),
            ("a->b: atempts=3", "did you mean `attempts`"),
            ("a->b: defualt", "did you mean `default`"),
            ("a-", "put quotes around"),
            ("ful", "did you mean `full`"),
            ("grcp", "did you mean `grpc`"),
            ("whatever", "becalm presets"),
            ("", "mine.toml"),
            ("none,,full", "mine.toml"),
            ("full,full", "twice"),
            ("atempts=3", "did you mean `attempts`"),
            ("seed=3", "no setting `seed`"),
            ("burst=3", "budget=ratio:0.1,burst:10"),
            ("attempts=none", "unlimited"),
            ("attempts=0", "attempts"),
            ("full;attempts", "write one as attempts=3"),
            ("base=1h", "--base"),
            ("additive:1h", "additive:1h"),
            ("./nowhere.toml", "nowhere.toml"),
            ("./nowhere.json", "nowhere.json"),
        ] {
            let refused = asked(&[text]).expect_err(text);
            assert!(
                refused.contains(part) && refused.contains("--compare"),
                "{text}: {refused}"
            );
            assert!(!refused.contains('\n'), "{refused}");
        }
    }
}
