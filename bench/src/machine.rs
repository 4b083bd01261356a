//! What were the figures taken on? One line.

use std::fs;
use std::thread::available_parallelism;

/// Cores, processor, compiler.
pub fn describe() -> String {
    let cores = available_parallelism().map_or(1, usize::from);
    let compiler = env!("COMPILER");
    format!("{cores} cores, {}, rustc {compiler}, fat LTO.", processor())
}

/// As far as the system tells, otherwise the architecture.
fn processor() -> String {
    let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let line = told.lines().find(|line| line.starts_with(key))?;
        line.split_once(": ").map(|(_, value)| value.trim())
    };
    match (value("model name"), value("cpu family")) {
        (Some(model), Some(family)) => format!("{model} (family {family})"),
        _ => std::env::consts::ARCH.to_owned(),
    }
}
