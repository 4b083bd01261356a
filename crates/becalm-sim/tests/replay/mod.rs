//! Drives the futures of an engine in the order of a trace, by hand and on virtual time.

mod call;
mod clock;
mod operation;
pub mod worlds;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use becalm::rng::Seed;
use becalm::time::Sleeper;
use becalm::{Event, Observer, Policy, Retrier, call::Decision, time::Instant};
use becalm_sim::scenario::{Scenario, Sharing};
use becalm_sim::world::{Caller, Step, Traced, run_traced};

use call::{Asked, Live, Woken};
use clock::Clock;

/// Whether an observer watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Observed,
    Silent,
}

/// How often the engine did what: a replay in which nothing happens proves nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub retries: u32,
    pub waits: u32,
    pub hedges: u32,
    /// Copies whose failure left the call to others.
    pub others: u32,
    pub timed_out: u32,
    pub cut: u32,
    pub cancelled: u32,
    pub stops: BTreeSet<String>,
}

/// All steps of all calls of a run.
pub fn trace(scenario: &Scenario, seed: u64) -> Vec<Traced> {
    assert_eq!(scenario.validate(), Ok(()), "{}", scenario.name);
    let mut steps = Vec::new();
    run_traced(scenario, seed, &mut |traced| steps.push(traced));
    steps
}

/// The bits of the present step.
type Bits = Arc<Mutex<Drawn>>;

#[derive(Debug, Default)]
struct Drawn {
    left: VecDeque<u64>,
    too_many: u32,
}

/// The delays that the observer was told.
#[derive(Debug, Default)]
struct Delays(Mutex<Vec<Duration>>);

impl Observer for Delays {
    fn on_event(&self, _: &becalm::observe::About<'_>, event: &Event<'_>) {
        if let Event::Retry { delay, .. } = event {
            locked(&self.0).push(*delay);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Replay<'s> {
    scenario: &'s Scenario,
    clock: Clock,
    bits: Bits,
    /// Where an observer watches.
    delays: Option<Arc<Delays>>,
    /// By what tells shared states apart.
    retriers: BTreeMap<(u32, u32, u32, u32), Retrier>,
    calls: BTreeMap<u64, Live>,
    woken: Woken,
    told: Told,
}

/// Replays a trace. The error is the first difference, in a sentence.
pub fn replay(scenario: &Scenario, steps: &[Traced], mode: Mode) -> Result<Told, String> {
    let mut replay = Replay {
        scenario,
        clock: Clock::new(),
        bits: Bits::default(),
        delays: (mode == Mode::Observed).then(Arc::default),
        retriers: BTreeMap::new(),
        calls: BTreeMap::new(),
        woken: Woken::default(),
        told: Told::default(),
    };
    for (at, traced) in steps.iter().enumerate() {
        let differs = |what| format!("step {at}, {traced:?}: {what}");
        replay.advance(traced.now).map_err(differs)?;
        replay.step(traced).map_err(differs)?;
    }
    Ok(replay.told)
}

impl Replay<'_> {
    /// Time moves when everybody who was woken at the present instant has been polled.
    fn advance(&mut self, to: Instant) -> Result<(), String> {
        let now = self.clock.now();
        if to <= now {
            return Ok(());
        }
        for number in self.woken.take() {
            if let Some(call) = self.calls.get_mut(&number).filter(|call| call.is_woken()) {
                call.expect(Asked::default(), Poll::Pending)
                    .map_err(|what| format!("call {number}, woken before: {what}"))?;
            }
        }
        self.clock.advance(to);
        Ok(())
    }

    fn step(&mut self, traced: &Traced) -> Result<(), String> {
        locked(&self.bits).left.extend(&traced.bits);
        if let Step::Began = traced.step {
            let call = self.begin(traced)?;
            self.calls.insert(traced.call, call);
        } else {
            self.poll(traced)?;
        }
        let mut drawn = locked(&self.bits);
        let left = std::mem::take(&mut drawn.left).len();
        if left > 0 || drawn.too_many > 0 {
            let more = drawn.too_many;
            return Err(format!(
                "{left} draws were not made, {more} were made in addition"
            ));
        }
        Ok(())
    }

    /// The call's next turn, which is to bring about this step.
    fn poll(&mut self, traced: &Traced) -> Result<(), String> {
        let Some(call) = self.calls.get_mut(&traced.call) else {
            return Err("the call is over".into());
        };
        let (now, told) = (traced.now, &mut self.told);
        self.clock.take_asked();
        let ended = match traced.step {
            Step::Began => None,
            Step::Started(number) => {
                told.retries += u32::from(number > 1);
                call.expect_start(now, number, false)?;
                None
            }
            Step::Waits(until) => {
                told.waits += 1;
                call.expect(Asked::default(), Poll::Pending)?;
                // It may sleep until then already.
                sleeps(self.clock.take_asked().unwrap_or(until), until)?;
                None
            }
            Step::Hedged(Some(number)) => {
                told.hedges += 1;
                call.expect_start(now, number, true)?;
                None
            }
            Step::Hedged(None) => {
                // Where none may follow, the engine does not wake up for it.
                if call.is_woken() {
                    call.expect(Asked::default(), Poll::Pending)?;
                }
                None
            }
            Step::Decided(number, verdict, decision) => {
                told.timed_out += u32::from(!call.answer(now, number, verdict));
                match decision {
                    Decision::Done => Some(Ok(())),
                    Decision::Stop(reason) => Some(Err(reason)),
                    Decision::RetryIn(delay) => {
                        call.expect(Asked::default(), Poll::Pending)?;
                        call.decided(delay);
                        if !delay.is_zero() {
                            let asked = self.clock.take_asked().unwrap_or_default();
                            sleeps(asked, now.after(delay))?;
                        }
                        if let Some(delays) = &self.delays {
                            let seen = std::mem::take(&mut *locked(&delays.0));
                            if seen != [delay] {
                                return Err(format!("the delay was {seen:?}"));
                            }
                        }
                        None
                    }
                    _ => {
                        told.others += 1;
                        call.expect(Asked::default(), Poll::Pending)?;
                        None
                    }
                }
            }
            Step::Refused(reason) => Some(Err(reason)),
            Step::Cut => {
                told.cut += 1;
                Some(Err(becalm::StopReason::DeadlineExceeded))
            }
            Step::Cancelled => {
                told.cancelled += 1;
                self.calls.remove(&traced.call);
                return Ok(());
            }
            _ => return Err("a step that a replay does not know".into()),
        };
        if let Some(ended) = ended {
            if let Err(reason) = ended {
                told.stops.insert(format!("{reason:?}"));
            }
            call.expect(Asked::default(), Poll::Ready(ended))?;
            self.calls.remove(&traced.call);
        }
        Ok(())
    }

    /// A call of whoever makes it, on the state that it shares.
    fn begin(&mut self, traced: &Traced) -> Result<Live, String> {
        let (scenario, none) = (self.scenario, "there is no such caller");
        let (owner, policy) = match traced.caller {
            Caller::Client { population, client } => {
                let of = scenario.populations.get(population as usize).ok_or(none)?;
                let [variant] = of.variants.as_slice() else {
                    return Err("a replay takes one policy for each population".into());
                };
                let client = if of.sharing == Sharing::Shared {
                    0
                } else {
                    client
                };
                ((0, population, 0, client), &variant.policy)
            }
            Caller::Instance {
                service,
                instance,
                downstream,
            } => {
                let of = scenario.services.get(service as usize).ok_or(none)?;
                let of = of.calls.get(downstream as usize).ok_or(none)?;
                let instance = if of.sharing == Sharing::Shared {
                    0
                } else {
                    instance
                };
                ((1, service, downstream, instance), &of.policy)
            }
            _ => return Err(none.into()),
        };
        let retrier = if let Some(retrier) = self.retriers.get(&owner) {
            retrier.clone()
        } else {
            let retrier = self.retrier(policy)?;
            self.retriers.entry(owner).or_insert(retrier).clone()
        };
        let timeout = policy.attempt_timeout;
        Ok(Live::new(retrier, timeout, self.woken.waker(traced.call)))
    }

    /// New shared state, on the replay's clock and with its bits.
    fn retrier(&self, policy: &Policy) -> Result<Retrier, String> {
        let bits = Arc::clone(&self.bits);
        let seed = Seed::given(move || {
            let mut drawn = locked(&bits);
            drawn.left.pop_front().unwrap_or_else(|| {
                drawn.too_many += 1;
                0
            })
        });
        let builder = policy.clone().builder();
        let mut builder = builder.sleeper(self.clock.clone()).seed(seed);
        if let Some(delays) = &self.delays {
            builder = builder.observer(Arc::clone(delays));
        }
        builder.build().map_err(|refused| refused.to_string())
    }
}

/// A call waits as long as the trace says.
fn sleeps(asked: Instant, until: Instant) -> Result<(), String> {
    if asked == until {
        return Ok(());
    }
    Err(format!("the wait ends at {asked:?}, not at {until:?}"))
}
