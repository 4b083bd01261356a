//! How many servers does a drill of reconnects take, and may their processes have as many open files as that asks?

/// The most clients of one server: half of the ports between two addresses. From there on Linux takes long to find a
/// free one, and a listening socket that is handed over has one address.
const PER_SERVER: u32 = 14_000;

/// The most servers.
const MOST: u32 = 16;

/// Open files of a process that are no sockets of clients. The one that starts the others has no more than these.
const OTHERS: u64 = 128;

/// As few as will do for so many clients, if each process may have this many open files. Each server has clients, a port and a process of
/// clients of its own: servers that share a port would get each other's clients back, and no sessions with them.
///
/// # Errors
///
/// A sentence: more servers would be needed than can be had.
pub fn needed(clients: u32, allowed: u64) -> Result<u32, String> {
    let servers = clients.div_ceil(room(allowed).clamp(1, PER_SERVER));
    if room(allowed) == 0 || servers > MOST {
        Err(too_few(clients, allowed))
    } else {
        Ok(servers)
    }
}

/// For how many clients a process has descriptors. A connection that is refused, or whose other end has gone, keeps its own for a while: half
/// as many again.
fn room(allowed: u64) -> u32 {
    let room = allowed.saturating_sub(OTHERS).saturating_mul(2) / 3;
    u32::try_from(room).unwrap_or(u32::MAX)
}

/// How many descriptors a process needs that has so many clients.
fn descriptors(clients: u32) -> u64 {
    (u64::from(clients) * 3).div_ceil(2) + OTHERS
}

/// What is said where the limit on open files is too low for so many clients.
fn too_few(clients: u32, allowed: u64) -> String {
    let needed = descriptors(clients.div_ceil(MOST));
    let possible = room(allowed).saturating_mul(MOST);
    let lower = match possible {
        0 => String::new(),
        _ => format!(", or lower --clients to {possible}"),
    };
    format!(
        "--clients {clients} would need {MOST} servers with {needed} open files each, and this system allows \
         {allowed}; raise the hard limit (ulimit -Hn) to {needed}{lower}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_few_as_the_limit_and_the_ports_allow() {
        for (clients, allowed, servers) in [
            (1, 1_024, 1),
            (10_000, 20_000, 1),
            (100_000, 20_000, 8),
            (100_000, u64::MAX, 8),
            (10_000, 4_096, 4),
        ] {
            assert_eq!(needed(clients, allowed), Ok(servers), "{clients} {allowed}");
        }
    }

    #[test]
    fn too_low_a_limit_is_refused_with_what_would_do() {
        for (clients, allowed) in [(100_000, 4_096), (2_000, 200), (1, 0), (1, 129)] {
            let words = needed(clients, allowed).unwrap_err();
            let enough = descriptors(clients.div_ceil(MOST));
            assert!(words.contains(&format!("-Hn) to {enough}")), "{words}");
            assert!(needed(clients, enough).is_ok(), "{words}");
            assert!(needed(clients, enough - 1).is_err(), "{words}");
            let possible = room(allowed) * MOST;
            let ends = format!("or lower --clients to {possible}");
            assert_eq!(words.ends_with(&ends), possible > 0, "{words}");
            assert!(possible == 0 || needed(possible, allowed).is_ok());
        }
    }
}
