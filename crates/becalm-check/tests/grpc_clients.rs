//! What do grpc-go and grpc-java read otherwise than C-core?

use becalm_check::{As, Checked, Evidence, File, Settings, check};

fn of(version: &str, method: &str) -> Checked {
    let text = format!("{{\"methodConfig\": [{{\"name\": [{{}}], {method}}}]}}");
    let mut settings = Settings::default();
    settings.versions = vec![As::parse(version).unwrap()];
    check(&[File::new("config.json", &text)], &settings)
}

fn codes(checked: &Checked) -> Vec<&str> {
    checked.findings.iter().map(|it| it.code).collect()
}

const WAITS: &str = "\"initialBackoff\": \"1s\", \"maxBackoff\": \"4s\", \"backoffMultiplier\": 2, \"retryableStatusCodes\": [\"UNAVAILABLE\"]";

#[test]
fn more_than_five_attempts_need_the_program() {
    let method = format!("\"timeout\": \"60s\", \"retryPolicy\": {{\"maxAttempts\": 9, {WAITS}}}");
    for (version, says) in [
        ("grpc", "attempts, and not 9"),
        ("grpc@go", "`WithMaxCallAttempts`"),
        ("grpc@java", "`maxRetryAttempts`"),
    ] {
        let checked = of(version, &method);
        let mapping = &checked.mappings[0];
        assert_eq!(mapping.policy.attempts, 5, "{version}");
        assert_eq!(
            mapping.evidence == Evidence::Run,
            version == "grpc",
            "{version}"
        );
        let cut = checked
            .findings
            .iter()
            .find(|it| it.code == "attempts-cut")
            .unwrap();
        assert!(cut.sentence.contains(says), "{version}: {cut:?}");
        // C-core ends calls before their time.
        assert_eq!(
            codes(&checked).contains(&"timeout-ignored"),
            version == "grpc",
            "{version}"
        );
        assert_eq!(mapping.policy.deadline.map(|it| it.as_secs()), Some(60));
    }
}

#[test]
fn java_hedges_and_neither_bounds_attempts() {
    let hedging = "\"hedgingPolicy\": {\"maxAttempts\": 3, \"hedgingDelay\": \"0.5s\"}";
    assert!(of("grpc@java", hedging).mappings[0].policy.hedge.is_some());
    let checked = of("grpc@go", hedging);
    assert!(
        checked.mappings.is_empty() && codes(&checked).contains(&"key-not-read"),
        "{checked:#?}"
    );

    let limited = format!(
        "\"timeout\": \"10s\", \"retryPolicy\": {{\"maxAttempts\": 4, \"perAttemptRecvTimeout\": \"3s\", {WAITS}}}"
    );
    for version in ["grpc@go", "grpc@java", "grpc"] {
        let checked = of(version, &limited);
        assert_eq!(
            checked.mappings[0].policy.attempt_timeout, None,
            "{version}"
        );
        let mut findings = checked.findings.iter();
        let is_told = findings.any(|it| it.sentence.starts_with("`perAttemptRecvTimeout`"));
        assert_eq!(is_told, version != "grpc", "{version}: {checked:#?}");
    }
    let both = format!("\"retryPolicy\": {{\"maxAttempts\": 3, {WAITS}}}, {hedging}");
    assert!(codes(&of("grpc@java", &both)).contains(&"refused"));
}

#[test]
fn go_reads_fields_in_any_letters_and_plain_numbers_alone() {
    let letters = format!("\"retrypolicy\": {{\"MaxAttempts\": 3, {WAITS}}}");
    assert_eq!(of("grpc@go", &letters).mappings[0].policy.attempts, 3);
    assert!(of("grpc@java", &letters).mappings.is_empty());
    let quoted = format!("\"retryPolicy\": {{\"maxAttempts\": \"3\", {WAITS}}}");
    assert!(of("grpc@go", &quoted).mappings.is_empty());
    assert_eq!(of("grpc@java", &quoted).mappings[0].policy.attempts, 3);
    let numbers = format!(
        "\"retryPolicy\": {{\"maxAttempts\": 3, {}}}",
        WAITS.replace("\"UNAVAILABLE\"", "14")
    );
    for version in ["grpc@go", "grpc@java"] {
        let checked = of(version, &numbers);
        let listed = checked.mappings[0]
            .policy
            .retry_on
            .as_deref()
            .unwrap()
            .to_string();
        assert!(listed.contains("UNAVAILABLE"), "{version}: {listed}");
    }
}

/// `ServiceConfigUtil`, `JsonUtil` and `ManagedChannelServiceConfig` of grpc-java; `encoding/json` and `duration.go` of
/// grpc-go.
#[test]
fn what_one_of_them_refuses_the_other_may_take() {
    let refused = |version: &str, fields: &str| {
        let known = [
            "maxAttempts",
            "initialBackoff",
            "maxBackoff",
            "backoffMultiplier",
            "retryableStatusCodes",
        ];
        let given = ["3", "\"1s\"", "\"4s\"", "2", "[\"UNAVAILABLE\"]"];
        let mut all = vec![fields.to_owned()];
        for (name, value) in known.into_iter().zip(given) {
            if !fields.contains(name) {
                all.push(format!("\"{name}\": {value}"));
            }
        }
        let text = all.join(", ");
        codes(&of(version, &format!("\"retryPolicy\": {{{text}}}"))).contains(&"refused")
    };
    for (fields, of_go, of_java) in [
        ("\"maxAttempts\": 4.0", true, false),
        ("\"maxAttempts\": \"4\"", true, false),
        ("\"maxAttempts\": \"4.0\"", true, true),
        ("\"initialBackoff\": \".5s\"", false, true),
        ("\"initialBackoff\": \".s\"", true, true),
        ("\"retryableStatusCodes\": [\"OK\"]", false, true),
        ("\"retryableStatusCodes\": [0]", false, true),
        ("\"retryableStatusCodes\": [\"unavailable\"]", true, true),
    ] {
        assert_eq!(refused("grpc@go", fields), of_go, "go: {fields}");
        assert_eq!(refused("grpc@java", fields), of_java, "java: {fields}");
    }
    let hedging = "\"hedgingPolicy\": {\"maxAttempts\": 3}";
    assert!(codes(&of("grpc@java", hedging)).contains(&"refused"));
}

#[test]
fn a_hedging_policy_is_not_told_of_fields_that_it_does_not_have() {
    let hedging = "\"timeout\": \"10s\", \"hedgingPolicy\": {\"maxAttempts\": 3, \"hedgingDelay\": \"0.5s\", \"nonFatalStatusCodes\": [\"INTERNAL\"]}";
    let checked = of("grpc@java", hedging);
    let told = checked.findings.iter().map(|it| &it.remedy);
    let told: Vec<_> = told.filter(|it| !it.is_empty()).collect();
    assert!(!told.is_empty(), "{checked:#?}");
    for other in ["initialBackoff", "maxBackoff", "retryableStatusCodes"] {
        assert!(told.iter().all(|it| !it.contains(other)), "{told:?}");
    }
}

#[test]
fn an_entry_that_is_no_object_is_refused() {
    for (version, entry) in [
        ("grpc", "\"xyz\""),
        ("grpc@js-1.14", "7"),
        ("grpc@go", "[1]"),
    ] {
        let mut settings = Settings::default();
        settings.versions = vec![As::parse(version).unwrap()];
        let retried =
            format!("{{\"name\": [{{}}], \"retryPolicy\": {{\"maxAttempts\": 3, {WAITS}}}}}");
        let text = format!("{{\"methodConfig\": [{retried}, {entry}]}}");
        let checked = check(&[File::new("config.json", &text)], &settings);
        let mut refused = checked.findings.iter().filter(|it| it.code == "refused");
        assert!(
            refused.any(|it| it.sentence.contains("entry of `methodConfig`")),
            "{version}: {checked:#?}"
        );
    }
}
