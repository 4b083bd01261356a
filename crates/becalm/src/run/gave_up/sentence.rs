//! How is a give-up said? In one sentence, down to the root cause, and each cause once.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use super::{GaveUp, Last, Stopped};
use crate::causes::{causes, unsaid};
use crate::human::Human;

impl<E: Error + 'static> GaveUp<E> {
    /// Puts what lies below the last error into the sentence, down to the root cause. That is then no
    /// `source` any more.
    ///
    /// ```
    /// # use becalm::{GaveUp, Policy, time::FakeSleeper};
    /// # #[derive(Debug)] struct NoOrder(std::io::Error);
    /// # impl std::fmt::Display for NoOrder { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("no order") } }
    /// # impl std::error::Error for NoOrder { fn source(&self) -> Option<&(dyn std::error::Error + 'static)> { Some(&self.0) } }
    /// # impl becalm::Classify for NoOrder { fn classify(&self) -> becalm::Failure { becalm::Failure::permanent() } }
    /// # let orders = Policy::default().builder().sleeper(FakeSleeper::auto()).build()?;
    /// # let failed = || Err::<(), _>(NoOrder(std::io::ErrorKind::ConnectionRefused.into()));
    /// let gave_up = orders.retry_blocking(|_| failed()).map_err(GaveUp::with_causes).unwrap_err();
    /// assert!(gave_up.to_string().ends_with(": no order: connection refused"));
    /// # Ok::<(), becalm::policy::InvalidPolicy>(())
    /// ```
    #[must_use]
    pub fn with_causes(self) -> Self {
        self.with_causes_of(|error| Some(error))
    }
}

impl<E> GaveUp<E> {
    /// As [`with_causes`](Self::with_causes), for a driver whose error is none of Rust's but holds one, which says itself
    /// what the driver's says.
    #[must_use]
    pub fn with_causes_of(
        mut self,
        of: impl for<'e> FnOnce(&'e E) -> Option<&'e (dyn Error + 'static)>,
    ) -> Self {
        let known = self.error.as_ref().and_then(of);
        self.stopped.story.causes =
            known.and_then(|error| causes(&format_args!("{error:#}"), error));
        self
    }
}

/// The sentence without the error: "gave up after 4 attempts in 1.2s because ..", and how the last
/// attempt ended if that was no error.
impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attempts() {
            0 => f.write_str("gave up before the first attempt")?,
            1 => f.write_str("gave up after 1 attempt")?,
            more => write!(f, "gave up after {more} attempts")?,
        }
        let elapsed = self.story.elapsed;
        if !elapsed.is_zero() {
            let shown = in_millis(elapsed);
            if self.story.is_from_start {
                write!(f, " in {shown}")?;
            } else {
                write!(f, ", {shown} after the first failure,")?;
            }
        }
        if !self.story.for_tokens.is_zero() {
            write!(
                f,
                " ({} of it in wait for a token)",
                in_millis(self.story.for_tokens)
            )?;
        }
        write!(f, " because {}", self.reason())?;
        if let Some(probe_in) = self.next_probe() {
            // Up: who comes when it says must not come too early.
            let millis = u64::try_from(probe_in.as_nanos().div_ceil(1_000_000));
            let shown = Duration::from_millis(millis.unwrap_or(u64::MAX));
            write!(f, " for another {}", Human(shown))?;
        }
        f.write_str(match self.last() {
            Last::AttemptTimeout => ": the attempt timed out",
            Last::Error(()) | Last::Cancelled | Last::NotStarted => "",
        })
    }
}

/// Without what is below a millisecond, unless there is nothing else.
fn in_millis(time: Duration) -> Human {
    let below = Duration::from_nanos(u64::from(time.subsec_nanos() % 1_000_000));
    let rounded = time.saturating_sub(below);
    Human(if rounded.is_zero() { time } else { rounded })
}

impl<E: fmt::Display> fmt::Display for GaveUp<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stopped.fmt(f)?;
        match (self.stopped.last(), self.error()) {
            // A report, such as anyhow's, says its causes so.
            (Last::Error(()), Some(error)) => write!(f, ": {error:#}")?,
            (_, Some(error)) => write!(f, "; the error before: {error:#}")?,
            (_, None) => (),
        }
        f.write_str(self.stopped.story.causes.as_deref().unwrap_or_default())
    }
}

/// What lies below the last error and is not in the sentence is the source.
impl<E: Error + 'static> Error for GaveUp<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        unsaid(self, self.error()?)
    }
}

#[cfg(feature = "anyhow")]
impl<E: Into<anyhow::Error>> GaveUp<E> {
    /// The last error as an [`anyhow::Error`], under the sentence as its context.
    ///
    /// For operations whose error is `anyhow::Error` itself, which is no `std::error::Error`, so that `?` alone does not take it.
    ///
    /// ```
    /// use becalm::{GaveUp, Policy};
    ///
    /// async fn read() -> anyhow::Result<String> {
    ///     Ok(std::fs::read_to_string("/etc/hostname")?)
    /// }
    ///
    /// async fn name() -> anyhow::Result<String> {
    ///     let files = Policy::default().retrier()?; // once, and shared by all calls
    ///     files.retry(|_| read()).await.map_err(GaveUp::into_anyhow)
    /// }
    /// # let _ = name();
    /// ```
    pub fn into_anyhow(self) -> anyhow::Error {
        let sentence = self.stopped.to_string();
        match self.error {
            Some(error) => error.into().context(sentence),
            None => anyhow::Error::msg(sentence),
        }
    }
}
