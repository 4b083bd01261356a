//! Is the target well when nobody else calls? One request after the other asks.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::client::{Connections, Head};
use crate::fault::allowed::Pinned;

/// Good answers in a row that say that it is.
const GOOD: usize = 5;

/// Between the end of one request and the beginning of the next.
const PAUSE: Duration = Duration::from_millis(50);

/// What was seen of the target without load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Calm {
    /// It was well.
    Well {
        /// How long after the load had ended.
        after: Duration,
        /// How long an answer took: half of them took longer.
        takes: Duration,
    },
    /// It was not, in all this time; with what it answered last.
    Unwell(Duration, String),
}

/// Asks until the target has answered well a few times in a row, each time within the `patience`, and nothing `is_left` of
/// the fault, but no longer than `most`.
///
/// What a naive proxy has kept comes again long after, as TCP tries again: with good answers in between.
pub async fn wait(
    target: &Pinned,
    connections: &Connections,
    patience: Duration,
    most: Duration,
    is_left: impl Fn() -> bool,
) -> Calm {
    let began = Instant::now();
    let mut good = Vec::new();
    let mut call = 0;
    let mut well_since = Duration::ZERO;
    loop {
        let asked = Instant::now();
        let answer = timeout(patience, connections.answer(call)).await;
        call += 1;
        let at = began.elapsed();
        let bad = match answer {
            Ok(Ok(Head { status, .. })) if status.is_success() => None,
            Ok(Ok(Head {
                location: Some(location),
                ..
            })) => Some(redirected(target, &location)),
            Ok(Ok(Head { status, .. })) => Some(format!("it answers {status}")),
            Ok(Err(broken)) => Some(broken.to_string()),
            Err(_) => Some("it does not answer in time".into()),
        };
        match bad {
            None => {
                if good.is_empty() {
                    well_since = at;
                }
                good.push(asked.elapsed());
            }
            Some(_) => good.clear(),
        }
        if good.len() >= GOOD && (at >= most || !is_left()) {
            good.sort_unstable();
            return Calm::Well {
                after: well_since,
                takes: good[good.len() / 2],
            };
        }
        if let (Some(bad), true) = (bad, at >= most) {
            return Calm::Unwell(at, bad);
        }
        sleep(PAUSE).await;
    }
}

/// Redirects are not followed, wherever they lead.
fn redirected(target: &Pinned, location: &str) -> String {
    match target.redirect(location) {
        Ok(()) => format!("it redirects to {location:?}, where a drill does not follow"),
        Err(refused) => refused.to_string(),
    }
}

impl Calm {
    /// How long after the load the target was well, if it was.
    pub const fn well_after(&self) -> Option<Duration> {
        match self {
            Self::Well { after, .. } => Some(*after),
            Self::Unwell(..) => None,
        }
    }
}
