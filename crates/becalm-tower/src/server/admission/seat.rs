//! Who has the place of a request while its client sends nothing?

use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use becalm::bulkhead::Waiter;
use becalm::support::HasPlace;
use becalm::time::{Instant, Sleep};
use bytes::Buf;
use http::Extensions;
use http_body::{Body, Frame, SizeHint};

use super::layer::AdmissionLayer;
use super::place::Place;

/// What a request and its body have of the places, until the head of its answer.
pub(in crate::server) struct Seat {
    layer: Arc<AdmissionLayer>,
    /// That of another layer, around this one.
    outer: Option<Arc<Seat>>,
    state: Mutex<State>,
}

/// Work that goes on when its client has left: it keeps its place until this is dropped.
pub(in crate::server) struct Kept(Arc<Seat>);

#[derive(Default)]
struct State {
    place: Option<Place>,
    /// Others had it meanwhile, so its time says nothing of the server.
    was_lent: bool,
    /// The answer has its head, or nobody waits for it.
    is_over: bool,
    /// How many work on for the request, whether or not somebody waits.
    kept: u32,
    /// There was no place any more when the client sent more.
    is_shed: bool,
    /// Its wait for a place, except while it is polled. Here and not in the body: one that is not polled any more would
    /// keep the place that it is handed.
    waiter: Option<Waiter>,
    /// Wakes who waits for the answer.
    waker: Option<Waker>,
    /// Wakes who reads the body, and waits for a place.
    reader: Option<Waker>,
}

/// How long a request waits for a place that it gave to others.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it asks where the queue is full.
const AGAIN: Duration = Duration::from_millis(10);

impl Seat {
    /// A seat inside of those of the layers around this one.
    pub fn new(layer: Arc<AdmissionLayer>, class: u8, outer: Option<Arc<Self>>) -> Arc<Self> {
        let waiter = Some(Waiter::of_class(class));
        let state = State {
            waiter,
            ..State::default()
        };
        let state = Mutex::new(state);
        Arc::new(Self {
            layer,
            outer,
            state,
        })
    }

    /// That of the innermost layer around the service that gets this request.
    pub fn of(extensions: &Extensions) -> Option<Arc<Self>> {
        let HasPlace(seat) = extensions.get()?;
        Arc::clone(seat).downcast().ok()
    }

    pub fn layer(&self) -> &AdmissionLayer {
        &self.layer
    }

    /// Whether it, or one around it, is of this layer.
    pub fn is_in(&self, layer: &AdmissionLayer) -> bool {
        let outer = || self.outer.as_ref().is_some_and(|outer| outer.is_in(layer));
        self.layer.is(layer) || outer()
    }

    /// Keeps its place, and those around it, for work that goes on when its client has left.
    pub fn keep(self: &Arc<Self>) -> Kept {
        let mut seat = Some(self);
        while let Some(each) = seat {
            each.lock().kept += 1;
            seat = each.outer.as_ref();
        }
        Kept(Arc::clone(self))
    }

    pub(super) fn take(&self, place: Place) {
        let mut state = self.lock();
        let place = if state.is_over && state.kept == 0 {
            Some(place)
        } else {
            state.place.replace(place)
        };
        drop(state);
        drop(place);
    }

    /// The head is there, or none comes: the place, unless it is kept, and whether others had it meanwhile.
    pub(super) fn end(&self) -> (Option<Place>, bool) {
        let waiter = self.lock().waiter.take();
        if let Some(mut waiter) = waiter {
            self.fetch(&mut waiter);
        }
        let mut state = self.lock();
        state.is_over = true;
        let place = if state.kept == 0 {
            state.place.take()
        } else {
            None
        };
        let ended = (place, state.was_lent);
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        ended
    }

    /// Takes the place that was handed to the body and not fetched yet, if the answer's body is to hold one.
    fn fetch(&self, waiter: &mut Waiter) {
        let state = self.lock();
        let has_none = state.place.is_none() && state.was_lent;
        drop(state);
        if has_none && self.layer.holds_bodies {
            let asked = self.layer.places.poll_acquire(waiter, Waker::noop());
            if asked == Poll::Ready(true) {
                let began = self.layer.clock.now();
                self.take(Place::taken(self.layer.places.clone(), began));
            }
        }
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
        let mut state = self.lock();
        state.is_shed = true;
        let (waiter, waker) = (state.waiter.take(), state.waker.take());
        drop(state);
        drop(waiter);
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

    /// Whether it has a place or needs none any more; if not, this is how its reader is woken.
    fn is_free(&self, reader: &Waker) -> bool {
        let mut state = self.lock();
        if state.is_over || state.place.is_some() {
            let reader = state.reader.take();
            drop(state);
            drop(reader);
            return true;
        }
        if !(state.reader.as_ref()).is_some_and(|known| known.will_wake(reader)) {
            state.reader = Some(reader.clone());
        }
        false
    }

    /// Asks for a place; `Pending` for good where the request is shed or over.
    fn poll_acquire(&self, waker: &Waker) -> Poll<bool> {
        // Without the lock: what this wakes may run anything.
        let Some(mut waiter) = self.lock().waiter.take() else {
            return Poll::Pending;
        };
        let asked = self.layer.places.poll_acquire(&mut waiter, waker);
        if asked == Poll::Ready(true) {
            let began = self.layer.clock.now();
            self.take(Place::taken(self.layer.places.clone(), began));
        }
        let mut state = self.lock();
        if !state.is_over {
            state.waiter = Some(waiter);
        }
        asked
    }

    /// The body is gone: it waits for no place, unless the answer's body is to hold one.
    fn leave(&self) {
        let holds = self.layer.holds_bodies;
        let mut state = self.lock();
        let left = (state.waiter.take_if(|_| !holds), state.reader.take());
        drop(state);
        drop(left);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut seat = Some(&self.0);
        while let Some(each) = seat {
            let mut state = each.lock();
            state.kept -= 1;
            let is_left = state.is_over && state.kept == 0;
            let place = state.place.take_if(|_| is_left);
            drop(state);
            drop(place);
            seat = each.outer.as_ref();
        }
    }
}

pin_project_lite::pin_project! {
    /// The body of a request that has a place: what the service inside an [`AdmissionLayer`] gets. While its client sends
    /// nothing, the place is another's.
    pub struct ArrivingBody<B: Body> {
        #[pin]
        body: B,
        // What has come, and waits for a place.
        came: Option<Came<B>>,
        wait: Wait,
    }
}

type Came<B> = Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>;

/// How a body waits: for its client, and then for a place.
struct Wait {
    seat: Arc<Seat>,
    timer: Option<Sleep>,
    /// Since when its client sends nothing, and how long that was before.
    since: Option<Instant>,
    waited: Duration,
    /// Until when it waits for a place.
    until: Option<Instant>,
}

impl<B: Body> ArrivingBody<B> {
    pub(super) fn new(body: B, seat: Arc<Seat>) -> Self {
        let wait = Wait {
            seat,
            timer: None,
            since: None,
            waited: Duration::ZERO,
            until: None,
        };
        Self {
            body,
            came: None,
            wait,
        }
    }

    /// The body as it came, without a place: for one that was not read. A frame that has come and waits for a place is lost.
    pub fn into_inner(self) -> B {
        self.body
    }
}

impl<B: Body> std::fmt::Debug for ArrivingBody<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrivingBody").finish_non_exhaustive()
    }
}

impl Wait {
    /// Ready where the request has a place, or needs none any more.
    fn poll_place(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let layer = Arc::clone(&self.seat.layer);
        loop {
            if self.seat.is_free(context.waker()) {
                (self.timer, self.until) = (None, None);
                return Poll::Ready(());
            }
            let asked = self.seat.poll_acquire(context.waker());
            if asked == Poll::Ready(true) {
                continue;
            }
            let now = layer.clock.now();
            let until = *self.until.get_or_insert_with(|| now.after(PATIENCE));
            if until <= now {
                // The end of the request wakes it.
                self.timer = None;
                self.seat.shed();
                return Poll::Pending;
            }
            if asked.is_ready() {
                self.timer = None;
            }
            let next = if asked.is_pending() {
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
    fn waits(&mut self, context: &mut Context<'_>) {
        let seat = Arc::clone(&self.seat);
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

    fn sends(&mut self) {
        if let Some(since) = mem::take(&mut self.since) {
            self.timer = None;
            self.waited += self.seat.layer.clock.now().since(since);
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.seat.leave();
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
        if this.came.is_none() {
            let Poll::Ready(frame) = this.body.poll_frame(context) else {
                this.wait.waits(context);
                return Poll::Pending;
            };
            this.wait.sends();
            *this.came = Some(frame);
        }
        ready!(this.wait.poll_place(context));
        Poll::Ready(this.came.take().flatten())
    }

    fn is_end_stream(&self) -> bool {
        self.came.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        if let Some(Some(Ok(frame))) = &self.came {
            let came = frame.data_ref().map_or(0, Buf::remaining) as u64;
            if let Some(upper) = hint.upper() {
                hint.set_upper(upper.saturating_add(came));
            }
            hint.set_lower(hint.lower().saturating_add(came));
        }
        hint
    }
}
