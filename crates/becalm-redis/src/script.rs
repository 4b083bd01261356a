//! How is a script sent? By its name, and whole where the server does not know it: that is another attempt, which the budget pays.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use becalm::{Failure, Hint};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, FromRedisValue, RedisError, RedisResult, ServerError, ToRedisArgs, Value, cmd};

use crate::Connection;
use crate::commands::{self, Repeat};
use crate::failed::Request;

/// A script of this crate.
#[derive(Debug)]
pub(crate) struct Script {
    text: &'static str,
    /// The name that servers give it.
    name: OnceLock<String>,
    /// The server has said so last: it was started anew, or another has taken over.
    is_unknown: AtomicBool,
}

/// A script with its keys and arguments.
#[derive(Debug)]
pub(crate) struct Call<'s> {
    script: &'s Script,
    keys: usize,
    words: Vec<Vec<u8>>,
}

impl Script {
    pub const fn new(text: &'static str) -> Self {
        Self {
            text,
            name: OnceLock::new(),
            is_unknown: AtomicBool::new(false),
        }
    }

    pub fn call(&self) -> Call<'_> {
        Call {
            script: self,
            keys: 0,
            words: Vec::new(),
        }
    }

    async fn name(&self, redis: &Connection) -> RedisResult<&str> {
        if let Some(name) = self.name.get() {
            return Ok(name);
        }
        let mut load = cmd("SCRIPT");
        load.arg("LOAD").arg(self.text);
        let name = load.query_async(&mut redis.clone()).await?;
        Ok(self.name.get_or_init(|| name))
    }
}

impl Call<'_> {
    /// Another key. Keys come before arguments.
    pub fn key(&mut self, key: impl ToRedisArgs) -> &mut Self {
        self.keys += 1;
        self.arg(key)
    }

    pub fn arg(&mut self, argument: impl ToRedisArgs) -> &mut Self {
        self.words.extend(argument.to_redis_args());
        self
    }

    pub async fn send<T: FromRedisValue>(&self, redis: &Connection) -> RedisResult<T> {
        let name = self.script.name(redis).await?;
        let answer = redis.send(Named { call: self, name }).await?;
        Ok(redis::from_redis_value(answer.extract_error()?)?)
    }

    fn command(&self, name: &str, is_whole: bool) -> Cmd {
        let mut command = if is_whole {
            cmd("EVAL").arg(self.script.text).take()
        } else {
            cmd("EVALSHA").arg(name).take()
        };
        command.arg(self.keys).arg(&self.words);
        command
    }
}

#[derive(Clone, Copy)]
struct Named<'c, 's> {
    call: &'c Call<'s>,
    name: &'c str,
}

impl Named<'_, '_> {
    /// Where the server does not know the script, it has done nothing, and the next attempt brings it.
    fn unknown(self, code: Option<&str>) -> Option<Failure> {
        (code == Some("NOSCRIPT")).then(|| {
            self.call.script.is_unknown.store(true, Ordering::Relaxed);
            let at_once = Hint::Exactly(Duration::ZERO);
            Failure::transient().hint(at_once).unsent()
        })
    }
}

impl Request for Named<'_, '_> {
    type Answer = Value;

    fn repeat(self, _: bool) -> Repeat {
        commands::repeat(&self.call.command(self.name, false))
    }

    fn writes(self) -> bool {
        true
    }

    async fn send(self, redis: &mut MultiplexedConnection) -> RedisResult<Value> {
        let is_unknown = &self.call.script.is_unknown;
        let is_whole = is_unknown.load(Ordering::Relaxed);
        let command = self.call.command(self.name, is_whole);
        let answer = redis.send_packed_command(&command).await;
        let is_known = matches!(&answer, Ok(answer) if !matches!(answer, Value::ServerError(_)));
        if is_whole && is_known {
            is_unknown.store(false, Ordering::Relaxed);
        }
        answer
    }

    fn least(self) -> usize {
        let [named, whole] = [false, true].map(|whole| self.call.command(self.name, whole));
        Request::least(&named).min(Request::least(&whole))
    }

    fn is_certain(self, answer: &Value) -> bool {
        (&self.call.command(self.name, false)).is_certain(answer)
    }

    fn refusal(self, answer: &Value) -> Option<Failure> {
        let code = match answer {
            Value::ServerError(error) => Some(error.code()),
            _ => None,
        };
        let command = self.call.command(self.name, false);
        self.unknown(code)
            .or_else(|| code.and((&command).refusal(answer)))
    }

    fn refused(self, error: &RedisError) -> Option<Failure> {
        let command = self.call.command(self.name, false);
        self.unknown(error.code())
            .or_else(|| (&command).refused(error))
    }

    fn first_error(answer: &Value) -> Option<&ServerError> {
        <&Cmd>::first_error(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::TcpListener;

    use super::*;

    /// How often each was sent to a server that keeps no script after such a number of uses.
    #[derive(Debug, Default)]
    struct Sent {
        named: AtomicUsize,
        whole: AtomicUsize,
    }

    async fn serve(forgets_after: usize) -> (Connection, Arc<Sent>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let sent = Arc::<Sent>::default();
        let counts = Arc::clone(&sent);
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a client");
            let mut stream = BufReader::new(stream);
            let (mut line, mut uses) = (String::new(), 0);
            loop {
                line.clear();
                if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                    return;
                }
                // Words stand on lines of their own, behind their lengths.
                let answer = match line.trim_end() {
                    "PING" => "+PONG\r\n",
                    "CLIENT" => "-ERR unknown command\r\n",
                    "LOAD" => "+6d1a\r\n",
                    "EVAL" => {
                        counts.whole.fetch_add(1, Ordering::SeqCst);
                        uses = 0;
                        ":17\r\n"
                    }
                    "EVALSHA" => {
                        counts.named.fetch_add(1, Ordering::SeqCst);
                        uses += 1;
                        if uses > forgets_after {
                            "-NOSCRIPT No matching script.\r\n"
                        } else {
                            ":17\r\n"
                        }
                    }
                    _ => continue,
                };
                if stream.get_mut().write_all(answer.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        let redis = Connection::open(&format!("redis://127.0.0.1:{port}")).expect("an address");
        (redis.repeatable(), sent)
    }

    #[tokio::test]
    async fn a_script_that_the_server_has_forgotten_is_brought_by_the_next_attempt() {
        let (redis, sent) = serve(100).await;
        let script = Script::new("return 17");
        for _ in 0..1000 {
            let mut call = script.call();
            call.key("a").arg("b");
            assert_eq!(call.send::<u32>(&redis).await, Ok(17));
        }
        let count = |of: &AtomicUsize| of.load(Ordering::SeqCst);
        assert_eq!((count(&sent.named), count(&sent.whole)), (1000, 9));
    }

    #[tokio::test]
    async fn the_budget_pays_what_is_sent_whole_after_its_name() {
        let (redis, sent) = serve(0).await;
        let script = Script::new("return 17");
        let mut done = 0;
        for _ in 0..1000 {
            done += usize::from(script.call().send::<u32>(&redis).await.is_ok());
        }
        let count = |of: &AtomicUsize| of.load(Ordering::SeqCst);
        let sent = count(&sent.named) + count(&sent.whole);
        assert!(sent <= 1000 + done / 10 + 10, "{sent} sent, {done} done");
        // What was not paid is brought by the next call, as its first try.
        assert!(done >= 500, "{done}");
    }
}
