//! How long does a herd take whose handshakes take time? By pen and paper.
//!
//! N clients have lost their connections, and a server does C handshakes a second. Times are in seconds from the moment at which it
//! is up.

use super::{positive, share};

/// The least time in which all are back, whatever anybody does: N/C.
pub fn floor(clients: f64, capacity: f64) -> f64 {
    positive(clients) / positive(capacity)
}

/// The time until this share is back where the server refuses whom it cannot serve, and the clients come again by
/// full jitter at a cap.
///
/// As long as those who are out dial at more than C, the server has all the work that it can do. At the cap each dials every
/// cap/2 in the mean, so that holds until `R = C cap / 2` are out, after `(N - R) / C`. From then on each next
/// dial succeeds. Each of the R is at a random point of a delay, so that x later `R (1 - x/cap)^2` are out still
/// (as in [`reconnected_full`](super::herd::reconnected_full)); the last is back after about a cap. Altogether N/C + cap/2.
///
/// NaN where N is below R: the server never has too much to do at the cap.
pub fn refused_full(clients: f64, capacity: f64, cap: f64, back: f64) -> f64 {
    let (clients, cap) = (positive(clients), positive(cap));
    let rest = positive(capacity) * cap / 2.0;
    let out = clients * (1.0 - share(back));
    if rest > clients {
        f64::NAN
    } else if out >= rest {
        (clients - out) / capacity
    } else {
        (clients - rest) / capacity + cap * (1.0 - (out / rest).sqrt())
    }
}

/// How many are served before a queue in order of arrival is older than the clients' patience, when they come at so many a
/// second: from then on every handshake is for a client that has left.
///
/// The queue grows by A - C a second, and the first who waits for too long comes when it holds C x patience. Who has
/// come by then is served: `A C patience / (A - C)`.
pub fn served_before_collapse(capacity: f64, patience: f64, arrivals: f64) -> f64 {
    let (capacity, arrivals) = (positive(capacity), positive(arrivals));
    arrivals * capacity * positive(patience) / positive(arrivals - capacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_join_and_end_half_a_cap_behind_the_floor() {
        let of = |back| refused_full(10_000.0, 100.0, 30.0, back);
        // 1500 are out when dials become fewer than the server takes.
        assert!((of(0.85) - 85.0).abs() < 1e-9);
        assert!((of(0.85 + 1e-9) - 85.0).abs() < 1e-3);
        assert!((of(1.0) - 115.0).abs() < 1e-9);
        assert!((floor(10_000.0, 100.0) - 100.0).abs() < 1e-9);
        assert!(refused_full(100.0, 100.0, 30.0, 0.5).is_nan());
    }

    #[test]
    fn of_a_herd_that_comes_at_once_a_queue_serves_what_it_holds() {
        let served = served_before_collapse(500.0, 4.0, 1e12);
        assert!((served - 2000.0).abs() < 1e-3, "{served}");
        assert!((served_before_collapse(500.0, 4.0, 1000.0) - 4000.0).abs() < 1e-9);
        assert!(served_before_collapse(500.0, 4.0, 400.0).is_nan());
    }
}
