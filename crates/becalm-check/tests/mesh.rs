//! What do the resources of Istio make of one another?

mod asked;

use asked::of;
use becalm_check::Checked;

fn codes(checked: &Checked) -> Vec<&str> {
    checked.findings.iter().map(|it| it.code).collect()
}

fn attempts(checked: &Checked) -> Vec<u32> {
    let policies = checked.mappings.iter().map(|it| &it.policy);
    policies.map(|it| it.attempts).collect()
}

const ROOT: &str = "\
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: root, namespace: front}
spec:
  hosts: [shop.example.com]
  http:
  - match: [{method: {exact: GET}}]
    delegate: {name: orders, namespace: shop}
    timeout: 30s
    retries: {attempts: 10, perTryTimeout: 2s, retryOn: \"5xx,reset\"}
";

fn delegate(namespace: &str, fields: &str) -> String {
    format!(
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: orders, namespace: {namespace}}}\n\
         spec:\n  http:\n  - route: [{{destination: {{host: orders}}}}]\n{fields}"
    )
}

/// `mergeHTTPRoute` of pilot/pkg/model/virtualservice.go.
#[test]
fn a_delegate_takes_what_its_root_says() {
    let of_delegate = delegate("shop", "");
    let one_file = format!("{ROOT}---\n{of_delegate}");
    let both: [&[(&str, &str)]; 2] = [
        &[("both.yaml", &one_file)],
        &[("root.yaml", ROOT), ("orders.yaml", &of_delegate)],
    ];
    for files in both {
        let checked = of(files);
        assert_eq!(attempts(&checked), [11], "{checked:?}");
        let mapping = &checked.mappings[0];
        let times = [mapping.policy.deadline, mapping.policy.attempt_timeout];
        assert_eq!(
            times.map(|it| it.map(|it| it.as_secs())),
            [Some(30), Some(2)]
        );
        let listed = mapping.policy.retry_on.as_deref().unwrap().to_string();
        assert!(listed.starts_with("methods GET; statuses 5xx;"), "{listed}");
        assert_eq!(mapping.names, ["orders", "shop.example.com"]);
        assert!(!codes(&checked).contains(&"not-seen"), "{checked:?}");
    }
    let own = delegate("shop", "    timeout: 9s\n    retries: {attempts: 1}\n");
    let checked = of(&[("root.yaml", ROOT), ("orders.yaml", &own)]);
    let policy = &checked.mappings[0].policy;
    let told = (
        policy.attempts,
        policy.deadline.map(|it| it.as_secs()),
        policy.attempt_timeout,
    );
    assert_eq!(told, (2, Some(9), None));
}

/// A delegate that takes the retries of a root in another file has them where it stands itself.
#[test]
fn each_root_of_a_delegate_is_told() {
    let root = |host: &str, attempts: u32| {
        let other = ROOT.replace("shop.example.com", host);
        other.replace("attempts: 10", &format!("attempts: {attempts}"))
    };
    let of_delegate = delegate("shop", "");
    let two = format!("{}---\n{}", root("a", 10), root("b", 40));
    let (one, other) = (root("a", 10), root("b", 40));
    let ways: [&[(&str, &str)]; 2] = [
        &[("two.yaml", &two), ("orders.yaml", &of_delegate)],
        &[
            ("a.yaml", &one),
            ("b.yaml", &other),
            ("orders.yaml", &of_delegate),
        ],
    ];
    for files in ways {
        let checked = of(files);
        assert_eq!(attempts(&checked), [11, 41]);
        let told = checked.findings.iter();
        let told = told.filter(|it| it.code == "no-budget").count();
        assert_eq!(told, 2, "{checked:?}");
    }
    let mesh = "meshConfig:\n  defaultHttpRetryPolicy: {attempts: 12, retryOn: 5xx}\n";
    let bare = |host| {
        let whole = root(host, 1);
        let (above, _) = whole.split_once("    retries").unwrap();
        above.to_owned()
    };
    let both = format!("{}---\n{}", bare("a"), bare("b"));
    let checked = of(&[
        ("mesh.yaml", mesh),
        ("both.yaml", &both),
        ("orders.yaml", &of_delegate),
    ]);
    let told = checked.findings.iter();
    let told = told.filter(|it| it.file == "orders.yaml" && it.code == "no-budget");
    assert_eq!(told.count(), 1, "the same of either root: {checked:?}");
}

/// Only a `VirtualService` without hosts is a delegate.
#[test]
fn a_service_with_hosts_takes_nothing_of_a_root() {
    let own = delegate("shop", "    retries: {attempts: 3}\n");
    let own = own.replace("  http:", "  hosts: [orders]\n  http:");
    let checked = of(&[("root.yaml", ROOT), ("orders.yaml", &own)]);
    assert_eq!(attempts(&checked), [4], "{checked:?}");
    assert_eq!(checked.mappings[0].policy.deadline, None);
    assert_eq!(checked.mappings[0].names, ["orders"]);
}

#[test]
fn a_delegate_that_is_not_there_is_told() {
    let other = delegate("elsewhere", "");
    let alone: [&[(&str, &str)]; 2] = [
        &[("root.yaml", ROOT)],
        &[("root.yaml", ROOT), ("orders.yaml", &other)],
    ];
    for files in alone {
        let checked = of(files);
        let found = checked.findings.iter().find(|it| it.code == "not-seen");
        let told = found.expect("it is told");
        assert_eq!(told.span.line, 8);
        assert!(
            told.sentence.contains("`attempts: 10` and `timeout: 30s`"),
            "{told:?}"
        );
    }
}

const RULE: &str = "\
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: a, namespace: y}
spec:
  host: a.y.svc.cluster.local
  trafficPolicy:
    retryBudget: {percent: 100, minRetryConcurrency: 1000, budgetIntervall: 1s}
";

/// `buildDefaultHTTPOutboundRoute` of pilot/pkg/networking/core/route/route.go.
#[test]
fn a_host_without_a_route_is_repeated_as_well() {
    let checked = of(&[("rule.yaml", RULE)]);
    assert_eq!(attempts(&checked), [3]);
    assert_eq!(checked.mappings[0].name, "host a.y.svc.cluster.local");
    for code in ["budget-bounds-nothing", "no-such-field", "no-total-time"] {
        assert!(codes(&checked).contains(&code), "{code}: {checked:?}");
    }
    let subset = RULE.replace(
        "  trafficPolicy:\n    retryBudget",
        "  subsets:\n  - trafficPolicy: {connectionPool: {http: {maxRetries: 5}}}\n  other:\n    retryBudget",
    );
    let budget = &of(&[("rule.yaml", &subset)]).mappings[0].policy.budget;
    assert_eq!(budget.to_string(), "concurrency:0,floor:5");
    let without = RULE.replace("retryBudget", "outlierDetection");
    assert_eq!(attempts(&of(&[("rule.yaml", &without)])), [0; 0]);
}

/// `ResolveShortnameToFQDN` of pkg/config/model or pilot/pkg/model.
#[test]
fn a_short_name_is_of_its_own_namespace() {
    let service = |namespace: &str| {
        format!(
            "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: a{namespace}}}\n\
             spec: {{http: [{{route: [{{destination: {{host: a}}}}], retries: {{attempts: 3}}}}]}}\n"
        )
    };
    for (namespace, budgets) in [
        (", namespace: x", vec!["none", "concurrency:1,floor:1000"]),
        (", namespace: y", vec!["concurrency:1,floor:1000"]),
        ("", vec!["concurrency:1,floor:1000"]),
    ] {
        let checked = of(&[("service.yaml", &service(namespace)), ("rule.yaml", RULE)]);
        let mappings = checked.mappings.iter();
        let told: Vec<_> = mappings.map(|it| it.policy.budget.to_string()).collect();
        assert_eq!(told, budgets, "{namespace}");
    }
}

#[test]
fn the_mesh_says_how_often_a_route_without_retries_is_repeated() {
    let service = delegate("shop", "");
    for above in ["", "spec:\n  ", "spec:\n  values:\n    "] {
        let indent = " ".repeat(above.len() - above.rfind('\n').map_or(0, |it| it + 1));
        let mesh = format!(
            "{above}meshConfig:\n{indent}  defaultHttpRetryPolicy: {{attempts: 12, perTryTimeout: 1s, retryOn: 5xx}}\n"
        );
        let checked = of(&[("mesh.yaml", &mesh), ("orders.yaml", &service)]);
        assert_eq!(attempts(&checked), [13, 13], "{above:?}: {checked:?}");
        let mapping = &checked.mappings[1];
        assert_eq!(mapping.name, "route to orders");
        assert!(
            mapping
                .lost
                .iter()
                .all(|it| it.what != "defaultHttpRetryPolicy")
        );
        let own = delegate("shop", "    retries: {attempts: 1}\n");
        assert_eq!(
            attempts(&of(&[("mesh.yaml", &mesh), ("orders.yaml", &own)])),
            [13, 2]
        );
    }
}

#[test]
fn methods_that_a_regular_expression_names_are_read() {
    for (regex, listed, is_lost) in [
        ("GET|HEAD", "methods GET, HEAD;", false),
        ("G.*", "methods any;", true),
    ] {
        let matched = format!("    match: [{{method: {{regex: \"{regex}\"}}}}]\n");
        let checked = of(&[("orders.yaml", &delegate("shop", &matched))]);
        let mapping = &checked.mappings[0];
        let told = mapping.policy.retry_on.as_deref().unwrap().to_string();
        assert!(told.starts_with(listed), "{told}");
        assert_eq!(mapping.lost.iter().any(|it| it.what == "method"), is_lost);
    }
}

#[test]
fn an_envoy_filter_that_changes_retries_is_not_passed_over() {
    for (value, line) in [
        ("route: {retry_policy: {num_retries: 40}}", 8),
        ("hedge_policy: {hedge_on_per_try_timeout: true}", 8),
        ("circuitBreakers: {thresholds: [{retryBudget: {}}]}", 8),
    ] {
        let checked = of(&[(
            "filter.yaml",
            &format!(
                "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nspec:\n  configPatches:\n  - patch:\n      operation: MERGE\n      value:\n        {value}\n"
            ),
        )]);
        assert_eq!(codes(&checked), ["not-seen"], "{value}");
        assert_eq!(checked.findings[0].span.line, line);
    }
}

#[test]
fn the_retries_of_an_envoy_filter_are_read_where_they_say_what_is_repeated() {
    let of = |applies_to: &str, value: &str| {
        of(&[(
            "filter.yaml",
            &format!(
                "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {{name: f}}\nspec:\n  configPatches:\n  - applyTo: {applies_to}\n    patch:\n      operation: MERGE\n      value:\n        {value}\n"
            ),
        )])
    };
    let own = "retry_policy: {retry_on: 5xx, num_retries: 8}";
    for (applies_to, value) in [
        ("HTTP_ROUTE", format!("route: {{{own}}}")),
        (
            "VIRTUAL_HOST",
            format!("{{{own}, include_request_attempt_count: true}}"),
        ),
    ] {
        let checked = of(applies_to, &value);
        assert_eq!(checked.mappings[0].policy.attempts, 9, "{checked:?}");
        let codes = codes(&checked);
        assert!(codes.contains(&"repeats-non-idempotent"), "{codes:?}");
        assert!(!codes.contains(&"no-such-field"), "{codes:?}");
    }
    for (applies_to, value) in [
        ("HTTP_ROUTE", own.to_owned()),
        ("HTTP_ROUTE", "route: {retry_polcy: {retry_on: 5xx}}".into()),
        ("HTTP_ROUTE", "route: {retry_policy: {retries: 5}}".into()),
        ("CLUSTER", own.to_owned()),
    ] {
        let checked = of(applies_to, &value);
        let told = ["key-not-read", "retries-not-read"];
        assert!(
            codes(&checked).iter().any(|it| told.contains(it)),
            "{value}: {checked:?}"
        );
        assert!(checked.mappings.is_empty(), "{checked:?}");
    }
    let connections = "typed_config: {max_connect_attempts: 9}";
    assert_eq!(codes(&of("NETWORK_FILTER", connections)), ["not-seen"]);
}

/// `validateEnvoyFilter` warns of them, and `convertToEnvoyFilterWrapper` leaves them out.
#[test]
fn a_field_that_a_patch_should_not_have_is_not_refused() {
    let own = "retry_policy: {retry_on: reset, num_retries: 1";
    for (applies_to, value, told) in [
        (
            "HTTP_ROUTE",
            format!("{{route: {{{own}, retry_budget: {{}}}}}}}}"),
            1,
        ),
        ("HTTP_ROUTE", format!("{{{own}}}}}"), 1),
        ("HTTP_ROUTE", "{timeout: 3s}".into(), 1),
        ("HTTP_ROUTE", "{name: a, typed_config: {x: 1}}".into(), 0),
        (
            "CLUSTER",
            "{circuit_breakers: {thresholds: [{max_retry: 9}]}}".into(),
            1,
        ),
        ("CLUSTER", format!("{{{own}}}}}"), 1),
    ] {
        let checked = of(&[(
            "filter.yaml",
            &format!(
                "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {{name: f}}\nspec:\n  configPatches:\n  - applyTo: {applies_to}\n    patch: {{operation: MERGE, value: {value}}}\n"
            ),
        )]);
        let refused = ["no-such-field", "refused"];
        assert!(
            codes(&checked).iter().all(|it| !refused.contains(it)),
            "{value}: {checked:#?}"
        );
        let left = ["key-not-read", "retries-not-read"];
        let found = checked.findings.iter().filter(|it| left.contains(&it.code));
        assert_eq!(found.count(), told, "{value}: {checked:#?}");
    }
}

#[test]
fn retries_of_an_item_that_sends_nothing_on_are_never_made() {
    let of = |fields: &str| {
        of(&[(
            "a.yaml",
            &format!(
                "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: a}}\nspec:\n  hosts: [a]\n  http:\n  - {fields}\n    retries: {{attempts: 3, retryOn: reset}}\n"
            ),
        )])
    };
    for fields in [
        "redirect: {uri: /b}",
        "directResponse: {status: 503}",
        "name: patched",
    ] {
        let checked = of(fields);
        assert_eq!(codes(&checked), ["never-retries"], "{checked:#?}");
        assert!(checked.mappings.is_empty());
    }
    assert_eq!(codes(&of("delegate: {name: b}")), ["not-seen"]);
}

/// `validateEnvoyFilter`, and `rc_patch.go` of Istio.
#[test]
fn a_patch_that_does_not_take_its_value_repeats_nothing() {
    let of = |applies_to: &str, operation: &str| {
        let value = "{retry_policy: {retry_on: 5xx, num_retries: 8}}";
        let value = if applies_to == "HTTP_ROUTE" {
            format!("{{route: {value}}}")
        } else {
            value.to_owned()
        };
        of(&[(
            "filter.yaml",
            &format!(
                "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {{name: f}}\nspec:\n  configPatches:\n  - applyTo: {applies_to}\n    patch: {{{operation}value: {value}}}\n"
            ),
        )])
    };
    for (applies_to, operation, code) in [
        ("HTTP_ROUTE", "operation: REMOVE, ", "never-retries"),
        ("VIRTUAL_HOST", "operation: REMOVE, ", "never-retries"),
        ("HTTP_ROUTE", "operation: REPLACE, ", "never-retries"),
        ("VIRTUAL_HOST", "operation: INSERT_FIRST, ", "never-retries"),
        ("HTTP_ROUTE", "", "refused"),
        ("HTTP_ROUTE", "operation: INVALID, ", "refused"),
        ("HTTP_ROUTE", "operation: merge, ", "refused"),
    ] {
        let checked = of(applies_to, operation);
        assert!(checked.mappings.is_empty(), "{checked:#?}");
        assert_eq!(codes(&checked), [code], "{applies_to} {operation}");
    }
    for operation in ["MERGE", "ADD"] {
        let checked = of("VIRTUAL_HOST", &format!("operation: {operation}, "));
        let found = checked.findings.iter();
        let mut found = found.filter(|it| it.code == "repeats-non-idempotent");
        let remedy = &found.next().unwrap().remedy;
        assert!(remedy.contains("`retry_on`"), "Envoy's words: {remedy}");
    }
}

#[test]
fn roots_that_hand_over_the_same_are_one() {
    let root = |at: usize, attempts: usize| {
        let other = ROOT.replace("shop.example.com", &format!("h{at}.example.com"));
        let other = other.replace("name: root", &format!("name: root{at}"));
        other.replace("attempts: 10", &format!("attempts: {attempts}"))
    };
    let of_delegate = delegate("shop", "");
    let of = |attempts: &dyn Fn(usize) -> usize| {
        let roots: Vec<_> = (0..40).map(|at| root(at, attempts(at))).collect();
        of(&[
            ("roots.yaml", &roots.join("---\n")),
            ("orders.yaml", &of_delegate),
        ])
    };
    let same = of(&|_| 10);
    assert_eq!(attempts(&same), [11], "{same:?}");
    let names = &same.mappings[0].names;
    assert!(names.contains(&"h1.example.com".to_owned()), "{names:?}");
    assert!(!codes(&same).contains(&"not-seen"), "{same:?}");
    let two = of(&|at| 1 + at % 2);
    assert_eq!(attempts(&two), [2, 3], "{two:?}");
    let all = of(&|at| at + 1);
    assert_eq!(all.mappings.len(), 16, "{all:?}");
    let told = all.findings.iter().find(|it| it.code == "not-seen");
    assert!(told.unwrap().sentence.starts_with("24 more"), "{told:?}");
}

#[test]
fn what_a_merged_patch_leaves_out_is_as_istio_makes_it() {
    let of = |operation: &str, retry: &str| {
        of(&[(
            "filter.yaml",
            &format!(
                "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {{name: f}}\nspec:\n  configPatches:\n  - applyTo: HTTP_ROUTE\n    patch:\n      operation: {operation}\n      value: {{route: {{retry_policy: {{retry_on: 5xx{retry}}}}}}}\n"
            ),
        )])
    };
    for (operation, many) in [("MERGE", 3), ("ADD", 2), ("INSERT_FIRST", 2)] {
        let checked = of(operation, "");
        assert_eq!(attempts(&checked), [many], "{checked:#?}");
        let deadline = checked.mappings[0].policy.deadline;
        assert_eq!(deadline.is_none(), operation == "MERGE", "{checked:#?}");
    }
    let long = ", num_retries: 2, per_try_timeout: 20s";
    let checked = of("MERGE", long);
    let policy = &checked.mappings[0].policy;
    let each = policy.attempt_timeout.map(|it| it.as_secs());
    assert_eq!(
        (policy.attempts, each, policy.deadline),
        (3, Some(20), None)
    );
    assert!(
        !codes(&checked).contains(&"timeout-ignored"),
        "{checked:#?}"
    );
    assert!(codes(&of("ADD", long)).contains(&"timeout-ignored"));
}

/// As `attempts: 0` of a route is.
#[test]
fn a_mesh_whose_retries_are_switched_off_has_no_warning() {
    let service = delegate("shop", "");
    for policy in ["{}", "{attempts: 0}"] {
        let mesh = format!("meshConfig:\n  defaultHttpRetryPolicy: {policy}\n");
        let checked = of(&[("mesh.yaml", &mesh), ("orders.yaml", &service)]);
        assert_eq!(attempts(&checked), [1, 1], "{policy}");
        assert!(!codes(&checked).contains(&"never-retries"), "{checked:?}");
    }
    let refused = of(&[(
        "mesh.yaml",
        "meshConfig:\n  defaultHttpRetryPolicy: {retryOn: 5xx}\n",
    )]);
    let found = refused.findings.iter().find(|it| it.code == "refused");
    let told = &found.expect("refused").sentence;
    assert!(told.contains("of `defaultHttpRetryPolicy`"), "{told}");
}
