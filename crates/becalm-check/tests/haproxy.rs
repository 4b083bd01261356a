//! What does HAProxy refuse, and what does it not say of servers that are added while it runs?
//!
//! Each line was given to `haproxy -c` of 2.6.12.

mod asked;

use asked::of;
use becalm_check::Checked;

const TIMES: &str = "  mode http\n  timeout connect 1s\n  timeout client 1s\n  timeout server 1s\n";

/// A backend with a server, and a line of its own.
fn backend(line: &str) -> Checked {
    of(&[(
        "h.cfg",
        &format!(
            "defaults\n{TIMES}backend b\n  retry-on all-retryable-errors\n  server s 10.0.0.1:80\n  {line}\n"
        ),
    )])
}

fn has(checked: &Checked, code: &str) -> bool {
    checked.findings.iter().any(|it| it.code == code)
}

/// The lines of what is refused.
fn refused(checked: &Checked) -> Vec<usize> {
    let refused = checked.findings.iter().filter(|it| it.code == "refused");
    refused.map(|it| it.span.line).collect()
}

#[test]
fn rules_stand_in_defaults_that_have_a_name() {
    let rule = "http-request disable-l7-retry unless METH_GET";
    let defaults = |name: &str, line: &str| {
        of(&[(
            "h.cfg",
            &format!(
                "defaults {name}\n{TIMES}  {line}\nbackend b\n  retry-on all-retryable-errors\n  server s 10.0.0.1:80\n"
            ),
        )])
    };
    let anonymous = defaults("", rule);
    assert_eq!(refused(&anonymous), [6], "{anonymous:?}");
    assert!(has(&anonymous, "repeats-non-idempotent"), "{anonymous:?}");
    let named = defaults("web", rule);
    assert_eq!(refused(&named), [0; 0], "{named:?}");
    assert!(!has(&named, "repeats-non-idempotent"), "{named:?}");
    assert_eq!(refused(&defaults("", "acl a method GET")), [6]);
    assert_eq!(refused(&defaults("web", "server s 10.0.0.1:80")), [6]);
    // No list of the defaults is one of the backend.
    let list = "acl reads method GET\nbackend c\n  http-request disable-l7-retry unless reads";
    assert_eq!(refused(&defaults("web", list)), [8]);
}

#[test]
fn servers_may_be_added_while_haproxy_runs() {
    let text =
        format!("defaults\n{TIMES}backend b\n  retries 3\n  retry-on all-retryable-errors\n");
    let checked = of(&[("h.cfg", &text)]);
    assert!(!has(&checked, "never-retries"), "{checked:?}");
    for code in ["not-seen", "repeats-non-idempotent"] {
        assert!(has(&checked, code), "{code}: {checked:?}");
    }
}

#[test]
fn lines_about_times_and_retries_that_haproxy_refuses_are_told() {
    for line in [
        "timeout conect 1s",
        "timeout serer 1s",
        "timeout Connect 1s",
        "timeout srv 1s",
        "timeout server 5s foo",
        "timeout server 2147483648",
        "timeout server 25d",
        "timeout server 999999999999",
        "no timeout connect",
        "no retries 2",
        "default retries 3",
        "no retry-on all-retryable-errors",
        "no http-request disable-l7-retry",
        "retry_on 503",
        "http-request disable_l7_retry",
        "http-request disable-l7-retry abc",
        "http-request disable-l7-retry unless METH_GET foo",
        "http-request disable-l7-retry if { path / } METH_PATCH",
        "http-request disable-l7-retry if a\n  acl a method GET",
    ] {
        assert_eq!(refused(&backend(line)), [9], "{line}: {:?}", backend(line));
    }
    for line in [
        "timeout queue 3s",
        "timeout server 2147483647 # foo",
        "timeout server 24d",
        "no option redispatch",
        "http-request disable-l7-retry",
        "http-request disable-l7-retry if !METH_GET { path / } or \"${WHEN}\"",
        "acl a method GET\n  http-request disable-l7-retry unless a WAIT_END",
    ] {
        assert_eq!(refused(&backend(line)), [0; 0], "{line}");
    }
    let global = format!("global\n  timeout connect 1s\ndefaults\n{TIMES}");
    assert_eq!(refused(&of(&[("h.cfg", &global)])), [2]);
}

#[test]
fn a_rule_that_haproxy_refuses_protects_nothing() {
    for rule in ["abc", "unless METH_GET foo"] {
        let checked = backend(&format!("http-request disable-l7-retry {rule}"));
        assert!(has(&checked, "repeats-non-idempotent"), "{checked:?}");
    }
}

#[test]
fn the_last_line_ends_with_a_line_break() {
    let text = format!("defaults\n{TIMES}backend b\n  retries 3\n  server s 10.0.0.1:80\n");
    assert_eq!(refused(&of(&[("h.cfg", &text)])), [0; 0]);
    assert_eq!(refused(&of(&[("h.cfg", text.trim_end())])), [8]);
    let map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: h}}\ndata:\n  haproxy.cfg: |\n    {}",
        text.replace('\n', "\n    ")
    );
    let map = of(&[("m.yaml", map.trim_end())]);
    assert!(
        refused(&map).is_empty() && !map.mappings.is_empty(),
        "{map:?}"
    );
}

/// HAProxy keeps the lower 64 bits of a number: 2^64 is 0, and 2^64 + 1 is 1 ms.
#[test]
fn a_time_beyond_64_bits_begins_anew() {
    let checked = backend("timeout server 18446744073709551617");
    assert_eq!(refused(&checked), [0; 0], "{checked:?}");
    let each = checked.mappings[0].policy.attempt_timeout;
    assert_eq!(each, Some(std::time::Duration::from_millis(1)));
    let checked = backend("timeout server 18446744073709551616");
    assert_eq!(refused(&checked), [0; 0], "{checked:?}");
    assert!(warns(&checked), "{checked:?}");
    assert_eq!(refused(&backend("timeout server 4294967296")), [9]);
}

/// Whether it tells what HAProxy itself warns of.
fn warns(checked: &Checked) -> bool {
    let mut all = checked.findings.iter();
    all.any(|it| it.sentence.contains("missing timeouts for backend 'b'"))
}

#[test]
fn times_that_are_missing_or_0_are_told_as_haproxy_warns_of_them() {
    let of = |times: &str, server: &str| {
        let text =
            format!("defaults\n{times}\nbackend b\n  retry-on all-retryable-errors\n{server}");
        of(&[("h.cfg", &text)])
    };
    let server = "  server s 10.0.0.1:80\n";
    for (times, is_missing) in [
        (TIMES.to_owned(), false),
        (TIMES.replace("timeout server 1s", ""), true),
        (TIMES.replace("timeout server 1s", "timeout server 0"), true),
        (TIMES.replace("timeout connect 1s", ""), true),
        (TIMES.replace("timeout client 1s", ""), false),
        (TIMES.replace("server 1s", "server ${TIME}"), false),
    ] {
        assert_eq!(warns(&of(&times, server)), is_missing, "{times}");
    }
    // Defaults of a file that is not named may have them.
    let text = format!("backend b from web\n  retry-on all-retryable-errors\n{server}");
    assert!(!warns(&asked::of(&[("h.cfg", &text)])));
}

#[test]
fn a_backend_without_a_server_repeats_nothing() {
    let told = |line: &str| {
        let text = format!("defaults\n{TIMES}  retries 3\nbackend b\n  {line}\n");
        has(&of(&[("h.cfg", &text)]), "not-seen")
    };
    assert!(told("balance roundrobin"));
    assert!(!told("server s 10.0.0.1:80"));
    assert!(!told("stats enable"));
    assert!(!told("http-request deny"));
}
