//! What came to each service in one run?

use crate::record::Recording;
use crate::scenario::Scenario;

use super::charts::Steps;

/// What came to a service in one run, in steps of equal length.
#[derive(Debug, Clone, Default)]
pub(super) struct ServiceCourse {
    /// Requests per second.
    pub(super) arrivals: Vec<(f64, f64)>,
    /// The longest of the step.
    pub(super) queue: Vec<(f64, f64)>,
}

impl ServiceCourse {
    /// Of each service; nothing of a scenario with one, whose pictures are those of all.
    pub(super) fn of_each(scenario: &Scenario, recording: &Recording) -> Vec<Self> {
        if scenario.services.len() < 2 {
            return Vec::new();
        }
        let steps = Steps::of(scenario, recording);
        let services = recording.services.iter();
        services
            .map(|it| Self {
                arrivals: steps.line(steps.per_second(&it.arrived)),
                queue: steps.line(steps.most(&it.queue)),
            })
            .collect()
    }
}
