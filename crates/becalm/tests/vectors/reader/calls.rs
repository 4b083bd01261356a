//! Again, and when? Or not, and why?

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::budget::Budget;
use super::policy::{Draws, Policy};
use super::{same, text, whole};

struct Client {
    policy: Policy,
    tick: u64,
    budget: Budget,
    waiting: u64,
    disabled: bool,
    now: u64,
    calls: BTreeMap<u64, Call>,
}

struct Call {
    attempts: u64,
    deadline: Option<u64>,
    repeatable: bool,
    replayable: bool,
    forbidden: bool,
    runs_once: bool,
    attempt: u64,
    step: u64,
    previous: Option<u64>,
    waits: bool,
    /// What its last retry has cost.
    paid: Option<u64>,
}

pub fn replay(line: &Value) -> Result<(), String> {
    let policy = Policy::of(&line["policy"]);
    let mut client = Client {
        budget: Budget::of(&policy.budget),
        policy,
        tick: whole(&line["tick"]).expect("a tick"),
        waiting: 0,
        disabled: false,
        now: 0,
        calls: BTreeMap::new(),
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
        same("then", &event["then"], &then)?;
        same("left", &event["left"], &self.budget.left())?;
        same("waiting", event["waiting"].as_u64(), Some(self.waiting))?;
        same("draws that nobody asked for", draws.0.len(), 0)
    }

    fn happen(&mut self, event: &Value, draws: &mut Draws) -> Value {
        let what = text(&event["do"]);
        if let "disable_retries" | "enable_retries" = what {
            self.disabled = what == "disable_retries";
            return Value::Null;
        }
        let number = event["call"].as_u64().expect("a call");
        if what == "begin" {
            let call = self.begin(event);
            let deadline = json!({ "deadline": call.deadline });
            self.calls.insert(number, call);
            return deadline;
        }
        let mut call = self.calls.remove(&number).expect("it has begun");
        let ended = match what {
            "start" => self.start(&mut call).map(Some),
            "fail" => self.fail(&mut call, &event["failure"], draws).map(Some),
            "succeed" => {
                self.budget.success(call.paid);
                return Value::Null;
            }
            "drop" => {
                self.leave(&mut call);
                return Value::Null;
            }
            "body_is_consumed" => {
                call.replayable = false;
                Ok(None)
            }
            "forbid_retry" => {
                call.forbidden = true;
                Ok(None)
            }
            other => panic!("{other:?} is no event"),
        };
        match ended {
            Ok(then) => {
                self.calls.insert(number, call);
                then.unwrap_or(Value::Null)
            }
            Err(reason) => json!({ "stop": reason }),
        }
    }

    fn begin(&self, event: &Value) -> Call {
        let own = whole(&event["deadline"]).or(self.policy.deadline);
        let attempts = match &event["attempts"] {
            Value::Null => self.policy.attempts,
            attempts => attempts.as_u64().unwrap_or(u64::MAX),
        };
        let above = text(&event["above"]);
        Call {
            attempts,
            deadline: own.map(|own| self.now + own),
            repeatable: text(&event["operation"]) != "not_idempotent",
            replayable: true,
            forbidden: false,
            runs_once: match self.policy.nested.as_str() {
                "nearest" => above == "repeats",
                "outermost" => above != "nothing",
                _ => false,
            },
            attempt: 0,
            step: 0,
            previous: None,
            waits: false,
            paid: None,
        }
    }

    /// The wait is over without an attempt: its token and its place come back.
    fn leave(&mut self, call: &mut Call) {
        if std::mem::take(&mut call.waits) {
            self.waiting -= 1;
            self.budget.give_back(call.paid.take().unwrap_or(0));
        }
    }

    fn start(&mut self, call: &mut Call) -> Result<Value, &'static str> {
        let refused = if call.attempt > 0 && self.disabled {
            Some("attempts_exhausted")
        } else if call.deadline.is_some_and(|deadline| self.now >= deadline) {
            Some("deadline_exceeded")
        } else {
            None
        };
        if let Some(reason) = refused {
            self.leave(call);
            return Err(reason);
        }
        self.waiting -= u64::from(std::mem::take(&mut call.waits));
        if call.attempt == 0 {
            self.budget.first_try();
        }
        call.attempt += 1;
        call.forbidden = false;
        let remaining = call.deadline.map(|deadline| deadline - self.now);
        Ok(json!({ "attempt": call.attempt, "remaining": remaining }))
    }

    fn fail(
        &mut self,
        call: &mut Call,
        failure: &Value,
        draws: &mut Draws,
    ) -> Result<Value, &'static str> {
        let (class, hint) = (text(&failure["class"]), &failure["hint"]);
        let attempts = if self.disabled { 1 } else { call.attempts };
        if class == "permanent" {
            return Err("permanent");
        }
        if hint == "stop" || call.forbidden {
            return Err("do_not_retry");
        }
        if !call.repeatable && failure["effect"] != "unsent" {
            return Err("not_idempotent");
        }
        if !call.replayable {
            return Err("body_not_replayable");
        }
        if call.runs_once {
            return Err("nested_retry");
        }
        if call.attempt >= attempts {
            return Err("attempts_exhausted");
        }
        let throttled = class == "throttled";
        let delay = self.delay(call, throttled, hint, draws)?;
        if self.waiting >= self.policy.max_waiting {
            return Err("too_many_waiting");
        }
        call.paid = Some(self.budget.take(throttled).ok_or("budget_exhausted")?);
        call.waits = true;
        self.waiting += 1;
        Ok(json!({ "wait": delay }))
    }

    fn delay(
        &self,
        call: &mut Call,
        throttled: bool,
        hint: &Value,
        draws: &mut Draws,
    ) -> Result<u64, &'static str> {
        let (policy, tick) = (&self.policy, self.tick);
        let base = if throttled {
            policy.throttled_base
        } else {
            policy.base
        };
        // A wait ends before the deadline, not at it.
        let room = call.deadline.map_or(Some(u64::MAX), |deadline| {
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
