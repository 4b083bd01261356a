//! Whose is the answer to a command that was sent twice?

use becalm::Budget;
use becalm_redis::{Builder, Connection, Policy, is_answer_unknown};
use redis::{
    AsyncCommands, Cmd, Commands, FromRedisValue, Pipeline, RedisResult, Value, cmd, pipe,
};

use crate::proxy::Proxy;
use crate::server::Server;

/// A server, and a connection to it whose next answer is lost.
struct Losing {
    server: Server,
    proxy: Proxy,
    redis: Connection,
}

impl Losing {
    async fn new() -> Self {
        let server = Server::started(&[]);
        let proxy = Proxy::to(server.port()).await;
        let redis = Connection::open(&proxy.url()).expect("an address");
        Self {
            server,
            proxy,
            redis,
        }
    }

    fn line(&self, line: &str) -> Value {
        command(line).query(&mut self.server.plain()).expect(line)
    }

    /// From a connection that is there, the next answer.
    async fn take_next_answer(&self) {
        let ready: RedisResult<String> = cmd("PING").query_async(&mut self.redis.clone()).await;
        ready.expect("it is there");
        self.proxy.take_next_answer();
    }

    async fn lost<T: FromRedisValue>(&self, line: &str) -> RedisResult<T> {
        self.lost_over(self.redis.clone(), line).await
    }

    async fn lost_over<T: FromRedisValue>(
        &self,
        mut redis: Connection,
        line: &str,
    ) -> RedisResult<T> {
        self.take_next_answer().await;
        command(line).query_async(&mut redis).await
    }

    async fn all_lost<T: FromRedisValue>(&self, all: &Pipeline) -> RedisResult<T> {
        self.take_next_answer().await;
        all.query_async(&mut self.redis.clone()).await
    }
}

fn command(line: &str) -> Cmd {
    let mut command = Cmd::new();
    command.arg(line.split(' ').collect::<Vec<_>>());
    command
}

#[tokio::test]
async fn an_answer_that_may_be_a_repetitions_is_an_error_that_says_so() {
    let redis = Losing::new().await;
    for (before, line) in [
        ("DEL s", "SADD s a"),
        ("DEL z", "ZADD z NX 1 a"),
        ("SET k 1", "DEL k"),
        ("DEL b", "SETBIT b 7 1"),
        ("DEL p", "PFADD p a"),
        ("SET k 1 EX 1000", "PERSIST k"),
        ("SET k 1", "EXPIRE k 1000 NX"),
        ("HSET h f 1", "HDEL h f"),
        ("DEL h", "HSET h f 1"),
        ("SET k 1", "EXPIRE k 0"),
    ] {
        redis.line(before);
        let answer: RedisResult<i64> = redis.lost(line).await;
        let error = answer.expect_err(line);
        assert!(is_answer_unknown(&error), "{line}: {error}");
    }
    // What they leave is there, and a caller who reads no answer has no error.
    redis.line("DEL s");
    let added: RedisResult<i64> = redis.lost_over(redis.redis.for_effect(), "SADD s a").await;
    assert_eq!(added, Ok(0));
    assert_eq!(redis.server.plain().scard("s"), Ok(1));
}

#[tokio::test]
async fn an_answer_that_the_first_would_have_given_is_the_callers() {
    let redis = Losing::new().await;
    let set: RedisResult<String> = redis.lost("SET k 2").await;
    assert_eq!(set, Ok("OK".into()));
    let got: RedisResult<i64> = redis.lost("GET k").await;
    assert_eq!(got, Ok(2));
    let bit: RedisResult<i64> = redis.lost("GETBIT k 2").await;
    assert_eq!(bit, Ok(1));
    let counted: RedisResult<i64> = redis.lost("ZADD z XX 1 a").await;
    assert_eq!(counted, Ok(0), "with XX it never counts");
}

#[tokio::test]
async fn of_a_pipeline_the_answers_count_that_are_read() {
    let redis = Losing::new().await;
    let mut ignoring = pipe();
    ignoring
        .hset("h", "f", 1)
        .ignore()
        .expire("h", 1_000)
        .ignore();
    ignoring.sadd("s", "a").ignore().zadd("z", "a", 1).ignore();
    ignoring.get("k");
    let got: RedisResult<(Option<i64>,)> = redis.all_lost(&ignoring).await;
    assert_eq!(got, Ok((None,)));

    let mut reading = pipe();
    reading.sadd("t", "a").set("k", 1).ignore();
    for is_transaction in [false, true] {
        redis.line("DEL t");
        if is_transaction {
            reading.atomic();
        }
        let got: RedisResult<(i64,)> = redis.all_lost(&reading).await;
        assert!(
            is_answer_unknown(&got.expect_err("it is told")),
            "{is_transaction}"
        );
    }
}

/// The number of times that a pipeline arrives is what it counts.
#[tokio::test]
async fn what_reads_before_it_writes_is_sent_once() {
    let redis = Losing::new().await;
    let lines = [
        ("LRANGE l 0 -1", "DEL l"),
        ("GET k", "DEL k"),
        ("GET k", "SET k 2"),
        ("HGETALL h", "DEL h"),
        ("ZRANGEBYSCORE z 0 1", "ZREMRANGEBYSCORE z 0 1"),
        ("SDIFFSTORE d s t", "SADD s b"),
        ("SMEMBERS s", "EXPIRE s 1"),
    ];
    for (read, write) in lines {
        for is_transaction in [false, true] {
            for line in [
                "DEL l k h z s",
                "RPUSH l 1 2",
                "SET k 1",
                "HSET h f 1",
                "ZADD z 1 a",
                "SADD s a",
            ] {
                redis.line(line);
            }
            let mut both = pipe();
            both.add_command(command(read)).add_command(command(write));
            if is_transaction {
                both.atomic();
            }
            let answers: RedisResult<Vec<Value>> = redis.all_lost(&both).await;
            let error = answers.expect_err(read);
            assert!(
                !is_answer_unknown(&error) && error.is_io_error(),
                "{read}; {write}: {error}"
            );
        }
    }
}

/// What is read and taken away at once, of three items: what fills it, reads it, takes it away.
const EMPTYING: [[&str; 3]; 5] = [
    ["RPUSH k 1 2 3", "LRANGE k 0 -1", "DEL k"],
    ["SET k 123", "GET k", "DEL k"],
    ["SET k 123", "GET k", "SET k none"],
    ["HSET k a 1 b 2 c 3", "HGETALL k", "DEL k"],
    [
        "ZADD k 1 a 2 b 3 c",
        "ZRANGEBYSCORE k 0 9",
        "ZREMRANGEBYSCORE k 0 9",
    ],
];

/// Empties each kind so often, alone and in a transaction, and takes so many of the answers away, or holds the command back: how many errors
/// there were.
async fn emptied(rounds: usize, cuts: usize) -> usize {
    let redis = Losing::new().await;
    let mut errors = 0;
    for ([fill, read, take], is_transaction) in
        EMPTYING.iter().flat_map(|it| [(it, false), (it, true)])
    {
        for round in 0..rounds {
            redis.line("DEL k");
            redis.line(fill);
            let whole = redis.line(read);
            let mut both = pipe();
            both.add_command(command(read))
                .add_command(command(take))
                .ignore();
            if is_transaction {
                both.atomic();
            }
            let between = rounds / cuts;
            let is_cut = round % between == 0;
            let taken: RedisResult<(Value,)> = if is_cut && round % (2 * between) == 0 {
                redis.all_lost(&both).await
            } else if is_cut {
                let mut one = redis.redis.clone();
                let late = std::time::Duration::from_millis(5);
                let taking = async move { both.query_async(&mut one).await };
                let taken = redis.proxy.held_back(late, taking).await;
                let taken = taken.await.expect("no panic");
                let seen: RedisResult<String> =
                    cmd("PING").query_async(&mut redis.redis.clone()).await;
                seen.expect("it is there");
                taken
            } else {
                both.query_async(&mut redis.redis.clone()).await
            };
            match taken {
                Ok((taken,)) => assert_eq!(
                    taken, whole,
                    "{read}; {take}: of round {round} some is lost"
                ),
                Err(_) => errors += 1,
            }
        }
    }
    errors
}

#[tokio::test]
async fn emptying_a_list_under_cuts_loses_nothing_without_an_error() {
    assert_eq!(emptied(20, 4).await, 10 * 4, "each lost answer is told");
}

#[tokio::test]
#[ignore = "some minutes: scripts/prove redis-lost"]
async fn in_full() {
    let errors = emptied(1_000, 40).await;
    println!(
        "10 kinds emptied 1,000 times under 40 cuts each: {errors} errors, nothing lost without one"
    );
    assert_eq!(errors, 10 * 40);
}

/// One token pays for all that was on the connection, and the budget has one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_lost_with_a_connection_is_charged_once() {
    for commands in [200, 2_000] {
        let server = Server::started(&[]);
        let proxy = Proxy::to(server.port()).await;
        let one: Budget = "ratio:0.1,burst:1".parse().expect("a budget");
        let policy = Policy::default().budget(one);
        let builder = Builder::new(&proxy.url()).expect("an address");
        let builder = builder.commands(policy.retrier().expect("a valid policy"));
        let builder = builder.response_timeout(std::time::Duration::from_secs(30));
        let redis = builder.build().expect("valid settings");
        let () = redis.clone().set("k", 17).await.expect("it is set");
        proxy.swallow();
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..commands {
            let mut redis = redis.clone();
            all.spawn(async move { redis.get::<_, u64>("k").await });
        }
        // All are on their way: the server has counted them.
        let arrived = |server: &mut redis::Connection| -> usize {
            let told: String = cmd("INFO")
                .arg("commandstats")
                .query(server)
                .expect("it is told");
            let calls = told.split("cmdstat_get:calls=").nth(1);
            let calls = calls.and_then(|calls| calls.split(',').next()?.parse().ok());
            calls.unwrap_or_default()
        };
        let mut plain = server.plain();
        while arrived(&mut plain) < commands {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        proxy.cut();
        let answers = all.join_all().await;
        let failed = answers.iter().filter(|answer| **answer != Ok(17)).count();
        assert_eq!(
            (failed, proxy.connects()),
            (0, 2),
            "{:?}",
            answers.iter().find(|it| it.is_err())
        );
    }
}
