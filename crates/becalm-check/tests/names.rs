//! Which keys look like retries, and are names of something else?

use becalm_check::{Checked, File, Settings, Severity, check};

fn of(name: &str, text: &str) -> Checked {
    check(&[File::new(name, text)], &Settings::default())
}

fn is_named(name: &str, text: &str) -> bool {
    let told = of(name, text).findings;
    told.iter()
        .any(|it| (it.code, it.severity) == ("retries-not-read", Severity::Warning))
}

#[test]
fn a_name_of_something_is_no_setting_of_retries() {
    let lists = |text: &str| format!("spring:\n  cloud:\n    gateway: {{routes: []}}\n{text}");
    for (name, text) in [
        (
            "a.yaml",
            "on: push\njobs:\n  go-test-retry: {timeout-minutes: 9, steps: [{run: x}]}\n",
        ),
        ("a.yaml", "nav:\n- CLI: [{argo retry: cli/argo_retry.md}]\n"),
        (
            "a.toml",
            "[mod.\"github.com/cenkalti/backoff/v4\"]\nversion = \"v4.3.0\"\n",
        ),
        (
            "a.toml",
            "[versions]\nspring-retry = \"2.0\"\n[plugins]\ntest-retry = {id = \"org.gradle\", version = \"1.6\"}\n",
        ),
        (
            "a.yaml",
            "status: {nodes: {dag-with-retries-4w: {name: dag, progress: 1/1, finishedAt: \"2021-01-02T03:04:05Z\"}}}\n",
        ),
        (
            "a.yaml",
            &lists("logging: {level: {org.springframework.retry: TRACE}}\n"),
        ),
        (
            "a.yaml",
            &lists("logging.level.org.springframework.retry: TRACE\n"),
        ),
        (
            "a.yaml",
            &lists("logging: {level: {org.springframework.retry: \"OFF\"}}\n"),
        ),
        (
            "a.yaml",
            "spec: {tune_quic_options: {retry_threshold: 5}, apis: {quic-force-retry: true}}\n",
        ),
        (
            "a.yaml",
            "metadata: {annotations: {a/loadbalancer-service-healthcheck-retries: \"1\"}}\n",
        ),
        (
            "a.yaml",
            "- preconnectPolicy: {ratio: 1.5}\n  healthChecks: [{httpHealthCheck: {retriableStatuses: [{start: 500}]}}]\n",
        ),
        ("a.conf", "location = /x {\n  try_files $uri $1.$2;\n}\n"),
        ("a.conf", "if ($a) {\n  try_files $uri $1.$2;\n}\n"),
    ] {
        let checked = of(name, text);
        assert!(!is_named(name, text), "{text}\n{checked:#?}");
    }
    for text in [
        "jobs: {test: {retry: 2}}\n",
        "jobs: {retry: {count: 3, delay: 100}}\n",
        "jobs: {retry: {run: {max_attempts: 3}}}\n",
        "steps: [{run: x, retry: {automatic: [{limit: 2}]}}]\n",
        "plugins: {retry: {count: 3}}\n",
        "logging: {sink: {retry: exponential, level: DEBUG}}\n",
        "logging: {level: {max-retries: 3}}\n",
        "http: {retry: always}\n",
        "http: {max retries: 3}\n",
        "quic: {maxRetries: 3}\n",
        "orders: {retry_threshold: 5}\n",
        // What is made of nothing but words of retries is no name, wherever it stands.
        "plugins: {retry: {config: {max: 5}}}\n",
        "plugins: {retry: {max: unlimited}}\n",
        "plugins: {http-retry: {config: {max: 5}}}\n",
        "modules: {retry: {delay: PT5S, on: gateway-error}}\n",
        "steps: {retry: {max: 3, on: [error]}}\n",
        "jobs: {retry: {max: 3, when: [x]}}\n",
        "levels: {gold: {retryOn: 'connect-failure,reset', retryBackoff: PT1S}}\n",
        "service: {level: {retryPolicy: exponential}}\n",
        "client: {Retry Policy: exponential}\n",
        "flow: {Backoff Mechanism: PENALIZE_FLOWFILE}\n",
        "pages: {api: {retry: exponential, retryDelay: PT5S}}\n",
        "dependencies: {maxRetries: 5, timeout: 3s}\n",
        "client: {retryHealthcheck: 3}\n",
        "quic: {quicMaxRetry: 5}\n",
        "client: {preconnectretries: 3}\n",
    ] {
        assert!(is_named("a.yaml", text), "{text}");
    }
    for (name, text) in [
        (
            "jvm.options",
            "-Xmx1g\n-Dresilience4j.retry.instances.a.max-attempts=5\n",
        ),
        (
            "a.service",
            "[Service]\nExecStart=/usr/bin/app --max-retries=5 --retry-backoff 1s\n",
        ),
    ] {
        assert!(is_named(name, text), "{text}");
    }
    let found = of("a.conf", "a = 1\n  max_retries = 5\n");
    assert_eq!(
        (found.findings[0].span.column, found.findings[0].span.length),
        (3, 11)
    );
}
