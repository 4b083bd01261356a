//! What was found of one candidate?

use crate::scenario::Scenario;

use super::charts::Course;
use super::ruling::Ruling;
use super::searched::Found;
use super::service_course::ServiceCourse;

/// One candidate with all that was found.
pub(super) struct Examined {
    pub(super) name: String,
    pub(super) policy: String,
    pub(super) scenario: Scenario,
    pub(super) ruling: Ruling,
    pub(super) found: Found,
    pub(super) course: Course,
    pub(super) services: Vec<ServiceCourse>,
}
