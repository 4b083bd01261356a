//! Can what was sent over a connection that was given up still take effect?
//!
//! What lies between a client and its server may hold bytes for seconds, and let them go later. So each connection learns who it is
//! on its server, and the next one has the server end those before it, before it carries anything. A server that frees a
//! client throws away what had come and was not executed (`freeClient` in Redis's networking.c), and what comes later
//! comes to no client.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, Pipeline, RedisError, RedisResult, Value, pipe};

use crate::refusals::passes;

/// What becomes a command that writes, if its first copy may come late: its connection was given up, and the server did not end it.
///
/// It needs Redis 6.2, and the rights `+client|info` and `+client|kill`. A proxy that puts many clients on one connection
/// refuses both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LateCopies {
    /// It is not sent again, and its error says why. What only reads is sent again.
    #[default]
    Refuse,
    /// It is sent again. Its first copy may come late, and undo what was written after its repetition.
    Accept,
}

/// A connection as its server knows it.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// Its number, which a server gives once, and its address: after a restart the number may be another's.
    name: Option<(String, String)>,
    /// Whether the server has ended it, or why not.
    end: OnceLock<Result<(), String>>,
}

impl Client {
    /// Of `CLIENT INFO`: `id=7 addr=127.0.0.1:50000 laddr=..`.
    fn of(answer: Value) -> Result<Self, String> {
        let told = answer.extract_error().map_err(|error| word(&error))?;
        let told: String = redis::from_redis_value(told).map_err(|error| error.to_string())?;
        let name = told.strip_prefix("id=").and_then(|rest| {
            let (id, rest) = rest.split_once(" addr=")?;
            let (address, _) = rest.split_once(" laddr=")?;
            Some((id.to_owned(), address.to_owned()))
        });
        let name = name.ok_or("it answered CLIENT INFO strangely")?;
        Ok(Self {
            name: Some(name),
            end: OnceLock::new(),
        })
    }

    fn without_name(reason: impl Into<String>) -> Self {
        Self {
            name: None,
            end: OnceLock::from(Err(reason.into())),
        }
    }

    /// Whether nothing that was sent over this one comes after what is sent over that one now.
    pub fn is_over_before(self: &Arc<Self>, now: &Arc<Self>) -> Result<(), RedisError> {
        // On one connection the first copy is read first.
        if Arc::ptr_eq(self, now) {
            return Ok(());
        }
        let end = self.end.get();
        match end.map(Result::as_ref) {
            Some(Ok(())) => Ok(()),
            Some(Err(reason)) => Err(not_sent_again(reason)),
            None => Err(not_sent_again("it was not asked to")),
        }
    }
}

fn word(error: &RedisError) -> String {
    match error.code() {
        Some(code) => format!("{code} {}", error.detail().unwrap_or_default()),
        None => error.to_string(),
    }
}

fn not_sent_again(reason: &str) -> RedisError {
    let detail = format!(
        "{reason}; grant +client|info +client|kill (Redis 6.2), or take it as it comes: Builder::late_copies(LateCopies::Accept)"
    );
    let description = "the command writes and was not sent again: its first copy may come late, and undo what others write after \
        the second, since the server did not end the connection of the first";
    RedisError::from((ErrorKind::Client, description, detail))
}

/// Who was dialled so far, one after another.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    /// Not known to be ended, of which all but the last are given up.
    former: Mutex<Vec<Arc<Client>>>,
    /// How many connections have asked without an answer; [`ANSWERS`] from the first answer on.
    unanswered: AtomicU8,
}

const ANSWERS: u8 = u8::MAX;
/// A proxy that hangs up on a command which it does not know, or is silent, is not asked again.
const TOLERATED: u8 = 2;

impl Fence {
    /// Asks over a new connection who it is, and has those before it ended: one round trip. Then nothing of theirs takes effect
    /// any more.
    pub async fn close_behind(
        &self,
        redis: &mut MultiplexedConnection,
    ) -> RedisResult<Arc<Client>> {
        let order = Ordering::Relaxed;
        // Before it asks: a dial may be cut while it waits.
        let more = |unanswered| (unanswered < TOLERATED).then(|| unanswered + 1);
        if self.unanswered.fetch_update(order, order, more) == Err(TOLERATED) {
            let reason = "it did not answer CLIENT INFO";
            return Ok(Arc::new(Client::without_name(reason)));
        }
        let former = self.former().clone();
        let asking = asking(&former);
        let answers = redis.send_packed_commands(&asking, 0, former.len() + 1);
        let answers = answers.await?;
        self.unanswered.store(ANSWERS, order);
        for answer in &answers {
            if let Value::ServerError(error) = answer
                && passes(error.code())
            {
                return Err(error.clone().into());
            }
        }
        let mut answers = answers.into_iter();
        let own = Client::of(answers.next().unwrap_or(Value::Nil));
        for (client, answer) in former.iter().zip(answers) {
            let _ = client.end.set(match answer.extract_error() {
                Ok(_) => Ok(()),
                Err(error) => Err(word(&error)),
            });
        }
        let own = Arc::new(own.unwrap_or_else(Client::without_name));
        let mut former = self.former();
        former.retain(|client| client.end.get().is_none());
        if own.name.is_some() {
            former.push(Arc::clone(&own));
        }
        Ok(own)
    }

    fn former(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Client>>> {
        self.former.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn asking(former: &[Arc<Client>]) -> Pipeline {
    let mut all = pipe();
    all.cmd("CLIENT").arg("INFO");
    for (id, address) in former.iter().filter_map(|client| client.name.as_ref()) {
        let kill = all.cmd("CLIENT").arg("KILL");
        kill.arg("ID").arg(id).arg("ADDR").arg(address);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_a_connection_is_is_read_whatever_its_address() {
        for address in ["127.0.0.1:50000", "[::1]:50000", "/run/a b/redis:0"] {
            let told = format!("id=17 addr={address} laddr=127.0.0.1:6379 fd=8 name= age=0\n");
            let client = Client::of(Value::BulkString(told.into())).expect("it is read");
            assert_eq!(client.name, Some(("17".to_owned(), address.to_owned())));
        }
        for other in [Value::Okay, Value::Nil, Value::BulkString(b"PONG".to_vec())] {
            assert!(Client::of(other.clone()).is_err(), "{other:?}");
        }
    }
}
