//! Do the profiles of `~/.aws/config` come out as they were written?

use std::fmt::Write as _;

use super::shapes::Draw;
use super::{FILES, read_text};

/// What is written in a profile: attempts, and whether its rate adapts.
type Said = (u64, bool);

/// A line with a name and a value, in a form that is drawn.
fn line(draw: &Draw, text: &mut String, name: &str, value: &str) {
    let name = if draw.is() {
        name.to_owned()
    } else {
        name.to_uppercase()
    };
    let between = draw.one_of(&["=", " = ", ":", "  =\t", "= "]);
    let end = draw.one_of(&["", "  ", "\n", "\n# a comment", "\n\n; = another"]);
    let _ = writeln!(text, "{name}{between}{value}{end}");
}

/// A profile, and what it says, if it says anything.
fn profile(draw: &Draw, text: &mut String) -> Option<Said> {
    let mode = draw.one_of(&["legacy", "standard", "adaptive"]);
    let most = 1 + draw.below(40);
    let says_mode = draw.is();
    let says_most = draw.is();
    let others: &[(&str, &str)] = &[
        ("region", "eu-central-1"),
        ("sso_session", "company"),
        (
            "s3",
            "\n  max_concurrent_requests = 20\n\n    addressing_style = path",
        ),
        ("role_arn", "arn:aws:iam::123456789012:role/orders"),
        ("cli_pager", ""),
        ("output", "json"),
    ];
    for (at, (name, value)) in others.iter().enumerate() {
        if at == 2 && says_mode {
            line(draw, text, "retry_mode", mode);
        }
        if at == 4 && says_most {
            let most = draw
                .one_of(&[&*most.to_string(), &*format!("0{most}")])
                .to_owned();
            line(draw, text, "max_attempts", &most);
        }
        if draw.is() {
            line(draw, text, name, value);
        }
    }
    let default = if says_mode && mode == "legacy" { 5 } else { 3 };
    let said = (
        if says_most { most } else { default },
        says_mode && mode == "adaptive",
    );
    (says_mode || says_most).then_some(said)
}

/// A file, and what its profiles say: those that say something, or the default one.
fn file(draw: &Draw) -> (String, Vec<(String, Said)>) {
    let mut text = draw.one_of(&["", "# a comment\n\n", "\n"]).to_owned();
    let mut expected = Vec::new();
    text.push_str("[default]\n");
    let of_default = profile(draw, &mut text);
    expected.extend(of_default.map(|it| ("profile default".to_owned(), it)));
    for at in 0..draw.below(6) {
        let name = format!("team-{at}");
        let head = draw
            .one_of(&[
                &*format!("[profile {name}]"),
                &*format!("[profile \"{name}\"]"),
                &*format!("[profile  '{name}'] # a comment"),
            ])
            .to_owned();
        let _ = writeln!(text, "{head}");
        let said = profile(draw, &mut text);
        expected.extend(said.map(|it| (format!("profile {name}"), it)));
    }
    if draw.is() {
        text.push_str("[sso-session company]\nsso_region = eu-central-1\n");
    }
    if expected.is_empty() {
        expected.push(("profile default".to_owned(), (3, false)));
    }
    (text, expected)
}

#[test]
fn profiles_of_aws_are_read_as_they_were_written() {
    for seed in 0..FILES {
        let (text, expected) = file(&Draw::new(seed));
        // Without a name it may be any INI file.
        if !text.contains(['=', ':']) {
            continue;
        }
        let checked = read_text(&text);
        let told: Vec<_> = checked
            .mappings
            .iter()
            .map(|it| {
                (
                    it.name.clone(),
                    (u64::from(it.policy.attempts), it.policy.rate.is_some()),
                )
            })
            .collect();
        assert_eq!(told, expected, "{text}");
    }
}
