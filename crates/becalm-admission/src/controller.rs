//! Who is admitted, who waits, who comes later?

use core::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm::support::{CellRate, nanos, uniform};
use becalm::time::Instant;

use super::answer::{Answer, Arrival, Counts, Permit, Refusal, Refused, Turn};
use super::book::Book;
use super::claims::Claims;
use super::group::{Groups, Rows};
use super::permits::Permits;
use super::queue::{Class, Queue, Waiter, Waiting};
use super::settings::{Admission, InvalidAdmission};
use super::used::UsedTickets;

/// Admission without IO.
///
/// The driver asks about each [arrival](Self::arrive), looks for whose [turn](Self::turn) it is whenever a permit is
/// [released](Self::release) or the time of the next [wake](Self::wake_at) has come, and says who has [hung up](Self::gone).
///
/// What holds, whatever comes:
///
/// - over any interval, at most `burst + rate x interval` are admitted (the generic cell rate algorithm, ITU-T I.371);
/// - an address group that has passed more often lately than others gets an appointment, and the free place only where half of the burst (and of
///   the permits) is left for others;
/// - a ticket is honoured once, and one that is [brought in time](Self::arrive) goes before everybody without;
/// - memory is bounded by the settings: those who wait by rate x patience, appointments by rate x horizon (twice that after a
///   restart), used tickets by rate x patience, addresses by a table of 96 KB.
///
/// ```
/// use becalm_admission::{AddressGroup, Admission, AdmissionController, Answer, Arrival};
/// use becalm::{rng::SplitMix64, time::Instant};
/// use std::net::IpAddr;
///
/// let settings = Admission::per_second(500).burst(1);
/// let mut door = AdmissionController::new(settings, SplitMix64::new(7))?;
/// let now = Instant::ZERO;
/// let address: IpAddr = "192.0.2.1".parse().unwrap();
/// let arrival = Arrival::of(AddressGroup::from(address));
///
/// let Answer::Admit(permit) = door.arrive(now, &arrival) else { panic!() };
/// let Answer::Wait(_) = door.arrive(now, &arrival) else { panic!() };
/// door.release(permit, now); // the application says that the client is ready
/// # Ok::<(), becalm_admission::InvalidAdmission>(())
/// ```
#[derive(Debug)]
pub struct AdmissionController<R = SplitMix64> {
    settings: Admission,
    pace: CellRate,
    permits: Permits,
    groups: Groups,
    queue: Queue,
    book: Book,
    used: UsedTickets,
    /// Up to when all has been forgotten that was to be.
    settled: Option<Instant>,
    /// The upper half of the numbers of its tickets.
    issuer: u32,
    issued: u32,
    /// How many more tickets were honoured than places of this book have passed: by so many are those late who
    /// come to theirs. Below zero: places whose bearers have not come.
    ahead: i64,
    counts: Counts,
    random: R,
}

/// What a ticket is worth at this moment.
enum Standing {
    Due,
    Early,
    Worthless(Refused),
}

impl<R: Random> AdmissionController<R> {
    /// Admission by these settings. `random` draws delays and the number of this process: seed it from the operating
    /// system, or those who know the seed know whose turns they share.
    ///
    /// # Errors
    ///
    /// The settings are invalid.
    pub fn new(settings: Admission, mut random: R) -> Result<Self, InvalidAdmission> {
        settings.validate()?;
        #[expect(clippy::cast_possible_truncation)] // 32 bits of them
        let issuer = random.next_u64() as u32;
        Ok(Self {
            pace: CellRate::new(settings.share(), settings.burst),
            settings,
            permits: Permits::new(settings.in_flight),
            groups: Groups::new(random.next_u64()),
            queue: Queue::default(),
            book: Book::default(),
            used: UsedTickets::default(),
            settled: None,
            issuer,
            issued: 0,
            ahead: 0,
            counts: Counts::default(),
            random,
        })
    }

    /// Decides about somebody who has come.
    ///
    /// A ticket is in time from an eighth of the patience before its slot until it expires, half of the patience behind it. One that is early is
    /// told its time again. One that is late or was used gets its bearer nothing: it counts as an arrival without. One of
    /// another process, such as this one before a restart, is honoured in the same way as long as those whom this book has
    /// promised their places wait for it no longer than an eighth of the patience; otherwise it is exchanged for an appointment, or
    /// for a delay where the book has no place left within two horizons.
    pub fn arrive(&mut self, now: Instant, arrival: &Arrival) -> Answer {
        self.settle(now);
        let rows = self.groups.rows(arrival.group);
        let class = if arrival.is_resumption {
            Class::Resumption
        } else {
            Class::Fresh
        };
        let Some(claims) = arrival.ticket else {
            return self.without_ticket(now, class, rows, Refused::Busy);
        };
        match self.standing(&claims, now) {
            Standing::Due => self.with_ticket(now, rows, claims),
            Standing::Early => {
                self.counts.reject_rate += 1;
                Answer::Later(Refusal {
                    delay: claims.slot.since(now),
                    ticket: Some(claims),
                    reason: Refused::TicketEarly,
                })
            }
            Standing::Worthless(reason) => self.without_ticket(now, class, rows, reason),
        }
    }

    /// Says whose turn has come, or who has waited for too long; the driver asks until there is none. `is_gone` is asked of each
    /// before: who has hung up costs nothing and is not told of.
    pub fn turn(&mut self, now: Instant, mut is_gone: impl FnMut(Waiting) -> bool) -> Option<Turn> {
        self.settle(now);
        loop {
            let oldest = self.queue.oldest().filter(|(_, until)| *until <= now);
            let may_pass = |first: &Waiting| self.passes_at(first.class(), now) <= now;
            let first = || self.queue.first().filter(may_pass);
            let waiting = oldest.map(|(waiting, _)| waiting).or_else(first)?;
            if is_gone(waiting) {
                self.gone(waiting);
                continue;
            }
            if oldest.is_some() {
                let waiter = self.queue.remove(waiting)?;
                self.give_back(&waiter);
                self.counts.reject_age += 1;
                let place = self.next_place(now);
                let refusal = self.appointment(now, place, waiter.rows, Refused::WaitedTooLong);
                return Some(Turn::Later(waiting, refusal));
            }
            let permit = self.pass(now)?;
            let waiter = self.queue.take(waiting)?;
            self.count_admitted(waiter.rows, waiter.ticket.is_some());
            return Some(Turn::Admit(waiting, permit));
        }
    }

    /// When [`turn`](Self::turn) has something to say next, unless a permit is released before; `None` if nobody waits.
    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        let (_, until) = self.queue.oldest()?;
        let class = self.queue.first()?.class();
        Some(until.min(self.passes_at(class, now)))
    }

    /// Somebody who waits has hung up. A ticket is worth as much as before. Who does not wait any more is ignored.
    pub fn gone(&mut self, waiting: Waiting) {
        if let Some(waiter) = self.queue.remove(waiting) {
            self.give_back(&waiter);
            self.counts.peer_gone += 1;
        }
    }

    /// The client is ready, or gone: its permit is another's.
    #[expect(clippy::needless_pass_by_value)] // it is given back
    pub fn release(&mut self, permit: Permit, now: Instant) {
        self.permits.release(permit.since, now);
    }

    /// What has been decided since the beginning.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// The permits that are held.
    pub const fn in_flight(&self) -> u32 {
        self.permits.held()
    }

    /// How many wait.
    pub fn waiting(&self) -> u32 {
        self.queue.len()
    }

    /// Appointments whose time is to come.
    pub fn appointments(&self) -> usize {
        self.book.len()
    }

    /// The settings.
    pub const fn settings(&self) -> &Admission {
        &self.settings
    }

    fn settle(&mut self, now: Instant) {
        if self.settled != Some(now) {
            self.settled = Some(now);
            self.forget(now);
        }
        if self.pace.is_at_rest(now) && self.queue.tickets() == 0 {
            // Nobody is late for another.
            self.ahead = self.ahead.min(0);
        }
    }

    fn forget(&mut self, now: Instant) {
        self.used.settle(now);
        self.groups.forget(now, nanos(self.settings.horizon) / 4);
        // Where a place is kept free for its bearer, it is while that may come.
        let kept = if self.keeps_places() {
            self.settings.grace()
        } else {
            Duration::ZERO
        };
        let passed = self.book.settle(now, kept, &mut self.groups);
        if passed > 0 {
            // A place that has passed long ago is nobody's.
            self.ahead = (self.ahead - passed).max(-self.most_ahead());
        }
    }

    fn standing(&self, claims: &Claims, now: Instant) -> Standing {
        let worthless = if self.used.contains(claims) {
            Refused::TicketUsed
        } else if claims.expires < now {
            Refused::TicketLate
        } else if claims.slot.since(now) > self.farthest() {
            Refused::TicketBeyondHorizon
        } else if claims.slot.since(now) > self.settings.early() {
            return Standing::Early;
        } else {
            return Standing::Due;
        };
        Standing::Worthless(worthless)
    }

    fn with_ticket(&mut self, now: Instant, rows: Rows, claims: Claims) -> Answer {
        let is_foreign = !self.is_own(&claims) && !self.book.is_empty();
        let is_full = self.queue.tickets() >= self.most_tickets(now);
        if is_full || is_foreign && (self.is_far_ahead() || self.has_many_used()) {
            return self.exchange(now, rows, &claims);
        }
        self.used.insert(&claims);
        if let Some(permit) = self.pass_by(Class::Ticket, now) {
            self.count_admitted(rows, true);
            return Answer::Admit(permit);
        }
        self.wait(now, Class::Ticket, rows, Some(claims))
    }

    fn exchange(&mut self, now: Instant, rows: Rows, claims: &Claims) -> Answer {
        self.counts.reject_rate += 1;
        let place = self.next_place(now);
        if place.since(now) > self.farthest() || self.has_many_used() {
            return Answer::Later(self.drawn());
        }
        self.used.insert(claims);
        Answer::Later(self.promise(now, place, rows, Refused::TicketExchanged))
    }

    fn without_ticket(
        &mut self,
        now: Instant,
        class: Class,
        rows: Rows,
        reason: Refused,
    ) -> Answer {
        // Who passes more often than others leaves the free place to them, and the wait for the next.
        let is_greedy = self.groups.is_greedy(rows);
        if !is_greedy || self.has_spare(now) {
            if let Some(permit) = self.pass_by(class, now) {
                self.count_admitted(rows, false);
                return Answer::Admit(permit);
            }
        }
        let place = self.next_place(now);
        if !is_greedy && place.since(now) <= self.settings.patience / 2 {
            let share = self.share(now);
            self.book.pass_over(place, share);
            return self.wait(now, class, rows, None);
        }
        self.counts.reject_rate += 1;
        Answer::Later(self.appointment(now, place, rows, reason))
    }

    fn wait(&mut self, now: Instant, class: Class, rows: Rows, ticket: Option<Claims>) -> Answer {
        let waiter = Waiter {
            rows,
            until: now.after(self.settings.patience),
            ticket,
        };
        Answer::Wait(self.queue.push(class, waiter, &mut self.groups))
    }

    /// This place, the next, unless its group has as many as are left.
    fn appointment(
        &mut self,
        now: Instant,
        place: Instant,
        rows: Rows,
        reason: Refused,
    ) -> Refusal {
        let left = now.after(self.settings.horizon).since(place);
        let each = u128::from(nanos(self.share(now)).max(1));
        // It has as many as are left, or more: one more would not fit.
        if (u128::from(self.groups.booked(rows)) + 1) * each > left.as_nanos() {
            return self.drawn();
        }
        self.promise(now, place, rows, reason)
    }

    fn promise(&mut self, now: Instant, place: Instant, rows: Rows, reason: Refused) -> Refusal {
        let share = self.share(now);
        self.book.give(place, share, rows, &mut self.groups);
        self.issued = self.issued.wrapping_add(1);
        let number = u64::from(self.issuer) << 32 | u64::from(self.issued);
        Refusal {
            delay: place.since(now),
            ticket: Some(Claims {
                number,
                slot: place,
                expires: place.after(self.settings.grace()),
            }),
            reason,
        }
    }

    /// Within the second half of the horizon: early enough that the book does not run empty, and no two together.
    fn drawn(&mut self) -> Refusal {
        let horizon = nanos(self.settings.horizon);
        let delay = uniform(&mut self.random, horizon / 2, horizon);
        Refusal {
            delay: Duration::from_nanos(delay),
            ticket: None,
            reason: Refused::BeyondHorizon,
        }
    }

    /// The first place behind all who wait and all who have an appointment.
    fn next_place(&self, now: Instant) -> Instant {
        let waiting = self.share(now).saturating_mul(self.queue.len());
        self.book.free_from(self.pace.next(now).after(waiting))
    }

    /// One's share of the time, by the rate or by how long permits are held, whichever is longer.
    fn share(&self, now: Instant) -> Duration {
        let by_permits = self.permits.share(now);
        by_permits.map_or(self.pace.share(), |share| share.max(self.pace.share()))
    }

    /// How far ahead a ticket may lie: those that were exchanged lie within a second horizon.
    fn farthest(&self) -> Duration {
        self.settings.horizon.saturating_mul(2)
    }

    /// Whether those to whom this book has promised their places would wait too long for tickets of others.
    fn is_far_ahead(&self) -> bool {
        self.ahead + i64::from(self.queue.tickets()) >= self.most_ahead()
    }

    /// What the rate brings within an eighth of the patience.
    fn most_ahead(&self) -> i64 {
        i64::from(self.settings.most_waiting_at(self.pace.share()) / 4)
    }

    /// Twice what is foreseen: who came early, and who came late. More would wait in vain.
    fn most_tickets(&self, now: Instant) -> u32 {
        self.settings
            .most_waiting_at(self.share(now))
            .saturating_mul(2)
    }

    /// More tickets of other processes would take memory without bound.
    fn has_many_used(&self) -> bool {
        let most = self.settings.most_waiting().saturating_mul(2);
        self.used.len() >= 2 * most.saturating_add(self.settings.burst) as usize
    }

    fn is_own(&self, claims: &Claims) -> bool {
        claims.number >> 32 == u64::from(self.issuer)
    }

    /// When the next of this class may pass, by what is known now.
    fn passes_at(&self, class: Class, now: Instant) -> Instant {
        if !self.permits.has_room() {
            return Instant::NEVER;
        }
        let next = self.pace.next(now);
        match self.kept_until(class, now) {
            Some(kept) => next.max(kept),
            None => next,
        }
    }

    /// Whether one more share is so long that a bearer who finds it taken may wait in vain: up to half of the patience for a bearer who
    /// was late, an eighth for one of another process, and an eighth more where it came early itself.
    fn keeps_places(&self) -> bool {
        self.pace.share() > self.settings.patience / 4
    }

    /// Until when a place is kept free for the bearer of a ticket, which one without would take so that the next comes too late.
    fn kept_until(&self, class: Class, now: Instant) -> Option<Instant> {
        if class == Class::Ticket || !self.keeps_places() {
            return None;
        }
        let slot = self.book.first()?;
        let is_taken = now.after(self.pace.share()) > slot.after(self.settings.patience / 4);
        // The first moment at which its ticket is worth nothing any more.
        is_taken.then(|| {
            slot.after(self.settings.grace())
                .after(Duration::from_nanos(1))
        })
    }

    /// Passes without a wait, unless somebody waits who goes before.
    fn pass_by(&mut self, class: Class, now: Instant) -> Option<Permit> {
        if self.queue.goes_before(class) || self.kept_until(class, now).is_some() {
            return None;
        }
        self.pass(now)
    }

    fn pass(&mut self, now: Instant) -> Option<Permit> {
        if !self.permits.has_room() {
            return None;
        }
        self.pace.pass(now).ok()?;
        self.permits.take(now);
        Some(Permit { since: now })
    }

    fn give_back(&mut self, waiter: &Waiter) {
        if let Some(claims) = &waiter.ticket {
            self.used.remove(claims);
        }
    }

    /// Whether there are places for others, too: half of the burst, or of the permits.
    fn has_spare(&self, now: Instant) -> bool {
        let many = (self.settings.burst / 2).max(1);
        self.pace.spares(many, now) && self.permits.are_half_free()
    }

    fn count_admitted(&mut self, rows: Rows, has_ticket: bool) {
        if has_ticket {
            self.ahead += 1;
            self.counts.ticket += 1;
        } else {
            self.counts.admit += 1;
            self.groups.pass(rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AddressGroup;

    /// Each of a flood is of a process that shares the keys, and each is in time.
    fn flood(door: &mut AdmissionController, now: Instant) {
        for number in 0..100_000_u64 {
            let expires = now.after(Duration::from_secs(1));
            let claims = Claims::new(number << 32, now, expires);
            let _ = door.arrive(now, &Arrival::of(AddressGroup::new(number)).ticket(claims));
        }
        // Ten in half of the patience.
        assert!(door.used.len() <= 42, "{}", door.used.len());
        assert!(door.waiting() <= 30, "{}", door.waiting());
        assert!(door.book.len() <= 1200, "{}", door.book.len());
        door.settle(now.after(Duration::from_secs(2)));
        assert_eq!(door.used.len(), 0);
    }

    #[test]
    fn a_flood_of_tickets_of_other_processes_takes_no_memory_without_bound() {
        let settings = Admission::per_second(10).patience(Duration::from_secs(2));
        let mut door = AdmissionController::new(settings, SplitMix64::new(7)).unwrap();
        let now = Instant::ZERO;
        for group in 0..100 {
            let _ = door.arrive(now, &Arrival::of(AddressGroup::new(group)));
        }
        assert!(!door.book.is_empty());
        flood(&mut door, now);

        // While the book is empty they stand in nobody's way.
        let mut door = AdmissionController::new(settings, SplitMix64::new(7)).unwrap();
        flood(&mut door, now);
    }
}
