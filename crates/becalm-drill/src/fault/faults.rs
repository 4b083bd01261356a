//! How does a drill begin a fault, lift it, and make sure that it is lifted?

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::helper::Helper;
#[cfg(unix)]
use super::process::Process;
use super::proxy::{self, Brief, Order, Told};
use super::seen::{Bucket, Seen};
use super::spec::Fault;
#[cfg(unix)]
use super::stopped::Stopped;
#[cfg(not(unix))]
use super::unstoppable::{Process, Stopped};
use super::upstream::{Speaks, Upstream};

/// What is to be broken, where, and for how long at most: plain data.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub fault: Fault,
    pub place: Place,
    /// The fault is lifted after this time even if nobody does, as when the drill itself is stopped.
    pub at_most: Duration,
    /// What [`Fault::Loss`] draws from.
    pub seed: u64,
}

/// Where the fault is.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// In a proxy: before the service, or between it and what it calls.
    Proxy {
        /// Port 0 takes a free one.
        listen: SocketAddr,
        upstream: Upstream,
    },
    /// In a process of this machine, by its id.
    Process(i32),
}

/// A fault that can be begun and lifted, as often as is needed.
///
/// It is lifted when this is dropped, and when this process ends, however it does: what breaks is a process of its own, and
/// hears of it. A proxy then passes everything on until it is stopped (SIGTERM), or has had no connection for a while:
/// ten seconds on a port that it chose itself, ten minutes on one that was named.
#[derive(Debug)]
pub struct Faults {
    /// What the service is reached at.
    address: Option<SocketAddr>,
    means: Mutex<Means>,
}

#[derive(Debug)]
enum Means {
    /// With the buckets that it has told of so far.
    Proxy(Helper<Order, Told>, Vec<Bucket>),
    Process(Stopped),
}

impl Faults {
    /// Gets everything ready; nothing is broken yet.
    ///
    /// # Errors
    ///
    /// A sentence: the fault is none of this place, the port is taken, or the process may not be stopped.
    pub fn start(plan: &Plan) -> Result<Self, String> {
        let fault = plan.fault;
        match (&plan.place, fault) {
            (Place::Process(id), Fault::Stop(reach)) => {
                let process = Process::of(*id)?;
                Ok(Self {
                    address: None,
                    means: Mutex::new(Means::Process(Stopped::new(process, reach, plan.at_most)?)),
                })
            }
            (Place::Process(_), _) => Err(format!(
                "a process can be stopped, and nothing else; write stop in place of {fault}"
            )),
            (Place::Proxy { .. }, Fault::Stop(_)) => {
                Err("a process has to be named that is to be stopped; add --pid".into())
            }
            (Place::Proxy { upstream, .. }, _)
                if fault.needs_requests() && upstream.speaks == Speaks::Bytes =>
            {
                Err(format!(
                    "{fault} needs requests that can be read, and these are encrypted or of another kind; take hold, delay, \
                     reset or loss, or name the address as http://HOST:PORT"
                ))
            }
            (Place::Proxy { listen, upstream }, _) => {
                let brief = Brief {
                    fault,
                    listen: *listen,
                    upstream: upstream.clone(),
                    at_most: plan.at_most,
                    seed: plan.seed,
                };
                let (helper, told) = Helper::start(proxy::NAME, &brief)?;
                let Told::Listening(address) = told else {
                    return Err("the drill's proxy has said something else than where it is".into());
                };
                Ok(Self {
                    address: Some(address),
                    means: Mutex::new(Means::Proxy(helper, Vec::new())),
                })
            }
        }
    }

    /// Where requests go so that the fault can reach them; none where a process is stopped.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Breaks it; in force when this returns, within a millisecond or so.
    ///
    /// # Errors
    ///
    /// A sentence. Then nothing is broken.
    pub fn begin(&self) -> Result<(), String> {
        self.with(|means| match means {
            Means::Proxy(proxy, _) => proxy.ask(&Order::Begin).map(drop),
            Means::Process(stopped) => stopped.begin(),
        })
    }

    /// Lifts it; so when this returns, within a millisecond or so. Nothing happens where nothing is broken.
    ///
    /// # Errors
    ///
    /// A sentence: a helper is gone, and with it the fault; or a process could not be continued.
    pub fn lift(&self) -> Result<(), String> {
        self.with(|means| match means {
            Means::Proxy(proxy, _) => proxy.ask(&Order::Lift).map(drop),
            Means::Process(stopped) => stopped.lift(),
        })
    }

    /// What the proxy has seen so far; nothing where a process is stopped.
    ///
    /// # Errors
    ///
    /// A sentence: the proxy is gone.
    pub fn seen(&self) -> Result<Seen, String> {
        self.with(|means| match means {
            Means::Proxy(proxy, buckets) => match proxy.ask(&Order::Tell)? {
                Told::News(news) => Ok(news.onto(buckets)),
                _ => Err("the drill's proxy has said something else than what it has seen".into()),
            },
            Means::Process(_) => Ok(Seen::default()),
        })
    }

    /// Whether requests that were kept are still on their way to the service: [`Fault::Pour`] lets them go even if their clients have left.
    pub fn is_pouring(&self) -> bool {
        self.seen().is_ok_and(|it| it.counts.pouring > 0)
    }

    /// Lifts the fault and ends what held it. A proxy takes no further connections, and ends when those it has are closed, or after
    /// two seconds: it closes those of HTTP itself, each when what is on its way has passed.
    ///
    /// # Errors
    ///
    /// As [`Faults::lift`].
    pub fn stop(self) -> Result<(), String> {
        self.with(Means::end)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Means) -> T) -> T {
        act(&mut self.means.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        let _ = self.with(Means::end);
    }
}

impl Means {
    /// Once; then nothing is left to do.
    fn end(&mut self) -> Result<(), String> {
        match self {
            Self::Proxy(proxy, _) if proxy.is_there() => {
                proxy.ask(&Order::Stop)?;
                proxy.end();
                Ok(())
            }
            Self::Proxy(..) => Ok(()),
            Self::Process(stopped) => stopped.lift(),
        }
    }
}
