//! What does an `anyhow::Error` say about trying again? What the first IO error below it says.

use super::{Classify, Failure};

/// The first `std::io::Error` in its chain says it. Any other is transient, and may have taken effect: what it is, is not known
/// here. Where it matters, the operation returns `Err((Failure::permanent(), error))`, or the call has a classifier of its own
/// ([`classify_with`](crate::Retrier::classify_with)).
impl Classify for anyhow::Error {
    fn classify(&self) -> Failure {
        let mut known = self.chain().filter_map(|error| error.downcast_ref());
        let io: Option<&std::io::Error> = known.next();
        io.map_or(Failure::transient(), Classify::classify)
    }

    fn as_error(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(self.as_ref())
    }
}
