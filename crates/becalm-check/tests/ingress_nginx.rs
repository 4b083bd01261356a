//! The settings of the controller of ingress-nginx hold for each Ingress that says nothing itself.

mod asked;

use asked::of;
use becalm_check::Checked;

fn codes(checked: &Checked) -> Vec<&str> {
    checked.findings.iter().map(|it| it.code).collect()
}

const CONTROLLER: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  proxy-next-upstream: error http_503\n  \
                          proxy-next-upstream-tries: \"4\"\n  retry-non-idempotent: \"true\"\n";

fn ingress(annotations: &str) -> String {
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: shop\n  annotations:\n    {annotations}\n"
    )
}

#[test]
fn the_settings_of_the_controller_are_read() {
    let checked = of(&[("c.yaml", CONTROLLER)]);
    assert_eq!(checked.mappings[0].policy.attempts, 4);
    assert!(codes(&checked).contains(&"repeats-non-idempotent"));
    let values = "controller:\n  config: {proxy-next-upstream-tries: 5}\n";
    for text in [
        values,
        "ingress-nginx:\n  controller:\n    config: {proxy-next-upstream-tries: 5}\n",
    ] {
        assert_eq!(of(&[("v.yaml", text)]).mappings[0].policy.attempts, 5);
    }
    let off = "kind: ConfigMap\ndata: {proxy-next-upstream: \"off\"}\n";
    assert!(of(&[("c.yaml", off)]).mappings.is_empty());
    let endless = "kind: ConfigMap\ndata: {proxy-next-upstream-tries: \"0\"}\n";
    assert!(codes(&of(&[("c.yaml", endless)])).contains(&"no-bound"));
}

#[test]
fn an_annotation_holds_before_the_controller() {
    let prefix = "nginx.ingress.kubernetes.io/proxy-next-upstream";
    for (annotation, attempts, statuses) in [
        (format!("{prefix}-tries: \"2\""), Some(2), "503"),
        (format!("{prefix}: error http_502"), Some(4), "502"),
        (format!("{prefix}: \"off\""), None, ""),
    ] {
        let text = ingress(&annotation);
        let checked = of(&[("i.yaml", &text), ("c.yaml", CONTROLLER)]);
        let mut own = checked.mappings.iter();
        let own = own.find(|it| it.name == "Ingress shop");
        assert_eq!(own.map(|it| it.policy.attempts), attempts, "{annotation}");
        if let Some(own) = own {
            let told = own.policy.retry_on.as_deref().unwrap().to_string();
            assert!(told.starts_with("methods any; "), "{told}");
            assert!(told.contains(statuses), "{told}");
        }
    }
}

#[test]
fn of_several_controllers_none_holds() {
    let text = ingress("nginx.ingress.kubernetes.io/proxy-next-upstream: error");
    let other = "controller:\n  config: {proxy-next-upstream-tries: 9}\n";
    let own = |files: &[(&str, &str)]| {
        let checked = of(files);
        let mut own = checked.mappings.into_iter();
        own.find(|it| it.name == "Ingress shop").unwrap()
    };
    let alone = own(&[("i.yaml", &text)]);
    for files in [
        [
            ("i.yaml", &*text),
            ("c.yaml", CONTROLLER),
            ("v.yaml", other),
        ],
        [
            ("i.yaml", &*text),
            ("v.yaml", other),
            ("c.yaml", CONTROLLER),
        ],
    ] {
        let beside = own(&files);
        assert_eq!(beside.policy, alone.policy);
        assert!(
            beside.lost.iter().any(|it| it.what == "ConfigMap"),
            "{:?}",
            beside.lost
        );
    }
}

#[test]
fn the_bounds_of_connections_are_read() {
    let text = "kind: ConfigMap\ndata:\n  proxy-stream-next-upstream-tries: \"9\"\n  proxy-stream-next-upstream-timeout: 5s\n";
    let checked = of(&[("c.yaml", text)]);
    let policy = &checked.mappings[0].policy;
    assert_eq!(policy.attempts, 9);
    assert_eq!(policy.deadline.map(|it| it.as_secs()), Some(5));
    let off = "kind: ConfigMap\ndata: {proxy-stream-next-upstream: \"false\"}\n";
    assert!(of(&[("c.yaml", off)]).mappings.is_empty());
}

#[test]
fn a_value_that_the_controller_does_not_take_is_as_if_it_were_not_there() {
    let prefix = "nginx.ingress.kubernetes.io/proxy";
    let good = format!("{prefix}-next-upstream-tries: \"2\"");
    let without = of(&[("i.yaml", &ingress(&good))]);
    for annotation in [
        "next-upstream: error http_400 non_idempotent",
        "next-upstream: error updating",
        "next-upstream: error  non_idempotent",
        "next-upstream: \"error non_idempotent\\n\"",
        "next-upstream-timeout: 5s",
        "read-timeout: 5s",
    ] {
        let text = ingress(&format!("{good}\n    {prefix}-{annotation}"));
        let checked = of(&[("i.yaml", &text)]);
        let found = checked
            .findings
            .iter()
            .find(|it| it.code == "not-understood");
        let said = &found.expect(annotation).sentence;
        assert!(said.contains("uses what its ConfigMap says"), "{said}");
        assert!(!codes(&checked).contains(&"refused"), "{annotation}");
        let policy = &checked.mappings[0].policy;
        assert_eq!(*policy, without.mappings[0].policy, "{annotation}");
        let beside = of(&[("i.yaml", &text), ("c.yaml", CONTROLLER)]);
        let own = &beside.mappings[0].policy;
        assert_eq!(own.attempts, 2, "{annotation}");
        let told = own.retry_on.as_deref().unwrap().to_string();
        assert!(told.contains("503"), "{annotation}: {told}");
    }
    let tries = ingress(&format!("{prefix}-next-upstream-tries: few"));
    let beside = of(&[("i.yaml", &tries), ("c.yaml", CONTROLLER)]);
    assert_eq!(beside.mappings[0].policy.attempts, 4);
}

#[test]
fn a_value_that_the_controller_takes_is_told_as_nginx_reads_it() {
    // A blank behind the last word is taken, and cut off.
    let annotation =
        "nginx.ingress.kubernetes.io/proxy-next-upstream: \"error timeout non_idempotent \"";
    let told = of(&[("i.yaml", &ingress(annotation))]);
    assert!(codes(&told).contains(&"repeats-non-idempotent"), "{told:?}");
    let annotation = "nginx.ingress.kubernetes.io/proxy-next-upstream-tries: \"-1\"";
    assert!(codes(&of(&[("i.yaml", &ingress(annotation))])).contains(&"refused"));
}

#[test]
fn where_several_words_are_as_near_all_are_named() {
    let text = ingress("nginx.ingress.kubernetes.io/proxy-next-upstream: error http_400");
    let checked = of(&[("i.yaml", &text)]);
    let found = checked
        .findings
        .iter()
        .find(|it| it.code == "not-understood");
    let told = &found.expect("not taken").remedy;
    assert!(told.starts_with("the words are error, "), "{told}");
}

#[test]
fn words_without_a_blank_between_them_are_told_as_nginx_writes_them() {
    for (words, meant) in [
        ("errortimeout", "did you mean `error timeout`?"),
        (
            "error,timeout,http_502",
            "did you mean `error timeout http_502`?",
        ),
        ("error timeouthttp_503", "did you mean `timeout http_503`?"),
        (
            "error|non-idempotent",
            "did you mean `error non_idempotent`?",
        ),
        ("error timeot", "did you mean `timeout`?"),
        ("errorbroken", "the words are error, timeout, "),
    ] {
        let ingress = format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\n  annotations:\n    \
             nginx.ingress.kubernetes.io/proxy-next-upstream: \"{words}\"\n"
        );
        let map = format!("kind: ConfigMap\ndata:\n  proxy-next-upstream: \"{words}\"\n");
        let own = format!(
            "http {{ server {{ location / {{ proxy_pass http://a; proxy_next_upstream {words}; }} }} }}"
        );
        for (name, text, code) in [
            ("a.yaml", ingress, "not-understood"),
            ("a.yaml", map, "refused"),
            ("nginx.conf", own, "refused"),
        ] {
            let checked = of(&[(name, &text)]);
            let told = checked.findings.iter().find(|it| it.code == code);
            let told = told.unwrap_or_else(|| panic!("{text}: {checked:#?}"));
            assert!(told.remedy.starts_with(meant), "{text}: {told:?}");
        }
    }
}

#[test]
fn the_time_to_connect_is_read() {
    let prefix = "nginx.ingress.kubernetes.io/proxy";
    let with = |more: &str| {
        of(&[(
            "i.yaml",
            &ingress(&format!(
                "{prefix}-next-upstream-timeout: \"10\"\n    {prefix}-read-timeout: \"1\"\n    {prefix}-{more}"
            )),
        )])
    };
    let filled = "connect-timeout-fills-deadline";
    for (more, code) in [
        ("connect-timeout: \"30\"", filled),
        ("connect-timeout: abc", "not-understood"),
        ("connect-timeout: \"-1\"", "refused"),
        ("connect-timout: \"3\"", "key-not-read"),
        ("read-timeot: \"3\"", "key-not-read"),
    ] {
        let checked = with(more);
        assert!(codes(&checked).contains(&code), "{more}: {checked:?}");
    }
    let number = with("connect-timeout: 3");
    assert!(codes(&number).contains(&"refused"), "{number:?}");
    let short = with("connect-timeout: \"2\"");
    assert!(!codes(&short).contains(&filled), "{short:?}");
    let silent = CONTROLLER.replace("http_503", "timeout");
    let controller = format!(
        "{silent}  proxy-next-upstream-timeout: \"10\"\n  proxy-read-timeout: \"1\"\n  proxy-connect-timeout: \"30\"\n"
    );
    assert!(codes(&of(&[("c.yaml", &controller)])).contains(&filled));
}
