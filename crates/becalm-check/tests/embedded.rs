//! What a `ConfigMap` holds beside and in its texts is told once, and a text that is no YAML is no broken file.

use becalm_check::{Checked, File, Settings, Severity, check};

fn of(name: &str, text: &str) -> Checked {
    check(&[File::new(name, text)], &Settings::default())
}

fn found(checked: &Checked) -> Vec<(usize, &str, Severity)> {
    let all = checked.findings.iter();
    all.map(|it| (it.span.line, it.code, it.severity)).collect()
}

fn map(data: &str) -> Checked {
    let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{data}");
    of("a.yaml", &text)
}

const NOT_READ: (&str, Severity) = ("retries-not-read", Severity::Warning);

/// What is told of a map, as warnings and errors.
fn told(data: &str) -> Vec<(usize, String, Severity)> {
    let checked = map(data);
    let all = found(&checked).into_iter();
    all.filter(|it| it.2 > Severity::Note)
        .map(|(line, code, severity)| (line, code.to_owned(), severity))
        .collect()
}

#[test]
fn a_text_of_which_something_is_told_hides_no_key_beside_it() {
    let (code, severity) = NOT_READ;
    for text in [
        "x: a, b: c",
        "x: {{ .a.b }}",
        "x: a",
        "a text",
        "[x]\ny = 1",
    ] {
        let text = text.replace('\n', "\n    ");
        for data in [
            format!("  retries: \"5\"\n  a.txt: |\n    {text}\n"),
            format!("  retries: \"5\"\n  a.yaml: |\n    {text}\n"),
        ] {
            assert_eq!(told(&data), [(5, code.to_owned(), severity)], "{data}");
        }
    }
    // What is told of a text is not told of its key again.
    for text in ["retries 5", "max_retries = 5", "retry-on 5xx", "retries: 3"] {
        let data = format!("  retry.cfg: |\n    {text}\n");
        assert_eq!(told(&data), [(6, code.to_owned(), severity)], "{data}");
        let data = format!("{data}  retries: \"5\"\n");
        let both = [6, 7].map(|line| (line, code.to_owned(), severity));
        assert_eq!(told(&data), both, "{data}");
    }
}

#[test]
fn a_text_of_one_line_is_read_as_one_of_many() {
    let (code, severity) = NOT_READ;
    for data in [
        "  backend-config-snippet: \"retries 5\"\n",
        "  backend-config-snippet: |-\n    retries 5\n",
        "  backend-config-snippet: retry-on all-retryable-errors\n",
        "  settings: '{\"maxRetries\": 5}'\n",
        "  a.properties: max.retries=5\n",
        "  a.cfg: max_retries = 5\n",
    ] {
        let lines: Vec<_> = told(data);
        assert_eq!(lines.len(), 1, "{data}{lines:?}");
        assert_eq!((&*lines[0].1, lines[0].2), (code, severity), "{data}");
    }
    let route = "{\"methodConfig\": [{\"name\": [{}], \"retryPolicy\": {\"maxAttempts\": 3, \"initialBackoff\": \"0.1s\", \
                 \"maxBackoff\": \"1s\", \"backoffMultiplier\": 2, \"retryableStatusCodes\": [\"UNAVAILABLE\"]}}]}";
    assert_eq!(map(&format!("  grpc: '{route}'\n")).mappings.len(), 1);
    for data in [
        "  about: what retries, and when\n",
        "  about: retryPolicy is the policy\n",
        "  field: retryOn\n",
        "  about: retries are made\n",
        "  log: '[%t] {%a}'\n",
        "  a.yaml: '{{ x }}'\n",
    ] {
        let checked = map(data);
        let codes: Vec<_> = checked.findings.iter().map(|it| it.code).collect();
        assert_eq!(codes, ["unknown-system"], "{data}");
    }
    let ingress = "kind: Ingress\nmetadata:\n  annotations:\n    haproxy.org/backend-config-snippet: retries 5\n";
    let checked = of("a.yaml", ingress);
    assert_eq!(found(&checked), [(4, code, severity)]);
}

#[test]
fn a_text_that_is_no_yaml_is_no_broken_file() {
    for text in [
        "address: 127.0.0.1, facility: local0",
        "Note: this is a text: of words",
        "package main\n\nfunc main() {\n\tx := map[string]int{\"a\": 1}\n}",
        "a: \"b",
    ] {
        let text = text.replace('\n', "\n    ");
        let checked = map(&format!("  a: |\n    {text}\n"));
        let codes: Vec<_> = checked.findings.iter().map(|it| it.code).collect();
        assert!(!codes.contains(&"cannot-read"), "{text}{codes:?}");
        let named = format!("  a.yaml: |\n    {text}\n");
        assert_eq!(told(&named), [], "{text}");
    }
    let (code, severity) = NOT_READ;
    for name in ["notes.txt", "a", "a.yaml", "a.json"] {
        for text in [
            "retries: how often, default: 3",
            "a: 1\n    ---\n    retries: how often, default: 3",
        ] {
            let data = format!("  {name}: |\n    {text}\n");
            let line = 5 + text.lines().count();
            assert_eq!(told(&data), [(line, code.to_owned(), severity)], "{data}");
        }
    }
    let broken = map("  a.yaml: |\n    a: [1\n");
    assert!(
        broken.findings.iter().any(|it| it.code == "cannot-read"),
        "{broken:?}"
    );
}

#[test]
fn a_file_that_is_no_yaml_by_name_or_form_is_of_an_unknown_system() {
    let unit = "[Unit]\nDescription=nginx\n\n[Service]\nExecStop=/sbin/start-stop-daemon --stop --retry QUIT/5\n";
    for (name, text) in [
        ("u.service", unit),
        ("u", unit),
        ("u.timer", "# a\n[Timer]\nOnCalendar=*:0/15\n"),
        ("a.go", "package a\n\nvar x = map[string]int{\"a\": 1}\n"),
        ("NOTES", "As told: this: is a text\n"),
    ] {
        let checked = of(name, text);
        let codes: Vec<_> = found(&checked).iter().map(|it| (it.1, it.2)).collect();
        assert_eq!(
            codes,
            [("unknown-system", Severity::Note)],
            "{name}\n{text}"
        );
    }
    for (name, text) in [
        ("-", "retries: [1\n"),
        ("a.yaml.orig", "- retries: [1\n"),
        ("a", "{\"retries\": [1}\n"),
        ("a", "%YAML 1.2\n---\nretries: \"1\n"),
        ("a", "\"retries\": [1\n"),
        ("a", "[{\"retries\": 1\n"),
        ("a.yaml", unit),
    ] {
        let checked = of(name, text);
        let is_told =
            |it: &(usize, &str, Severity)| (it.1, it.2) == ("cannot-read", Severity::Error);
        assert!(
            found(&checked).iter().any(is_told),
            "{name}\n{text}{checked:?}"
        );
    }
}

#[test]
fn a_text_that_says_nothing_hides_no_key_of_its_own_and_a_script_sets_nothing() {
    for (data, expected) in [
        ("RETRY_PATTERN: \"{GET,*}\"", 1),
        ("retry-policy: |\n    mode: exponential: 2\n    max: 5", 1),
        (
            "retry.sh: |\n    num_retries = 4\n  a.yaml: |\n    retries: 3",
            1,
        ),
        ("app.env: \"MAX_RETRIES=5\"", 1),
        ("about: \"retries 3 times before it gives up\"", 0),
        ("about: \"num_retries (deprecated)\"", 0),
        ("about: \"retry_policy isn't set\"", 0),
        ("about: \"retryPolicy: see the docs\"", 0),
        ("about: \"retry-on conn-failure 503\"", 1),
    ] {
        let told = told(&format!("  {data}\n"));
        let warned = told.iter().filter(|it| it.1 == "retries-not-read");
        assert_eq!(warned.count(), expected, "{data}\n{told:?}");
    }
}

/// A text that holds a map, in which a text holds a map, and so on.
fn nested(depth: usize) -> String {
    (0..depth).fold("retries: 3\n".to_owned(), |inner, _| {
        let lines = inner.lines().map(|it| format!("    {it}\n"));
        format!(
            "kind: ConfigMap\ndata:\n  a: |\n{}",
            lines.collect::<String>()
        )
    })
}

/// What is read is read once more for each map around it.
#[test]
fn maps_in_maps_are_read_to_a_depth_and_told_beyond() {
    for depth in [1, 2, 4] {
        let checked = of("a.yaml", &nested(depth));
        let (code, severity) = NOT_READ;
        assert_eq!(
            found(&checked),
            [(3 * depth + 1, code, severity)],
            "{depth}"
        );
    }
    for depth in [5, 6, 30] {
        let checked = of("a.yaml", &nested(depth));
        let (code, severity) = NOT_READ;
        let below = (3 * depth + 1, code, severity);
        let note = (16, "not-known", Severity::Note);
        assert_eq!(found(&checked), [note, below], "{depth}");
    }
    let twice = nested(4).replace(
        "retries: 3",
        "kind: ConfigMap\n                data: {a: \"b\\nc\", d: \"e\\nf\"}",
    );
    let told = of("a.yaml", &twice);
    let notes = told.findings.iter().filter(|it| it.code == "not-known");
    assert_eq!(notes.count(), 2, "{told:?}");
}

/// Of a key, what is read of it is what is read of a file of this name.
#[test]
fn a_text_is_read_by_the_reader_of_its_format() {
    for (name, text, system) in [
        ("envoy.yaml", include_str!("golden/envoy.yaml"), "envoy"),
        (
            "resilience.yaml",
            include_str!("golden/resilience4j.yml"),
            "resilience4j",
        ),
        (
            "application.properties",
            "resilience4j.retry.instances.o.maxAttempts=3\n",
            "resilience4j",
        ),
        ("retry.json", include_str!("golden/grpc.json"), "grpc"),
        (
            "appsettings.json",
            include_str!("golden/dotnet-resilience.json"),
            "dotnet-resilience",
        ),
        ("retry.conf", include_str!("golden/nginx.conf"), "nginx"),
        ("retry.cfg", include_str!("golden/haproxy.cfg"), "haproxy"),
        (
            "retry.ini",
            include_str!("golden/aws-config.ini"),
            "aws-config",
        ),
        ("retry.toml", include_str!("golden/becalm.toml"), "becalm"),
    ] {
        let lines = text.lines().map(|it| format!("    {it}\n"));
        let inner = map(&format!("  {name}: |\n{}", lines.collect::<String>()));
        let alone = of(name, text);
        assert!(!alone.mappings.is_empty(), "{name}");
        let policies = |of: &Checked| -> Vec<_> {
            let all = of.mappings.iter();
            all.map(|it| (it.system, it.policy.to_string())).collect()
        };
        assert_eq!(policies(&inner), policies(&alone), "{name}");
        assert!(
            inner.mappings.iter().all(|it| it.system == system),
            "{name}"
        );
    }
    let sentence = |data: &str| map(data).findings[0].sentence.clone();
    let one = sentence("  resilience.yaml: |\n    max: 3\n    delay: 5s\n");
    assert!(one.ends_with("nor is its `resilience.yaml`"), "{one}");
    let two = sentence("  a: b\n  resilience.yaml: |\n    max: 3\n  b.toml: x = 1\n");
    assert!(
        two.ends_with("nor is its `resilience.yaml`, nor 1 more"),
        "{two}"
    );
    let none = sentence("  a: b\n  size: \"3\"\n");
    assert!(none.ends_with("that is read"), "{none}");
    // Of no reader.
    for name in [
        "retry.json",
        "retry.yaml",
        "retry.toml",
        "retry.properties",
        "retry.conf",
        "retries.env",
        "retry.txt",
    ] {
        let (code, severity) = NOT_READ;
        let text = if name.ends_with("json") {
            "{\"max\": 3}"
        } else {
            "max = 3\n    wait = 5"
        };
        let told = told(&format!("  {name}: |\n    {text}\n"));
        assert_eq!(told, [(5, code.to_owned(), severity)], "{name}");
    }
}
