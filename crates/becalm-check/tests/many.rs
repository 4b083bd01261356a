//! Very many findings of a kind: the first are kept, the others are counted, and nothing else changes by it.

use becalm_check::{Checked, File, Settings, Severity, check};

const ENTRIES: usize = 10_500;

fn of(files: &[File<'_>], every: bool) -> Checked {
    let mut settings = Settings::default();
    settings.every = every;
    check(files, &settings)
}

/// A config with a finding in each entry but the first.
fn config() -> String {
    let entries = vec!["{\"name\": [{}]}"; ENTRIES + 1];
    format!("{{\"methodConfig\": [\n{}\n]}}\n", entries.join(",\n"))
}

fn counts(checked: &Checked) -> [usize; 3] {
    [Severity::Error, Severity::Warning, Severity::Note].map(|it| checked.count(it))
}

#[test]
fn what_is_not_kept_is_counted() {
    let text = config();
    // The name of a file stands twice where it is given twice: its findings are the same.
    for files in [
        &[File::new("a.json", &text)][..],
        &[File::new("a.json", &text), File::new("b.json", &text)],
    ] {
        let (bounded, all) = (of(files, false), of(files, true));
        assert_eq!(counts(&bounded), counts(&all));
        assert_eq!(all.findings.len(), files.len() * ENTRIES);
        assert!(all.more.is_empty() && bounded.findings.len() == 10_000);
        let more: Vec<_> = bounded
            .more
            .iter()
            .map(|it| (it.code, it.findings + it.places))
            .collect();
        assert_eq!(more, [("refused", all.findings.len() - 10_000)]);
        assert_eq!(bounded.findings[..], all.findings[..10_000]);
    }
}

/// A cluster that thousands of routes lead to is told of once, however often it is read.
#[test]
fn what_is_found_again_counts_once() {
    let route = "{match: {prefix: /}, route: {cluster: a, retry_policy: {retry_on: 5xx}}}";
    let text = format!(
        "static_resources:\n  clusters: [{{name: a, connect_timeout: 1s, circuit_breakers: {{thresholds: [{{max_retries: 9999}}]}}}}]\n  \
         listeners: [{{virtual_hosts: [{{name: a, domains: ['*'], routes: [{}]}}]}}]\n",
        vec![route; ENTRIES].join(", ")
    );
    let files = [File::new("envoy.yaml", &text)];
    let (bounded, all) = (of(&files, false), of(&files, true));
    assert_eq!(counts(&bounded), counts(&all));
    let bounds_nothing = all
        .findings
        .iter()
        .filter(|it| it.code == "budget-bounds-nothing");
    assert_eq!(bounds_nothing.count(), 1);
}

#[test]
fn a_comment_lets_pass_what_stands_beyond_the_bound() {
    let entries = "- {name: [{}]}\n".repeat(ENTRIES);
    let last = "- {name: [{}]} # becalm: allow refused (as it is)\n";
    let text = format!("methodConfig:\n{entries}{last}");
    let checked = of(&[File::new("a.yaml", &text)], false);
    assert_eq!((checked.allowed.len(), checked.more.len()), (1, 0));
    assert_eq!(
        checked
            .findings
            .iter()
            .filter(|it| it.code == "refused")
            .count(),
        ENTRIES - 1
    );
}

#[test]
fn files_within_a_config_map_are_counted_too() {
    let inner = config().replace('\n', "\n    ");
    let text = format!("apiVersion: v1\nkind: ConfigMap\ndata:\n  a.json: |\n    {inner}\n");
    let files = [File::new("map.yaml", &text)];
    let (bounded, all) = (of(&files, false), of(&files, true));
    assert_eq!(counts(&bounded), counts(&all));
    assert_eq!(bounded.more[0].file, "map.yaml");
}

/// A service with a policy in each route.
fn service() -> String {
    let route = "{route: [{destination: {host: a}}], retries: {attempts: 3, perTryTimeout: 9s}}";
    format!(
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec: {{hosts: [a], http: [{}]}}\n",
        vec![route; ENTRIES].join(",\n")
    )
}

#[test]
fn mappings_that_are_not_kept_are_counted() {
    let text = service();
    let files = [File::new("a.yaml", &text)];
    let bounded = of(&files, false);
    assert_eq!(
        (bounded.mappings.len(), bounded.more_mappings),
        (10_000, ENTRIES - 10_000)
    );
    let mut settings = Settings::default();
    settings.every = true;
    settings.every_mapping = true;
    let all = check(&files, &settings);
    assert_eq!((all.mappings.len(), all.more_mappings), (ENTRIES, 0));
    assert_eq!(all.mappings[..10_000], bounded.mappings[..]);
    assert_eq!(counts(&bounded), counts(&all));
    let mut kinds: Vec<_> = all.findings.iter().map(|it| it.code).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for code in kinds {
        let of = |it: &&becalm_check::Finding| it.code == code;
        let kept: Vec<_> = bounded.findings.iter().filter(of).collect();
        let first: Vec<_> = all.findings.iter().filter(of).take(kept.len()).collect();
        assert_eq!(kept, first, "{code}");
    }
}
