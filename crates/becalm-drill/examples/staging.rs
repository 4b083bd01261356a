//! Will a short fault of your own service become a long storm? A drill without the command.
//!
//! `cargo run -p becalm-drill --example staging -- http://127.0.0.1:8080/`

use std::process::ExitCode;
use std::sync::atomic::AtomicUsize;

use becalm::Policy;
use becalm_drill::staging::{Candidate, Options, Plan};
use becalm_drill::{Broken, Drill, Plain, Report, Show};

fn main() -> ExitCode {
    // What breaks the service is this program again, in a process of its own.
    if let Some(code) = becalm_drill::stand_in(std::env::args_os()) {
        return code;
    }
    match held(std::env::args().nth(1).unwrap_or_default()) {
        Ok(is_back) => ExitCode::from(u8::from(!is_back)),
        Err(broken) => {
            eprintln!("{broken}");
            ExitCode::from(2)
        }
    }
}

fn held(url: String) -> Result<bool, Broken> {
    let mut options = Options {
        url,
        candidates: vec![Candidate::new("default", Policy::default())],
        ..Options::default()
    };
    options.load.rate = Some(40.0);
    let outcome = Plan::new(options)?.run(&Show::on(&Plain), &AtomicUsize::new(0))?;
    Ok(outcome.is_as_expected())
}
