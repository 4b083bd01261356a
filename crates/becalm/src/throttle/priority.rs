//! How much is lost if this call is shed?

use crate::names::names;

names! {
    /// The criticality of a call: the four of the Google SRE book (ch. 21, *Handling Overload*).
    ///
    /// The most critical is the least. Read and written as `critical-plus`, `critical`,
    /// `sheddable-plus` and `sheddable`.
    #[derive(PartialOrd, Ord, Default)]
    Priority: "priority", shown;
    /// Its loss has a serious impact that users see.
    CriticalPlus = "critical-plus";
    /// Its loss has an impact that users see. The default.
    #[default]
    Critical = "critical";
    /// Partial unavailability is expected: batch jobs that can be repeated in minutes.
    SheddablePlus = "sheddable-plus";
    /// Frequent partial, and occasional full, unavailability is expected.
    Sheddable = "sheddable";
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
