//! What does a connection do with answers that are too long, or that it did not ask for?

use std::time::Duration;

use becalm_redis::Builder;
use redis::{AsyncCommands, RedisResult, cmd};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::proxy::Proxy;
use crate::server::Server;

/// Reads one command: its words.
pub async fn command(client: &mut BufReader<TcpStream>) -> Option<Vec<String>> {
    let mut line = String::new();
    client
        .read_line(&mut line)
        .await
        .ok()
        .filter(|read| *read > 0)?;
    let count: usize = line.trim().strip_prefix('*')?.parse().ok()?;
    let mut words = Vec::new();
    for _ in 0..count {
        line.clear();
        client.read_line(&mut line).await.ok()?;
        let length: usize = line.trim().strip_prefix('$')?.parse().ok()?;
        let mut word = vec![0; length + 2];
        client.read_exact(&mut word).await.ok()?;
        words.push(String::from_utf8_lossy(&word[..length]).into_owned());
    }
    Some(words)
}

/// What a server says to a connection that is new.
pub fn greeting(words: &[String]) -> Option<&'static [u8]> {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    match *words {
        ["PING"] => Some(b"+PONG\r\n"),
        ["CLIENT", "INFO"] => Some(b"$18\r\nid=1 addr=a laddr=\r\n"),
        ["CLIENT", "KILL", ..] => Some(b":0\r\n"),
        _ => None,
    }
}

/// A server of one's own that answers what `answer` says, and how many connections it had.
async fn server(answer: fn(&str) -> &'static [u8]) -> (String, tokio::sync::watch::Receiver<u32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("redis://{}", listener.local_addr().expect("an address"));
    let (dialled, connections) = tokio::sync::watch::channel(0);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            dialled.send_modify(|count| *count += 1);
            tokio::spawn(async move {
                let mut client = BufReader::new(client);
                while let Some(words) = command(&mut client).await {
                    let answer = greeting(&words).unwrap_or_else(|| answer(&words[1]));
                    if client.write_all(answer).await.is_err() {
                        break;
                    }
                    // And goes on, as one that sends 2 GiB would.
                    while answer.ends_with(b"...")
                        && client.write_all(&vec![b'x'; 65_536]).await.is_ok()
                    {}
                }
            });
        }
    });
    (url, connections)
}

/// A server that says this to the first command of each connection, and how many connections it had.
pub async fn greets(word: &'static str) -> (String, tokio::sync::watch::Receiver<u32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("redis://{}", listener.local_addr().expect("an address"));
    let (dialled, connections) = tokio::sync::watch::channel(0);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            dialled.send_modify(|count| *count += 1);
            let mut client = BufReader::new(client);
            if command(&mut client).await.is_some() {
                let _ = client.write_all(word.as_bytes()).await;
            }
        }
    });
    (url, connections)
}

/// The most memory that this process has had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.expect("it is told").trim().trim_end_matches(" kB");
    peak.parse().expect("a number")
}

#[tokio::test]
async fn an_answer_of_two_gibibytes_ends_its_command_and_its_connection() {
    let (url, connections) = server(|key| match key {
        "giant" => b"$2147483648\r\n...",
        "giants" => b"*1000000\r\n$16\r\n0123456789abcdef\r\n$2147483648\r\n...",
        _ => b"$2\r\n17\r\n",
    })
    .await;
    let mut redis = Builder::new(&url)
        .expect("an address")
        .build()
        .expect("valid settings");
    assert_eq!(redis.get("a").await, Ok(17));
    let before = peak();
    for (giant, dialled) in [("giant", 1), ("giants", 2)] {
        assert_eq!(*connections.borrow(), dialled);
        let limit = Duration::from_secs(20);
        let answer: RedisResult<String> = timeout(limit, redis.get(giant)).await.expect("in time");
        let error = answer.expect_err("it is too long").to_string();
        assert!(
            error.contains("more than 67108864 bytes") && error.contains("answer_bytes"),
            "{error}"
        );
        assert_eq!(redis.get("a").await, Ok(17));
        assert_eq!(*connections.borrow(), dialled + 1, "it was sent once");
    }
    let grown = peak() - before;
    assert!(grown < 2 * 64 * 1_024, "{grown} KiB");
}

#[tokio::test]
async fn an_answer_too_many_goes_to_no_command() {
    let (url, connections) = server(|key| match key {
        "twice" => b"$2\r\n17\r\n$6\r\nothers\r\n",
        _ => b"$3\r\nown\r\n",
    })
    .await;
    let mut redis = Builder::new(&url)
        .expect("an address")
        .build()
        .expect("valid settings");
    for _ in 0..5 {
        let twice: RedisResult<String> = redis.get("twice").await;
        // What came in one piece is given up as a whole, and asked for again.
        assert!(twice.is_err() || twice == Ok("17".into()), "{twice:?}");
        let own: RedisResult<String> = redis.get("mine").await;
        assert!(own.is_err() || own == Ok("own".into()), "{own:?}");
    }
    assert!(*connections.borrow() > 5);
}

#[tokio::test]
async fn what_is_long_and_allowed_comes() {
    let server = Server::started(&[]);
    let proxy = Proxy::to(server.port()).await;
    let builder = Builder::new(&proxy.url()).expect("an address");
    let mut redis = builder
        .answer_bytes(3 << 20)
        .build()
        .expect("valid settings");
    for (length, is_allowed) in [(1 << 20, true), (4 << 20, false), (2 << 20, true)] {
        let () = redis
            .set("long", vec![b'x'; length])
            .await
            .expect("it is set");
        let got: RedisResult<Vec<u8>> = redis.get("long").await;
        assert_eq!(
            got.is_ok_and(|got| got.len() == length),
            is_allowed,
            "{length}"
        );
    }
    let all: RedisResult<Vec<String>> = cmd("KEYS").arg("*").query_async(&mut redis).await;
    assert_eq!(all, Ok(vec!["long".to_owned()]));
}
