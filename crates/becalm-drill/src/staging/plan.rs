//! What is the drill of a target made of, and may it be held so?

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use becalm::support::Human;
use becalm_sim::scenario::{Scenario, Service, file};
use http::Method;

use super::load::{Load, allowed as within};
use super::options::{self, Breakage, Course, Options};
use super::request;
use super::trouble::Trouble;
use super::variants;
use crate::ask::Ask;
use crate::descriptors;
use crate::fault::allowed::{self, Pinned, Refused};
use crate::fault::{self, Fault, Faults, Place, Reach, Speaks, Upstream};
use crate::ledger::BUCKET;
use crate::setup::{Setup, course};
use crate::variant::Variant;

/// How much longer than it should a fault may last, if nobody can lift it.
const SLACK: Duration = Duration::from_secs(2);

/// The most that `--max-rate` may say: what the drill's clients keep up with.
const FASTEST: u32 = 5_000;

/// The longest that `--max-time` and `--settle` may be.
const LONGEST: Duration = Duration::from_secs(3_600);

/// Everything that is settled before the first call.
#[derive(Debug)]
pub struct Plan {
    pub(crate) target: Pinned,
    /// What is asked of the target.
    pub(crate) ask: Ask,
    pub(crate) trouble: Trouble,
    /// Where it is broken; none where only the load grows.
    pub(crate) place: Option<Place>,
    /// Whether the calls go through the place where it is broken.
    pub(crate) is_in_front: bool,
    pub(crate) load: Load,
    /// Load and course, and the service if its scenario was given.
    pub(crate) setup: Setup,
    /// The service in the simulator.
    pub(crate) simulated: Option<Scenario>,
    /// The most time under one policy.
    pub(crate) most: Duration,
    /// How long the target may take to be well again without load.
    pub(crate) settle: Duration,
    /// The policies, in the order in which they are held.
    pub(crate) variants: Vec<Variant>,
    pub(crate) seed: u64,
    /// The command that repeats the drill.
    pub(crate) command: String,
    /// What may be in the way of it, in sentences.
    pub(crate) notes: Vec<String>,
}

impl Plan {
    /// Reads what the options name, checks it, and raises the limit of open files as far as it is needed.
    ///
    /// # Errors
    ///
    /// A sentence that names the flag and the remedy.
    pub fn new(options: Options) -> Result<Self, String> {
        let target = target(&options)?;
        let trouble = trouble(&options.fault)?;
        let (place, is_in_front) = place(&options, &target, trouble)?;
        let is_behind = is_broken_behind(place.as_ref(), is_in_front);
        let simulated = options.simulate.as_deref();
        let simulated = simulated.map(|path| scenario(path, trouble, is_behind));
        let simulated = simulated.transpose()?;
        let load = load(&options.load, &options.course, trouble, options.seed)?;
        let setup = setup(&options, trouble, load.rate, simulated.as_ref());
        let ask = ask(&options, &target)?;
        let variants = variants::of(&options.candidates, options.load.client_timeout);
        let most = variants.iter().map(|it| setup.most_connections(&it.policy));
        let warning = descriptors::raise(most.fold(0.0, f64::max))?;
        Ok(Self {
            ask,
            place,
            is_in_front,
            load,
            setup,
            simulated,
            most: options.course.max_time,
            settle: options.course.settle,
            target,
            trouble,
            variants,
            seed: options.seed,
            command: options.command,
            notes: warning.into_iter().collect(),
        })
    }

    /// Whether what the target calls is broken, and not the target.
    pub(crate) fn is_broken_behind(&self) -> bool {
        is_broken_behind(self.place.as_ref(), self.is_in_front)
    }

    /// Gets the fault ready; nothing is broken yet.
    ///
    /// # Errors
    ///
    /// A sentence: as [`Faults::start`].
    pub(crate) fn faults(&self) -> Result<Option<Faults>, String> {
        let place = self.place.clone().zip(self.trouble.fault());
        let faults = place.map(|(place, fault)| {
            let at_most = self.setup.trigger + SLACK;
            Faults::start(&fault::Plan {
                fault,
                place,
                at_most,
                seed: self.seed,
            })
        });
        faults.transpose()
    }
}

/// Where the URL leads, and that requests can be read there.
///
/// # Errors
///
/// A sentence that names the remedy.
pub fn target(options: &Options) -> Result<Pinned, String> {
    let target =
        Pinned::url(&options.url, &options.owned, &allowed::system).map_err(said(&options.url))?;
    if target.tls {
        return Err(format!(
            "{}: the drill's clients speak HTTP without TLS; name the port behind what ends TLS, as \
             http://HOST:PORT",
            options.url
        ));
    }
    Ok(target)
}

/// What is asked of the target.
///
/// # Errors
///
/// A request file that cannot be used, in a sentence.
pub fn ask(options: &Options, target: &Pinned) -> Result<Ask, String> {
    let ask = match &options.request {
        Some(file) => request::read(file, &target.path)?,
        None => Ask {
            method: if options.head {
                Method::HEAD
            } else {
                Method::GET
            },
            path: target.path.clone(),
            ..Ask::default()
        },
    };
    let bracketed = target.host.contains(':');
    let Pinned { host, port, .. } = target;
    Ok(ask.host(&if bracketed {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }))
}

/// The refusal of what was named so.
fn said(what: &str) -> impl Fn(Refused) -> String {
    move |refused| format!("{what}: {refused}")
}

fn trouble(asked: &Breakage) -> Result<Trouble, String> {
    let by_default = match asked.pid {
        Some(_) => Fault::Stop(Reach::Process),
        None => Fault::Hold,
    };
    let trouble = asked.fault.unwrap_or(Trouble::Fault(by_default));
    if matches!(trouble, Trouble::Load(_)) && (asked.pid.is_some() || asked.dependency.is_some()) {
        return Err(format!(
            "--fault {trouble} breaks nothing; leave out --pid and --dependency"
        ));
    }
    Ok(trouble)
}

/// A process may be the target as well as what it calls: a hang of either is one of the target.
fn is_broken_behind(place: Option<&Place>, is_in_front: bool) -> bool {
    matches!(place, Some(Place::Proxy { .. })) && !is_in_front
}

/// Where it is broken, and whether the calls go through there.
fn place(
    options: &Options,
    target: &Pinned,
    trouble: Trouble,
) -> Result<(Option<Place>, bool), String> {
    if trouble.fault().is_none() {
        return Ok((None, false));
    }
    if let Some(id) = options.fault.pid {
        return Ok((Some(Place::Process(id)), false));
    }
    let Some(dependency) = &options.fault.dependency else {
        let upstream = Upstream {
            addresses: target.addresses.clone(),
            speaks: Speaks::Http,
        };
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        return Ok((Some(Place::Proxy { listen, upstream }), true));
    };
    let refused = |sentence: String| format!("--dependency {dependency}: {sentence}");
    let (listen, address) = dependency.split_once('=').ok_or_else(|| {
        refused("write where it listens and where it leads, as in :5433=127.0.0.1:5432".into())
    })?;
    let listen = allowed::listen(listen, &options.owned, &allowed::system)
        .map_err(|it| refused(it.to_string()))?;
    let is_http = address.contains("://");
    let pinned = if is_http {
        Pinned::url(address, &options.owned, &allowed::system)
    } else {
        Pinned::address(address, &options.owned, &allowed::system)
    };
    let pinned = pinned.and_then(|it| it.behind(listen));
    let pinned = pinned.map_err(|it| refused(it.to_string()))?;
    let speaks = if is_http && !pinned.tls {
        Speaks::Http
    } else {
        Speaks::Bytes
    };
    let place = Place::Proxy {
        listen,
        upstream: Upstream {
            addresses: pinned.addresses,
            speaks,
        },
    };
    Ok((Some(place), false))
}

/// The service of a scenario, as far as the simulator can do to it what is done here.
fn scenario(path: &Path, trouble: Trouble, is_behind: bool) -> Result<Scenario, String> {
    let refused = |sentence: String| format!("--simulate {}: {sentence}", path.display());
    let scenario = file::load(path).map_err(|invalid| refused(invalid.to_string()))?;
    let [service] = &scenario.services[..] else {
        return Err(refused(
            "the drill sees one service; give the scenario of that one alone".into(),
        ));
    };
    if trouble.effect(is_behind, &service.name, "").is_some() {
        return Ok(scenario);
    }
    Err(refused(if is_behind {
        format!(
            "the simulator has the service alone, and does not know what {trouble} of what it calls does to it; take hold, or \
             leave out --simulate"
        )
    } else {
        format!("the simulator has nothing like {trouble}; take hold, delay:400ms or another fault")
    }))
}

fn load(
    asked: &options::Load,
    course: &Course,
    trouble: Trouble,
    seed: u64,
) -> Result<Load, String> {
    bounds(asked, course)?;
    let length = length(course)?;
    let most = f64::from(asked.max_rate);
    let load = match (&asked.arrivals, asked.rate) {
        (Some(path), _) => Load::read(path, course.max_time, most, seed)?,
        (None, Some(rate)) if rate > 0.0 && rate <= f64::from(FASTEST) => {
            Load::poisson(rate, course.max_time, seed)
        }
        _ => {
            return Err(format!(
                "--load must be above 0 and up to {FASTEST} first tries per second"
            ));
        }
    };
    if asked.arrivals.is_some() && !load.reaches(length) {
        return Err(format!(
            "--arrivals: the calls end after {}, and the drill takes {}; give a longer file, or \
             shorten --before, --trigger or --after",
            Human(load.ends()),
            Human(length)
        ));
    }
    let (named, busiest) = match &asked.arrivals {
        Some(_) => ("--arrivals", load.most_per_second()),
        None => ("--load", load.rate),
    };
    within(busiest * trouble.load(), most).map_err(|it| format!("{named}: {it}"))?;
    Ok(match trouble {
        Trouble::Load(factor) => load.louder(factor, course.before, course.trigger, seed),
        Trouble::Fault(_) => load,
    })
}

/// Whether what bounds any load can be meant.
///
/// # Errors
///
/// A sentence that names the flag and the remedy.
pub fn bounds(load: &options::Load, course: &Course) -> Result<(), String> {
    if !(1..=FASTEST).contains(&load.max_rate) {
        Err(format!("--max-rate must be from 1 to {FASTEST}"))
    } else if !(BUCKET..=Duration::from_secs(30)).contains(&load.client_timeout) {
        Err("--client-timeout must be from 10ms to 30s".into())
    } else if course.max_time > LONGEST || course.settle > LONGEST {
        Err(format!(
            "--max-time and --settle may be {} at most",
            Human(LONGEST)
        ))
    } else {
        Ok(())
    }
}

/// The length of the course under one policy, if it can be meant.
fn length(asked: &Course) -> Result<Duration, String> {
    let length = course(asked.before, asked.trigger, asked.after)?;
    if length > asked.max_time {
        return Err(format!(
            "the drill would last {} under each policy, and --max-time allows {}; shorten --before, \
             --trigger or --after, or allow more",
            Human(length),
            Human(asked.max_time)
        ));
    }
    Ok(length)
}

fn setup(options: &Options, trouble: Trouble, rate: f64, known: Option<&Scenario>) -> Setup {
    let service = known.and_then(|it| it.services.first());
    let capacity = service.map(Service::capacity).filter(|it| it.is_finite());
    // What the judge looks at is how much they can do together.
    let workers = service.map(|it| it.workers.saturating_mul(it.instances));
    let workers = workers.filter(|_| capacity.is_some());
    let time = workers
        .zip(capacity)
        .map(|(workers, all)| f64::from(workers) / all);
    Setup {
        workers: workers.unwrap_or(Service::UNLIMITED),
        service_time: time.map_or(Duration::ZERO, Duration::from_secs_f64),
        queue: service.and_then(|it| it.queue).unwrap_or(u32::MAX),
        load: rate,
        client_timeout: options.load.client_timeout,
        before: options.course.before,
        trigger: options.course.trigger,
        after: options.course.after,
        fault: trouble.to_string().into(),
        ..Setup::default()
    }
}
