//! What can be said about a study, whatever its scenario?

use std::num::NonZeroUsize;
use std::path::PathBuf;

use becalm_sim::study::Plan;
use becalm_sim::tune::Space;

use crate::policy_flags::seed;

/// The flags of `becalm storm` itself.
#[derive(Debug, clap::Args)]
pub struct CatalogueFlags {
    /// List the scenarios; with names, tell all about these
    #[arg(long, value_name = "NAME", num_args = 0.., value_parser = super::scenario_name::parser())]
    #[arg(hide_possible_values = true, conflicts_with = "check")]
    pub list: Option<Vec<&'static becalm_sim::catalogue::Entry>>,

    /// Compare the simulator with the right answer of each scenario, or of these
    #[arg(long, value_name = "NAME", num_args = 0.., value_parser = super::scenario_name::parser())]
    #[arg(hide_possible_values = true)]
    pub check: Option<Vec<&'static becalm_sim::catalogue::Entry>>,

    /// Check a subset that takes a second or two for each scenario
    #[arg(long, requires = "check")]
    pub quick: bool,

    /// Check with this many seeds, each of which has to pass [default: 3, with --quick 1]
    #[arg(long, value_name = "COUNT", requires = "check")]
    #[arg(value_parser = up_to::<1_000>)]
    pub seeds: Option<u32>,

    /// The first of the seeds
    #[arg(long, value_name = "NUMBER", requires = "check", default_value_t = SEED, value_parser = seed)]
    pub seed: u64,

    /// Threads to spread the runs over; their number does not change the result [default: all]
    #[arg(long, value_name = "COUNT", requires = "check", value_parser = threads)]
    pub threads: Option<NonZeroUsize>,

    /// Print one JSON document instead (--help shows its shape)
    #[arg(long)]
    pub json: bool,
}

/// The flags of a study, beside those of its scenario and of its policy.
#[derive(Debug, Clone, clap::Args)]
pub struct StudyFlags {
    /// The policies to compare, such as "none,equal,full", "grpc" or "attempts=3;budget=none"
    ///
    /// A list of policies, separated by commas; you may give it several times. Each policy names what
    /// it starts from, or settings, or both, separated by ";". It starts from the policy of the flags,
    /// or from a jitter (the policy of the flags with that jitter), a preset ("becalm presets" lists
    /// them), a policy file (the name ends in ".toml" or ".json" or holds a "/"), "default" (becalm's
    /// own defaults), "own" (the scenario's own policy, without the flags) or "yours" (the policy of
    /// the flags). Settings have the names of the policy flags and may hold commas: "full",
    /// "grpc;cap=5s", "budget=ratio:0.1,burst:10;attempts=3".
    ///
    /// A scenario has a policy in several places: each population of clients is one, called as it is,
    /// and each call of a service to another, called "orders->db". What stands behind a place and ":"
    /// is about its policy, starts from it and leaves the others: "orders->db: default",
    /// "attempts=2; orders->db: budget=none", "orders->db.budget=none". "all" means every place.
    ///
    /// Without this flag: the scenario's own comparison and, if policy flags are given, "yours".
    #[arg(long, value_name = "LIST", help_heading = STUDY)]
    pub compare: Vec<String>,

    /// Study every point of a grid instead, such as "base=50ms..1s,attempts=2|4"
    ///
    /// Axes, separated by commas. An axis is a setting of the policy or a parameter of the scenario,
    /// "=", and its values, separated by "|". Each is one value, or a range of five steps of equal
    /// factors ("50ms..1s") or of another number ("50ms..1s:8"). Every point starts from the policy of
    /// the flags. A scenario of your own has two parameters: "load", a multiple of the calls in the
    /// file ("load=0.5..1.5"), and "outage", the time from the beginning of its first trigger to the
    /// end of the last ("outage=500ms..8s"). The setting of one place has its name in front:
    /// "orders->db.attempts=1..6".
    #[arg(long, value_name = "AXES", conflicts_with = "compare", help_heading = STUDY)]
    pub sweep: Option<String>,

    /// Find out the verdict and its figures only: no searches for worse cases, no phase map
    #[arg(long, help_heading = STUDY)]
    pub quick: bool,

    #[command(flatten)]
    pub run: RunFlags,
}

/// The flags of a search for a policy, beside those of its scenario and of its policy.
#[derive(Debug, Clone, clap::Args)]
pub struct TuneFlags {
    /// Write the recommended policy into this file, as --policy reads it
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub out: Option<PathBuf>,

    /// How many policies to try beside the given one, at most 1024 [default: 32]
    #[arg(long, value_name = "COUNT", help_heading = STUDY)]
    #[arg(value_parser = up_to::<{ Space::MOST }>)]
    pub policies: Option<u32>,

    #[command(flatten)]
    pub run: RunFlags,
}

/// How thoroughly to run, and what to write.
#[derive(Debug, Clone, clap::Args)]
pub struct RunFlags {
    /// The place that the policy flags are about, such as "orders->db" or "all"
    ///
    /// The name of a population of clients, or of a call of a service to another ("orders->db", in
    /// quotes: ">" means something to a shell), or "all" for each of these. What names no place in
    /// --compare and --sweep is about it, too, and tune changes no other.
    #[arg(long, value_name = "PLACE", help_heading = STUDY)]
    pub at: Option<String>,

    /// Exit with 1 if the service is not seen to come back under one of the policies, or under the one that tune recommends, for
    /// a build: if the verdict is metastable or overloaded, or the runs are too short to say
    #[arg(long, help_heading = STUDY)]
    pub strict: bool,

    /// Runs of each point, each with a seed of its own [default: the scenario's choice]
    #[arg(long, value_name = "COUNT", help_heading = STUDY)]
    #[arg(value_parser = up_to::<100_000>)]
    pub runs: Option<u32>,

    /// Threads to spread the runs over; their number does not change the result [default: all]
    #[arg(long, value_name = "COUNT", help_heading = STUDY, value_parser = threads)]
    pub threads: Option<NonZeroUsize>,

    /// Memory that all runs at once may take; a study that needs more is refused [default: 400MB]
    #[arg(long, value_name = "SIZE", help_heading = STUDY, value_parser = size)]
    pub memory: Option<u64>,

    /// Write a report: one HTML file that needs no other
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub report: Option<PathBuf>,

    /// Write each chart as a picture into this directory
    #[arg(long, value_name = "DIRECTORY", help_heading = REPORTS)]
    pub svg: Option<PathBuf>,

    /// Write the figures and the data of each chart as tables into this directory
    #[arg(long, value_name = "DIRECTORY", help_heading = REPORTS)]
    pub csv: Option<PathBuf>,

    /// Print one JSON document instead (becalm storm --help shows its shape)
    #[arg(long, help_heading = REPORTS)]
    pub json: bool,
}

/// The seed where none is given. It is fixed, so that the same command line gives the same figures
/// to everybody; another seed gives another sample.
pub const SEED: u64 = 1;

const STUDY: &str = "The study";
const REPORTS: &str = "Reports";

/// How thoroughly to run: the threads asked for, or all there are.
pub fn plan<'a>(seed: u64, runs: Option<u32>, threads: Option<NonZeroUsize>) -> Plan<'a> {
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut plan = Plan::default();
    plan.seed = seed;
    plan.runs = runs;
    plan.threads = threads.unwrap_or_else(all).get();
    plan
}

/// A whole number from 1 up to this one.
fn up_to<const MOST: u32>(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|it| (1..=MOST).contains(it));
    count.ok_or_else(|| format!("write a whole number from 1 to {MOST}"))
}

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let wanted = "write a whole number from 1 up, or leave it out for as many as there are";
    text.parse().map_err(|_| wanted.to_owned())
}

/// Such as `400MB` or `2GB`.
fn size(text: &str) -> Result<u64, String> {
    let units = [("MB", 1_000_000), ("GB", 1_000_000_000)];
    let given = units.iter().find_map(|(unit, bytes)| {
        let count: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        count.checked_mul(*bytes).filter(|it| *it > 0)
    });
    given.ok_or_else(|| "write a size above 0 such as 400MB or 2GB".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_a_size_is_a_whole_number_of_megabytes_or_gigabytes() {
        assert_eq!(size("400MB"), Ok(400_000_000));
        assert_eq!(size("2 GB"), Ok(2_000_000_000));
        for wrong in [
            "",
            "400",
            "MB",
            "0MB",
            "-1GB",
            "1.5GB",
            "99999999999999GB",
            "2TB",
        ] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
