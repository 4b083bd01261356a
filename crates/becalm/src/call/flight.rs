//! What does a running attempt hold?

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::slice;

use crate::budget::Withdrawal;
use crate::classify::{Class, Failure, Loss};
use crate::guard::Pass;
use crate::hedge::{Against, joined};
use crate::shared::Shared;
use crate::time::Instant;

/// The running attempts: the one that the decision started, and the hedges beside it.
#[derive(Debug, Default)]
#[repr(C)] // in the order of the fields: see `Call`
pub(crate) struct Flights {
    pub primary: Option<Flight>,
    /// What was paid for it. Here from its decision to its end: moving it costs more than the rest of
    /// a start.
    pub paid: Option<Paid>,
    /// It has started, so that what was paid does not come back.
    pub is_spent: bool,
    /// A copy has failed, or the budget or a guard has refused a hedge: there will be no other.
    pub no_more: bool,
    /// Made with the first hedge of a call, since few calls have any.
    hedges: Option<Box<Hedges>>,
}

/// The hedges beside an attempt.
#[derive(Debug, Default)]
struct Hedges {
    flights: Vec<Hedge>,
    /// How many were started beside it.
    started: u32,
    /// What was paid for one that is about to start.
    about: Option<Paid>,
    /// What the copies that failed have said, and when the last of them did.
    failed: Option<(Failure, Instant)>,
    /// How much of that speaks against a retry.
    against: Against,
}

/// A hedge, and what was paid for it.
#[derive(Debug)]
struct Hedge {
    flight: Flight,
    paid: Option<Paid>,
}

impl Flights {
    /// An attempt starts, after all others have landed.
    #[inline]
    pub fn start(&mut self, primary: Flight) {
        self.primary = Some(primary);
        self.no_more = false;
        self.is_spent = false;
        if let Some(hedges) = &mut self.hedges {
            hedges.flights.clear();
            hedges.started = 0;
            hedges.failed = None;
            hedges.against = Against::Nothing;
        }
    }

    #[inline]
    pub fn are_under_way(&self) -> bool {
        let hedges = self.hedges.as_deref();
        self.primary.is_some() || hedges.is_some_and(|hedges| !hedges.flights.is_empty())
    }

    /// The attempt that the decision started, if it is of this number.
    #[inline]
    pub fn primary(&mut self, number: u32) -> Option<&mut Flight> {
        self.primary
            .as_mut()
            .filter(|flight| flight.number == number)
    }

    /// Hedges that were started beside it.
    pub fn hedged(&self) -> u32 {
        self.hedges.as_ref().map_or(0, |hedges| hedges.started)
    }

    /// A hedge is about to start, and this was paid for it.
    pub fn add_hedge(&mut self, flight: Flight, paid: Paid) {
        let hedges = self.hedges.get_or_insert_default();
        hedges.started += 1;
        hedges.flights.push(Hedge { flight, paid: None });
        hedges.about = Some(paid);
    }

    /// What was paid for the attempt or the hedge that starts does not come back.
    #[inline]
    pub fn spend(&mut self) {
        self.is_spent = true;
        if let Some(hedges) = &mut self.hedges {
            if let (Some(hedge), Some(paid)) = (hedges.flights.last_mut(), hedges.about.take()) {
                hedge.paid = Some(paid);
            }
        }
    }

    /// Whether the call has had a hedge.
    #[inline]
    pub fn may_hold_unstarted(&self) -> bool {
        self.hedges.is_some()
    }

    /// What was paid for a hedge that never started.
    #[inline]
    pub fn take_unstarted(&mut self) -> Option<Paid> {
        self.hedges.as_mut()?.about.take()
    }

    /// Takes the hedge of this number out, with what was paid for it.
    pub fn take_hedge(&mut self, number: u32) -> Option<(Flight, Option<Paid>)> {
        let hedges = self.hedges.as_mut()?;
        let mut flights = hedges.flights.iter();
        let at = flights.position(|hedge| hedge.flight.number == number)?;
        let Hedge { flight, paid } = hedges.flights.swap_remove(at);
        Some((flight, paid))
    }

    /// What was paid for the attempt that the decision started, which ends.
    #[inline]
    pub fn take_spent(&mut self) -> Option<Paid> {
        // Looked at first: it is large to move.
        if self.is_spent && self.paid.is_some() {
            self.paid.take()
        } else {
            None
        }
    }

    /// Takes any of them out, with what was paid for it.
    #[inline]
    pub fn take_any(&mut self) -> Option<(Flight, Option<Paid>)> {
        if let Some(flight) = self.primary.take() {
            return Some((flight, self.take_spent()));
        }
        let Hedge { flight, paid } = self.hedges.as_mut()?.flights.pop()?;
        Some((flight, paid))
    }

    /// A copy has failed: what all that did have said together. Where no hedge was started there is
    /// no other.
    #[inline]
    pub fn join(
        &mut self,
        failure: &Failure,
        now: Instant,
        class_of: impl Fn(&Failure) -> Class,
    ) -> Failure {
        match &mut self.hedges {
            None => *failure,
            Some(hedges) => {
                let of_all = match hedges.failed {
                    None => *failure,
                    Some((earlier, at)) => joined(earlier, now.since(at), *failure, &class_of),
                };
                hedges.failed = Some((of_all, now));
                hedges.against = Against::of(class_of(&of_all), &of_all);
                of_all
            }
        }
    }

    /// What the copies that failed have said against a retry.
    #[cfg(feature = "std")]
    pub fn against(&self) -> Against {
        let hedges = self.hedges.as_ref();
        hedges.map_or(Against::Nothing, |hedges| hedges.against)
    }

    /// What the copies that failed have said together; `None` where there was one copy.
    #[cfg(feature = "std")]
    pub fn joined(&self) -> Option<Failure> {
        let (failure, _) = self.hedges.as_ref()?.failed?;
        Some(failure)
    }

    /// All that are running.
    pub fn iter(&self) -> Running<'_> {
        let hedges = self.hedges.as_deref();
        Running {
            primary: self.primary.as_ref(),
            hedges: hedges.map_or(&[][..], |hedges| &hedges.flights).iter(),
        }
    }
}

/// Attempts that are running. A type of its own: an unoptimized build has all of each combinator's code, and the names of its types.
pub(crate) struct Running<'a> {
    primary: Option<&'a Flight>,
    hedges: slice::Iter<'a, Hedge>,
}

impl<'a> Iterator for Running<'a> {
    type Item = &'a Flight;

    fn next(&mut self) -> Option<&'a Flight> {
        let primary = self.primary.take();
        primary.or_else(|| self.hedges.next().map(|hedge| &hedge.flight))
    }
}

/// A running attempt, and its pass through the guards.
#[derive(Debug)]
pub(crate) struct Flight {
    pub number: u32,
    /// If the clock was read.
    pub started: Option<Instant>,
    pub pass: Pass,
}

/// A token, and whose it is if not the call's own retrier's.
#[derive(Debug)]
pub(crate) struct Paid {
    token: Token,
    payer: Option<Arc<Shared>>,
}

#[derive(Debug)]
enum Token {
    Own(Withdrawal),
    /// What it is paid for together with others.
    Together(Loss),
}

impl Paid {
    /// Asks the payer, or the call's own budget.
    #[inline]
    pub fn withdraw(
        own: &Shared,
        payer: Option<Arc<Shared>>,
        now: Instant,
        failure: &Failure,
    ) -> Option<Self> {
        let from = payer.as_deref().unwrap_or(own);
        let token = match failure.loss {
            None => Token::Own(from.withdraw(now, failure)?),
            Some(loss) => {
                from.withdraw_together(loss, now, failure)?;
                Token::Together(loss)
            }
        };
        Some(Self { token, payer })
    }

    /// The retry never started.
    pub fn refund(self, own: &Shared) {
        let from = self.payer.as_deref().unwrap_or(own);
        match self.token {
            Token::Own(token) => from.refund(token),
            Token::Together(loss) => from.refund_together(loss),
        }
    }

    /// The call is only observed, so that no retry follows: spent all the same, or what is denied to others
    /// would not be what enforcing denies. A payer that enforces is not charged for it.
    pub fn observed(self, own: &Shared) {
        match &self.payer {
            Some(payer) if !payer.observes() => self.refund(own),
            _ => Self::spent(Some(self), own),
        }
    }

    /// The retry did start, if one was paid for, and has not brought the success.
    #[inline]
    pub fn spent(paid: Option<Self>, own: &Shared) {
        if let Some(paid) = paid {
            paid.has_started(own);
        }
    }

    fn has_started(self, own: &Shared) {
        let from = self.payer.as_deref().unwrap_or(own);
        match self.token {
            Token::Own(token) => from.spent(token),
            Token::Together(loss) => {
                if let Some(token) = from.end_together(loss) {
                    from.spent(token);
                }
            }
        }
    }

    /// The call has succeeded, and this is what it had paid last.
    #[inline]
    pub fn succeeded(self, own: &Shared, now: impl FnOnce() -> Instant) {
        let from = self.payer.as_deref().unwrap_or(own);
        match self.token {
            Token::Own(token) => from.on_success(now, || Some(token)),
            Token::Together(loss) => {
                // Nothing, unless it is the first of them to end.
                let token = from.end_together(loss).unwrap_or(Withdrawal::of_micros(0));
                from.on_success(now, || Some(token));
            }
        }
    }
}
