//! Is the table of commands true of the server that is installed?

use std::collections::{HashMap, HashSet};

use becalm_redis::commands::{Repeat, names, reason, repeat, repeat_all};
use redis::{Cmd, Connection, RedisResult, Value, cmd, pipe};

use crate::server::Server;

fn command(line: &str) -> Cmd {
    let mut words = line.split_whitespace();
    let mut command = cmd(words.next().expect("a name"));
    for word in words {
        command.arg(word);
    }
    command
}

/// The names of all commands, in capitals, with what the server says of each.
fn flags(server: &mut Connection) -> HashMap<String, HashSet<String>> {
    let listed: Vec<String> = cmd("COMMAND").arg("LIST").query(server).expect("a list");
    let mut all = HashMap::new();
    for name in listed {
        let info: Vec<Value> = cmd("COMMAND")
            .arg("INFO")
            .arg(&name)
            .query(server)
            .expect("info");
        let Some(Value::Array(info)) = info.into_iter().next() else {
            panic!("{name}: nothing is told");
        };
        let Some(Value::Array(told)) = info.get(2) else {
            panic!("{name}: no flags");
        };
        let told = told.iter().filter_map(|flag| match flag {
            Value::SimpleString(flag) => Some(flag.clone()),
            _ => None,
        });
        all.insert(name.to_uppercase(), told.collect());
    }
    all
}

#[test]
fn it_knows_every_command_of_the_server() {
    let server = Server::started(&[]);
    let known: HashSet<_> = names().collect();
    assert!(known.len() > 360, "{}", known.len());
    let containers = HashSet::from([
        "ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "FUNCTION", "LATENCY", "MEMORY", "MODULE",
        "OBJECT", "PUBSUB", "SCRIPT", "SLOWLOG", "XGROUP", "XINFO",
    ]);
    let all = flags(&mut server.plain());
    assert!(all.len() > 300, "{}", all.len());
    let unknown = all
        .keys()
        .filter(|name| !known.contains(&***name) && !containers.contains(&***name));
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&String>::new());
}

/// What is there, and a command that writes: by the table it leaves the same the second time.
const WRITES: &[(&str, &str)] = &[
    ("SET a 1", "DEL a"),
    ("SET a 1", "UNLINK a"),
    ("SET a 1", "SET a 2"),
    ("SET a 1", "SET a 2 EX 100"),
    ("SET a 1", "SETEX a 100 2"),
    ("SET a 1", "PSETEX a 100000 2"),
    ("SET a 1", "SETRANGE a 3 x"),
    ("SET a 1", "SETBIT a 6 1"),
    ("SET a 1", "MSET a 2 b 3"),
    ("SET a 1", "EXPIRE a 100"),
    ("SET a 1", "EXPIRE a 100 NX"),
    ("SET a 1", "PEXPIRE a 100000"),
    ("SET a 1", "EXPIREAT a 9999999999"),
    ("SET a 1", "PEXPIREAT a 9999999999000"),
    ("SET a 1 EX 100", "PERSIST a"),
    ("SET a 1", "GETEX a EX 100"),
    ("SET a 1", "BITFIELD a SET u8 0 3"),
    ("SET a abc SET b bcd", "BITOP XOR c a b"),
    ("LPUSH l 3 1 3", "LREM l 0 3"),
    ("LPUSH l 3 1 2", "SORT l STORE m"),
    ("SADD s 1", "SADD s 2"),
    ("SADD s 1 2", "SREM s 2"),
    ("SADD s 1 2 SADD t 2 3", "SDIFFSTORE u s t"),
    ("SADD s 1 2 SADD t 2 3", "SINTERSTORE u s t"),
    ("SADD s 1 2 SADD t 2 3", "SUNIONSTORE u s t"),
    ("HSET h a 1", "HSET h a 2 b 3"),
    ("HSET h a 1", "HMSET h a 2 b 3"),
    ("HSET h a 1 b 2", "HDEL h a"),
    ("ZADD z 1 a", "ZADD z 2 a 3 b"),
    ("ZADD z 1 a", "ZADD z GT 2 a"),
    ("ZADD z 1 a 2 b", "ZREM z a"),
    ("ZADD z 1 a 2 b", "ZREMRANGEBYSCORE z 0 1"),
    ("ZADD z 0 a 0 b", "ZREMRANGEBYLEX z [a [a"),
    ("ZADD y 1 a 2 b ZADD z 1 a", "ZDIFFSTORE u 2 y z"),
    ("ZADD y 1 a 2 b ZADD z 1 a", "ZINTERSTORE u 2 y z"),
    ("ZADD y 1 a 2 b ZADD z 1 a", "ZUNIONSTORE u 2 y z"),
    ("ZADD y 1 a 2 b", "ZRANGESTORE u y 0 0"),
    ("PFADD p a", "PFADD p b"),
    ("PFADD p a PFADD q b", "PFMERGE p q"),
    ("GEOADD g 1 1 a", "GEOADD g 2 2 b"),
    ("GEOADD g 1 1 a", "GEORADIUS g 1 1 10 km STORE u"),
    ("GEOADD g 1 1 a", "GEORADIUSBYMEMBER g a 10 km STORE u"),
    (
        "GEOADD g 1 1 a",
        "GEOSEARCHSTORE u g FROMMEMBER a BYRADIUS 10 km",
    ),
    ("XADD x 1-1 f v XADD x 1-2 f v", "XDEL x 1-1"),
    ("XADD x 1-1 f v XADD x 1-2 f v", "XTRIM x MAXLEN 1"),
    ("XADD x 1-1 f v", "XSETID x 5-5"),
    ("XADD x 1-1 f v", "XGROUP CREATE x g 0"),
    ("XADD x 1-1 f v XGROUP CREATE x g 0", "XGROUP DESTROY x g"),
    (
        "XADD x 1-1 f v XGROUP CREATE x g 0",
        "XGROUP CREATECONSUMER x g c",
    ),
    ("XADD x 1-1 f v XGROUP CREATE x g 0", "XGROUP SETID x g 1-1"),
    (
        "XADD x 1-1 f v XGROUP CREATE x g 0 XREADGROUP GROUP g c STREAMS x >",
        "XACK x g 1-1",
    ),
];

/// What would be done twice, and is sent once.
const ONCE: &[(&str, &str)] = &[
    ("SET a 1", "INCR a"),
    ("SET a 1", "APPEND a 1"),
    ("LPUSH l 3 1 2", "LPOP l"),
    ("LPUSH l 3 1 3", "LREM l 1 3"),
    ("SET a abc SET b bcd", "BITOP XOR a a b"),
    ("SADD s 1 2 SADD t 2 3 SADD r 1", "RENAME r s"),
    ("ZADD z 1 a", "ZADD z INCR 2 a"),
    ("ZADD y 1 a ZADD z 1 a", "ZUNIONSTORE y 2 y z"),
    ("SET a 1", "BITFIELD a INCRBY u8 0 3"),
    ("XADD x 1-1 f v", "XADD x * f v"),
    ("XADD x 1-1 f v XADD x 1-2 f v", "ZADD z INCR 1 a"),
];

/// The commands of a line that begins each with a name in capitals of a command that writes.
fn set_up(server: &mut Connection, line: &str) {
    let () = cmd("FLUSHALL").query(server).expect("it is empty");
    let is_name = |word: &str| {
        [
            "SET",
            "LPUSH",
            "SADD",
            "HSET",
            "ZADD",
            "PFADD",
            "GEOADD",
            "XADD",
            "XGROUP",
            "XREADGROUP",
        ]
        .contains(&word)
    };
    let mut lines: Vec<Vec<&str>> = Vec::new();
    for word in line.split_whitespace() {
        if is_name(word) {
            lines.push(Vec::new());
        }
        lines.last_mut().expect("a name").push(word);
    }
    for line in lines {
        let done: RedisResult<Value> = command(&line.join(" ")).query(server);
        done.unwrap_or_else(|error| panic!("{line:?}: {error}"));
    }
}

/// Of all that is there, and of the stream, of which the server's own digest knows the entries alone.
fn digest(server: &mut Connection) -> String {
    let digest: String = cmd("DEBUG").arg("DIGEST").query(server).expect("a digest");
    let mut of_stream = |what: &str| {
        let told: RedisResult<Value> = cmd("XINFO").arg(what).arg("x").query(server);
        told.ok()
    };
    format!(
        "{digest} {:?} {:?}",
        of_stream("STREAM"),
        of_stream("GROUPS")
    )
}

/// What is there after the command was run once, and twice.
fn once_and_twice(server: &mut Connection, before: &str, line: &str) -> [String; 2] {
    set_up(server, before);
    let untouched = digest(server);
    let states = [(); 2].map(|()| {
        // The second may be refused: what counts is what is there.
        let _: RedisResult<Value> = command(line).query(server);
        digest(server)
    });
    assert!(states[0] != untouched, "{line} does nothing");
    states
}

#[test]
fn what_is_sent_again_leaves_the_same_and_what_would_not_is_sent_once() {
    let server = Server::started(&["--enable-debug-command", "yes"]);
    let mut plain = server.plain();
    for (before, line) in WRITES {
        assert_eq!(repeat(&command(line)), Repeat::Freely, "{line}");
        let [once, twice] = once_and_twice(&mut plain, before, line);
        assert_eq!(once, twice, "{line}");
    }
    for (before, line) in ONCE {
        assert_eq!(repeat(&command(line)), Repeat::Once, "{line}");
        if !line.starts_with("RENAME") {
            let [once, twice] = once_and_twice(&mut plain, before, line);
            assert_ne!(once, twice, "{line}");
        }
    }
}

/// The name of the command of a line, as the server gives it.
fn name(line: &str) -> String {
    let words: Vec<_> = line.split_whitespace().collect();
    let has_subcommands = words[0] == "XGROUP";
    words[..if has_subcommands { 2 } else { 1 }].join("|")
}

/// Whose arguments decide, and which without any are sent once. XADD is sent again from Redis 8.6 on, with `IDMP`.
const DECIDED: [&str; 2] = ["LREM", "XADD"];

#[test]
fn nothing_is_sent_again_that_was_not_run_twice_but_what_writes_nothing() {
    let server = Server::started(&[]);
    let [run, once] = [WRITES, ONCE].map(|lines| {
        let names = lines.iter().map(|(_, line)| name(line));
        names.collect::<HashSet<_>>()
    });
    let (mut read, mut asked, mut decided) = (0, 0, 0);
    let mut skipped = Vec::new();
    for (name, flags) in flags(&mut server.plain()) {
        let bare = repeat(&command(&name.replace('|', " ")));
        let is_decided = DECIDED.contains(&&*name);
        decided += u32::from(is_decided);
        if is_decided {
            assert!(bare == Repeat::Once && once.contains(&name), "{name}");
        }
        if bare == Repeat::Freely && !run.contains(&name) {
            if flags.contains("readonly") {
                read += 1;
            } else if !flags.contains("write") && reason(&name) == Some("asks only") {
                asked += 1;
            } else {
                skipped.push(name);
            }
        }
    }
    skipped.sort();
    assert_eq!(skipped, NO_DATA, "sent again, and never run twice");
    assert!(
        read > 80 && asked > 70 && decided == 2,
        "{read} {asked} {decided}"
    );
}

/// What neither reads nor writes data, and more than asks.
const NO_DATA: [&str; 2] = ["ACL|LOG", "SCRIPT|LOAD"];

/// Options stand in any place.
#[test]
fn an_xreadgroup_that_blocks_is_dedicated_wherever_it_says_so() {
    for text in [
        "XREADGROUP GROUP g c BLOCK 0 STREAMS k >",
        "XREADGROUP BLOCK 0 GROUP g c STREAMS k >",
        "XREADGROUP COUNT 1 BLOCK 0 GROUP g c STREAMS k >",
        "XREADGROUP NOACK BLOCK 0 GROUP g c STREAMS k >",
        "XREADGROUP block 0 GROUP g streams STREAMS k >",
        "XREADGROUP COUNT 1 GROUP g streams BLOCK 0 STREAMS k >",
    ] {
        assert_eq!(repeat(&command(text)), Repeat::Dedicated, "{text}");
    }
}

#[test]
fn several_are_sent_again_unless_one_reads_what_a_later_one_writes() {
    for (lines, expected) in [
        ("XREAD STREAMS s 0; XTRIM s MAXLEN 0", Repeat::Once),
        ("hset k f 1; expire k 100", Repeat::Freely),
        ("get k; expire k 60", Repeat::Once),
        ("get k; pexpire k 299999", Repeat::Once),
        ("get k; getex k ex 60", Repeat::Once),
        ("get k; expire k 300", Repeat::Freely),
        ("expire k 60; get k", Repeat::Freely),
        ("lrange k 0 -1; del k", Repeat::Once),
        ("PFCOUNT a b; PFADD b x", Repeat::Once),
        ("OBJECT ENCODING k; SET k x", Repeat::Once),
        (
            "GEOSEARCH k FROMMEMBER a BYRADIUS 1 m; ZREM k a",
            Repeat::Once,
        ),
        ("GETEX k EX 100; DEL k", Repeat::Once),
        ("BITOP AND d a b; SET a 1", Repeat::Once),
        ("ZADD z GT 1 a; ZADD z 0 a", Repeat::Once),
        ("SCAN 0; SET k 1", Repeat::Once),
        ("HGET h a; HSET h b 1", Repeat::Freely),
        ("HLEN h; HSET h b 1", Repeat::Once),
        ("SET k 1; GET k", Repeat::Freely),
        ("PING; SET k 1", Repeat::Freely),
        ("GET k; MYMODULE.SET j 1", Repeat::Once),
    ] {
        let mut all = pipe();
        for line in lines.split("; ") {
            all.add_command(command(line));
        }
        assert_eq!(repeat_all(&all), expected, "{lines}");
    }
}
