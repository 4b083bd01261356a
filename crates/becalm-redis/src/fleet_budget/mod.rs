//! How does Redis keep the one retry budget of a fleet?

use becalm_fleet::budget::{Answer, Exchange, Fleet, Store};
use redis::{RedisError, RedisResult};

use crate::Connection;
use crate::script::{Call, Script};

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
    script: Script,
}

impl FleetBucket {
    /// The bucket of this name, the same for all processes that share it: a service that they call.
    ///
    /// Give it a connection of its own where other commands are large, or may hold it up for a second.
    pub fn new(redis: &Connection, name: &str) -> Self {
        Self {
            // An exchange has a number, by which the script sees that it has come before.
            redis: redis.numbered(),
            // In one slot of a cluster: what stands between the braces is hashed, unless it is empty (cluster specification,
            // "Hash tags").
            keys: ["bucket", "known", "silent"]
                .map(|part| format!("becalm:{{fleet:{name}}}:{part}")),
            script: Script::new(SCRIPT),
        }
    }

    fn call(&self, fleet: &Fleet, exchange: &Exchange) -> Call<'_> {
        let ratio = fleet.ratio();
        let mut command = self.script.call();
        let [bucket, known, silent] = &self.keys;
        command.key(bucket).key(known).key(silent);
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
        let answer = self.call(fleet, exchange).send(&self.redis).await?;
        let (granted, instances, at, burst) = answer;
        Ok(Answer::new(granted, instances, at, burst))
    }
}
