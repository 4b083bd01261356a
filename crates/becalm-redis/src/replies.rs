//! Where does each reply of a connection end, is it too long, and has somebody asked for it?
//!
//! A reply says how long it is before it comes. redis's own connection reads it to its end all the same, for as long as it
//! takes: the time-out of an answer ends the wait of its caller alone. And it gives each reply to the command that has
//! waited longest, so that one reply too many would go to the next command, and shift all later ones. Here both directions
//! are read along (RESP, "Redis serialization protocol specification", redis.io).

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Why a connection is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    TooLong { most: u64 },
    Unasked,
}

impl Unfit {
    /// What `error` says of a connection, if it is of these.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { most } => write!(
                f,
                "the answer has more than {most} bytes, and its connection was given up: ask for less at once, or raise Builder::answer_bytes"
            ),
            Self::Unasked => f.write_str(
                "the server sent an answer to no command, and its connection was given up",
            ),
        }
    }
}

impl std::error::Error for Unfit {}

/// The kind is one that redis takes for the end of a connection.
impl From<Unfit> for io::Error {
    fn from(unfit: Unfit) -> Self {
        Self::new(io::ErrorKind::ConnectionAborted, unfit)
    }
}

/// A stream of commands and replies, which are told apart.
#[derive(Debug)]
pub(crate) struct Replies<S> {
    stream: S,
    commands: Frames,
    /// One for each command, and none besides: where it is not so (subscriptions, `MONITOR`), the command is refused.
    answers: Frames,
    /// What has come after replies that are handed on first.
    unfit: Option<Unfit>,
}

impl<S> Replies<S> {
    pub fn new(stream: S, most: u64) -> Self {
        Self {
            stream,
            commands: Frames::new(u64::MAX),
            answers: Frames::new(most),
            unfit: None,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Replies<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Some(unfit) = this.unfit {
            return Poll::Ready(Err(unfit.into()));
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        let read = buffer.filled().get(before..).unwrap_or_default();
        if let Err((fit, unfit)) = this.answers.read(read, this.commands.begun) {
            this.unfit = Some(unfit);
            if fit == 0 {
                return Poll::Ready(Err(unfit.into()));
            }
            buffer.set_filled(before + fit);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Replies<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, data);
        if let Poll::Ready(Ok(written)) = &polled {
            self.commands
                .read(data.get(..*written).unwrap_or_default(), u64::MAX)
                .map_err(|(_, unfit)| unfit)?;
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Reads values along, which it does not keep.
#[derive(Debug)]
pub(crate) struct Frames {
    most: u64,
    /// Bytes of this value so far, with those that it has announced.
    length: u64,
    /// How many values have begun. Pushes (RESP3), which come of themselves, are not counted, nor what a server says first that takes no
    /// more clients.
    begun: u64,
    /// How many values each of the lists has left in which this one is.
    open: Vec<u64>,
    at: At,
}

#[derive(Debug, Clone, Copy)]
enum At {
    Kind,
    /// The line of such a value; of those with a length or a count, what it says so far.
    Line(u8, i64),
    /// The rest of a text, and its line's end.
    Text(u64),
}

impl Frames {
    pub const fn new(most: u64) -> Self {
        Self {
            most,
            length: 0,
            begun: 0,
            open: Vec::new(),
            at: At::Kind,
        }
    }

    /// Reads these bytes along. At most `allowed` values may have begun in all. If a value does not fit, the error says how
    /// many of the bytes belong to values before it.
    fn read(&mut self, all: &[u8], allowed: u64) -> Result<(), (usize, Unfit)> {
        let (mut bytes, mut fit) = (all, 0);
        while let [byte, ..] = bytes {
            if self.is_between() {
                fit = all.len() - bytes.len();
                let is_counted = *byte != b'>' && !(*byte == b'-' && self.begun == 0);
                self.begun += u64::from(is_counted);
                if self.begun > allowed {
                    return Err((fit, Unfit::Unasked));
                }
            }
            let read = self.step(bytes).map_err(|unfit| (fit, unfit))?;
            bytes = bytes.get(read..).unwrap_or_default();
        }
        Ok(())
    }

    /// Reads these bytes along up to the end of the value that is open: how many they are, if it ends in them.
    pub fn value(&mut self, mut bytes: &[u8]) -> Result<Option<usize>, Unfit> {
        let mut length = 0;
        while !bytes.is_empty() {
            let read = self.step(bytes)?;
            bytes = bytes.get(read..).unwrap_or_default();
            length += read;
            if self.is_between() {
                return Ok(Some(length));
            }
        }
        Ok(None)
    }

    fn is_between(&self) -> bool {
        self.open.is_empty() && matches!(self.at, At::Kind)
    }

    /// Reads one byte, or what there is of a text: how many they are.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, Unfit> {
        let At::Text(left) = self.at else {
            self.next(bytes.first().copied().unwrap_or_default())?;
            return Ok(1);
        };
        // It was counted when it was announced.
        let come = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
        match left - come as u64 {
            0 => self.value_ends(),
            left => self.at = At::Text(left),
        }
        Ok(come)
    }

    /// A byte that is not of a text.
    fn next(&mut self, byte: u8) -> Result<(), Unfit> {
        self.add(1)?;
        match (self.at, byte) {
            (At::Line(kind, number), b'\n') => self.line_ends(kind, number)?,
            (At::Line(kind, 0), b'-') => self.at = At::Line(kind, -1),
            (At::Line(kind, number @ 0..), b'0'..=b'9') => {
                let digit = i64::from(byte - b'0');
                self.at = At::Line(kind, number.saturating_mul(10).saturating_add(digit));
            }
            (At::Line(..), _) => {}
            (At::Kind | At::Text(_), kind) => self.at = At::Line(kind, 0),
        }
        Ok(())
    }

    fn add(&mut self, bytes: u64) -> Result<(), Unfit> {
        self.length = self.length.saturating_add(bytes);
        if self.length > self.most {
            return Err(Unfit::TooLong { most: self.most });
        }
        Ok(())
    }

    fn line_ends(&mut self, kind: u8, number: i64) -> Result<(), Unfit> {
        let number = u64::try_from(number).ok();
        match (kind, number) {
            (b'$' | b'=' | b'!', Some(length)) => {
                self.add(length.saturating_add(2))?;
                self.at = At::Text(length.saturating_add(2));
            }
            (b'*' | b'~' | b'>', Some(count @ 1..)) => self.opens(count),
            (b'%', Some(count @ 1..)) => self.opens(count.saturating_mul(2)),
            // Attributes come before the value that they are of.
            (b'|', Some(count)) => self.opens(count.saturating_mul(2).saturating_add(1)),
            _ => self.value_ends(),
        }
        Ok(())
    }

    fn opens(&mut self, count: u64) {
        self.open.push(count);
        self.at = At::Kind;
    }

    fn value_ends(&mut self) {
        self.at = At::Kind;
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return;
            }
            self.open.pop();
        }
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    fn frames(most: u64, text: &str) -> (Result<(), Unfit>, Frames) {
        let mut frames = Frames::new(most);
        let read = frames.read(text.as_bytes(), u64::MAX);
        (read.map_err(|(_, unfit)| unfit), frames)
    }

    #[test]
    fn each_kind_of_value_ends_where_it_ends() {
        for (text, values) in [
            ("+OK\r\n:1\r\n$5\r\nhello\r\n$-1\r\n$0\r\n\r\n", 5),
            ("*2\r\n+a\r\n*1\r\n$1\r\nb\r\n*0\r\n*-1\r\n", 3),
            (
                "%1\r\n+a\r\n:1\r\n~2\r\n#t\r\n_\r\n,1.5\r\n(12\r\n=7\r\ntxt:abc\r\n",
                5,
            ),
            ("|1\r\n+a\r\n:1\r\n+OK\r\n", 1),
            ("+OK\r\n>2\r\n+message\r\n+a\r\n", 1),
            ("-ERR max number of clients reached\r\n", 0),
            ("+OK\r\n-ERR another\r\n", 2),
            ("$5\r\n*1\r\n+\r\n", 1),
        ] {
            let (read, frames) = frames(1_000, text);
            assert_eq!((read, frames.begun), (Ok(()), values), "{text}");
            assert!(
                matches!(frames.at, At::Kind) && frames.open.is_empty(),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_too_long_is_refused_where_it_is_announced() {
        let too_long = Err(Unfit::TooLong { most: 100 });
        for text in [
            "$2147483648\r\n",
            "$99999999999999999999\r\n",
            "*2\r\n$50\r\n",
        ] {
            assert_eq!(
                frames(100, text).0.is_err(),
                text != "*2\r\n$50\r\n",
                "{text}"
            );
        }
        let many = format!("*100\r\n{}", ":1\r\n".repeat(30));
        assert_eq!(frames(100, &many).0, too_long);
        let exact = format!("$92\r\n{}\r\n", "x".repeat(92));
        assert_eq!(frames(99, &exact).0, Ok(()), "{}", exact.len());
        assert_eq!(frames(98, &exact).0, Err(Unfit::TooLong { most: 98 }));
        // The next begins anew.
        assert_eq!(frames(100, &exact.repeat(10)).0, Ok(()));
    }

    #[tokio::test]
    async fn an_answer_to_no_command_ends_the_connection() {
        let (stream, mut server) = duplex(1_000);
        let mut client = Replies::new(stream, 1_000);
        client
            .write_all(b"*1\r\n$4\r\nPING\r\n")
            .await
            .expect("it is written");
        server.write_all(b"+PONG\r\n").await.expect("it is written");
        let mut read = [0; 100];
        assert_eq!(client.read(&mut read).await.expect("an answer"), 7);
        server.write_all(b"+PO").await.expect("it is written");
        let error = client
            .read(&mut read)
            .await
            .expect_err("it was not asked for");
        assert_eq!(Unfit::of(&error), Some(Unfit::Unasked));
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic_and_pieces_make_no_difference(
            bytes in proptest::collection::vec(prop_oneof![Just(b'*'), Just(b'$'), Just(b'1'), Just(b'-'), Just(b'\r'), Just(b'\n'), Just(b'%'), Just(b'|'), any::<u8>()], 0..200),
            cut in 0..200_usize,
        ) {
            let mut whole = Frames::new(1_000);
            let read = whole.read(&bytes, 5);
            let mut pieces = Frames::new(1_000);
            let cut = cut.min(bytes.len());
            let piecewise = pieces.read(&bytes[..cut], 5).and_then(|()| pieces.read(&bytes[cut..], 5));
            let unfit = |read: Result<(), (usize, Unfit)>| read.map_err(|(_, unfit)| unfit);
            prop_assert_eq!(unfit(read), unfit(piecewise));
            if let Err((fit, _)) = read {
                let mut before = Frames::new(1_000);
                prop_assert_eq!(before.read(&bytes[..fit], 5), Ok(()));
                prop_assert!(before.open.is_empty() && matches!(before.at, At::Kind));
            }
        }
    }
}
