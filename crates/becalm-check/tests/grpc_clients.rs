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
fn java_hedges_and_bounds_attempts_and_go_does_neither() {
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
    let checked = of("grpc@java", &limited);
    assert_eq!(
        checked.mappings[0]
            .policy
            .attempt_timeout
            .map(|it| it.as_secs()),
        Some(3)
    );
    assert!(
        codes(&checked).contains(&"attempt-timeout-fills-deadline"),
        "{checked:#?}"
    );
    for version in ["grpc@go", "grpc"] {
        let checked = of(version, &limited);
        assert_eq!(
            checked.mappings[0].policy.attempt_timeout, None,
            "{version}"
        );
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
