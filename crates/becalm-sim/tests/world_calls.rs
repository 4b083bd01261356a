//! Do the calls that ship behave in a world as anywhere else, alone and in layers?

mod worlds;

use becalm::classify::FailureKind;
use becalm::retry_on::{Failures, RetryOn, Statuses};
use becalm::{
    Budget, Bulkhead, Hedge, Operation, Policy, StopReason, Throttle, scope::Nested,
    throttle::Priority,
};
use becalm_sim::record::{Recording, Stop, total};
use becalm_sim::scenario::{
    Arrivals, Discipline, Downstream, Effect, Population, Scenario, Service, Sharing, Stale,
};
use becalm_sim::world::run;
use worlds::{
    attempts, between, clients, constant, exponential, impatient, in_ms, ms, once, secs, served,
    share, world,
};

fn stopped(recording: &Recording, reason: StopReason) -> u64 {
    let stops = &clients(recording).stops;
    stops.get(&Stop::from(reason)).copied().unwrap_or(0)
}

#[test]
fn independent_failures_multiply_the_load_by_a_geometric_sum() {
    let service = Service::new("service", Service::UNLIMITED, constant(1)).failures(0.5);
    let policy = attempts(4, ms(1));
    let recording = run(
        &world(secs(20), service, Arrivals::Constant(1000.0), policy),
        1,
    );
    let of = clients(&recording);
    // (1 - p^4) / (1 - p), and p^4 give up, of 20 000: standard deviations of 0.5 % and 2.8 %.
    assert!((of.amplification() / 1.875 - 1.0).abs() < 0.02);
    let gave_up = share(total(&of.gave_up), total(&of.calls));
    assert!((gave_up * 16.0 - 1.0).abs() < 0.1, "{gave_up}");
}

#[test]
fn attempts_of_layers_that_know_nothing_of_each_other_multiply() {
    let mut scenario = world(
        secs(12),
        broken(),
        Arrivals::Poisson(20.0),
        attempts(1, ms(1)),
    );
    scenario.populations[0].clients = 3;
    let layers = [attempts(2, ms(1)), attempts(3, ms(2)), attempts(4, ms(1))];
    for many in 0..=3 {
        let recording = run(&scenario.behind(&layers[..many]), 1);
        let reached = total(&recording.services[0].arrived);
        let product = [1, 2, 6, 24][many];
        // The run ends before some calls have made all their attempts.
        let calls = total(&clients(&recording).calls);
        assert!(calls > 200 && reached <= calls * product, "{reached}");
        assert!(reached >= (calls - 5) * product, "{reached} of {calls}");
    }
}

/// A service that fails all requests.
fn broken() -> Service {
    Service::new("service", Service::UNLIMITED, constant(1)).failures(1.0)
}

#[test]
fn a_budget_bounds_amplification_by_its_law() {
    let budget = Budget::first_tries(0.1);
    for sharing in [Sharing::PerClient, Sharing::Shared] {
        let policy = attempts(4, ms(1)).budget(budget);
        let mut scenario = world(secs(20), broken(), Arrivals::Poisson(1000.0), policy);
        scenario.populations[0].clients = 50;
        scenario.populations[0].sharing = sharing;
        let recording = run(&scenario, 1);
        let of = clients(&recording);
        let (attempts, first) = (total(&of.attempts), total(&of.first_tries));
        let budgets = if sharing == Sharing::Shared { 1 } else { 50 };
        let most = first + first / 10 + 10 * budgets;
        assert!(attempts <= most, "{attempts} {most}");
        // And is used up: each may keep a token that is not whole.
        assert!(attempts + 3 * budgets >= most, "{attempts} {most}");
        assert!(stopped(&recording, StopReason::BudgetExhausted) > 15_000);
    }
}

#[test]
fn a_policy_that_is_deployed_in_part_protects_in_part() {
    let mut scenario = world(secs(10), broken(), Arrivals::Poisson(1000.0), once());
    scenario.populations[0].clients = 10;
    scenario.populations[0].variants = vec![
        becalm_sim::scenario::Variant {
            policy: attempts(3, ms(1)),
            share: 0.3,
        },
        becalm_sim::scenario::Variant {
            policy: once(),
            share: 0.7,
        },
    ];
    let recording = run(&scenario, 1);
    // 3 of 10 clients make 3 attempts: 1.6, with a standard deviation of 0.9 %.
    let amplification = clients(&recording).amplification();
    assert!((amplification - 1.6).abs() < 0.06, "{amplification}");
}

/// A failure of a service is a 503 and what it throttles a 429; a client that gives up on an attempt has timed out.
#[test]
fn what_a_policy_lists_is_repeated_and_nothing_else() {
    let lists = RetryOn::new;
    let of_503 = || lists().statuses(Statuses::default().and(503));
    let of_429 = || lists().statuses(Statuses::default().and(429));
    let timeout = Failures::default().and(FailureKind::TimedOut);
    let slow = Service::new("service", Service::UNLIMITED, constant(500));
    for (service, lists, expected) in [
        (broken(), of_503(), 3.0),
        (broken(), of_429(), 1.0),
        (broken(), lists().failures(Failures::default()), 3.0),
        (slow.clone(), of_429(), 3.0),
        (slow.clone(), lists().failures(timeout), 3.0),
        (slow, lists().failures(Failures::default()), 1.0),
    ] {
        let policy = attempts(3, ms(1)).retry_on(lists);
        let arrivals = Arrivals::Constant(100.0);
        let scenario = impatient(secs(5), service, arrivals, policy, ms(100));
        let recording = run(&scenario, 1);
        let amplification = clients(&recording).amplification();
        assert!(
            (amplification / expected - 1.0).abs() < 0.1,
            "{amplification} {expected}"
        );
        let is_not_listed = stopped(&recording, StopReason::NotListed) > 0;
        assert_eq!(is_not_listed, expected < 2.0);
    }
}

#[test]
fn what_must_not_be_repeated_is_not() {
    let mut scenario = world(
        secs(1),
        broken(),
        Arrivals::Constant(100.0),
        attempts(4, ms(1)),
    );
    scenario.populations[0].operation = Operation::NotIdempotent;
    let recording = run(&scenario, 1);
    assert!((clients(&recording).amplification() - 1.0).abs() < 1e-9);
    assert!(stopped(&recording, StopReason::NotIdempotent) > 90);
}

#[test]
fn a_time_out_of_the_policy_comes_before_that_of_the_population() {
    let slow = || Service::new("service", Service::UNLIMITED, constant(500));
    let of = |policy| {
        let scenario = impatient(secs(10), slow(), Arrivals::Constant(10.0), policy, ms(200));
        run(&scenario, 1)
    };
    let timed_out = |recording: &Recording| total(&clients(recording).timed_out);
    // Calls at 0.1, 0.2 ... 9.9 s give up in time for the last second.
    let by_population = of(once());
    assert!((96..=99).contains(&timed_out(&by_population)));
    let by_policy = of(once().attempt_timeout(ms(600)));
    assert_eq!(timed_out(&by_policy), 0);
    assert!(total(&clients(&by_policy).succeeded) > 90);
}

#[test]
fn a_deadline_cuts_the_attempt_and_the_call() {
    let service = Service::new("service", Service::UNLIMITED, constant(500));
    let policy = attempts(100, ms(30)).deadline(ms(250));
    let scenario = impatient(secs(5), service, Arrivals::Constant(10.0), policy, ms(100));
    let recording = run(&scenario, 1);
    let of = clients(&recording);
    // 100 ms, a wait of 30 ms, 100 ms; another wait of 30 ms does not fit into 250.
    assert!((2 * total(&of.calls) - total(&of.attempts)) <= 2);
    assert!(stopped(&recording, StopReason::DeadlineExceeded) > 40);
    let alone = once().deadline(ms(250));
    let service = Service::new("service", Service::UNLIMITED, constant(500));
    let recording = run(&world(secs(5), service, Arrivals::Constant(10.0), alone), 1);
    assert!(stopped(&recording, StopReason::DeadlineExceeded) > 40);
    assert_eq!(total(&clients(&recording).succeeded), 0);
}

#[test]
fn calls_that_wait_at_a_bulkhead_go_on_when_a_place_is_free() {
    let service = Service::new("service", Service::UNLIMITED, constant(100));
    let policy = once().bulkhead(Bulkhead::calls(2).waiting(2));
    let times: Vec<_> = (0..5).map(|at| ms(100 + at)).collect();
    let recording = run(
        &world(secs(1), service, Arrivals::Trace(times.into()), policy),
        1,
    );
    let of = clients(&recording);
    assert_eq!(stopped(&recording, StopReason::BulkheadFull), 1);
    assert_eq!(total(&of.succeeded), 4);
    // The third and the fourth begin when the first and the second end.
    let last = in_ms(of.latency.quantile(1.0));
    assert!((last / 198.0 - 1.0).abs() < 0.017, "{last}");
}

#[test]
fn a_hedge_is_sent_beside_a_slow_attempt_and_the_loser_is_left() {
    let mut service = Service::new("service", Service::UNLIMITED, constant(10));
    service.time = becalm_sim::scenario::Distribution::Bimodal {
        fast: ms(10),
        slow: ms(1000),
        slow_share: 0.1,
    };
    let of = |policy, stale| {
        let service = service.clone().stale(stale);
        run(
            &world(secs(60), service, Arrivals::Constant(100.0), policy),
            1,
        )
    };
    let plain = of(once(), Stale::Served);
    let hedged = attempts(2, ms(1)).hedge(Hedge::after(ms(50)));
    let served_all = of(hedged.clone(), Stale::Served);
    let cancelled = of(hedged, Stale::Cancelled);
    for recording in [&served_all, &cancelled] {
        let of = clients(recording);
        let copies = share(total(&of.hedges), total(&of.calls));
        // Of 6000: a standard deviation of 0.4 %.
        assert!((copies - 0.1).abs() < 0.016, "{copies}");
        let slow = in_ms(of.latency.quantile(0.95));
        assert!((slow / 60.0 - 1.0).abs() < 0.017, "{slow}");
    }
    let slow = in_ms(clients(&plain).latency.quantile(0.95));
    assert!(slow > 980.0, "{slow}");
    assert!(total(&served(&served_all).stale) > 400);
    assert!(total(&served(&cancelled).dropped) > 400);
    assert_eq!(total(&served(&cancelled).stale), 0);
}

#[test]
fn a_closed_loop_waits_for_the_end_of_its_call() {
    let service = Service::new("service", Service::UNLIMITED, constant(60));
    let think = constant(40);
    let mut scenario = world(secs(20), service, Arrivals::Closed { think }, once());
    scenario.populations[0].clients = 7;
    let recording = run(&scenario, 1);
    // The n-th call of a client begins at 40 + 100 (n - 1) ms.
    assert_eq!(total(&clients(&recording).calls), 7 * 200);
    assert!(total(&clients(&recording).succeeded) >= 7 * 199);
}

#[test]
fn a_closed_loop_without_thought_comes_to_an_end_against_refusals() {
    let service = Service::new("service", 1, constant(1000)).queue(0);
    let think = constant(0);
    let mut scenario = world(ms(20), service, Arrivals::Closed { think }, once());
    scenario.populations[0].clients = 2;
    scenario.bucket = ms(1);
    let recording = run(&scenario, 1);
    let refused = total(&served(&recording).refused);
    assert!((19_000..=20_000).contains(&refused), "{refused}");
}

/// Four layers, the last of which fails all: each retries three times.
fn layers(change: impl Fn(&mut Downstream)) -> Scenario {
    let free = |name| Service::new(name, Service::UNLIMITED, constant(1));
    let calls = |name: &str| {
        let mut downstream = Downstream::new(name, attempts(4, ms(1)));
        change(&mut downstream);
        downstream
    };
    Scenario::new("layers", secs(10))
        .service(free("bottom").failures(1.0))
        .service(free("middle").calls(calls("bottom")))
        .service(free("top").calls(calls("middle")))
        .population(Population::new(
            "users",
            "top",
            Arrivals::Constant(10.0),
            attempts(4, ms(1)),
        ))
}

#[test]
fn layers_that_know_of_each_other_add_and_others_multiply() {
    let at_bottom = |change: &dyn Fn(&mut Downstream)| {
        let recording = run(&layers(change), 1);
        let arrived = total(&recording.services[0].arrived);
        // Calls under way at the end have not made all of theirs.
        let ended = total(&clients(&recording).gave_up);
        share(arrived, ended)
    };
    let multiplied = at_bottom(&|_| ());
    assert!((multiplied / 64.0 - 1.0).abs() < 0.03, "{multiplied}");
    let known = at_bottom(&|downstream| downstream.propagates = true);
    assert!((known / 10.0 - 1.0).abs() < 0.03, "{known}");
    let outermost = at_bottom(&|downstream| {
        downstream.propagates = true;
        downstream.policy = attempts(4, ms(1)).nested(Nested::Outermost);
    });
    assert!((outermost / 4.0 - 1.0).abs() < 0.03, "{outermost}");
    let allowed = at_bottom(&|downstream| {
        downstream.propagates = true;
        downstream.policy = attempts(4, ms(1)).nested(Nested::Allow);
    });
    assert!((allowed / 64.0 - 1.0).abs() < 0.03, "{allowed}");
}

#[test]
fn word_of_a_spent_budget_goes_up_where_it_is_propagated() {
    let of = |propagates| {
        let policy = attempts(4, ms(1))
            .budget(Budget::ratio(0.01))
            .nested(Nested::Allow);
        let recording = run(
            &layers(|downstream| {
                downstream.propagates = propagates;
                downstream.policy = policy.clone();
            }),
            1,
        );
        (
            stopped(&recording, StopReason::BudgetExhausted),
            clients(&recording).amplification(),
        )
    };
    let (told, amplification) = of(true);
    // The first fifteen words are not heeded.
    assert!(told > 80 && amplification < 1.2, "{told} {amplification}");
    let (told, amplification) = of(false);
    assert!(told == 0 && amplification > 3.9, "{told} {amplification}");
}

#[test]
fn the_time_that_a_caller_has_left_bounds_the_calls_below() {
    let below = |propagates| {
        let mut downstream = Downstream::new("slow", attempts(4, ms(1)).attempt_timeout(ms(300)));
        downstream.propagates = propagates;
        let front = Service::new("front", Service::UNLIMITED, constant(1)).calls(downstream);
        let slow = Service::new("slow", Service::UNLIMITED, constant(1000)).stale(Stale::Cancelled);
        let scenario =
            impatient(secs(10), front, Arrivals::Constant(10.0), once(), ms(100)).service(slow);
        let recording = run(&scenario, 1);
        total(&recording.services[1].arrived)
    };
    // About 100 calls: each makes one attempt in its time, or four long after it.
    let (bounded, unbounded) = (below(true), below(false));
    assert!((97..=100).contains(&bounded), "{bounded}");
    assert!(unbounded > 350, "{unbounded}");
}

#[test]
fn a_request_waits_for_all_its_calls_in_turn_or_at_once() {
    let latency = |fan_out, at_once| {
        let mut downstream = Downstream::new("back", once());
        downstream.fan_out = fan_out;
        downstream.at_once = at_once;
        let front = Service::new("front", Service::UNLIMITED, constant(5)).calls(downstream);
        let back = Service::new("back", Service::UNLIMITED, constant(10));
        let scenario = world(secs(5), front, Arrivals::Constant(10.0), once()).service(back);
        let recording = run(&scenario, 1);
        let arrived = total(&recording.services[1].arrived);
        assert!(arrived > 48 * u64::from(fan_out), "{arrived}");
        in_ms(clients(&recording).latency.quantile(0.5))
    };
    for (fan_out, at_once, right) in [(1, false, 15.0), (5, false, 55.0), (5, true, 15.0)] {
        let got = latency(fan_out, at_once);
        assert!((got / right - 1.0).abs() < 0.017, "{fan_out}: {got}");
    }
}

#[test]
fn a_worker_is_held_while_its_calls_last() {
    let front = Service::new("front", 2, constant(0)).calls(Downstream::new("back", once()));
    let back = Service::new("back", Service::UNLIMITED, constant(100));
    let scenario = world(secs(10), front, Arrivals::Constant(50.0), once()).service(back);
    let recording = run(&scenario, 1);
    // 2 workers of 100 ms: 20 a second.
    let served = total(&served(&recording).served);
    assert!((195..=200).contains(&served), "{served}");
}

#[test]
fn what_is_cancelled_above_is_cancelled_below() {
    let front = Service::new("front", 10, constant(1))
        .stale(Stale::Cancelled)
        .calls(Downstream::new("back", once()));
    let mut back = Service::new("back", 1, constant(50)).stale(Stale::Cancelled);
    // In turn it would only begin what is too late.
    back.discipline = Discipline::Lifo;
    let scenario =
        impatient(secs(10), front, Arrivals::Constant(100.0), once(), ms(80)).service(back);
    let recording = run(&scenario, 1);
    for of in &recording.services {
        assert_eq!(total(&of.stale), 0);
        assert!(total(&of.dropped) > 500, "{:?}", total(&of.dropped));
    }
    // The bottleneck never works for nobody.
    let [front, back] = &recording.services[..] else {
        panic!("two services");
    };
    assert!(total(&back.served) - total(&front.served) <= 1);
    assert!(total(&front.served) > 100);
}

/// A gateway whose throttle sees pages, and a spike of fetches ahead of them; how many pages came.
fn pages_in_a_spike(page: Priority, ahead: Priority) -> (Recording, f64) {
    let throttled = once().throttle(Throttle::accepts(1.2).within(secs(10)));
    let gateway = Service::new("gateway", Service::UNLIMITED, constant(1))
        .calls(Downstream::new("service", throttled));
    let service = Service::new("service", 10, exponential(10)).queue(10);
    let mut scenario = Scenario::new("priority", secs(30))
        .service(gateway)
        .service(service)
        .trigger(worlds::trigger(
            secs(10),
            secs(15),
            Effect::Load {
                population: worlds::named("ahead"),
                factor: 12.0,
            },
        ));
    for (name, priority, rate) in [("page", page, 500.0), ("ahead", ahead, 200.0)] {
        let population = Population::new(name, "gateway", Arrivals::Poisson(rate), once());
        scenario = scenario.population(population.priority(priority));
    }
    let recording = run(&scenario, 1);
    let pages = clients(&recording);
    let came = between(&recording, &pages.succeeded_of, secs(15), secs(25));
    let came = share(came, between(&recording, &pages.calls, secs(15), secs(25)));
    (recording, came)
}

#[test]
fn the_priority_of_a_request_is_handed_down_and_the_less_important_is_shed_first() {
    let (told, pages) = pages_in_a_spike(Priority::CriticalPlus, Priority::Sheddable);
    let (untold, as_any) = pages_in_a_spike(Priority::Critical, Priority::Critical);
    assert!(told != untold);
    assert!(pages > as_any + 0.1, "{pages} {as_any}");
}

/// 700 calls a second to 1000/s of capacity, and a hang of two seconds after five.
fn storm(policy: Policy) -> Recording {
    let service = Service::new("service", 10, exponential(10)).queue(1000);
    let scenario = impatient(secs(30), service, Arrivals::Poisson(700.0), policy, ms(250)).trigger(
        worlds::trigger(
            secs(5),
            secs(2),
            Effect::Hang {
                service: worlds::named("service"),
            },
        ),
    );
    run(&scenario, 1)
}

#[test]
fn a_storm_outlives_its_trigger_without_a_budget_and_not_with_one() {
    let policy = Policy::exponential(ms(50)).attempts(4);
    let well = |recording: &Recording| {
        let of = clients(recording);
        let from = secs(25);
        let calls = between(recording, &of.calls, from, secs(29));
        share(between(recording, &of.succeeded_of, from, secs(29)), calls)
    };
    let without = storm(policy.clone().budget(Budget::None));
    assert!(well(&without) < 0.05, "{}", well(&without));
    let with = storm(policy.budget(Budget::ratio(0.1)));
    assert!(well(&with) > 0.99, "{}", well(&with));
}
