//! Files of other systems: whatever they say, each finding has a place in the file and is safe to print, and each
//! policy is written and read again as the same.
#![no_main]

use becalm::Policy;
use becalm_check::shown::{bounded, folded, github, policy_file, printable, sarif, snippet};
use becalm_check::{File, Settings, check};
use becalm_fuzz::keeps_its_bounds;
use libfuzzer_sys::fuzz_target;

/// Some systems are recognised by the names of their files.
const NAMES: [&str; 6] = [
    "orders.yaml",
    "orders.json",
    "nginx.conf",
    "haproxy.cfg",
    ".aws/config",
    "application.properties",
];

fuzz_target!(|text: &str| {
    for name in NAMES {
        let checked = check(&[File::new(name, text)], &Settings::default());
        let lines = text.replace('\r', "\n").lines().count();
        for finding in &checked.findings {
            assert!(finding.span.line >= 1 && finding.span.column >= 1);
            assert!(finding.span.line <= lines + 1, "{finding:?}");
            assert!(!finding.sentence.is_empty());
            if let Some(shown) = snippet(text, finding.span) {
                assert!(!shown.line.contains(char::is_control));
            }
            assert!(!printable(&finding.sentence).contains(char::is_control));
        }
        let (findings, more) = (folded(&checked.findings), checked.more.iter());
        let all = findings
            .iter()
            .map(|it| it.finding.code)
            .chain(more.map(|it| it.code));
        // A file of no system is none of a review's.
        let of_systems = all.filter(|it| *it != "unknown-system").count();
        let marks = github(&bounded(&checked.findings, &checked.more, usize::MAX));
        assert_eq!(marks.lines().count(), of_systems);
        assert!(
            serde_json::from_str::<serde_json::Value>(&sarif(&bounded(
                &checked.findings,
                &checked.more,
                usize::MAX
            )))
            .is_ok()
        );
        for mapping in &checked.mappings {
            keeps_its_bounds(&mapping.policy, 1);
            let written = policy_file(mapping).expect("it is valid");
            let read: Policy =
                toml::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
            assert_eq!(read, mapping.policy, "{written}");
        }
    }
});
