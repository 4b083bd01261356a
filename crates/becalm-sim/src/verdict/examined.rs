//! What was found of one candidate?

use crate::scenario::Scenario;
use crate::study::Chart;

use super::charts::Course;
use super::ruling::Ruling;
use super::service_course::ServiceCourse;
use super::survival::Survived;

/// One candidate with all that was found.
pub(super) struct Examined {
    pub(super) name: String,
    pub(super) policy: String,
    pub(super) scenario: Scenario,
    pub(super) ruling: Ruling,
    pub(super) outage: Option<Survived>,
    pub(super) load: Option<Survived>,
    pub(super) clients: Option<Survived>,
    pub(super) course: Course,
    pub(super) services: Vec<ServiceCourse>,
    pub(super) map: Option<Chart>,
}
