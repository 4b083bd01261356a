//! What is a connection of one's own, for commands that change or hold it?

use std::ops::{Deref, DerefMut};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Cmd, Pipeline, RedisFuture, Value};

use crate::dial::Wire;

/// A connection that nobody shares, from [`Connection::dedicated`](crate::Connection::dedicated): redis's own, which does not come back.
pub struct Dedicated {
    wire: Wire,
}

impl Dedicated {
    pub(crate) fn new(wire: Wire) -> Self {
        Self { wire }
    }
}

impl Deref for Dedicated {
    type Target = MultiplexedConnection;

    fn deref(&self) -> &MultiplexedConnection {
        &self.wire.redis
    }
}

impl DerefMut for Dedicated {
    fn deref_mut(&mut self) -> &mut MultiplexedConnection {
        &mut self.wire.redis
    }
}

impl ConnectionLike for Dedicated {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        self.wire.redis.req_packed_command(command)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.wire.redis.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.wire.redis.get_db()
    }
}

impl std::fmt::Debug for Dedicated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dedicated").finish_non_exhaustive()
    }
}
