//! What has the right form and is not taken, or looks wrong and is taken?

mod asked;

use asked::of;
use becalm_check::Severity;

/// The codes of what is told at a line, errors and warnings alone.
fn told(name: &str, text: &str, line: usize) -> Vec<&'static str> {
    let checked = of(&[(name, text)]);
    let findings = checked.findings.into_iter();
    let findings = findings.filter(|it| it.span.line == line && it.severity != Severity::Note);
    findings.map(|it| it.code).collect()
}

/// `duration(self) >= duration('1ms')` in the schema of a `VirtualService`.
#[test]
fn istio_takes_no_time_below_a_millisecond() {
    let service = |timeout: &str, each: &str, back_off: &str| {
        format!(
            "\
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {{name: shop}}
spec:
  hosts: [orders]
  http:
  - route: [{{destination: {{host: orders}}}}]
    timeout: {timeout}
    retries:
      attempts: 3
      retryOn: connect-failure
      perTryTimeout: {each}
      backoff: {back_off}
"
        )
    };
    let refused = |text: &str| -> Vec<_> {
        let lines = [8, 12, 13];
        lines
            .map(|line| told("a.yaml", text, line).contains(&"refused"))
            .to_vec()
    };
    assert_eq!(refused(&service("10s", "2s", "1ms")), [false; 3]);
    assert_eq!(refused(&service("0s", "500us", "0.5ms")), [true; 3]);
}

/// `atol` takes a sign.
#[test]
fn haproxy_takes_a_number_with_a_sign() {
    for (retries, attempts) in [("+3", 4), ("3", 4), ("-3", 1)] {
        let text = format!(
            "\
defaults
  mode http
  timeout connect 1s
  timeout client 10s
  timeout server 10s
backend b
  retries {retries}
  retry-on conn-failure
  option redispatch
  server a 127.0.0.1:1
"
        );
        let checked = of(&[("haproxy.cfg", &text)]);
        let mapped = checked.mappings.first().map_or(1, |it| it.policy.attempts);
        assert_eq!(mapped, attempts, "{retries}");
    }
}

/// Months and years are of times in seconds, as `expires` has.
#[test]
fn nginx_takes_no_months_where_it_counts_milliseconds() {
    for (time, is_refused) in [("1M", true), ("1y", true), ("1m", false), ("1w", false)] {
        let text = format!(
            "\
upstream u {{
  server 127.0.0.1:1;
  server 127.0.0.1:2;
}}
server {{
  location / {{
    proxy_next_upstream_timeout {time};
    proxy_pass http://u;
  }}
}}
"
        );
        let codes = told("nginx.conf", &text, 7);
        assert_eq!(codes.contains(&"refused"), is_refused, "{time}: {codes:?}");
    }
}

/// One value, one refusal.
#[test]
fn a_bare_value_of_an_annotation_is_told_once() {
    for value in ["5", "true"] {
        let text = format!(
            "\
apiVersion: v1
kind: Service
metadata:
  name: c
  annotations:
    retry.linkerd.io/http: 5xx
    retry.linkerd.io/limit: \"3\"
    retry.linkerd.io/timeout: {value}
spec: {{}}
"
        );
        assert_eq!(told("a.yaml", &text, 8), ["refused"], "{value}");
    }
}

/// What is filled in elsewhere may have an end.
#[test]
fn no_error_stands_on_a_value_that_is_not_known() {
    let text = |retries: &str| {
        format!(
            "\
apiVersion: dapr.io/v1alpha1
kind: Resiliency
metadata: {{name: a}}
spec:
  policies:
    retries:
      r: {{policy: constant, duration: 1s, maxRetries: {retries}}}
  targets:
    apps:
      b: {{retry: r}}
"
        )
    };
    let errors = |retries: &str| {
        let findings = of(&[("a.yaml", &text(retries))]).findings.into_iter();
        findings.filter(|it| it.severity == Severity::Error).count()
    };
    assert_eq!(errors("-1"), 1);
    assert_eq!(errors("\"${MAX}\""), 0);
    assert_eq!(told("a.yaml", &text("\"${MAX}\""), 7)[0], "no-bound");
}
