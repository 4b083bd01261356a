//! Who makes the calls of a drill, draws it meanwhile, and ends it when a signal asks for it?

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::Instant;

use super::drill::Broken;
use super::replay::{LEAD, Played, Replay};

/// How often the display is redrawn, and a signal is looked for.
pub const FRAME: Duration = Duration::from_millis(125);

/// Where the calls are made.
#[derive(Debug)]
pub struct Stage<'a> {
    runtime: Runtime,
    signal: &'a AtomicUsize,
    pub seed: u64,
}

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

    /// Services and clients that are ready to begin.
    ///
    /// # Errors
    ///
    /// A service cannot listen, or a policy is refused.
    pub fn ready(
        &self,
        replay: impl Future<Output = Result<Replay, String>>,
    ) -> Result<Replay, Broken> {
        Ok(self.runtime.block_on(replay)?)
    }

    /// What a future comes to.
    ///
    /// # Errors
    ///
    /// A signal has ended it.
    pub fn awaited<T>(&self, future: impl Future<Output = T>) -> Result<T, Broken> {
        self.runtime.block_on(async {
            let ended = async {
                while self.signal.load(Ordering::Relaxed) == 0 {
                    tokio::time::sleep(FRAME).await;
                }
            };
            tokio::select! {
                done = future => Ok(done),
                () = ended => Err(Broken::Signal),
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
    ) -> Result<Played, Broken> {
        let running = self.runtime.spawn(replay.run(arrivals));
        while !running.is_finished() {
            if self.signal.load(Ordering::Relaxed) != 0 {
                running.abort();
                return Err(Broken::Signal);
            }
            std::thread::sleep(frame().min(FRAME));
        }
        let played = self.runtime.block_on(running);
        played.map_err(|error| format!("the drill broke off: {error}").into())
    }
}
