//! Which kinds of findings are there, beside the lints of policies?
//!
//! The names are stable. A new kind is a row here and one in `docs/check.md`.

use crate::severity::Severity::{self, Error, Note, Warning};

/// A kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Code {
    /// In kebab case, the same in every version.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it means: half a sentence.
    pub about: &'static str,
}

macro_rules! codes {
    ($($constant:ident $name:literal $severity:ident $about:literal;)*) => {
        $(
            #[doc = $about]
            pub const $constant: Code = Code { name: $name, severity: $severity, about: $about };
        )*
        /// Those of a verdict on a service, which is simulated; all others are about what a file says.
        pub const OF_VERDICTS: [Code; 3] = [METASTABLE, OVERLOADED, TOO_SHORT];
        /// All of them, in the order of their names.
        pub const ALL: &[Code] = &[$($constant),*];
    };
}

codes! {
    ALLOWS_NOTHING "allows-nothing" Warning "a comment that lets a finding pass says no reason, or is about nothing";
    ATTEMPTS_ARE_RETRIES "attempts-are-retries" Note "a number called attempts counts the retries, so that one more attempt is made";
    ATTEMPTS_CUT "attempts-cut" Warning "the system makes fewer attempts than the file says";
    ATTEMPTS_GROW "attempts-grow-with-servers" Warning "one more server is one more attempt";
    BUDGET_BOUNDS_NOTHING "budget-bounds-nothing" Warning "a bound on retries that is too high to bound anything";
    CANNOT_READ "cannot-read" Error "the file is no text, YAML or JSON, too large or too deep";
    CONNECT_TIMEOUT_FILLS_DEADLINE "connect-timeout-fills-deadline" Warning "attempts to connect leave no room for all of them before the request ends";
    DEFAULT_BUDGET "default-budget" Warning "no budget is named, and the default of the system grants much";
    ENDS_BEFORE_RETRIES "ends-before-retries" Warning "something around a request ends it before all attempts are made";
    FLOOR_TIMES_CLIENTS "floor-times-clients" Warning "a floor of retries that each client or sidecar has to itself";
    IN_CODE "in-code" Note "what is configured in code is not seen";
    KEY_NOT_READ "key-not-read" Warning "a key that this version of the system does not read";
    KEY_TWICE "key-twice" Warning "a key that stands twice in a mapping: one of them is not read";
    METASTABLE "metastable" Error "simulated with `--service`: after an outage retries alone keep the service down";
    METHODS_NARROWED "methods-narrowed" Warning "the methods that are retried are not those that are meant";
    NEVER_RETRIES "never-retries" Warning "retries are configured, and nothing is repeated";
    NO_SUCH_FIELD "no-such-field" Error "a field in the wrong place, or misspelled: the system refuses the file";
    NO_TOTAL_TIME "no-total-time" Warning "nothing bounds how long all attempts of a call take together";
    NOT_A_POLICY "not-a-policy" Error "values that no policy can have";
    NOT_KNOWN "not-known" Note "a form that is legal, and what the system makes of it is not known here";
    NOT_SEEN "not-seen" Note "what it depends on is in another file";
    NOT_UNDERSTOOD "not-understood" Warning "a value that is not of the form that the system reads";
    OCTAL "octal" Warning "a number that begins with 0, which YAML reads in base 8";
    OUTLIVES_CALLER "outlives-caller" Warning "a layer goes on repeating after the layer around it has given up";
    OVERLOADED "overloaded" Error "simulated with `--service`: the load is more than the service can serve, without any retry";
    OVERRIDDEN "overridden" Note "the environment or code overrides what the file says";
    PASSED_ON_AGAIN "passed-on-again" Warning "what failed after all attempts is passed on to other servers, with attempts of their own";
    REFUSED "refused" Error "the system refuses the file, or the part of it that retries";
    REPEATS_BY_DEFAULT "repeats-by-default" Note "the system repeats though the file says nothing of it";
    RETRIES_NOT_READ "retries-not-read" Warning "keys that look like retries, and no system that is read has them there";
    STATUSES_WIDER "statuses-wider" Warning "more statuses are retried than the file names";
    TEMPLATE "template" Error "the file is a template: what comes of it is unknown";
    TIMEOUT_IGNORED "timeout-ignored" Warning "a time-out that the system does not heed";
    TOO_SHORT "too-short" Warning "simulated with `--service`: the runs end before it is seen whether the service comes back";
    UNKNOWN_SYSTEM "unknown-system" Note "the document is of no system that is read";
    UNKNOWN_VALUE "unknown-value" Note "a placeholder whose value is not in the file";
    WAIT_IGNORED "wait-ignored" Warning "a wait that the system does not make, or does not make as written";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_in_order_and_none_is_a_lints() {
        let names: Vec<_> = ALL.iter().map(|it| it.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        let lints = becalm::lint::Lint::CODES;
        assert!(names.iter().all(|it| !lints.contains(it)));
    }
}
