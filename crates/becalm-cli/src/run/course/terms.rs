//! How long may a command take, and when is one killed that was asked to end?

use becalm::time::Instant;

use super::exit_code::Ending;

/// What is granted to a command.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms {
    /// When this attempt has taken too long.
    pub attempt_timeout: Option<Instant>,
    /// When the whole call has.
    pub deadline: Option<Instant>,
    /// When this attempt has taken too long, and the whole call, if nobody above sets a limit.
    pub own: Own,
    /// Whether it may have the foreground of the terminal.
    pub foreground: bool,
}

/// The limits of this becalm alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Own {
    /// As in [`Terms`].
    pub attempt_timeout: Option<Instant>,
    /// As in [`Terms`].
    pub deadline: Option<Instant>,
}

impl Terms {
    /// The limit that has passed by now, and first.
    pub fn passed(&self, now: Instant) -> Option<Ending> {
        let timeout = self.attempt_timeout.unwrap_or(Instant::NEVER);
        let deadline = self.deadline.unwrap_or(Instant::NEVER);
        if now < timeout.min(deadline) {
            None
        } else if timeout < deadline {
            Some(Ending::AttemptTimeout)
        } else {
            Some(Ending::Deadline)
        }
    }

    /// These limits, when nobody above sets one any more.
    pub fn without_above(self) -> Self {
        Self {
            attempt_timeout: self.own.attempt_timeout,
            deadline: self.own.deadline,
            ..self
        }
    }

    /// Those of the whole call.
    pub fn of_call(self) -> Self {
        Self {
            attempt_timeout: None,
            own: Own {
                attempt_timeout: None,
                ..self.own
            },
            ..self
        }
    }

    /// The limit that passes first.
    pub fn first(&self) -> Option<Instant> {
        self.attempt_timeout.into_iter().chain(self.deadline).min()
    }
}

/// When a group is killed that was asked to end.
#[derive(Debug, Clone, Copy)]
pub enum Kill {
    /// It was not asked.
    NotYet,
    /// Then.
    At(Instant),
    /// It was killed then.
    Sent(Instant),
}

impl Kill {
    /// The soonest time counts.
    pub fn arm(&mut self, time: Instant) {
        *self = match *self {
            Self::NotYet => Self::At(time),
            Self::At(before) => Self::At(before.min(time)),
            Self::Sent(time) => Self::Sent(time),
        };
    }

    /// Whether it is time to kill the group. Asked once for each time.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let is_due = matches!(self, Self::At(time) if now >= *time);
        if is_due {
            *self = Self::Sent(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_passes_first_is_named() {
        let at = |nanos| Some(Instant::from_nanos(nanos));
        let terms = |attempt_timeout, deadline| Terms {
            attempt_timeout,
            deadline,
            own: Own::default(),
            foreground: false,
        };
        let now = Instant::from_nanos(10);
        assert_eq!(terms(None, None).passed(now), None);
        assert_eq!(terms(at(11), at(12)).passed(now), None);
        assert_eq!(
            terms(at(9), at(10)).passed(now),
            Some(Ending::AttemptTimeout)
        );
        assert_eq!(terms(at(10), at(9)).passed(now), Some(Ending::Deadline));
        assert_eq!(terms(at(10), at(10)).passed(now), Some(Ending::Deadline));
        assert_eq!(
            terms(at(10), None).passed(now),
            Some(Ending::AttemptTimeout)
        );
        assert_eq!(terms(None, at(10)).passed(now), Some(Ending::Deadline));
    }
}
