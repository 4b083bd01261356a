//! How is the body of a request sent again? What is read of it is kept while it streams, up to a
//! limit.
//!
//! All attempts of a request read one [`Source`], each from its beginning: first what is kept, then
//! what comes from the body itself, which the first of them to get there reads. Past the limit nothing
//! is kept, and the attempt that reads goes on alone: no body is ever cut short, and none is sent again
//! in part.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http_body::Body;

use super::reading::Reading;

/// What all attempts of a request read.
#[derive(Debug)]
pub(super) struct Source<B> {
    state: Mutex<Reading<B>>,
}

impl<B: Body + Unpin> Source<B> {
    /// Of a body of which up to `limit` bytes are kept; `None` for an empty one. With `length` a
    /// header has announced how long it is.
    pub fn new(body: B, limit: usize, length: Option<u64>) -> Option<Arc<Self>> {
        if body.is_end_stream() {
            return None;
        }
        let state = Mutex::new(Reading::new(body, limit, length));
        Some(Arc::new(Self { state }))
    }

    /// Whether a further attempt could send all of it.
    pub fn is_repeatable(&self) -> bool {
        self.lock().is_repeatable()
    }

    /// Whether a further attempt could send all of it, and from here on, while it is decided whether there is
    /// one: an attempt that has failed, but goes on reading, waits.
    pub fn hold(&self) -> bool {
        let mut state = self.lock();
        state.is_held = state.is_repeatable() && !state.is_certain();
        state.is_repeatable()
    }

    /// No attempt follows: what waits reads on.
    pub fn release(&self) {
        let mut state = self.lock();
        if mem::take(&mut state.is_held) {
            state.wake_all();
        }
    }

    /// Another attempt follows: gives up those up to this one, if they [wait](Self::hold) for it.
    pub fn give_up_held(&self, attempt: u32) {
        let mut state = self.lock();
        if mem::take(&mut state.is_held) {
            state.given_up_to = attempt;
            state.wake_all();
        }
    }

    /// Gives up the attempts before this one, where they could take away what it needs.
    pub fn give_up_before(&self, attempt: u32) {
        let mut state = self.lock();
        if !state.is_certain() {
            state.is_held = false;
            state.given_up_to = attempt.saturating_sub(1);
            state.wake_all();
        }
    }

    /// Whether a copy beside another attempt can send all of it, whatever that one does.
    pub fn is_certain(&self) -> bool {
        self.lock().is_certain()
    }

    // What a panic of the body leaves behind is a body that goes on as it likes.
    pub fn lock(&self) -> MutexGuard<'_, Reading<B>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::pin::Pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};
    use std::time::Duration;

    use becalm::call::{Call, CallOptions, Decision};
    use becalm::rng::SplitMix64;
    use becalm::shared::Shared;
    use becalm::time::Instant;
    use becalm::{Attempt, Budget, Failure, Policy, Scope};
    use bytes::Bytes;
    use http::HeaderMap;
    use http_body::{Frame, SizeHint};

    use super::super::body::ReplayBody;
    use super::super::body_error::BodyError;
    use super::super::reading::Next;
    use super::*;

    /// A body that does this, step by step.
    struct Steps {
        left: VecDeque<Step>,
        length: Option<u64>,
        waker: Arc<Mutex<Option<Waker>>>,
    }

    enum Step {
        Waits,
        Piece(Bytes),
        Trailers(HeaderMap),
        Fails,
    }

    impl Steps {
        fn new(steps: impl IntoIterator<Item = Step>, length: Option<u64>) -> Self {
            Self {
                left: steps.into_iter().collect(),
                length,
                waker: Arc::default(),
            }
        }
    }

    impl Body for Steps {
        type Data = Bytes;
        type Error = &'static str;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Next<Bytes, &'static str>> {
            Poll::Ready(match self.left.pop_front() {
                None => None,
                Some(Step::Waits) => {
                    let waker = Some(context.waker().clone());
                    *self.waker.lock().expect("unpoisoned") = waker;
                    return Poll::Pending;
                }
                Some(Step::Piece(piece)) => {
                    self.length = self.length.map(|length| length - piece.len() as u64);
                    Some(Ok(Frame::data(piece)))
                }
                Some(Step::Trailers(trailers)) => Some(Ok(Frame::trailers(trailers))),
                Some(Step::Fails) => Some(Err("broken")),
            })
        }

        fn size_hint(&self) -> SizeHint {
            self.length.map_or(SizeHint::new(), SizeHint::with_exact)
        }
    }

    fn piece(text: &'static str) -> Step {
        Step::Piece(Bytes::from_static(text.as_bytes()))
    }

    /// Three pieces, with waits.
    fn sentence(length: Option<u64>) -> Steps {
        let steps = [
            piece("to be "),
            Step::Waits,
            piece("or not "),
            Step::Waits,
            piece("to be"),
        ];
        Steps::new(steps, length)
    }

    fn source(body: Steps, limit: usize) -> Arc<Source<Steps>> {
        Source::new(body, limit, None).expect("not empty")
    }

    fn reader(source: &Arc<Source<Steps>>, attempt: u32) -> ReplayBody<Steps> {
        ReplayBody::of(Some(Arc::clone(source)), numbered(attempt))
    }

    /// The attempt of this number, of a call whose attempts all fail.
    fn numbered(number: u32) -> Attempt {
        let policy = Policy::default().attempts(number).budget(Budget::None);
        let shared = Shared::new(policy, Duration::ZERO).expect("a valid policy");
        let (mut now, random) = (Instant::ZERO, &mut SplitMix64::new(7));
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
        loop {
            let attempt = call.start(now, random).expect("it starts");
            if attempt.number() == number {
                return attempt;
            }
            match call.on_outcome(now, Failure::transient().into(), random) {
                Decision::RetryIn(delay) => now = now.after(delay),
                decision => panic!("{decision:?}"),
            }
        }
    }

    /// How often it was woken.
    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    type Polled = Poll<Next<Bytes, BodyError<&'static str>>>;

    fn poll(reader: &mut ReplayBody<Steps>, waker: &Waker) -> Polled {
        Pin::new(reader).poll_frame(&mut Context::from_waker(waker))
    }

    /// All that is left, and how it ends.
    fn read(reader: &mut ReplayBody<Steps>) -> (Vec<u8>, Option<HeaderMap>, bool) {
        let (mut data, mut trailers) = (Vec::new(), None);
        loop {
            match poll(reader, Waker::noop()) {
                Poll::Pending => (),
                Poll::Ready(None) => return (data, trailers, true),
                Poll::Ready(Some(Err(_))) => return (data, trailers, false),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(piece) => data.extend_from_slice(&piece),
                    Err(frame) => trailers = frame.into_trailers().ok(),
                },
            }
        }
    }

    #[test]
    fn each_reader_has_the_whole_body_in_whatever_order_they_read() {
        for order in 0..1 << 12 {
            let source = source(sentence(Some(18)), 18);
            let mut readers = [1, 2].map(|attempt| reader(&source, attempt));
            let mut read_so_far = [Vec::new(), Vec::new()];
            for turn in 0..12 {
                let at = order >> turn & 1;
                if let Poll::Ready(Some(frame)) = poll(&mut readers[at], Waker::noop()) {
                    let data = frame.expect("no error").into_data().expect("no trailers");
                    read_so_far[at].extend_from_slice(&data);
                }
            }
            for (mut reader, mut data) in readers.into_iter().zip(read_so_far) {
                let left = reader.size_hint().exact().expect("a known length");
                assert_eq!(data.len() as u64 + left, 18);
                data.extend(read(&mut reader).0);
                assert_eq!(data, b"to be or not to be", "{order:b}");
                assert!(reader.is_end_stream());
            }
        }
    }

    #[test]
    fn past_the_limit_one_reads_on_and_the_others_break_off() {
        for (length, announced) in [(None, None), (Some(18), None), (None, Some(18))] {
            let source = Source::new(sentence(length), 17, announced).expect("not empty");
            assert!(source.is_repeatable() && !source.is_certain());
            let [mut first, mut second] = [1, 2].map(|attempt| reader(&source, attempt));
            assert!(poll(&mut first, Waker::noop()).is_ready());
            let is_known = length.or(announced).is_some();
            assert_eq!(source.is_repeatable(), !is_known);
            assert_eq!(read(&mut first), (b"or not to be".to_vec(), None, true));
            assert!(!source.is_repeatable());
            assert_eq!(read(&mut second), (Vec::new(), None, false));
        }
    }

    #[test]
    fn an_attempt_that_is_given_up_takes_nothing_any_more_and_is_told() {
        let steps = [
            piece("to be "),
            Step::Waits,
            Step::Waits,
            piece("or not "),
            piece("to be"),
        ];
        let source = source(Steps::new(steps, None), 18);
        let woken = Arc::<Count>::default();
        let mut stale = reader(&source, 1);
        assert!(poll(&mut stale, Waker::noop()).is_ready());
        assert!(poll(&mut stale, &Arc::clone(&woken).into()).is_pending());
        source.give_up_before(2);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert_eq!(read(&mut stale), (Vec::new(), None, false));
        assert_eq!(read(&mut reader(&source, 2)).0, b"to be or not to be");
    }

    #[test]
    fn while_it_is_decided_nothing_is_taken_and_what_is_not_repeated_goes_on() {
        let source = source(sentence(None), 18);
        let mut answered = reader(&source, 1);
        assert!(poll(&mut answered, Waker::noop()).is_ready());
        let woken = Arc::<Count>::default();
        assert!(source.hold());
        assert!(poll(&mut answered, &Arc::clone(&woken).into()).is_pending());
        assert!(poll(&mut answered, &Arc::clone(&woken).into()).is_pending());
        source.release();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert_eq!(read(&mut answered), (b"or not to be".to_vec(), None, true));
    }

    #[test]
    fn whoever_waits_is_woken_whichever_reader_asked_last() {
        let steps = Steps::new(
            [Step::Waits, Step::Waits, Step::Waits, piece("late")],
            Some(4),
        );
        let body_waker = Arc::clone(&steps.waker);
        let source = source(steps, 4);
        let mut first = reader(&source, 1);
        let mut second = reader(&source, 2);
        let woken = Arc::<Count>::default();
        assert!(poll(&mut first, &Arc::clone(&woken).into()).is_pending());
        assert!(poll(&mut second, Waker::noop()).is_pending());
        drop(second);
        let waker = body_waker.lock().expect("unpoisoned").take();
        waker.expect("it was asked").wake();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert_eq!(read(&mut first).0, b"late");
    }

    #[test]
    fn a_body_that_fails_is_not_sent_again() {
        let source = source(Steps::new([piece("half"), Step::Fails], None), 100);
        assert_eq!(
            read(&mut reader(&source, 1)),
            (b"half".to_vec(), None, false)
        );
        assert!(!source.is_repeatable());
    }

    #[test]
    fn trailers_are_sent_again_within_the_limit() {
        let etag = http::HeaderValue::from_static("17");
        let trailers = HeaderMap::from_iter([(http::header::ETAG, etag)]);
        let all = 4 + usize::try_from(super::super::kept::length(&trailers)).expect("few");
        for (limit, is_kept) in [(all, true), (all - 1, false)] {
            let steps = [piece("body"), Step::Trailers(trailers.clone())];
            let source = source(Steps::new(steps, Some(4)), limit);
            let mut beside = reader(&source, 2);
            assert!(poll(&mut beside, Waker::noop()).is_ready());
            let whole = (b"body".to_vec(), Some(trailers.clone()), true);
            assert_eq!(read(&mut reader(&source, 1)), whole);
            assert_eq!(source.is_repeatable(), is_kept);
            assert_eq!(read(&mut beside).2, is_kept, "without them it is not whole");
            assert_eq!(read(&mut reader(&source, 3)) == whole, is_kept);
        }
    }
}
