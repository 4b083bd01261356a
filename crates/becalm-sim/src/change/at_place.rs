//! What is changed at one place?

use becalm::Policy;

use super::place::{Place, UnknownPlace};
use super::setting::Setting;
use crate::scenario::Scenario;

/// A change of the policy at one place, or at [all](Place::ALL).
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    place: String,
    to: To,
}

#[derive(Debug, Clone, PartialEq)]
enum To {
    Policy(Box<Policy>),
    /// A setting by its name, and its value, which it takes.
    Setting(&'static str, String),
}

impl Change {
    /// Gives a place this policy; where a population has several, all its clients have it.
    pub fn policy(place: impl Into<String>, policy: Policy) -> Self {
        Self {
            place: place.into(),
            to: To::Policy(Box::new(policy)),
        }
    }

    /// Changes one setting of the policy of a place, or of each that it has.
    ///
    /// # Errors
    ///
    /// What is wrong with the value and what would be right.
    pub fn setting(
        place: impl Into<String>,
        setting: Setting,
        value: impl Into<String>,
    ) -> Result<Self, String> {
        let value = value.into();
        setting.set(&mut Policy::default(), &value)?;
        Ok(Self {
            place: place.into(),
            to: To::Setting(setting.name(), value),
        })
    }

    /// The place, as it is written.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What its place has then: the policy, or the setting as it is written (`budget=none`).
    pub fn brings(&self) -> Result<&Policy, String> {
        match &self.to {
            To::Policy(policy) => Ok(policy),
            To::Setting(name, value) => Err(format!("{name}={value}")),
        }
    }

    /// Checks that the scenario has its place.
    ///
    /// # Errors
    ///
    /// [`UnknownPlace`] names all that there are.
    pub fn check(&self, scenario: &Scenario) -> Result<(), UnknownPlace> {
        Place::named(scenario, &self.place).map(|_| ())
    }

    /// Changes the scenario; nothing where it lacks the place ([`check`](Self::check)).
    pub fn apply(&self, scenario: &mut Scenario) {
        for place in Place::named(scenario, &self.place).unwrap_or_default() {
            match &self.to {
                To::Policy(policy) => place.put(scenario, policy),
                To::Setting(name, value) => {
                    for policy in place.policies_mut(scenario) {
                        // A value that a setting takes, it takes of any policy.
                        let _ = Setting::named(name).map(|it| it.set(policy, value));
                    }
                }
            }
        }
    }
}

/// The scenario with all these changes, in their order.
#[must_use]
pub fn changed(mut scenario: Scenario, changes: &[Change]) -> Scenario {
    for change in changes {
        change.apply(&mut scenario);
    }
    scenario
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use becalm::Budget;

    use super::*;
    use crate::engine::Distribution;
    use crate::scenario::{Arrivals, Downstream, Population, Service, Variant};

    /// Two populations call `a`, the first with two variants; `a` calls `b` twice.
    fn scenario() -> Scenario {
        let service = |name: &str| {
            let time = Distribution::Constant(Duration::from_millis(1));
            Service::new(name, 1, time)
        };
        let call = |attempts| Downstream::new("b", Policy::default().attempts(attempts));
        let clients =
            |name: &str| Population::new(name, "a", Arrivals::Constant(1.0), Policy::default());
        let mut mixed = clients("mixed");
        mixed.variants = [3, 5]
            .map(|attempts| Variant {
                policy: Policy::default().attempts(attempts),
                share: 0.5,
            })
            .into();
        Scenario::new("places", Duration::from_secs(1))
            .service(service("a").calls(call(2)).calls(call(6)))
            .service(service("b"))
            .population(mixed)
            .population(clients("jobs"))
    }

    fn setting(place: &str, name: &str, value: &str) -> Change {
        Change::setting(place, Setting::named(name).unwrap(), value).unwrap()
    }

    /// The policies of all places, in their order.
    fn policies(scenario: &Scenario) -> Vec<Policy> {
        let variants = scenario.populations.iter().flat_map(|it| &it.variants);
        let calls = scenario.services.iter().flat_map(|it| &it.calls);
        let variants = variants.map(|it| it.policy.clone());
        variants.chain(calls.map(|it| it.policy.clone())).collect()
    }

    #[test]
    fn s2_every_place_that_holds_a_policy_has_a_name_of_its_own() {
        let places = Place::all_of(&scenario());
        let names: Vec<_> = places.iter().map(Place::name).collect();
        assert_eq!(names, ["mixed", "jobs", "a->b", "a->b#2"]);
        let attempts = places
            .iter()
            .map(|it| it.policy(&scenario()).unwrap().attempts);
        assert_eq!(attempts.collect::<Vec<_>>(), [3, 4, 2, 6]);
    }

    #[test]
    fn s2_a_setting_moves_at_its_place_and_nowhere_else() {
        let attempts = |changes: &[Change]| -> Vec<u32> {
            let policies = policies(&changed(scenario(), changes));
            policies.iter().map(|it| it.attempts).collect()
        };
        assert_eq!(attempts(&[]), [3, 5, 4, 2, 6]);
        assert_eq!(
            attempts(&[setting("a->b", "attempts", "9")]),
            [3, 5, 4, 9, 6]
        );
        assert_eq!(
            attempts(&[setting("a->b#2", "attempts", "9")]),
            [3, 5, 4, 2, 9]
        );
        assert_eq!(
            attempts(&[setting("mixed", "attempts", "9")]),
            [9, 9, 4, 2, 6]
        );
        let later = [
            setting("all", "attempts", "9"),
            setting("jobs", "attempts", "1"),
        ];
        assert_eq!(attempts(&later), [9, 9, 1, 9, 9]);
        // The variants keep what is not changed.
        let changed = changed(scenario(), &[setting("mixed", "budget", "none")]);
        let mixed = &policies(&changed)[..2];
        assert_eq!(mixed[1], Policy::default().attempts(5).budget(Budget::None));
    }

    #[test]
    fn s2_a_whole_policy_is_that_of_all_clients_of_its_place() {
        let policy = Policy::default().attempts(7);
        let changed = changed(scenario(), &[Change::policy("mixed", policy.clone())]);
        assert_eq!(changed.populations[0].variants.len(), 1);
        assert_eq!(changed.populations[0].variants[0].policy, policy);
        assert_eq!(changed.services, scenario().services);
    }

    #[test]
    fn s2_an_unknown_place_is_refused_with_all_that_there_are() {
        let refused = |place: &str| {
            let change = setting(place, "attempts", "2");
            change.check(&scenario()).unwrap_err().to_string()
        };
        for part in ["did you mean `a->b`", "mixed, jobs, a->b, a->b#2, and all"] {
            assert!(refused("a->bb").contains(part), "{}", refused("a->bb"));
        }
        assert!(refused("a-").contains("put quotes around"));
        assert!(!refused("orders").contains("did you mean"));
        assert_eq!(setting("all", "attempts", "2").check(&scenario()), Ok(()));
        // And nothing is changed by it.
        let change = setting("nowhere", "attempts", "2");
        assert_eq!(changed(scenario(), &[change]), scenario());
        let attempts = Setting::named("attempts").unwrap();
        assert!(Change::setting("a->b", attempts, "many").is_err());
    }
}
