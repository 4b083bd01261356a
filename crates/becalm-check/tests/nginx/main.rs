//! What does nginx make of the attempts of a request, where files include others, names are variables and values are unknown?

use becalm_check::shown::policy_file;
#[path = "../asked/mod.rs"]
mod asked;
mod refused;

use asked::of;
use becalm_check::{Checked, File, Settings, check};

fn one(text: &str) -> Checked {
    of(&[("n.conf", text)])
}

/// A location in front of an upstream of three.
fn location(directives: &str) -> Checked {
    one(&format!(
        "upstream app {{ server 10.0.0.1; server 10.0.0.2; server 10.0.0.3; }}\nserver {{ location / {{ {directives} }} }}\n"
    ))
}

fn attempts(checked: &Checked) -> Vec<(&str, u32)> {
    checked
        .mappings
        .iter()
        .map(|it| (&*it.name, it.policy.attempts))
        .collect()
}

fn has(checked: &Checked, code: &str) -> bool {
    checked.findings.iter().any(|it| it.code == code)
}

fn sentence(checked: &Checked, code: &str) -> String {
    let found = checked.findings.iter().find(|it| it.code == code);
    found
        .unwrap_or_else(|| panic!("{code}: {checked:?}"))
        .sentence
        .clone()
}

fn is_lost(checked: &Checked, what: &str) -> bool {
    checked
        .mappings
        .iter()
        .all(|it| it.lost.iter().any(|it| it.what == what))
}

const MAIN: &str = "\
http {
  proxy_read_timeout 7s;
  upstream app { server 10.0.0.1; server 10.0.0.2; server 10.0.0.3; }
  include conf.d/*.conf;
}
";

const SITE: &str = "\
server {
  location / {
    include snippets/next.conf;
    proxy_pass http://app;
  }
}
";

const NEXT: &str = "\
proxy_next_upstream error http_503 non_idempotent;
proxy_next_upstream_tries 2;
proxy_next_upstream_timeout 5s;
";

#[test]
fn what_is_included_and_not_named_is_told() {
    let main =
        format!("upstream app {{ server 10.0.0.1; server 10.0.0.2; server 10.0.0.3; }}\n{SITE}");
    let unseen = one(&main);
    assert_eq!(attempts(&unseen), [("location / to app", 3)], "{unseen:?}");
    assert!(
        sentence(&unseen, "not-seen")
            .contains("`include snippets/next.conf` is of no file that is named")
    );
    assert!(
        sentence(&unseen, "no-total-time").contains("`proxy_next_upstream_timeout` in these files")
    );
    let params = one(&main.replace("snippets/next.conf", "/etc/nginx/fastcgi_params"));
    assert!(!has(&params, "not-seen"), "{params:?}");
}

#[test]
fn files_that_are_named_are_read_where_they_are_included() {
    let files = [
        ("etc/nginx.conf", MAIN),
        ("etc/conf.d/site.conf", SITE),
        ("etc/snippets/next.conf", NEXT),
    ];
    let checked = of(&files);
    assert_eq!(
        attempts(&checked),
        [("location / to app", 2)],
        "{checked:?}"
    );
    let mapping = &checked.mappings[0];
    assert_eq!(
        (&*mapping.file, mapping.span.line),
        ("etc/conf.d/site.conf", 4)
    );
    for code in ["not-seen", "no-total-time", "attempts-grow-with-servers"] {
        assert!(!has(&checked, code), "{code}: {checked:?}");
    }
    let written = policy_file(mapping).expect("a policy");
    for line in [
        "attempts = 2 # line 4: line 2 of etc/snippets/next.conf",
        "deadline = \"5s\" # line 4: line 3 of etc/snippets/next.conf",
        "attempt_timeout = \"7s\" # line 4: line 2 of etc/nginx.conf",
    ] {
        assert!(written.lines().any(|it| it == line), "{line}: {written}");
    }
    let slip = NEXT.replace("http_503", "http_530");
    let slipped = of(&[files[0], files[1], ("etc/snippets/next.conf", &slip)]);
    let found = slipped
        .findings
        .iter()
        .find(|it| it.code == "refused")
        .expect("told");
    assert_eq!(
        (&*found.file, found.span.line),
        ("etc/snippets/next.conf", 1)
    );
}

#[test]
fn what_is_included_is_of_the_same_tree_of_folders() {
    let slow = NEXT.replace("tries 2", "tries 3");
    let checked = of(&[
        ("live/nginx.conf", MAIN),
        ("live/conf.d/site.conf", SITE),
        ("live/snippets/next.conf", NEXT),
        ("test/nginx.conf", MAIN),
        ("test/conf.d/site.conf", SITE),
        ("test/snippets/next.conf", &slow),
    ]);
    let found: Vec<_> = checked
        .mappings
        .iter()
        .map(|it| (&*it.file, it.policy.attempts))
        .collect();
    let expected = [("live/conf.d/site.conf", 2), ("test/conf.d/site.conf", 3)];
    assert_eq!(found, expected, "{checked:?}");
}

#[test]
fn files_that_include_each_other_are_read_once() {
    let one = "include b.conf;\nupstream app { server 10.0.0.1; server 10.0.0.2; }\n";
    let other =
        "include a.conf;\ninclude b.conf;\nserver { location / { proxy_pass http://app; } }\n";
    let checked = of(&[("a.conf", one), ("b.conf", other)]);
    assert!(
        attempts(&checked).contains(&("location / to app", 2)),
        "{checked:?}"
    );
    assert!(sentence(&checked, "not-seen").contains("is of files that include each other"));
}

/// Both are as near, and which of them nginx takes is not known here.
#[test]
fn of_two_files_that_an_include_may_mean_none_is_taken() {
    let app = "upstream app { server 10.0.0.1; server 10.0.0.2; server 10.0.0.3; }\n";
    let site = format!("{app}{SITE}").replace("snippets/next.conf", "next.conf");
    let checked = of(&[
        ("site.conf", &site),
        ("a/next.conf", NEXT),
        ("b/next.conf", NEXT),
    ]);
    assert_eq!(
        attempts(&checked),
        [("location / to app", 3)],
        "{checked:?}"
    );
    assert!(sentence(&checked, "not-seen").contains("`include next.conf` is of files"));
}

/// nginx refuses to read them: each route is told of nevertheless, and once.
#[test]
fn routes_of_files_in_a_circle_are_told_once() {
    let app = "upstream app { server 10.0.0.1; server 10.0.0.2; }\n";
    let site = |name: &str, includes: &str| {
        format!("{includes}\nserver {{ location /{name} {{ proxy_pass http://app; }} }}\n")
    };
    let all = ["a", "b", "c"].map(|it| (format!("x/{it}.conf"), site(it, "include x/*.conf;")));
    for main in [
        None,
        Some("http { include x/*.conf; }\n"),
        Some("http { include x/b.conf; }\n"),
    ] {
        let mut files = vec![("app.conf", app)];
        files.extend(all.iter().map(|(name, text)| (&**name, &**text)));
        files.extend(main.map(|it| ("nginx.conf", it)));
        let checked = of(&files);
        let mut names: Vec<_> = checked.mappings.iter().map(|it| &*it.name).collect();
        names.sort_unstable();
        let once = [
            "location /a to app",
            "location /b to app",
            "location /c to app",
        ];
        assert_eq!(names, once, "{main:?}");
    }
}

/// What each of these files includes doubles with each of eighteen others.
#[test]
fn includes_that_double_end_for_all_files_together() {
    let twice = |at: usize| format!("include d{at}.inc;\ninclude d{at}.inc;\n");
    let mut files: Vec<_> = (1..18)
        .map(|at| (format!("d{}.inc", at - 1), twice(at)))
        .collect();
    files.push(("d17.inc".into(), "proxy_set_header X y;\n".into()));
    let root = "upstream u { server 10.0.0.1; server 10.0.0.2; }\nserver { location / { proxy_pass http://u; include d0.inc; } }\n";
    files.extend((0..50).map(|at| (format!("site{at}.conf"), root.to_owned())));
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    assert_eq!(of(&files).mappings.len(), 50);
}

/// Each of the texts once read all files of nginx again.
#[test]
fn many_files_beside_one_of_nginx_are_read_once() {
    let server = "location / { proxy_pass http://app; }\n".repeat(5000);
    let site = format!(
        "include *.inc;\nupstream app {{ server 10.0.0.1; server 10.0.0.2; }}\nserver {{ {server} }}\n"
    );
    let mut files: Vec<_> = (0..1000)
        .map(|at| (format!("{at}.txt"), "a text".to_owned()))
        .collect();
    files.push(("site.conf".into(), site));
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    assert_eq!(of(&files).mappings.len(), 5000);
}

/// Each of the sites once gathered the upstreams of all others.
#[test]
fn many_sites_that_nothing_includes_are_read_once() {
    let site = |at: usize| {
        format!(
            "upstream u{at} {{ server 10.0.0.1; server 10.0.0.2; }}\nserver {{ location / {{ proxy_pass http://u{at}; }} }}\n"
        )
    };
    let files: Vec<_> = (0..3000).map(|at| (at.to_string(), site(at))).collect();
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    assert_eq!(of(&files).mappings.len(), 3000);
}

#[test]
fn a_file_that_others_include_is_not_silent_by_itself() {
    let alone = one(NEXT);
    assert!(sentence(&alone, "not-seen").contains("no file that is named passes requests on"));
    assert_eq!(alone.findings.len(), 1, "{alone:?}");
}

/// Run with 1.22.1 and a file of three servers: three attempts.
#[test]
fn servers_of_a_file_are_read_where_it_is_named_and_told_where_not() {
    let text = "upstream app { include servers.inc; }\nserver { location / { proxy_pass http://app; proxy_next_upstream error non_idempotent; } }\n";
    for text in [
        text,
        &text.replace("include servers.inc;", "zone z 64k; state z.conf;"),
    ] {
        let unseen = one(text);
        assert!(sentence(&unseen, "not-seen").contains("servers of a file that is not seen"));
        assert!(has(&unseen, "repeats-non-idempotent"), "{unseen:?}");
        assert!(!has(&unseen, "never-retries"), "{unseen:?}");
    }
    let servers = "server 10.0.0.1;\nserver 10.0.0.2;\nserver 10.0.0.3;\n";
    let both = of(&[("site.conf", text), ("servers.inc", servers)]);
    assert_eq!(attempts(&both), [("location / to app", 3)]);
    assert!(
        !has(&both, "not-seen") && !has(&both, "unknown-system"),
        "{both:?}"
    );
}

/// nginx finds the upstream, and makes three attempts of each.
#[test]
fn where_a_variable_leads_is_not_known() {
    let text = "\
upstream blue { server 10.0.0.1; server 10.0.0.2; server 10.0.0.3; }
map $cookie_version $backend { default blue; }
server {
  proxy_next_upstream error http_503;
  location /map { proxy_pass http://$backend; }
  location /braces { proxy_pass http://${backend}$request_uri; }
  location /set { set $to http://blue/x; proxy_pass $to; }
}
";
    let checked = one(text);
    assert_eq!(attempts(&checked), [], "{checked:?}");
    let told = checked.findings.iter().map(|it| (it.code, it.span.line));
    let expected = [("not-seen", 5), ("not-seen", 6), ("not-seen", 7)];
    assert!(told.eq(expected), "{checked:?}");
    let unknown = location("proxy_pass http://$host; proxy_next_upstream_tries 3;");
    assert!(sentence(&unknown, "not-seen").contains("is made of variables"));
    assert_eq!(attempts(&unknown), [("location / to $host", 3)]);
}

/// Braces in its texts and comments are not told from others.
#[test]
fn behind_a_block_of_lua_nothing_is_refused() {
    let lua = |code: &str| {
        location(&format!(
            "access_by_lua_block {{ {code} }} proxy_pass http://app;"
        ))
    };
    let even = lua("ngx.say('{}')");
    assert_eq!(attempts(&even), [("location / to app", 3)], "{even:?}");
    let odd = lua("ngx.say('}')");
    assert!(sentence(&odd, "not-known").contains("is not known here"));
    assert!(odd.mappings.is_empty() && !has(&odd, "refused"), "{odd:?}");
}

#[test]
fn placeholders_are_unknown_and_not_left_out() {
    let checked = location(
        "proxy_pass http://app;\nproxy_next_upstream error ${MORE};\nproxy_next_upstream_tries ${TRIES};\nproxy_next_upstream_timeout ${T};\nproxy_read_timeout ${R};",
    );
    for code in [
        "refused",
        "no-total-time",
        "no-deadline",
        "attempts-grow-with-servers",
    ] {
        assert!(!has(&checked, code), "{code}: {checked:?}");
    }
    assert!(sentence(&checked, "unknown-value").contains("`${MORE}` is filled in elsewhere"));
    let written = policy_file(&checked.mappings[0]).expect("a policy");
    for line in [
        "attempts = 3 # line 4 says `${TRIES}`, which is unknown; default of nginx 1.22",
        "attempt_timeout = \"1m\" # line 6 says `${R}`, which is unknown; default of nginx 1.22",
        "# deadline: none; line 5 says `${T}`, which is unknown; default of nginx 1.22",
        "[retry_on] # line 3: without `${MORE}`, which is unknown",
    ] {
        assert!(written.lines().any(|it| it == line), "{line}: {written}");
    }
}

/// In the module `stream` a `proxy_pass` stands in a server and has no scheme; `http` refuses both.
#[test]
fn a_file_of_streams_is_not_read_as_requests() {
    let dns = "upstream dns { server 10.0.0.1:53; server 10.0.0.2:53; }\nserver { listen 53 udp; proxy_pass dns; }\n";
    assert_eq!((one(dns).findings, one(dns).mappings), (vec![], vec![]));
    let refused = location("proxy_pass app;");
    assert!(sentence(&refused, "refused").contains("nginx refuses `proxy_pass app`"));
    let gateway = location("fastcgi_pass app;");
    assert_eq!(attempts(&gateway), [("location / to app", 3)]);
}

#[test]
fn an_address_is_one_attempt() {
    for to in [
        "http://127.0.0.1:9000",
        "http://[::1]",
        "http://unix:/run/a.sock:/x",
    ] {
        let checked = location(&format!(
            "proxy_pass {to}; proxy_next_upstream error http_503;"
        ));
        assert!(
            has(&checked, "never-retries") && !has(&checked, "not-seen"),
            "{checked:?}"
        );
    }
    let name = location("proxy_pass http://localhost:9000; proxy_next_upstream error;");
    assert!(has(&name, "not-seen"), "{name:?}");
}

#[test]
fn what_nginx_does_with_bodies_is_told_as_lost() {
    let unbuffered = location("proxy_pass http://app; proxy_request_buffering off;");
    assert!(
        is_lost(&unbuffered, "proxy_request_buffering"),
        "{unbuffered:?}"
    );
    let buffered = location("proxy_pass http://app; proxy_request_buffering on;");
    assert!(!is_lost(&buffered, "proxy_request_buffering"));
    assert!(is_lost(&buffered, "error"), "{buffered:?}");
    let timeouts = location("proxy_pass http://app; proxy_next_upstream timeout;");
    assert!(!is_lost(&timeouts, "error"), "{timeouts:?}");
}

#[test]
fn a_connection_of_stream_is_tried_at_each_server() {
    let of = |directives: &str| {
        let text = format!(
            "stream {{\n  upstream db {{ server 10.0.0.1:1; server 10.0.0.2:1; server 10.0.0.3:1; }}\n  server {{ listen 1; proxy_pass db; {directives} }}\n}}\n"
        );
        check(&[File::new("nginx.conf", &text)], &Settings::default())
    };
    for (directives, attempts) in [
        ("", 3),
        ("proxy_next_upstream on; proxy_next_upstream_tries 10;", 3),
        ("proxy_next_upstream_tries 2;", 2),
    ] {
        let checked = of(directives);
        let all: Vec<_> = checked
            .mappings
            .iter()
            .map(|it| it.policy.attempts)
            .collect();
        assert_eq!(all, [attempts], "{directives}: {checked:?}");
    }
    assert!(of("proxy_next_upstream off;").mappings.is_empty());
    let codes =
        |directives: &str| -> Vec<_> { of(directives).findings.iter().map(|it| it.code).collect() };
    assert!(codes("proxy_next_upstream_tries 10;").contains(&"attempts-cut"));
    assert!(codes("proxy_next_upstream error timeout;").contains(&"refused"));
}

#[test]
fn an_error_page_that_passes_on_again_is_told_with_its_attempts() {
    let text = "upstream app { server 10.0.0.1; server 10.0.0.2; }\nupstream app2 { server 10.0.1.1; server 10.0.1.2; }\nserver {\n\
                location / {\n proxy_pass http://app;\n error_page 502 504 = @again;\n }\n location @again { proxy_pass http://app2; }\n}\n";
    let told = |text: &str| {
        let checked = check(&[File::new("nginx.conf", text)], &Settings::default());
        let found = checked
            .findings
            .into_iter()
            .find(|it| it.code == "passed-on-again");
        found.map(|it| (it.span.line, it.sentence))
    };
    let (line, sentence) = told(text).expect("told");
    assert_eq!(line, 6);
    assert!(
        sentence.contains("to app2: up to 2 attempts on top of the 2 at app"),
        "{sentence}"
    );
    assert_eq!(told(&text.replace("502 504", "404")), None);
    assert_eq!(
        told(&text.replace("proxy_pass http://app2;", "return 503;")),
        None
    );
}

#[test]
fn what_helps_is_a_directive_of_the_module_that_passes_on() {
    for (module, to, words) in [
        ("proxy", "http://app", "error non_idempotent"),
        ("fastcgi", "app", "error non_idempotent"),
        ("uwsgi", "app", "error non_idempotent"),
        ("scgi", "app", "error non_idempotent"),
        ("grpc", "app", "error non_idempotent"),
        ("memcached", "app", "error"),
    ] {
        let checked = location(&format!(
            "{module}_pass {to}; {module}_next_upstream {words}; {module}_next_upstream_timeout 1s;"
        ));
        for code in [
            "no-budget",
            "retries-at-once",
            "hints-ignored",
            "repeats-non-idempotent",
            "attempt-timeout-fills-deadline",
        ] {
            let Some(found) = checked.findings.iter().find(|it| it.code == code) else {
                assert_eq!((module, code), ("memcached", "repeats-non-idempotent"));
                continue;
            };
            let own = format!("`{module}_");
            assert!(found.remedy.contains(&own), "{code}: {}", found.remedy);
            let others = found.remedy.replace(&own, "");
            assert!(!others.contains("proxy_"), "{code}: {others}");
        }
    }
}

#[test]
fn servers_that_nginx_plus_adds_to_a_zone_are_not_seen() {
    let one_server = |zone: &str| {
        one(&format!(
            "upstream app {{ {zone} server 10.0.0.1; }}\nserver {{ location / {{ proxy_pass http://app; proxy_next_upstream error; }} }}\n"
        ))
    };
    let plus = "unless the API of NGINX Plus adds servers to its `zone`";
    assert!(sentence(&one_server("zone app 64k;"), "never-retries").ends_with(plus));
    assert!(sentence(&one_server(""), "never-retries").ends_with("nothing is repeated"));
}
