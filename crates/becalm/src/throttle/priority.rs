//! How much is lost if this call is shed?

/// The criticality of a call: the four of the Google SRE book (ch. 21, *Handling Overload*).
///
/// The most critical is the least. Read and written as `critical-plus`, `critical`,
/// `sheddable-plus` and `sheddable`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Priority {
    /// Its loss has a serious impact that users see.
    CriticalPlus,
    /// Its loss has an impact that users see. The default.
    #[default]
    Critical,
    /// Partial unavailability is expected: batch jobs that can be repeated in minutes.
    SheddablePlus,
    /// Frequent partial, and occasional full, unavailability is expected.
    Sheddable,
}

impl Priority {
    /// All, the most critical first.
    pub const ALL: &'static [Self; 4] = &[
        Self::CriticalPlus,
        Self::Critical,
        Self::SheddablePlus,
        Self::Sheddable,
    ];

    /// The name in options, events and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CriticalPlus => "critical-plus",
            Self::Critical => "critical",
            Self::SheddablePlus => "sheddable-plus",
            Self::Sheddable => "sheddable",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn each_reads_back_what_it_displays_and_the_most_critical_is_first() {
        for priority in Priority::ALL {
            assert_eq!(priority.to_string().parse(), Ok(*priority));
        }
        assert!(Priority::ALL.is_sorted());
        assert_eq!("critical".parse(), Ok(Priority::default()));
        let slip = "sheddble".parse::<Priority>().unwrap_err().to_string();
        assert_eq!(
            slip,
            "there is no priority `sheddble`; did you mean `sheddable`?"
        );
    }
}
