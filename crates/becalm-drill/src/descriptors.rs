//! May this process open as many sockets as the drill needs?

use crate::system;

/// What a drill of the usual size takes, and every drill asks for.
const USUAL: u64 = 1024;

/// What is open beside the sockets of clients and services.
const OTHERS: f64 = 64.0;

/// Raises the limit so far that `connections` fit, each with two ends in this process: a bound
/// that is rarely reached.
///
/// Returns a sentence to show if it cannot be had.
///
/// # Errors
///
/// A sentence: not even the usual number can be had, though it may be needed: the figures would be those of
/// sockets that cannot be opened.
pub fn raise(connections: f64) -> Result<Option<String>, String> {
    let bound = bound(connections);
    let wanted = bound.max(USUAL);
    let (soft, hard) = system::files().unwrap_or((USUAL, USUAL));
    let mut allowed = soft;
    if soft < wanted && system::allow_files(wanted.min(hard), hard) {
        allowed = wanted.min(hard);
    }
    let needed = bound.min(USUAL);
    if allowed < needed {
        Err(format!(
            "this system allows {allowed} open files, but the drill's sockets need {needed}; raise the hard limit \
             (ulimit -Hn), or lower --load or --queue"
        ))
    } else {
        Ok((allowed < wanted).then(|| {
            format!(
                "this system allows {allowed} open files and not {wanted}; this drill may take up \
                 to {bound}, and attempts that find none are counted"
            )
        }))
    }
}

/// Raises the limit as far as this system allows, and returns it.
pub fn raise_all() -> u64 {
    let (soft, hard) = system::files().unwrap_or((USUAL, USUAL));
    if system::allow_files(hard, hard) {
        hard
    } else {
        soft
    }
}

/// Descriptors for so many connections.
fn bound(connections: f64) -> u64 {
    let all = (2.0 * connections + OTHERS).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
    let all = all as u64;
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_has_two_ends() {
        assert_eq!(bound(0.0), 64);
        assert_eq!(bound(400.5), 865);
        assert_eq!(bound(f64::INFINITY), u64::MAX);
    }

    #[test]
    fn what_cannot_be_had_is_said_with_its_number() {
        // No system allows this many.
        let note = raise(1e18).unwrap().unwrap();
        assert!(note.contains("2000000000000000"), "{note}");
        assert_eq!(raise(10.0), Ok(None));
    }
}
