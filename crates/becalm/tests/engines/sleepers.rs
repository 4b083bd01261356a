//! Do the clocks and timers keep their word? Never early, in order, and nothing is left of a sleep
//! that was dropped.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant as StdInstant, SystemTime};

use becalm::time::{ClockId, FakeSleeper, StdSleeper};
use becalm::{Cancel, Sleeper, StopReason, time::Instant};

use crate::probe::{ByHand, Fault, MS, SECOND, block_on, fixed};

/// Long enough for any machine, short enough to end a hanging test.
const PATIENCE: Duration = Duration::from_secs(60);

mod fake {
    use super::*;

    fn at(after: Duration) -> Instant {
        Instant::ZERO.after(after)
    }

    #[test]
    fn it_starts_at_zero_and_moves_only_when_told() {
        let clock = FakeSleeper::new();
        assert_eq!(
            (clock.now(), clock.wall()),
            (Instant::ZERO, SystemTime::UNIX_EPOCH)
        );
        clock.advance(SECOND);
        assert_eq!(clock.now(), at(SECOND));
        assert_eq!(clock.wall(), SystemTime::UNIX_EPOCH + SECOND);
        assert_eq!(clock.clock_reads(), 2, "the wall clock is another one");
    }

    #[test]
    fn clones_share_the_time_and_new_clocks_do_not() {
        let clock = FakeSleeper::new();
        clock.clone().advance(SECOND);
        assert_eq!(clock.now(), at(SECOND));
        assert_eq!(FakeSleeper::new().now(), Instant::ZERO);
        assert!(clock.clock().is(clock.clone().clock()));
        assert!(!clock.clock().is(FakeSleeper::new().clock()));
        assert!(!ClockId::UNKNOWN.is(ClockId::UNKNOWN));
    }

    #[test]
    fn a_sleep_ends_when_its_time_has_come_and_not_before() {
        let clock = FakeSleeper::new();
        let mut sleep = ByHand::new(clock.sleep_until(at(SECOND)));
        assert!(sleep.poll().is_pending());
        clock.advance(Duration::from_nanos(999_999_999));
        assert_eq!((sleep.wakes(), clock.sleepers()), (0, 1));
        assert!(sleep.poll().is_pending());
        clock.advance(Duration::from_nanos(1));
        assert_eq!((sleep.wakes(), clock.sleepers()), (1, 0));
        assert!(sleep.poll().is_ready());
    }

    #[test]
    fn a_sleep_into_the_past_is_over() {
        let clock = FakeSleeper::new();
        clock.advance(SECOND);
        assert!(ByHand::new(clock.sleep_until(at(SECOND))).poll().is_ready());
        assert!(
            ByHand::new(clock.sleep_until(Instant::ZERO))
                .poll()
                .is_ready()
        );
        assert_eq!(clock.slept(), [Duration::ZERO; 2]);
    }

    /// Writes its name down when it is woken.
    struct Say(u32, Arc<Mutex<Vec<u32>>>);

    impl std::task::Wake for Say {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    #[test]
    fn sleepers_wake_in_order_of_their_time_then_of_their_arrival() {
        let clock = FakeSleeper::new();
        let woken = Arc::new(Mutex::new(Vec::new()));
        let mut sleeps = Vec::new();
        for (name, millis) in [(3, 30), (1, 10), (2, 20), (4, 30), (9, 90)] {
            let mut sleep = clock.sleep_until(at(millis * MS));
            let waker = Arc::new(Say(name, woken.clone())).into();
            let mut context = std::task::Context::from_waker(&waker);
            assert_eq!(sleep.as_mut().poll(&mut context), Poll::Pending);
            sleeps.push(sleep);
        }
        clock.advance(50 * MS);
        assert_eq!(*woken.lock().unwrap(), [1, 2, 3, 4]);
        assert_eq!(clock.sleepers(), 1);
    }

    #[test]
    fn a_dropped_sleep_wakes_nobody() {
        let clock = FakeSleeper::new();
        let mut sleep = ByHand::new(clock.sleep_until(at(SECOND)));
        assert!(sleep.poll().is_pending());
        drop(sleep);
        assert_eq!(clock.sleepers(), 0);
        assert_eq!(clock.advance_to_next(), None);
    }

    #[test]
    fn it_advances_from_one_wake_up_to_the_next() {
        let clock = FakeSleeper::new();
        let mut sleeps: Vec<_> = [30, 10]
            .map(|millis| ByHand::new(clock.sleep_until(at(millis * MS))))
            .into_iter()
            .collect();
        for sleep in &mut sleeps {
            assert!(sleep.poll().is_pending());
        }
        assert_eq!(clock.advance_to_next(), Some(10 * MS));
        assert!(sleeps[1].poll().is_ready());
        assert_eq!(clock.advance_to_next(), Some(20 * MS));
        assert_eq!(clock.advance_to_next(), None);
        assert_eq!(clock.now(), at(30 * MS));
    }

    #[test]
    fn the_automatic_one_jumps_to_the_end_of_what_is_waited_for() {
        let clock = FakeSleeper::auto();
        let not_waited_for = clock.sleep_until(at(1000 * SECOND));
        block_on(clock.sleep_until(at(SECOND)));
        assert_eq!(clock.now(), at(SECOND));
        clock.block_until(at(2 * SECOND), None);
        assert_eq!(clock.now(), at(2 * SECOND));
        drop(not_waited_for);
        assert_eq!(clock.slept(), [1000 * SECOND, SECOND, SECOND]);
    }

    /// For whoever wonders why a test with a deadline is cut.
    #[test]
    fn on_the_automatic_one_a_pending_attempt_is_cut_at_once() {
        let retrier = fixed(MS)
            .deadline(SECOND)
            .builder()
            .sleeper(FakeSleeper::auto());
        let retrier = retrier.build().unwrap();
        let cut = crate::probe::ready(retrier.retry(|_| async {
            crate::probe::yield_now().await;
            Ok::<_, Fault>(())
        }));
        assert_eq!(cut.unwrap_err().reason(), StopReason::DeadlineExceeded);
    }

    #[test]
    fn its_tick_is_the_one_it_was_given() {
        assert_eq!(FakeSleeper::new().granularity(), Duration::ZERO);
        assert_eq!(FakeSleeper::new().with_tick(MS).granularity(), MS);
    }

    #[test]
    fn a_blocked_thread_goes_on_when_another_moves_the_time() {
        let clock = FakeSleeper::new();
        let blocked = std::thread::spawn({
            let clock = clock.clone();
            move || clock.block_until(at(SECOND), None)
        });
        while clock.sleepers() == 0 {
            std::thread::yield_now();
        }
        clock.advance(SECOND);
        blocked.join().unwrap();
    }

    #[test]
    fn the_end_of_time_is_no_overflow() {
        let clock = FakeSleeper::new();
        clock.advance(Duration::MAX);
        clock.advance(Duration::MAX);
        assert_eq!(clock.now(), Instant::NEVER);
    }
}

mod std_timer {
    use super::*;

    const CLOCK: StdSleeper = StdSleeper::new();

    #[test]
    fn a_sleep_is_never_early() {
        for millis in [0, 1, 3, 7] {
            let began = StdInstant::now();
            block_on(CLOCK.sleep_until(CLOCK.now().after(millis * MS)));
            assert!(began.elapsed() >= millis * MS);
            let began = StdInstant::now();
            CLOCK.block_until(CLOCK.now().after(millis * MS), None);
            assert!(began.elapsed() >= millis * MS);
        }
    }

    /// Tells its number when it is woken.
    struct Say(u64, mpsc::Sender<u64>);

    impl std::task::Wake for Say {
        fn wake(self: Arc<Self>) {
            // Nobody listens any more if the machine was too slow for this round.
            let _ = self.1.send(self.0);
        }
    }

    #[test]
    fn many_timers_fire_in_order_and_dropped_ones_not_at_all() {
        // All must be armed before the first is due, however slow the machine.
        for lead in [SECOND / 4, SECOND, 10 * SECOND, PATIENCE] {
            let (woken, order) = mpsc::channel();
            let start = CLOCK.now().after(lead);
            let mut sleeps: Vec<_> = (0..200_u64)
                .map(|number| number * 7919 % 200) // every number once, shuffled
                .map(|number| {
                    let at = start.after(Duration::from_micros(number * 100));
                    let mut sleep = CLOCK.sleep_until(at);
                    let waker = Arc::new(Say(number, woken.clone())).into();
                    let mut context = std::task::Context::from_waker(&waker);
                    let _ = sleep.as_mut().poll(&mut context);
                    (number, sleep)
                })
                .collect();
            sleeps.retain(|(number, _)| number % 2 == 0);
            if CLOCK.now() >= start {
                continue;
            }
            let next = || order.recv_timeout(2 * PATIENCE).expect("a timer");
            let fired: Vec<u64> = (0..100).map(|_| next()).collect();
            assert_eq!(fired, (0..200).step_by(2).collect::<Vec<_>>());
            assert!(order.try_recv().is_err(), "a dropped sleep woke somebody");
            return;
        }
        panic!("the machine is too slow to arm 200 timers in a minute");
    }

    #[test]
    fn a_sleep_can_move_to_another_waker() {
        let mut sleep = CLOCK.sleep_until(CLOCK.now().after(20 * MS));
        let mut first = ByHand::new(std::future::poll_fn(|context| sleep.as_mut().poll(context)));
        let _ = first.poll();
        drop(first);
        block_on(sleep);
    }

    #[test]
    fn a_later_sleep_does_not_hold_up_an_earlier_one() {
        let mut long = ByHand::new(CLOCK.sleep_until(CLOCK.now().after(3600 * SECOND)));
        assert!(long.poll().is_pending());
        let began = StdInstant::now();
        block_on(CLOCK.sleep_until(CLOCK.now().after(MS)));
        assert!(began.elapsed() < PATIENCE);
    }

    #[test]
    fn a_cancelled_wait_ends_at_once_and_a_wait_after_it_too() {
        let cancel = Cancel::new();
        let blocked = std::thread::spawn({
            let cancel = cancel.clone();
            move || CLOCK.block_until(CLOCK.now().after(3600 * SECOND), Some(&cancel))
        });
        cancel.cancel();
        let began = StdInstant::now();
        while !blocked.is_finished() {
            assert!(began.elapsed() < PATIENCE, "it waits on");
            std::thread::yield_now();
        }
        CLOCK.block_until(CLOCK.now().after(3600 * SECOND), Some(&cancel));
    }

    #[test]
    fn an_unrelated_unpark_does_not_end_a_wait() {
        let began = StdInstant::now();
        let blocked = std::thread::spawn(|| CLOCK.block_until(CLOCK.now().after(20 * MS), None));
        for _ in 0..10 {
            blocked.thread().unpark();
            std::thread::yield_now();
        }
        blocked.join().unwrap();
        assert!(began.elapsed() >= 20 * MS);
    }

    #[test]
    fn the_end_of_time_is_waited_for_without_a_panic() {
        let mut sleep = ByHand::new(CLOCK.sleep_until(Instant::NEVER));
        assert!(sleep.poll().is_pending());
    }
}

/// No runtime on this thread: the default sleeper works all the same.
#[test]
fn a_retry_runs_on_any_executor() {
    let retrier = fixed(2 * MS).deadline(PATIENCE).retrier().unwrap();
    let began = StdInstant::now();
    let call = retrier.retry(|attempt| async move {
        crate::probe::yield_now().await;
        if attempt.number() < 4 {
            Err(Fault::DOWN)
        } else {
            Ok(attempt.number())
        }
    });
    assert_eq!(block_on(call).unwrap(), 4);
    assert!(began.elapsed() >= 6 * MS);
}

#[test]
fn attempts_time_out_on_any_executor() {
    let retrier = fixed(MS)
        .attempts(2)
        .attempt_timeout(2 * MS)
        .retrier()
        .unwrap();
    let gave_up = block_on(retrier.retry(|_| std::future::pending::<Result<(), Fault>>()));
    assert_eq!(gave_up.unwrap_err().attempts(), 2);
}

#[test]
fn many_calls_wait_side_by_side_on_one_timer_thread() {
    let retrier = fixed(200 * MS).attempts(2).retrier().unwrap();
    let calls = (0..500).map(|_| retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) }));
    let began = StdInstant::now();
    let ended = block_on(futures_util::future::join_all(calls));
    assert!(
        ended
            .iter()
            .all(|ended| matches!(ended, Err(gave_up) if gave_up.attempts() == 2))
    );
    // 100 s one after the other.
    assert!(began.elapsed() < PATIENCE);
    assert_eq!(retrier.waiting(), 0);
}
