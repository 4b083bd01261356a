//! Is anything lost, done twice, or claimed by nobody, where commands, pipelines, transactions, scripts and claims go through cuts?
//!
//! Each task keeps a model of what its keys may hold. An error adds a possibility, an answer takes all others away.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use becalm_redis::Connection;
use redis::{AsyncCommands, Commands, RedisResult, Script, cmd, pipe};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::proxy::Proxy;
use crate::server::Server;

const TASKS: usize = 32;
const KINDS: usize = 8;

/// What one task has seen.
#[derive(Default)]
struct Seen {
    task: usize,
    calls: usize,
    failed: usize,
    /// Answers that no order of events explains.
    faults: Vec<String>,
    /// What the task's own key may hold.
    may_be: Vec<usize>,
    /// Of what is counted once each: the name, and whether it was acknowledged.
    once: Vec<(String, bool)>,
    /// Of transactions and of scripts: acknowledged, failed.
    twins: [[usize; 2]; 2],
    /// By the name of a claim, whether it was answered that it is this task's.
    claims: Vec<(String, Option<bool>)>,
}

impl Seen {
    fn ended<T>(&mut self, answer: RedisResult<T>) -> Option<T> {
        self.calls += 1;
        self.failed += usize::from(answer.is_err());
        answer.ok()
    }

    fn holds(&mut self, number: Option<usize>, what: &str) {
        let number = number.unwrap_or_default();
        if !self.may_be.contains(&number) {
            let fault = format!("{what}: {number} is none of {:?}", self.may_be);
            self.faults.push(fault);
        }
        self.may_be = vec![number];
    }
}

async fn claim(redis: &mut Connection, name: &str, kind: usize) -> RedisResult<bool> {
    match kind {
        0 => redis.sadd("claimed", name).await,
        1 => redis.hset_nx("claims", name, 1).await,
        _ => {
            let mut lock = cmd("SET");
            lock.arg(name).arg(1).arg("NX");
            let locked: Option<String> = lock.query_async(redis).await?;
            Ok(locked.is_some())
        }
    }
}

async fn works(mut redis: Connection, task: usize, calls: usize, done: Arc<AtomicUsize>) -> Seen {
    let key = |what: &str| format!("{what}-{task}");
    let (own, hash, list) = (key("own"), key("hash"), "list");
    let script = "redis.call('INCR', KEYS[1]) return redis.call('INCR', KEYS[2])";
    let script = Script::new(script);
    let mut seen = Seen {
        task,
        may_be: vec![0],
        ..Seen::default()
    };
    for at in 0..calls {
        let name = format!("{task}-{at}");
        match at % KINDS {
            0 => {
                let set: RedisResult<()> = redis.set(&own, at).await;
                match seen.ended(set) {
                    Some(()) => seen.may_be = vec![at],
                    None => seen.may_be.push(at),
                }
            }
            1 => {
                let got: RedisResult<Option<usize>> = redis.get(&own).await;
                if let Some(number) = seen.ended(got) {
                    seen.holds(number, "GET");
                }
            }
            2 => {
                let counted: RedisResult<usize> = redis.hincr("counts", &name, 1).await;
                let counted = seen.ended(counted);
                seen.once.push((name, counted.is_some()));
            }
            3 => {
                let mut all = pipe();
                all.hset(&hash, "f", at).ignore().expire(&hash, 1_000);
                all.ignore().get(&own).hget(&hash, "g");
                let got: RedisResult<(Option<usize>, Option<usize>)> =
                    all.query_async(&mut redis).await;
                if let Some((number, _)) = seen.ended(got) {
                    seen.holds(number, "pipeline");
                }
            }
            kind @ (4 | 5) => {
                let twins = [key(&format!("{kind}a")), key(&format!("{kind}b"))];
                let counted: RedisResult<[usize; 2]> = if kind == 4 {
                    let mut both = pipe();
                    both.atomic().incr(&twins[0], 1).incr(&twins[1], 1);
                    both.query_async(&mut redis).await
                } else {
                    let mut call = script.key(&twins[0]);
                    let counted = call.key(&twins[1]).invoke_async(&mut redis).await;
                    counted.map(|twin: usize| [twin, twin])
                };
                if let Ok([first, second]) = counted {
                    let [acknowledged, failed] = seen.twins[kind - 4];
                    let may_be = acknowledged + 1..=acknowledged + failed + 1;
                    if first != second || !may_be.contains(&first) {
                        let fault = format!("{kind}: {first} and {second} of {may_be:?}");
                        seen.faults.push(fault);
                    }
                }
                let is_known = seen.ended(counted).is_some();
                seen.twins[kind - 4][usize::from(!is_known)] += 1;
            }
            6 => {
                let kind = at / KINDS % 3;
                let name = format!("claim-{kind}-{}-{at}", task / 2);
                let claimed = claim(&mut redis, &name, kind).await;
                let claimed = seen.ended(claimed);
                seen.claims.push((name, claimed));
            }
            _ => {
                let pushed: RedisResult<usize> = redis.rpush(list, &name).await;
                let is_known = seen.ended(pushed).is_some();
                seen.once.push((name, is_known));
            }
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
    seen
}

/// Cuts once for each such number of calls, in turn: answers are lost, first copies are held back, the server hangs up. When the
/// last first copy has come.
async fn cuts(
    proxy: &Proxy,
    server: &Server,
    done: &AtomicUsize,
    every: usize,
    calls: usize,
) -> Instant {
    let mut last = Instant::now();
    for cut in 1..calls.div_ceil(every) {
        while done.load(Ordering::Relaxed) < cut * every {
            sleep(Duration::from_millis(1)).await;
        }
        match cut % 3 {
            0 => {
                proxy.swallow();
                sleep(Duration::from_millis(2)).await;
                proxy.cut();
            }
            1 => {
                let late = 100 + u64::try_from(cut).expect("few") * 997 % 4_900;
                let late = Duration::from_millis(late);
                proxy.hold(late);
                sleep(Duration::from_millis(2)).await;
                proxy.cut();
                last = last.max(Instant::now() + late);
            }
            _ => {
                // The newest but the one that asks. Those before it hold back first copies.
                let mut plain = server.plain();
                let listed: RedisResult<String> = cmd("CLIENT").arg("LIST").query(&mut plain);
                let listed = listed.expect("they are listed");
                let id = |line: &str| line.split(' ').next()?.strip_prefix("id=")?.parse().ok();
                let mut ids: Vec<u64> = listed.lines().filter_map(id).collect();
                ids.sort_unstable();
                let last = ids.iter().nth_back(1).unwrap_or(&0);
                let kill = cmd("CLIENT").arg("KILL").arg("ID").arg(last).take();
                let killed: RedisResult<u64> = kill.query(&mut plain);
                killed.expect("it is thrown out");
            }
        }
    }
    last + Duration::from_millis(100)
}

/// How many calls there were, and how many of them failed.
async fn nothing_is_lost_or_done_twice(calls: usize, every: usize) -> [usize; 2] {
    let server = Server::started(&["--appendfsync", "no"]);
    let proxy = Proxy::to(server.port()).await;
    let redis = Connection::open(&proxy.url()).expect("an address");
    let done = Arc::<AtomicUsize>::default();
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        tasks.spawn(works(redis.clone(), task, calls / TASKS, done.clone()));
    }
    let last = cuts(&proxy, &server, &done, every, calls / TASKS * TASKS).await;
    let all = tasks.join_all().await;
    sleep(last.saturating_duration_since(Instant::now())).await;
    let mut plain = server.plain();

    let faults: Vec<_> = all.iter().flat_map(|seen| &seen.faults).collect();
    assert!(faults.is_empty(), "{faults:?}");

    let mut times: HashMap<String, usize> = plain.hgetall("counts").expect("they are there");
    let pushed: Vec<String> = plain.lrange("list", 0, -1).expect("it is there");
    for name in pushed {
        *times.entry(name).or_default() += 1;
    }
    for (name, is_acknowledged) in all.iter().flat_map(|seen| &seen.once) {
        let times = times.get(name).copied().unwrap_or_default();
        let may_be = usize::from(*is_acknowledged)..=1;
        assert!(may_be.contains(&times), "{name} is there {times} times");
    }
    for seen in &all {
        let task = seen.task;
        for (kind, [acknowledged, failed]) in [4, 5].into_iter().zip(seen.twins) {
            let twins = ["a", "b"].map(|twin| format!("{kind}{twin}-{task}"));
            let [first, second] =
                twins.map(|key| -> Option<usize> { plain.get(key).expect("it is told") });
            assert_eq!(first, second, "one without the other");
            let may_be = acknowledged..=acknowledged + failed;
            assert!(
                may_be.contains(&first.unwrap_or_default()),
                "{kind} of {task}: {first:?} of {may_be:?}"
            );
        }
    }
    let mut claims = HashMap::<&str, Vec<Option<bool>>>::new();
    for (name, answer) in all.iter().flat_map(|seen| &seen.claims) {
        claims.entry(name).or_default().push(*answer);
    }
    for (name, answers) in claims {
        let owners = answers.iter().filter(|it| **it == Some(true)).count();
        let has_failed = answers.contains(&None);
        assert!(
            owners == 1 || owners == 0 && has_failed,
            "{name}: {answers:?}"
        );
    }
    let sum = |of: fn(&Seen) -> usize| all.iter().map(of).sum();
    [sum(|seen| seen.calls), sum(|seen| seen.failed)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_and_nothing_done_twice_and_each_claim_has_an_owner_or_an_error() {
    let [calls, failed] = nothing_is_lost_or_done_twice(32_000, 2_000).await;
    assert!(failed * 100 <= calls, "{failed} of {calls} failed");
    assert!(failed > 0, "nothing was cut");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a few minutes: scripts/prove redis-lost"]
async fn in_full() {
    let began = Instant::now();
    let [calls, failed] = nothing_is_lost_or_done_twice(1_000_000, 5_000).await;
    let took = began.elapsed();
    println!(
        "{calls} calls through 199 cuts in {took:.0?}: none lost, none twice, {failed} failed"
    );
    assert!(failed * 100 <= calls);
}
