//! What does becalm promise of itself, and does this run keep it?

use std::fmt;

/// One promise and what was found.
pub struct Bar {
    what: &'static str,
    found: String,
    bar: String,
    met: bool,
}

impl Bar {
    /// Kept when what was found is no more than the bar.
    pub fn at_most(what: &'static str, found: f64, bar: f64, unit: &str) -> Self {
        Self {
            what,
            found: format!("{found:.2} {unit}"),
            bar: format!("at most {bar} {unit}"),
            met: found <= bar,
        }
    }

    /// Kept when what was found is no less than the bar.
    pub fn at_least(what: &'static str, found: f64, bar: f64, unit: &str) -> Self {
        Self {
            what,
            found: format!("{found:.2} {unit}"),
            bar: format!("at least {bar} {unit}"),
            met: found >= bar,
        }
    }

    /// Whether it is kept.
    pub fn met(&self) -> bool {
        self.met
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.met { "met" } else { "**missed**" };
        write!(f, "| {} | {} | {} | {verdict} |", self.what, self.found, self.bar)
    }
}
