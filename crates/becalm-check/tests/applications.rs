//! What is told of shapes that applications and meshes without proxies have?

mod asked;

use asked::of;
use becalm_check::{Checked, Evidence, Finding, Severity};

fn all<'a>(checked: &'a Checked, code: &str) -> Vec<&'a Finding> {
    checked
        .findings
        .iter()
        .filter(|it| it.code == code)
        .collect()
}

#[track_caller]
fn one<'a>(checked: &'a Checked, code: &str) -> &'a Finding {
    match all(checked, code)[..] {
        [one] => one,
        _ => panic!("not one {code}: {checked:#?}"),
    }
}

const CONFIG: &str = r#"{"methodConfig":[{"name":[{"service":"shop.Orders"}],"timeout":"5s","retryPolicy":{"maxAttempts":4,"initialBackoff":"0.1s","maxBackoff":"1s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]}}]}"#;

#[test]
fn a_record_of_dns_holds_a_service_config() {
    let quoted = CONFIG.replace('"', "\\\"");
    let (first, second) = quoted.split_at(quoted.find("retryPolicy").unwrap());
    let zones = [
        (
            "shop.zone",
            format!(
                "$TTL 300\n_grpc_config.orders IN TXT ( \"grpc_config=[{{\\\"serviceConfig\\\":{first}\"\n  \"{second}}}]\" )\n"
            ),
        ),
        (
            "dns.yaml",
            format!(
                "kind: DNSEndpoint\nspec:\n  targets:\n  - 'grpc_config=[{{\"serviceConfig\":{CONFIG}}}]'\n"
            ),
        ),
        (
            "dns.tf",
            format!(
                "resource \"dns\" \"orders\" {{\n  records = [\"grpc_config=[{{\\\"serviceConfig\\\":{quoted}}}]\"]\n}}\n"
            ),
        ),
    ];
    for (name, text) in &zones {
        let checked = of(&[(name, text)]);
        let [mapping] = &checked.mappings[..] else {
            panic!("{name}: {checked:#?}");
        };
        assert_eq!((mapping.policy.attempts, &*mapping.file), (4, *name));
        let line = text
            .lines()
            .position(|it| it.contains("grpc_config="))
            .unwrap()
            + 1;
        assert!(
            checked
                .findings
                .iter()
                .all(|it| it.file == *name && it.span.line == line),
            "{checked:#?}"
        );
        assert!(all(&checked, "retries-not-read").is_empty(), "{checked:#?}");
    }
    let broken = of(&[(
        "shop.zone",
        "_grpc_config.orders IN TXT \"grpc_config=[{\\\"serviceConfig\\\":{\\\"retryPolicy\\\"\"\n",
    )]);
    assert_eq!(all(&broken, "retries-not-read").len(), 1, "{broken:#?}");
}

#[test]
fn a_record_in_a_record_is_no_record() {
    let nested = "grpc_config=[".repeat(35) + &"]".repeat(35);
    let checked = of(&[("deep.yaml", &format!("a: '{nested}'\n"))]);
    assert!(checked.mappings.is_empty(), "{checked:#?}");
}

#[test]
fn a_zone_in_a_config_map_is_read_once() {
    let quoted = CONFIG.replace('"', "\\\"");
    let text = format!(
        "kind: ConfigMap\ndata:\n  shop.zone: |\n    _grpc_config.a IN TXT \"grpc_config=[{{\\\"serviceConfig\\\":{quoted}}}]\"\n"
    );
    let checked = of(&[("coredns.yaml", &text)]);
    assert_eq!(checked.mappings.len(), 1, "{checked:#?}");
    let key = checked.mappings[0].span;
    assert_eq!(key.line, 4, "{key:?}");
}

#[test]
fn a_record_in_a_comment_is_none() {
    let record = format!("'grpc_config=[{{\"serviceConfig\":{CONFIG}}}]'");
    for (name, sign) in [
        ("a.zone", "; _grpc_config.a TXT "),
        ("a.yaml", "  # - "),
        ("a.tf", "// txt = "),
    ] {
        let checked = of(&[(name, &format!("a:\n{sign}{record}\n"))]);
        assert!(checked.mappings.is_empty(), "{name}: {checked:#?}");
    }
    let live = of(&[("a.yaml", &format!("a:\n  - {record}\n"))]);
    assert_eq!(live.mappings.len(), 1);
}

#[test]
fn a_record_within_a_text_of_json_is_escaped_twice() {
    let escaped = |it: &str| it.replace('\\', "\\\\").replace('"', "\\\"");
    let inner = escaped(&format!("[{{\"serviceConfig\":{CONFIG}}}]"));
    let (first, second) = inner.split_at(inner.find("retryPolicy").unwrap());
    for record in [
        format!("\"grpc_config={inner}\""),
        format!("\"grpc_config={first}\" \"{second}\""),
    ] {
        let text = format!("{{\"ResourceRecords\": [\"{}\"]}}\n", escaped(&record));
        let checked = of(&[("dns.json", &text)]);
        let [mapping] = &checked.mappings[..] else {
            panic!("{checked:#?}");
        };
        assert_eq!(mapping.policy.attempts, 4);
    }
}

#[test]
fn a_client_takes_the_first_choice_that_is_for_it() {
    let text = format!(
        "[{{\"clientLanguage\": [\"go\"], \"serviceConfig\": {CONFIG}}},\n{{\"percentage\": 10, \"serviceConfig\": {CONFIG}}},\n\
         {{\"serviceConfig\": {CONFIG}}},\n{{\"serviceConfig\": {CONFIG}}}]\n"
    );
    let checked = of(&[("txt.json", &text)]);
    let read: Vec<_> = checked
        .mappings
        .iter()
        .map(|it| (it.span.line, it.version))
        .collect();
    assert_eq!(read, [(1, "go"), (2, "core-1.85"), (3, "core-1.85")]);
    let told: Vec<_> = all(&checked, "key-not-read")
        .iter()
        .map(|it| (it.span.line, it.severity))
        .collect();
    assert_eq!(told, [(4, Severity::Warning)]);
    assert_eq!(one(&checked, "not-seen").span.line, 2);
}

#[test]
fn of_two_choices_for_one_language_the_first_holds() {
    let choice = |fields: &str| format!("{{{fields}\"serviceConfig\": {CONFIG}}}");
    let of = |choices: &[&str]| {
        let choices: Vec<_> = choices.iter().map(|it| choice(it)).collect();
        let checked = of(&[("txt.json", &format!("[{}]\n", choices.join(",\n")))]);
        let read = checked.mappings.iter().map(|it| (it.span.line, it.version));
        let told = checked.findings.iter();
        let told = told.filter(|it| it.code == "key-not-read");
        let told: Vec<_> = told.map(|it| it.span.line).collect();
        (read.collect::<Vec<_>>(), told)
    };
    let go = "\"clientLanguage\": [\"go\"], ";
    let both = "\"clientLanguage\": [\"Go\", \"java\"], ";
    let core = "\"clientLanguage\": [\"c++\"], ";
    let some = "\"clientLanguage\": [\"go\"], \"percentage\": 10, ";
    let all = "\"clientLanguage\": [\"go\"], \"percentage\": 100, ";
    let none = "\"percentage\": 0, ";
    assert_eq!(of(&[go, go]), (vec![(1, "go")], vec![2]));
    assert_eq!(of(&[all, go]), (vec![(1, "go")], vec![2]));
    assert_eq!(of(&[some, go]), (vec![(1, "go"), (2, "go")], vec![]));
    assert_eq!(of(&[go, both]), (vec![(1, "go"), (2, "java")], vec![]));
    assert_eq!(of(&[both, go]), (vec![(1, "go")], vec![2]));
    assert_eq!(
        of(&[core, ""]),
        (vec![(1, "core-1.85"), (2, "js-1.14")], vec![])
    );
    assert_eq!(of(&["", core]), (vec![(1, "core-1.85")], vec![2]));
    assert_eq!(of(&[none, ""]), (vec![(2, "core-1.85")], vec![1]));
}

#[test]
fn a_choice_for_a_language_is_read_as_its_client_reads_it() {
    let config = CONFIG.replace("UNAVAILABLE", "INTERNAL");
    for (language, version, evidence) in [
        ("go", "go", Evidence::Read),
        ("Java", "java", Evidence::Read),
        ("node", "js-1.14", Evidence::Run),
        ("c++", "core-1.85", Evidence::Run),
    ] {
        let text =
            format!("[{{\"clientLanguage\":[\"{language}\"],\"serviceConfig\":{config}}}]\n");
        let checked = of(&[("txt.json", &text)]);
        let [mapping] = &checked.mappings[..] else {
            panic!("{language}: {checked:#?}");
        };
        assert_eq!((mapping.version, mapping.evidence), (version, evidence));
        one(&checked, "repeats-what-may-be-done");
    }
    let text = format!("[{{\"clientLanguage\":[\"python\"],\"serviceConfig\":{config}}}]\n");
    let checked = of(&[("txt.json", &text)]);
    let told = one(&checked, "key-not-read");
    assert!(
        checked.mappings.is_empty() && told.sentence.contains("python"),
        "{checked:#?}"
    );
}

#[test]
fn what_a_server_of_xds_sends_is_not_seen() {
    let checked = of(&[(
        "bootstrap.json",
        "{\"xds_servers\": [{\"server_uri\": \"control:18000\"}], \"node\": {\"id\": \"a\"}}",
    )]);
    let told = one(&checked, "not-seen");
    assert!(
        told.sentence.contains("control:18000") && checked.findings.len() == 1,
        "{checked:#?}"
    );
}

#[test]
fn a_profile_lends_its_credentials_alone() {
    let text = "[profile base]\nretry_mode = standard\nmax_attempts = 9\n[profile shop]\nrole_arn = arn:aws:iam::1:role/shop\nsource_profile = base\n";
    let checked = of(&[("config", text)]);
    let told = one(&checked, "key-not-read");
    assert_eq!((told.span.line, told.severity), (6, Severity::Note));
    assert!(
        told.sentence
            .contains("`retry_mode` does not hold for `shop`"),
        "{told:?}"
    );
    assert!(
        all(
            &of(&[(
                "config",
                &text.replace(
                    "source_profile = base",
                    "retry_mode = legacy\nmax_attempts = 2\nsource_profile = base"
                )
            )]),
            "key-not-read"
        )
        .is_empty()
    );
}

#[test]
fn a_config_may_come_from_what_is_imported() {
    let text = "spring.config.import: configserver:http://config:8888\nresilience4j.retry.instances.pay.base-config: shared\n";
    let checked = of(&[("application.yml", text)]);
    assert!(all(&checked, "refused").is_empty(), "{checked:#?}");
    assert!(
        one(&checked, "not-seen")
            .sentence
            .contains("configserver:http://config:8888")
    );
    let alone = text.lines().nth(1).unwrap();
    assert_eq!(all(&of(&[("application.yml", alone)]), "refused").len(), 1);
}

const TEMPLATE: &str = "{{- if .Values.mesh }}\nkind: VirtualService\nspec:\n  http:\n  - retries:\n      attempts: {{ .Values.retries.attempts }}\n      \
                        perTryTimeout: {{ .Values.retries.wait | quote }}\n{{- end }}\n";

#[test]
fn a_template_names_the_retries_that_are_filled_in() {
    let values = "mesh: true\nretries:\n  attempts: 10\n";
    let checked = of(&[
        ("shop/templates/mesh.yaml", TEMPLATE),
        ("shop/values.yaml", values),
    ]);
    let told = one(&checked, "template");
    assert_eq!((told.span.line, told.severity), (6, Severity::Error));
    assert!(
        told.sentence.contains(
            "`attempts` in line 6 is `{{ .Values.retries.attempts }}`, 10 in shop/values.yaml"
        ),
        "{told:?}"
    );
    assert!(
        told.sentence
            .ends_with("`perTryTimeout` in line 7 is `{{ .Values.retries.wait | quote }}`"),
        "{told:?}"
    );
    // What the template takes is told there, and what it does not take is told in the values.
    assert!(all(&checked, "retries-not-read").is_empty(), "{checked:#?}");
    let more = of(&[
        ("shop/templates/mesh.yaml", TEMPLATE),
        (
            "shop/values.yaml",
            &format!("{values}  perTryTimeout: 2s\n"),
        ),
    ]);
    assert!(
        one(&more, "retries-not-read")
            .sentence
            .contains("the `values.yaml` of a Helm chart")
    );
}

#[test]
fn a_plain_value_of_a_chart_stands_in() {
    let key = "nginx.ingress.kubernetes.io/proxy-next-upstream";
    let text = format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: shop\n  annotations:\n    {key}: error timeout\n    {key}-tries: \"{{{{ .Values.tries }}}}\"\n"
    );
    for (values, attempts, code, told) in [
        (
            "tries: 7\n",
            7,
            "unknown-value",
            "7, as shop/values.yaml has it",
        ),
        (
            "tries: many\n",
            3,
            "refused",
            "`many`, as shop/values.yaml has it, is not",
        ),
        (
            "tires: 7\n",
            3,
            "not-understood",
            "no file of the chart's values has",
        ),
    ] {
        let checked = of(&[
            ("shop/templates/in.yaml", &text),
            ("shop/values.yaml", values),
        ]);
        assert_eq!(checked.mappings[0].policy.attempts, attempts, "{values}");
        assert!(one(&checked, code).sentence.contains(told), "{checked:#?}");
    }
}

#[test]
fn a_value_that_another_file_of_the_chart_changes_does_not_stand_in() {
    let text = "virtual_hosts: [{name: h, domains: [a], routes: [{match: {prefix: /}, route: {cluster: a, retry_policy: {retry_on: 5xx, num_retries: \"{{ .Values.retries }}\"}}}]}]\n";
    for (other, name, is_known) in [
        ("retries: 50\n", "chart/values-prod.yaml", false),
        ("retries: 7\n", "chart/values-prod.yaml", true),
        ("host: a\n", "chart/values-prod.yaml", true),
        ("retries: 50\n", "chart/env/values-prod.yml", false),
        ("retries: 50\n", "other/values-prod.yaml", true),
        ("retries: 50\n", "chart/charts/b/values.yaml", true),
    ] {
        let checked = of(&[
            ("chart/values.yaml", "retries: 7\n"),
            (name, other),
            ("chart/templates/envoy.yaml", text),
        ]);
        let attempts = checked.mappings[0].policy.attempts;
        assert_eq!(attempts == 8, is_known, "{name}, {other}: {checked:#?}");
        let told = &one(&checked, "unknown-value").sentence;
        assert_eq!(told.contains("7, as chart/values.yaml"), is_known, "{told}");
    }
}

#[test]
fn linkerd_reads_no_annotations_of_pods() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    metadata:\n      annotations:\n        retry.linkerd.io/http: 5xx\n";
    let checked = of(&[("web.yaml", text)]);
    assert!(
        one(&checked, "key-not-read")
            .sentence
            .contains("Linkerd does not read `retry.linkerd.io/http` of a Deployment")
    );
}

#[test]
fn a_route_of_grpc_has_no_post() {
    let text = "apiVersion: gateway.networking.k8s.io/v1\nkind: GRPCRoute\nmetadata:\n  name: emoji\n  annotations:\n    retry.linkerd.io/grpc: internal,unavailable\n";
    let checked = of(&[("route.yaml", text)]);
    assert!(
        one(&checked, "repeats-what-may-be-done")
            .sentence
            .contains("INTERNAL")
    );
    let said = |it: &Finding| it.sentence.contains("POST") || it.remedy.contains("POST");
    assert!(!checked.findings.iter().any(said), "{checked:#?}");
}

#[test]
fn a_constraint_alone_is_no_fault() {
    let text = "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackendTrafficPolicy\nspec:\n  retryConstraint:\n    budget: {percent: 20, interval: 10s}\n    minRetryRate: {count: 3, interval: 1s}\n";
    assert!(of(&[("policy.yaml", text)]).findings.is_empty());
}

#[test]
fn a_key_that_a_policy_does_not_have_is_told_at_its_line() {
    let checked = of(&[(
        "policy.toml",
        "base = \"250ms\"\ndeadline = \"3s\"\nattemps = 3\n",
    )]);
    assert_eq!(one(&checked, "refused").span.line, 3);
}

#[test]
fn what_repeats_a_post_is_told_at_the_methods() {
    let text = "spring.cloud.gateway.server.webflux.routes:\n- id: a\n  uri: lb://a\n  filters:\n  - name: Retry\n    args:\n      series: SERVER_ERROR\n      methods: GET,POST\n";
    assert_eq!(
        one(&of(&[("application.yml", text)]), "repeats-non-idempotent")
            .span
            .line,
        8
    );
}

#[test]
fn what_nothing_bounds_is_told_once() {
    let text = "apiVersion: linkerd.io/v1alpha2\nkind: ServiceProfile\nmetadata: {name: a.b.svc.cluster.local}\nspec:\n  routes:\n  - name: GET /\n    condition: {method: GET}\n    isRetryable: true\n";
    let checked = of(&[("profile.yaml", text)]);
    assert_eq!(all(&checked, "no-bound").len(), 1);
    assert!(all(&checked, "no-total-time").is_empty(), "{checked:#?}");
}

#[test]
fn hedged_attempts_run_side_by_side_and_have_settings_of_their_own() {
    let hedged = |delay: &str| {
        let text = format!(
            r#"{{"Http": {{"TotalRequestTimeout": {{"Timeout": "00:00:30"}}, "Endpoint": {{"Timeout": {{"Timeout": "00:00:10"}}}},
            "Hedging": {{"MaxHedgedAttempts": 3, "Delay": "{delay}"}}}}}}"#
        );
        of(&[("appsettings.json", &text)])
    };
    let fills = "attempt-timeout-fills-deadline";
    let side_by_side = hedged("00:00:02");
    assert!(all(&side_by_side, fills).is_empty(), "{side_by_side:#?}");
    // An attempt that ends before the next is due is followed by it.
    let in_turn = hedged("00:00:10");
    assert!(one(&in_turn, fills).remedy.contains("MaxHedgedAttempts"));
    for finding in side_by_side.findings.iter().chain(&in_turn.findings) {
        for other in ["MaxRetryAttempts", "AttemptTimeout", "options.Retry"] {
            assert!(!finding.remedy.contains(other), "{finding:#?}");
        }
    }
}
