//! Which fault, in the word of a flag? `hold`, `delay:400ms`, `status:503`, `loss:0.3`, `stop:children`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use becalm::duration::parse;
use becalm::support::Human;
use serde::{Deserialize, Serialize};

/// What is broken on purpose, while it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Fault {
    /// A request that comes gets no answer until the fault is lifted; it goes when its client goes. Written `hold` or `hang`.
    Hold,
    /// As [`Fault::Hold`], but a request whose client has left is kept, and all are poured in when the fault is lifted, as a
    /// naive proxy does. Written `hold:forward`.
    Pour,
    /// Each answer begins this much later; the service does its work at once. Written `delay:400ms`.
    Delay(Duration),
    /// A connection on which a request comes is reset. Written `reset`.
    Reset,
    /// A request is answered with this status, 400 to 599, and does not reach the service. Written `status:503`.
    Status(u16),
    /// This share of the requests, above 0 and up to 1, gets no answer at all. Written `loss:0.3`.
    Loss(f64),
    /// Each connection gets at most so many bytes of answers a second. Written `slow:200` or `slow:10k` (10,000).
    Slow(u64),
    /// All connections together get at most so many bytes of answers a second. Written `bandwidth:1M` (1,000,000).
    Bandwidth(u64),
    /// A process of this machine stands still (SIGSTOP). Written `stop`, `stop:children` or `stop:group`.
    Stop(Reach),
}

/// Who stands still with a process that is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reach {
    /// Nobody.
    Process,
    /// All that it has started, and what these have: the workers of a server.
    Children,
    /// All of its process group.
    Group,
}

impl Fault {
    /// Whether only requests can be broken so, and not bare connections.
    pub const fn needs_requests(self) -> bool {
        matches!(self, Self::Status(_))
    }

    /// What is said of it in a report, as the end of "from 3 s to 5 s ...".
    pub fn sentence(self) -> String {
        match self {
            Self::Hold => "requests were held; those whose client left went with it".into(),
            Self::Pour => {
                "requests were held, and poured in afterwards even if their client had left".into()
            }
            Self::Delay(time) => format!("each answer came {} later", Human(time)),
            Self::Reset => "connections were reset".into(),
            Self::Status(status) => format!("requests were answered with {status}"),
            Self::Loss(share) => format!("{}% of the requests got no answer", share * 100.0),
            Self::Slow(rate) => format!("each connection got {rate} bytes of answers a second"),
            Self::Bandwidth(rate) => {
                format!("all connections together got {rate} bytes of answers a second")
            }
            Self::Stop(Reach::Process) => "the process stood still".into(),
            Self::Stop(Reach::Children) => "the process and what it had started stood still".into(),
            Self::Stop(Reach::Group) => "the process and its group stood still".into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Hold => f.write_str("hold"),
            Self::Pour => f.write_str("hold:forward"),
            Self::Delay(time) => write!(f, "delay:{}", Human(time)),
            Self::Reset => f.write_str("reset"),
            Self::Status(status) => write!(f, "status:{status}"),
            Self::Loss(share) => write!(f, "loss:{share}"),
            Self::Slow(rate) => write!(f, "slow:{rate}"),
            Self::Bandwidth(rate) => write!(f, "bandwidth:{rate}"),
            Self::Stop(Reach::Process) => f.write_str("stop"),
            Self::Stop(Reach::Children) => f.write_str("stop:children"),
            Self::Stop(Reach::Group) => f.write_str("stop:group"),
        }
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        fault.to_string()
    }
}

impl TryFrom<String> for Fault {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// What is said of a text that is no fault.
const UNKNOWN: &str = "no fault has this name; write hold, hold:forward, delay:400ms, reset, status:503, loss:0.3, slow:10k, \
                       bandwidth:1M, stop, stop:children or stop:group";
const VALUE: &str = "the fault takes no such value; write hold, hold:forward, reset, stop, stop:children or stop:group";
const STATUS: &str = "a status that says of a failure is 400 to 599; write status:503";
const SHARE: &str = "the share is not above 0 and up to 1; write loss:0.3";
const RATE: &str = "bytes a second are a whole number above 0, with k for thousands or M for millions; write slow:10k";

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let given =
            |example| value.ok_or_else(|| format!("the fault has no value; write {example}"));
        Ok(match (name, value) {
            ("hold" | "hang", None) => Self::Hold,
            ("hold" | "hang", Some("forward")) => Self::Pour,
            ("reset", None) => Self::Reset,
            ("stop", None) => Self::Stop(Reach::Process),
            ("stop", Some("children")) => Self::Stop(Reach::Children),
            ("stop", Some("group")) => Self::Stop(Reach::Group),
            ("delay", _) => Self::Delay(delay(given("delay:400ms")?)?),
            ("status", _) => Self::Status(status(given("status:503")?).ok_or(STATUS)?),
            ("loss", _) => Self::Loss(share(given("loss:0.3")?).ok_or(SHARE)?),
            ("slow", _) => Self::Slow(rate(given("slow:10k")?).ok_or(RATE)?),
            ("bandwidth", _) => Self::Bandwidth(rate(given("bandwidth:1M")?).ok_or(RATE)?),
            ("hold" | "hang" | "reset" | "stop", Some(_)) => return Err(VALUE.into()),
            _ => return Err(UNKNOWN.into()),
        })
    }
}

fn delay(text: &str) -> Result<Duration, String> {
    match parse(text) {
        Ok(Duration::ZERO) => Err("a delay of nothing is no fault; write delay:400ms".into()),
        Ok(time) => Ok(time),
        Err(error) => Err(format!("{error}; write delay:400ms")),
    }
}

fn status(text: &str) -> Option<u16> {
    text.parse().ok().filter(|it| (400..600).contains(it))
}

fn share(text: &str) -> Option<f64> {
    text.parse().ok().filter(|it| *it > 0.0 && *it <= 1.0)
}

/// Bytes a second.
fn rate(text: &str) -> Option<u64> {
    let (digits, scale) = match text.strip_suffix(['k', 'M']) {
        Some(digits) if text.ends_with('k') => (digits, 1_000),
        Some(digits) => (digits, 1_000_000),
        None => (text, 1),
    };
    let rate = digits.parse::<u64>().ok()?.checked_mul(scale);
    rate.filter(|it| *it > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_as_it_is_written() {
        for text in [
            "hold",
            "hold:forward",
            "delay:400ms",
            "delay:1.5s",
            "reset",
            "status:503",
            "loss:0.3",
            "loss:1",
            "slow:200",
            "bandwidth:1000000",
            "stop",
            "stop:children",
            "stop:group",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        assert_eq!("hang".parse(), Ok(Fault::Hold));
        assert_eq!("slow:10k".parse(), Ok(Fault::Slow(10_000)));
        assert_eq!("bandwidth:2M".parse(), Ok(Fault::Bandwidth(2_000_000)));
    }

    #[test]
    fn what_is_no_fault_is_refused_with_what_to_write() {
        for (text, remedy) in [
            ("", "write hold"),
            ("burn", "write hold"),
            ("hold:", "hold:forward"),
            ("reset:now", "takes no such value"),
            ("stop:all", "stop:children"),
            ("delay", "delay:400ms"),
            ("delay:", "delay:400ms"),
            ("delay:0", "delay:400ms"),
            ("delay:400", "no unit"),
            ("status", "status:503"),
            ("status:200", "400 to 599"),
            ("status:99999", "400 to 599"),
            ("loss:0", "loss:0.3"),
            ("loss:NaN", "loss:0.3"),
            ("loss:1.5", "loss:0.3"),
            ("slow:0", "slow:10k"),
            ("slow:k", "slow:10k"),
            ("bandwidth:99999999999999999M", "slow:10k"),
            ("bandwidth:-1", "slow:10k"),
        ] {
            let words = text.parse::<Fault>().unwrap_err();
            assert!(words.contains(remedy), "{text}: {words}");
        }
    }
}
