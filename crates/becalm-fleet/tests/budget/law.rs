//! Does a fleet keep its law when exchanges are lost, repeated and overtaken, when the store is emptied or away, and when
//! processes crash?

use std::time::Duration;

use becalm::budget::{Burst, RetryBudget};
use becalm::rng::{Random, SplitMix64};
use becalm::{Budget, Failure, time::Instant};
use becalm_fleet::budget::{Answer, Bucket, Exchange, Exchanges, Fleet, FleetBudget, Step};
use proptest::prelude::*;

/// How often things go wrong, from 0 to 1: of exchanges, and of processes and stores in a second.
#[derive(Debug, Clone)]
struct Weather {
    seed: u64,
    processes: usize,
    burst: f64,
    /// Seconds that earn the burst, where that is more; 0 for none.
    span: u32,
    lost: f64,
    repeated: f64,
    /// The longest time of a message, in ticks.
    delay: u32,
    crashes: f64,
    flushes: f64,
    /// How often the store goes away for some seconds.
    outages: f64,
    /// How often a process is cut off from it for some seconds.
    cuts: f64,
    /// How often the calls of all change.
    shifts: f64,
}

fn any_weather() -> impl Strategy<Value = Weather> {
    let rare = || prop_oneof![2 => Just(0.0), 1 => 0.0..0.3_f64];
    let often = || prop_oneof![1 => Just(0.0), 2 => 0.0..0.7_f64];
    // Of a period's share, and of many.
    let bursts = prop_oneof![1.0..40.0_f64, 40.0..2000.0];
    let spans = prop_oneof![Just(0), 1..20_u32];
    let sizes = (any::<u64>(), 1..8_usize, bursts, spans, 0..25_u32);
    let away = (rare(), rare(), 0.1..2.0_f64);
    (sizes, often(), often(), rare(), rare(), away).prop_map(
        |(
            (seed, processes, burst, span, delay),
            lost,
            repeated,
            crashes,
            flushes,
            (outages, cuts, shifts),
        )| {
            Weather {
                seed,
                processes,
                burst,
                span,
                lost,
                repeated,
                delay,
                crashes,
                flushes,
                outages,
                cuts,
                shifts,
            }
        },
    )
}

const TICK: Duration = Duration::from_millis(20);
const TICKS_PER_SECOND: u32 = 50;
const TICKS: u32 = 30 * TICKS_PER_SECOND;
const RATIO: f64 = 0.1;

struct Process {
    budget: FleetBudget,
    exchanges: Exchanges,
    life: u32,
    /// Calls that end well, and that fail, in a tick; both change now and then.
    well: u32,
    badly: u32,
}

/// A message on its way.
#[derive(Debug, Clone, Copy)]
struct Message {
    due: u32,
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

/// What becomes of the calls of all, for a while.
#[derive(Debug, Clone, Copy)]
enum All {
    /// Of each as it comes.
    Mixed,
    Well,
    Badly,
    /// So many more are wanted than are earned.
    Storm,
    /// None are made.
    Idle,
}

struct World {
    fleet: Fleet,
    random: SplitMix64,
    processes: Vec<Process>,
    bucket: Bucket,
    messages: Vec<Message>,
    is_away: bool,
    is_cut: Vec<bool>,
    all: All,
}

impl World {
    fn new(weather: &Weather) -> Self {
        let burst = match weather.span {
            0 => Burst::Tokens(weather.burst),
            seconds => Burst::Earned {
                span: Duration::from_secs(seconds.into()),
                min: weather.burst,
            },
        };
        let budget = Budget::ratio(RATIO).burst(burst);
        let mut world = Self {
            fleet: Fleet::new(budget.floor_per_second(0.0)),
            random: SplitMix64::new(weather.seed),
            processes: Vec::new(),
            bucket: Bucket::default(),
            messages: Vec::new(),
            is_away: false,
            is_cut: vec![false; weather.processes],
            all: All::Mixed,
        };
        for _ in 0..weather.processes {
            let process = world.born(Instant::ZERO, 0);
            world.processes.push(process);
        }
        world
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    fn unit(&mut self) -> f64 {
        f64::from(self.below(u32::MAX)) / f64::from(u32::MAX)
    }

    fn below(&mut self, bound: u32) -> u32 {
        let high = self.random.next_u64() >> 32;
        ((high * u64::from(bound)) >> 32) as u32
    }

    fn born(&mut self, now: Instant, life: u32) -> Process {
        let budget = FleetBudget::new(self.fleet).expect("a valid fleet");
        let exchanges = budget.exchanges(SplitMix64::new(self.random.next_u64()), now);
        Process {
            budget,
            exchanges,
            life,
            well: 0,
            badly: 0,
        }
    }

    /// Sends a message on its way, once, several times or never.
    fn send(&mut self, weather: &Weather, now: u32, message: Message) {
        if self.chance(weather.lost) {
            return;
        }
        loop {
            let late = self.below(weather.delay + 1);
            let due = now + late;
            self.messages.push(Message { due, ..message });
            if !self.chance(weather.repeated) {
                return;
            }
        }
    }

    fn deliver(&mut self, weather: &Weather, now: u32) {
        let at = Instant::ZERO.after(TICK * now);
        loop {
            // Of those that are due any may be the first.
            let due = |message: &Message| message.due <= now;
            let Some(first) = self.messages.iter().position(due) else {
                return;
            };
            let message = self.messages.swap_remove(first);
            match message.answer {
                None if self.is_away || self.is_cut[message.process] => {}
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

    fn tick(&mut self, weather: &Weather, now: u32) -> Tick {
        let at = Instant::ZERO.after(TICK * now);
        let mut tick = Tick::default();
        let in_tick = |rate: f64| rate / f64::from(TICKS_PER_SECOND);
        if self.chance(in_tick(weather.flushes)) {
            self.bucket = Bucket::default();
            tick.flushes += 1;
        }
        if self.chance(in_tick(if self.is_away { 0.3 } else { weather.outages })) {
            self.is_away = !self.is_away;
        }
        self.deliver(weather, now);
        if self.chance(in_tick(weather.shifts)) {
            let all = [All::Mixed, All::Well, All::Badly, All::Storm, All::Idle];
            self.all = all[self.below(5) as usize];
        }
        let is_new = now == 0 || self.chance(in_tick(0.3));
        for index in 0..self.processes.len() {
            if self.chance(in_tick(weather.crashes)) {
                let life = self.processes[index].life + 1;
                self.processes[index] = self.born(at, life);
                tick.births += 1;
            }
            if is_new || self.chance(in_tick(0.3)) {
                let (well, badly) = (self.below(14), self.below(14));
                let process = &mut self.processes[index];
                // None at all, now and then.
                process.well = well.saturating_sub(4);
                process.badly = badly.saturating_sub(4);
            }
            let often = if self.is_cut[index] {
                0.1
            } else {
                weather.cuts
            };
            self.is_cut[index] ^= self.chance(in_tick(often));
            let Process { well, badly, .. } = self.processes[index];
            let [well, badly] = match self.all {
                All::Mixed => [well, badly],
                All::Well => [well, 0],
                All::Badly => [0, badly],
                All::Storm => [well, 10 * badly],
                All::Idle => [0, 0],
            };
            let [well, badly] = [well, badly].map(|mean| self.below(2 * mean + 1));
            let done = self.act(weather, now, index, [well, badly]);
            tick.earned += done.earned;
            tick.granted += done.granted;
        }
        tick
    }

    /// A process makes calls, of which so many end well and so many badly, and looks at its exchanges.
    fn act(&mut self, weather: &Weather, now: u32, index: usize, [well, badly]: [u32; 2]) -> Tick {
        let at = Instant::ZERO.after(TICK * now);
        let mut tick = Tick::default();
        let process = &mut self.processes[index];
        for _ in 0..well {
            process.budget.deposit(at);
            tick.earned += 1;
        }
        for _ in 0..badly {
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
        tick
    }
}

fn history(weather: &Weather) -> Vec<Tick> {
    let mut world = World::new(weather);
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

/// The most tokens that a span of ticks can have earned, at the mean rate of a span or more, as the store hears of it.
fn earned_in_span(history: &[Tick], span: usize, late: usize) -> f64 {
    let mut sums = vec![0];
    for tick in history {
        sums.push(sums[sums.len() - 1] + u64::from(tick.earned));
    }
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let of = |ticks: usize| {
        let long = (ticks + late).min(history.len());
        let most = sums
            .windows(long + 1)
            .map(|it| it[long] - it[0])
            .max()
            .unwrap();
        RATIO * most as f64 * span as f64 / ticks as f64
    };
    // The mean of two spans or more is no more than that of one of its parts.
    (span..2 * span).map(of).fold(0.0, f64::max)
}

/// The most retries above the ratio and what is allowed else, over any window.
fn excess(history: &[Tick], burst: f64) -> f64 {
    let (mut worst, mut here) = (0.0_f64, 0.0_f64);
    for tick in history {
        let allowed = RATIO * f64::from(tick.earned)
            + f64::from(tick.births)
            + burst * 0.1 * f64::from(tick.flushes);
        here = (here + f64::from(tick.granted) - allowed).max(0.0);
        worst = worst.max(here);
    }
    worst
}

/// Ten processes have a burst of 1,000 between them. So many are cut off from this second until that one, and make these
/// calls by then; at the 110th second everything fails. What the law allows, the share of two periods, is taken off.
const ALL_FAILS: u32 = 110;

fn excess_of_cut_off(cut: usize, from: u32, until: u32, calls: impl Fn(u32) -> [u32; 2]) -> f64 {
    let weather = Weather {
        seed: 1,
        processes: 10,
        burst: 1000.0,
        span: 0,
        lost: 0.0,
        repeated: 0.0,
        delay: 0,
        crashes: 0.0,
        flushes: 0.0,
        outages: 0.0,
        cuts: 0.0,
        shifts: 0.0,
    };
    let mut world = World::new(&weather);
    let tick = |now: u32| {
        let second = now / TICKS_PER_SECOND;
        for is_cut in &mut world.is_cut[..cut] {
            *is_cut = (from..until).contains(&second);
        }
        world.deliver(&weather, now);
        let calls = if second < ALL_FAILS {
            calls(now)
        } else {
            [0, 20]
        };
        let acts = (0..10).map(|index| world.act(&weather, now, index, calls));
        acts.fold(Tick::default(), |all, one| Tick {
            earned: all.earned + one.earned,
            granted: all.granted + one.granted,
            ..all
        })
    };
    let history: Vec<Tick> = (0..170 * TICKS_PER_SECOND).map(tick).collect();
    excess(&history, 1000.0) - 2.0 * share(&history, 56)
}

const CUTS: [(usize, u32, u32); 4] = [(0, 50, 50), (5, 10, 200), (10, 50, 200), (10, 50, 108)];

#[test]
fn who_is_cut_off_while_all_is_well_saves_no_second_burst() {
    for (cut, from, until) in CUTS {
        // A burst is twenty seconds' share. They have wanted many, and were granted them, just before.
        let calls = |now: u32| {
            [
                1,
                if now / TICKS_PER_SECOND + 1 == from {
                    3
                } else {
                    0
                },
            ]
        };
        let excess = excess_of_cut_off(cut, from, until, calls);
        assert!(excess <= 1010.0, "{cut} from {from} to {until}: {excess}");
        // The bucket was full, for those who reached it all the time.
        assert!(
            cut == 10 || excess > 850.0,
            "{cut} from {from} to {until}: {excess}"
        );
    }
}

#[test]
fn who_is_cut_off_while_some_fails_saves_no_second_burst() {
    for (cut, from, until) in CUTS {
        for one_in in [2, 4, 20] {
            // A burst is two seconds' share.
            let calls = |now: u32| [10, u32::from(now % one_in > 0)];
            let excess = excess_of_cut_off(cut, from, until, calls);
            assert!(
                excess <= 1010.0,
                "{cut} from {from} to {until}, {one_in}: {excess}"
            );
        }
    }
}

#[test]
fn a_storm_of_wants_that_is_over_leaves_no_second_burst_when_everything_fails() {
    // A burst is twenty seconds' share, two, and a half's; all want ten times what they may for so long, and then nothing for so long.
    for well in [1, 10, 40] {
        for storm in [5, 20, 50, 150] {
            for pause in (0..16).map(|it| it * 15) {
                let ends = ALL_FAILS * TICKS_PER_SECOND - pause;
                let calls = |now: u32| {
                    [
                        well,
                        if (ends - storm..ends).contains(&now) {
                            20
                        } else {
                            0
                        },
                    ]
                };
                let excess = excess_of_cut_off(0, 0, 0, calls);
                assert!(
                    excess <= 1010.0,
                    "{well}, {storm} ticks, {pause} later: {excess}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn over_any_window_a_fleet_retries_no_more_than_its_law(weather in any_weather()) {
        let history = history(&weather);
        // The longest time between two exchanges: one that is lost is given up after two periods.
        let between = if weather.lost > 0.0 { 100 } else { 55 };
        let late = between + 2 * weather.delay as usize;
        let span = (weather.span * TICKS_PER_SECOND) as usize;
        let burst = earned_in_span(&history, span, late).max(weather.burst).max(1.0 + RATIO);
        let constant = burst + f64::from(u32::try_from(weather.processes).unwrap()) + share(&history, late);
        let worst = excess(&history, weather.burst);
        prop_assert!(worst <= constant + 1e-6, "{worst} > {constant}");
    }
}
