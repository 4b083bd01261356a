//! What do single lines of nginx and HAProxy make of the attempts of a request?

use becalm_check::{Checked, File, Settings, check};

fn of(name: &str, text: &str) -> Checked {
    check(&[File::new(name, text)], &Settings::default())
}

fn attempts(checked: &Checked) -> Vec<u32> {
    checked
        .mappings
        .iter()
        .map(|it| it.policy.attempts)
        .collect()
}

fn has(checked: &Checked, code: &str) -> bool {
    checked.findings.iter().any(|it| it.code == code)
}

fn nginx(upstream: &str, location: &str) -> Checked {
    of(
        "n.conf",
        &format!("upstream app {{ {upstream} }}\nserver {{ location / {{ {location} }} }}\n"),
    )
}

const TWO: &str = "server 10.0.0.1; server 10.0.0.2;";

/// Run with 1.22.1: `proxy_pass http://app$request_uri` asks both servers of `app`.
#[test]
fn nginx_finds_an_upstream_before_a_variable_that_is_a_path() {
    for pass in [
        "http://app$request_uri",
        "http://app$uri$is_args$args",
        "http://app/x$uri",
    ] {
        let checked = nginx(TWO, &format!("proxy_pass {pass};"));
        assert_eq!(attempts(&checked), [2], "{pass}: {checked:?}");
    }
}

/// Run with 1.22.1 and a name of three addresses: three attempts.
#[test]
fn a_server_by_its_name_is_of_unknown_number() {
    let next = "proxy_pass http://app; proxy_next_upstream error;";
    let one = nginx("server app.internal:80;", next);
    assert!(
        has(&one, "not-seen") && !has(&one, "never-retries"),
        "{one:?}"
    );
    let address = nginx("server 10.0.0.1;", next);
    assert!(has(&address, "never-retries"), "{address:?}");
    let tries = nginx(
        "server app.internal:80;",
        &format!("{next} proxy_next_upstream_tries 3;"),
    );
    assert_eq!(
        (attempts(&tries), has(&tries, "attempts-cut")),
        (vec![3], false)
    );
    let two = nginx("server a.internal; server b.internal;", next);
    assert_eq!(attempts(&two), [2]);
    assert!(
        two.mappings[0].lost.iter().any(|it| it.what == "server"),
        "{two:?}"
    );
}

#[test]
fn an_upstream_of_another_file_is_found_or_missed() {
    let site = "include conf.d/*.conf;\nserver { location / { proxy_pass http://app; } }\n";
    assert!(has(&of("site.conf", site), "not-seen"));
    let quiet = of("site.conf", &site.replace("//app", "//app.internal:80"));
    assert_eq!(quiet.findings, []);
    let upstream = format!("# first\nupstream app {{ {TWO} }}\n");
    let files = [
        File::new("site.conf", site),
        File::new("app.conf", &upstream),
    ];
    let both = check(&files, &Settings::default());
    assert_eq!((attempts(&both), has(&both, "not-seen")), (vec![2], false));
    assert!(
        both.findings
            .iter()
            .all(|it| it.file == "site.conf" && it.span.line == 2),
        "{both:?}"
    );
}

#[test]
fn a_place_within_a_location_is_told_with_it() {
    let checked = nginx(TWO, "if ($x) { proxy_pass http://app; }");
    assert_eq!(checked.mappings[0].name, "location / if ($x) to app");
}

/// Run with 2.6.12.
#[test]
fn haproxy_repeats_to_servers_alone_and_skips_what_its_conditions_do() {
    let head = "defaults\n  mode http\n  retry-on 503\n";
    let checked = of(
        "h.cfg",
        &format!(
            "{head}listen stats\n  bind :1\n  stats enable\nbackend app\n  server a 10.0.0.1:80\n"
        ),
    );
    assert_eq!(checked.mappings[0].name, "backend app");
    assert_eq!(attempts(&checked), [4]);
    let large = of(
        "h.cfg",
        &format!("{head}backend app\n  retries 4294967298\n  server a 10.0.0.1:80\n"),
    );
    assert_eq!(attempts(&large), [3]);
    let text = format!(
        "{head}backend app\n.if streq(\"a\",\"b\")\n  retries 9\n.endif\n  server a 10.0.0.1:80\n"
    );
    let unknown = of("h.cfg", &text);
    let found = unknown
        .findings
        .iter()
        .find(|it| it.code == "unknown-value")
        .expect("told");
    assert_eq!(found.span.line, 5);
}

#[test]
fn a_status_that_later_versions_of_haproxy_repeat_is_no_slip() {
    let checked = of(
        "h.cfg",
        "defaults\n  mode http\nbackend app\n  retry-on conn-failure 429\n  server a 10.0.0.1:80\n",
    );
    let listed = checked.mappings[0]
        .policy
        .retry_on
        .as_deref()
        .expect("lists");
    assert!(listed.to_string().contains("statuses 429;"), "{listed}");
    let found = checked
        .findings
        .iter()
        .find(|it| it.code == "refused")
        .expect("told");
    assert!(found.sentence.contains("3.1 and later"), "{found:?}");
}
