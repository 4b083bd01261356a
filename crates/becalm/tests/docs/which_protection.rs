//! Does `docs/which-protection.md` say one thing in three ways?
//!
//! Every section has a policy in Rust, as a policy file and as flags. The Rust is compiled with the
//! other examples, and stands here once more; the flags are read by the command's own tests.
#![cfg(feature = "serde")]

use std::time::Duration;

use becalm::breaker::Span;
use becalm::budget::WhenSpent;
use becalm::{
    Breaker, Budget, Bulkhead, Hedge, Jitter, Policy, Throttle, rate::AdaptiveRate, scope::Nested,
};

const PAGE: &str = include_str!("../../../../docs/which-protection.md");

/// A section's heading, its policy, and the policy's text.
type Section = (&'static str, Policy, &'static str);

macro_rules! sections {
    ($($heading:literal: $policy:expr;)*) => {
        [$(($heading, $policy, stringify!($policy)),)*]
    };
}

fn sections() -> [Section; 13] {
    sections! {
        "Few clients": Policy::default();
        "Many clients": Policy::default().attempts(3).budget(Budget::ratio(0.1).burst(1.0));
        "Very many clients": Policy::exponential(Duration::from_secs(1))
            .attempts(2)
            .cap(Duration::from_secs(60))
            .attempt_timeout(Duration::from_secs(10))
            .budget(Budget::ratio(0.1).burst(1.0))
            .breaker(Breaker::consecutive(3).open(Duration::from_secs(60)));
        "A minimum wait": Policy::exponential(Duration::from_millis(500)).jitter(Jitter::Equal);
        "A background job": Policy::exponential(Duration::from_secs(1))
            .attempts(Policy::UNLIMITED)
            .cap(Duration::from_secs(300))
            .deadline(Duration::from_secs(3600))
            .max_hint(Duration::from_secs(600))
            .budget(Budget::per_minute(60))
            .max_waiting(100);
        "A wait for a token": Policy::default()
            .deadline(Duration::from_secs(10))
            .when_spent(WhenSpent::Wait)
            .max_waiting(10_000);
        "Somebody waits": Policy::exponential(Duration::from_millis(25))
            .attempts(3)
            .deadline(Duration::from_secs(1))
            .attempt_timeout(Duration::from_millis(400))
            .hedge(Hedge::at_quantile(0.95));
        "The service is down": Policy::default()
            .attempt_timeout(Duration::from_secs(2))
            .breaker(Breaker::share(0.5, Span::Time(Duration::from_secs(10))));
        "Calls pile up": Policy::default()
            .attempt_timeout(Duration::from_secs(2))
            .bulkhead(Bulkhead::calls(50).waiting(10));
        "The service sheds load": Policy::default().throttle(Throttle::default());
        "A quota": Policy::default()
            .deadline(Duration::from_secs(30))
            .throttled_base(Duration::from_secs(1))
            .rate(AdaptiveRate::cubic());
        "Several layers": Policy::default().nested(Nested::Nearest);
        "Several at once": Policy::exponential(Duration::from_millis(50))
            .attempts(3)
            .deadline(Duration::from_secs(2))
            .attempt_timeout(Duration::from_millis(500))
            .budget(Budget::ratio(0.1).and(Budget::per_minute(60)))
            .hedge(Hedge::at_quantile(0.95))
            .bulkhead(Bulkhead::calls(50).waiting(10))
            .breaker(Breaker::consecutive(5).open(Duration::from_secs(30)))
            .throttle(Throttle::default());
    }
}

fn section(heading: &str) -> &'static str {
    let (_, rest) = PAGE
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("no section {heading}"));
    rest.split("\n## ").next().unwrap_or_default()
}

fn block(section: &'static str, language: &str) -> &'static str {
    let (_, rest) = section
        .split_once(&format!("```{language}\n"))
        .unwrap_or_else(|| panic!("no {language} in {section}"));
    rest.split("```").next().unwrap_or_default()
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn the_rust_and_the_file_of_a_section_are_the_same_policy() {
    for (heading, policy, text) in sections() {
        let section = section(heading);
        let told = without_spaces(block(section, "rust"));
        let expected = format!("letpolicy={};", without_spaces(text));
        assert!(
            told.contains(&expected),
            "{heading}: no {expected} in {told}"
        );
        let file: Policy = toml::from_str(block(section, "toml")).unwrap();
        assert_eq!(file, policy, "{heading}");
    }
}

#[test]
fn every_advice_is_valid_and_not_linted() {
    for (heading, policy, _) in sections() {
        assert_eq!(policy.validate(), Ok(()), "{heading}");
        let codes: Vec<_> = policy.lints().iter().map(|lint| lint.code).collect();
        assert_eq!(codes, [""; 0], "{heading}");
    }
}

#[test]
fn every_section_has_its_row_in_the_table_and_its_price() {
    let (table, _) = PAGE.split_once("\n## ").unwrap();
    for (heading, _, _) in sections() {
        if heading == "Several at once" {
            continue;
        }
        let anchor = heading.to_lowercase().replace(' ', "-");
        assert!(
            table.contains(&format!("](#{anchor})")),
            "no row for {heading}"
        );
        let section = section(heading);
        for part in ["**Why.**", "**It costs**", "**It does not protect from**"] {
            assert_eq!(section.matches(part).count(), 1, "{heading}: {part}");
        }
    }
}
