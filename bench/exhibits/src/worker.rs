//! Who increments? A process with some hundred tasks on one connection, each of which adds 1 to a field of its own each time, so
//! that the server's data tell what has become of every increment.

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, BufRead};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use becalm::Policy;
use becalm::observe::{About, Event, Observer};
use becalm_redis::Builder;
use redis::aio::{ConnectionLike, ConnectionManager};
use redis::{AsyncCommands, AsyncConnectionConfig};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::tally::Tally;
use crate::told::{Report, Told, tell};
use crate::variant::Client;
use becalm_drill::ws::clock::{BUCKET, Clock};

/// Its name as a process.
pub const NAME: &str = "becalm-drill-redis-clients";

/// What a process is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Brief {
    pub clock: Clock,
    pub number: usize,
    pub port: u16,
    pub client: Client,
    pub tasks: u32,
    /// Between two increments of one task.
    pub every: Duration,
}

/// Increments until a line comes on standard input, and reports. Without a line it ends at once: who started it is gone.
pub fn work(brief: &Brief) -> Result<ExitCode, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| format!("cannot start a runtime: {error}"))?;
    let worked = runtime.block_on(work_all(brief));
    runtime.shutdown_background();
    worked.map_err(|error| format!("the drill's clients: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

async fn work_all(brief: &Brief) -> Result<(), Box<dyn Error>> {
    let tally = Arc::new(Tally::new(brief.clock));
    let url = format!("redis://127.0.0.1:{}", brief.port);
    match brief.client {
        Client::Manager => {
            let manager = ConnectionManager::new(redis::Client::open(url)?).await?;
            increment_all(brief, &manager, &tally).await
        }
        Client::GateOff => increment_all(brief, &becalm(&url, &tally)?.repeatable(), &tally).await,
        Client::GateOn => increment_all(brief, &becalm(&url, &tally)?, &tally).await,
    }
}

fn becalm(url: &str, tally: &Arc<Tally>) -> Result<becalm_redis::Connection, Box<dyn Error>> {
    struct Counts(Arc<Tally>);
    impl Observer for Counts {
        fn on_event(&self, _: &About<'_>, event: &Event<'_>) {
            if matches!(event, Event::Attempt { number: 2.., .. }) {
                self.0.again();
            }
        }
    }
    // As by default, and heard.
    let commands = Policy::exponential(Duration::from_millis(50)).builder();
    let commands = commands.observer(Counts(Arc::clone(tally))).build()?;
    Ok(Builder::new(url)?.commands(commands).build()?)
}

async fn increment_all<C>(
    brief: &Brief,
    redis: &C,
    tally: &Arc<Tally>,
) -> Result<(), Box<dyn Error>>
where
    C: ConnectionLike + Clone + Send + Sync + 'static,
{
    let (end, ends) = watch::channel(false);
    let mut tasks = JoinSet::new();
    for task in 0..brief.tasks {
        let own = (
            brief.clone(),
            redis.clone(),
            Arc::clone(tally),
            ends.clone(),
        );
        tasks.spawn(async move {
            let (brief, redis, tally, ends) = own;
            increment(&brief, task, redis, &tally, ends).await
        });
    }
    let tell_all = async {
        let mut ticks = tokio::time::interval(BUCKET);
        loop {
            ticks.tick().await;
            for line in tally.take() {
                if tell(&Told::Line(line)).is_err() {
                    return false;
                }
            }
        }
    };
    let goes_on = tokio::select! {
        goes_on = asked() => goes_on,
        goes_on = tell_all => goes_on,
    };
    if !goes_on {
        return Ok(());
    }
    end.send_replace(true);
    let done = tasks.join_all().await;
    let counted = counted(brief).await?;
    let reports = done.iter().map(|task| task.report(&counted));
    let report = reports.reduce(Report::and).unwrap_or_default();
    tell(&Told::Report(report))?;
    Ok(())
}

/// What one task has done: for each increment, whether it was answered.
struct Done {
    task: u32,
    answered: Vec<bool>,
    longest: Duration,
}

async fn increment<C>(
    brief: &Brief,
    task: u32,
    mut redis: C,
    tally: &Tally,
    ends: watch::Receiver<bool>,
) -> Done
where
    C: ConnectionLike + Clone + Send + Sync,
{
    let mut done = Done {
        task,
        answered: Vec::new(),
        longest: Duration::ZERO,
    };
    // Each in another place of the time between two.
    let first = Instant::now() + brief.every * task / brief.tasks;
    let mut beats = interval_at(first, brief.every);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let hash = key(brief);
    loop {
        beats.tick().await;
        if *ends.borrow() {
            return done;
        }
        let field = field(task, done.answered.len());
        let began = Instant::now();
        let added: redis::RedisResult<u64> = redis.hincr(&hash, field, 1).await;
        done.longest = done.longest.max(began.elapsed());
        done.answered.push(added.is_ok());
        match added {
            Ok(_) => tally.answered(),
            Err(_) => tally.failed(),
        }
    }
}

impl Done {
    fn report(&self, counted: &HashMap<String, u64>) -> Report {
        let mut report = Report {
            longest: self.longest,
            ..Report::default()
        };
        for (number, is_answered) in self.answered.iter().enumerate() {
            let times = counted.get(&field(self.task, number)).copied().unwrap_or(0);
            report.all += 1;
            report.failed += u64::from(!is_answered);
            report.failed_applied += u64::from(!is_answered && times > 0);
            report.twice += u64::from(times > 1);
            report.lost += u64::from(*is_answered && times == 0);
        }
        report
    }
}

fn key(brief: &Brief) -> String {
    format!("increments:{}", brief.number)
}

fn field(task: u32, number: usize) -> String {
    format!("{task}:{number}")
}

/// What the server has counted.
async fn counted(brief: &Brief) -> redis::RedisResult<HashMap<String, u64>> {
    let client = redis::Client::open(("127.0.0.1", brief.port))?;
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(30)));
    let mut redis = client
        .get_multiplexed_async_connection_with_config(&config)
        .await?;
    redis.hgetall(key(brief)).await
}

/// Whether a line comes on standard input.
async fn asked() -> bool {
    let read = tokio::task::spawn_blocking(|| io::stdin().lock().read_line(&mut String::new()));
    matches!(read.await, Ok(Ok(1..)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_holds_decides_what_has_become_of_an_increment() {
        let done = Done {
            task: 3,
            answered: vec![true, true, true, false, false],
            longest: Duration::ZERO,
        };
        let counted = [("3:0", 1), ("3:1", 2), ("3:3", 1), ("9:2", 1)];
        let counted = counted.map(|(field, times)| (field.to_owned(), times));
        let report = done.report(&counted.into());
        let expected = Report {
            all: 5,
            failed: 2,
            failed_applied: 1,
            twice: 1,
            lost: 1,
            longest: Duration::ZERO,
        };
        assert_eq!(report, expected);
    }
}
