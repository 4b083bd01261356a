//! What do futures leave behind, wherever they are dropped? Nothing.

use std::cell::Cell;
use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::Sleeper;
use becalm::budget::Kind;
use becalm::time::FakeSleeper;
use proptest::prelude::*;

use crate::any_guards::{Guards, all_slots_are_free, guards, policy};
use crate::probe::{Fault, MS, fixed};
use crate::world::World;

/// Futures, polled, left alone and dropped as the steps say.
fn futures_leave_nothing(guards: Guards, steps: &[(u8, usize, u64)], dice: u64) {
    let world = World::with_own_budget(&FakeSleeper::new(), policy(guards));
    let (clock, retrier) = (&world.clock, &world.retrier);
    let dice = Rc::new(Cell::new(dice));
    let under_way = Rc::new(Cell::new(0_usize));
    let mut calls: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for (kind, index, millis) in steps {
        let at = (!calls.is_empty()).then(|| index % calls.len());
        match (kind, at) {
            (0 | 1, _) => {
                let (dice, under_way) = (Rc::clone(&dice), Rc::clone(&under_way));
                let call = retrier.retry(move |_| {
                    let next = dice
                        .get()
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    dice.set(next);
                    let (takes, fate) = (next >> 33 & 127, next >> 41 & 7);
                    let here = Here::new(&under_way);
                    async move {
                        let _here = here;
                        if takes > 20 {
                            clock
                                .sleep_until(clock.now().after(Duration::from_millis(takes)))
                                .await;
                        }
                        match fate {
                            0 | 1 => Ok(17),
                            2 => Err(Fault::GONE),
                            3 => pending().await,
                            4 => Err(Fault::BUSY),
                            _ => Err(Fault::DOWN),
                        }
                    }
                });
                calls.push(Box::pin(async move {
                    let _: Result<u32, _> = call.await;
                }));
            }
            (2..=4, Some(at)) => {
                let mut context = Context::from_waker(Waker::noop());
                if let Poll::Ready(()) = calls[at].as_mut().poll(&mut context) {
                    drop(calls.swap_remove(at));
                }
            }
            (5, Some(at)) => drop(calls.swap_remove(at)),
            (6, _) => clock.advance(Duration::from_millis(*millis)),
            _ => (),
        }
        if let Some(in_flight) = retrier.in_flight() {
            assert!(in_flight as usize >= under_way.get());
            if guards.bulkhead.is_some_and(|(_, waiting)| waiting == 0) {
                assert_eq!(
                    in_flight as usize,
                    under_way.get(),
                    "a place for each attempt"
                );
            }
        }
    }
    calls.clear();
    assert_eq!(under_way.get(), 0);
    assert_eq!(clock.sleepers(), 0, "no timer is left");
    world.assert_idle("at the end");
    for gauge in retrier.budget_gauges() {
        if gauge.kind == Kind::Concurrency {
            assert_eq!((gauge.left, gauge.most), (0.0, 0.0), "slots and calls");
        }
    }
    if let Some(probes) = guards.probes {
        let mut alone = fixed(100 * MS);
        alone.breaker = retrier.policy().breaker;
        retrier.replace_policy(alone).expect("a valid policy");
        all_slots_are_free(&world, probes);
    }
}

/// Counts the futures of attempts that live.
struct Here(Rc<Cell<usize>>);

impl Here {
    fn new(count: &Rc<Cell<usize>>) -> Self {
        count.set(count.get() + 1);
        Self(Rc::clone(count))
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn futures_leave_nothing_behind_wherever_they_are_dropped(
        guards in guards(),
        steps in proptest::collection::vec((0_u8..7, 0_usize..8, 0_u64..150), 0..120),
        dice: u64,
    ) {
        futures_leave_nothing(guards, &steps, dice);
    }
}
