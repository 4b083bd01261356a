//! What is the state of whatever budget is configured, and how does it change in place?
//!
//! One word, the *head*, says which kinds are in force and in which generation of parameters. A
//! reload closes the head, then each kind in the same step in which it takes what is left there; it
//! opens the kinds of the new configuration, filled to the same part, and then the head. A withdrawal
//! reads the head before it asks the kinds and again after they have paid: if a reload came in
//! between, it returns what it took and is denied.

use super::concurrency::ConcurrencyBudget;
use super::config::Budget;
use super::grpc::{self, GrpcBudget};
use super::kind::{Gauge, Kind, Kinds};
use super::once::Once;
use super::per_minute::MinuteBudget;
use super::tokens::TokenBudget;
use super::window::WindowBudget;
use super::withdrawal::{Receipt, Withdrawal};
use super::{RatioBudget, RetryBudget, balance};
use crate::atomic::{AtomicU64, Ordering, fence};
use crate::classify::Failure;
use crate::time::Instant;

/// A token of the ratio, in its unit.
const TOKEN: i64 = 1_000_000;

/// The state of a [`Budget`] of any kind, or of several: lock-free.
///
/// Several kinds are asked in the order of [`Kind::ALL`]; where one denies, those before it get back
/// what they gave. A retrier makes one of its policy; several retriers share a budget if they are
/// given the same one.
///
/// ```
/// use becalm::budget::{Budgets, RetryBudget};
/// use becalm::{Budget, Failure, Instant};
///
/// let budget = Budgets::new(Budget::ratio(0.1).burst(2.0).and(Budget::per_minute(1)));
/// let now = Instant::ZERO;
/// let first = budget.withdraw(now, &Failure::transient());
/// assert!(first.is_some());
/// assert!(budget.withdraw(now, &Failure::transient()).is_none()); // the minute's one is made
/// assert_eq!(budget.fill(now), 0.0);
/// ```
#[derive(Debug)]
pub struct Budgets {
    ratio: RatioBudget,
    first_tries: Once<RatioBudget>,
    /// A [`Head`].
    head: AtomicU64,
    grpc: Once<GrpcBudget>,
    concurrency: Once<ConcurrencyBudget>,
    tokens: Once<TokenBudget>,
    per_minute: Once<MinuteBudget>,
    window: Once<WindowBudget>,
    /// By kind, in the order of [`Kind::ALL`].
    denied: [AtomicU64; Kind::ALL.len()],
}

/// The default.
const RATIO: Kinds = Kinds::NONE.with(Kind::Ratio, true);
/// Those that look at outcomes or at calls under way.
const HEARING: Kinds = Kinds::NONE
    .with(Kind::Grpc, true)
    .with(Kind::Concurrency, true)
    .with(Kind::Tokens, true);
/// Those that look at first tries.
const FED_BY_FIRST_TRIES: Kinds = Kinds::NONE
    .with(Kind::FirstTries, true)
    .with(Kind::Window, true);

impl Budgets {
    /// A full budget of this configuration; [`Budget::None`] grants everything.
    ///
    /// Values out of range saturate: [`Budget::validate`] is where they are refused.
    pub fn new(budget: Budget) -> Self {
        let new = Self {
            ratio: closed_ratio(),
            first_tries: Once::new(closed_ratio),
            head: AtomicU64::new(Head::new(0, Kinds::NONE).0),
            grpc: Once::new(GrpcBudget::closed),
            concurrency: Once::new(ConcurrencyBudget::closed),
            tokens: Once::new(TokenBudget::closed),
            per_minute: Once::new(MinuteBudget::closed),
            window: Once::new(WindowBudget::closed),
            denied: core::array::from_fn(|_| AtomicU64::new(0)),
        };
        new.reconfigure(&budget, Instant::ZERO);
        new
    }

    /// Takes over another configuration in place, so that a reload mints no burst.
    ///
    /// A kind that stays keeps its fill fraction, rounded down to what it counts in. A kind that is
    /// added starts as full as the emptiest of those before it, and full if there was none. Retries
    /// that a window or a minute has no room left for count as made just now. A concurrency keeps its
    /// slots: they are held by retries that are really under way.
    ///
    /// Safe beside running calls: a retry that asks in the moment of the reload is denied, and what
    /// is deposited in it may be lost. Two reloads at once must be kept apart by the caller.
    pub fn reconfigure(&self, budget: &Budget, now: Instant) {
        let old = self.head();
        self.head.store(old.closed().0, Ordering::SeqCst);
        // Whoever pays after this finds the head closed.
        fence(Ordering::SeqCst);
        let mut fills = [None; Kind::ALL.len()];
        let mut grpc_tokens = None;
        for kind in old.kinds().iter() {
            let fill = match kind {
                Kind::Grpc => {
                    grpc_tokens = self.grpc.get().map(GrpcBudget::close);
                    grpc_tokens.map_or(1.0, grpc::usable)
                }
                kind => self.close(kind, now),
            };
            fills[kind as usize] = Some(fill);
        }
        let emptiest = fills.into_iter().flatten().fold(1.0, f64::min);
        let fill = |kind: Kind| fills[kind as usize].unwrap_or(emptiest);

        let all = budget.all_of();
        let generation = old.generation().wrapping_add(1).max(1);
        if let Some(config) = all.grpc {
            let tokens = grpc_tokens.unwrap_or_else(|| grpc::of_usable(emptiest));
            let grpc = self.grpc.get_or_make(GrpcBudget::closed);
            grpc.open(generation, config, tokens);
        }
        if let Some(config) = all.concurrency {
            let concurrency = self.concurrency.get_or_make(ConcurrencyBudget::closed);
            concurrency.open(config);
        }
        self.ratio.open(all.ratio, fill(Kind::Ratio), now);
        if all.first_tries.is_some() {
            let first_tries = self.first_tries.get_or_make(closed_ratio);
            first_tries.open(all.first_tries, fill(Kind::FirstTries), now);
        }
        if let Some(config) = all.tokens {
            let tokens = self.tokens.get_or_make(TokenBudget::closed);
            tokens.open(generation, config, fill(Kind::Tokens));
        }
        if let Some(config) = all.per_minute {
            let per_minute = self.per_minute.get_or_make(MinuteBudget::closed);
            per_minute.open(generation, config, fill(Kind::PerMinute), now);
        }
        if let Some(config) = all.window {
            let window = self.window.get_or_make(WindowBudget::closed);
            window.open(generation, config, fill(Kind::Window), now);
        }
        let kinds = Kinds::NONE
            .with(Kind::Grpc, all.grpc.is_some())
            .with(Kind::Concurrency, all.concurrency.is_some())
            .with(Kind::Ratio, all.ratio.is_some())
            .with(Kind::FirstTries, all.first_tries.is_some())
            .with(Kind::Tokens, all.tokens.is_some())
            .with(Kind::PerMinute, all.per_minute.is_some())
            .with(Kind::Window, all.window.is_some());
        let new = Head::new(generation, kinds);
        self.head.store(new.0, Ordering::Release);
    }

    /// Denies everything until it is opened, and tells how full it was.
    fn close(&self, kind: Kind, now: Instant) -> f64 {
        let closed = match kind {
            Kind::Ratio => Some(self.ratio.close(now)),
            Kind::FirstTries => self.first_tries.get().map(|ratio| ratio.close(now)),
            Kind::Tokens => self.tokens.get().map(TokenBudget::close),
            // These are closed with the head.
            kind => self.gauge(kind, now).map(|gauge| gauge.fill),
        };
        closed.unwrap_or(1.0)
    }

    /// Whether a call that succeeds at once does no more here than the ratio's deposit: neither the
    /// time nor its outcome is wanted.
    #[inline]
    pub fn is_plain(&self) -> bool {
        let kinds = self.head().kinds();
        !kinds.meets(HEARING) && !kinds.meets(FED_BY_FIRST_TRIES)
    }

    /// Whether any kind looks at first tries.
    pub(crate) fn hears_first_tries(&self) -> bool {
        self.head().kinds().meets(FED_BY_FIRST_TRIES)
    }

    /// The ratio among the kinds; it grants everything where there is none.
    #[inline]
    pub fn ratio(&self) -> &RatioBudget {
        &self.ratio
    }

    /// Whether the calls under way are counted.
    pub(crate) fn counts_calls(&self) -> bool {
        self.head().kinds().has(Kind::Concurrency)
    }

    /// Whether calls or retries are under way that a concurrency has counted.
    pub(crate) fn has_calls(&self) -> bool {
        let counting = |concurrency: &ConcurrencyBudget| !concurrency.is_idle();
        self.concurrency.get().is_some_and(counting)
    }

    /// How much each kind in force has left.
    pub fn gauges(&self, now: Instant) -> impl Iterator<Item = Gauge> {
        let kinds = self.head().kinds().iter();
        kinds.filter_map(move |kind| self.gauge(kind, now))
    }

    /// Retries that this kind has denied since the budget was made.
    pub fn denied(&self, kind: Kind) -> u64 {
        self.denied[kind as usize].load(Ordering::Relaxed)
    }

    fn gauge(&self, kind: Kind, now: Instant) -> Option<Gauge> {
        #[expect(clippy::cast_precision_loss)] // a gauge
        let (left, most, fill) = match kind {
            Kind::Grpc => {
                let grpc = self.grpc.get()?;
                let (left, most) = grpc.level();
                (left, most, grpc.fill())
            }
            Kind::Concurrency => {
                let (left, most) = self.concurrency.get()?.level();
                let free = left as f64 / most.max(1) as f64;
                let fill = if left == most { 1.0 } else { free };
                (left as f64, most as f64, fill)
            }
            Kind::Ratio => self.ratio.level(now),
            Kind::FirstTries => self.first_tries.get()?.level(now),
            Kind::Tokens => {
                let (left, most) = self.tokens.get()?.level();
                (left.into(), most.into(), balance::fill(left, most))
            }
            Kind::PerMinute => {
                let (left, most) = self.per_minute.get()?.level(now);
                (left.into(), most.into(), balance::fill(left, most))
            }
            Kind::Window => {
                let window = self.window.get()?;
                let (left, most) = window.level(now);
                (left as f64, most as f64, window.fill(now))
            }
        };
        Some(Gauge {
            kind,
            left,
            most,
            fill,
            denied: self.denied(kind),
        })
    }

    /// Whether one retry of this kind is paid for; what it took goes into the receipt.
    fn pay(&self, kind: Kind, now: Instant, failure: &Failure, receipt: &mut Receipt) -> bool {
        let generation = receipt.generation;
        let paid = match kind {
            // Nothing is taken, so there is nothing to note.
            Kind::Grpc => return self.grpc.get().is_some_and(GrpcBudget::allows),
            Kind::Concurrency => self.concurrency.get().is_some_and(ConcurrencyBudget::take),
            Kind::Ratio => self.ratio.withdraw(now).is_some(),
            Kind::FirstTries => {
                let ratio = self.first_tries.get();
                ratio.is_some_and(|ratio| ratio.withdraw(now).is_some())
            }
            Kind::Tokens => {
                let cost = self
                    .tokens
                    .get()
                    .and_then(|tokens| tokens.withdraw(generation, failure));
                cost.inspect(|cost| receipt.tokens = *cost).is_some()
            }
            Kind::PerMinute => {
                let slice = self
                    .per_minute
                    .get()
                    .and_then(|minute| minute.withdraw(generation, now));
                slice
                    .inspect(|slice| receipt.minute_slice = *slice)
                    .is_some()
            }
            Kind::Window => {
                let slice = self
                    .window
                    .get()
                    .and_then(|window| window.withdraw(generation, now));
                slice
                    .inspect(|slice| receipt.window_slice = *slice)
                    .is_some()
            }
        };
        receipt.paid = receipt.paid.with(kind, paid);
        paid
    }

    /// Returns what a retry took that never starts.
    fn give_back(&self, receipt: &Receipt) {
        for kind in receipt.paid.iter() {
            match kind {
                Kind::Grpc => {}
                Kind::Concurrency => self.free_slot(receipt),
                Kind::Ratio => self.ratio.give_back(TOKEN),
                Kind::FirstTries => {
                    if let Some(ratio) = self.first_tries.get() {
                        ratio.give_back(TOKEN);
                    }
                }
                Kind::Tokens => {
                    if let Some(tokens) = self.tokens.get() {
                        tokens.refund(receipt.generation, receipt.tokens);
                    }
                }
                Kind::PerMinute => {
                    if let Some(minute) = self.per_minute.get() {
                        minute.refund(receipt.generation, receipt.minute_slice);
                    }
                }
                Kind::Window => {
                    if let Some(window) = self.window.get() {
                        window.refund(receipt.generation, receipt.window_slice);
                    }
                }
            }
        }
    }

    /// A retry that holds a slot has ended.
    #[inline]
    fn free_slot(&self, receipt: &Receipt) {
        if let Some(concurrency) = self.concurrency.get() {
            if receipt.paid.has(Kind::Concurrency) {
                concurrency.give_back();
            }
        }
    }

    /// Asks the ratio, where it is the only kind in force.
    #[inline]
    fn withdraw_ratio(&self, head: Head, now: Instant) -> Option<Withdrawal> {
        if self.ratio.withdraw(now).is_none() {
            self.denied[Kind::Ratio as usize].fetch_add(1, Ordering::Relaxed);
            return None;
        }
        if self.head() != head {
            self.ratio.give_back(TOKEN);
            return None;
        }
        Some(Withdrawal::of_receipt(Receipt {
            generation: head.generation(),
            paid: RATIO,
            ..Receipt::default()
        }))
    }

    /// Asks every kind that is in force.
    fn withdraw_of(&self, head: Head, now: Instant, failure: &Failure) -> Option<Withdrawal> {
        let mut receipt = Receipt {
            generation: head.generation(),
            ..Receipt::default()
        };
        for kind in head.kinds().iter() {
            if !self.pay(kind, now, failure, &mut receipt) {
                self.give_back(&receipt);
                self.denied[kind as usize].fetch_add(1, Ordering::Relaxed);
                return None;
            }
        }
        if self.head() != head {
            self.give_back(&receipt);
            return None;
        }
        Some(Withdrawal::of_receipt(receipt))
    }

    #[inline]
    fn head(&self) -> Head {
        Head(self.head.load(Ordering::Acquire))
    }
}

impl RetryBudget for Budgets {
    fn reads_clock(&self) -> bool {
        self.head().kinds().has(Kind::Window)
    }

    fn first_try(&self, now: Instant) {
        let kinds = self.head().kinds();
        if kinds.has(Kind::FirstTries) {
            if let Some(first_tries) = self.first_tries.get() {
                first_tries.deposit();
            }
        }
        if kinds.has(Kind::Window) {
            if let Some(window) = self.window.get() {
                window.deposit(now);
            }
        }
    }

    #[inline]
    fn deposit(&self, _now: Instant) {
        self.ratio.deposit();
    }

    #[inline]
    fn withdraw(&self, now: Instant, failure: &Failure) -> Option<Withdrawal> {
        let head = self.head();
        if head.is_closed() {
            return None;
        }
        // What most policies have, without a list of kinds to go through.
        if head.kinds() == RATIO {
            self.withdraw_ratio(head, now)
        } else if head.kinds().is_none() {
            // Nothing is taken, so there is nothing that a reload could make wrong.
            Some(Withdrawal::of_receipt(Receipt {
                generation: head.generation(),
                ..Receipt::default()
            }))
        } else {
            self.withdraw_of(head, now, failure)
        }
    }

    fn refund(&self, withdrawal: Withdrawal) {
        self.give_back(withdrawal.receipt());
    }

    /// Of the emptiest kind.
    fn fill(&self, now: Instant) -> f64 {
        let fills = self.gauges(now).map(|gauge| gauge.fill);
        fills.fold(1.0, f64::min)
    }

    /// Also while calls or retries are under way that a concurrency counted before a reload.
    #[inline]
    fn hears_calls(&self) -> bool {
        self.head().kinds().meets(HEARING) || self.has_calls()
    }

    fn call_began(&self) {
        if let Some(concurrency) = self.concurrency.get() {
            concurrency.call_began();
        }
    }

    fn call_ended(&self) {
        if let Some(concurrency) = self.concurrency.get() {
            concurrency.call_ended();
        }
    }

    #[inline]
    fn on_failure(&self, _now: Instant, failure: &Failure) {
        if let Some(grpc) = self.grpc.get() {
            grpc.failed(failure);
        }
    }

    #[inline]
    fn on_success(&self, _now: Instant, last: Option<Withdrawal>) {
        if let Some(grpc) = self.grpc.get() {
            grpc.succeeded();
        }
        let Some(last) = last else {
            if let Some(tokens) = self.tokens.get() {
                tokens.succeeded_at_once();
            }
            return;
        };
        let receipt = last.receipt();
        self.free_slot(receipt);
        if let Some(tokens) = self.tokens.get() {
            tokens.succeeded_after_retries(receipt.generation, receipt.tokens);
        }
    }

    #[inline]
    fn spent(&self, withdrawal: Withdrawal) {
        self.free_slot(withdrawal.receipt());
    }
}

/// Closed, until a configuration opens it.
fn closed_ratio() -> RatioBudget {
    RatioBudget::new(Budget::None)
}

/// The generation of the parameters, the kinds in force, and whether a reload is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head(u64);

impl Head {
    const CLOSED: u64 = 1 << 8;

    fn new(generation: u32, kinds: Kinds) -> Self {
        Self(u64::from(generation) << 32 | u64::from(kinds.bits()))
    }

    fn closed(self) -> Self {
        Self(self.0 | Self::CLOSED)
    }

    fn is_closed(self) -> bool {
        self.0 & Self::CLOSED != 0
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[expect(clippy::cast_possible_truncation)] // the lowest byte
    fn kinds(self) -> Kinds {
        Kinds::of_bits(self.0 as u8)
    }
}
