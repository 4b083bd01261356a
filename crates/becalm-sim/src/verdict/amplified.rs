//! Which service do retries load most, and whose are they?

use crate::scenario::Scenario;

use super::numbers::{hundredths, list, mean};
use super::outcome::Outcome;
use super::services::{Flow, PhaseOf, callers};

/// The service that gets most for what first tries alone would bring.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Amplified<'a> {
    /// Its place in the scenario.
    pub service: usize,
    pub name: &'a str,
    /// Requests for each that first tries alone would bring.
    pub by: f64,
    /// The places on the way to it that repeat, from the clients on, with their attempts for each first try.
    whose: Vec<(String, f64)>,
}

/// Below this amplification a place hardly retries, and is not named.
const HARDLY: f64 = 1.05;

impl<'a> Amplified<'a> {
    /// Over the runs, by their mean in this phase; `None` where there is one service, or nobody
    /// calls.
    pub(super) fn most(
        scenario: &'a Scenario,
        outcomes: &[Outcome],
        phase: PhaseOf,
    ) -> Option<Self> {
        let typical = |service: usize, of: &dyn Fn(&Flow) -> Option<f64>| {
            let flows = outcomes.iter().filter_map(|it| it.services.get(service));
            mean(flows.filter_map(|it| of(phase(it))))
        };
        let services = scenario.services.iter().enumerate();
        let by = services.filter_map(|(at, of)| {
            let by = typical(at, &Flow::amplification)?;
            Some((at, of, by))
        });
        // Of equals the last.
        let (service, of, by) = by.max_by(|a, b| a.2.total_cmp(&b.2))?;
        let mut whose = Vec::new();
        let (mut todo, mut done) = (vec![service], vec![service]);
        while let Some(at) = todo.pop() {
            for (place, caller) in callers(scenario, at).into_iter().enumerate() {
                let attempts = typical(at, &|flow| flow.attempts(place)).unwrap_or(1.0);
                if attempts > HARDLY {
                    whose.push((caller.name().to_owned(), attempts));
                }
                if let Some(above) = caller.caller() {
                    if !done.contains(&above) {
                        todo.push(above);
                        done.push(above);
                    }
                }
            }
        }
        whose.reverse();
        Some(Self {
            service,
            name: &of.name,
            by,
            whose,
        })
    }

    /// Such as `9.01 requests at database for each that first tries bring`.
    pub(super) fn how_much(&self) -> String {
        format!(
            "{} requests at {} for each that first tries bring",
            hundredths(self.by),
            self.name
        )
    }

    /// How much, and whose retries they are, in a sentence; `None` where hardly anybody repeats.
    pub(super) fn whose(&self) -> Option<String> {
        let mut each = self.whose.iter();
        let (place, attempts) = each.next()?;
        let attempts = hundredths(*attempts);
        let mut all = vec![format!("{attempts} attempts for each first try of {place}")];
        all.extend(
            each.map(|(place, attempts)| format!("{} for each of {place}", hundredths(*attempts))),
        );
        Some(format!(
            "Retries multiply the requests at {} by {}: {}.",
            self.name,
            hundredths(self.by),
            list(&all)
        ))
    }
}
