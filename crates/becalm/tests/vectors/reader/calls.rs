//! Again, and when? Or not, and why?

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};

use super::budget::{Budget, Paid};
use super::policy::{Draws, Policy};
use super::{same, text, whole};

/// The least time between two asks for a token.
const A_MILLISECOND: u64 = 1_000_000;

struct Client {
    policy: Rc<Policy>,
    tick: u64,
    budget: Budget,
    waiting: u64,
    disabled: bool,
    observes: bool,
    now: u64,
    calls: BTreeMap<u64, Call>,
    /// What enforcing would have done to an observed call, in this event.
    would: Vec<Value>,
}

struct Call {
    /// From its first failure on.
    policy: Option<Rc<Policy>>,
    own_attempts: Option<u64>,
    begun: u64,
    /// When its attempt started.
    started: u64,
    own_deadline: Option<u64>,
    deadline: Option<u64>,
    observed: Observed,
    above: String,
    repeatable: bool,
    replayable: bool,
    forbidden: bool,
    attempt: u64,
    step: u64,
    previous: Option<u64>,
    waits: bool,
    asks: Option<Asks>,
    /// What its last retry has taken.
    paid: Option<Paid>,
    /// The budget counts it among the calls in progress.
    counted: bool,
}

/// Whether a call is only observed, and what would have become of it.
#[derive(PartialEq)]
enum Observed {
    No,
    AsEnforced,
    Ended,
}

/// A call that waits for a token.
struct Asks {
    throttled: bool,
    /// Where the backoff was when its attempt failed.
    step: u64,
    previous: Option<u64>,
    at: u64,
}

type Decided<T> = Result<T, &'static str>;

pub fn replay(line: &Value) -> Result<(), String> {
    let policy = Policy::of(&line["policy"]);
    let mut client = Client {
        budget: Budget::of(&policy.budget),
        observes: policy.observes,
        policy: policy.into(),
        tick: whole(&line["tick"]).expect("a tick"),
        waiting: 0,
        disabled: false,
        now: 0,
        calls: BTreeMap::new(),
        would: Vec::new(),
    };
    let events = line["events"].as_array().expect("events");
    for (index, event) in events.iter().enumerate() {
        let differs = |difference| format!("event {index}, {difference}");
        client.replay(event).map_err(differs)?;
    }
    Ok(())
}

impl Client {
    fn replay(&mut self, event: &Value) -> Result<(), String> {
        self.now = whole(&event["at"]).expect("a time");
        self.budget.pass(self.now);
        let draws = event["draws"].as_array().into_iter().flatten();
        let mut draws = Draws(draws.filter_map(whole).collect());
        let then = self.happen(event, &mut draws);
        let would = std::mem::take(&mut self.would);
        let would = if would.is_empty() {
            Value::Null
        } else {
            json!(would)
        };
        same("then", &event["then"], &then)?;
        same("would", &event["would"], &would)?;
        same("left", &event["left"], &self.budget.left())?;
        same("waiting", event["waiting"].as_u64(), Some(self.waiting))?;
        same("draws that nobody asked for", draws.0.len(), 0)
    }

    fn happen(&mut self, event: &Value, draws: &mut Draws) -> Value {
        match text(&event["do"]) {
            "disable_retries" => self.disabled = true,
            "enable_retries" => self.disabled = false,
            "set_mode" => self.observes = event["mode"] == "observe",
            "reload" => {
                self.policy = Policy::of(&event["policy"]).into();
                self.observes = self.policy.observes;
                self.budget.reload(&self.policy.budget);
            }
            "traffic" => {
                for _ in 0..event["calls"].as_u64().expect("a number of calls") {
                    let is_counted = self.budget.first_try();
                    self.budget.success(None);
                    if is_counted {
                        self.budget.call_ended();
                    }
                }
            }
            what => return self.happen_to(what, event, draws),
        }
        Value::Null
    }

    fn happen_to(&mut self, what: &str, event: &Value, draws: &mut Draws) -> Value {
        let number = event["call"].as_u64().expect("a call");
        if what == "begin" {
            let call = self.begin(event);
            let deadline = json!({ "deadline": call.deadline });
            self.calls.insert(number, call);
            return deadline;
        }
        let mut call = self.calls.remove(&number).expect("it has begun");
        let then = match what {
            "start" => self.start(&mut call, draws),
            "fail" => self.fail(&mut call, &event["failure"], draws),
            "succeed" => {
                self.succeed(&mut call);
                Err("")
            }
            "drop" => {
                self.drop(&mut call);
                Err("")
            }
            "body_is_consumed" => {
                call.replayable = false;
                Ok(Value::Null)
            }
            "forbid_retry" => {
                call.forbidden = true;
                Ok(Value::Null)
            }
            other => panic!("{other:?} is no event"),
        };
        if then.is_ok() {
            self.calls.insert(number, call);
        } else if call.counted {
            self.budget.call_ended();
        }
        match then {
            Ok(then) => then,
            Err("") => Value::Null,
            Err(reason) => json!({ "stop": reason }),
        }
    }

    fn begin(&self, event: &Value) -> Call {
        let own_deadline = whole(&event["deadline"]);
        let deadline = own_deadline.or(self.policy.deadline);
        Call {
            policy: None,
            own_attempts: match &event["attempts"] {
                Value::Null => None,
                attempts => Some(attempts.as_u64().unwrap_or(u64::MAX)),
            },
            begun: self.now,
            started: self.now,
            own_deadline,
            deadline: deadline.filter(|_| !self.observes).map(|it| self.now + it),
            observed: if self.observes {
                Observed::AsEnforced
            } else {
                Observed::No
            },
            above: text(&event["above"]).to_owned(),
            repeatable: text(&event["operation"]) != "not_idempotent",
            replayable: true,
            forbidden: false,
            attempt: 0,
            step: 0,
            previous: None,
            waits: false,
            asks: None,
            paid: None,
            counted: false,
        }
    }

    /// When the call ends. One that is observed is judged by the policy that is in force.
    fn deadline(&self, call: &Call) -> Option<u64> {
        if call.observed == Observed::No {
            return call.deadline;
        }
        let own = call.own_deadline.or(self.policy.deadline);
        own.map(|own| call.begun + own)
    }

    /// The wait is over: its place comes back.
    fn leave_room(&mut self, call: &mut Call) {
        self.waiting -= u64::from(std::mem::take(&mut call.waits));
    }

    fn drop(&mut self, call: &mut Call) {
        self.judge_end(call);
        if call.waits {
            self.never_starts(call);
        } else {
            self.budget.ended(call.paid.take());
        }
    }

    /// The retry for which it waits never starts: its token and its place come back.
    fn never_starts(&mut self, call: &mut Call) {
        self.leave_room(call);
        if let Some(paid) = call.paid.take() {
            self.budget.give_back(paid);
        }
    }

    fn start(&mut self, call: &mut Call, draws: &mut Draws) -> Decided<Value> {
        let is_late = self.deadline(call).is_some_and(|it| self.now >= it);
        if call.observed != Observed::No {
            (call.attempt, call.started) = (1, self.now);
            if is_late {
                self.would.push(json!({ "refuse": "deadline_exceeded" }));
                call.observed = Observed::Ended;
            } else {
                call.counted = self.budget.first_try();
            }
            return Ok(json!({ "attempt": 1, "remaining": null }));
        }
        let refused = if call.attempt > 0 && self.disabled {
            Some("attempts_exhausted")
        } else if is_late {
            Some("deadline_exceeded")
        } else {
            None
        };
        let asked = match refused {
            Some(reason) => Err(reason),
            None => self.ask(call, draws),
        };
        match asked {
            Err(reason) => {
                self.never_starts(call);
                return Err(reason);
            }
            Ok(Some(asks_in)) => return Ok(json!({ "asks_in": asks_in })),
            Ok(None) => (),
        }
        self.leave_room(call);
        if call.attempt == 0 {
            call.counted = self.budget.first_try();
        }
        call.attempt += 1;
        call.forbidden = false;
        let remaining = call.deadline.map(|deadline| deadline - self.now);
        Ok(json!({ "attempt": call.attempt, "remaining": remaining }))
    }

    /// Asks for the token again, if the call waits for one. In how long the next time, if there is none.
    fn ask(&mut self, call: &mut Call, draws: &mut Draws) -> Decided<Option<u64>> {
        let Some(asks) = &mut call.asks else {
            return Ok(None);
        };
        if self.now < asks.at {
            return Ok(Some(asks.at - self.now));
        }
        call.paid = self.budget.take(asks.throttled);
        if call.paid.is_some() {
            call.asks = None;
            return Ok(None);
        }
        let policy = call.policy.as_ref().expect("it has failed");
        let base = policy.first_ceiling(asks.throttled);
        let drawn = policy.draw(base, asks.step, asks.previous, draws);
        let delay = draws.rounded(drawn, self.tick, policy.floor, policy.cap);
        let delay = delay.max(A_MILLISECOND);
        let deadline = call.deadline.expect("without one it does not wait");
        if self.now + delay >= deadline {
            return Err("budget_exhausted");
        }
        asks.at = self.now + delay;
        Ok(Some(delay))
    }

    fn succeed(&mut self, call: &mut Call) {
        self.judge_end(call);
        if call.observed == Observed::Ended {
            self.would.push("fail".into());
        } else {
            self.budget.success(call.paid.take());
        }
    }

    /// The attempt of an observed call ends: the deadline may have cut it before.
    fn judge_end(&mut self, call: &mut Call) {
        let deadline = self.deadline(call).filter(|it| *it < self.now);
        if let (Observed::AsEnforced, true, Some(deadline)) =
            (&call.observed, call.attempt > 0, deadline)
        {
            self.would
                .push(json!({ "cut": deadline.saturating_sub(call.started) }));
            self.would.push(json!({ "stop": "deadline_exceeded" }));
            call.observed = Observed::Ended;
        }
    }

    fn fail(&mut self, call: &mut Call, failure: &Value, draws: &mut Draws) -> Decided<Value> {
        let (class, is_stop) = (text(&failure["class"]), failure["hint"] == "stop");
        call.policy.get_or_insert_with(|| Rc::clone(&self.policy));
        if call.observed == Observed::No {
            self.budget.ended(call.paid.take());
            self.budget.failed(class, is_stop);
            let delay = self.decide(call, failure, draws)?;
            let token = call.asks.as_ref().map(|_| false);
            return Ok(json!({ "wait": delay, "token": token }));
        }
        let reason = self.gate(call, failure, 1).expect_err("one attempt");
        self.judge_end(call);
        if call.observed == Observed::AsEnforced {
            self.budget.failed(class, is_stop);
            match self.decide(call, failure, draws) {
                Ok(delay) => {
                    self.leave_room(call);
                    self.budget.ended(call.paid.take());
                    self.would.push(json!({ "retry": delay }));
                }
                Err(why) if why != reason => self.would.push(json!({ "stop": why })),
                Err(_) => (),
            }
        }
        Err(reason)
    }

    /// What does not depend on delays, waiting room and budget.
    fn gate(&self, call: &Call, failure: &Value, attempts: u64) -> Decided<()> {
        let policy = call.policy.as_ref().expect("it has failed");
        let runs_once = match policy.nested.as_str() {
            "nearest" => call.above == "repeats",
            "outermost" => call.above != "nothing",
            _ => false,
        };
        if failure["class"] == "permanent" {
            Err("permanent")
        } else if failure["hint"] == "stop" || call.forbidden {
            Err("do_not_retry")
        } else if !call.repeatable && failure["effect"] != "unsent" {
            Err("not_idempotent")
        } else if !call.replayable {
            Err("body_not_replayable")
        } else if runs_once {
            Err("nested_retry")
        } else if call.attempt >= attempts {
            Err("attempts_exhausted")
        } else {
            Ok(())
        }
    }

    fn decide(&mut self, call: &mut Call, failure: &Value, draws: &mut Draws) -> Decided<u64> {
        let policy = Rc::clone(call.policy.as_ref().expect("it has failed"));
        let attempts = call.own_attempts.unwrap_or(policy.attempts);
        self.gate(call, failure, if self.disabled { 1 } else { attempts })?;
        let throttled = failure["class"] == "throttled";
        let deadline = self.deadline(call);
        let before = (call.step, call.previous);
        let delay = self.delay(call, &policy, deadline, failure, draws)?;
        if self.waiting >= policy.max_waiting {
            return Err("too_many_waiting");
        }
        call.paid = self.budget.take(throttled);
        if call.paid.is_none() {
            let may_wait = call.observed == Observed::No && policy.waits_for_tokens;
            if !may_wait || deadline.is_none() {
                return Err("budget_exhausted");
            }
            // An exact hint has begun the backoff again.
            let (step, previous) = if call.step == 0 { (0, None) } else { before };
            call.asks = Some(Asks {
                throttled,
                step,
                previous,
                at: self.now + delay,
            });
        }
        call.waits = true;
        self.waiting += 1;
        Ok(delay)
    }

    fn delay(
        &self,
        call: &mut Call,
        policy: &Policy,
        deadline: Option<u64>,
        failure: &Value,
        draws: &mut Draws,
    ) -> Decided<u64> {
        let (hint, tick) = (&failure["hint"], self.tick);
        let base = policy.first_ceiling(failure["class"] == "throttled");
        // A wait ends before the deadline, not at it.
        let room = deadline.map_or(Some(u64::MAX), |deadline| {
            (deadline - 1).checked_sub(self.now)
        });
        let mode = policy.hint.as_str();
        let named = |key: &str| {
            let delay = whole(&hint[key]).filter(|_| mode != "ignore")?;
            Some(if mode == "clamp" {
                delay.min(policy.cap).min(policy.max_hint)
            } else {
                delay
            })
        };
        let fits = |hint: u64| match room {
            Some(room) if hint <= room && hint <= policy.max_hint => Ok(room),
            _ => Err("hint_too_long"),
        };
        if let Some(exactly) = named("exactly") {
            let room = fits(exactly)?;
            (call.step, call.previous) = (0, None);
            return Ok(draws.rounded(exactly, tick, exactly, room));
        }
        if let Some(at_least) = named("at_least") {
            let room = fits(at_least)?;
            let over = policy.ceiling(base, call.step).max(at_least / 10);
            let drawn = draws.between(at_least, room.min(at_least + over));
            call.step += 1;
            return Ok(draws.rounded(drawn, tick, at_least, room));
        }
        if let (Some(after), Some(over)) = (named("after"), named("over")) {
            let most = fits(after)?.min(after + over);
            let drawn = draws.between(after, most);
            call.step += 1;
            return Ok(draws.rounded(drawn, tick, after, most));
        }
        let drawn = policy.draw(base, call.step, call.previous, draws);
        let delay = draws.rounded(drawn, tick, policy.floor, policy.cap);
        if room.is_none_or(|room| delay > room) {
            return Err("deadline_exceeded");
        }
        call.step += 1;
        call.previous = Some(drawn);
        Ok(delay)
    }
}
