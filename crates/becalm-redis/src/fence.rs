//! Can what was sent over a connection that was given up still take effect?
//!
//! What lies between a client and its server may hold bytes for seconds, and let them go later. So each connection learns who it is
//! on its server, and the next one has the server end those before it, before it carries anything. A server that frees a
//! client throws away what had come and was not executed (`freeClient` in Redis's networking.c), and what comes later
//! comes to no client.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, RedisError, RedisResult, Value, cmd, pipe};

use crate::refusals::passes;

/// What is done with a command that writes, if its first copy may come late: its connection was given up, and the server did not end it.
///
/// It needs Redis 6.2, and the rights `+client|info` and `+client|kill`; over a Unix socket `+info`, too. A proxy that puts many
/// clients on one connection refuses them.
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
    name: Option<Name>,
    /// Whether the server has ended it, or why not.
    end: OnceLock<Result<(), String>>,
}

/// A number, which a server gives once, and both addresses: at another server, or after a restart, the number may be another's.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    id: String,
    address: String,
    /// The server's own end of the connection: at another server a client may have the same number and address, and not this.
    server: String,
    /// The run of the server, where the address is that of all clients.
    run: Option<String>,
}

impl Name {
    /// All clients of a Unix socket have its path, or what Redis's 77 bytes hold of it.
    fn has_address_of_all(&self) -> bool {
        self.address.ends_with(":0") || self.address.contains('/')
    }
}

impl Client {
    /// Of `CLIENT INFO`: `id=7 addr=127.0.0.1:50000 laddr=..`.
    fn of(answer: Value) -> Result<Self, String> {
        let told = text(answer)?;
        let name = told.strip_prefix("id=").and_then(|rest| {
            let (id, rest) = rest.split_once(" addr=")?;
            let (address, rest) = rest.split_once(" laddr=")?;
            let server = rest.split(' ').next()?;
            let [id, address, server] = [id, address, server].map(ToOwned::to_owned);
            let run = None;
            Some(Name {
                id,
                address,
                server,
                run,
            })
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

    fn is_told_by_run(&self) -> bool {
        self.name.as_ref().is_some_and(Name::has_address_of_all)
    }

    fn server(&self) -> Option<&str> {
        Some(&*self.name.as_ref()?.server)
    }

    fn run(&self) -> Option<&str> {
        self.name.as_ref()?.run.as_deref()
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

fn text(answer: Value) -> Result<String, String> {
    let told = answer.extract_error().map_err(|error| word(&error))?;
    redis::from_redis_value(told).map_err(|error| error.to_string())
}

/// Of `INFO server`.
fn run(answer: Value) -> Result<String, String> {
    let told = text(answer)?;
    let run = told.lines().find_map(|line| line.strip_prefix("run_id:"));
    run.map(Into::into)
        .ok_or_else(|| "it answered INFO strangely".into())
}

fn word(error: &RedisError) -> String {
    match error.code() {
        Some(code) => format!("{code} {}", error.detail().unwrap_or_default()),
        None => error.to_string(),
    }
}

fn not_sent_again(reason: &str) -> RedisError {
    let detail = format!(
        "{reason}; grant +client|info +client|kill (Redis 6.2; over a Unix socket +info, too), or take it as it comes: Builder::late_copies(LateCopies::Accept)"
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
    /// Those of a server that was asked no more, since another was dialled, and since when.
    elsewhere: Mutex<Vec<(Arc<Client>, Instant)>>,
    /// How many connections there were without an answer; [`ANSWERS`] from the first answer on.
    unanswered: AtomicU32,
}

const ANSWERS: u32 = u32::MAX;

/// How many connections to servers of before are remembered, and for how long: a failover that is taken back comes within it.
const ELSEWHERE: (usize, Duration) = (8, Duration::from_secs(600));

/// Whether this connection asks, after so many without an answer. A proxy that hangs up on a command which it does not know, or is silent,
/// fails two dials, and then ever fewer. Two dials that were cut by chance do not decide for the life of a [`Connection`](crate::Connection).
const fn asks_after(unanswered: u32) -> bool {
    unanswered < 2 || unanswered == ANSWERS || (unanswered > 2 && unanswered.is_power_of_two())
}

impl Fence {
    /// Asks over a new connection who it is, and has those before it ended: one round trip, over a Unix socket up to three. Then
    /// nothing of theirs takes effect any more.
    pub async fn close_behind(
        &self,
        redis: &mut MultiplexedConnection,
    ) -> RedisResult<Arc<Client>> {
        let order = Ordering::Relaxed;
        // Before it asks: a dial may be cut while it waits.
        let more = |unanswered| (unanswered != ANSWERS).then(|| unanswered + 1);
        let (Ok(unanswered) | Err(unanswered)) = self.unanswered.fetch_update(order, order, more);
        if !asks_after(unanswered) {
            let reason = "it did not answer CLIENT INFO";
            return Ok(Arc::new(Client::without_name(reason)));
        }
        let former = self.former().clone();
        let (alike, apart): (Vec<_>, Vec<_>) = former
            .into_iter()
            .partition(|client| client.is_told_by_run());
        let elsewhere = self.elsewhere().clone();
        let all = elsewhere.iter().map(|(client, _)| client).chain(&apart);
        let all: Vec<_> = all.cloned().collect();
        let who = cmd("CLIENT").arg("INFO").take();
        let (answer, missing) = answers(redis, Some(who), &all).await?;
        self.unanswered.store(ANSWERS, order);
        let mut own = Client::of(answer.unwrap_or(Value::Nil));
        if let Ok(own) = &own {
            self.remember(missing, own);
        }
        if !alike.is_empty() || own.as_ref().is_ok_and(Client::is_told_by_run) {
            let which = cmd("INFO").arg("server").take();
            let (answer, _) = answers(redis, Some(which), &[]).await?;
            let run = run(answer.unwrap_or(Value::Nil));
            end_alike(redis, alike, &run).await?;
            own = own.and_then(|mut own| {
                if let Some(name) = &mut own.name {
                    name.run = Some(run?);
                }
                Ok(own)
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

    /// Those that this server does not know, where another one may.
    fn remember(&self, missing: Vec<Arc<Client>>, own: &Client) {
        let (now, mut elsewhere) = (Instant::now(), self.elsewhere());
        let is_other = |client: &Arc<Client>| client.server() != own.server();
        let others = missing.into_iter().filter(is_other).map(|client| {
            let known = elsewhere.iter().find(|(it, _)| Arc::ptr_eq(it, &client));
            let since = known.map_or(now, |(_, since)| *since);
            (client, since)
        });
        let is_young = |(_, since): &(_, Instant)| now.duration_since(*since) < ELSEWHERE.1;
        let mut others: Vec<_> = others.filter(is_young).collect();
        others.drain(..others.len().saturating_sub(ELSEWHERE.0));
        *elsewhere = others;
    }

    fn elsewhere(&self) -> std::sync::MutexGuard<'_, Vec<(Arc<Client>, Instant)>> {
        self.elsewhere
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn former(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Client>>> {
        self.former.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends clients that only their number tells from others: those of this run of the server. With its run a client has ended.
async fn end_alike(
    redis: &mut MultiplexedConnection,
    former: Vec<Arc<Client>>,
    run: &Result<String, String>,
) -> RedisResult<()> {
    let mut of_run = Vec::new();
    for client in former {
        match run {
            Ok(run) if client.run() == Some(run) => of_run.push(client),
            Ok(_) => drop(client.end.set(Ok(()))),
            Err(reason) => drop(client.end.set(Err(reason.clone()))),
        }
    }
    answers(redis, None, &of_run).await.map(drop)
}

/// Asks, and has these ended. The answer to what it asked, and those that this server does not know; an error is a dial that has failed.
async fn answers(
    redis: &mut MultiplexedConnection,
    asked: Option<Cmd>,
    former: &[Arc<Client>],
) -> RedisResult<(Option<Value>, Vec<Arc<Client>>)> {
    let mut all = pipe();
    let is_asked = asked.is_some();
    if let Some(asked) = asked {
        all.add_command(asked);
    }
    for name in former.iter().filter_map(|client| client.name.as_ref()) {
        let kill = all.cmd("CLIENT").arg("KILL").arg("ID").arg(&name.id);
        // Of a path it is not known where it ends, and the run tells already: nothing ended has to mean that it is gone.
        if !name.has_address_of_all() {
            let kill = kill.arg("ADDR").arg(&name.address);
            // What tells of it tells of this, too: both are of Redis 6.2.
            kill.arg("LADDR").arg(&name.server);
        }
    }
    let mut missing = Vec::new();
    if all.is_empty() {
        return Ok((None, missing));
    }
    let answers = redis.send_packed_commands(&all, 0, all.len()).await?;
    for answer in &answers {
        if let Value::ServerError(error) = answer
            && passes(error.code())
        {
            return Err(error.clone().into());
        }
    }
    let mut answers = answers.into_iter();
    let told = if is_asked { answers.next() } else { None };
    for (client, answer) in former.iter().zip(answers) {
        if answer == Value::Int(0) {
            missing.push(Arc::clone(client));
        }
        let _ = client.end.set(match answer.extract_error() {
            Ok(_) => Ok(()),
            Err(error) => Err(word(&error)),
        });
    }
    Ok((told, missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_that_does_not_answer_is_asked_ever_more_seldom() {
        let asked: Vec<u32> = (0..40).filter(|it| asks_after(*it)).collect();
        assert_eq!(asked, [0, 1, 4, 8, 16, 32]);
        assert!(asks_after(ANSWERS));
    }

    #[test]
    fn what_another_server_may_know_is_remembered_for_a_while_and_not_all() {
        let of = |id: usize, server: &str| {
            let told = format!("id={id} addr=127.0.0.1:50000 laddr={server} fd=8 name= age=0\n");
            Arc::new(Client::of(Value::BulkString(told.into())).expect("it is read"))
        };
        let (fence, other) = (Fence::default(), of(0, "10.0.0.2:6379"));
        fence.remember(vec![of(1, "10.0.0.2:6379")], &other);
        assert!(fence.elsewhere().is_empty(), "this server has forgotten it");
        let all: Vec<_> = (0..20).map(|id| of(id, "10.0.0.1:6379")).collect();
        fence.remember(all.clone(), &other);
        let left = fence.elsewhere().clone();
        assert_eq!(left.len(), 8);
        assert!(
            left.iter()
                .zip(&all[12..])
                .all(|((it, _), own)| Arc::ptr_eq(it, own))
        );
        // Asked again, they are as old as before.
        fence.remember(all[12..].to_vec(), &other);
        assert_eq!(fence.elsewhere()[0].1, left[0].1);
        fence.remember(all[12..].to_vec(), &all[0]);
        assert!(fence.elsewhere().is_empty());
    }

    #[test]
    fn who_a_connection_is_is_read_whatever_its_address() {
        let path = "/run/a b/redis:0";
        for (address, server) in [
            ("127.0.0.1:50000", "127.0.0.1:6379"),
            ("[::1]:50000", "[::1]:6379"),
            (path, path),
            // Cut, since it is long.
            ("/run/redis", "/run/redis"),
        ] {
            let told = format!("id=17 addr={address} laddr={server} fd=8 name= age=0\n");
            let client = Client::of(Value::BulkString(told.into())).expect("it is read");
            let name = client.name.as_ref().expect("it is told");
            assert_eq!((&*name.id, &*name.address), ("17", address));
            let is_path = address.starts_with('/');
            assert!(is_path || client.server() == Some(server));
            assert_eq!(client.is_told_by_run(), is_path);
        }
        for other in [Value::Okay, Value::Nil, Value::BulkString(b"PONG".to_vec())] {
            assert!(Client::of(other.clone()).is_err(), "{other:?}");
        }
    }
}
