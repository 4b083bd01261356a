//! What Kong repeats, read in its source: five retries where nothing is said, at once, of what nginx passes on.

use becalm_check::{Checked, File, Settings, Severity, check};

fn of(text: &str) -> Checked {
    check(&[File::new("kong.yaml", text)], &Settings::default())
}

fn service(more: &str) -> Checked {
    of(&format!(
        "_format_version: '3.0'\nservices:\n- {{name: orders, host: orders.shop{more}}}\n"
    ))
}

#[test]
fn a_service_repeats_five_times_where_nothing_is_said() {
    let checked = service("");
    assert_eq!(checked.mappings[0].policy.attempts, 6);
    let told = checked
        .findings
        .iter()
        .find(|it| it.code == "repeats-by-default");
    let told = told.expect("what Kong does by itself");
    assert!(told.sentence.contains("up to 5 times") && told.remedy.contains("`retries: 0`"));
    let all = checked.findings.iter();
    assert!(
        all.clone().all(|it| it.severity == Severity::Note),
        "{checked:#?}"
    );
    assert!(service(", retries: 0").mappings.is_empty());
    let defaults = of(
        "_format_version: '3.0'\n_info: {defaults: {service: {retries: 1}}}\nservices:\n- {name: a, host: b}\n",
    );
    assert_eq!(defaults.mappings[0].policy.attempts, 2);
}

#[test]
fn a_post_that_was_sent_is_not_repeated() {
    let checked = service(", retries: 2");
    let lists = checked.mappings[0].policy.retry_on.clone().unwrap();
    let methods = lists.methods.clone().unwrap();
    assert!(
        methods.contains("PUT") && !methods.contains("POST"),
        "{methods}"
    );
    assert_eq!(checked.mappings[0].names, ["orders", "orders.shop"]);
}

/// Settings of a plugin are no retries of requests, and no fault of the file.
#[test]
fn what_a_plugin_repeats_is_told_as_not_read() {
    let checked = service(", retries: 0, plugins: [{name: http-log, config: {retry_count: 10}}]");
    let told: Vec<_> = checked
        .findings
        .iter()
        .map(|it| (it.code, it.severity))
        .collect();
    assert_eq!(told, [("retries-not-read", Severity::Warning)]);
    let misplaced = service(", routes: [{name: a, retries: 3}]");
    let told = misplaced
        .findings
        .iter()
        .find(|it| it.code == "no-such-field");
    assert_eq!(told.map(|it| it.severity), Some(Severity::Error));
}

/// As files of decK have it: a field of a later version, and one of a plugin that is about clients.
#[test]
fn a_field_of_a_later_version_is_no_error() {
    let checked = check(
        &[File::new(
            "kong.yaml",
            "_format_version: \"3.0\"\nservices:\n- name: a\n  retries: 1\n  tls_sans: {dnsnames: [a]}\nplugins:\n- name: \
             rate-limiting-advanced\n  config: {retry_after_jitter_max: 1}\n",
        )],
        &Settings::default(),
    );
    let codes: Vec<_> = checked.findings.iter().map(|it| it.code).collect();
    assert!(
        !codes.contains(&"no-such-field") && !codes.contains(&"retries-not-read"),
        "{checked:#?}"
    );
}

#[test]
fn resources_of_kong_are_read_and_one_without_retries_is_told() {
    let resource = |kind: &str, spec: &str| {
        let text = format!(
            "apiVersion: configuration.konghq.com/v1alpha1\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{{spec}}}\n"
        );
        check(&[File::new("a.yaml", &text)], &Settings::default())
    };
    let service = resource(
        "KongService",
        "host: a.shop, retries: 7, read_timeout: 3000",
    );
    assert_eq!(service.mappings[0].policy.attempts, 8);
    assert_eq!(service.mappings[0].names, ["a.shop"]);
    let upstream = resource("KongUpstreamPolicy", "algorithm: round-robin, retries: 3");
    let told: Vec<_> = upstream.findings.iter().map(|it| it.code).collect();
    assert_eq!(told, ["no-such-field"]);
}

#[test]
fn each_time_of_a_service_is_one_that_kong_takes() {
    for name in ["connect_timeout", "write_timeout", "read_timeout"] {
        for (time, told) in [
            ("abc", 1),
            ("-1", 1),
            ("1000000000000", 1),
            ("2147483646", 0),
        ] {
            let checked = service(&format!(", retries: 1, {name}: {time}"));
            let refused = checked.findings.iter().filter(|it| it.code == "refused");
            assert_eq!(refused.count(), told, "{name}: {time}: {checked:?}");
        }
    }
}

#[test]
fn a_time_in_other_letters_or_of_an_upstream_is_refused() {
    for (text, at) in [
        (", readTimeout: 5000", 3),
        ("}\nupstreams:\n- {name: u, connect_timeout: 1000", 5),
        (
            "}\nupstreams:\n- {name: u, targets: [{target: 'a:80', read_timeout: 1}]",
            5,
        ),
    ] {
        let findings = service(text).findings;
        let refused: Vec<_> = findings
            .iter()
            .filter(|it| it.code == "no-such-field")
            .collect();
        let [it] = &refused[..] else {
            panic!("{text}: {findings:#?}");
        };
        assert_eq!(it.span.line, at);
    }
}

#[test]
fn a_time_of_a_service_stands_in_one() {
    for (top, route, is_refused) in [
        ("", "", false),
        ("read_timeout: 3000", "", true),
        ("", ", connect_timeout: 3000", true),
        ("tags: [a]", ", preserve_host: true", false),
    ] {
        let checked = of(&format!(
            "_format_version: '3.0'\n{top}\nservices:\n- {{name: orders, url: 'http://orders', read_timeout: 5000, routes: [{{name: r{route}}}]}}\n"
        ));
        let found = checked.findings.iter().any(|it| it.code == "no-such-field");
        assert_eq!(found, is_refused, "{top} {route}: {checked:?}");
    }
}
