//! What Dapr makes of a `Resiliency`, read in its source: attempts, waits, and which targets have them.

use becalm::{Jitter, Policy};
use becalm_check::{Checked, File, Settings, Severity, check};

fn of(retries: &str, targets: &str) -> Checked {
    let text = format!(
        "apiVersion: dapr.io/v1alpha1\nkind: Resiliency\nmetadata: {{name: a}}\nspec:\n  policies:\n    timeouts: {{short: 2s}}\n    \
         retries: {retries}\n  targets: {targets}\n"
    );
    check(&[File::new("a.yaml", &text)], &Settings::default())
}

fn has(checked: &Checked, code: &str, severity: Severity) -> bool {
    let mut findings = checked.findings.iter();
    findings.any(|it| it.code == code && it.severity == severity)
}

const APP: &str = "{apps: {orders: {retry: a, timeout: short}}}";

#[test]
fn retries_have_no_end_where_none_is_written() {
    for (retries, deadline) in [
        ("{a: {}}", None),
        ("{a: {maxRetries: -1}}", None),
        ("{a: {policy: exponential}}", Some(900)),
    ] {
        let checked = of(retries, APP);
        let policy = &checked.mappings[0].policy;
        assert_eq!(policy.attempts, Policy::UNLIMITED, "{retries}");
        assert_eq!(
            policy.deadline.map(|it| it.as_secs()),
            deadline,
            "{retries}"
        );
        assert_eq!(policy.attempt_timeout.map(|it| it.as_secs()), Some(2));
        let code = deadline.map_or("no-bound", |_| "unlimited-without-budget");
        assert!(has(&checked, code, Severity::Error), "{checked:#?}");
    }
}

#[test]
fn the_first_wait_of_exponential_is_half_a_second() {
    let checked = of(
        "{a: {policy: exponential, duration: 9s, maxInterval: 3s, maxRetries: 2}}",
        APP,
    );
    let policy = &checked.mappings[0].policy;
    assert_eq!((policy.base.as_millis(), policy.attempts), (500, 3));
    assert_eq!(policy.jitter, Jitter::Proportional(0.5));
    assert!(has(&checked, "wait-ignored", Severity::Warning));
    let constant = of("{a: {duration: 100, maxRetries: 2}}", APP);
    assert!(has(&constant, "refused", Severity::Error), "{constant:#?}");
}

#[test]
fn what_no_target_names_never_acts() {
    let checked = of("{a: {maxRetries: 2}, b: {maxRetries: 2}}", APP);
    assert!(has(&checked, "never-retries", Severity::Warning));
    assert_eq!(checked.mappings.len(), 1);
    let misspelt = of(
        "{important: {maxRetries: 2}}",
        "{apps: {orders: {retry: importnt}}}",
    );
    assert!(misspelt.mappings.is_empty());
    let told = misspelt
        .findings
        .iter()
        .filter(|it| it.code == "never-retries");
    assert_eq!(told.count(), 2, "of the name, and of the retries");
    let own = of(
        "{DaprBuiltInServiceRetries: {maxRetries: 1}}",
        "{apps: {orders: {timeout: short}}}",
    );
    assert_eq!(own.mappings[0].policy.attempts, 4);
}

/// A sidecar reads all resources together.
#[test]
fn a_target_may_name_the_retries_of_another_file() {
    let head = "apiVersion: dapr.io/v1alpha1\nkind: Resiliency\n";
    let one = format!(
        "{head}spec: {{policies: {{retries: {{few: {{maxRetries: 2}}}}}}, targets: {{}}}}\n"
    );
    let two =
        format!("{head}spec: {{policies: {{}}, targets: {{apps: {{orders: {{retry: few}}}}}}}}\n");
    let files = [File::new("one.yaml", &one), File::new("two.yaml", &two)];
    let checked = check(&files, &Settings::default());
    let [mapping] = &checked.mappings[..] else {
        panic!("{checked:#?}");
    };
    assert_eq!((&*mapping.file, mapping.policy.attempts), ("two.yaml", 3));
    let told = checked.findings.iter();
    let told = told.filter(|it| ["never-retries", "not-seen"].contains(&it.code));
    assert_eq!(told.count(), 0, "{checked:#?}");
}

/// `s` is there and needs no mending; of several that are missing the first is named.
#[test]
fn who_is_not_named_is_compared_with_what_is_missing() {
    let used = of(
        "{q: {maxRetries: 2}, s: {maxRetries: 2}}",
        "{apps: {orders: {retry: s}}}",
    );
    let unused = |checked: &Checked| {
        let mut found = checked.findings.iter();
        found
            .find(|it| it.code == "never-retries")
            .map(|it| it.remedy.clone())
    };
    assert_eq!(
        unused(&used).as_deref(),
        Some("name it in `retry` of a target, or leave it out")
    );
    let missing = of(
        "{again: {maxRetries: 2}}",
        "{apps: {orders: {retry: agian}}}",
    );
    let remedies: Vec<_> = missing.findings.iter().map(|it| &*it.remedy).collect();
    assert!(
        remedies.contains(&"a target names `agian`: write both alike"),
        "{remedies:?}"
    );
}

/// Dapr's own retries are switched off by a policy of none.
#[test]
fn retries_that_are_switched_off_are_no_mistake() {
    let off = of(
        "{none: {policy: constant, maxRetries: 0}}",
        "{apps: {orders: {retry: none}}}",
    );
    assert_eq!((off.findings, off.mappings), (vec![], vec![]));
}

#[test]
fn a_component_delivers_and_writes() {
    let targets = |retry: &str| {
        format!(
            "{{components: {{a: {{inbound: {{retry: {retry}}}}}, b: {{outbound: {{retry: {retry}}}}}}}}}"
        )
    };
    let told = |checked: Checked| -> Vec<_> {
        let all = checked.findings.into_iter();
        let all = all.filter(|it| it.code == "repeats-non-idempotent");
        all.map(|it| it.sentence + "; " + &it.remedy).collect()
    };
    for sentences in [
        told(of("{r: {maxRetries: 2}}", &targets("r"))),
        told(of(
            "{DefaultComponentInboundRetryPolicy: {maxRetries: 2}, DefaultComponentOutboundRetryPolicy: {maxRetries: 2}}",
            "{}",
        )),
        told(of(
            "{DefaultPubsubComponentInboundRetryPolicy: {maxRetries: 2}, DefaultStatestoreComponentOutboundRetryPolicy: {maxRetries: 2}}",
            "{}",
        )),
    ] {
        let all = sentences.join("\n");
        assert!(all.contains("is delivered again"), "{all}");
        assert!(all.contains("it may be a write; "), "{all}");
        assert!(!all.contains("POST"), "{all}");
    }
    let app = told(of("{a: {maxRetries: 2}}", APP)).concat();
    assert!(app.contains("a POST whose answer is lost"), "{app}");
}
