//! Does the classifier know the errors of the service below? What the compiler says where it does not.

use becalm::classify::Classifier;
use becalm::http::Retriers;

/// A [`Retry`](super::Retry) whose classifier knows this error: every one whose `C` is a [`Classifier`] of it. There is nothing to implement.
///
/// The bound is one on the service and not on its classifier: where a method call does not meet a bound (E0599), rustc shows the words
/// of the trait for a bound on the receiver alone, and none where the receiver's type holds a closure (`service_fn`).
#[diagnostic::on_unimplemented(
    message = "`RetryLayer` does not know what the error of the service below means: `{E}`",
    label = "for a boxed error, put `.map_err(becalm_tower::client::Boxed::new)` right below `.layer(RetryLayer::new(..))`",
    note = "tower's time-outs, buffers and `load_shed` box their errors, and a boxed error is no `Error`",
    note = "for an error of another kind, a type of your own implements `becalm::classify::Classifier<{E}>`: \
            `RetryLayer::classify_by(&retrier.classify_by(Mine))`"
)]
pub trait Knows<E> {
    /// What knows it.
    type Classifier: Classifier<E> + Clone;

    #[doc(hidden)]
    fn retriers(&self) -> &Retriers<Self::Classifier>;
}
