//! Does a pacer keep its rate, and does everybody get a turn?

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::reconnect::{InvalidPacer, Pacer, Permit};
use becalm::time::{FakeSleeper, Instant, Sleeper};
use proptest::prelude::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

type Waiting = Pin<Box<dyn Future<Output = Permit>>>;

fn passing(pacer: &Pacer) -> Waiting {
    let pacer = pacer.clone();
    Box::pin(async move { pacer.pass().await })
}

fn poll(waiting: &mut Waiting) -> Poll<Permit> {
    waiting
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
}

proptest! {
    #[test]
    fn never_above_the_rate_never_more_at_once_and_nobody_starves(
        dials in 1..50_u32,
        burst in 1..10_u32,
        bound in 1..5_u32,
        steps in proptest::collection::vec((0..200_u64, 0..4_u8, 0..8_usize), 1..80),
    ) {
        let clock = FakeSleeper::new();
        let pacer = Pacer::new(dials, ms(1000), burst).unwrap();
        let pacer = pacer.in_flight(bound).sleeper(clock.clone());
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut running: Vec<Permit> = Vec::new();
        let mut begun: Vec<Instant> = Vec::new();
        let look = |waiting: &mut Vec<Waiting>, running: &mut Vec<Permit>, begun: &mut Vec<Instant>| {
            // One that passes may be what the next waits for.
            let mut is_moving = true;
            while is_moving {
                is_moving = false;
                waiting.retain_mut(|one| match poll(one) {
                    Poll::Ready(permit) => {
                        running.push(permit);
                        begun.push(clock.now());
                        is_moving = true;
                        false
                    }
                    Poll::Pending => true,
                });
            }
        };
        for (millis, kind, which) in steps {
            clock.advance(ms(millis));
            match kind {
                0 | 1 => waiting.push(passing(&pacer)),
                2 if which < waiting.len() => drop(waiting.remove(which)),
                _ => running.truncate(which),
            }
            look(&mut waiting, &mut running, &mut begun);
            prop_assert!(running.len() <= bound as usize);
        }
        // Everybody who is left gets a turn, as fast as the rate allows.
        let left = waiting.len();
        let share = ms(1000) / dials;
        let mut rounds = 0;
        while !waiting.is_empty() {
            running.clear();
            look(&mut waiting, &mut running, &mut begun);
            clock.advance(share + Duration::from_nanos(1));
            rounds += 1;
            prop_assert!(rounds <= left + burst as usize + 1, "{} starve", waiting.len());
        }
        for (first, from) in begun.iter().enumerate() {
            for (last, to) in begun.iter().enumerate().skip(first) {
                let nanos = u128::from(dials) * to.since(*from).as_nanos();
                let allowed = u128::from(burst) + nanos / 1_000_000_000;
                let count = (last - first + 1) as u128;
                prop_assert!(count <= allowed, "{count} of {allowed}");
            }
        }
    }
}

#[test]
fn who_comes_first_dials_first() {
    let clock = FakeSleeper::new();
    let pacer = Pacer::new(10, ms(1000), 1).unwrap().sleeper(clock.clone());
    drop(pacer.try_pass().unwrap());
    let (mut first, mut second) = (passing(&pacer), passing(&pacer));
    assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending());
    clock.advance(ms(150));
    // However often the second asks.
    assert!(poll(&mut second).is_pending() && poll(&mut second).is_pending());
    assert!(poll(&mut first).is_ready());
    assert!(poll(&mut second).is_pending(), "its turn is 100 ms later");
    clock.advance(ms(100));
    assert!(poll(&mut second).is_ready());
}

#[test]
fn who_does_not_wait_is_told_when_to_ask() {
    let clock = FakeSleeper::new();
    let pacer = Pacer::new(10, ms(1000), 2).unwrap().sleeper(clock.clone());
    let try_pass = || pacer.try_pass().err();
    assert_eq!((try_pass(), try_pass()), (None, None));
    assert_eq!(try_pass().map(|at| at.since(clock.now())), Some(ms(100)));
    clock.advance(ms(100));
    assert_eq!(try_pass(), None);
}

#[test]
fn a_rate_that_is_none_is_refused() {
    assert_eq!(Pacer::new(0, ms(1), 1).err(), Some(InvalidPacer::Dials));
    assert_eq!(Pacer::new(1, ms(0), 1).err(), Some(InvalidPacer::Per));
    assert_eq!(Pacer::new(1, ms(1), 0).err(), Some(InvalidPacer::Burst));
}
