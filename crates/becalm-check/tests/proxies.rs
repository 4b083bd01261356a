//! What do single lines of nginx and HAProxy make of the attempts of a request?

use becalm_check::shown::policy_file;
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

/// Run with 1.22.1 and a name of three addresses: three attempts. A name counts as one server, and a bound stands in for what is not
/// seen.
#[test]
fn a_server_by_its_name_is_of_unknown_number() {
    const NEXT: &str = "proxy_next_upstream error;";
    const TRIES: &str = "proxy_next_upstream_tries 5;";
    let one = "server a:3000;";
    let two = "server a:3000; server b:3000;";
    for (servers, directives, expected) in [
        (one, NEXT, &[][..]),
        (one, TRIES, &[5]),
        (two, NEXT, &[2]),
        (two, TRIES, &[5]),
        (two, "", &[2]),
    ] {
        let checked = nginx(servers, &format!("proxy_pass http://app; {directives}"));
        assert_eq!(attempts(&checked), expected, "{directives}: {checked:?}");
        let mut findings = checked.findings.iter();
        let told = findings.find(|it| it.code == "not-seen").expect("told");
        let stands_in = "which are not known here; `proxy_next_upstream_tries` stands in";
        assert!(told.sentence.contains(stands_in), "{told:?}");
        let mut said = checked.findings.iter().map(|it| &*it.sentence);
        assert!(said.all(|it| !it.contains("today")), "{checked:?}");
        for code in ["never-retries", "attempts-cut"] {
            assert!(!has(&checked, code), "{checked:?}");
        }
        let mut lost = checked.mappings.iter().flat_map(|it| &it.lost);
        let is_lost = lost.any(|it| it.what == "server");
        assert_eq!(is_lost, !expected.is_empty(), "{checked:?}");
    }
    let bounded = nginx(two, "proxy_pass http://app; proxy_next_upstream_tries 2;");
    assert!(!has(&bounded, "not-seen"), "{bounded:?}");
    assert_eq!(attempts(&bounded), [2]);
    let address = nginx(
        "server 10.0.0.1;",
        &format!("proxy_pass http://app; {NEXT}"),
    );
    assert!(has(&address, "never-retries"), "{address:?}");
}

#[test]
fn where_several_words_are_as_near_all_are_named() {
    let remedy = |word: &str| {
        let location = format!("proxy_pass http://app; proxy_next_upstream {word};");
        let mut findings = nginx(TWO, &location).findings.into_iter();
        findings
            .find(|it| it.code == "refused")
            .expect("refused")
            .remedy
    };
    let all = remedy("http_400");
    assert!(all.starts_with("the words are error, timeout, "), "{all}");
    assert_eq!(remedy("timout"), "did you mean `timeout`?");
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
        File::new("conf.d/app.conf", &upstream),
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

fn haproxy(text: &str) -> Checked {
    of("h.cfg", text)
}

fn backend(defaults: &str, backend: &str) -> Checked {
    haproxy(&format!(
        "defaults\n  mode http\n{defaults}\nbackend app\n{backend}\n  server a 10.0.0.1:80\n"
    ))
}

fn together(files: &[(&str, &str)]) -> Checked {
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| File::new(name, text))
        .collect();
    check(&files, &Settings::default())
}

fn policy(checked: &Checked) -> String {
    policy_file(&checked.mappings[0]).expect("a policy")
}

fn assert_line(written: &str, line: &str) {
    assert!(written.lines().any(|it| it == line), "{line}: {written}");
}

/// Run with 2.6.12: seven attempts.
#[test]
fn defaults_of_haproxy_hold_in_the_files_after_them() {
    let defaults = "defaults\n  mode http\n  retries 6\n  retry-on 503 response-timeout\n  timeout server 30s\n  option redispatch\n";
    let app = "frontend www\n  bind :80\nbackend app\n  server a 10.0.0.1:80\n";
    let both = together(&[("00.cfg", defaults), ("10.cfg", app)]);
    assert_eq!(attempts(&both), [7], "{both:?}");
    let mapping = &both.mappings[0];
    assert_eq!((&*mapping.file, mapping.span.line), ("10.cfg", 3));
    let written = policy(&both);
    for line in [
        "attempts = 7 # line 3: 6 retries and the first try (line 3 of 00.cfg)",
        "attempt_timeout = \"30s\" # line 3: line 5 of 00.cfg",
        "[retry_on] # line 3: line 4 of 00.cfg",
        "# - redispatch: a repeated request goes to another server (line 6 of 00.cfg)",
    ] {
        assert_line(&written, line);
    }
    let time = both.findings.iter().find(|it| it.code == "no-total-time");
    let time = time.expect("told");
    assert_eq!((&*time.file, time.span.line), ("00.cfg", 5));
    // Those of a file after it are not its own, and a file with its own has these alone.
    let after = together(&[("10.cfg", app), ("00.cfg", defaults)]);
    assert_eq!(attempts(&after), [4]);
    let own = format!("defaults\n  mode http\n{app}");
    let own = together(&[("00.cfg", defaults), ("10.cfg", &own)]);
    assert_eq!(attempts(&own), [4]);
}

#[test]
fn defaults_that_are_named_stand_before_in_these_files() {
    let app = "backend app from web\n  server a 10.0.0.1:80\n";
    let alone = haproxy(app);
    let found = |it: &Checked| (has(it, "refused"), has(it, "not-seen"));
    assert_eq!(found(&alone), (false, true), "{alone:?}");
    let defaults = "defaults web\n  retries 8\ndefaults\n  retries 1\n";
    let both = together(&[("00.cfg", defaults), ("10.cfg", app)]);
    assert_eq!((attempts(&both), found(&both)), (vec![9], (false, false)));
    let later = together(&[("10.cfg", app), ("20.cfg", defaults)]);
    assert_eq!(found(&later), (true, false), "{later:?}");
    assert_eq!(found(&haproxy(&format!("{app}{defaults}"))), (true, false));
}

#[test]
fn a_section_may_be_named_from() {
    let servers = "  server a 10.0.0.1:80\n";
    for (text, tries) in [
        (format!("backend from\n  retries 5\n{servers}"), 6),
        (
            format!("defaults from\n  retries 5\nbackend b from from\n{servers}"),
            6,
        ),
        (
            format!("defaults a\n  retries 5\ndefaults from a\nbackend b\n{servers}"),
            6,
        ),
        (
            format!("peers p from x\ndefaults\n  retries 5\nbackend b from\n{servers}"),
            6,
        ),
    ] {
        let checked = haproxy(&text);
        assert_eq!(attempts(&checked), [tries], "{text}");
        let is_told = has(&checked, "refused") || has(&checked, "not-seen");
        assert!(!is_told, "{text}: {checked:?}");
    }
}

#[test]
fn rules_for_unknown_requests_are_listed_once_and_a_few_of_them() {
    let lost = |text: &str| {
        let checked = haproxy(text);
        let lost = checked.mappings[0].lost.clone().into_iter();
        let rules = lost.filter(|it| it.what.starts_with("disable-l7-retry"));
        rules.map(|it| it.what).collect::<Vec<_>>()
    };
    let rule = |at: usize| format!("  http-request disable-l7-retry if {{ path /{at} }}\n");
    let defaults = format!("defaults web\n  mode http\n  retry-on 503\n{}", rule(0));
    let backend = "backend b\n  server a 10.0.0.1:80\n";
    let one = format!("{defaults}frontend f\n  default_backend b\n{backend}");
    assert_eq!(lost(&one), ["disable-l7-retry if { path /0 }"]);
    let front = |at: usize| format!("frontend f{at}\n{}  use_backend %[path]\n", rule(at));
    let fronts: String = (1..300).map(front).collect();
    let many = lost(&format!("{defaults}{fronts}{backend}"));
    assert_eq!(many.len(), 9, "{many:?}");
    assert_eq!(many[8], "disable-l7-retry");
}

/// Each of them once read all others again.
#[test]
fn many_files_of_haproxy_are_read_once() {
    let text = |at: usize| {
        format!("defaults d{at}\n  mode http\n  retries 3\nbackend b{at}\n  server a 10.0.0.1:80\n")
    };
    let files: Vec<_> = (0..5000).map(|at| (at.to_string(), text(at))).collect();
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    assert_eq!(together(&files).mappings.len(), 5000);
}

/// Run with 2.6.12: a POST once, a GET four times.
#[test]
fn rules_of_the_frontends_hold_for_their_backends() {
    let front = |name: &str, rule: &str| {
        format!("frontend {name}\n  bind :80\n  {rule}\n  use_backend app if TRUE\n")
    };
    let rule = "http-request disable-l7-retry if METH_POST or { method PATCH }";
    let app = "backend app\n  retry-on 503 empty-response\n  server a 10.0.0.1:80\n";
    let defaults = "defaults\n  mode http\n";
    let twice = |text: &str| {
        has(
            &haproxy(&format!("{defaults}{text}{app}")),
            "repeats-non-idempotent",
        )
    };
    assert!(twice("") && twice(&front("a", "")));
    assert!(!twice(&front("a", rule)));
    assert!(twice(&format!("{}{}", front("a", rule), front("b", ""))));
    assert!(twice(
        &front("a", rule).replace("use_backend app", "use_backend other")
    ));
    assert!(!twice(
        &front("a", rule).replace("use_backend app", "use_backend %[path]")
    ));
    let files = [
        ("app.cfg", &*format!("{defaults}{app}")),
        ("front.cfg", &front("a", rule)),
    ];
    assert!(!has(&together(&files), "repeats-non-idempotent"));
}

#[test]
fn a_condition_that_asks_for_more_than_the_method_is_told() {
    let of = |condition: &str| {
        backend(
            "  retry-on 503 empty-response",
            &format!("  http-request disable-l7-retry {condition}"),
        )
    };
    for (condition, twice, told) in [
        ("unless METH_GET or METH_HEAD", false, false),
        ("if METH_POST METH_PUT", true, false),
        ("if METH_POST or { method PATCH }", false, false),
        (
            "if METH_POST || { method PATCH } || { path_beg /pay }",
            false,
            true,
        ),
        ("if METH_POST or { path_beg /pay }", true, true),
        ("if { path_beg /pay }", true, true),
        ("if METH_GET { path_beg /pay }", true, true),
    ] {
        let checked = of(condition);
        assert_eq!(
            has(&checked, "repeats-non-idempotent"),
            twice,
            "{condition}: {checked:?}"
        );
        assert_eq!(
            has(&checked, "unknown-value"),
            told,
            "{condition}: {checked:?}"
        );
        let lost = checked.mappings[0].lost.iter();
        let lost = lost.filter(|it| it.what == format!("disable-l7-retry {condition}"));
        assert_eq!(lost.count(), usize::from(told), "{condition}");
    }
}

/// Run with 2.6.12: a server that hangs is asked once, and a port that refuses is tried for three seconds.
#[test]
fn what_haproxy_says_of_time_is_of_what_it_repeats() {
    let times = "  timeout connect 10s\n  timeout server 1m";
    let told = |retry_on: &str| {
        let checked = backend(times, retry_on);
        let found = checked
            .findings
            .iter()
            .find(|it| it.code == "no-total-time");
        assert!(!has(&checked, "no-deadline"), "{checked:?}");
        found.expect("told").sentence.clone()
    };
    assert!(told("").contains("4 attempts to connect of 10s take up to 40s"));
    assert!(
        told("  retry-on response-timeout")
            .contains("4 attempts of 1m take up to 4m where a server hangs")
    );
    assert!(
        told("  retry-on 503")
            .contains("4 attempts of 1m take up to 4m where a server fails as late")
    );
}

#[test]
fn placeholders_of_haproxy_are_unknown() {
    let checked = backend(
        "  retries \"${N}\"\n  timeout server \"${T}\"",
        "  retry-on \"${ON}\"",
    );
    assert!(!has(&checked, "refused"), "{checked:?}");
    let written = policy(&checked);
    for line in [
        "attempts = 4 # line 3 says `${N}`, which is unknown; default of haproxy 2.6",
        "# attempt_timeout: none; line 4 says `${T}`, which is unknown; default of haproxy 2.6",
        "[retry_on] # line 6 says `${ON}`, which is unknown; default of haproxy 2.6",
    ] {
        assert_line(&written, line);
    }
}

#[test]
fn templates_of_chef_and_puppet_are_templates() {
    for text in [
        "upstream app {\n<% @servers.each do |it| %>\n  server <%= it %>;\n<% end %>\n}\n",
        "defaults\n  mode http\n  retries <%= @retries -%>\nbackend a\n  server a 10.0.0.1:80\n",
    ] {
        let checked = of("it.erb", text);
        let codes: Vec<_> = checked.findings.iter().map(|it| it.code).collect();
        assert_eq!(codes, ["template"], "{text}");
    }
    let logs = "defaults\n  mode http\n  log-format \"<%ci> %{+Q}r <% %ST>\"\nbackend a\n  server a 10.0.0.1:80\n";
    assert_eq!(attempts(&haproxy(logs)), [4]);
}

/// Run with 2.6.12: a `dispatch` is retried as a server is, and a section that passes nothing on repeats nothing.
#[test]
fn haproxy_repeats_where_it_passes_requests_on() {
    let backend = |lines: &str| {
        let text = format!(
            "defaults\n  mode http\n  timeout connect 2s\nbackend b\n  retries 5\n  retry-on 503\n  {lines}\n"
        );
        of("haproxy.cfg", &text)
    };
    for lines in [
        "dispatch 10.0.0.1:80",
        "option transparent",
        "server a 10.0.0.1:80",
    ] {
        assert_eq!(attempts(&backend(lines)), [6], "{lines}");
    }
    let bound = "http-request return status 503 if FALSE\n  server a 10.0.0.1:80";
    assert_eq!(attempts(&backend(bound)), [6]);
    let answered = backend("http-request return status 503\n  server a 10.0.0.1:80");
    assert!(
        answered.mappings.is_empty() && has(&answered, "never-retries"),
        "{answered:?}"
    );
    let allowed = "http-request allow if { path_beg /api }\n  http-request return status 404\n  server a 10.0.0.1:80";
    assert_eq!(attempts(&backend(allowed)), [6], "{allowed}");
    let of_defaults = "defaults\n  mode http\n  retries 5\nbackend b\n  balance first\n";
    assert!(!has(&of("haproxy.cfg", of_defaults), "never-retries"));
}

/// Run with 2.6.12: of backups the first alone is asked, after a second.
#[test]
fn haproxy_goes_elsewhere_where_servers_are_active() {
    let base = |lines: &str| {
        let text =
            format!("defaults\n  timeout connect 2s\n  option redispatch\nbackend b\n  {lines}\n");
        of("haproxy.cfg", &text).mappings[0].policy.base.as_secs()
    };
    let two = "server a 10.0.0.1:80\n  server b 10.0.0.2:80";
    for (lines, wait) in [
        (two.to_owned(), 0),
        (format!("default-server backup\n  {two}"), 1),
        (
            format!("default-server backup\n  {two} no-backup\n  server c 10.0.0.3:80 no-backup"),
            0,
        ),
        ("server-template s 3 10.0.0.1:80".into(), 0),
        ("server-template s 1 10.0.0.1:80".into(), 1),
        ("server-template s 4-4 10.0.0.1:80".into(), 1),
        (format!("server-template s {} 10.0.0.1:80", usize::MAX), 0),
    ] {
        assert_eq!(base(&lines), wait, "{lines}");
    }
}
