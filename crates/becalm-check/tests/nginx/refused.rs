//! What does nginx refuse, and what does it take though it looks wrong?

use super::{attempts, has, is_lost, location, one, sentence};

/// Run with 1.22.1, which refuses them.
#[test]
fn what_nginx_refuses_is_told() {
    for (directives, refused) in [
        (
            "proxy_pass http://app:80;",
            "the upstream app of these files may not have a port",
        ),
        (
            "proxy_next_upstream_retries 5; proxy_pass http://app;",
            "no directive `proxy_next_upstream_retries`",
        ),
    ] {
        let sentence = sentence(&location(directives), "refused");
        assert!(sentence.contains(refused), "{sentence}");
    }
    let host = location("proxy_pass http://other:80;");
    assert!(!has(&host, "refused"), "{host:?}");
}

/// As `nginx -t` of 1.22.1 takes them.
#[test]
fn words_are_read_whatever_their_case() {
    for words in ["error NON_IDEMPOTENT", "Error non_Idempotent"] {
        let checked = location(&format!(
            "proxy_pass http://app; proxy_next_upstream {words};"
        ));
        assert!(!has(&checked, "refused"), "{words}: {checked:?}");
        assert!(has(&checked, "repeats-non-idempotent"), "{words}");
    }
    let off = location("proxy_pass http://app; proxy_next_upstream OFF;");
    assert!(off.mappings.is_empty() && !has(&off, "refused"), "{off:?}");
    let unbuffered =
        location("proxy_pass http://app; proxy_next_upstream error; proxy_request_buffering Off;");
    assert!(
        is_lost(&unbuffered, "proxy_request_buffering"),
        "{unbuffered:?}"
    );
    let stream = |word: &str| {
        one(&format!(
            "stream {{ upstream a {{ server 10.0.0.1:1; server 10.0.0.2:1; }}\nserver {{ proxy_pass a; proxy_next_upstream {word}; }} }}"
        ))
    };
    assert_eq!(attempts(&stream("ON")), [("stream to a", 2)]);
    assert!(stream("Off").findings.is_empty());
}

#[test]
fn more_tries_than_a_policy_can_have_are_a_number_of_tries() {
    let tries = |number: &str| {
        location(&format!(
            "proxy_pass http://app; proxy_next_upstream_tries {number};"
        ))
    };
    let checked = tries("999999999999");
    assert!(!has(&checked, "refused"), "{checked:?}");
    assert_eq!(attempts(&checked), [("location / to app", 3)]);
    assert!(sentence(&checked, "attempts-cut").ends_with("and not 999999999999"));
    assert!(has(&tries("9223372036854775808"), "refused"));
}

/// As `nginx -t` of 1.22.1 refuses them; other directives stay silent, of modules that are not read, too.
#[test]
fn directives_that_misspell_what_is_read_are_told() {
    for (name, meant) in [
        ("proxy_connct_timeout", "proxy_connect_timeout"),
        ("proxy_rea_timeout", "proxy_read_timeout"),
        ("proxy-read-timeout", "proxy_read_timeout"),
        ("proxy-next-upstream-tries", "proxy_next_upstream_tries"),
        ("Proxy_Read_Timeout", "proxy_read_timeout"),
        ("fastcgi_raed_timeot", "fastcgi_read_timeout"),
        ("proxy_next_upstreem_tris", "proxy_next_upstream_tries"),
        ("grpc_next_upsteam", "grpc_next_upstream"),
        ("proxy_pas", "proxy_pass"),
        ("fastcgi_pss", "fastcgi_pass"),
        ("Grpc_pass", "grpc_pass"),
    ] {
        let checked = location(&format!("proxy_pass http://app; {name} 3;"));
        let refused = checked.findings.iter().find(|it| it.code == "refused");
        let refused = refused.unwrap_or_else(|| panic!("{name}: {checked:?}"));
        assert_eq!(refused.remedy, format!("did you mean `{meant}`?"), "{name}");
    }
    for name in [
        "proxy_send_timeout",
        "grpc_send_timeout",
        "uwsgi_read_timeout",
        "proxy_timeout",
        "ajp_read_timeout",
        "ajp_pass",
        "proxy_bind",
        "grpc_bind",
        "scgi_pass",
        "client_header_timeout",
        "proxy_connect_send_timeout",
        "resolver_timeout",
    ] {
        let checked = location(&format!("proxy_pass http://app; {name} 3;"));
        assert!(!has(&checked, "refused"), "{name}: {checked:?}");
    }
    for place in ["events", "upstream a"] {
        let text = format!("{place} {{ proxy_connect_timeout 3s; }} http {{ }}");
        assert!(has(&one(&text), "refused"), "{place}");
    }
}
