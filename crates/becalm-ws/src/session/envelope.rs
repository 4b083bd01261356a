//! How does a message of a session look on the wire? The table is on the page `docs/websocket-sessions.md`.

use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};

use super::{Cold, SessionId};
use crate::protocol_error::{ProtocolError, VERSION};

const MAGIC: [u8; 4] = *b"bclm";
const HELLO: u8 = 1;
const RESUMED: u8 = 2;
const COLD: u8 = 3;
const TEXT: u8 = 4;
const BINARY: u8 = 5;
const ACK: u8 = 6;
const END: u8 = 7;

/// How much longer a message is in its envelope.
pub(crate) const HEAD: usize = 17;

/// A message as it travels.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Envelope {
    /// The client's first word on a connection.
    Hello(Hello),
    /// The session goes on.
    Resumed {
        /// The longest payload that the server accepts.
        longest: u32,
        /// The bytes that the server keeps unconfirmed.
        window: u32,
        /// What the server has received.
        received: u64,
    },
    /// The session is new.
    Cold {
        /// The reason.
        why: Cold,
        /// The longest payload that the server accepts.
        longest: u32,
        /// The bytes that the server keeps unconfirmed.
        window: u32,
        /// The name of the new session.
        id: SessionId,
        /// The server's epoch.
        epoch: u64,
    },
    /// A message of the application.
    Data {
        /// Its number.
        number: u64,
        /// What its sender has received.
        received: u64,
        /// A text or a binary.
        message: Message,
    },
    /// What its sender has received.
    Ack(u64),
    /// The session is over.
    End,
}

/// What a client says of itself and of the session that it had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hello {
    /// The longest payload that the client accepts.
    pub longest: u32,
    /// The bytes that the client keeps unconfirmed.
    pub window: u32,
    /// The session that it had.
    pub id: Option<SessionId>,
    /// The epoch of that.
    pub epoch: u64,
    /// The number of the connection within that, from 1.
    pub dial: u32,
    /// What it has received.
    pub received: u64,
    /// What the server has confirmed to it.
    pub confirmed: u64,
    /// What it has sent.
    pub sent: u64,
}

impl Hello {
    /// Asks for a new session.
    pub const fn new(longest: u32, window: u32) -> Self {
        Self {
            longest,
            window,
            id: None,
            epoch: 0,
            dial: 0,
            received: 0,
            confirmed: 0,
            sent: 0,
        }
    }
}

impl Envelope {
    /// Reads a message that has come. Pings, pongs and closes are none of a session's.
    pub fn read(message: &Message) -> Result<Self, ProtocolError> {
        let Message::Binary(bytes) = message else {
            return Err(ProtocolError::NoEnvelope);
        };
        let (&kind, rest) = bytes.split_first().ok_or(ProtocolError::NoEnvelope)?;
        if kind == TEXT || kind == BINARY {
            return Self::read_data(bytes);
        }
        let mut fields = Fields(rest);
        let read = match kind {
            HELLO => {
                if fields.take()? != MAGIC {
                    return Err(ProtocolError::NoEnvelope);
                }
                let [version] = fields.take()?;
                if version != VERSION {
                    return Err(ProtocolError::Version(version));
                }
                Self::Hello(Hello {
                    longest: fields.u32()?,
                    window: fields.u32()?,
                    id: SessionId::from_u128(fields.u128()?),
                    epoch: fields.u64()?,
                    dial: fields.u32()?,
                    received: fields.u64()?,
                    confirmed: fields.u64()?,
                    sent: fields.u64()?,
                })
            }
            RESUMED => Self::Resumed {
                longest: fields.u32()?,
                window: fields.u32()?,
                received: fields.u64()?,
            },
            COLD => Self::Cold {
                why: Cold::from_code(u8::from_be_bytes(fields.take()?)),
                longest: fields.u32()?,
                window: fields.u32()?,
                id: SessionId::from_u128(fields.u128()?).ok_or(ProtocolError::NoEnvelope)?,
                epoch: fields.u64()?,
            },
            ACK => Self::Ack(fields.u64()?),
            END => Self::End,
            _ => return Err(ProtocolError::NoEnvelope),
        };
        fields.end().map(|()| read)
    }

    fn read_data(bytes: &Bytes) -> Result<Self, ProtocolError> {
        let mut fields = Fields(&bytes[1..]);
        let (number, received) = (fields.u64()?, fields.u64()?);
        // A slice would keep the buffer of the connection, with whatever else came in it.
        let payload = Bytes::copy_from_slice(&bytes[HEAD..]);
        let message = if bytes[0] == TEXT {
            let text = Utf8Bytes::try_from(payload).map_err(|_| ProtocolError::NotText)?;
            Message::Text(text)
        } else {
            Message::Binary(payload)
        };
        Ok(Self::Data {
            number,
            received,
            message,
        })
    }

    /// The message to send.
    pub fn write(&self) -> Message {
        let mut out = Vec::new();
        match self {
            Self::Hello(hello) => {
                out.push(HELLO);
                out.extend(MAGIC);
                out.push(VERSION);
                out.extend(hello.longest.to_be_bytes());
                out.extend(hello.window.to_be_bytes());
                out.extend(hello.id.map_or(0, SessionId::as_u128).to_be_bytes());
                out.extend(hello.epoch.to_be_bytes());
                out.extend(hello.dial.to_be_bytes());
                out.extend(hello.received.to_be_bytes());
                out.extend(hello.confirmed.to_be_bytes());
                out.extend(hello.sent.to_be_bytes());
            }
            Self::Resumed {
                longest,
                window,
                received,
            } => {
                out.push(RESUMED);
                out.extend(longest.to_be_bytes());
                out.extend(window.to_be_bytes());
                out.extend(received.to_be_bytes());
            }
            Self::Cold {
                why,
                longest,
                window,
                id,
                epoch,
            } => {
                out.extend([COLD, why.code()]);
                out.extend(longest.to_be_bytes());
                out.extend(window.to_be_bytes());
                out.extend(id.as_u128().to_be_bytes());
                out.extend(epoch.to_be_bytes());
            }
            Self::Data {
                number,
                received,
                message,
            } => return data(*number, *received, message),
            Self::Ack(received) => {
                out.push(ACK);
                out.extend(received.to_be_bytes());
            }
            Self::End => out.push(END),
        }
        Message::Binary(out.into())
    }
}

/// A message of the application in its envelope: one allocation of the length that it needs.
pub(super) fn data(number: u64, received: u64, message: &Message) -> Message {
    let mut out = Vec::with_capacity(HEAD + message.len());
    out.push(if message.is_text() { TEXT } else { BINARY });
    out.extend(number.to_be_bytes());
    out.extend(received.to_be_bytes());
    match message {
        Message::Text(text) => out.extend(text.as_bytes()),
        Message::Binary(bytes) => out.extend(&bytes[..]),
        // Neither a ledger nor `read` holds anything else.
        _ => (),
    }
    Message::Binary(out.into())
}

/// What is left to read.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (head, rest) = self
            .0
            .split_first_chunk()
            .ok_or(ProtocolError::NoEnvelope)?;
        self.0 = rest;
        Ok(*head)
    }

    fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, ProtocolError> {
        self.take().map(u64::from_be_bytes)
    }

    fn u128(&mut self) -> Result<u128, ProtocolError> {
        self.take().map(u128::from_be_bytes)
    }

    fn end(self) -> Result<(), ProtocolError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(ProtocolError::NoEnvelope)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_kind() -> [(Envelope, usize); 7] {
        let id = SessionId::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10);
        let hello = Hello {
            id,
            epoch: 7,
            dial: 3,
            received: 5,
            confirmed: 6,
            sent: 9,
            ..Hello::new(1000, 2000)
        };
        let text = |message: Message| Envelope::Data {
            number: 258,
            received: 3,
            message,
        };
        let resumed = Envelope::Resumed {
            longest: 1,
            window: 2,
            received: 3,
        };
        let cold = Envelope::Cold {
            why: Cold::Gap,
            longest: 1,
            window: 2,
            id: id.unwrap(),
            epoch: 3,
        };
        [
            (Envelope::Hello(hello), 66),
            (resumed, 17),
            (cold, 34),
            (text("é".into()), 19),
            (text(vec![0xff, 0].into()), 19),
            (Envelope::Ack(4), 9),
            (Envelope::End, 1),
        ]
    }

    #[test]
    fn each_kind_has_the_length_of_the_table_and_reads_back() {
        for (kind, (envelope, length)) in (1..).zip(every_kind()) {
            let message = envelope.write();
            assert_eq!((message.len(), message.is_binary()), (length, true));
            let bytes = message.clone().into_data();
            assert_eq!(bytes[0], kind);
            assert_eq!(Envelope::read(&message), Ok(envelope));
            for short in 0..bytes.len().min(HEAD) {
                let cut = Message::Binary(bytes.slice(..short));
                assert_eq!(Envelope::read(&cut), Err(ProtocolError::NoEnvelope));
            }
        }
    }

    #[test]
    fn the_bytes_lie_where_the_table_says() {
        let [(hello, _), _, _, (text, _), ..] = every_kind();
        let hello = hello.write().into_data();
        assert_eq!(&hello[..6], b"\x01bclm\x01");
        assert_eq!(
            (&hello[6..10], &hello[10..14]),
            (&[0, 0, 3, 0xe8][..], &[0, 0, 7, 0xd0][..])
        );
        assert_eq!((hello[14], hello[29], hello[37], hello[41]), (1, 16, 7, 3));
        assert_eq!((hello[49], hello[57], hello[65]), (5, 6, 9));
        let text = text.write().into_data();
        assert_eq!(
            text,
            [
                &[4, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3][..],
                "é".as_bytes()
            ]
            .concat()
        );
    }

    #[test]
    fn what_is_of_another_form_is_an_error_with_a_name() {
        let read = |bytes: &[u8]| Envelope::read(&Message::Binary(bytes.to_vec().into()));
        assert_eq!(
            Envelope::read(&"hello".into()),
            Err(ProtocolError::NoEnvelope)
        );
        assert_eq!(read(&[7, 0]), Err(ProtocolError::NoEnvelope));
        assert_eq!(read(b"\x01bclm\x02"), Err(ProtocolError::Version(2)));
        assert_eq!(read(b"\x01http/1.1"), Err(ProtocolError::NoEnvelope));
        assert_eq!(
            read(&[&[4; 17][..], &[0xff]].concat()),
            Err(ProtocolError::NotText)
        );
    }
}
