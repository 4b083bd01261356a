//! What does HAProxy say of a request in its log?

use std::net::UdpSocket;
use std::time::Duration;

pub struct Log(UdpSocket);

impl Log {
    pub fn open() -> Self {
        let log = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        // A log without the line ends the test, and does not stall it.
        log.set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a time-out");
        Self(log)
    }

    /// The line of `global`, and that of `defaults`. Who connects and says nothing is in no line.
    pub fn lines(&self) -> [String; 2] {
        let to = self.0.local_addr().expect("an address");
        let defaults = "log global\n    option dontlognull\n    log-format \"retries=%rc\"";
        [format!("log {to} local0"), defaults.to_owned()]
    }

    /// What the line about the next request says; a `+` says that it went elsewhere.
    pub fn retries(&self) -> u32 {
        let mut line = [0; 2048];
        loop {
            let length = self.0.recv(&mut line).expect("a line of the log");
            let line = String::from_utf8_lossy(&line[..length]);
            let said = line.trim_end().rsplit_once("retries=");
            if let Some((_, number)) = said {
                return number.trim_start_matches('+').parse().expect("a number");
            }
        }
    }
}
