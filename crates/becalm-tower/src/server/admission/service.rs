//! How does one request get its place, or not?

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use becalm::Scope;
use becalm::bulkhead::Waiter;
use becalm::support::HasPlace;
use becalm::time::Sleep;
use http::{HeaderValue, Request, Response};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

use super::layer::AdmissionLayer;
use super::place::{AdmittedBody, Place};
use super::seat::{ArrivingBody, Seat};
use crate::server::grpc;

/// A service that takes on what it can do: see [`AdmissionLayer`].
#[derive(Debug, Clone)]
pub struct Admission<S> {
    service: S,
    layer: Arc<AdmissionLayer>,
}

impl<S> Layer<S> for AdmissionLayer {
    type Service = Admission<S>;

    fn layer(&self, service: S) -> Admission<S> {
        let layer = Arc::new(self.clone());
        Admission { service, layer }
    }
}

impl<S, B, D> Service<Request<B>> for Admission<S>
where
    S: Service<Request<ArrivingBody<B>>, Response = Response<D>> + Clone,
    B: Body,
{
    type Response = Response<AdmittedBody<D>>;
    type Error = S::Error;
    type Future = AdmissionFuture<S, B, S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The one that is ready goes, and its clone stays.
        let clone = self.service.clone();
        let mut service = std::mem::replace(&mut self.service, clone);
        let layer = Arc::clone(&self.layer);
        let (mut head, body) = request.into_parts();
        let class = layer.class(&head);
        let grpc = grpc::kind(&head.headers).cloned();
        let waiter = Waiter::of_class(class);
        let outer = Seat::of(&head.extensions);
        let has_place = outer.as_ref().is_some_and(|outer| outer.is_in(&layer));
        let seat = Seat::new(Arc::clone(&layer), class, outer);
        if has_place {
            drop(seat.end()); // its body waits for nothing
        } else {
            layer.retries.count(Scope::current());
            let place = HasPlace(Arc::<Seat>::clone(&seat));
            head.extensions.insert(place);
        }
        let body = ArrivingBody::new(body, Arc::clone(&seat));
        let request = Request::from_parts(head, body);
        let (waits, running) = if has_place {
            (None, Some(service.call(request)))
        } else {
            (Some((service, request, waiter)), None)
        };
        AdmissionFuture {
            layer,
            waits,
            timer: None,
            running,
            grpc,
            seat: Seated(seat),
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of a request that waits for its place, or has one.
    #[must_use = "futures do nothing unless polled"]
    pub struct AdmissionFuture<S, B: Body, F> {
        layer: Arc<AdmissionLayer>,
        waits: Option<(S, Request<ArrivingBody<B>>, Waiter)>,
        timer: Option<Sleep>,
        #[pin]
        running: Option<F>,
        grpc: Option<HeaderValue>,
        seat: Seated,
    }
}

/// A request that waits for its answer. Dropped before, its client has left, and its place falls free.
struct Seated(Arc<Seat>);

impl Drop for Seated {
    fn drop(&mut self) {
        drop(self.0.end());
    }
}

impl<S, B, D> Future for AdmissionFuture<S, B, S::Future>
where
    S: Service<Request<ArrivingBody<B>>, Response = Response<D>>,
    B: Body,
{
    type Output = Result<Response<AdmittedBody<D>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some((mut service, request, mut waiter)) = this.waits.take() {
            let layer = &*this.layer;
            let has_place = match layer.places.poll_acquire(&mut waiter, context.waker()) {
                Poll::Ready(has_place) => has_place,
                Poll::Pending => {
                    let until = || layer.clock.sleep_until(layer.patience(layer.clock.now()));
                    let timer = this.timer.get_or_insert_with(until);
                    if timer.as_mut().poll(context).is_pending() {
                        *this.waits = Some((service, request, waiter));
                        return Poll::Pending;
                    }
                    false
                }
            };
            *this.timer = None;
            if !has_place {
                return Poll::Ready(Ok(layer.shed(this.grpc.as_ref())));
            }
            let began = layer.clock.now();
            layer.look(began);
            let place = Place::taken(layer.places.clone(), began);
            this.seat.0.take(place);
            this.running.set(Some(service.call(request)));
        }
        let Some(running) = this.running.as_mut().as_pin_mut() else {
            return Poll::Pending; // polled again after its end
        };
        let ended = running.poll(context);
        if ended.is_pending() {
            if this.seat.0.is_shed(context.waker()) {
                this.running.set(None);
                drop(this.seat.0.end());
                return Poll::Ready(Ok(this.layer.shed(this.grpc.as_ref())));
            }
            return Poll::Pending;
        }
        let ended = ready!(ended);
        this.running.set(None);
        let now = this.layer.clock.now();
        let (place, was_lent) = this.seat.0.end();
        Poll::Ready(match ended {
            Ok(response) => {
                let holds = this.layer.holds_bodies;
                Ok(AdmittedBody::answer(
                    response,
                    now,
                    place,
                    (was_lent, holds),
                ))
            }
            Err(error) => {
                if let Some(place) = place.filter(|_| !was_lent) {
                    place.failed(now);
                }
                Err(error)
            }
        })
    }
}
