//! How does Redis keep the one retry budget of a fleet?

use becalm_fleet::budget::{Answer, Exchange, Fleet, Store};
use redis::{Cmd, ErrorKind, RedisError, RedisResult, ServerErrorKind, cmd};
use std::sync::{Mutex, PoisonError};

use crate::Connection;

/// The rule of [`Bucket`](becalm_fleet::budget::Bucket), in one step of the server.
const SCRIPT: &str = include_str!("exchange.lua");

/// The bucket of a fleet in Redis (5 or later): [`becalm_fleet::budget`] says what it is good for.
///
/// It takes three keys in one slot, and its time is the server's. One exchange of a process a second costs the server about as much
/// as one `HSET` with a few reads. What a replica has not yet got when it takes over, and what a server loses that is killed, is
/// forgotten as after a flush: the bucket goes on from there.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use becalm_redis::becalm::Budget;
/// use becalm_redis::becalm_fleet::budget::{Fleet, FleetBudget};
/// use becalm_redis::{Connection, FleetBucket, Policy};
///
/// let redis = Connection::open("redis://127.0.0.1/")?;
/// let budget = Arc::new(FleetBudget::new(Fleet::new(Budget::ratio(0.1).burst(1000.0)))?);
/// tokio::spawn(budget.keep(FleetBucket::new(&redis, "orders"))); // ends with the last who holds the budget
/// let orders = Policy::default().builder().retry_budget(budget).build()?;
/// # let _ = orders;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FleetBucket {
    redis: Connection,
    keys: [String; 3],
    /// The name that the server gives the script.
    script: Mutex<Option<String>>,
}

impl FleetBucket {
    /// The bucket of this name, the same for all processes that share it: a service that they call.
    ///
    /// Give it a connection of its own where other commands are large, or may hold it up for a second.
    pub fn new(redis: &Connection, name: &str) -> Self {
        Self {
            // An exchange has a number, by which the script sees that it has come before.
            redis: redis.repeatable(),
            // In one slot of a cluster: what stands between the braces is hashed, unless it is empty (cluster specification,
            // "Hash tags").
            keys: ["bucket", "known", "silent"]
                .map(|part| format!("becalm:{{fleet:{name}}}:{part}")),
            script: Mutex::new(None),
        }
    }

    async fn script(&self) -> RedisResult<String> {
        let known = || self.script.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = known().clone() {
            return Ok(name);
        }
        let mut load = cmd("SCRIPT");
        load.arg("LOAD").arg(SCRIPT);
        let name: String = load.query_async(&mut self.redis.clone()).await?;
        *known() = Some(name.clone());
        Ok(name)
    }

    fn command(&self, script: &str, fleet: &Fleet, exchange: &Exchange) -> Cmd {
        let ratio = fleet.ratio();
        let mut command = cmd("EVALSHA");
        command.arg(script).arg(self.keys.len()).arg(&self.keys);
        command.arg(exchange.instance).arg(exchange.sequence);
        command
            .arg(exchange.earned)
            .arg(exchange.returned)
            .arg(exchange.held)
            .arg(exchange.ask);
        command
            .arg(ratio.ratio)
            .arg(ratio.held())
            .arg(ratio.floor_per_second);
        let memory = u64::try_from(fleet.memory().as_micros()).unwrap_or(u64::MAX);
        let span = u64::try_from(ratio.burst.span().as_micros()).unwrap_or(u64::MAX);
        command.arg(fleet.part).arg(memory).arg(span);
        command
    }
}

impl Store for FleetBucket {
    type Error = RedisError;

    async fn exchange(&self, fleet: &Fleet, exchange: &Exchange) -> RedisResult<Answer> {
        let mut redis = self.redis.clone();
        let mut script = self.script().await?;
        let mut answer = self
            .command(&script, fleet, exchange)
            .query_async(&mut redis)
            .await;
        let is_unknown =
            |error: &RedisError| error.kind() == ErrorKind::Server(ServerErrorKind::NoScript);
        // The server was started anew, or another has taken over.
        if answer.as_ref().is_err_and(is_unknown) {
            *self.script.lock().unwrap_or_else(PoisonError::into_inner) = None;
            script = self.script().await?;
            answer = self
                .command(&script, fleet, exchange)
                .query_async(&mut redis)
                .await;
        }
        let (granted, instances, at, burst) = answer?;
        Ok(Answer::new(granted, instances, at, burst))
    }
}
