//! A server of the test's own answers: whose answer is it, and who waits for which?

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use becalm::Budget;
use becalm_redis::{Builder, Policy, is_answer_unknown};
use redis::{RedisResult, cmd, pipe};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use crate::unfit::{command, greeting};

/// A server that answers its nth command (but PING) so; an empty answer is none.
async fn server(
    answer: impl Fn(u32, &[String]) -> Vec<u8> + Send + Sync + 'static,
) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("redis://{}", listener.local_addr().expect("an address"));
    let count = Arc::<AtomicU32>::default();
    let counted = Arc::clone(&count);
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (counted, answer) = (Arc::clone(&counted), Arc::clone(&answer));
            tokio::spawn(async move {
                let mut client = BufReader::new(client);
                while let Some(words) = command(&mut client).await {
                    let bytes = match greeting(&words) {
                        Some(greeting) => greeting.to_vec(),
                        None => answer(counted.fetch_add(1, Ordering::SeqCst), &words),
                    };
                    if client.write_all(&bytes).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    (url, count)
}

/// The first SADD takes effect, its answer comes after the attempt's time; the second answers 0.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_repetition_after_an_attempts_time_out_tells_that_its_answer_is_unknown() {
    for _ in 0..20 {
        let (url, count) = server(|nth, _| {
            // It comes when the first attempt has ended.
            match nth {
                0 => Vec::new(),
                1 => b":1\r\n:0\r\n".to_vec(),
                _ => b":0\r\n".to_vec(),
            }
        })
        .await;
        let policy = Policy::fixed(Duration::from_millis(5))
            .attempts(100)
            .budget(Budget::None)
            .attempt_timeout(Duration::from_micros(50_500));
        let mut redis = Builder::new(&url)
            .expect("it is valid")
            .commands(policy.retrier().expect("it is valid"))
            .build()
            .expect("it is valid");
        let _: RedisResult<String> = cmd("PING").query_async(&mut redis).await;
        let answer: RedisResult<i64> = cmd("SADD").arg("s").arg("x").query_async(&mut redis).await;
        assert!(count.load(Ordering::SeqCst) >= 2, "it is sent again");
        let error = answer.expect_err("the first sending has added it");
        assert!(is_answer_unknown(&error), "{error}");
    }
}

/// Of a pipeline one part took effect, another was refused for now; the repetition's answers are not those of the first.
#[tokio::test]
async fn a_pipeline_of_which_a_part_took_effect_is_a_repetition_too() {
    for word in [
        "-OOM command not allowed",
        "-READONLY You can't write",
        "-TRYAGAIN x",
        "-MISCONF x",
        "-NOREPLICAS x",
    ] {
        let (url, count) = server(move |nth, _| match nth {
            0 => b":1\r\n".to_vec(),
            1 => format!("{word}\r\n").into_bytes(),
            2 => b":0\r\n".to_vec(),
            _ => b"+OK\r\n".to_vec(),
        })
        .await;
        let mut redis = Builder::new(&url)
            .expect("it is valid")
            .build()
            .expect("it is valid");
        let answer: RedisResult<(i64, String)> = pipe()
            .srem("s", "x")
            .set("k", 1)
            .query_async(&mut redis)
            .await;
        let sent = count.load(Ordering::SeqCst);
        let error = answer.expect_err(word);
        assert_eq!(is_answer_unknown(&error), sent > 2, "{word}: {error}");
    }
}

/// The server is well again, and answers each of the waiting with an error of its own.
#[tokio::test]
async fn an_error_of_its_own_says_too_that_the_server_refuses_no_more() {
    let began = Instant::now();
    let (url, _) = server(move |_, _| {
        if began.elapsed() < Duration::from_millis(500) {
            b"-LOADING Redis is loading\r\n".to_vec()
        } else {
            b"-WRONGTYPE Operation against a key\r\n".to_vec()
        }
    })
    .await;
    let redis = Builder::new(&url)
        .expect("it is valid")
        .build()
        .expect("it is valid");
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let mut redis = redis.clone();
        all.spawn(async move {
            cmd("SADD")
                .arg("k")
                .arg("x")
                .query_async::<i64>(&mut redis)
                .await
                .expect_err("an error")
                .to_string()
        });
    }
    let errors = all.join_all().await;
    let wrong = errors
        .iter()
        .filter(|error| !error.contains("WRONGTYPE"))
        .count();
    assert_eq!(wrong, 0, "were told LOADING");
}

/// The answer before the one that is too long comes in the same read.
#[tokio::test]
async fn who_is_answered_in_the_same_read_as_one_that_is_too_long_has_the_answer() {
    let (url, count) = server(|_, words| match &*words[1] {
        "small" => vec![],
        _ => b"$1\r\n1\r\n$2147483648\r\n".to_vec(),
    })
    .await;
    let redis = Builder::new(&url)
        .expect("it is valid")
        .build()
        .expect("it is valid");
    let _: RedisResult<String> = cmd("PING").query_async(&mut redis.clone()).await;
    let get = |key: &'static str| {
        let mut redis = redis.clone();
        async move { cmd("GET").arg(key).query_async::<i64>(&mut redis).await }
    };
    let (small, giant) = tokio::join!(get("small"), get("giant"));
    assert_eq!(small, Ok(1));
    assert!(
        giant
            .expect_err("it is too long")
            .to_string()
            .contains("more than")
    );
    assert_eq!(count.load(Ordering::SeqCst), 2);
}
