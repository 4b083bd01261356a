//! How do many commands share one connection that comes and goes? It is dialled once for all who wait for
//! it, at its own pace, and each waits as long as it likes.
//!
//! There is no task: what is to be done (a dial, the wait before it, a check) is a future that lies with the connection, and
//! those who wait for it poll it in turn. While nobody waits, nothing is dialled.

mod batch;
mod builder;
mod get;
mod none;
mod work;

pub use builder::Builder;
pub use get::Get;
pub use none::NoConnection;

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::time::Duration;
use std::sync::Arc;

use crate::classify::{Failure, Loss};

use super::Reconnect;
use work::{Core, Lease};

/// A connection that commands share: clones share it, too.
///
/// Commands that were lost with one connection pay for their retries [together](Held::lost), and may all come back at once.
/// If the next connection is cut under commands too, before it has proved healthy, half of those that were in flight may hold
/// the one after, the others wait in [`get`](Self::get), and so on: a server that cuts under a load of commands gets less of
/// it, and the wait is no attempt.
///
/// Connecting begins at the top: what is retried around a command has no say in how its connection is dialled
/// ([`detached`](crate::detached)). After it gave up, the first command that comes later than the policy's cap dials
/// once more.
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use becalm::reconnect::{Reconnect, SharedConnection};
/// use becalm::classify::connect;
/// use std::time::Duration;
/// # #[derive(Clone)] struct Redis;
/// # async fn dial_redis() -> std::io::Result<Redis> { Ok(Redis) }
/// # impl Redis { async fn get(&self, _: &str) -> std::io::Result<u32> { Ok(17) } }
///
/// let redis = SharedConnection::builder(Reconnect::for_commands(), || async {
///     dial_redis().await.map_err(|error| (connect::classify(&error), error))
/// })
/// .build()
/// .expect("a valid policy");
///
/// let held = redis.get(Some(Duration::from_secs(2))).await.expect("connected");
/// let answer = held.get("orders").await;
/// if answer.is_err() {
///     let loss = held.lost(); // the next command dials anew, and this one's failure is `lost_with(loss)`
/// #   let _ = loss;
/// }
/// # assert_eq!(answer.ok(), Some(17));
/// # }
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
pub struct SharedConnection<C, E> {
    core: Arc<Core<C, E>>,
}

/// A connection as one command holds it.
#[derive(Debug, Clone)]
#[must_use = "it is held for a command"]
pub struct Held<C, E> {
    connection: C,
    lease: Lease,
    of: SharedConnection<C, E>,
}

impl<C: Clone + Send + 'static, E: Send + 'static> SharedConnection<C, E> {
    /// A connection that is dialled so. The error of a dial comes with what it means.
    pub fn builder<F>(
        reconnect: Reconnect,
        dial: impl Fn() -> F + Send + Sync + 'static,
    ) -> Builder<C, E>
    where
        F: Future<Output = Result<C, (Failure, E)>> + Send + 'static,
    {
        Builder::new(reconnect, dial)
    }

    /// Whether there is a connection. It may be lost without a word.
    pub fn is_open(&self) -> bool {
        self.core.is_open()
    }

    /// The connection, dialled if there is none, waited for no longer than this.
    ///
    /// # Errors
    ///
    /// The time is over, or dialling was given up. The command has not been sent (its [`Classify`](crate::Classify) says so).
    pub fn get(&self, within: Option<Duration>) -> Get<C, E> {
        Get::new(self.clone(), within)
    }
}

impl<C, E> Held<C, E> {
    /// Says that the connection is of no use any more: the next command dials anew. One connection is lost once,
    /// however many commands say so.
    ///
    /// What was sent and not answered may have taken effect. Whether to repeat it is the command's own decision.
    ///
    /// Returns what the command was lost [with](Failure::lost_with): all commands on it, and those that wait for the
    /// next one, pay for their retries together.
    pub fn lost(&self) -> Loss {
        self.lost_as(&Failure::transient())
    }

    /// Says that the connection is of no use any more, and what the server has said about coming back, or that it is not to.
    pub fn lost_as(&self, failure: &Failure) -> Loss {
        self.of.core.lose(self.lease.id, failure);
        self.lease.loss
    }
}

impl<C, E> Deref for Held<C, E> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.connection
    }
}

/// The command's own clone: what it sets there, others do not see, unless the clones share it.
impl<C, E> DerefMut for Held<C, E> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.connection
    }
}

impl<C, E> Clone for SharedConnection<C, E> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
        }
    }
}

impl<C, E> fmt::Debug for SharedConnection<C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedConnection").finish_non_exhaustive()
    }
}
