//! Is a promise kept? What was found beside what was promised.

use std::fmt;

/// One promise and what was found.
pub struct Bar {
    what: &'static str,
    found: String,
    promised: String,
    met: bool,
}

impl Bar {
    /// Kept when what was found is no more than the bar.
    pub fn at_most(what: &'static str, found: f64, bar: f64, unit: &str) -> Self {
        Self {
            what,
            found: format!("{found:.2} {unit}"),
            promised: format!("at most {bar} {unit}"),
            met: found <= bar,
        }
    }

    /// Kept when what was found is no less than the bar.
    pub fn at_least(what: &'static str, found: f64, bar: f64, unit: &str) -> Self {
        Self {
            what,
            found: format!("{found:.2} {unit}"),
            promised: format!("at least {bar} {unit}"),
            met: found >= bar,
        }
    }

    /// Kept when the count is this one.
    pub fn exactly(what: &'static str, found: u64, bar: u64) -> Self {
        Self {
            what,
            found: found.to_string(),
            promised: bar.to_string(),
            met: found == bar,
        }
    }

    /// Kept when the count is no more than the bar.
    pub fn at_most_count(what: &'static str, found: u64, bar: u64) -> Self {
        Self {
            what,
            found: found.to_string(),
            promised: format!("at most {bar}"),
            met: found <= bar,
        }
    }

    /// Whether it is kept.
    pub fn met(&self) -> bool {
        self.met
    }
}

/// A row of the table of promises.
impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            found,
            promised,
            met,
        } = self;
        let verdict = if *met { "met" } else { "**missed**" };
        write!(
            f,
            "| {what} | {} | {} | {verdict} |",
            found.trim_end(),
            promised.trim_end()
        )
    }
}

/// The table of promises.
pub fn markdown(bars: &[Bar]) -> String {
    let rows: Vec<String> = bars.iter().map(ToString::to_string).collect();
    format!(
        "### What becalm promises\n\n| | found | promised | |\n|---|---:|---:|---|\n{}\n",
        rows.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_met_on_its_own_side_only() {
        assert!(Bar::at_most("", 2.0, 2.0, "ns").met());
        assert!(!Bar::at_most("", 2.01, 2.0, "ns").met());
        assert!(Bar::at_least("", 0.5, 0.5, "").met());
        assert!(!Bar::at_least("", 0.49, 0.5, "").met());
        assert!(!Bar::exactly("", 1, 0).met());
        assert!(Bar::at_most_count("", 2, 2).met());
        assert!(!Bar::at_most_count("", 3, 2).met());
        assert!(!Bar::at_most("", f64::NAN, 2.0, "ns").met());
        assert!(!Bar::at_least("", f64::NAN, 2.0, "ns").met());
    }
}
