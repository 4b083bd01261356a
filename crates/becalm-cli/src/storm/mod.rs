//! `becalm storm`: what will a policy do to a service? Simulated, with the code that ships.

mod beginning;
mod check;
mod command;
pub mod contender;
mod decision;
mod document;
mod figures;
mod first;
mod flags;
mod list;
mod nearest;
mod own;
mod page;
mod patience;
mod picture;
pub mod progress;
mod remedy;
mod reports;
mod rows;
mod scenario_name;
mod section;
mod study;
mod subject;
mod table;
mod text;
mod told;
mod tune;

use std::process::ExitCode;

use crate::usage;
pub use command::Args;
use command::Request;
pub use table::colour;

/// `becalm storm`
pub fn execute(args: Args) -> ExitCode {
    let done = match args.request {
        Request::List(names, form) => Ok(list::print(&names, form)),
        Request::Check(request) => Ok(check::run(&request)),
        Request::Study(question, flags) => study::run(&question, &flags),
        Request::Tune(question, flags) => tune::run(&question, &flags),
    };
    done.unwrap_or_else(|sentence| usage::refuse(&sentence))
}
