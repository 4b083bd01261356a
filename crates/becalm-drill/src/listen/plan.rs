//! What is a drill of a client made of, and may it be held so?

use std::net::SocketAddr;
use std::time::Duration;

use becalm::Policy;
use becalm::support::Human;
use becalm_report::Colour;
use becalm_sim::scenario::Service;

use crate::fault::allowed::{self, Pinned};
use crate::fault::{self, Fault, Place, Speaks, Upstream};
use crate::setup::{Setup, course};
use crate::variant::{Role, Variant};

/// How much longer than it should the fault may last, if nobody can lift it.
const SLACK: Duration = Duration::from_secs(2);

/// The longest course: what the proxy tells of it is read again and again.
const LONGEST: Duration = Duration::from_secs(300);

/// What it takes to hold the drill: plain data. Sentences about it name the flags of `becalm drill --listen`.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Where the client is to call: `:8081` is a port of this machine alone.
    pub listen: String,
    /// What it would call: `http://HOST:PORT`.
    pub upstream: String,
    /// The hosts that may be broken, spelled as in the URL, as far as they are not this machine.
    pub owned: Vec<String>,
    /// What goes wrong.
    pub fault: Fault,
    /// How long the drill waits for the first request.
    pub wait: Duration,
    /// Time from the first request to the fault.
    pub before: Duration,
    /// How long the fault lasts.
    pub trigger: Duration,
    /// Time after the fault.
    pub after: Duration,
    /// The command that repeats the drill, for its reports.
    pub command: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: ":0".into(),
            upstream: String::new(),
            owned: Vec::new(),
            fault: Fault::Hold,
            wait: Duration::from_secs(60),
            before: Duration::from_secs(3),
            trigger: Duration::from_secs(2),
            after: Duration::from_secs(8),
            command: String::new(),
        }
    }
}

/// The drill, ready to be held.
#[derive(Debug)]
pub struct Plan {
    pub(super) setup: Setup,
    pub(super) faults: fault::Plan,
    pub(super) upstream: String,
    pub(super) wait: Duration,
    pub(super) command: String,
}

impl Plan {
    /// Checks what is asked for.
    ///
    /// # Errors
    ///
    /// A sentence that names the flag and the remedy.
    pub fn new(options: Options) -> Result<Self, String> {
        Ok(Self {
            setup: options.setup()?,
            faults: options.faults()?,
            upstream: options.upstream,
            wait: options.wait,
            command: options.command,
        })
    }
}

/// The client, of whose policy nobody here knows.
pub fn variant() -> Variant {
    Variant {
        name: "client".into(),
        title: "your client".into(),
        detail: "as it is".into(),
        description: "as it is".into(),
        colour: Colour::Blue,
        policy: Policy::default(),
        role: Role::Asked,
    }
}

impl Options {
    fn setup(&self) -> Result<Setup, String> {
        let length = course(self.before, self.trigger, self.after)?;
        if length > LONGEST || self.wait > LONGEST {
            return Err(format!(
                "the drill, and --wait, may last {} at most; shorten --before, --trigger or --after",
                Human(LONGEST)
            ));
        }
        Ok(Setup {
            workers: Service::UNLIMITED,
            service_time: Duration::ZERO,
            queue: u32::MAX,
            load: 0.0,
            client_timeout: Duration::from_secs(1),
            before: self.before,
            trigger: self.trigger,
            after: self.after,
            fault: self.fault.to_string().into(),
            ..Setup::default()
        })
    }

    fn faults(&self) -> Result<fault::Plan, String> {
        let refused =
            |flag: &str, named: &str, why: &dyn std::fmt::Display| format!("{flag} {named}: {why}");
        let listen: SocketAddr = allowed::listen(&self.listen, &self.owned, &allowed::system)
            .map_err(|why| refused("--listen", &self.listen, &why))?;
        let upstream = Pinned::url(&self.upstream, &self.owned, &allowed::system)
            .and_then(|it| it.behind(listen))
            .map_err(|why| refused("--upstream", &self.upstream, &why))?;
        if upstream.tls {
            let why = "attempts are counted by what requests say, which TLS hides; name the port behind what ends TLS, as \
                       http://HOST:PORT";
            return Err(refused("--upstream", &self.upstream, &why));
        }
        if matches!(self.fault, Fault::Stop(_)) {
            return Err(format!(
                "--fault {}: nothing but what the client calls is broken here; write hold, or take becalm drill --target with --pid",
                self.fault
            ));
        }
        Ok(fault::Plan {
            fault: self.fault,
            place: Place::Proxy {
                listen,
                upstream: Upstream {
                    addresses: upstream.addresses,
                    speaks: Speaks::Http,
                },
            },
            at_most: self.trigger + SLACK,
            seed: 0,
        })
    }
}
