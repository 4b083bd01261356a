//! How has a command failed, and what does that prove?

use std::borrow::Cow;
use std::io;

use becalm::classify::{Classify, Loss, redis as words};
use becalm::reconnect::NoConnection;
use becalm::{Effect, Failure};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisError, RedisResult, ServerError, Value};

use crate::commands::{self, Repeat};
use crate::counted::{Counts, Mark};
use crate::dial::{io_error, reply};
use crate::replies::Unfit;

/// What is sent at once, and answered at once.
pub(crate) trait Request: Copy {
    type Answer;

    /// What sending it again does, to a caller who reads its answer or not.
    fn repeat(self, is_read: bool) -> Repeat;

    /// Whether it may change anything.
    fn writes(self) -> bool;

    async fn send(self, redis: &mut MultiplexedConnection) -> RedisResult<Self::Answer>;

    /// Where it is to be sent instead, if no connection of commands has its answers.
    fn elsewhere(self) -> Option<RedisError> {
        None
    }

    /// How many of its bytes must have left before anything can have taken effect.
    fn least(self) -> usize;

    /// Whether this answer, which came of a repetition, is what the first sending would have answered.
    fn is_certain(self, answer: &Self::Answer) -> bool;

    /// What an answer means that is an error, or holds one.
    fn refusal(self, answer: &Self::Answer) -> Option<Failure>;

    /// What this error means, if the server has answered it.
    fn refused(self, error: &RedisError) -> Option<Failure>;

    /// The first error that an answer is, or holds.
    fn first_error(answer: &Self::Answer) -> Option<&ServerError>;
}

impl Request for &Cmd {
    type Answer = Value;

    fn repeat(self, _: bool) -> Repeat {
        commands::repeat(self)
    }

    fn writes(self) -> bool {
        commands::writes(self)
    }

    async fn send(self, redis: &mut MultiplexedConnection) -> RedisResult<Value> {
        redis.send_packed_command(self).await
    }

    fn elsewhere(self) -> Option<RedisError> {
        commands::elsewhere(self)
    }

    fn least(self) -> usize {
        self.get_packed_command().len()
    }

    fn is_certain(self, answer: &Value) -> bool {
        commands::is_certain(self, answer)
    }

    fn refusal(self, answer: &Value) -> Option<Failure> {
        match answer {
            Value::ServerError(error) => Some(word(self, error)),
            _ => None,
        }
    }

    fn refused(self, error: &RedisError) -> Option<Failure> {
        let reply = reply(error)?;
        Some(words::classify(commands::name(self), &reply))
    }

    fn first_error(answer: &Value) -> Option<&ServerError> {
        match answer {
            Value::ServerError(error) => Some(error),
            _ => None,
        }
    }
}

/// A pipeline, and which of its replies are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Many<'a> {
    pub pipeline: &'a Pipeline,
    pub offset: usize,
    pub count: usize,
}

impl Request for Many<'_> {
    type Answer = Vec<Value>;

    fn repeat(self, is_read: bool) -> Repeat {
        if is_read {
            commands::repeat_all(self.pipeline)
        } else {
            commands::repeat_all_unread(self.pipeline)
        }
    }

    fn writes(self) -> bool {
        self.pipeline.cmd_iter().any(commands::writes)
    }

    async fn send(self, redis: &mut MultiplexedConnection) -> RedisResult<Vec<Value>> {
        let Self {
            pipeline,
            offset,
            count,
        } = self;
        redis.send_packed_commands(pipeline, offset, count).await
    }

    fn elsewhere(self) -> Option<RedisError> {
        self.pipeline.cmd_iter().find_map(commands::elsewhere)
    }

    /// Of a transaction all, since nothing happens before `EXEC`; of a pipeline its first command.
    fn least(self) -> usize {
        if self.pipeline.is_transaction() {
            return self.pipeline.get_packed_pipeline().len();
        }
        self.pipeline.cmd_iter().next().map_or(0, Request::least)
    }

    /// As those are whose answers are read.
    fn is_certain(self, answer: &Vec<Value>) -> bool {
        let answers = match &**answer {
            [Value::Array(answers)] if self.pipeline.is_transaction() => answers,
            answers => answers,
        };
        let each = self.pipeline.cmd_iter().zip(answers).enumerate();
        let uncertain = each.filter(|(_, (command, answer))| !command.is_certain(answer));
        let mut ignored = None;
        uncertain.into_iter().all(|(at, _)| {
            let ignored = ignored.get_or_insert_with(|| commands::ignored_of(self.pipeline));
            ignored.contains(&at)
        })
    }

    fn refusal(self, answer: &Vec<Value>) -> Option<Failure> {
        if self.pipeline.is_transaction() {
            let [Value::Array(answers)] = &**answer else {
                return match &**answer {
                    [Value::ServerError(error)] => Some(one_word("EXEC", error)),
                    _ => None,
                };
            };
            // What the others did, stays (redis.io, "Transactions").
            let has_failed = answers.iter().any(|it| matches!(it, Value::ServerError(_)));
            return has_failed.then(Failure::permanent);
        }
        let sent = self.pipeline.cmd_iter().skip(self.offset);
        let failures = sent
            .zip(answer)
            .map(|(command, answer)| command.refusal(answer));
        let (mut first, mut all_unsent) = (None, true);
        for failure in failures {
            all_unsent &= failure.is_some_and(|failure| failure.effect == Effect::Unsent);
            first = first.or(failure);
        }
        let mut failure = first?;
        if !all_unsent {
            failure.effect = Effect::Unknown;
        }
        Some(failure)
    }

    /// Of a transaction that was given up while its commands were queued: as the first that was refused.
    fn refused(self, error: &RedisError) -> Option<Failure> {
        if !self.pipeline.is_transaction() {
            return None;
        }
        let errors = error.clone().into_server_errors()?;
        let failure = errors.first().map(|(_, error)| one_word("", error));
        Some(failure.unwrap_or(Failure::permanent()).unsent())
    }

    fn first_error(answers: &Vec<Value>) -> Option<&ServerError> {
        answers.iter().find_map(<&Cmd>::first_error)
    }
}

/// Whether the connection is of no use after this error. After any of the system's it is: redis counts a part of them alone.
pub(crate) fn has_broken(error: &RedisError) -> bool {
    error.is_unrecoverable_error() || (error.is_io_error() && !is_late(error))
}

/// Whether the answer has taken too long. The system's own time-out is that of a connection.
pub(crate) fn is_late(error: &RedisError) -> bool {
    let is_of_system = || io_error(error).is_some_and(|error| error.raw_os_error().is_some());
    error.is_timeout() && !is_of_system()
}

/// The word by which the server has refused what it did not execute: of a transaction, one of its commands.
pub(crate) fn refusing_word<R: Request>(failed: &Failed<R::Answer>) -> Option<Cow<'_, str>> {
    match failed {
        Failed::Refused(_, answer) => R::first_error(answer).map(|error| error.code().into()),
        Failed::Broken(_, error) => {
            let errors = error.clone().into_server_errors()?;
            errors
                .first()
                .map(|(_, error)| error.code().to_owned().into())
        }
        Failed::NoConnection(_) => None,
    }
}

fn word(command: &Cmd, error: &ServerError) -> Failure {
    one_word(commands::name(command), error)
}

fn one_word(command: &str, error: &ServerError) -> Failure {
    let reply = format!("{} {}", error.code(), error.details().unwrap_or_default());
    words::classify(command, &reply)
}

/// How an attempt has failed.
#[derive(Debug)]
pub(crate) enum Failed<T> {
    NoConnection(NoConnection<RedisError>),
    Broken(Failure, RedisError),
    /// An answer, which is the caller's if it is the last.
    Refused(Failure, T),
}

impl<T> Failed<T> {
    /// After as long a wait as a command has: what is left is to tell the caller.
    pub fn at_last(self) -> Self {
        let end = Failure::permanent().unsent();
        match self {
            Self::Broken(_, error) => Self::Broken(end, error),
            Self::Refused(_, answer) => Self::Refused(end, answer),
            none @ Self::NoConnection(_) => none,
        }
    }

    /// What this error proves about a request for which the connection was marked before it was sent.
    pub fn of<R: Request>(request: R, error: RedisError, counts: &Counts, mark: Mark) -> Self {
        let unfit = io_error(&error).and_then(Unfit::of);
        let failure = if let Some(failure) = request.refused(&error) {
            failure
        } else if matches!(unfit, Some(Unfit::TooLong { .. })) {
            Failure::permanent()
        } else if has_broken(&error) {
            let has_left = counts.written_since(mark) >= request.least() as u64;
            if has_left {
                Failure::transient()
            } else {
                Failure::transient().unsent()
            }
        } else if is_late(&error) {
            Failure::transient()
        } else {
            Failure::permanent()
        };
        Self::Broken(failure, error)
    }

    /// With all others on its connection: one token of the budget pays for their retries together.
    pub fn lost_with(self, loss: Loss) -> Self {
        match self {
            Self::Broken(failure, error) => Self::Broken(failure.lost_with(loss), error),
            other => other,
        }
    }

    /// What the caller gets in the end.
    pub fn into_result(self) -> RedisResult<T> {
        match self {
            Self::Refused(_, answer) => Ok(answer),
            Self::Broken(_, error) => Err(error),
            Self::NoConnection(none) => {
                let kind = match &none {
                    NoConnection::TooLate(..) => io::ErrorKind::TimedOut,
                    _ => io::ErrorKind::NotConnected,
                };
                Err(io::Error::new(kind, none).into())
            }
        }
    }
}

impl<T> Classify for Failed<T> {
    fn classify(&self) -> Failure {
        match self {
            // It has waited for as long as it may, or there is nothing to wait for.
            Self::NoConnection(_) => Failure::permanent().unsent(),
            Self::Broken(failure, _) | Self::Refused(failure, _) => *failure,
        }
    }
}

impl<T> std::fmt::Display for Failed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoConnection(none) => none.fmt(f),
            Self::Broken(_, error) => error.fmt(f),
            Self::Refused(..) => f.write_str("the server refused it"),
        }
    }
}
