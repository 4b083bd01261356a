//! What is a number or a flag to the parser of a system?
//!
//! YAML 1.1 has more forms of numbers than decimal ones, and each parser has its own part of them. Run with `gopkg.in/yaml.v2` and `v3`,
//! `sigs.k8s.io/yaml`, `SnakeYAML` 1.33 with Spring's conversions, yaml-cpp 0.7, and Envoy 1.40.

use crate::document::{Node, Value};

/// Who reads the scalars of a system's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalars {
    /// A parser of JSON: what stands there.
    Json,
    /// Go's parsers of YAML, and those of TOML.
    Go,
    /// yaml-cpp. What is no whole number is read by protobuf.
    Cpp,
    /// `SnakeYAML`, whose numbers become what the field wants.
    Java,
    /// `SnakeYAML`, whose numbers become texts first: `3.0` is no whole number.
    JavaTexts,
}

/// What a parser makes of a number that is written in another form than a decimal one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meant {
    /// The number in decimal digits.
    pub text: String,
    /// Whether a 0 before it makes it one in base 8, and another number.
    pub is_octal: bool,
}

impl Scalars {
    /// What the parser makes of a scalar. `None` of what is no number, or one in decimal digits alone.
    pub fn meant(self, node: &Node) -> Option<Meant> {
        let Value::Scalar { text, quoted } = &node.value else {
            return None;
        };
        let begins = text.trim_start_matches(['-', '+']);
        if !begins.starts_with(|it: char| it.is_ascii_digit() || it == '.' || it == '#') {
            return None;
        }
        let in_base = if *quoted {
            self.of_text(text)
        } else {
            self.whole(text)
        };
        let number = in_base.or_else(|| self.whole_float(text).filter(|_| !quoted))?;
        let meant = number.to_string();
        let is_octal = begins.starts_with('0') && text.parse().is_ok_and(|it: i128| it != number);
        (meant != *text).then_some(Meant {
            text: meant,
            is_octal,
        })
    }

    /// A text that is bound to a number: by `NumberUtils.parseNumber` of Spring, and by protobuf.
    fn of_text(self, text: &str) -> Option<i128> {
        let prefixes: &[_] = match self {
            Self::Json | Self::Go => return None,
            Self::Cpp => &["0x", "0X"],
            Self::Java | Self::JavaTexts => &["0x", "0X", "#"],
        };
        let (sign, digits) = signed(text);
        let digits = prefixes.iter().find_map(|it| digits.strip_prefix(it))?;
        Some(sign * radix(digits, 16)?)
    }

    fn whole(self, text: &str) -> Option<i128> {
        let bases: &[_] = match self {
            Self::Json => return None,
            Self::Go => &[
                ("0x", 16),
                ("0X", 16),
                ("0o", 8),
                ("0O", 8),
                ("0b", 2),
                ("0B", 2),
            ],
            Self::Cpp => &[("0x", 16), ("0X", 16)],
            Self::Java | Self::JavaTexts => &[("0x", 16), ("0X", 16), ("0b", 2)],
        };
        let (sign, digits) = signed(text);
        let plain = digits.replace('_', "");
        if self == Self::Cpp && plain != digits {
            return None;
        }
        let in_base = bases
            .iter()
            .find_map(|(prefix, base)| Some((*base, plain.strip_prefix(prefix)?)));
        let octal = || Some((8, plain.strip_prefix('0').filter(|it| !it.is_empty())?));
        let (base, digits) = in_base.or_else(octal).unwrap_or((10, &plain));
        Some(sign * radix(digits, base)?)
    }

    #[expect(clippy::cast_possible_truncation)] // whole, and far within
    fn whole_float(self, text: &str) -> Option<i128> {
        let is_read = matches!(self, Self::Go | Self::Java);
        let number = float(text).filter(|it| is_read && it.fract() == 0.0)?;
        (number.abs() < 1e15).then_some(number as i128)
    }
}

/// Whether Go's parser of YAML makes a number of it, and no text.
pub fn is_number(node: &Node) -> bool {
    let Value::Scalar {
        text,
        quoted: false,
    } = &node.value
    else {
        return false;
    };
    Scalars::Go.whole(text).is_some() || float(text).is_some()
}

/// What the parser of Kubernetes makes true or false without quotes.
pub fn flag(text: &str) -> Option<bool> {
    let is_in = |words: [&str; 4]| {
        words.iter().any(|it| {
            let (first, rest) = it.split_at(1);
            let capital = first.to_uppercase();
            text == *it || text == format!("{capital}{rest}") || text == it.to_uppercase()
        })
    };
    if is_in(["true", "yes", "on", "y"]) {
        return Some(true);
    }
    is_in(["false", "no", "off", "n"]).then_some(false)
}

/// Whether the parser of Kubernetes makes true or false of it.
pub fn is_flag(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar { text, quoted: false } if flag(text).is_some())
}

/// A text as `strconv.ParseBool` reads it.
pub fn go_flag(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn signed(text: &str) -> (i128, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn radix(digits: &str, base: u32) -> Option<i128> {
    let is_bare = digits.starts_with(|it: char| it.is_ascii_hexdigit());
    let number = is_bare.then(|| u64::from_str_radix(digits, base).ok())?;
    number.map(i128::from)
}

/// `yamlStyleFloat` of Go, which has those of the others.
fn float(text: &str) -> Option<f64> {
    let plain = text.replace('_', "");
    let is_one = |it: u8| it.is_ascii_digit() || b".eE+-".contains(&it);
    let number: f64 = plain.bytes().all(is_one).then(|| plain.parse().ok())??;
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Span;

    fn node(text: &str) -> Node {
        let bare = text.trim_matches('\'');
        let value = Value::Scalar {
            text: bare.to_owned(),
            quoted: bare != text,
        };
        let span = Span::new(1, 1, 0);
        Node { span, value }
    }

    /// What the parsers themselves made of `a: TEXT`, read into a whole number.
    #[test]
    fn each_parser_has_forms_of_its_own() {
        use Scalars::{Cpp, Go, Java, JavaTexts};
        for (text, go, java, texts, cpp) in [
            ("0x3", Some(3), Some(3), Some(3), Some(3)),
            ("0X3", Some(3), Some(3), Some(3), Some(3)),
            ("0o3", Some(3), None, None, None),
            ("0b11", Some(3), Some(3), Some(3), None),
            ("030", Some(24), Some(24), Some(24), Some(24)),
            ("-030", Some(-24), Some(-24), Some(-24), Some(-24)),
            ("1_0", Some(10), Some(10), Some(10), None),
            ("3_", Some(3), Some(3), Some(3), None),
            ("+3", Some(3), Some(3), Some(3), Some(3)),
            ("3.0", Some(3), Some(3), None, None),
            ("1e3", Some(1000), Some(1000), None, None),
            (".5e1", Some(5), Some(5), None, None),
            ("3.5", None, None, None, None),
            ("_3", None, None, None, None),
            ("1:30", None, None, None, None),
            ("--3", None, None, None, None),
            ("0x", None, None, None, None),
            ("10s", None, None, None, None),
            ("'030'", None, None, None, None),
            ("'3.0'", None, None, None, None),
            ("'0x3'", None, Some(3), Some(3), Some(3)),
            ("'#3'", None, Some(3), Some(3), None),
        ] {
            for (who, number) in [(Go, go), (Java, java), (JavaTexts, texts), (Cpp, cpp)] {
                let meant = who.meant(&node(text)).map(|it| it.text);
                assert_eq!(
                    meant,
                    number.map(|it: i32| it.to_string()),
                    "{text} {who:?}"
                );
            }
            assert_eq!(Scalars::Json.meant(&node(text)), None, "{text}");
        }
    }

    #[test]
    fn a_number_in_base_8_is_another_one() {
        for (text, is_octal) in [
            ("030", true),
            ("007", false),
            ("0x10", false),
            ("0o17", false),
        ] {
            let meant = Scalars::Go.meant(&node(text)).unwrap();
            assert_eq!(meant.is_octal, is_octal, "{text}");
        }
        assert_eq!(Scalars::Go.meant(&node("089")).unwrap().text, "89");
    }

    #[test]
    fn what_kubernetes_makes_of_words() {
        for (text, is_flag, is_number) in [
            ("yes", true, false),
            ("Off", true, false),
            ("Y", true, false),
            ("tRue", false, false),
            ("'no'", false, false),
            ("0x3", false, true),
            ("089", false, true),
            ("1e3", false, true),
            ("'3'", false, false),
            ("1e400", false, false),
            ("2020-01-01", false, false),
            ("1:30", false, false),
            (".inf", false, false),
        ] {
            let node = node(text);
            let told = (super::is_flag(&node), super::is_number(&node));
            assert_eq!(told, (is_flag, is_number), "{text}");
        }
    }
}
