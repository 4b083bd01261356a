//! Who runs the drill's parts, draws them while they run, and ends them when a signal asks for it?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::Instant;

use super::arrivals;
use super::judgement::Contender;
use super::ledger::{Ledger, Recording};
use super::live::{Display, View};
use super::replay::{LEAD, Played, Replay};
use super::server::{Hang, Service};
use super::setup::Setup;
use super::tail::{self, Racer, Tail};
use super::variant::Variant;

/// How often the display is redrawn, and a signal is looked for.
pub const FRAME: Duration = Duration::from_millis(125);

/// Where the parts run.
#[derive(Debug)]
pub struct Stage<'a> {
    runtime: Runtime,
    signal: &'a AtomicUsize,
    pub seed: u64,
}

/// What is left of a part that came to its end, and what its load generator did; nothing of one
/// that a signal ended.
type Held<T> = Result<Option<(Vec<T>, Played)>, String>;

impl<'a> Stage<'a> {
    /// Two threads carry services and clients; the one that is here draws.
    pub fn new(signal: &'a AtomicUsize, seed: u64) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start threads: {error}"))?;
        Ok(Self {
            runtime,
            signal,
            seed,
        })
    }

    /// The first part: a service hangs.
    pub fn storm(
        &self,
        setup: &Setup,
        variants: Vec<Variant>,
        display: Display,
    ) -> Held<Contender> {
        let start = self.start();
        let service = Service {
            workers: setup.workers,
            time: setup.service_time,
            queue: setup.queue,
            hang: Some(Hang {
                from: start + setup.before,
                to: start + setup.trigger_end(),
            }),
            slow: None,
        };
        let policies = variants.iter().map(|it| (&*it.name, &it.policy));
        let replay = Replay::prepare(
            start,
            setup.length(),
            service,
            setup.wire,
            policies,
            self.seed,
        );
        let replay = self
            .runtime
            .block_on(replay)
            .map_err(|unready| unready.to_string())?;
        let ledgers = replay.ledgers();
        let arrivals = arrivals::poisson(setup.load, setup.length(), self.seed);
        let mut display = display;
        let played = self.play(replay, arrivals, || {
            let recordings = recordings(&ledgers);
            display.show(&view(setup, &variants, &recordings, start));
            FRAME
        })?;
        let Some(played) = played else {
            return Ok(None);
        };
        let recordings = recordings(&ledgers);
        display.finish(&view(setup, &variants, &recordings, start));
        let contenders = variants.into_iter().zip(recordings).zip(&ledgers);
        let contenders = contenders.map(|((variant, recording), ledger)| {
            Contender::new(variant, recording, &ledger.latencies(), setup)
        });
        Ok(Some((contenders.collect(), played)))
    }

    /// The second part: some answers are slow.
    pub fn tail(&self, tail: &Tail, variants: Vec<tail::Variant>) -> Held<Racer> {
        let start = self.start();
        let policies = variants.iter().map(|it| (it.name, &it.policy));
        let service = tail::service(self.seed);
        let replay = Replay::prepare(start, tail.length, service, tail.wire, policies, self.seed);
        let replay = self
            .runtime
            .block_on(replay)
            .map_err(|unready| unready.to_string())?;
        let ledgers = replay.ledgers();
        let arrivals = arrivals::poisson(tail::RATE, tail.length, self.seed);
        let Some(played) = self.play(replay, arrivals, || FRAME)? else {
            return Ok(None);
        };
        let racers = variants.into_iter().zip(&ledgers).map(|(variant, ledger)| {
            Racer::new(variant, &ledger.recording(), &ledger.latencies(), tail)
        });
        Ok(Some((racers.collect(), played)))
    }

    /// What a future comes to; nothing where a signal ends it.
    pub fn awaited<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        self.runtime.block_on(async {
            let ended = async {
                while self.signal.load(Ordering::Relaxed) == 0 {
                    tokio::time::sleep(FRAME).await;
                }
            };
            tokio::select! {
                done = future => Some(done),
                () = ended => None,
            }
        })
    }

    /// The moment of the first arrival's zero.
    pub fn start(&self) -> Instant {
        let _entered = self.runtime.enter();
        Instant::now() + LEAD
    }

    /// Makes the calls, with a frame every so often: each says when the next one is due at the latest.
    pub fn play(
        &self,
        replay: Replay,
        arrivals: Vec<Duration>,
        mut frame: impl FnMut() -> Duration,
    ) -> Result<Option<Played>, String> {
        let running = self.runtime.spawn(replay.run(arrivals));
        while !running.is_finished() {
            if self.signal.load(Ordering::Relaxed) != 0 {
                running.abort();
                return Ok(None);
            }
            std::thread::sleep(frame().min(FRAME));
        }
        let played = self.runtime.block_on(running);
        played
            .map(Some)
            .map_err(|error| format!("the drill broke off: {error}"))
    }
}

fn recordings(ledgers: &[Arc<Ledger>]) -> Vec<Recording> {
    ledgers.iter().map(|ledger| ledger.recording()).collect()
}

fn view<'a>(
    setup: &'a Setup,
    variants: &'a [Variant],
    recordings: &'a [Recording],
    start: Instant,
) -> View<'a> {
    View {
        setup,
        variants,
        recordings,
        elapsed: start.elapsed(),
    }
}
