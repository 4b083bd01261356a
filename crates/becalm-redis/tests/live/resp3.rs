//! Is the third version of the protocol heeded, and does all mean the same in it?

use std::collections::{HashMap, HashSet};
#[cfg(feature = "streams")]
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm_redis::{Builder, Connection, is_answer_unknown};
use redis::{
    AsyncCommands, Cmd, Commands, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo,
    RedisResult, Script, Value, cmd, pipe,
};
use tokio::time::timeout;

use crate::proxy::Proxy;
use crate::server::Server;

const PROTOCOLS: [&str; 2] = ["resp2", "resp3"];

fn open(url: &str, protocol: &str) -> Connection {
    Connection::open(&format!("{url}/?protocol={protocol}")).expect("an address")
}

fn of_settings(server: &Server, protocol: ProtocolVersion) -> Connection {
    let info = server.url().into_connection_info().expect("an address");
    let settings = RedisConnectionInfo::default().set_protocol(protocol);
    let builder = Builder::of(info.set_redis_settings(settings)).expect("an address");
    builder.build().expect("valid settings")
}

#[tokio::test]
async fn the_settings_of_redis_are_heeded_too() {
    let server = Server::started(&[]);
    let () = server.plain().hset("h", "f", 1).expect("set");
    for (protocol, is_new) in [
        (ProtocolVersion::RESP2, false),
        (ProtocolVersion::RESP3, true),
    ] {
        let mut redis = of_settings(&server, protocol);
        let all: Value = command("HGETALL h")
            .query_async(&mut redis)
            .await
            .expect("all");
        assert_eq!(matches!(all, Value::Map(_)), is_new, "{all:?}");
    }
}

fn command(line: &str) -> Cmd {
    let mut command = Cmd::new();
    command.arg(line.split(' ').collect::<Vec<_>>());
    command
}

#[tokio::test]
async fn answers_have_the_types_of_the_protocol_that_was_asked_for() {
    let server = Server::started(&["--enable-debug-command", "yes"]);
    for protocol in PROTOCOLS {
        let mut redis = open(&server.url(), protocol);
        let () = redis.hset("h", "f", 1).await.expect("set");
        let () = redis.zadd("z", "a", 1.5).await.expect("set");
        let () = redis.sadd("s", "a").await.expect("set");
        let is_new = protocol == "resp3";
        let mut kinds = Vec::new();
        for line in [
            "HGETALL h",
            "SMEMBERS s",
            "ZSCORE z a",
            "GET none",
            "CONFIG GET maxmemory",
        ] {
            let answer: Value = command(line).query_async(&mut redis).await.expect(line);
            kinds.push(matches!(
                answer,
                Value::Map(_) | Value::Set(_) | Value::Double(_) | Value::Nil
            ));
        }
        assert_eq!(kinds, [is_new, is_new, is_new, true, is_new], "{protocol}");
        let mut debug = command("DEBUG PROTOCOL true");
        let answer: Value = debug.query_async(&mut redis).await.expect("a truth");
        assert_eq!(matches!(answer, Value::Boolean(true)), is_new, "{answer:?}");
        debug = command("DEBUG PROTOCOL attrib");
        let told: RedisResult<Value> = debug.query_async(&mut redis).await;
        told.expect("some text");
        // Nothing is shifted by attributes, pushes and nulls.
        let _: RedisResult<Value> = command("DEBUG PROTOCOL push").query_async(&mut redis).await;
        let () = redis.set("k", 17).await.expect("set");
        assert_eq!(redis.get("k").await, Ok(17), "{protocol}");
    }
}

#[tokio::test]
async fn typed_commands_pipelines_transactions_and_scripts_answer_the_same() {
    for protocol in PROTOCOLS {
        let server = Server::started(&[]);
        let mut redis = open(&server.url(), protocol);
        let () = redis.hset("h", "f", 1).await.expect("set");
        let all: HashMap<String, u64> = redis.hgetall("h").await.expect("a map");
        assert_eq!(all, HashMap::from([("f".to_owned(), 1)]));
        let () = redis.sadd("s", &["a", "b"]).await.expect("set");
        let members: HashSet<String> = redis.smembers("s").await.expect("a set");
        assert_eq!(members.len(), 2);
        let () = redis.zadd("z", "a", 1.5).await.expect("set");
        assert_eq!(redis.zscore("z", "a").await, Ok(Some(1.5)));
        let scores: Vec<(String, f64)> = redis.zrange_withscores("z", 0, -1).await.expect("scores");
        assert_eq!(scores, [("a".to_owned(), 1.5)]);
        let mut both = pipe();
        both.atomic()
            .incr("a", 1)
            .ignore()
            .incr("b", 1)
            .hgetall("h");
        let done: RedisResult<(u64, HashMap<String, u64>)> = both.query_async(&mut redis).await;
        assert_eq!(done, Ok((1, all)), "{protocol}");
        let script = Script::new("return {redis.call('INCR', KEYS[1]), false, 'x'}");
        let told: RedisResult<(u64, Option<u64>, String)> =
            script.key("a").invoke_async(&mut redis).await;
        assert_eq!(told, Ok((2, None, "x".to_owned())), "{protocol}");
        let mut own = redis.dedicated().await.expect("a connection");
        let () = redis.lpush("l", 1).await.expect("pushed");
        assert_eq!(own.blpop("l", 1.0).await, Ok(Some(("l".to_owned(), 1))));
        let () = cmd("SELECT")
            .arg(3)
            .query_async(&mut own)
            .await
            .expect("changed");
        let () = command("CLIENT TRACKING ON BCAST")
            .query_async(&mut own)
            .await
            .or_else(|error| {
                if protocol == "resp2" {
                    Ok(())
                } else {
                    Err(error)
                }
            })
            .expect("it tracks");
        let () = server.plain().set("elsewhere", 1).expect("set");
        // What is invalid comes of itself, and is no answer.
        assert_eq!(own.get("none").await, Ok(None::<u64>), "{protocol}");
        let none: RedisResult<Option<Vec<Value>>> = command("XREAD COUNT 1 STREAMS none 0")
            .query_async(&mut own)
            .await;
        assert_eq!(none, Ok(None));
    }
}

/// A repetition's answer in the types of both protocols.
#[tokio::test]
async fn whose_answer_it_is_is_judged_in_both_protocols() {
    for protocol in PROTOCOLS {
        let server = Server::started(&[]);
        let proxy = Proxy::to(server.port()).await;
        let redis = open(&proxy.url(), protocol);
        for (before, line, is_certain) in [
            ("DEL s", "SADD s a", false),
            ("SET k 1 EX 1000", "PERSIST k", false),
            ("SET k 1", "EXPIRE k 1000 NX", false),
            ("DEL b", "SETBIT b 7 1", false),
            ("HSET h f 1", "HGETALL h", true),
            ("SADD t a", "SMEMBERS t", true),
            ("ZADD z 1.5 a", "ZSCORE z a", true),
            ("DEL none", "GET none", true),
            ("SET k 1", "SET k 2", true),
            ("SET k 1", "GETEX k EX 1000", true),
        ] {
            let () = command(before).query(&mut server.plain()).expect(before);
            let () = cmd("PING")
                .exec_async(&mut redis.clone())
                .await
                .expect("it is there");
            proxy.take_next_answer();
            let answer: RedisResult<Value> = command(line).query_async(&mut redis.clone()).await;
            let is_unknown = answer.as_ref().is_err_and(is_answer_unknown);
            assert_eq!(is_unknown, !is_certain, "{protocol} {line}: {answer:?}");
            assert!(
                answer.is_ok() || is_unknown,
                "{protocol} {line}: {answer:?}"
            );
        }
    }
}

/// Scripts answer lists, nulls and texts; the doorbell of an idle consumer reads a map.
#[cfg(feature = "streams")]
#[tokio::test]
async fn a_consumer_of_streams_handles_each_message_once_in_both_protocols() {
    use crate::streams::{Fault, consume, dead, number, pending, publish, run_until};
    use becalm_redis::streams::Consumer;

    for protocol in PROTOCOLS {
        let server = Server::started(&[]);
        publish(&server, 20, |number| (number % 3).to_string());
        let quick = consume(Duration::from_secs(20), Duration::from_millis(400));
        let consumer = Consumer::builder(open(&server.url(), protocol), "orders", "shipping");
        let consumer = consumer.consume(quick).order_by("key");
        let handled = Arc::<Mutex<Vec<usize>>>::default();
        let record = Arc::clone(&handled);
        let ship = move |message| {
            let number = number(&message);
            record.lock().expect("unpoisoned").push(number);
            async move {
                if number == 7 {
                    return Err(Fault(becalm::Failure::permanent()));
                }
                Ok(())
            }
        };
        let mut more = 20;
        run_until(vec![consumer], ship, || {
            let count = handled.lock().expect("unpoisoned").len();
            if count == 20 && more == 20 {
                // It waits for this one.
                std::thread::sleep(Duration::from_millis(100));
                more = 21;
                let one = [("number", "20"), ("key", "0")];
                let _: String = server.plain().xadd("orders", "*", &one).expect("published");
            }
            count == 21 && pending(&server, "shipping") == 0
        })
        .await;
        let mut handled = handled.lock().expect("unpoisoned").clone();
        handled.sort_unstable();
        assert_eq!(handled, (0..=20).collect::<Vec<_>>(), "{protocol}");
        assert_eq!(dead(&server, "shipping").ids.len(), 1, "{protocol}");
    }
}

#[tokio::test]
async fn a_login_goes_with_the_greeting_and_its_refusal_is_final() {
    let server = Server::started(&["--requirepass", "secret"]);
    let address = |login: &str| {
        server
            .url()
            .replace("redis://", &format!("redis://{login}"))
    };
    let mut redis = open(&address(":secret@"), "resp3");
    assert_eq!(redis.incr("a", 1).await, Ok(1));
    for (login, code) in [
        ("", "NOAUTH"),
        (":wrong@", "WRONGPASS"),
        ("nobody:secret@", "WRONGPASS"),
    ] {
        let mut redis = open(&address(login), "resp3");
        let refused: RedisResult<u64> = timeout(Duration::from_secs(5), redis.incr("a", 1))
            .await
            .expect("at once");
        let error = refused.expect_err("refused").to_string();
        assert!(error.contains(code), "{login}: {error}");
    }
}

/// Of a server, or a proxy, that knows the second version alone.
#[tokio::test]
async fn a_server_that_does_not_speak_it_is_final_and_says_so() {
    for word in [
        "-NOPROTO unsupported protocol version\r\n",
        "-ERR unknown command `HELLO`, with args beginning with: `3`\r\n",
    ] {
        let (url, dials) = crate::unfit::greets(word).await;
        let mut redis = open(&url, "resp3");
        let refused: RedisResult<u64> = timeout(Duration::from_secs(5), redis.incr("a", 1))
            .await
            .expect("at once");
        let error = refused.expect_err("refused").to_string();
        assert!(error.contains("protocol=resp3"), "{error}");
        assert_eq!(*dials.borrow(), 1);
    }
}
