//! Where may a redirect lead, and what does it prove? Not to another server with what is meant for
//! this one; and a server that redirects has had the request.

use std::cell::Cell;

use reqwest::redirect::Policy;

tokio::task_local! {
    static ATTEMPT: Redirects;
}

/// What the redirects of one attempt have to know, and what is known of them.
struct Redirects {
    is_bound: bool,
    followed: Cell<bool>,
}

/// The policy for a client, which keeps a request that is bound to its server.
pub(super) fn guarded(policy: Policy) -> Policy {
    Policy::custom(move |redirect| {
        let from = redirect.previous().last();
        let stays = from.is_some_and(|from| from.origin() == redirect.url().origin());
        let is_bound = ATTEMPT.try_with(|attempt| attempt.is_bound);
        if !stays && is_bound.unwrap_or(false) {
            return redirect.stop();
        }
        // A policy that stops here ends the attempt with the redirect itself, which is no failure.
        let _ = ATTEMPT.try_with(|attempt| attempt.followed.set(true));
        policy.redirect(redirect)
    })
}

/// Runs an attempt, and tells whether one of its redirects was followed. A request that `is_bound`
/// stays with its server.
pub(super) async fn watched<F: Future>(is_bound: bool, attempt: F) -> (F::Output, bool) {
    let redirects = Redirects {
        is_bound,
        followed: Cell::new(false),
    };
    let watched = async {
        let output = attempt.await;
        (output, ATTEMPT.with(|attempt| attempt.followed.get()))
    };
    ATTEMPT.scope(redirects, watched).await
}
