//! Who has the place of a request while its client sends nothing?

use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::bulkhead::Waiter;
use becalm::time::{Instant, Sleep};
use http_body::{Body, Frame, SizeHint};

use super::layer::AdmissionLayer;
use super::place::Place;

/// What a request and its body have of the places, until the head of its answer.
pub(super) struct Seat {
    layer: Arc<AdmissionLayer>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    place: Option<Place>,
    /// Others had it meanwhile, so its time says nothing of the server.
    was_lent: bool,
    /// The answer has its head, or nobody waits for it.
    is_over: bool,
    /// There was no place any more when the client sent more.
    is_shed: bool,
    waker: Option<Waker>,
}

/// How long a request waits for a place that it gave to others. It is next, so that is how long no place falls free.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it asks where the queue is full.
const AGAIN: Duration = Duration::from_millis(10);

impl Seat {
    pub fn new(layer: Arc<AdmissionLayer>) -> Arc<Self> {
        let state = Mutex::default();
        Arc::new(Self { layer, state })
    }

    pub fn take(&self, place: Place) {
        let mut state = self.lock();
        let place = if state.is_over {
            Some(place)
        } else {
            state.place.replace(place)
        };
        drop(state);
        drop(place);
    }

    /// The head is there, or none comes: the place, and whether others had it meanwhile.
    pub fn end(&self) -> (Option<Place>, bool) {
        let mut state = self.lock();
        state.is_over = true;
        (state.place.take(), state.was_lent)
    }

    /// Whether the request is shed in the middle of its body; if not yet, `waker` is told.
    pub fn is_shed(&self, waker: &Waker) -> bool {
        let mut state = self.lock();
        if !(state.waker.as_ref()).is_some_and(|known| known.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
        state.is_shed
    }

    fn shed(&self) {
        let waker = {
            let mut state = self.lock();
            state.is_shed = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lend(&self) {
        let mut state = self.lock();
        state.was_lent = true;
        let place = state.place.take();
        drop(state);
        drop(place);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pin_project_lite::pin_project! {
    /// The body of a request that has a place: what the service inside an [`AdmissionLayer`] gets. While its client sends
    /// nothing, the place is another's.
    pub struct ArrivingBody<B> {
        #[pin]
        body: B,
        seat: Arc<Seat>,
        wait: Wait,
    }
}

/// How a body waits: for its client, and then for a place.
#[derive(Default)]
struct Wait {
    timer: Option<Sleep>,
    /// Since when its client sends nothing, and how long that was before.
    since: Option<Instant>,
    waited: Duration,
    waiter: Waiter,
    /// Until when it waits for a place.
    until: Option<Instant>,
}

impl<B> ArrivingBody<B> {
    pub(super) fn new(body: B, seat: Arc<Seat>) -> Self {
        let wait = Wait::default();
        Self { body, seat, wait }
    }

    /// The body as it came, without a place.
    pub fn into_inner(self) -> B {
        self.body
    }
}

impl<B> std::fmt::Debug for ArrivingBody<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrivingBody").finish_non_exhaustive()
    }
}

impl Wait {
    /// Ready where the request has a place, or needs none any more.
    fn poll_place(&mut self, seat: &Seat, context: &mut Context<'_>) -> Poll<()> {
        loop {
            {
                let state = seat.lock();
                if state.is_over || state.place.is_some() {
                    return Poll::Ready(());
                }
            }
            let layer = &*seat.layer;
            let asked = layer.places.poll_acquire(&mut self.waiter, context.waker());
            let now = layer.clock.now();
            if asked == Poll::Ready(true) {
                (self.timer, self.until) = (None, None);
                seat.take(Place::taken(layer.places.clone(), now));
                continue;
            }
            let until = *self.until.get_or_insert_with(|| now.after(PATIENCE));
            if until <= now {
                seat.shed();
            }
            if asked.is_ready() || until <= now {
                self.timer = None;
            }
            // Once it is shed, the end of the request is seen soon.
            let next = if asked.is_pending() && until > now {
                until
            } else {
                now.after(AGAIN)
            };
            let timer = self
                .timer
                .get_or_insert_with(|| layer.clock.sleep_until(next));
            if timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.timer = None;
        }
    }

    /// The client sends nothing.
    fn waits(&mut self, seat: &Seat, context: &mut Context<'_>) {
        let state = seat.lock();
        if state.is_over || state.place.is_none() {
            return;
        }
        drop(state);
        let layer = &*seat.layer;
        let left = layer.body_wait.saturating_sub(self.waited);
        if !left.is_zero() {
            let since = *self.since.get_or_insert_with(|| layer.clock.now());
            let until = || layer.clock.sleep_until(since.after(left));
            let timer = self.timer.get_or_insert_with(until);
            if timer.as_mut().poll(context).is_pending() {
                return;
            }
            self.waited = layer.body_wait;
        }
        (self.timer, self.since) = (None, None);
        seat.lend();
    }

    fn sends(&mut self, seat: &Seat) {
        if let Some(since) = mem::take(&mut self.since) {
            self.timer = None;
            self.waited += seat.layer.clock.now().since(since);
        }
    }
}

impl<B: Body> Body for ArrivingBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        if this.wait.poll_place(this.seat, context).is_pending() {
            return Poll::Pending;
        }
        let frame = this.body.poll_frame(context);
        match frame {
            Poll::Ready(_) => this.wait.sends(this.seat),
            Poll::Pending => this.wait.waits(this.seat, context),
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
