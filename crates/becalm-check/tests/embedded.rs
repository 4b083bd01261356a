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
