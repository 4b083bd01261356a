//! What happens to a service over a grid of policies?
//!
//! A sweep is written as axes: `base=50ms..1s,ratio=0.05..0.5,attempts=2..5,jitter=full|equal`. An
//! axis is a setting of a policy ([`Setting`](crate::change::Setting)), that of the policy at one place
//! (`orders->db.attempts=1..4`, [`Place`](crate::change::Place)), or a parameter of the scenario. Its
//! values are separated by `|`:
//!
//! - `full`, `250ms`, `none`: that value.
//! - `50ms..1s`: from one to the other, both among them. In five steps of equal factors, because it is
//!   factors that a setting acts by; in steps of equal size where it begins at 0. Whole numbers are
//!   all taken where they are no more than the steps.
//! - `50ms..1s:8`: the same in so many steps.
//!
//! A value may hold commas (`budget=none|ratio:0.1,burst:5`): an axis begins where a name and `=` do.

mod answer;
mod axis;
mod drawn;
mod grid;
mod invalid;
mod pictures;
mod study;
mod up_to;
mod weighed;

pub use axis::Axis;
pub use grid::{Point, Sweep};
pub use invalid::InvalidSweep;
pub use study::study;
