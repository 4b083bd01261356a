//! How much memory does a run take, and nothing else of this process?
//!
//! It runs in a process of its own: this very program, with an argument that nobody else gives.

use std::process::Command;
use std::time::Instant;
use std::{env, fs};

use super::fleet;

/// Makes this program run the herd of ten million clients and print what it took.
pub const ARGUMENT: &str = "--herd-of-ten-million";

/// What the run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken {
    /// Million events per second.
    pub rate: f64,
    /// The most memory at any time, in GiB; not a number where the system does not tell.
    pub gib: f64,
}

/// Starts the process and waits for it.
pub fn measure() -> Taken {
    let program = env::current_exe().expect("the path of this program");
    let output = Command::new(program)
        .arg(ARGUMENT)
        .output()
        .expect("this program can be started");
    assert!(output.status.success(), "{output:?}");
    parse(&String::from_utf8_lossy(&output.stdout)).expect("events per second and memory")
}

/// What that process does.
pub fn print() {
    let start = Instant::now();
    let events = fleet::ten_million();
    #[expect(clippy::cast_precision_loss)] // a few hundred million
    let rate = events as f64 / start.elapsed().as_secs_f64() / 1e6;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{rate} {}", peak(&status).unwrap_or(f64::NAN));
}

/// Bytes that this process had at most.
pub fn peak_of_this_process() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    Some(peak_in_kib(&status)? << 10)
}

fn parse(line: &str) -> Option<Taken> {
    let (rate, gib) = line.trim().split_once(' ')?;
    Some(Taken {
        rate: rate.parse().ok()?,
        gib: gib.parse().ok()?,
    })
}

/// The peak of the resident memory in GiB, as Linux tells it: `VmHWM:  123 kB`.
fn peak(status: &str) -> Option<f64> {
    #[expect(clippy::cast_precision_loss)] // far below 2^53
    let kib = peak_in_kib(status)? as f64;
    Some(kib / f64::from(1 << 20))
}

fn peak_in_kib(status: &str) -> Option<u64> {
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    value.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_in_gib() {
        let status = "VmPeak:\t 9999999 kB\nVmHWM:\t 1572864 kB\nVmRSS:\t    1000 kB\n";
        assert_eq!(peak(status), Some(1.5));
        assert_eq!(peak("VmRSS:\t 1000 kB\n"), None);
    }

    #[test]
    fn what_the_process_prints_is_read() {
        assert_eq!(
            parse("11.5 1.25\n"),
            Some(Taken {
                rate: 11.5,
                gib: 1.25
            })
        );
        assert!(parse("11.5 NaN\n").is_some_and(|taken| taken.gib.is_nan()));
        assert_eq!(parse("killed"), None);
    }
}
