//! What Traefik makes of its middlewares, read in its source: attempts, waits, and what is repeated.

use std::fmt::Write as _;

use becalm::retry_on::Methods;
use becalm_check::{As, Checked, File, Mapping, Settings, Severity, check};

fn of(name: &str, text: &str) -> Checked {
    check(&[File::new(name, text)], &Settings::default())
}

fn one(name: &str, text: &str) -> Mapping {
    let checked = of(name, text);
    let [one] = &checked.mappings[..] else {
        panic!("{name}: {checked:#?}");
    };
    one.clone()
}

/// As `inputs/h12-traefik.yaml` has it, and in each other form.
#[test]
fn a_middleware_is_the_same_in_each_form() {
    let forms = [
        (
            "dynamic.yaml",
            "http:\n  middlewares:\n    again:\n      retry: {attempts: 40, initialInterval: 100ms}\n",
        ),
        (
            "dynamic.toml",
            "[http.middlewares.again.retry]\nattempts = 40\ninitialInterval = \"100ms\"\n",
        ),
        (
            "middleware.yaml",
            "apiVersion: traefik.io/v1alpha1\nkind: Middleware\nmetadata: {name: again}\nspec:\n  retry: {attempts: 40, initialInterval: 100ms}\n",
        ),
        (
            "compose.yaml",
            "services:\n  web:\n    labels:\n    - traefik.http.middlewares.again.retry.attempts=40\n    - traefik.http.middlewares.again.retry.initialInterval=100ms\n",
        ),
        (
            "swarm.yaml",
            "services:\n  web:\n    deploy:\n      labels:\n        traefik.http.middlewares.again.retry.attempts: 40\n        traefik.http.middlewares.again.retry.initialinterval: 100ms\n",
        ),
        (
            "nomad.json",
            r#"{"job": {"service": {"tags": ["traefik.http.middlewares.again.retry.attempts=40", "traefik.http.middlewares.again.retry.initialinterval=100ms"]}}}"#,
        ),
    ];
    let policies: Vec<_> = forms
        .iter()
        .map(|(name, text)| {
            let mapping = one(name, text);
            assert_eq!(mapping.system, "traefik", "{name}");
            assert_eq!(mapping.name, "middleware again", "{name}");
            mapping.policy.to_string()
        })
        .collect();
    assert!(
        policies.iter().all(|it| *it == policies[0]),
        "{policies:#?}"
    );
    for (name, text) in forms {
        let checked = of(name, text);
        let told = |code: &str| checked.findings.iter().find(|it| it.code == code);
        let budget = told("no-budget").expect("none of Traefik's");
        assert_eq!(budget.severity, Severity::Warning, "{name}");
        assert_eq!(
            budget.remedy,
            "Traefik has no budget of retries; lower `attempts`"
        );
        // Nothing but what did not reach its server is repeated.
        assert!(told("repeats-non-idempotent").is_none() && told("hints-ignored").is_none());
    }
}

#[test]
fn a_post_is_repeated_for_a_status_where_it_is_asked_for() {
    let text = |more: &str| {
        format!(
            "http: {{middlewares: {{a: {{retry: {{attempts: 3, initialInterval: 1s, status: [500-599]{more}}}}}}}}}"
        )
    };
    let methods = |text: &str| {
        let lists = one("a.yaml", text).policy.retry_on;
        lists.and_then(|it| it.methods.clone())
    };
    let known = methods(&text("")).expect("a list");
    assert!(
        known.contains("DELETE")
            && known.contains("PUT")
            && !known.contains("POST")
            && !known.contains("PATCH")
    );
    let all = text(", retryNonIdempotentMethod: true");
    assert_eq!(methods(&all), Some(Methods::Any));
    let checked = of("a.yaml", &all);
    let told = checked.findings.iter();
    let told = told.filter(|it| it.severity == Severity::Error);
    assert_eq!(
        told.map(|it| it.code).collect::<Vec<_>>(),
        ["repeats-non-idempotent"]
    );
}

/// The checks of health that Compose makes repeat no request.
#[test]
fn a_file_of_compose_without_retries_has_no_warning() {
    let text = "services:\n  web:\n    healthcheck: {test: [CMD, \"true\"], retries: 5}\n    labels: [traefik.enable=true]\n";
    let checked = of("compose.yaml", text);
    assert!(
        checked
            .findings
            .iter()
            .all(|it| it.severity == Severity::Note),
        "{checked:#?}"
    );
}

#[test]
fn names_that_traefik_does_not_know_are_told_with_what_follows() {
    for (name, text, what) in [
        (
            "a.toml",
            "[http.middlewares.a.retry]\natempts = 4\n",
            "refuses the file",
        ),
        (
            "a.toml",
            "[http.middlewares.a]\nretry = 4\n",
            "reads a mapping",
        ),
        (
            "a.toml",
            "[http.routers.a.retry]\nattempts = 4\n",
            "Traefik refuses the file",
        ),
        (
            "c.yaml",
            "services: {a: {labels: [traefik.http.middlewares.a.retrys.attempts=4]}}",
            "none of the labels of this container",
        ),
        (
            "c.yaml",
            "services: {a: {labels: [traefik.http.routers.a.retry.attempts=4]}}",
            "none of the labels of this container",
        ),
    ] {
        let checked = of(name, text);
        let errors = checked.findings.iter();
        let errors = errors.filter(|it| it.severity == Severity::Error);
        let errors: Vec<_> = errors.map(|it| &*it.sentence).collect();
        assert!(
            errors.iter().any(|it| it.contains(what)),
            "{text}: {checked:#?}"
        );
        assert!(checked.mappings.is_empty(), "{text}");
    }
}

/// Twenty thousand middlewares, and as many containers: a reader that looks at each of them for each other never comes to its end.
#[test]
fn many_labels_are_all_read() {
    let mut text = String::from("services:\n  web:\n    labels:\n");
    for at in 0..20_000 {
        let _ = writeln!(text, "    - traefik.http.middlewares.m{at}.retry.atempts=4");
    }
    for at in 0..20_000 {
        let _ = writeln!(
            text,
            "  w{at}: {{labels: [traefik.http.middlewares.m.retry.atempts=4]}}"
        );
    }
    let checked = of("c.yaml", &text);
    let more: usize = checked.more.iter().map(|it| it.findings + it.places).sum();
    assert!(checked.findings.len() + more >= 40_000);
}

#[test]
fn a_failover_by_statuses_sends_a_request_once_more() {
    let file = |errors: &str| {
        format!(
            "http:\n  services:\n    main: {{failover: {{service: a, fallback: b{errors}}}}}\n  routers: {{r: {{service: main}}}}\n"
        )
    };
    let resource = "apiVersion: traefik.io/v1alpha1\nkind: TraefikService\nmetadata: {name: f}\nspec: {failover: {service: {name: a}, fallback: {name: b}, errors: {status: [\"500-504\"]}}}\n";
    let is_told = |text: &str| {
        let checked = of("traefik.yaml", text);
        let mut findings = checked.findings.iter();
        findings.any(|it| it.code == "passed-on-again" && it.sentence.contains("to b,"))
    };
    assert!(is_told(&file(", errors: {status: [\"503\"]}")) && is_told(resource));
    assert!(!is_told(&file("")) && !is_told(&file(", errors: {status: []}")));
}

#[test]
fn what_helps_is_a_key_of_this_middleware_and_version() {
    let remedies = |body: &str, version: &str| {
        let text = format!("http:\n  middlewares:\n    a:\n      {body}\n");
        let mut settings = Settings::default();
        let version = As::parse(&format!("traefik@{version}")).expect("a version");
        settings.versions.push(version);
        let checked = check(&[File::new("a.yaml", &text)], &settings);
        let all = checked.findings.into_iter().map(|it| (it.code, it.remedy));
        all.collect::<std::collections::HashMap<_, _>>()
    };
    let retry = remedies("retry: {attempts: 4}", "3.7");
    assert_eq!(retry["retries-at-once"], "set `initialInterval: 100ms`");
    assert_eq!(
        retry["no-total-time"],
        "set `timeout: 10s`, as of Traefik 3.7"
    );
    let before = remedies("retry: {attempts: 4}", "3.6");
    assert_eq!(
        before["no-total-time"],
        "Traefik 3.6 has no bound on all attempts together; lower `attempts`"
    );
    let expression = "buffering: {retryExpression: 'Attempts() < 3'}";
    let buffering = remedies(expression, "3.7");
    assert!(buffering["retries-at-once"].starts_with("use the middleware `retry`"));
    assert!(!buffering["repeats-non-idempotent"].contains("retryNonIdempotentMethod"));
    assert!(!remedies(expression, "3.6")["no-total-time"].contains("timeout"));
    let post = "retry: {attempts: 2, status: ['502'], retryNonIdempotentMethod: true}";
    let post = &remedies(post, "3.7")["repeats-non-idempotent"];
    assert!(!post.contains("retryExpression"), "{post}");
}

/// Parts of files that others put together, and roles of Ansible.
#[test]
fn labels_are_read_wherever_they_stand() {
    let label = "traefik.http.middlewares.m.retry.attempts";
    for text in [
        format!("- \"{label}=42\"\n"),
        format!("labels:\n- \"{label}=42\"\n- traefik.enable=true\n"),
        format!("labels:\n  {label}: \"42\"\n"),
        format!("- name: run\n  docker_container:\n    labels:\n      {label}: \"42\"\n"),
        format!("web:\n  image: x\n  labels: [\"{label}=42\"]\n"),
        format!("x-common: [\"a=1\", \"{label}=42\"]\n"),
    ] {
        let checked = check(&[File::new("a.yml", &text)], &Settings::default());
        let all: Vec<_> = checked.mappings.iter().map(|it| it.system).collect();
        assert_eq!(all, ["traefik"], "{text}{:?}", checked.findings);
    }
    for text in [
        "- a=1\n- b.retry=2\n".to_owned(),
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{labels: {{{label}: \"42\"}}}}\n"),
    ] {
        let checked = check(&[File::new("a.yml", &text)], &Settings::default());
        assert!(checked.mappings.is_empty(), "{text}");
    }
}

/// Fragments beside `services`, networks, and what a container is built with.
#[test]
fn labels_beside_services_are_read_once() {
    let label = "traefik.http.middlewares.m.retry.attempts=42";
    let web = "services:\n  web:\n    image: x\n";
    for text in [
        format!("{web}x-labels: &l\n- \"{label}\"\n"),
        format!("x-labels: &l\n- \"{label}\"\n{web}    labels: *l\n"),
        format!("x-web: &w\n  labels:\n  - \"{label}\"\n{web}    <<: *w\n"),
        format!("x-web: &w {{deploy: {{labels: [\"{label}\"]}}}}\n{web}    <<: *w\n"),
        format!("{web}deploy: {{labels: [\"{label}\"]}}\n"),
        format!("{web}    build: {{labels: [\"{label}\"]}}\n"),
        format!("{web}    labels: [\"{label}\"]\n    deploy: {{labels: [traefik.enable=true]}}\n"),
        format!("{web}networks: {{n: {{labels: [\"{label}\"]}}}}\n"),
        format!("{web}x-l: {{{}: \"42\"}}\n", label.replace("=42", "")),
    ] {
        let checked = of("compose.yaml", &text);
        let all: Vec<_> = checked.mappings.iter().map(|it| it.system).collect();
        assert_eq!(all, ["traefik"], "{text}{:?}", checked.findings);
    }
    for place in ["labels", "annotations"] {
        let text = format!("apiVersion: v1\nkind: Pod\nmetadata: {{{place}: [\"{label}\"]}}\n");
        let checked = of("a.yaml", &text);
        let codes: Vec<_> = checked.findings.iter().map(|it| it.code).collect();
        assert_eq!(codes, ["retries-not-read"], "{text}");
        assert!(checked.mappings.is_empty(), "{text}");
    }
}
