//! What does a policy's protection come to? A sentence for each.

use std::fmt::Write as _;
use std::time::Duration;

use becalm::breaker::{Refuses, Span, Trip};
use becalm::budget::WhenSpent;
use becalm::bulkhead::Limit;
use becalm::hedge::HedgeDelay;
use becalm::support::Human;
use becalm::{Breaker, Bulkhead, Hedge, Policy, Throttle};
use becalm_report::format::{plain, seconds};
use becalm_sim::forecast::{
    Copies, Earner, Grant, Opening, Places, Protection, Rate, Reserve, Throttled,
};

/// In the order in which a call meets them.
pub fn sentences(
    policy: &Policy,
    protection: &Protection,
    reserved: Option<&Reserve>,
) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(policy.throttle.as_ref().map(throttle));
    sentences.extend(protection.rate.as_ref().map(rate));
    sentences.extend(protection.budget.iter().map(budget));
    sentences.extend(reserved.map(reserve));
    if let (WhenSpent::Wait, Some(deadline)) = (policy.when_spent, policy.deadline) {
        sentences.push(format!(
            "spent: a call that finds no token asks again after each of its draws, makes no attempt meanwhile, and \
             stops before the deadline of {}",
            Human(deadline)
        ));
    }
    if let (Some(of), Some(copies)) = (&policy.hedge, &protection.hedge) {
        sentences.push(hedge(of, copies, protection.budget.is_empty()));
    }
    if let (Some(of), Some(places)) = (&policy.bulkhead, &protection.bulkhead) {
        sentences.push(bulkhead(of, places, policy.attempt_timeout));
    }
    if let (Some(of), Some(opening)) = (&policy.breaker, &protection.breaker) {
        sentences.push(breaker(of, opening));
    }
    sentences
}

fn throttle(throttle: &Throttle) -> String {
    let Throttle { k, window, max, .. } = throttle;
    format!(
        "throttle: first tries are shed while fewer than {} of them are accepted over {}, at \
         most {}; a service that accepts C a second is sent about {k} C",
        percent(1.0 / k),
        Human(*window),
        percent(*max)
    )
}

fn rate(rate: &Rate) -> String {
    let wait = match rate.max_wait {
        Some(wait) => format!("waits at most {}, or is refused", Human(wait)),
        None => "waits for as long as its deadline allows".into(),
    };
    format!(
        "rate: no bound until the first throttled answer; then 70% of the rate that was \
         measured, and up again; an attempt {wait}"
    )
}

fn budget(grant: &Grant) -> String {
    let Grant { kind, burst, .. } = grant;
    let share = percent(grant.share);
    let of = match grant.of {
        Earner::Time => return format!("budget {kind}: at most {burst} retries in any minute"),
        Earner::CallsUnderWay => {
            return format!(
                "budget {kind}: retries in progress are at most {share} of the calls in progress, or \
                 {burst} if that is more"
            );
        }
        Earner::Successes => "successes",
        Earner::CleanSuccesses => "successes without a retry",
        Earner::FirstTries => "first tries",
    };
    let at_once = match grant.burst_seconds {
        Some(seconds) => {
            format!("{share} of the {of} of {seconds} s, and at least {burst}, at once")
        }
        None => format!("{burst} retries at once"),
    };
    let mut sentence = format!("budget {kind}: {at_once}, then {share} of {of}");
    if grant.per_minute > 0.0 {
        let (number, time) = match grant.per_minute {
            ..1.0 => (grant.per_minute * 60.0, "an hour"),
            ..60.0 => (grant.per_minute, "a minute"),
            _ => (grant.per_minute / 60.0, "a second"),
        };
        let number = (number * 100.0).round() / 100.0;
        let _ = write!(sentence, " and {number} {time}");
    }
    if let Some(Throttled { burst, share }) = grant.throttled {
        let share = percent(share);
        let _ = write!(sentence, "; when throttled {burst}, then {share}");
    }
    sentence
}

fn reserve(reserve: &Reserve) -> String {
    let [moderate, busy, full] = reserve.late.map(|it| seconds(it.by.as_secs_f64()));
    format!(
        "reserve: {} retries at {} calls a second (--load); a service that gets these calls alone works them off \
         after an outage in {moderate}, {busy}, {full} on average, at 70%, 90%, 95% of its capacity",
        reserve.retries.floor(),
        plain(reserve.calls_per_second),
    )
}

fn hedge(hedge: &Hedge, of: &Copies, is_unbounded: bool) -> String {
    if of.copies == 0 {
        return "hedge: none, as a copy is an attempt and attempts is 1".into();
    }
    let delay = match hedge.delay {
        HedgeDelay::Quantile(it) => {
            format!(
                "when it is slower than {} are just now",
                percent(it.quantile)
            )
        }
        HedgeDelay::After(delay) => format!("after {}", Human(delay)),
        _ => "when it is due".into(),
    };
    let bound = match (of.is_cut, is_unbounded) {
        (true, _) => ", which is what the budget grants",
        (false, true) => ", which no budget bounds",
        (false, false) => "",
    };
    format!(
        "hedge: {} beside an attempt, {delay}; at most {} more load{bound}, and an attempt \
         less to retry with",
        counted(of.copies, "copy", "copies"),
        percent(of.load_on_top)
    )
}

fn bulkhead(bulkhead: &Bulkhead, of: &Places, timeout: Option<Duration>) -> String {
    let learned = |initial: u32, min: u32, max: u32, from: &str| {
        format!("{initial} attempts at once, from {min} to {max} as {from} shows")
    };
    let limit = match bulkhead.limit {
        Limit::Aimd(it) => learned(it.initial, it.min, it.max, "failures"),
        Limit::Gradient(it) => learned(it.initial, it.min, it.max, "latency"),
        Limit::Fixed(calls) => {
            format!("at most {} at once", counted(calls, "attempt", "attempts"))
        }
        _ => "a bound on the attempts at once".into(),
    };
    let rest = match (bulkhead.waiting, bulkhead.max_wait) {
        (0, _) => "one more is refused".into(),
        (waiting, longest) => {
            let longest = longest.map(|it| format!(", for at most {}", Human(it)));
            format!(
                "{} for a place{}",
                counted(waiting, "call that waits", "calls that wait"),
                longest.unwrap_or_default()
            )
        }
    };
    let mut sentence = format!("bulkhead: {limit}, and {rest}");
    if let (Some(worst), Some(timeout)) = (of.worst_per_second, timeout) {
        let (worst, timeout) = (plain(worst), Human(timeout));
        let _ = write!(
            sentence,
            "; {worst} a second if every one takes its {timeout}"
        );
    }
    sentence
}

fn breaker(breaker: &Breaker, of: &Opening) -> String {
    let when = match breaker.trip {
        Trip::Consecutive(failures) => format!(
            "in a plain outage it opens with {}, retries included",
            counted(failures, "failure", "failures in a row")
        ),
        Trip::Share {
            share,
            window: Span::Calls(_),
        } => format!(
            "in a plain outage it opens when {} of the window have failed, {} attempts from a \
             healthy time on",
            percent(share),
            of.after_failures
        ),
        Trip::Share {
            share,
            window: Span::Time(window),
        } => format!(
            "in a plain outage it opens after {} at a steady rate ({} of {}), sooner where \
             retries add to it, and not below {} attempts",
            Human(window.mul_f64(share)),
            percent(share),
            Human(window),
            breaker.min_calls,
        ),
        // Kinds to come are named as the flag names them.
        _ => format!("it opens at {}", of.text),
    };
    let refused = match breaker.refuses {
        Refuses::Retries => "; meanwhile it refuses retries alone, and first tries pass",
        _ => "",
    };
    format!(
        "breaker: {when}; for {} to {}, up to {} when it opens again and again; then {} at a \
         time, and {} close it{refused}",
        Human(of.open_least),
        Human(of.open_most),
        Human(of.open_again_most),
        counted(of.probes, "probe", "probes"),
        counted(of.successes, "that succeeds", "that succeed"),
    )
}

/// A share in percent, to a tenth where it needs one.
fn percent(share: f64) -> String {
    let tenths = (share * 1_000.0).round() / 10.0;
    format!("{tenths}%")
}

/// `1 copy`, `2 copies`: a count with its noun.
fn counted(count: u32, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sentence that a policy has with this and nothing else.
    fn only(policy: &Policy, begins: &str) -> String {
        let protection = Protection::of(policy);
        let reserve = Reserve::of(&protection.budget, 1_000.0);
        let all = sentences(policy, &protection, reserve.as_ref());
        let mut own = all.iter().filter(|it| it.starts_with(begins));
        let found = own.next().unwrap_or_else(|| panic!("{begins}: {all:?}"));
        found.clone()
    }

    #[test]
    fn every_trip_tells_when_it_opens_and_for_how_long() {
        for (breaker, sentence) in [
            (
                "consecutive:5,open:30s",
                "breaker: in a plain outage it opens with 5 failures in a row, retries included; \
                 for 15s to 30s, up to 1m when it opens again and again; then 1 probe at a time, \
                 and 2 that succeed close it",
            ),
            (
                "share:0.5,calls:100,min:20,open:10s,jitter:0,probes:3,successes:1",
                "breaker: in a plain outage it opens when 50% of the window have failed, 50 \
                 attempts from a healthy time on; for 10s to 10s, up to 1m when it opens again \
                 and again; then 3 probes at a time, and 1 that succeeds close it",
            ),
            (
                "consecutive:5,refuses:retries",
                "breaker: in a plain outage it opens with 5 failures in a row, retries included; \
                 for 2.5s to 5s, up to 1m when it opens again and again; then 1 probe at a time, \
                 and 2 that succeed close it; meanwhile it refuses retries alone, and first tries \
                 pass",
            ),
            (
                "share:0.5,within:10s,min:20",
                "breaker: in a plain outage it opens after 5s at a steady rate (50% of 10s), \
                 sooner where retries add to it, and not below 20 attempts; for 2.5s to 5s, up to \
                 1m when it opens again and again; then 1 probe at a time, and 2 that succeed \
                 close it",
            ),
        ] {
            let breaker: Breaker = breaker.parse().unwrap();
            let policy = Policy::default().breaker(breaker);
            assert_eq!(only(&policy, "breaker"), sentence);
        }
    }

    #[test]
    fn a_budget_that_successes_feed_tells_what_it_holds_and_what_that_delays() {
        let sentence = "reserve: 500 retries at 1 000 calls a second (--load); a service that gets these calls alone works \
                        them off after an outage in 1.17s, 4.5s, 9.5s on average, at 70%, 90%, 95% of its capacity";
        assert_eq!(only(&Policy::default(), "reserve"), sentence);
        let first_tries =
            Policy::default().budget("first-tries:0.1".parse::<becalm::Budget>().unwrap());
        let all = sentences(&first_tries, &Protection::of(&first_tries), None);
        assert!(!all.iter().any(|it| it.starts_with("reserve")), "{all:?}");
    }

    #[test]
    fn every_kind_tells_what_it_grants_at_once_and_for_good() {
        for (budget, sentence) in [
            (
                "ratio:0.1,burst:10,floor:10/h",
                "budget ratio: 10 retries at once, then 10% of successes and 10 an hour",
            ),
            (
                "ratio:0.1,burst:10,floor:2",
                "budget ratio: 10 retries at once, then 10% of successes and 2 a second",
            ),
            (
                "ratio:0.1,burst:5s,min:20,floor:0",
                "budget ratio: 10% of the successes of 5 s, and at least 20, at once, then 10% of successes",
            ),
            (
                "first-tries:0.1,burst:10",
                "budget first-tries: 10 retries at once, then 10% of first tries",
            ),
            (
                "tokens:500,cost:14,throttled:5,refund:last,clean:1",
                "budget tokens: 35 retries at once, then 7.1% of successes without a retry; when \
                 throttled 100, then 20%",
            ),
            (
                "grpc:10,ratio:0.1",
                "budget grpc: 4 retries at once, then 10% of successes",
            ),
            (
                "window:0.2,ttl:10s,floor:10",
                "budget window: 100 retries at once, then 20% of first tries and 10 a second",
            ),
            (
                "concurrency:0.2,floor:3",
                "budget concurrency: retries in progress are at most 20% of the calls in progress, or \
                 3 if that is more",
            ),
            (
                "per-minute:60",
                "budget per-minute: at most 60 retries in any minute",
            ),
        ] {
            let budget: becalm::Budget = budget.parse().unwrap();
            let policy = Policy::default().budget(budget);
            assert_eq!(only(&policy, "budget"), sentence);
        }
    }

    #[test]
    fn places_and_the_worst_rate_are_told() {
        let second = Duration::from_secs(1);
        for (bulkhead, timeout, sentence) in [
            (
                "calls:50,waiting:10",
                Some(2 * second),
                "bulkhead: at most 50 attempts at once, and 10 calls that wait for a place; 25 a \
                 second if every one takes its 2s",
            ),
            (
                "calls:1",
                None,
                "bulkhead: at most 1 attempt at once, and one more is refused",
            ),
            (
                "gradient:20,min:1,max:200,waiting:1,max-wait:1s",
                None,
                "bulkhead: 20 attempts at once, from 1 to 200 as latency shows, and 1 call that \
                 waits for a place, for at most 1s",
            ),
        ] {
            let bulkhead: Bulkhead = bulkhead.parse().unwrap();
            let mut policy = Policy::default().bulkhead(bulkhead);
            policy.attempt_timeout = timeout;
            assert_eq!(only(&policy, "bulkhead"), sentence);
        }
    }

    #[test]
    fn a_hedge_says_its_copies_and_who_bounds_them() {
        for (hedge, attempts, budget, words) in [
            ("p95,copies:1", 4, "ratio:0.1", "at most 5% more load, and"),
            ("p95,copies:2", 4, "ratio:0.1", "2 copies"),
            ("p90,copies:2", 4, "ratio:0.1", "what the budget grants"),
            ("after:50ms,copies:1", 4, "ratio:0.1", "after 50ms"),
            ("after:50ms,copies:1", 4, "none", "no budget bounds"),
            ("p95,copies:1", 1, "ratio:0.1", "attempts is 1"),
        ] {
            let hedge: Hedge = hedge.parse().unwrap();
            let budget: becalm::Budget = budget.parse().unwrap();
            let policy = Policy::default().attempts(attempts);
            let told = only(&policy.budget(budget).hedge(hedge), "hedge");
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn guards_before_a_first_try_are_told_with_their_own_figures() {
        let policy = Policy::default().throttle(Throttle::accepts(4.0));
        let told = only(&policy, "throttle");
        let words = "fewer than 25% of them are accepted over 2m, at most 90%";
        assert!(told.contains(words), "{told}");
        let rate = becalm::rate::AdaptiveRate::cubic().max_wait(Duration::from_secs(5));
        let told = only(&Policy::default().rate(rate), "rate");
        assert!(told.contains("at most 5s, or is refused"), "{told}");
    }
}
