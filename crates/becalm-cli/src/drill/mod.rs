//! Which drill is asked for, and where does it go what it came to? `becalm-drill` holds it.

mod hold;
mod listen;
mod local;
mod order;
mod policies;
mod reports;
mod target;
#[cfg(all(feature = "ws", unix))]
mod ws;

use std::process::ExitCode;

use becalm_drill::local::Wire;
use clap::Subcommand as _;

use crate::usage;
use local::{AFTER_HELP, Flags};
pub use order::in_order;

/// Show on this machine how retries turn a short fault into a long storm, and what prevents it
///
/// Six services listen on 127.0.0.1, each with its own clients: no backoff; exponential backoff
/// without jitter; full jitter; full jitter with a breaker, and with a bulkhead; and the policy of
/// the flags, by default becalm's own, with its 10% budget. All clients make the same calls at the
/// same moments, below the service's capacity. After a second all services hang for two seconds.
/// Then it shows who recovers.
///
/// In the second part a service that is well answers one request in 40 late, to clients without
/// and with a hedge.
///
/// In the third part the service of a busy client refuses everything for 200 ms, to clients with one
/// attempt, without a budget, and with your policy: how many of the calls that begin meanwhile succeed.
///
/// It takes about 25 seconds. Everything is measured; nothing is scripted. "becalm drill http" holds it
/// with the clients of becalm-reqwest.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub struct Args {
    #[command(subcommand)]
    through: Option<Through>,

    #[command(flatten)]
    flags: Flags,
}

/// Whose clients make the calls, if not the drill's own.
#[derive(Debug, clap::Subcommand)]
enum Through {
    #[cfg(feature = "http")]
    /// Hold the drill with the HTTP client becalm-reqwest, as an application has it
    ///
    /// The services, the calls, the six policies and the reports are those of "becalm drill", and so
    /// are the flags. The clients are those of the crate becalm-reqwest: reqwest keeps the
    /// connections, and becalm-reqwest repeats the requests.
    #[command(after_long_help = AFTER_HELP)]
    Http(Box<Flags>),

    #[cfg(all(feature = "ws", unix))]
    Ws(Box<ws::Args>),

    #[command(long_flag = "target")]
    Target(Box<target::Args>),

    #[command(long_flag = "listen")]
    Listen(Box<listen::Args>),
}

/// What can be asked for.
pub fn names() -> Vec<String> {
    let drill = clap::Command::new("becalm drill");
    let all = Through::augment_subcommands(drill.clone());
    let written = all.get_subcommands().map(|it| match it.get_long_flag() {
        Some(flag) => format!("{} --{flag}", drill.get_name()),
        None => format!("{} {}", drill.get_name(), it.get_name()),
    });
    [drill.get_name().to_owned()]
        .into_iter()
        .chain(written)
        .collect()
}

/// Holds the drill.
pub fn execute(args: Args) -> ExitCode {
    let held = match args.through {
        #[cfg(feature = "http")]
        Some(Through::Http(flags)) => flags.hold(Wire::Reqwest),
        #[cfg(all(feature = "ws", unix))]
        Some(Through::Ws(args)) => args.hold(),
        Some(Through::Target(args)) => args.hold(),
        Some(Through::Listen(args)) => args.hold(),
        None => args.flags.hold(Wire::Own),
    };
    held.unwrap_or_else(|sentence| usage::refuse(&sentence))
}
