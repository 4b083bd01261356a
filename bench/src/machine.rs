//! What were the figures taken on? One line.

use std::fs;
use std::thread::available_parallelism;

/// The profile of the tables that are of a default build.
pub const USERS: &str = "users";
/// The profile that this program was built with.
pub const PROFILE: &str = env!("PROFILE_NAME");

/// Cores, processor, compiler, profile.
pub fn describe() -> String {
    let cores = available_parallelism().map_or(1, usize::from);
    let compiler = env!("COMPILER");
    let built = match PROFILE {
        "release" => "fat LTO",
        USERS => "Cargo's own settings for a release",
        other => other,
    };
    format!("{cores} cores, {}, rustc {compiler}, {built}.", processor())
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
