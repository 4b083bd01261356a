//! No sequence of events makes two dials, a dial after the end, or a wait that nothing ends.

use std::time::Duration;

use becalm::hint::Hint;
use becalm::reconnect::{DialId, Healthy, Next, Reconnect, Reconnector};
use becalm::rng::SplitMix64;
use becalm::time::Instant;
use becalm::{Failure, Policy};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Event {
    Passes(u64),
    Opened(usize),
    Failed(usize, u8),
    Message(usize),
    Advised(usize, u64),
    Offline,
    Online,
    NetworkChanged,
    DialNow,
    Close,
}

fn event() -> impl Strategy<Value = Event> {
    // Of the dials so far, counted from the last: mostly the last one.
    let dial = || prop_oneof![4 => Just(0_usize), 1 => 0..4_usize];
    prop_oneof![
        8 => (0..20_000_u64).prop_map(Event::Passes),
        // A machine that slept for days.
        1 => (0..1_000_000_000_u64).prop_map(Event::Passes),
        6 => dial().prop_map(Event::Opened),
        6 => (dial(), 0..10_u8).prop_map(|(dial, kind)| Event::Failed(dial, kind)),
        1 => dial().prop_map(Event::Message),
        2 => (dial(), 0..10_000_u64).prop_map(|(dial, after)| Event::Advised(dial, after)),
        1 => Just(Event::Offline),
        2 => Just(Event::Online),
        1 => Just(Event::NetworkChanged),
        1 => Just(Event::DialNow),
        1 => Just(Event::Close),
    ]
}

fn failure(kind: u8) -> Failure {
    match kind {
        0 => Failure::permanent(),
        1 => Failure::transient().retry_after(Duration::from_secs(3)),
        2 => Failure::throttled(),
        _ => Failure::transient(),
    }
}

/// What a driver would have: sockets that are being opened, and open ones.
#[derive(Default)]
struct Driver {
    dials: Vec<DialId>,
    dialling: Vec<DialId>,
    open: Vec<DialId>,
    is_closed: bool,
    is_offline: bool,
    /// Before this moment the server wants no dial.
    not_before: Instant,
}

impl Driver {
    fn dial(&self, back: usize) -> Option<DialId> {
        let index = self.dials.len().checked_sub(1 + back)?;
        Some(self.dials[index])
    }

    fn see(&mut self, machine: &mut Reconnector<u64>, now: Instant) {
        match machine.next(now) {
            Next::Dial(dial) => {
                assert!(!self.is_closed && !self.is_offline);
                assert!(now >= self.not_before, "earlier than the server said");
                self.dials.push(dial.id);
                self.dialling.push(dial.id);
                // It is said once.
                assert_eq!(machine.next(now), Next::Connecting(dial.id));
            }
            Next::Wait(until) => {
                assert!(!self.is_closed && until > now);
                assert!(self.dialling.is_empty() && self.open.is_empty());
            }
            Next::Connecting(id) => assert_eq!(self.dialling, [id]),
            Next::Open(id) => assert_eq!(self.open, [id]),
            Next::Offline => assert!(self.is_offline),
            Next::Closed => assert!(self.is_closed),
            Next::GaveUp(_) => assert!(!self.is_closed),
            other => panic!("{other:?}"),
        }
        assert!(self.dialling.len() + self.open.len() <= 1, "two at once");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn one_dial_one_timer_and_no_lost_wake_up(
        seed: u64,
        events in proptest::collection::vec(event(), 1..60),
        attempts in prop_oneof![Just(Policy::UNLIMITED), 1..6_u32],
    ) {
        let policy = Policy::exponential(Duration::from_secs(1)).attempts(attempts);
        let settings = Reconnect::new(policy).healthy(Healthy::FirstMessage);
        let mut now = Instant::ZERO;
        let mut machine = Reconnector::<u64>::new(settings, SplitMix64::new(seed), now).unwrap();
        let mut driver = Driver::default();
        let mut advised = None;
        for event in events {
            match event {
                Event::Passes(millis) => now = now.after(Duration::from_millis(millis)),
                Event::Opened(back) => {
                    let Some(id) = driver.dial(back) else { continue };
                    let was_dialling = driver.dialling.contains(&id);
                    driver.dialling.retain(|dial| *dial != id);
                    let is_wanted = machine.opened(id, now);
                    prop_assert_eq!(is_wanted, was_dialling);
                    if is_wanted {
                        driver.open.push(id);
                    }
                }
                Event::Failed(back, kind) => {
                    let Some(id) = driver.dial(back) else { continue };
                    let there = driver.dialling.contains(&id) || driver.open.contains(&id);
                    driver.dialling.retain(|dial| *dial != id);
                    driver.open.retain(|open| *open != id);
                    let mut failure = failure(kind);
                    prop_assert_eq!(machine.failed(id, now, &failure), there);
                    // An error and a close of one connection are one loss.
                    prop_assert!(!machine.failed(id, now, &failure));
                    if there {
                        failure.hint = failure.hint.or(advised.take());
                        if let Some(Hint::AtLeast(least)) = failure.hint {
                            driver.not_before = now.after(least);
                        }
                    }
                }
                Event::Message(back) => {
                    if let Some(id) = driver.dial(back) {
                        machine.message(id);
                    }
                }
                Event::Advised(back, after) => {
                    let Some(id) = driver.dial(back) else { continue };
                    let hint = Hint::AtLeast(Duration::from_millis(after));
                    machine.advise(id, Some(hint), Some(after));
                    if driver.dialling.contains(&id) || driver.open.contains(&id) {
                        advised = Some(hint);
                    }
                }
                Event::Offline => {
                    driver.is_offline = true;
                    machine.offline();
                }
                Event::Online => {
                    driver.is_offline = false;
                    machine.online(now);
                }
                Event::NetworkChanged => machine.network_changed(now),
                Event::DialNow => {
                    if driver.dialling.is_empty() && driver.open.is_empty() {
                        driver.not_before = Instant::ZERO;
                    }
                    machine.dial_now(now);
                }
                Event::Close => {
                    driver = Driver {
                        dials: driver.dials,
                        is_closed: true,
                        is_offline: driver.is_offline,
                        ..Driver::default()
                    };
                    machine.close();
                }
            }
            driver.see(&mut machine, now);
        }
        // Whatever has happened, it dials at the moment that it names, once there is a network.
        machine.online(now);
        driver.is_offline = false;
        driver.see(&mut machine, now);
        if let Next::Wait(until) = machine.next(now) {
            prop_assert!(matches!(machine.next(until), Next::Dial(_)));
        }
    }
}
