//! `becalm presets`: what do well-known systems do by default?

use std::process::ExitCode;

use becalm::preset::Preset;

use crate::plan;
use crate::policy_flags::preset;
use crate::usage;
use crate::wording::{delays, indented, limits, protection};

/// List the presets: the defaults of well-known systems
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each with the system and version, its policy, and what the system does otherwise.
Examples:
  becalm presets
  becalm presets grpc envoy
  becalm presets --json | jq -r 'select(.differs).name'
  becalm plan --preset grpc --attempts 3")]
pub struct Args {
    /// Only these
    #[arg(value_name = "NAME", value_parser = preset(), hide_possible_values = true)]
    names: Vec<&'static Preset>,

    /// Print each as one line of JSON: name, source, differs (what the system does
    /// otherwise, or null), and the policy as "becalm plan --json" writes it
    #[arg(long)]
    json: bool,
}

/// `becalm presets`
pub fn execute(args: &Args) -> ExitCode {
    let describe = if args.json { line } else { describe };
    if args.names.is_empty() {
        usage::print(Preset::all().map(describe))
    } else {
        usage::print(args.names.iter().copied().map(describe))
    }
}

fn line(preset: &Preset) -> String {
    let mut line = plan::preset(preset);
    line["policy"] = preset.policy().to_string().into();
    format!("{line}\n")
}

fn describe(preset: &Preset) -> String {
    const INDENT: &str = "    ";
    let policy = preset.policy();
    let mut text = format!("{}\n", preset.name());
    let protection = protection(&policy);
    let sentences = [
        preset.source(),
        &delays(&policy),
        &limits(&policy),
        &protection,
    ];
    for sentence in sentences.into_iter().filter(|it| !it.is_empty()) {
        text.push_str(&indented(INDENT, sentence));
    }
    if let Some(differs) = preset.differs() {
        text.push_str(&indented(INDENT, &format!("differs: {differs}")));
    }
    text
}
