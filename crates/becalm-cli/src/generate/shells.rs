//! What does a shell complete that its generator leaves out? Names that stand without a flag, and the
//! command behind `becalm run --`, which the shell completes as if it stood alone.

use std::fmt::Write as _;

use clap::builder::PossibleValue;
use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;

/// The completions of a shell.
pub fn script(shell: Shell, command: Command) -> String {
    let mut command = command.mut_subcommand("run", |run| {
        run.mut_arg("command", |it| {
            it.value_hint(ValueHint::CommandWithArguments)
        })
    });
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "becalm", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => {
            script = script.replace("complete -F _becalm ", "complete -F _becalm_or_command ");
            script.push_str(BASH_RUN);
        }
        Shell::Fish => {
            for subcommand in command.get_subcommands() {
                for positional in subcommand.get_positionals() {
                    fish_names(&mut script, subcommand.get_name(), positional);
                }
            }
            script.push_str(FISH_RUN);
        }
        _ => {}
    }
    script
}

/// The fish generator knows no value without a flag.
fn fish_names(script: &mut String, subcommand: &str, positional: &Arg) {
    let names = positional.get_possible_values();
    let names: Vec<&str> = names.iter().map(PossibleValue::get_name).collect();
    if !names.is_empty() {
        let _ = writeln!(
            script,
            "complete -c becalm -n \"__fish_becalm_using_subcommand {subcommand}\" -f -a \"{}\"",
            names.join(" ")
        );
    }
}

/// `_command_offset` is of bash-completion, whose version 2.12 renamed it.
const BASH_RUN: &str = r#"
_becalm_or_command() {
    local at
    if [[ ${COMP_WORDS[1]} == run ]]; then
        for ((at = 2; at < COMP_CWORD; at++)); do
            [[ ${COMP_WORDS[at]} == -- ]] || continue
            if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset $((at + 1))
            elif declare -F _command_offset >/dev/null; then
                _command_offset $((at + 1))
            elif ((COMP_CWORD == at + 1)); then
                COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}" | sort -u))
            else
                COMPREPLY=()
            fi
            return
        done
    fi
    _becalm "$@"
}
"#;

const FISH_RUN: &str = r#"
function __fish_becalm_wraps_command
    set -l words (commandline -opc)
    test "$words[2]" = run
    and contains -- -- $words
end

function __fish_becalm_wrapped_command
    set -l words (commandline -opc)
    set -l last (contains -i -- -- $words)
    set -e words[1..$last]
    complete -C (string join -- ' ' (string escape -- $words) (commandline -ct))
end

complete -c becalm -n __fish_becalm_wraps_command -f -a "(__fish_becalm_wrapped_command)"
"#;
