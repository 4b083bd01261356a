//! How does one request get its place, or not?

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use becalm::Scope;
use becalm::bulkhead::Waiter;
use becalm::time::Sleep;
use http::{Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use super::layer::AdmissionLayer;
use super::place::{AdmittedBody, Place};

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
    S: Service<Request<B>, Response = Response<D>> + Clone,
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
        let service = std::mem::replace(&mut self.service, clone);
        let layer = Arc::clone(&self.layer);
        layer.retries.count(Scope::current());
        let (head, body) = request.into_parts();
        let waiter = layer.waiter(&head);
        AdmissionFuture {
            layer,
            waits: Some((service, Request::from_parts(head, body), waiter)),
            timer: None,
            running: None,
            place: None,
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of a request that waits for its place, or has one.
    #[must_use = "futures do nothing unless polled"]
    pub struct AdmissionFuture<S, B, F> {
        layer: Arc<AdmissionLayer>,
        waits: Option<(S, Request<B>, Waiter)>,
        timer: Option<Sleep>,
        #[pin]
        running: Option<F>,
        place: Option<Place>,
    }
}

impl<S, B, D> Future for AdmissionFuture<S, B, S::Future>
where
    S: Service<Request<B>, Response = Response<D>>,
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
                return Poll::Ready(Ok(layer.shed(request.headers())));
            }
            let began = layer.clock.now();
            layer.look(began);
            *this.place = Some(Place::taken(layer.places.clone(), began));
            this.running.set(Some(service.call(request)));
        }
        let Some(running) = this.running.as_mut().as_pin_mut() else {
            return Poll::Pending; // polled again after its end
        };
        let ended = ready!(running.poll(context));
        this.running.set(None);
        let mut place = this.place.take();
        if let Some(place) = &mut place {
            place.ended(
                this.layer.clock.now(),
                ended.as_ref().ok().map(|it| (it.status(), it.headers())),
            );
        }
        Poll::Ready(ended.map(|response| response.map(|body| AdmittedBody::new(body, place))))
    }
}
