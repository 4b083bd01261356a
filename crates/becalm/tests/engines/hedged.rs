//! Where do the tests of hedging play? A stage in virtual time that writes down, in one book, what
//! the operation does, what observers are told and what the budget is asked.

use std::fmt::Write as _;
use std::future::{Future, pending};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use becalm::budget::{RetryBudget, Withdrawal};
use becalm::time::FakeSleeper;
use becalm::{Attempt, Event, Failure, Observer, Policy, Retrier, Sleeper, time::Instant};

use crate::probe::{ByHand, Fault, SECOND};

/// What happens to an attempt, after how many milliseconds.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    Good(u64),
    Fails(u64, Fault),
    Panics(u64),
    Never,
}

pub use Fate::{Fails, Good, Never, Panics};

/// Lines, each with the milliseconds since the play began.
#[derive(Debug, Clone)]
pub struct Book {
    lines: Arc<Mutex<Vec<String>>>,
    clock: FakeSleeper,
    began: Instant,
}

impl Book {
    fn note(&self, what: std::fmt::Arguments<'_>) {
        let mut line = String::new();
        let now = self.clock.now().since(self.began).as_millis();
        write!(line, "{now} {what}").unwrap();
        self.lines.lock().unwrap().push(line);
    }

    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// The lines that contain one of these words.
    pub fn of(&self, words: &[&str]) -> Vec<String> {
        let has = |line: &String| words.iter().any(|word| line.contains(word));
        self.lines().into_iter().filter(has).collect()
    }

    /// A mark of the test's own.
    pub fn note_here(&self, what: &str) {
        self.note(format_args!("{what}"));
    }

    pub fn clear(&self) {
        self.lines.lock().unwrap().clear();
    }
}

struct Told(Book);

impl Observer for Told {
    fn on_event(&self, _: &becalm::observe::About<'_>, event: &Event<'_>) {
        let book = &self.0;
        match *event {
            Event::Attempt { number, .. } => book.note(format_args!("attempt {number}")),
            Event::Retry {
                next,
                delay,
                class,
                effect,
                ..
            } => {
                let (class, effect) = (class.as_str(), effect.as_str());
                book.note(format_args!("retry {next} in {delay:?}, {class}, {effect}"));
            }
            Event::Recovered { attempts, .. } => book.note(format_args!("recovered by {attempts}")),
            Event::Stopped {
                reason, attempts, ..
            } => book.note(format_args!("stopped {} by {attempts}", reason.as_str())),
            Event::Hedge { number, after, .. } => {
                book.note(format_args!("hedge {number} after {after:?}"));
            }
            Event::Beaten {
                number, elapsed, ..
            } => book.note(format_args!("beaten {number} after {elapsed:?}")),
            Event::Breaker { from, to, .. } => {
                book.note(format_args!("breaker {} to {}", from.as_str(), to.as_str()));
            }
            ref other => book.note(format_args!("{other:?}")),
        }
    }
}

/// A budget of whole tokens, each with a number of its own, so that every way of one is seen.
#[derive(Debug)]
pub struct Purse {
    book: Book,
    left: AtomicU64,
    next: AtomicU64,
}

impl RetryBudget for Purse {
    fn reads_clock(&self) -> bool {
        false
    }

    fn first_try(&self, _: Instant) {
        self.book.note(format_args!("first try"));
    }

    fn deposit(&self, _: Instant) {
        self.book.note(format_args!("deposit"));
    }

    fn withdraw(&self, _: Instant, _: &Failure) -> Option<Withdrawal> {
        let less = |left: u64| left.checked_sub(1);
        let paid = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        if paid.is_err() {
            self.book.note(format_args!("denied"));
            return None;
        }
        let token = self.next.fetch_add(1, Ordering::SeqCst);
        self.book.note(format_args!("token {token} taken"));
        Some(Withdrawal::of_micros(token))
    }

    fn refund(&self, token: Withdrawal) {
        self.left.fetch_add(1, Ordering::SeqCst);
        let token = token.micros();
        self.book.note(format_args!("token {token} back"));
    }

    fn fill(&self, _: Instant) -> f64 {
        1.0
    }

    fn hears_calls(&self) -> bool {
        true
    }

    fn call_ended(&self) {
        self.book.note(format_args!("call ended"));
    }

    fn on_failure(&self, _: Instant, failure: &Failure) {
        let class = failure.class.as_str();
        self.book.note(format_args!("failure {class}"));
    }

    fn on_success(&self, _: Instant, last: Option<Withdrawal>) {
        match last {
            Some(token) => self
                .book
                .note(format_args!("success with token {}", token.micros())),
            None => self.book.note(format_args!("success")),
        }
    }

    fn spent(&self, token: Withdrawal) {
        let token = token.micros();
        self.book.note(format_args!("token {token} spent"));
    }
}

/// A retrier on a clock that does not begin at zero, and its book.
pub struct Play {
    pub retrier: Retrier,
    pub clock: FakeSleeper,
    pub book: Book,
}

/// The policy with its own budget.
pub fn play(policy: Policy) -> Play {
    stage(policy, None)
}

/// The policy with a purse of this many tokens.
pub fn play_for(policy: Policy, tokens: u64) -> Play {
    stage(policy, Some(tokens))
}

fn stage(policy: Policy, tokens: Option<u64>) -> Play {
    let clock = FakeSleeper::new();
    // What is not known must not pass for the time zero.
    clock.advance(3600 * SECOND);
    let book = Book {
        lines: Arc::default(),
        began: clock.now(),
        clock: clock.clone(),
    };
    let mut builder = policy
        .builder()
        .sleeper(clock.clone())
        .observer(Told(book.clone()));
    if let Some(tokens) = tokens {
        builder = builder.retry_budget(Arc::new(Purse {
            book: book.clone(),
            left: AtomicU64::new(tokens),
            next: AtomicU64::new(1),
        }));
    }
    Play {
        retrier: builder.build().expect("a valid policy"),
        clock,
        book,
    }
}

/// Writes down how an attempt's future ends, if only by being dropped.
struct Copy {
    book: Book,
    number: u32,
    has_ended: bool,
}

impl Drop for Copy {
    fn drop(&mut self) {
        if !self.has_ended {
            self.book.note(format_args!("{} is dropped", self.number));
        }
    }
}

impl Play {
    /// The operation's attempt, which meets the fate of its number; the last one is for all that
    /// follow.
    pub fn perform(
        &self,
        attempt: Attempt,
        fates: &[Fate],
    ) -> impl Future<Output = Result<u32, Fault>> + Send + use<> {
        let number = attempt.number();
        let at = usize::try_from(number - 1).unwrap();
        let fate = *fates.get(at).unwrap_or(fates.last().unwrap());
        let kind = if attempt.is_hedge() { ", a hedge" } else { "" };
        self.book.note(format_args!("{number} begins{kind}"));
        let mut copy = Copy {
            book: self.book.clone(),
            number,
            has_ended: false,
        };
        let clock = self.clock.clone();
        async move {
            let (Good(takes) | Fails(takes, _) | Panics(takes)) = fate else {
                return pending().await;
            };
            if takes > 0 {
                let ends = clock.now().after(Duration::from_millis(takes));
                clock.sleep_until(ends).await;
            }
            copy.has_ended = true;
            match fate {
                Good(_) => copy.book.note(format_args!("{number} is good")),
                Panics(_) => std::panic::panic_any("the operation's"),
                _ => copy.book.note(format_args!("{number} fails")),
            }
            match fate {
                Fails(_, fault) => Err(fault),
                _ => Ok(number),
            }
        }
    }

    /// Plays until the future is ready; the time jumps to whatever is next.
    pub fn run<F: Future>(&self, future: F) -> F::Output {
        let mut call = ByHand::new(future);
        loop {
            if let Poll::Ready(output) = call.run() {
                return output;
            }
            self.clock
                .advance_to_next()
                .expect("nobody will ever wake it");
        }
    }

    /// A call whose attempts meet these fates.
    pub fn call(&self, fates: &[Fate]) -> Result<u32, becalm::GaveUp<Fault>> {
        self.run(self.retrier.retry(|attempt| self.perform(attempt, fates)))
    }

    /// A call whose attempts meet these fates, up to this time.
    pub fn until<'p>(
        &'p self,
        millis: u64,
        fates: &'p [Fate],
    ) -> ByHand<impl Future<Output = Result<u32, becalm::GaveUp<Fault>>> + 'p> {
        let mut call = ByHand::new(
            self.retrier
                .retry(move |attempt| self.perform(attempt, fates)),
        );
        self.go_on(millis, &mut call);
        call
    }

    /// A call whose attempts meet these fates, up to this long after now.
    pub fn until_now<'p>(
        &'p self,
        millis: u64,
        fates: &'p [Fate],
    ) -> ByHand<impl Future<Output = Result<u32, becalm::GaveUp<Fault>>> + 'p> {
        let now = self.clock.now().since(self.book.began).as_millis();
        self.until(u64::try_from(now).unwrap() + millis, fates)
    }

    /// Plays a call, which must not end, up to this time.
    pub fn go_on<F: Future>(&self, millis: u64, call: &mut ByHand<F>) {
        let end = self.book.began.after(Duration::from_millis(millis));
        assert!(call.run().is_pending());
        // In steps, so that all happens at its time.
        while self.clock.now() < end {
            self.clock.advance(Duration::from_millis(1));
            assert!(call.run().is_pending());
        }
    }
}
