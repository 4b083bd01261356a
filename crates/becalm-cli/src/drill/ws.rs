//! What does the command line of `becalm drill ws` take?

use std::process::ExitCode;
use std::time::Duration;

use becalm::duration::parse as duration;
use becalm_drill::ws::{NAMES, Options, Plan, Setup};

use super::hold::hold;
use super::reports::{REPORTS, ReportFlags};
use crate::again;

const FLEET: &str = "The clients";
const COURSE: &str = "The server and its outage";

const AFTER_HELP: &str = "\
A server and its clients are two processes of becalm. Where there are many clients, or where the hard limit on open files \
(ulimit -Hn) is low, there are several such pairs: 8 for 100,000 clients. Each server then has as many clients as any other, a port, and its share \
of the capacity behind an admission of its own, as servers have behind a load balancer that knows whose client is whose. What cannot \
be had is refused before it begins.

The JSON document: schema, becalm (version), command, seed, setup, as_expected, conclusion, and for each of \
the variants: name, title, description, verdict (back or down), missed (what it should have shown and did not, in \
sentences), back_after_ms (from the moment at which the server listens again until all clients are connected; or \
null), open (clients connected at the end), least_open (the fewest since the fault), most_active \
(connections of the servers at once), dials and most_dials (since the server listens again: of all clients, and of the one \
that dialled most), peak_dials_per_bucket, unconnected (nobody listened), refused (status 503), \
timed_out (the client lost its patience), broken, handshakes (the costly work, since the server listens again), for_nobody (those of \
them whose client had left), gave_up, resumed and cold (sessions since the fault that went on, and that began anew), messages, lost, doubled, two_live (times a client had two connections \
or dials at once), fault_ms and up_ms (from the begin of the arrays) and per_bucket (arrays with one number for every setup.bucket_ms). \
Names and units are stable; new ones may be added.

Exit code: 0 when the drill was held; 1 with --strict when it did not show what it should; 2 when \
it could not be held; 128 + n when signal n ended it.";

/// Kill a server of WebSockets under its clients, and see which of them come back
///
/// A server process has many clients of becalm-ws, each with a socket of its own. It is killed, and started again a
/// moment later. Each handshake costs the time of a worker that does one after the other, as a login that asks a database
/// does.
///
/// Eight times, each with another way to come back. Where the server lets everybody in: a fixed delay, exponential backoff
/// without jitter, full jitter. Behind becalm's admission: clients that hear no more than 503, and clients that come
/// at the time that it names; a drain in place of a kill; a listening socket that outlives the kill; and connections that
/// are cut while the server, and with it every session, goes on.
///
/// Throughout, each client and the server exchange numbered messages. Behind admission they keep sessions. A server that is killed
/// forgets these, and its successor never had them: then both sides go on from what the server's application has stored, by the
/// numbers. So none may be lost, and none may come twice.
///
/// It takes about five minutes. Everything is measured; nothing is scripted.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    setup: SetupFlags,

    /// Holds these variants only
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = NAMES, help_heading = COURSE)]
    only: Vec<String>,

    /// Where the draws come from; without it each drill has another, which it tells
    #[arg(long, value_name = "NUMBER", help_heading = COURSE)]
    seed: Option<u64>,

    #[command(flatten)]
    reports: ReportFlags,

    /// Exits with 1 if a variant does not show what it should
    #[arg(long, help_heading = REPORTS)]
    strict: bool,
}

/// The fleet, the server and the outage.
#[derive(Debug, clap::Args)]
struct SetupFlags {
    /// Clients, each with a connection of its own
    #[arg(long, value_name = "COUNT", default_value_t = 2_000, help_heading = FLEET)]
    clients: u32,

    /// Time after which a client gives a dial up, and dials again later
    #[arg(long, value_name = "DURATION", default_value = "4s", value_parser = duration,
          help_heading = FLEET)]
    patience: Duration,

    /// The clients' wait: always this with a fixed delay, otherwise the first, which doubles
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration,
          help_heading = FLEET)]
    base: Duration,

    /// The clients' longest wait, unless the server names another. Below --clients / --capacity everybody hears of a server that is up
    /// again before it could have taken all; with a longer one the last may be late for that alone
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration,
          help_heading = FLEET)]
    cap: Duration,

    /// Between two messages of one client
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration,
          help_heading = FLEET)]
    every: Duration,

    /// Handshakes per second that the server can do, one after the other
    #[arg(long, value_name = "PER SECOND", default_value_t = 100, help_heading = COURSE)]
    capacity: u32,

    /// How long the server is down after it was killed
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration,
          help_heading = COURSE)]
    outage: Duration,

    /// How long a service that does not come back is watched; by default twice as long as the server needs for all
    /// clients
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = COURSE)]
    watch: Option<Duration>,
}

impl Args {
    /// Holds the drill.
    ///
    /// # Errors
    ///
    /// A sentence that names the flag and the remedy.
    pub fn hold(&self) -> Result<ExitCode, String> {
        let (seed, command) = again::seeded(self.seed, std::env::args().skip(1));
        let plan = Plan::new(Options {
            setup: self.setup.setup(),
            only: self.only.clone(),
            seed,
            command: command.clone(),
        })?;
        hold(plan, &self.reports, self.strict, &command)
    }
}

impl SetupFlags {
    fn setup(&self) -> Setup {
        Setup {
            clients: self.clients,
            patience: self.patience,
            base: self.base,
            cap: self.cap,
            every: self.every,
            capacity: self.capacity,
            outage: self.outage,
            watch: self.watch,
            ..Setup::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Probe {
        #[command(flatten)]
        setup: SetupFlags,
    }

    #[test]
    fn the_defaults_of_the_flags_are_those_of_the_drill() {
        let probe = Probe::parse_from(["probe"]);
        assert_eq!(probe.setup.setup(), Setup::default());
    }
}
