//! Is the table true of whatever a command may say?
//!
//! The server's own documentation says which words a command takes. The test draws commands from it, runs each, swallows
//! the answer, and runs it again. A command that the table calls repeatable must leave the same data. Its second answer
//! must be the first one, an error, or one that the driver calls a repetition's. The second test does so with several
//! commands at once.

use std::collections::BTreeMap;

use becalm_redis::commands::{Repeat, is_certain, names, repeat, repeat_all};
use redis::{Arg, Cmd, Connection, RedisResult, Value, cmd, pipe};

use crate::grammar::{Chance, Grammar, Words};
use crate::server::Server;

/// Keys of each kind, one that is not there, and one that is called like an option.
const KEYS: &[(&str, &str)] = &[
    ("w_1", "string"),
    ("w_2", "string"),
    ("w_1", "bitmap"),
    ("w_2", "bitmap"),
    ("list", "list"),
    ("list_2", "list"),
    ("set", "set"),
    ("set_2", "set"),
    ("zset", "sorted-set"),
    ("zset_2", "sorted-set"),
    ("hash", "hash"),
    ("stream", "stream"),
    ("hll", "hyperloglog"),
    ("hll_2", "hyperloglog"),
    ("geo", "geo"),
    ("none", "any"),
    ("STORE", "any"),
];

const NAMES: &[&str] = &[
    "a", "b", "c", "w_1", "set", "1", "0", "idmp", "STORE", "GET", "NX", "EX", "FIELDS", "LIMIT",
    "KEEPTTL",
];

const WORDS: Words<'_> = Words {
    keys: KEYS,
    names: NAMES,
};

/// Those that stop the server or this connection, last long, or are for operators.
fn is_left_out(name: &str) -> bool {
    let containers = [
        "ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "FUNCTION", "LATENCY", "MEMORY", "MODULE",
        "SCRIPT", "SLOWLOG", "PUBSUB",
    ];
    let container = name.split('|').next().expect("a name");
    // Scripts and functions that are not there.
    let others = [
        "EVALSHA_RO",
        "FCALL_RO",
        "DEBUG",
        "SHUTDOWN",
        "FAILOVER",
        "REPLICAOF",
        "SLAVEOF",
        "SAVE",
        "BGSAVE",
        "BGREWRITEAOF",
        "MIGRATE",
        "FLUSHALL",
        "FLUSHDB",
        "SWAPDB",
        "MOVE",
        "RANDOMKEY",
        "LOLWUT",
        "TIME",
        "INFO",
        "PFDEBUG",
        "PFSELFTEST",
    ];
    containers.contains(&container) || others.contains(&name)
}

fn set_up(server: &mut Connection, chance: &mut Chance) {
    let mut all = pipe();
    all.cmd("FLUSHALL").ignore();
    let lines = [
        "SET w_1 abc",
        "SET w_2 7 EX 5000",
        "SET STORE x",
        "RPUSH list 3 1 2 1",
        "SADD set a 1 2",
        "SADD set_2 1 b",
        "RPUSH list_2 x",
        "ZADD zset_2 2 a 5 x",
        "PFADD hll_2 b c",
        "ZADD zset 1 a 2 b 0 c",
        "HSET hash a 1 b 2 EX 3",
        "XADD stream 1-1 a 1",
        "XADD stream 1-2 b 2",
        "XGROUP CREATE stream group 0",
        "XREADGROUP GROUP group consumer COUNT 1 STREAMS stream >",
        "PFADD hll a b",
        "GEOADD geo 1 1 a 2 2 b",
        "EXPIRE zset 4000",
    ];
    for line in lines {
        let is_needed = line.starts_with('X') && line.contains("stream");
        if is_needed || !chance.is_one_in(5) {
            all.add_command(line_of(line)).ignore();
        }
    }
    // What it has counted it keeps, and `GET` shows it.
    all.cmd("PFCOUNT").arg("hll").ignore();
    all.cmd("PFCOUNT").arg("hll_2").ignore();
    let done: RedisResult<()> = all.query(server);
    done.expect("it is set up");
}

fn line_of(line: &str) -> Cmd {
    let mut command = Cmd::new();
    command.arg(line.split(' ').collect::<Vec<_>>());
    command
}

/// What each key holds and, in hundreds of seconds, until when; of a stream its groups and all that is pending.
fn state(server: &mut Connection) -> BTreeMap<String, String> {
    let keys: Vec<String> = cmd("KEYS").arg("*").query(server).expect("keys");
    let mut asked = pipe();
    for key in &keys {
        asked.cmd("DEBUG").arg("DIGEST-VALUE").arg(key);
        asked.cmd("PFCOUNT").arg(key);
        asked.cmd("TTL").arg(key);
        asked.cmd("XINFO").arg("STREAM").arg(key).arg("FULL");
    }
    let told: Vec<RedisResult<Value>> = asked.ignore_errors().query(server).expect("it is told");
    let each = keys.iter().zip(told.chunks_exact(4));
    let each = each.map(|(key, told)| {
        let ttl = match &told[2] {
            Ok(Value::Int(seconds)) => (seconds + 50) / 100,
            other => panic!("{other:?}"),
        };
        let stream = told[3].as_ref().map(without_times);
        // What PFCOUNT has counted is kept beside the elements.
        let held = told[1].as_ref().or(told[0].as_ref());
        (key.clone(), format!("{held:?} {ttl} {stream:?}"))
    });
    each.collect()
}

/// Without the moments at which a consumer was seen and an entry delivered.
fn without_times(stream: &Value) -> String {
    let told = format!("{stream:?}");
    let mut words = told.split("int(");
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut kept, word| {
        let (number, rest) = word.split_once(')').unwrap_or((word, ""));
        let is_moment = number.len() > 12;
        kept.push_str(if is_moment { "moment" } else { number });
        kept.push_str(rest);
        kept
    })
}

fn show(command: &Cmd) -> String {
    let words = command.args_iter().map(|word| match word {
        Arg::Simple(word) => String::from_utf8_lossy(word).into_owned(),
        _ => "cursor".into(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// So many rounds try each command.
const MANY: usize = 50_000;

/// What was tried, and what was not as the table says.
#[derive(Debug, Default)]
struct Report {
    freely: BTreeMap<String, u64>,
    once: u64,
    refused: u64,
    told: u64,
    unseen: Vec<String>,
}

/// Answers that come without an order, by chance, or with a moment in them.
fn is_drawn(name: &str) -> bool {
    [
        "DUMP",
        "HSCAN",
        "KEYS",
        "SCAN",
        "SSCAN",
        "ZSCAN",
        "XINFO|CONSUMERS",
        "XPENDING",
        "SRANDMEMBER",
        "HRANDFIELD",
        "ZRANDMEMBER",
        "OBJECT|IDLETIME",
        "OBJECT|FREQ",
    ]
    .contains(&name)
}

fn run_twice(server: &mut Connection, command: &Cmd, name: &str, report: &mut Report) {
    let first: RedisResult<Value> = command.query(server);
    let after_one = state(server);
    let second: RedisResult<Value> = command.query(server);
    let after_two = state(server);
    match &first {
        Ok(_) => *report.freely.entry(name.to_owned()).or_default() += 1,
        Err(_) => report.refused += 1,
    }
    let is_same_answer = match (&first, &second) {
        (_, Err(_)) => true,
        (Ok(first), Ok(second)) => first == second || is_drawn(name) || is_about(first, second),
        (Err(_), Ok(_)) => false,
    };
    let is_seen = second
        .as_ref()
        .is_ok_and(|second| !is_certain(command, second));
    report.told += u64::from(is_seen);
    if after_one != after_two || !(is_same_answer || is_seen) {
        let changed: Vec<_> = after_one
            .iter()
            .filter(|(key, held)| after_two.get(*key) != Some(*held))
            .collect();
        report.unseen.push(format!(
            "{}: {first:?}, then {second:?}; {changed:?}",
            show(command)
        ));
    }
}

/// A time to live is a little less the second time, and a consumer is seen later.
fn is_about(first: &Value, second: &Value) -> bool {
    let near = |one: i64, other: i64| one > 100 && (one - other).abs() < 1_000;
    let is_near =
        matches!((first, second), (Value::Int(one), Value::Int(other)) if near(*one, *other));
    is_near || without_times(&in_order(first)) == without_times(&in_order(second))
}

/// Members and keys come in any order.
fn in_order(answer: &Value) -> Value {
    match answer {
        Value::Array(all) => {
            let mut all: Vec<_> = all.iter().map(in_order).collect();
            all.sort_by_cached_key(|one| format!("{one:?}"));
            Value::Array(all)
        }
        Value::Set(all) => in_order(&Value::Array(all.clone())),
        Value::Map(all) => {
            let pairs = all
                .iter()
                .map(|(key, value)| Value::Array(vec![key.clone(), value.clone()]));
            in_order(&Value::Array(pairs.collect()))
        }
        other => other.clone(),
    }
}

/// Whether what it leaves is over in less than a round takes.
fn is_short_lived(command: &Cmd) -> bool {
    let words = show(command);
    let words: Vec<_> = words.split(' ').collect();
    let mut pairs = words.windows(2).enumerate();
    pairs.any(|(at, pair)| {
        let is_time = pair[0] == "PX" || at == 1 && ["PSETEX", "PEXPIRE"].contains(&words[0]);
        is_time
            && pair[1]
                .parse()
                .is_ok_and(|time: i64| (1..100_000).contains(&time))
    })
}

/// Draws for the commands of this server, which are tried in turn.
struct Trial {
    _server: Server,
    plain: Connection,
    grammar: Grammar,
    tried: Vec<String>,
    chance: Chance,
}

impl Trial {
    /// Over this version of the protocol.
    fn new(seed: u64, protocol: &str) -> Self {
        let server = Server::started(&["--enable-debug-command", "yes", "--appendonly", "no"]);
        let mut plain = server.plain();
        let grammar = Grammar::of(&mut plain);
        let address = format!("{}/?protocol={protocol}", server.url());
        let client = redis::Client::open(address).expect("an address");
        plain = client.get_connection().expect("it is there");
        let known: Vec<_> = names().collect();
        let tried = grammar.names().into_iter();
        let tried = tried.filter(|name| known.contains(name) && !is_left_out(name));
        Self {
            tried: tried.map(str::to_owned).collect(),
            _server: server,
            plain,
            grammar,
            chance: Chance(seed),
        }
    }

    fn draw(&mut self, name: &str) -> Cmd {
        loop {
            let command = self.grammar.draw(name, &WORDS, &mut self.chance);
            if !is_short_lived(&command) {
                return command;
            }
        }
    }

    /// One that may be sent again, and answers the same for the same state.
    fn draw_repeatable(&mut self) -> Cmd {
        loop {
            let name = self.chance.of(&self.tried).clone();
            let command = self.draw(&name);
            if repeat(&command) == Repeat::Freely && !is_drawn(&name) {
                return command;
            }
        }
    }
}

fn singles(seed: u64, protocol: &str, rounds: usize) -> Report {
    let mut trial = Trial::new(seed, protocol);
    let mut report = Report::default();
    for round in 0..rounds {
        let name = trial.tried[round % trial.tried.len()].clone();
        let command = trial.draw(&name);
        if repeat(&command) != Repeat::Freely {
            report.once += 1;
            continue;
        }
        // XADD is repeatable with IDMP alone. A server without IDMP refuses each such draw.
        if name != "XADD" || trial.grammar.has("XADD", "IDMP") {
            report.freely.entry(name.clone()).or_default();
        }
        set_up(&mut trial.plain, &mut trial.chance);
        run_twice(&mut trial.plain, &command, &name, &mut report);
    }
    report
}

/// Several at once. Their first sending has been run in part or, as of a transaction always, to its end.
fn several(seed: u64, protocol: &str, rounds: usize) -> Report {
    let mut trial = Trial::new(seed, protocol);
    let mut report = Report::default();
    for _ in 0..rounds {
        let count = 2 + trial.chance.below(3);
        let commands: Vec<_> = (0..count).map(|_| trial.draw_repeatable()).collect();
        let mut all = pipe();
        let mut is_ignored = Vec::new();
        for command in &commands {
            all.add_command(command.clone());
            is_ignored.push(trial.chance.is_one_in(2));
            if is_ignored.last() == Some(&true) {
                all.ignore();
            }
        }
        let begun = 1 + trial.chance.below(commands.len());
        if repeat_all(&all) != Repeat::Freely {
            report.once += 1;
            continue;
        }
        let Trial { plain, chance, .. } = &mut trial;
        let seed = chance.0;
        set_up(plain, chance);
        let (first, once) = (run(plain, &commands), state(plain));
        if first.iter().any(Result::is_err) {
            report.refused += 1;
            continue;
        }
        chance.0 = seed;
        set_up(plain, chance);
        let _ = run(plain, &commands[..begun]);
        let (second, twice) = (run(plain, &commands), state(plain));
        let name = commands.iter().map(show).collect::<Vec<_>>().join("; ");
        *report
            .freely
            .entry(format!("{count} commands"))
            .or_default() += 1;
        let each = first.iter().zip(&second).zip(&commands).zip(&is_ignored);
        let is_unseen = each.filter(|(((first, second), command), is_ignored)| {
            let (Ok(first), Ok(second)) = (first, second) else {
                return false;
            };
            !**is_ignored
                && first != second
                && !is_about(first, second)
                && is_certain(command, second)
        });
        if once != twice || is_unseen.count() > 0 {
            report.unseen.push(format!(
                "{name} ({is_ignored:?}, {begun}): {first:?}, then {second:?}, {once:?}, {twice:?}"
            ));
        }
    }
    report
}

fn run(server: &mut Connection, commands: &[Cmd]) -> Vec<RedisResult<Value>> {
    commands
        .iter()
        .map(|command| command.query(server))
        .collect()
}

/// As many as are asked for: `BECALM_ROUNDS`.
fn rounds() -> usize {
    let told = std::env::var("BECALM_ROUNDS");
    told.map_or(4_000, |rounds| rounds.parse().expect("a number"))
}

fn judge(report: &Report) {
    println!("{:?}", report.freely);
    println!(
        "once {} refused {} told {}",
        report.once, report.refused, report.told
    );
    assert!(
        report.unseen.is_empty(),
        "{}:\n{}",
        report.unseen.len(),
        report.unseen.join("\n")
    );
}

#[test]
fn what_is_sent_again_leaves_and_answers_what_it_did_or_says_so() {
    let report = singles(28, "resp2", rounds());
    judge(&report);
    let mut untried = report.freely.iter().filter(|(_, count)| **count == 0);
    assert!(rounds() < MANY || untried.next().is_none(), "{untried:?}");
}

#[test]
fn several_that_are_sent_again_leave_and_answer_what_they_did_or_say_so() {
    judge(&several(28, "resp2", rounds()));
}

/// The same in the types of the third version: maps, sets, doubles, nulls.
#[test]
fn answers_in_the_types_of_resp3_are_judged_as_others() {
    judge(&singles(29, "resp3", rounds() / 2));
    judge(&several(29, "resp3", rounds() / 2));
}
