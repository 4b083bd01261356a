//! What happens to the calls of one client? What comes in, and what was decided.

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

use becalm::call::{Call, CallOptions, Decision, Start};
use becalm::classify::Verdict;
use becalm::observe::Would;
use becalm::policy::Mode;
use becalm::rng::Random;
use becalm::shared::Shared;
use becalm::time::Instant;
use becalm::{Class, Effect, Failure, Hint, IdempotencyKey, Operation, Policy, Scope};
use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::{nanos, policy, whole};

/// All events are at a multiple of this, so that what a floor of a budget earns is a whole number.
const GRID: Duration = Duration::from_millis(9);

/// A history of calls that share a policy, its budget and its waiting room. One in which a reload took a millionth is drawn
/// again: the core has to, where it finds the same sum of earnings under another pace, and tells both apart in one word.
pub fn calls(dice: &mut Dice) -> Value {
    loop {
        if let Some(history) = drawn(dice) {
            return history;
        }
    }
}

fn drawn(dice: &mut Dice) -> Option<Value> {
    let policy = policy::policy(dice);
    let tick = *dice.pick(&[0, 0, 0, 1000, 15_625]);
    let tick = Duration::from_micros(tick);
    let shared = Shared::new(policy.clone(), tick).expect("a valid policy");
    let outer = Shared::new(Policy::default(), Duration::ZERO).expect("a valid policy");
    let mut world = World {
        dice,
        shared: &shared,
        above: above(&outer),
        now: Instant::ZERO,
        live: Vec::new(),
        begun: 0,
        has_earned: false,
        took_a_millionth: false,
        events: Vec::new(),
    };
    let length = 20 + world.dice.below(50);
    for _ in 0..length {
        world.step();
    }
    let events = world.events;
    let history =
        json!({ "kind": "calls", "policy": policy, "tick": nanos(tick), "events": events });
    (!world.took_a_millionth).then_some(history)
}

/// The scopes inside a layer that makes its first attempt, and inside one that repeats.
fn above(outer: &Shared) -> [(&'static str, Scope); 3] {
    let zero = &mut || 0;
    let mut call = Call::begin(outer, CallOptions::new(), Scope::NONE, Instant::ZERO);
    call.start(Instant::ZERO, zero).expect("a first attempt");
    let first = call.scope();
    call.on_outcome(Instant::ZERO, Failure::transient().into(), zero);
    call.start(Instant::ZERO, zero).expect("a second attempt");
    [
        ("nothing", Scope::NONE),
        ("first", first),
        ("repeats", call.scope()),
    ]
}

struct World<'a> {
    dice: &'a mut Dice,
    shared: &'a Shared,
    above: [(&'static str, Scope); 3],
    now: Instant,
    live: Vec<Live<'a>>,
    begun: u64,
    /// A call has succeeded.
    has_earned: bool,
    /// A reload did.
    took_a_millionth: bool,
    events: Vec<Value>,
}

struct Live<'a> {
    number: u64,
    call: Call<&'a Shared>,
    /// When its next attempt may start; `None` while one runs.
    due: Option<Instant>,
}

/// The bits that a decision drew.
struct Drawn<'a> {
    dice: &'a mut Dice,
    words: Vec<String>,
}

impl Random for Drawn<'_> {
    fn next_u64(&mut self) -> u64 {
        let bits = self.dice.bits();
        self.words.push(bits.to_string());
        bits
    }
}

/// What a step drew, and what enforcing would have done to an observed call.
#[derive(Default)]
struct Told {
    draws: Vec<String>,
    would: Vec<Value>,
}

impl Told {
    fn of(draws: Vec<String>, call: &mut Call<&Shared>) -> Self {
        let would = std::iter::from_fn(|| call.take_would()).map(would);
        Self {
            draws,
            would: would.collect(),
        }
    }
}

fn would(would: Would) -> Value {
    match would {
        Would::Retry { delay } => json!({ "retry": nanos(delay) }),
        Would::Cut { after } => json!({ "cut": nanos(after) }),
        Would::Stop(reason) => json!({ "stop": reason.as_str() }),
        Would::Refuse(reason) => json!({ "refuse": reason.as_str() }),
        Would::Fail => "fail".into(),
        other => unreachable!("{other:?} without guards"),
    }
}

impl<'a> World<'a> {
    fn step(&mut self) {
        let few = self.live.len() < 6;
        match self.dice.below(18) {
            0..3 => {
                let most = *self.dice.pick(&[2, 2, 20, 20, 20, 200, 200, 100_000]);
                let ticks = u32::try_from(self.dice.below(most)).expect("it is small");
                self.now = self.now.after(GRID * ticks);
            }
            3 if self.dice.one_in(3) => self.switch(),
            16 if self.has_earned && self.dice.one_in(3) => self.reload(),
            17 => self.traffic(),
            3..7 if few => self.begin(),
            _ if self.live.is_empty() => self.begin(),
            _ => {
                let at = self.dice.below(self.live.len() as u64);
                let live = self
                    .live
                    .swap_remove(usize::try_from(at).expect("an index"));
                match live.due {
                    Some(_) if self.dice.one_in(12) => self.drop_call(live),
                    Some(due) => self.start(live, due),
                    None => self.end_attempt(live),
                }
            }
        }
    }

    /// What an operator switches for all calls.
    fn switch(&mut self) {
        let event = match self.dice.below(4) {
            0 => {
                self.shared.disable_retries();
                json!({ "do": "disable_retries" })
            }
            1 => {
                self.shared.enable_retries();
                json!({ "do": "enable_retries" })
            }
            2 => {
                self.shared.set_mode(Mode::Observe);
                json!({ "do": "set_mode", "mode": "observe" })
            }
            _ => {
                self.shared.set_mode(Mode::Enforce);
                json!({ "do": "set_mode", "mode": "enforce" })
            }
        };
        self.note(event, &Told::default());
    }

    /// Another policy under the calls that live.
    fn reload(&mut self) {
        self.now = self.now.after(GRID);
        let policy = policy::policy(self.dice);
        let event = json!({ "do": "reload", "policy": policy });
        let before = self.left();
        let replaced = self.shared.replace_policy(policy, self.now);
        replaced.expect("a valid policy");
        let after = self.left();
        self.took_a_millionth |= before
            .iter()
            .any(|(kind, left)| after.get(kind).is_some_and(|it| it + 1 == *left));
        self.note(event, &Told::default());
    }

    /// Calls that succeed at once, one after the other.
    fn traffic(&mut self) {
        let count = *self.dice.pick(&[2, 20, 200]);
        for _ in 0..count {
            let mut call = Call::begin(self.shared, CallOptions::new(), Scope::NONE, self.now);
            let nothing = &mut || unreachable!("nothing is drawn for a success");
            call.start(self.now, nothing).expect("a first attempt");
            call.on_outcome(self.now, Verdict::Success, nothing);
        }
        self.has_earned = true;
        self.note(json!({ "do": "traffic", "calls": count }), &Told::default());
    }

    fn begin(&mut self) {
        let key = IdempotencyKey::from_u128(7);
        let (operation, what) = *self.dice.pick(&[
            (Operation::Idempotent, "idempotent"),
            (Operation::Idempotent, "idempotent"),
            (Operation::Idempotent, "idempotent"),
            (Operation::Idempotent, "idempotent"),
            (Operation::Keyed(key), "keyed"),
            (Operation::NotIdempotent, "not_idempotent"),
        ]);
        let attempts = *self.dice.pick(&[
            None,
            None,
            None,
            None,
            Some(1),
            Some(3),
            Some(Policy::UNLIMITED),
        ]);
        let deadline = *self
            .dice
            .pick(&[None, None, None, None, Some(Duration::from_millis(700))]);
        let options = CallOptions::new()
            .operation(operation)
            .attempts(attempts)
            .deadline(deadline);
        let (where_, scope) = self.above[*self.dice.pick(&[0, 0, 0, 0, 1, 2])];
        let call = Call::begin(self.shared, options, scope, self.now);
        let number = self.begun;
        self.begun += 1;
        let event = json!({
            "do": "begin",
            "call": number,
            "operation": what,
            "attempts": attempts.map(|most| if most == Policy::UNLIMITED { "unlimited".into() } else { json!(most) }),
            "deadline": deadline.map(nanos),
            "above": where_,
            "then": { "deadline": call.deadline().map(|at| whole(at.as_nanos())) },
        });
        self.note(event, &Told::default());
        self.live.push(Live {
            number,
            call,
            due: Some(self.now),
        });
    }

    /// Starts the attempt, at the first moment of the grid at which it may, or somewhat later. A call that waits for a
    /// token is now and then woken too early.
    fn start(&mut self, mut live: Live<'a>, due: Instant) {
        let is_early = live.call.waits_for_token() && self.dice.one_in(8);
        if !is_early {
            let step = u64::try_from(GRID.as_nanos()).expect("nine milliseconds");
            let at_least = due.as_nanos().div_ceil(step) * step;
            let late = if self.dice.one_in(12) {
                self.dice.below(1000)
            } else {
                0
            };
            self.now = self.now.max(Instant::from_nanos(at_least + late * step));
        }
        let mut drawn = Drawn {
            dice: self.dice,
            words: Vec::new(),
        };
        let started = live.call.poll_start(self.now, Waker::noop(), &mut drawn);
        let words = drawn.words;
        let then = match started {
            Ok(Start::Go(attempt)) => {
                live.due = None;
                json!({ "attempt": attempt.number(), "remaining": attempt.remaining().map(nanos) })
            }
            Ok(Start::Wait(until)) => {
                live.due = Some(until);
                json!({ "asks_in": nanos(until.since(self.now)) })
            }
            Err(reason) => json!({ "stop": reason.as_str() }),
            Ok(other) => unreachable!("{other:?} at a start"),
        };
        let told = Told::of(words, &mut live.call);
        self.note(
            json!({ "do": "start", "call": live.number, "then": then }),
            &told,
        );
        if started.is_ok() {
            self.live.push(live);
        }
    }

    fn end_attempt(&mut self, mut live: Live<'a>) {
        match self.dice.below(20) {
            0 => return self.drop_call(live),
            1 => {
                live.call.body_is_consumed();
                self.note(
                    json!({ "do": "body_is_consumed", "call": live.number }),
                    &Told::default(),
                );
                return self.live.push(live);
            }
            2 => {
                live.call.forbid_retry();
                self.note(
                    json!({ "do": "forbid_retry", "call": live.number }),
                    &Told::default(),
                );
                return self.live.push(live);
            }
            3..8 => {
                let nothing = &mut || unreachable!("nothing is drawn at a success");
                live.call.on_outcome(self.now, Verdict::Success, nothing);
                let told = Told::of(Vec::new(), &mut live.call);
                self.has_earned |= !told.would.contains(&"fail".into());
                return self.note(json!({ "do": "succeed", "call": live.number }), &told);
            }
            _ => (),
        }
        let failure = self.failure();
        let mut drawn = Drawn {
            dice: self.dice,
            words: Vec::new(),
        };
        let decision = live.call.on_outcome(self.now, failure.into(), &mut drawn);
        let words = drawn.words;
        let then = match decision {
            Decision::RetryIn(delay) => {
                live.due = Some(self.now.after(delay));
                let token = live.call.waits_for_token().then_some(false);
                json!({ "wait": nanos(delay), "token": token })
            }
            Decision::Stop(reason) => json!({ "stop": reason.as_str() }),
            other => unreachable!("{other:?} after a failure"),
        };
        let event = json!({
            "do": "fail",
            "call": live.number,
            "failure": super::failure(&failure),
            "then": then,
        });
        let told = Told::of(words, &mut live.call);
        self.note(event, &told);
        if live.due.is_some() {
            self.live.push(live);
        }
    }

    fn failure(&mut self) -> Failure {
        let dice = &mut *self.dice;
        let class = *dice.pick(&[
            Class::Transient,
            Class::Transient,
            Class::Transient,
            Class::Transient,
            Class::Throttled,
            Class::Throttled,
            Class::Throttled,
            Class::Permanent,
        ]);
        let effect = *dice.pick(&[Effect::Unknown, Effect::Unknown, Effect::Unsent]);
        let millis = *dice.pick(&[0, 5, 500, 5000, 60_000, 90_000]);
        let delay = Duration::from_millis(millis);
        let over = Duration::from_millis(*dice.pick(&[0, 40, 25_000]));
        let hint = match dice.below(12) {
            0..2 => Some(Hint::AtLeast(delay)),
            2 => Some(Hint::Exactly(delay)),
            3 => Some(Hint::Spread { after: delay, over }),
            4 if dice.one_in(2) => Some(Hint::Stop),
            _ => None,
        };
        let base = match class {
            Class::Transient => Failure::transient(),
            Class::Throttled => Failure::throttled(),
            _ => Failure::permanent(),
        };
        let base = if effect == Effect::Unsent {
            base.unsent()
        } else {
            base
        };
        hint.map_or(base, |hint| base.hint(hint))
    }

    fn drop_call(&mut self, mut live: Live<'a>) {
        let nothing = &mut || unreachable!("nothing is drawn at an end");
        live.call.cancel(self.now, nothing);
        let told = Told::of(Vec::new(), &mut live.call);
        self.note(json!({ "do": "drop", "call": live.number }), &told);
    }

    /// Adds when it was, what was drawn and told, and how the shared state is now.
    fn note(&mut self, mut event: Value, told: &Told) {
        event["at"] = whole(self.now.as_nanos());
        if !told.draws.is_empty() {
            event["draws"] = json!(told.draws);
        }
        if !told.would.is_empty() {
            event["would"] = json!(told.would);
        }
        let left = self.left().into_iter();
        let left = left.map(|(kind, millionths)| (kind.to_owned(), whole(millionths)));
        event["left"] = Value::Object(left.collect::<Map<_, _>>());
        event["waiting"] = self.shared.waiting().into();
        self.events.push(event);
    }

    /// What each kind of the budget holds, in millionths.
    fn left(&self) -> BTreeMap<&'static str, u64> {
        let gauges = self.shared.budget_gauges(self.now);
        let left = gauges.map(|gauge| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let millionths = (gauge.left * 1e6).round() as u64;
            (gauge.kind.as_str(), millionths)
        });
        left.collect()
    }
}
