//! Is a silent peer found by who reads and by who only sends, and nobody else? In virtual time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;
use std::time::Duration;

use becalm::time::FakeSleeper;

use super::*;

/// Numbers, of which 0 is a ping.
#[derive(Default)]
struct Wire {
    comes: VecDeque<u32>,
    sent: Vec<u32>,
    is_full: bool,
}

impl Wire {
    fn poll_room(&self) -> Poll<Result<(), ()>> {
        if self.is_full {
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl Stream for Wire {
    type Item = Result<u32, ()>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let came = self.comes.pop_front();
        came.map_or(Poll::Pending, |came| Poll::Ready(Some(Ok(came))))
    }
}

impl Sink<u32> for Wire {
    type Error = ();

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        self.poll_room()
    }

    fn start_send(mut self: Pin<&mut Self>, number: u32) -> Result<(), ()> {
        self.sent.push(number);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        self.poll_room()
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        self.poll_room()
    }
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

struct Test {
    clock: FakeSleeper,
    socket: Watched<Wire, u32, ()>,
    reader: Arc<Flag>,
    writer: Arc<Flag>,
}

impl Test {
    fn new(heartbeat: Option<Heartbeat>) -> Self {
        let clock = FakeSleeper::new();
        let sleeper = Arc::new(clock.clone());
        Self {
            socket: Watched::new(Wire::default(), || 0, heartbeat, sleeper),
            clock,
            reader: Arc::default(),
            writer: Arc::default(),
        }
    }

    fn read(&mut self) -> Poll<Option<Result<u32, Broken<()>>>> {
        let waker = Waker::from(Arc::clone(&self.reader));
        Pin::new(&mut self.socket).poll_next(&mut Context::from_waker(&waker))
    }

    fn flush(&mut self) -> Poll<Result<(), Broken<()>>> {
        let waker = Waker::from(Arc::clone(&self.writer));
        Pin::new(&mut self.socket).poll_flush(&mut Context::from_waker(&waker))
    }

    fn passes(&self, secs: u64) {
        self.clock.advance(Duration::from_secs(secs));
    }
}

#[test]
fn a_silent_peer_is_asked_once_and_told_of_to_both_halves() {
    let mut test = Test::new(Some(Heartbeat::default()));
    assert!(test.read().is_pending());
    test.passes(19);
    assert!(test.read().is_pending() && test.socket.wire.sent.is_empty());
    test.passes(1);
    assert!(test.reader.0.swap(false, Ordering::SeqCst), "it is woken");
    assert!(test.read().is_pending());
    assert_eq!(test.socket.wire.sent, [0]);
    test.socket.wire.comes.push_back(7);
    test.passes(9);
    assert_eq!(test.read(), Poll::Ready(Some(Ok(7))));
    assert!(test.read().is_pending());
    for wait in [20, 9] {
        test.passes(wait);
        assert!(test.read().is_pending());
    }
    assert_eq!(test.socket.wire.sent, [0, 0]);
    test.passes(1);
    assert!(test.reader.0.load(Ordering::SeqCst));
    assert_eq!(test.read(), Poll::Ready(Some(Err(Broken::Silent))));
    assert_eq!(test.read(), Poll::Ready(None));
    assert_eq!(test.flush(), Poll::Ready(Err(Broken::Silent)));
}

#[test]
fn who_only_sends_finds_a_peer_that_takes_nothing_and_wakes_who_reads() {
    // It has sent nothing, one message, or more than is read ahead.
    for came in [vec![], vec![1], vec![1, 2, 3]] {
        let mut test = Test::new(Some(Heartbeat::default()));
        assert!(test.read().is_pending());
        test.socket.wire.is_full = true;
        test.socket.wire.comes = came.clone().into();
        assert!(test.flush().is_pending());
        for wait in [20, 9] {
            test.passes(wait);
            assert!(test.flush().is_pending(), "{came:?}");
        }
        let reads = came.is_empty();
        assert!(!reads || test.read().is_pending());
        test.writer.0.store(false, Ordering::SeqCst);
        test.reader.0.store(false, Ordering::SeqCst);
        test.passes(1);
        assert!(test.writer.0.load(Ordering::SeqCst), "{came:?}");
        assert_eq!(test.flush(), Poll::Ready(Err(Broken::Silent)));
        assert_eq!(test.reader.0.load(Ordering::SeqCst), reads, "{came:?}");
        if !reads {
            assert_eq!(test.read(), Poll::Ready(Some(Ok(1))));
        }
        assert_eq!(test.read(), Poll::Ready(Some(Err(Broken::Silent))));
    }
}

#[test]
fn a_peer_that_is_slow_to_take_and_sends_is_there() {
    let mut test = Test::new(Some(Heartbeat::default()));
    test.socket.wire.is_full = true;
    for number in 1..100 {
        assert!(test.flush().is_pending());
        test.passes(15);
        test.socket.wire.comes.push_back(number);
        assert_eq!(test.read(), Poll::Ready(Some(Ok(number))));
        assert!(test.read().is_pending());
    }
    // And one that takes something now and then, where nobody reads.
    let mut test = Test::new(Some(Heartbeat::default()));
    test.socket.wire.comes = (1..100).collect();
    for _ in 0..100 {
        test.socket.wire.is_full = true;
        assert!(test.flush().is_pending());
        test.passes(20);
        test.socket.wire.is_full = false;
        assert_eq!(test.flush(), Poll::Ready(Ok(())));
    }
    assert_eq!(test.read(), Poll::Ready(Some(Ok(1))));
}

#[test]
fn without_a_heartbeat_nobody_is_asked() {
    let mut test = Test::new(None);
    test.socket.wire.is_full = true;
    for _ in 0..10 {
        assert!(test.read().is_pending() && test.flush().is_pending());
        test.passes(1000);
    }
    assert!(test.socket.wire.sent.is_empty());
}

/// What a task does that has had its turn: whatever of tokio it polls now puts it off.
fn use_up_the_turn(context: &mut Context<'_>) {
    while let Poll::Ready(turn) = tokio::task::coop::poll_proceed(context) {
        turn.made_progress();
    }
}

#[tokio::test(start_paused = true)]
async fn a_timer_that_was_put_off_is_set_later() {
    let clock = Arc::new(TokioSleeper::new());
    let heartbeat = Some(Heartbeat::default());
    let mut socket = Watched::<Wire, u32, ()>::new(Wire::default(), || 0, heartbeat, clock);
    let mut has_put_off = false;
    let ended = std::future::poll_fn(|context| {
        if !std::mem::replace(&mut has_put_off, true) {
            use_up_the_turn(context);
            assert!(Pin::new(&mut socket).poll_next(context).is_pending());
            // What comes next wakes it, and the timer has nothing to do with it.
            socket.wire.comes.push_back(1);
            return Poll::Pending;
        }
        Pin::new(&mut socket).poll_next(context)
    });
    assert_eq!(ended.await, Some(Ok(1)));
    let silent = tokio::time::timeout(
        Duration::from_secs(31),
        std::future::poll_fn(|context| Pin::new(&mut socket).poll_next(context)),
    );
    assert_eq!(silent.await, Ok(Some(Err(Broken::Silent))));
}
