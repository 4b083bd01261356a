//! Does a fleet keep its law when exchanges are lost, repeated and overtaken, when the store is emptied or away, and when
//! processes crash?

use std::time::Duration;

use becalm::budget::RetryBudget;
use becalm::budget::fleet::{Alone, Answer, Bucket, Exchange, Exchanges, Fleet, FleetBudget, Step};
use becalm::rng::{Random, SplitMix64};
use becalm::{Budget, Failure, time::Instant};
use proptest::prelude::*;

/// How often things go wrong, from 0 to 1: of exchanges, and of processes and stores in a second.
#[derive(Debug, Clone)]
struct Weather {
    seed: u64,
    processes: usize,
    burst: f64,
    lost: f64,
    repeated: f64,
    /// The longest time of a message, in ticks.
    delay: u64,
    crashes: f64,
    flushes: f64,
    /// How often the store goes away for some seconds.
    outages: f64,
}

fn any_weather() -> impl Strategy<Value = Weather> {
    let rare = || prop_oneof![2 => Just(0.0), 1 => 0.0..0.3_f64];
    let often = || prop_oneof![1 => Just(0.0), 2 => 0.0..0.7_f64];
    let sizes = (any::<u64>(), 1..8_usize, 1.0..40.0_f64, 0..25_u64);
    (sizes, often(), often(), rare(), rare(), rare()).prop_map(
        |((seed, processes, burst, delay), lost, repeated, crashes, flushes, outages)| Weather {
            seed,
            processes,
            burst,
            lost,
            repeated,
            delay,
            crashes,
            flushes,
            outages,
        },
    )
}

const TICK: Duration = Duration::from_millis(20);
const TICKS_PER_SECOND: u64 = 50;
const TICKS: u64 = 30 * TICKS_PER_SECOND;
const RATIO: f64 = 0.1;

struct Process {
    budget: FleetBudget,
    exchanges: Exchanges,
    life: u32,
    /// Calls that end well, and that fail, in a tick; both change now and then.
    well: f64,
    badly: f64,
}

/// A message on its way.
#[derive(Debug, Clone, Copy)]
struct Message {
    due: u64,
    process: usize,
    life: u32,
    exchange: Exchange,
    answer: Option<Answer>,
}

/// What happened in each tick.
#[derive(Debug, Clone, Copy, Default)]
struct Tick {
    earned: u32,
    granted: u32,
    births: u32,
    flushes: u32,
}

struct World {
    fleet: Fleet,
    random: SplitMix64,
    processes: Vec<Process>,
    bucket: Bucket,
    messages: Vec<Message>,
    is_away: bool,
}

impl World {
    fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn born(&mut self, now: Instant, life: u32) -> Process {
        let budget = FleetBudget::new(self.fleet).expect("a valid fleet");
        let exchanges = budget.exchanges(SplitMix64::new(self.random.next_u64()), now);
        Process {
            budget,
            exchanges,
            life,
            well: 0.0,
            badly: 0.0,
        }
    }

    /// Sends a message on its way, once, several times or never.
    fn send(&mut self, weather: &Weather, now: u64, message: Message) {
        if self.chance(weather.lost) {
            return;
        }
        loop {
            let late = (self.unit() * (weather.delay + 1) as f64) as u64;
            let due = now + late;
            self.messages.push(Message { due, ..message });
            if !self.chance(weather.repeated) {
                return;
            }
        }
    }

    fn deliver(&mut self, weather: &Weather, now: u64) {
        let at = Instant::ZERO.after(TICK * u32::try_from(now).expect("few"));
        loop {
            // Of those that are due any may be the first.
            let due = |message: &Message| message.due <= now;
            let Some(first) = self.messages.iter().position(due) else {
                return;
            };
            let message = self.messages.swap_remove(first);
            match message.answer {
                None if self.is_away => {}
                None => {
                    let micros = at.as_nanos() / 1000;
                    let answer = self.bucket.exchange(&self.fleet, micros, &message.exchange);
                    let answer = Some(answer);
                    self.send(weather, now, Message { answer, ..message });
                }
                Some(answer) => {
                    let process = &mut self.processes[message.process];
                    if process.life == message.life {
                        let sequence = message.exchange.sequence;
                        process
                            .exchanges
                            .answered(&process.budget, at, sequence, answer);
                    }
                }
            }
        }
    }

    fn tick(&mut self, weather: &Weather, now: u64) -> Tick {
        let at = Instant::ZERO.after(TICK * u32::try_from(now).expect("few"));
        let mut tick = Tick::default();
        let in_tick = |rate: f64| rate / TICKS_PER_SECOND as f64;
        if self.chance(in_tick(weather.flushes)) {
            self.bucket = Bucket::default();
            tick.flushes += 1;
        }
        if self.chance(in_tick(if self.is_away { 0.3 } else { weather.outages })) {
            self.is_away = !self.is_away;
        }
        self.deliver(weather, now);
        let is_new = now == 0 || self.chance(in_tick(0.3));
        for index in 0..self.processes.len() {
            if self.chance(in_tick(weather.crashes)) {
                let life = self.processes[index].life + 1;
                self.processes[index] = self.born(at, life);
                tick.births += 1;
            }
            if is_new || self.chance(in_tick(0.3)) {
                let (well, badly) = (self.unit(), self.unit());
                let process = &mut self.processes[index];
                process.well = if well < 0.3 { 0.0 } else { well * 10.0 };
                process.badly = if badly < 0.3 { 0.0 } else { badly * 10.0 };
            }
            let [well, badly] = [self.unit(), self.unit()];
            let process = &mut self.processes[index];
            for _ in 0..(process.well + well) as u32 {
                process.budget.deposit(at);
                tick.earned += 1;
            }
            for _ in 0..(process.badly + badly) as u32 {
                let paid = process.budget.withdraw(at, &Failure::transient());
                tick.granted += u32::from(paid.is_some());
            }
            while let Step::Send(exchange) = {
                let process = &mut self.processes[index];
                process.exchanges.poll(&process.budget, at)
            } {
                let message = Message {
                    due: 0,
                    process: index,
                    life: self.processes[index].life,
                    exchange,
                    answer: None,
                };
                self.send(weather, now, message);
            }
        }
        tick
    }
}

fn history(weather: &Weather) -> Vec<Tick> {
    let budget = Budget::ratio(RATIO).burst(weather.burst);
    let mut world = World {
        fleet: Fleet::new(budget.floor_per_second(0.0)),
        random: SplitMix64::new(weather.seed),
        processes: Vec::new(),
        bucket: Bucket::default(),
        messages: Vec::new(),
        is_away: false,
    };
    for _ in 0..weather.processes {
        let process = world.born(Instant::ZERO, 0);
        world.processes.push(process);
    }
    (0..TICKS).map(|now| world.tick(weather, now)).collect()
}

/// The most that was earned in so many ticks, in tokens.
fn share(history: &[Tick], ticks: usize) -> f64 {
    let earned = |window: &[Tick]| {
        window
            .iter()
            .map(|tick| f64::from(tick.earned))
            .sum::<f64>()
    };
    RATIO * history.windows(ticks).map(earned).fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn over_any_window_a_fleet_retries_no_more_than_its_law(weather in any_weather()) {
        let history = history(&weather);
        // The longest time between two exchanges: one that is lost is given up after two periods.
        let between = if weather.lost > 0.0 { 100 } else { 55 };
        let share = share(&history, between + 2 * usize::try_from(weather.delay).unwrap());
        let constant = weather.burst.max(1.0 + RATIO) + weather.processes as f64 + share;
        let mut worst = f64::MIN;
        let mut here = 0.0_f64;
        for tick in &history {
            let allowed = RATIO * f64::from(tick.earned)
                + f64::from(tick.births)
                + weather.burst * 0.1 * f64::from(tick.flushes);
            here = (here + f64::from(tick.granted) - allowed).max(0.0);
            worst = worst.max(here);
        }
        prop_assert!(worst <= constant + 1e-6, "{worst} > {constant}");
    }
}

/// One process on its own, at milliseconds of its clock.
struct Lone {
    fleet: Fleet,
    budget: FleetBudget,
    exchanges: Exchanges,
    bucket: Bucket,
}

impl Lone {
    fn of(fleet: Fleet) -> Self {
        let budget = FleetBudget::new(fleet).expect("a valid fleet");
        let exchanges = budget.exchanges(SplitMix64::new(7), Instant::ZERO);
        Self {
            fleet,
            budget,
            exchanges,
            bucket: Bucket::default(),
        }
    }

    fn poll(&mut self, millis: u64) -> Option<Exchange> {
        match self.exchanges.poll(&self.budget, at(millis)) {
            Step::Send(exchange) => Some(exchange),
            _ => None,
        }
    }

    /// Exchanges with a store that is a thousand others' too, and tells what was exchanged.
    fn exchange(&mut self, millis: u64) -> Option<(Exchange, Answer)> {
        let exchange = self.poll(millis)?;
        let answer = self.bucket.exchange(&self.fleet, millis * 1000, &exchange);
        let sequence = exchange.sequence;
        self.exchanges
            .answered(&self.budget, at(millis), sequence, answer);
        Some((exchange, answer))
    }

    fn retries(&self, wanted: u32) -> u32 {
        let granted = |_: &u32| self.budget.withdraw(Instant::ZERO, &Failure::transient());
        let granted = (0..wanted).filter(|it| granted(it).is_some());
        u32::try_from(granted.count()).expect("few")
    }

    fn succeed(&self, times: u32) {
        for _ in 0..times {
            self.budget.deposit(Instant::ZERO);
        }
    }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO.after(Duration::from_millis(millis))
}

fn hundred() -> Fleet {
    Fleet::new(Budget::ratio(0.1).burst(100.0).floor_per_second(0.0))
}

/// Equal to the last digit: nothing but whole tokens and tenths is added.
fn assert_tokens(bucket: &Bucket, expected: f64) {
    assert!((bucket.tokens() - expected).abs() < 1e-9, "{bucket:?}");
}

#[test]
fn what_is_exchanged_twice_is_counted_once_and_what_was_overtaken_not_at_all() {
    let fleet = hundred();
    let mut lone = Lone::of(fleet);
    lone.succeed(500);
    lone.retries(20);
    let first = lone.poll(1000).expect("it is due");
    assert_eq!((first.earned, first.returned), (500, 0));
    let mut bucket = Bucket::default();
    let answer = bucket.exchange(&fleet, 17, &first);
    assert_tokens(&bucket, 10.0 + 50.0 - f64::from(answer.granted));
    assert!(
        answer.granted > 0 && answer.granted == first.ask,
        "{first:?} {answer:?}"
    );
    let again = bucket.exchange(&fleet, 18, &first);
    assert_eq!((again.granted, again.instances), (answer.granted, 1));
    assert_tokens(&bucket, 60.0 - f64::from(answer.granted));

    let second = lone.poll(3100).expect("the first was not answered");
    assert_eq!(second.earned, 0, "it was reported, answered or not");
    let after = bucket.exchange(&fleet, 19, &second);
    let overtaken = bucket.exchange(&fleet, 20, &first);
    assert_eq!(overtaken.granted, 0);
    let again = bucket.exchange(&fleet, 21, &second);
    assert_eq!(again.granted, after.granted, "it still knows the last");
}

#[test]
fn a_bucket_without_a_past_holds_a_tenth_and_never_more_than_the_burst() {
    let fleet = Fleet::new(Budget::ratio(0.1).burst(100.0).floor_per_second(2.0));
    let mut lone = Lone::of(fleet);
    lone.succeed(5);
    let (exchange, answer) = lone.exchange(1000).expect("it is due");
    assert_eq!(
        (exchange.ask, answer.granted),
        (0, 0),
        "it has its one token"
    );
    assert_tokens(&lone.bucket, 10.5);
    lone.exchange(3000).expect("it is due");
    assert_tokens(&lone.bucket, 14.5);
    lone.succeed(5000);
    lone.exchange(5000).expect("it is due");
    assert_tokens(&lone.bucket, 100.0);
}

#[test]
fn one_exchange_takes_no_more_than_its_part_of_the_bucket() {
    let mut lone = Lone::of(hundred().part(0.25));
    lone.succeed(10_000);
    lone.retries(1000);
    let (exchange, answer) = lone.exchange(1000).expect("it is due");
    assert!(exchange.ask > 100, "{exchange:?}");
    assert_eq!(answer.granted, 25);
    assert_eq!(lone.retries(1000), 25);
    // Of what is less than one token nothing.
    let mut bucket = Bucket::default();
    let dry = hundred().part(1.0);
    assert_eq!(bucket.exchange(&dry, 1, &exchange).granted, 100);
}

#[test]
fn a_refusal_brings_an_exchange_soon_but_not_before_the_gap() {
    let mut lone = Lone::of(hundred());
    lone.succeed(1000);
    let first = (0..1100).find(|millis| lone.exchange(*millis).is_some());
    let first = first.expect("within a period");
    // Nothing was refused: a period later.
    let second = (first..).find(|millis| lone.exchange(*millis).is_some());
    let second = second.expect("it goes on");
    assert!((900..=1100).contains(&(second - first)), "{first} {second}");
    // Refused when the gap is over.
    assert_eq!(lone.retries(2), 1);
    let early = second + 750;
    for millis in second + 700..early {
        assert_eq!(lone.poll(second), None, "{millis}");
    }
    let third = (second..).find(|millis| lone.exchange(*millis).is_some());
    let third = third.expect("it goes on");
    assert!((700..=760).contains(&(third - second)), "{second} {third}");
}

#[test]
fn what_is_held_beyond_what_was_lately_wanted_comes_back() {
    let mut lone = Lone::of(hundred());
    lone.succeed(1000);
    lone.retries(40);
    let (_, answer) = lone.exchange(1000).expect("it is due");
    assert_eq!(answer.granted, 50, "half of the bucket");
    let mut returned = 0;
    for second in 2..14 {
        if let Some((exchange, _)) = lone.exchange(second * 1000 + 100) {
            returned += exchange.returned;
        }
    }
    assert_eq!(returned, 49, "all but one, in the end");
    assert_eq!(lone.retries(9), 1);
}

#[test]
fn alone_and_safe_it_lives_on_what_it_holds_and_what_it_earns_and_reports_nothing_of_that() {
    let mut lone = Lone::of(hundred());
    lone.succeed(300);
    lone.retries(10);
    let (_, answer) = lone.exchange(1000).expect("it is due");
    assert_eq!(answer.granted, 13, "{answer:?}");
    assert_eq!(lone.budget.gauges().alone, None);
    assert!(lone.poll(2200).is_some(), "into the void");
    assert!(lone.poll(3999).is_none(), "it is out for two periods");
    assert_eq!(lone.budget.gauges().alone, None);
    lone.poll(4000);
    let gauges = lone.budget.gauges();
    assert_eq!(
        (gauges.alone, gauges.instances),
        (Some(Alone::Safe), Some(1))
    );
    assert_eq!(lone.retries(50), 13, "what it held, no burst");
    lone.succeed(25);
    assert_eq!(lone.retries(50), 2);
    lone.succeed(35);
    let (exchange, _) = lone.exchange(4300).expect("the store is back");
    assert_eq!(exchange.earned, 0);
    assert_eq!(lone.budget.gauges().alone, None);
    let held = lone.budget.gauges().held;
    let granted = f64::from(exchange.ask.min(100));
    assert!(held >= 3.0 && held <= 4.0 + granted, "{held}");
}

#[test]
fn alone_it_retries_without_bound_or_not_at_all_if_told_so() {
    for (alone, expected) in [(Alone::Open, 50), (Alone::Closed, 0)] {
        let mut lone = Lone::of(hundred().alone(alone));
        lone.poll(500);
        lone.poll(3000);
        assert_eq!(lone.budget.gauges().alone, Some(alone));
        assert_eq!(
            lone.retries(50),
            if alone == Alone::Open { 50 } else { expected }
        );
    }
}

#[test]
fn a_process_that_never_heard_of_a_store_has_one_token_and_its_own_ratio() {
    let mut lone = Lone::of(hundred());
    lone.poll(999);
    lone.poll(3000);
    assert_eq!(lone.retries(50), 1);
    lone.succeed(100);
    assert_eq!(lone.retries(50), 1, "a burst of one, not of the fleet");
}

#[test]
fn first_tries_earn_where_they_are_to() {
    let of = |budget: Budget| {
        let mut lone = Lone::of(Fleet::new(budget.burst(100.0)));
        for _ in 0..7 {
            lone.budget.first_try(Instant::ZERO);
        }
        lone.succeed(3);
        lone.poll(1000).expect("it is due").earned
    };
    assert_eq!(of(Budget::first_tries(0.1)), 7);
    assert_eq!(of(Budget::ratio(0.1)), 3);
}

#[test]
fn a_retry_that_never_starts_gives_its_token_back() {
    let lone = Lone::of(hundred());
    let token = lone.budget.withdraw(Instant::ZERO, &Failure::transient());
    assert_eq!(lone.retries(1), 0);
    lone.budget.refund(token.expect("its one"));
    assert_eq!(lone.retries(9), 1);
    assert_eq!(lone.budget.gauges().denied, 9);
}

#[test]
fn who_has_not_been_heard_of_for_ten_leases_is_forgotten() {
    let fleet = hundred();
    let mut bucket = Bucket::default();
    let mut seen = 0;
    for process in 0..20_u64 {
        let mut lone = Lone::of(fleet);
        lone.exchanges = lone
            .budget
            .exchanges(SplitMix64::new(process), Instant::ZERO);
        let exchange = lone.poll(1000).expect("it is due");
        seen = bucket
            .exchange(&fleet, process * 2_000_000, &exchange)
            .instances;
    }
    assert_eq!(seen, 16, "within the last 30 s, and the one from then");
}

#[test]
fn a_fleet_that_cannot_be_is_refused() {
    use becalm::budget::InvalidBudget;
    use becalm::budget::fleet::InvalidFleet;
    let second = Duration::from_secs(1);
    for (fleet, reason) in [
        (Fleet::new(Budget::per_minute(60)), InvalidFleet::Kind),
        (Fleet::new(Budget::None), InvalidFleet::Kind),
        (
            Fleet::new(Budget::ratio(0.0)),
            InvalidFleet::Budget(InvalidBudget::Ratio),
        ),
        (hundred().part(f64::NAN), InvalidFleet::Part),
        (hundred().period(Duration::ZERO), InvalidFleet::Period),
        (hundred().gap(second * 2), InvalidFleet::Gap),
        (hundred().lease(second), InvalidFleet::Lease),
    ] {
        assert_eq!(FleetBudget::new(fleet).err(), Some(reason));
    }
}
