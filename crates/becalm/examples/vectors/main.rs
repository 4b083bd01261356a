//! Writes histories of becalm's decision as JSON lines, on which an implementation in another language
//! proves that it decides as becalm does: see `docs/vectors.md`.
//!
//! ```console
//! $ cargo run --release -p becalm --features serde --example vectors -- 1000       # a seed of its own, printed
//! $ cargo run --release -p becalm --features serde --example vectors -- 1000 7     # these again
//! ```

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use becalm::rng::{Random, Seed};

mod written;

const USAGE: &str = "usage: vectors COUNT [SEED], whole numbers; the seed below 2^53";

fn main() -> ExitCode {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|it| it.parse()).collect();
    let (count, seed) = match numbers.as_deref() {
        Ok([count]) => (*count, Seed::entropy().stream().next_u64() >> 11),
        Ok([count, seed]) if *seed < 1 << 53 => (*count, *seed),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let lines = written::lines(seed, count).try_for_each(|line| writeln!(out, "{line}"));
    match lines.and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has had enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write: {error}");
            ExitCode::FAILURE
        }
    }
}
