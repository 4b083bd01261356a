//! Where in a scenario does a policy stand, and what is that place called?

use std::time::Duration;

use becalm::Policy;
use becalm::support::nearest;

use crate::record::Recording;
use crate::scenario::{Scenario, Variant};

/// A place of a scenario that holds a policy: all clients of a population, or the calls of one service
/// to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    name: String,
    at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The population with this index.
    Clients(usize),
    /// Of the service with the first index the call with the second.
    Call(usize, usize),
}

impl Place {
    /// The word for all places together.
    pub const ALL: &'static str = "all";

    /// All places of a scenario, from the clients on down: the populations, then the calls of each
    /// service, in the order of the scenario.
    ///
    /// A population is called as it is, a call `caller->callee`. What has the name of a place before
    /// it, such as a second call of a service to the same other one, has its number behind: `a->b#2`.
    pub fn all_of(scenario: &Scenario) -> Vec<Self> {
        let clients = scenario.populations.iter().enumerate();
        let clients = clients.map(|(index, it)| (it.name.clone(), At::Clients(index)));
        let calls = scenario.services.iter().enumerate();
        let calls = calls.flat_map(|(caller, service)| {
            let each = service.calls.iter().enumerate();
            each.map(move |(call, it)| {
                let name = format!("{}->{}", service.name, it.service);
                (name, At::Call(caller, call))
            })
        });
        let mut places: Vec<Self> = Vec::new();
        for (name, at) in clients.chain(calls) {
            let is_taken = |name: &str| places.iter().any(|it| it.name == name);
            let numbered = || (2..).map(|number: u32| format!("{name}#{number}"));
            let name = if is_taken(&name) {
                numbered().find(|it| !is_taken(it)).unwrap_or_default()
            } else {
                name
            };
            places.push(Self { name, at });
        }
        places
    }

    /// The places that a name means: one, or [all](Self::ALL). A place of that very name comes first.
    ///
    /// # Errors
    ///
    /// [`UnknownPlace`] names all that there are, and the one that was probably meant.
    pub fn named(scenario: &Scenario, name: &str) -> Result<Vec<Self>, UnknownPlace> {
        let places = Self::all_of(scenario);
        if let Some(place) = places.iter().find(|it| it.name == name) {
            return Ok(vec![place.clone()]);
        }
        if name == Self::ALL {
            return Ok(places);
        }
        Err(UnknownPlace {
            name: name.to_owned(),
            known: places.into_iter().map(|it| it.name).collect(),
        })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether clients, and not a service, have the policy.
    pub const fn is_of_clients(&self) -> bool {
        matches!(self.at, At::Clients(_))
    }

    /// The section of a [scenario file](crate::scenario::file) that holds its policy.
    pub const fn section(&self) -> &'static str {
        match self.at {
            At::Clients(_) => "[[population]]",
            At::Call(..) => "[[service.calls]]",
        }
    }

    /// The policy of the place; of a population with several, that of its first clients. `None` in a
    /// scenario of another shape.
    pub fn policy<'a>(&self, scenario: &'a Scenario) -> Option<&'a Policy> {
        self.policies(scenario).first().copied()
    }

    /// All policies of the place: several where a population has variants.
    pub fn policies<'a>(&self, scenario: &'a Scenario) -> Vec<&'a Policy> {
        match self.at {
            At::Clients(index) => {
                let population = scenario.populations.get(index);
                let variants = population.into_iter().flat_map(|it| &it.variants);
                variants.map(|it| &it.policy).collect()
            }
            At::Call(caller, call) => {
                let service = scenario.services.get(caller);
                let call = service.and_then(|it| it.calls.get(call));
                call.map(|it| &it.policy).into_iter().collect()
            }
        }
    }

    /// The service that is called there; `None` in a scenario of another shape.
    pub(crate) fn target<'a>(&self, scenario: &'a Scenario) -> Option<&'a str> {
        match self.at {
            At::Clients(index) => Some(&scenario.populations.get(index)?.target),
            At::Call(caller, call) => {
                Some(&scenario.services.get(caller)?.calls.get(call)?.service)
            }
        }
    }

    /// The index of the service that calls; `None` of clients.
    pub(crate) const fn caller(&self) -> Option<usize> {
        match self.at {
            At::Clients(_) => None,
            At::Call(caller, _) => Some(caller),
        }
    }

    /// First tries and attempts that were sent there in a run, per bucket.
    pub(crate) fn sent<'a>(&self, recording: &'a Recording) -> Option<(&'a [u32], &'a [u32])> {
        match self.at {
            At::Clients(index) => {
                let of = recording.populations.get(index)?;
                Some((&of.first_tries, &of.attempts))
            }
            At::Call(caller, call) => {
                let of = recording.services.get(caller)?.calls.get(call)?;
                Some((&of.first_tries, &of.attempts))
            }
        }
    }

    /// When an attempt of this place is given up, if its policy has no attempt timeout.
    pub fn timeout(&self, scenario: &Scenario) -> Option<Duration> {
        match self.at {
            At::Clients(index) => scenario.populations.get(index)?.timeout,
            At::Call(caller, call) => scenario.services.get(caller)?.calls.get(call)?.timeout,
        }
    }

    pub(super) fn policies_mut<'a>(&self, scenario: &'a mut Scenario) -> Vec<&'a mut Policy> {
        match self.at {
            At::Clients(index) => {
                let population = scenario.populations.get_mut(index);
                let variants = population.into_iter().flat_map(|it| &mut it.variants);
                variants.map(|it| &mut it.policy).collect()
            }
            At::Call(caller, call) => {
                let service = scenario.services.get_mut(caller);
                let call = service.and_then(|it| it.calls.get_mut(call));
                call.map(|it| &mut it.policy).into_iter().collect()
            }
        }
    }

    /// Gives all of the place one policy.
    pub(super) fn put(&self, scenario: &mut Scenario, policy: &Policy) {
        if let At::Clients(index) = self.at {
            if let Some(population) = scenario.populations.get_mut(index) {
                let policy = policy.clone();
                population.variants = vec![Variant { policy, share: 1.0 }];
            }
            return;
        }
        for of_place in self.policies_mut(scenario) {
            of_place.clone_from(policy);
        }
    }
}

/// A name that no place has. `Display` names all that there are, or the one that was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownPlace {
    /// What was written.
    pub name: String,
    /// The names of all places.
    pub known: Vec<String>,
}

impl std::fmt::Display for UnknownPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no policy stands at `{}`; ", self.name)?;
        if let Some(meant) = nearest(&self.name, self.known.iter().map(String::as_str)) {
            write!(f, "did you mean `{meant}`? ")?;
        }
        let known = self.known.join(", ");
        write!(f, "there are {known}, and {} for each of them", Place::ALL)?;
        if self.name.ends_with('-') {
            f.write_str("; put quotes around a name with `->`, or the shell takes `>` for itself")?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownPlace {}
