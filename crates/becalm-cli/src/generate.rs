//! How do a shell and `man` learn the flags? From the same definitions as the parser.

mod sections;
mod shells;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::roff::{Roff, roman};

use crate::usage;

/// Print the completions of a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
bash, elvish, fish, PowerShell and zsh complete commands, flags and their values; bash, fish and zsh
complete the command behind \"becalm run --\", too.

Examples:
  becalm completions bash > ~/.local/share/bash-completion/completions/becalm
  becalm completions zsh > ~/.zfunc/_becalm
  becalm completions fish > ~/.config/fish/completions/becalm.fish
  becalm completions powershell >> $PROFILE
  becalm completions elvish >> ~/.config/elvish/rc.elv")]
pub struct CompletionsArgs {
    /// The shell that will read them
    shell: Shell,
}

/// Print the manual, one page per command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  becalm man | man -l -                    read it
  becalm man --dir ~/.local/share/man/man1 install it (then: man becalm-plan)")]
pub struct ManArgs {
    /// Write becalm.1, becalm-plan.1 and so on into this directory instead
    #[arg(long, value_name = "DIRECTORY")]
    dir: Option<PathBuf>,
}

/// `becalm completions`, of this command.
pub fn completions(args: &CompletionsArgs, mut command: Command) -> ExitCode {
    command.build(); // else the subcommands have no flags yet
    usage::print([shells::script(args.shell, command)])
}

/// `becalm man`, of this command.
pub fn man(args: &ManArgs, command: Command) -> ExitCode {
    let written = pages(command).and_then(|pages| match &args.dir {
        Some(directory) => write_pages(directory, &pages).map(|()| ExitCode::SUCCESS),
        None => Ok(usage::print(pages.into_iter().map(|page| page.roff))),
    });
    written.unwrap_or_else(|error| {
        let to = args.dir.as_deref().unwrap_or(Path::new("-")).display();
        let sentence = format!("cannot write the manual to {to}: {error}");
        eprintln!("error: {}", usage::shown(&sentence));
        ExitCode::FAILURE
    })
}

struct Page {
    /// `becalm-plan.1`
    file: String,
    roff: Vec<u8>,
}

/// The page of the command and of each command below it but `help`.
fn pages(command: Command) -> io::Result<Vec<Page>> {
    let mut command = command.disable_help_subcommand(true);
    command.build(); // gives the subcommands their full names
    let commands = with_subcommands(&command);
    let page = |command: Command| {
        let roff = render(&command)?;
        let file = clap_mangen::Man::new(command).get_filename();
        Ok(Page { file, roff })
    };
    commands.into_iter().map(page).collect()
}

/// The command, and all below it.
fn with_subcommands(command: &Command) -> Vec<Command> {
    let below = command.get_subcommands().flat_map(with_subcommands);
    [command.clone()].into_iter().chain(below).collect()
}

/// Like [`clap_mangen::Man::render`], but the text behind the options keeps its lines.
fn render(command: &Command) -> io::Result<Vec<u8>> {
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_long_help().or(command.get_after_help()) {
        let mut roff = Roff::new();
        for (name, lines) in sections::of(&text.to_string()) {
            roff.control("SH", [name]).control("nf", []);
            for line in lines {
                roff.text([roman(line)]);
            }
            roff.control("fi", []);
        }
        roff.to_writer(&mut page)?;
    }
    Ok(page)
}

fn write_pages(directory: &Path, pages: &[Page]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    pages
        .iter()
        .try_for_each(|page| fs::write(directory.join(&page.file), &page.roff))
}
