//! Do the shells complete what a user types? Real shells, which scripts/test installs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Begun command lines, each with the word that its last one becomes.
const LINES: [(&str, &str); 11] = [
    ("becalm plan --preset gcp-m", "gcp-memorystore"),
    ("becalm plan --backoff fib", "fibonacci"),
    ("becalm presets aws-cr", "aws-crt"),
    ("becalm presets grpc aws-cr", "aws-crt"),
    ("becalm completions fi", "fish"),
    ("becalm drill ht", "http"),
    ("becalm drill targ", "target"),
    ("becalm drill http --backoff fib", "fibonacci"),
    ("becalm run -- a-program-to-w", "a-program-to-wrap"),
    (
        "becalm run --attempts 3 -- cat a-file-to-f",
        "a-file-to-find",
    ),
    (
        "becalm run --attempts 3 -- a-program-to-wrap a-file-to-f",
        "a-file-to-find",
    ),
];

/// Only a shell that knows how the wrapped command is completed.
const WRAPPED: [(&str, &str); 2] = [
    ("becalm run -- becalm presets gcp-m", "gcp-memorystore"),
    (
        "becalm run --attempts 3 -- becalm run -- a-program-to-w",
        "a-program-to-wrap",
    ),
];

/// A home with a file and a program in it, and becalm in the path.
fn home() -> TempDir {
    let home = tempfile::tempdir().expect("a directory");
    let programs = home.path().join("bin");
    fs::create_dir(&programs).expect("a directory");
    symlink(env!("CARGO_BIN_EXE_becalm"), programs.join("becalm")).expect("a link");
    let program = programs.join("a-program-to-wrap");
    fs::write(&program, "#!/bin/sh\n").expect("a file");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("it can run");
    fs::write(home.path().join("a-file-to-find"), "").expect("a file");
    home
}

/// What the script prints, within a minute.
fn printed(home: &Path, shell: &[&str], script: &str) -> Vec<String> {
    let path = std::env::var("PATH").expect("a path");
    let path = format!("{}:{path}", home.join("bin").display());
    let output = Command::new("timeout")
        .arg("60")
        .args(shell)
        .arg(script)
        .env("PATH", path)
        .env("HOME", home)
        .current_dir(home)
        .output()
        .expect("timeout is there");
    assert!(output.status.success(), "{shell:?}: {output:?}");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    printed.lines().map(str::to_owned).collect()
}

fn quoted(lines: impl Iterator<Item = &'static str>) -> String {
    lines
        .map(|line| format!("'{line}'"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn p3_bash_completes_names_and_the_wrapped_command() {
    let home = home();
    // What readline falls back to where a function finds nothing is files (`-o default`).
    let script = r#"
        source <(becalm completions bash)
        [[ $(complete -p becalm) == *"-o default"*"-F _becalm_or_command becalm" ]] || exit 9
        for line in LINES; do
            COMP_WORDS=($line) COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
            _becalm_or_command becalm "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
            ((${#COMPREPLY[@]})) || COMPREPLY=($(compgen -f -- "${COMP_WORDS[-1]}"))
            echo "${COMPREPLY[@]}"
        done
        # bash-completion, where it is, completes what stands behind the dashes.
        _command_offset() { COMPREPLY=(from "$1"); }
        COMP_WORDS=(becalm run -q -- cat x) COMP_CWORD=5
        _becalm_or_command becalm x cat
        echo "${COMPREPLY[@]}"
    "#;
    let script = script.replace("LINES", &quoted(LINES.into_iter().map(|(line, _)| line)));
    let expected = LINES.into_iter().map(|(_, word)| word).chain(["from 4"]);
    let printed = printed(home.path(), &["bash", "--norc", "-c"], &script);
    assert_eq!(printed, expected.collect::<Vec<_>>());
}

#[test]
fn p3_fish_completes_names_and_the_wrapped_command() {
    let home = home();
    let lines = LINES.into_iter().chain(WRAPPED);
    let script = "
        becalm completions fish | source
        for line in LINES
            echo (complete -C $line | string replace -r '\\t.*' '')
        end
    ";
    let script = script.replace("LINES", &quoted(lines.clone().map(|(line, _)| line)));
    let printed = printed(home.path(), &["fish", "--no-config", "-c"], &script);
    assert_eq!(printed, lines.map(|(_, word)| word).collect::<Vec<_>>());
}

/// Those of PowerShell and elvish cannot be tried here: both are far from every distribution.
#[test]
fn p3_every_shell_has_a_script_with_all_commands_and_flags() {
    let help = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .arg("help")
        .output()
        .expect("becalm runs");
    let help = String::from_utf8(help.stdout).expect("UTF-8");
    let (_, commands) = help.split_once("Commands:\n").expect("the commands");
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let commands: Vec<_> = commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.contains(&"run") && commands.contains(&"completions"));
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = Command::new(env!("CARGO_BIN_EXE_becalm"))
            .args(["completions", shell])
            .output()
            .expect("becalm runs");
        assert!(script.status.success(), "{shell}");
        let script = String::from_utf8(script.stdout).expect("UTF-8");
        for word in commands.iter().copied().chain(["attempt-timeout"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

/// Completes on a terminal, as zsh does nowhere else.
#[test]
fn p3_zsh_completes_names_and_the_wrapped_command() {
    let home = home();
    let functions = home.path().join("functions");
    fs::create_dir(&functions).expect("a directory");
    let script = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(["completions", "zsh"])
        .output()
        .expect("becalm runs");
    fs::write(functions.join("_becalm"), script.stdout).expect("a file");
    fs::write(home.path().join("setup"), ZSH_SETUP).expect("a file");
    let lines = LINES.into_iter().chain(WRAPPED);
    let script = ZSH.replace("LINES", &quoted(lines.clone().map(|(line, _)| line)));
    let printed = printed(home.path(), &["zsh", "-f", "-c"], &script);
    let expected = lines.map(|(line, word)| {
        let (begun, _) = line.rsplit_once(' ').expect("words");
        format!("{begun} {word} ")
    });
    assert_eq!(printed, expected.collect::<Vec<_>>());
}

/// A key completes; another shows the line in brackets and empties it.
const ZSH_SETUP: &str = r#"
    PS1=
    fpath=(~/functions $fpath)
    autoload -Uz compinit
    compinit -u -D
    bindkey '^I' complete-word
    show() { zle -I; print -r -- "<$BUFFER>"; BUFFER= }
    zle -N show
    bindkey '^X' show
    print rea''dy
"#;

const ZSH: &str = r"
    zmodload zsh/zpty
    zpty inner zsh -f -i
    zpty -w inner 'source ~/setup'
    zpty -r -m inner seen '*ready*'
    for line in LINES; do
        zpty -n -w inner $line$'\t\x18'
        zpty -r -m inner seen '*<*>*'
        print -r -- ${${seen##*<}%%>*}
    done
    zpty -d inner
";
