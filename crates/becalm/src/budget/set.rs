//! What is the state of whatever budget is configured, and how does it change in place?
//!
//! One word, the *head*, says which kinds are in force and in which generation of parameters. A
//! reload closes the head, then each kind in the same step in which it takes what is left there; it
//! opens the kinds of the new configuration, filled to the same part, and then the head. A withdrawal
//! reads the head before it asks the kinds and again after they have paid: if a reload came in
//! between, it returns what it took and is denied.

use alloc::boxed::Box;

use super::account::{Account, Fill, Level};
use super::kind::{Budget, Kind, Kinds};
use super::withdrawal::{Receipt, Withdrawal};
use super::{RatioBudget, RetryBudget};
use crate::classify::Failure;
use crate::sync::{AtomicU64, Once, Ordering, fence};
use crate::time::Instant;

/// The state of a [`Budget`] of any kind, or of several. A success takes no lock.
///
/// Several kinds are asked in the order of [`Kind::ALL`]; where one denies, those before it get back
/// what they gave. A retrier makes one of its policy; several retriers share a budget if they are
/// given the same one.
///
/// ```
/// use becalm::budget::{Budgets, RetryBudget};
/// use becalm::{Budget, Failure, time::Instant};
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
    /// A [`Head`].
    head: AtomicU64,
    /// Made with the first kind besides the ratio.
    others: Once<Box<Others>>,
    /// By kind, in the order of [`Kind::ALL`].
    denied: [AtomicU64; Kind::ALL.len()],
}

/// By kind; that of the ratio is never made.
type Others = [Once<Box<dyn Account>>; Kind::ALL.len()];

#[allow(
    clippy::unnecessary_box_returns,
    reason = "what is made once is one word where it is empty"
)]
fn others() -> Box<Others> {
    Box::new(core::array::from_fn(|at| {
        Once::new(|| Kind::ALL[at].closed())
    }))
}

/// How much one kind has left.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Gauge {
    /// The kind.
    pub kind: Kind,
    /// What is left: tokens of a ratio, of first tries, of tokens and of gRPC (which grants down to half
    /// of them), retries of a window and of a minute, free slots of a concurrency.
    pub left: f64,
    /// What there is when nothing has been used. Of a window and of a concurrency it depends on the
    /// traffic.
    pub most: f64,
    /// How full it is, from 0 (nothing is granted) to 1.
    pub fill: f64,
    /// Retries that this kind has denied since the budget was made.
    pub denied: u64,
}

impl Gauge {
    /// What a budget of your own tells. It is as full as what is left is a part of the most.
    pub fn new(kind: Kind, left: f64, most: f64, denied: u64) -> Self {
        let fill = if most > 0.0 {
            (left / most).clamp(0.0, 1.0)
        } else {
            1.0
        };
        Self {
            kind,
            left,
            most,
            fill,
            denied,
        }
    }
}

impl Budgets {
    /// A full budget of this configuration; [`Budget::None`] grants everything.
    ///
    /// Values out of range saturate: [`Budget::validate`] is where they are refused.
    pub fn new(budget: Budget) -> Self {
        let new = Self {
            ratio: RatioBudget::new(Budget::None),
            head: AtomicU64::new(Head::new(0, Kinds::NONE).0),
            others: Once::new(others),
            denied: core::array::from_fn(|_| AtomicU64::new(0)),
        };
        new.reconfigure(&budget, Instant::ZERO);
        new
    }

    /// Its traffic begins at this instant, and not at the clock's zero.
    pub(crate) fn begin(&self, now: Instant) {
        for (_, account) in self.accounts(self.head().kinds()) {
            account.begin(now);
        }
    }

    /// Takes over another configuration in place, so that a reload mints no burst.
    ///
    /// A ratio that stays keeps its balance, cut to what it holds now; any other kind that stays keeps its fill fraction, rounded
    /// down to what it counts in. A kind that is
    /// added starts as full as the emptiest of those before it, and full if there was none. Retries
    /// that a window or a minute has no room left for count as made just now. A concurrency keeps its
    /// slots: they are held by retries that are really in progress.
    ///
    /// Safe beside running calls: a retry that asks in the moment of the reload is denied, and what
    /// is deposited in it may be lost. Two reloads at once must be kept apart by the caller.
    pub fn reconfigure(&self, budget: &Budget, now: Instant) {
        let old = self.head();
        self.head.store(old.closed().0, Ordering::SeqCst);
        // A retry that pays after this finds the head closed.
        fence(Ordering::SeqCst);
        let (mut fills, mut emptiest) = ([None; Kind::ALL.len()], 1.0_f64);
        for (kind, account) in self.accounts(old.kinds()) {
            let fill = account.close(now);
            emptiest = emptiest.min(fill.usable);
            fills[kind as usize] = Some(fill);
        }

        let generation = old.generation().wrapping_add(1).max(1);
        let mut kinds = Kinds::NONE;
        for kind in Kind::ALL {
            let own = budget.part(kind);
            kinds = kinds.with(kind, own.is_some());
            // The ratio is always open: it grants everything where there is none.
            if own.is_some() || kind == Kind::Ratio {
                let fill = fills[kind as usize].unwrap_or(Fill::of(emptiest));
                self.account_or_made(kind).open(generation, own, fill, now);
            }
        }
        self.head
            .store(Head::new(generation, kinds).0, Ordering::Release);
    }

    /// The state of this kind, if it was ever configured.
    #[inline]
    fn account(&self, kind: Kind) -> Option<&dyn Account> {
        if kind == Kind::Ratio {
            return Some(&self.ratio);
        }
        let account = self.others.get()?[kind as usize].get()?;
        Some(&**account)
    }

    fn account_or_made(&self, kind: Kind) -> &dyn Account {
        if kind == Kind::Ratio {
            return &self.ratio;
        }
        let others = self.others.get_or_make(others);
        &**others[kind as usize].get_or_make(|| kind.closed())
    }

    /// The states of these kinds, as far as they were ever configured.
    #[inline]
    fn accounts(&self, kinds: Kinds) -> impl Iterator<Item = (Kind, &dyn Account)> {
        let account = move |kind: &Kind| {
            let account = kinds.has(*kind).then(|| self.account(*kind))??;
            Some((*kind, account))
        };
        Kind::ALL.iter().filter_map(account)
    }

    /// The accounts of these kinds, among which the ratio is not.
    #[inline]
    fn others(&self, kinds: Kinds) -> impl Iterator<Item = (Kind, &dyn Account)> {
        // Most budgets have no other, and are not searched for any.
        let made = self.others.get().map_or(Kinds::NONE, |_| kinds);
        self.accounts(made)
    }

    /// Whether a call that succeeds at once does no more here than the ratio's deposit: neither the
    /// time nor its outcome is wanted.
    #[inline]
    pub fn is_plain(&self) -> bool {
        let kinds = self.head().kinds();
        !kinds.meets(Kinds::HEARING) && !kinds.meets(Kinds::FED_BY_FIRST_TRIES)
    }

    /// Whether any kind looks at first tries.
    pub(crate) fn hears_first_tries(&self) -> bool {
        self.head().kinds().meets(Kinds::FED_BY_FIRST_TRIES)
    }

    /// The ratio among the kinds; it grants everything where there is none.
    #[inline]
    pub fn ratio(&self) -> &RatioBudget {
        &self.ratio
    }

    /// Whether running calls are counted.
    pub(crate) fn counts_calls(&self) -> bool {
        self.head().kinds().meets(Kinds::COUNTING)
    }

    /// Whether calls or retries are in progress that a kind has counted, which may be in force no more.
    pub(crate) fn has_calls(&self) -> bool {
        self.others(Kinds::COUNTING)
            .any(|(_, account)| account.is_held())
    }

    /// How much each kind in force has left.
    pub fn gauges(&self, now: Instant) -> impl Iterator<Item = Gauge> {
        self.accounts(self.head().kinds())
            .map(move |(kind, account)| {
                let Level { left, most, fill } = account.level(now);
                Gauge {
                    kind,
                    left,
                    most,
                    fill,
                    denied: self.denied(kind),
                }
            })
    }

    /// Retries that this kind has denied since the budget was made.
    pub fn denied(&self, kind: Kind) -> u64 {
        self.denied[kind as usize].load(Ordering::Relaxed)
    }

    /// Returns what a retry took that never starts.
    fn give_back(&self, receipt: &Receipt) {
        for (kind, account) in self.accounts(receipt.paid) {
            account.put_back(receipt.generation, receipt.taken[kind as usize]);
        }
    }

    /// A call has succeeded. What it had paid last is asked for only where a kind wants to know: it is large to move.
    #[inline]
    pub(crate) fn succeeded(&self, last: impl FnOnce() -> Option<Withdrawal>) {
        if self.others.get().is_none() {
            return;
        }
        let last = last();
        for (_, account) in self.others(Kinds::HEARING) {
            account.call_succeeded(last.is_none());
        }
        if let Some(last) = last {
            self.ended(&last, true);
        }
    }

    /// A retry has ended that did start.
    #[inline]
    fn ended(&self, withdrawal: &Withdrawal, succeeded: bool) {
        let Some(receipt) = withdrawal.receipt() else {
            return;
        };
        for (kind, account) in self.others(receipt.paid.and(Kinds::HEARING)) {
            account.ended(receipt.generation, receipt.taken[kind as usize], succeeded);
        }
    }

    /// Asks the ratio, where no other kind is in force.
    #[inline]
    fn withdraw_ratio(&self, head: Head, now: Instant) -> Option<Withdrawal> {
        let is_asked = !head.kinds().is_none();
        if is_asked && self.ratio.pay(now).is_none() {
            return self.deny(Kind::Ratio);
        }
        let receipt = Receipt {
            generation: head.generation(),
            paid: head.kinds(),
            ..Receipt::default()
        };
        self.grant(head, receipt)
    }

    /// Asks every kind that is in force.
    fn withdraw_of(&self, head: Head, now: Instant, failure: &Failure) -> Option<Withdrawal> {
        let mut receipt = Receipt {
            generation: head.generation(),
            ..Receipt::default()
        };
        for (kind, account) in self.accounts(head.kinds()) {
            let Some(taken) = account.take(receipt.generation, now, failure) else {
                self.give_back(&receipt);
                return self.deny(kind);
            };
            receipt.taken[kind as usize] = taken;
            receipt.paid = receipt.paid.with(kind, !Kinds::FREE.has(kind));
        }
        self.grant(head, receipt)
    }

    fn deny(&self, kind: Kind) -> Option<Withdrawal> {
        self.denied[kind as usize].fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Grants what has been paid for, unless a reload has come in between.
    #[inline]
    fn grant(&self, head: Head, receipt: Receipt) -> Option<Withdrawal> {
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
        self.head().kinds().meets(Kinds::TIMING)
    }

    fn first_try(&self, now: Instant) {
        let kinds = self.head().kinds().and(Kinds::FED_BY_FIRST_TRIES);
        for (_, account) in self.others(kinds) {
            account.first_try(now);
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
        if head.kinds().and(Kinds::RATIO) == head.kinds() {
            self.withdraw_ratio(head, now)
        } else {
            self.withdraw_of(head, now, failure)
        }
    }

    fn refund(&self, withdrawal: Withdrawal) {
        if let Some(receipt) = withdrawal.receipt() {
            self.give_back(receipt);
        }
    }

    /// Of the emptiest kind.
    fn fill(&self, now: Instant) -> f64 {
        let mut emptiest = 1.0_f64;
        for (_, account) in self.accounts(self.head().kinds()) {
            emptiest = emptiest.min(account.level(now).fill);
        }
        emptiest
    }

    /// Also while calls or retries are in progress that a concurrency counted before a reload.
    #[inline]
    fn hears_calls(&self) -> bool {
        self.head().kinds().meets(Kinds::HEARING) || self.has_calls()
    }

    fn call_began(&self) {
        for (_, account) in self.others(Kinds::COUNTING) {
            account.call_began();
        }
    }

    fn call_ended(&self) {
        for (_, account) in self.others(Kinds::COUNTING) {
            account.call_ended();
        }
    }

    #[inline]
    fn on_failure(&self, _now: Instant, failure: &Failure) {
        if self.others.get().is_none() {
            return;
        }
        for (_, account) in self.others(Kinds::HEARING) {
            account.failed(failure);
        }
    }

    fn on_success(&self, _now: Instant, last: Option<Withdrawal>) {
        self.succeeded(|| last);
    }

    #[inline]
    fn spent(&self, withdrawal: Withdrawal) {
        self.ended(&withdrawal, false);
    }
}

/// The generation of the parameters, the kinds in force, and whether a reload is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head(u64);

impl Head {
    const CLOSED: u64 = 1 << 8;

    fn new(generation: u32, kinds: Kinds) -> Self {
        Self(u64::from(generation) << 32 | u64::from(kinds.0))
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
        Kinds(self.0 as u8)
    }
}
