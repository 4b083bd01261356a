//! What is seen of a run that goes on?

use std::time::Duration;

use crate::record::{PopulationTally, Recording, ServiceTally};

use super::looks::{Looks, Sight};
use super::progress::World;
use super::state::{Phase, Stage};
use super::trace::Tracer;

impl<T: Tracer> World<'_, T> {
    /// The run is looked at.
    #[cold]
    pub(super) fn is_certain(&mut self, at: u64, looks: Option<&Looks<'_>>) -> bool {
        self.close_buckets(at);
        let recording = if looks.is_some_and(|it| it.is_whole) {
            let populations = self.population_tallies.clone();
            let mut recording = self.recording(populations, self.service_tallies.clone());
            for population in &mut recording.populations {
                population.succeeded_of.truncate(population.calls.len());
            }
            recording
        } else {
            self.so_far()
        };
        let sight = Sight {
            at: Duration::from_nanos(at),
            recording: &recording,
            is_retrying: self.is_retrying(),
        };
        self.certain = looks.and_then(|it| (it.look)(&sight));
        self.certain.is_some()
    }

    /// What was counted until now.
    fn so_far(&self) -> Recording {
        let populations = self.population_tallies.iter().map(PopulationTally::so_far);
        let services = self.service_tallies.iter().map(ServiceTally::so_far);
        Recording {
            bucket: self.plan.scenario.bucket,
            populations: populations.collect(),
            services: services.collect(),
            events: self.events,
            ..Recording::default()
        }
    }

    fn is_retrying(&self) -> bool {
        let slots = (0..self.calls.len()).map(|at| &self.calls[at]);
        slots.filter(|it| it.is_taken()).any(|it| match it.stage {
            Stage::Whole(place) => {
                let call = self.wholes[place].as_ref();
                it.phase != Phase::Running || call.is_some_and(|it| it.attempt_number() > 1)
            }
            Stage::Free | Stage::First(_) => false,
        })
    }
}
