//! Which number is a value, to the parser of its system?

mod asked;

use asked::of;

const ISTIO: &str = "\
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: shop}
spec:
  hosts: [orders]
  http:
  - route: [{destination: {host: orders}}]
    retries: {attempts: N, perTryTimeout: 2s, retryOn: 5xx}
";

const TRAEFIK: &str = "http: {middlewares: {again: {retry: {attempts: N}}}}\n";

const TRAEFIK_TOML: &str = "[http.middlewares.again.retry]\nattempts = N\n";

const KONG: &str =
    "_format_version: '3.0'\nservices:\n- {name: orders, host: orders, retries: N}\n";

const ENVOY: &str = "\
name: local
virtual_hosts:
- name: shop
  domains: ['*']
  routes:
  - match: {prefix: /}
    route: {cluster: orders, timeout: 9s, retry_policy: {retry_on: 5xx, num_retries: N}}
";

const RESILIENCE4J: &str =
    "resilience4j:\n  retry:\n    instances:\n      orders:\n        maxAttempts: N\n";

const PROPERTIES: &str = "resilience4j.retry.instances.orders.maxAttempts=N\n";

const GATEWAY: &str = "\
spring: {cloud: {gateway: {server: {webflux: {routes: [
  {id: orders, uri: 'lb://orders', filters: [{name: Retry, args: {retries: N}}]}]}}}}}
";

/// Those of the policy, and whether the number is told as one in base 8; nothing of what is refused or not understood.
fn attempts(name: &str, text: &str, number: &str) -> Option<(u32, bool)> {
    let checked = of(&[(name, &text.replace('N', number))]);
    let is_wrong = |it: &becalm_check::Finding| ["refused", "not-understood"].contains(&it.code);
    if checked.findings.iter().any(is_wrong) {
        return None;
    }
    let octal = checked.findings.iter().filter(|it| it.code == "octal");
    let mapping = checked.mappings.first().expect(text);
    Some((mapping.policy.attempts, octal.count() == 1))
}

/// What the parsers themselves made of it: yaml.v2 and yaml.v3 of Go, toml, `SnakeYAML` with Spring's conversions, and yaml-cpp, and Envoy itself.
#[test]
fn a_number_is_what_the_parser_makes_of_it() {
    for (name, text, first, forms) in [
        (
            "a.yaml",
            ISTIO,
            1,
            "0x3=3 0o3=3 0b11=3 030=24! 1_0=10 +3=3 3.0=3 1e1=10 089=89 3.5",
        ),
        (
            "a.yaml",
            TRAEFIK,
            0,
            "0x3=3 0o3=3 030=24! 1_0=10 +3=3 3.0=3 1e1=10 '3'=3 3.5 '0x3' '3.0'",
        ),
        (
            "a.toml",
            TRAEFIK_TOML,
            0,
            "0x9=9 0o3=3 0b11=3 1_0=10 +3=3 3.0=3 3.5",
        ),
        ("a.yaml", KONG, 1, "0x3=3 030=24! 1_0=10 3.0=3 3.5"),
        (
            "a.yaml",
            ENVOY,
            1,
            "0x3=3 030=24! +3=3 3.0=3 1e1=10 '3'=3 '030'=30 '0x3'=3 0o3 1_0 0b11 3.5",
        ),
        (
            "application.yaml",
            RESILIENCE4J,
            0,
            "0x3=3 030=24! 1_0=10 +3=3 3.0=3 1e1=10 '030'=30 '0x3'=3 ${X:030}=30 3.9=3 0o3 '3.0' '1_0'",
        ),
        (
            "application.properties",
            PROPERTIES,
            0,
            "0x3=3 030=30 +3=3 3.0 1_0 0o3",
        ),
        (
            "application.yaml",
            GATEWAY,
            1,
            "0x3=3 030=24! 1_0=10 +3=3 '030'=30 3.0 0o3 1e1",
        ),
    ] {
        for form in forms.split(' ') {
            let (given, meant) = form.split_once('=').unwrap_or((form, ""));
            let is_octal = meant.ends_with('!');
            let meant: Option<u32> = meant.trim_end_matches('!').parse().ok();
            let wanted = meant.map(|it| (it + first, is_octal));
            assert_eq!(attempts(name, text, given), wanted, "{given} in {text}");
        }
    }
}

/// `lyaml` of Kong has no such number, and decK's parser has.
#[test]
fn a_form_that_parsers_read_otherwise_is_a_note() {
    let codes = |number: &str| -> Vec<_> {
        let checked = of(&[("kong.yaml", &KONG.replace('N', number))]);
        let told = checked.findings.into_iter();
        told.filter(|it| it.code == "not-known" || it.code == "refused")
            .map(|it| (it.code, it.severity))
            .collect()
    };
    assert_eq!(codes("0o3"), [("not-known", becalm_check::Severity::Note)]);
    assert_eq!(codes("0x3"), []);
    assert_eq!(codes("'0o3'").len(), 1);
}

/// Kubernetes' parser makes a flag of `yes`, that of Traefik's files a text; both take what `strconv.ParseBool` does in a text.
#[test]
fn a_flag_is_what_the_parser_makes_of_it() {
    let file = "http: {middlewares: {again: {retry: {attempts: 3, status: ['503'], retryNonIdempotentMethod: FLAG}}}}\n";
    let nginx = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ingress-nginx-controller}\ndata: {proxy-next-upstream: error, retry-non-idempotent: FLAG}\n";
    let linkerd = "apiVersion: linkerd.io/v1alpha2\nkind: ServiceProfile\nmetadata: {name: a.b.svc.cluster.local}\nspec: {routes: [{name: a, condition: {method: GET}, isRetryable: FLAG}]}\n";
    for (text, taken, refused) in [
        (file, "true 'true' '1' 1 T", "yes on 'yes' tRue"),
        (nginx, "'true' '1' 't'", "'yes' 'perhaps'"),
        (linkerd, "true yes ON y", "'yes' 'true' 1 tRue"),
    ] {
        let is_wrong = |flag: &str| {
            let checked = of(&[("a.yaml", &text.replace("FLAG", flag))]);
            let mut found = checked.findings.iter();
            found.any(|it| ["refused", "not-understood"].contains(&it.code))
        };
        for flag in taken.split(' ') {
            assert!(!is_wrong(flag), "{flag} in {text}");
        }
        for flag in refused.split(' ') {
            assert!(is_wrong(flag), "{flag} in {text}");
        }
    }
}
