//! What happens to a command line that cannot be read?

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, ErrorKind, Write as _};
use std::process::ExitCode;

use becalm_check::shown::printable;
use becalm_report::terminal::Painter;

/// The exit code of a refused command line, as of most commands.
pub const REFUSED: u8 = 2;

/// The exit code of a refused `becalm run`: its other codes belong to its child (as in `env` and
/// `timeout`).
pub const REFUSED_RUN: u8 = 125;

/// Prints what clap has to say (help and version too), and the exit code for it.
pub fn refused(refusal: &clap::Error) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if refusal.kind() == clap::error::ErrorKind::UnknownArgument {
        if let Some((flag, value)) = negative_value(&arguments) {
            let sentence = format!("invalid value '{value}' for '{flag}': it must not be negative");
            eprintln!("error: {}", shown(&sentence));
            return code(&arguments);
        }
    }
    let is_clean = |it: &OsString| matches!(printable(&it.to_string_lossy()), Cow::Borrowed(_));
    if refusal.use_stderr() && !arguments.iter().all(is_clean) {
        // What was typed is quoted, and moves no cursor.
        eprint!("{}", shown(&refusal.to_string()));
    } else {
        let _ = refusal.print(); // a closed pipe: nobody reads
    }
    match refusal.exit_code() {
        0 => ExitCode::SUCCESS,
        _ => code(&arguments),
    }
}

/// Says why the flags, each readable, make no sense together.
pub fn refuse(sentence: &str) -> ExitCode {
    eprintln!("error: {}", shown(sentence));
    ExitCode::from(REFUSED)
}

/// The text with what a terminal would obey made visible; names of files may hold that.
pub fn shown(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    lines.join("\n")
}

/// The text as this painter makes it, unless there is something in it that a terminal would obey beside colours: then without
/// colours, and with that made visible. Scenarios and names of files may hold it.
pub fn rendered(painter: Painter, render: impl Fn(Painter) -> String) -> String {
    let plain = render(Painter::Plain);
    let shown = shown(&plain);
    if painter == Painter::Plain || shown != plain {
        return shown;
    }
    render(painter)
}

/// Writes a command's output, part by part. A reader that has gone (`| head`) is no failure.
pub fn print<T: AsRef<[u8]>>(parts: impl IntoIterator<Item = T>) -> ExitCode {
    let mut stdout = BufWriter::new(io::stdout().lock());
    let mut parts = parts.into_iter();
    let written = parts.try_for_each(|part| stdout.write_all(part.as_ref()));
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write the output: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

fn code(arguments: &[OsString]) -> ExitCode {
    match arguments.first() {
        Some(command) if command == "run" => {
            crate::run::refuse_above();
            ExitCode::from(REFUSED_RUN)
        }
        _ => ExitCode::from(REFUSED),
    }
}

/// A flag with a negative number behind it, which clap would call an unexpected argument without
/// a word about the flag.
fn negative_value(arguments: &[OsString]) -> Option<(&str, &str)> {
    let ours = arguments.split(|it| it == "--").next()?;
    ours.windows(2).find_map(|pair| {
        let [flag, value] = pair else { return None };
        let (flag, value) = (OsStr::to_str(flag)?, OsStr::to_str(value)?);
        let number = value.strip_prefix('-')?;
        let negative = number.starts_with(|it: char| it.is_ascii_digit() || it == '.');
        (negative && flag.starts_with("--") && !flag.contains('=')).then_some((flag, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_what_a_terminal_obeys_has_no_colours_beside_it() {
        let text = |name: &'static str| move |painter: Painter| painter.bold(name) + "\n";
        for (name, painter, right) in [
            ("or\u{1b}[1mders", Painter::Ansi, "or\\u{1b}[1mders\n"),
            ("or\u{1b}[1mders", Painter::Plain, "or\\u{1b}[1mders\n"),
            ("orders", Painter::Ansi, "\u{1b}[1morders\u{1b}[0m\n"),
            ("orders", Painter::Plain, "orders\n"),
        ] {
            assert_eq!(rendered(painter, text(name)), right);
        }
    }

    #[test]
    fn only_a_negative_number_behind_a_flag_is_one() {
        for (line, expected) in [
            ("plan --base -1s", Some(("--base", "-1s"))),
            ("plan --multiplier -.5", Some(("--multiplier", "-.5"))),
            ("plan --base=1s -1", None),
            ("plan --base -x", None),
            ("run --bogus -- nice --adjustment -5", None),
        ] {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(negative_value(&arguments), expected, "{line}");
        }
    }
}
