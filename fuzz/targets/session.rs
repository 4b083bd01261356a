//! What a client may send to a server that keeps sessions: any bytes are an envelope or an error, an envelope is
//! written as it was read, and no sequence of them makes the server keep more than it may, or a message come twice.
#![no_main]

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use becalm::rng::Seed;
use becalm::time::FakeSleeper;
use becalm_ws::Message;
use becalm_ws::session::{Envelope, SessionSettings};
use futures_core::Stream;
use futures_sink::Sink;
use libfuzzer_sys::fuzz_target;

/// What is left to come, and how much of it was a message of the application.
struct Wire(Vec<Message>, Vec<u64>);

impl Stream for Wire {
    type Item = Result<Message, ()>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop().map(Ok))
    }
}

impl Sink<Message> for Wire {
    type Error = ();

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        Poll::Ready(Ok(()))
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> Result<(), ()> {
        if let Ok(Envelope::Data { number, .. }) = Envelope::read(&message) {
            self.1.push(number);
        }
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        Poll::Ready(Ok(()))
    }
}

// Messages, each behind a byte that is its length.
fuzz_target!(|input: &[u8]| {
    let mut messages = Vec::new();
    let mut rest = input;
    while let Some((&length, more)) = rest.split_first() {
        let (message, more) = more.split_at(more.len().min(length.into()));
        let came = Message::Binary(message.to_vec().into());
        if let Ok(read) = Envelope::read(&came) {
            // A reason that a later version has added is read as one of today's.
            let is_later = message[0] == 3 && message[1] > 10;
            assert!(is_later || read.write() == came, "{read:?}");
        }
        messages.push(came);
        rest = more;
    }
    messages.reverse();

    let settings = SessionSettings::default().window(1_000).longest(100);
    let settings = settings.sleeper(Arc::new(FakeSleeper::new()));
    let sessions = settings.seed(Seed::fixed(1)).open();
    let context = &mut Context::from_waker(Waker::noop());
    {
        let mut accepts = pin!(sessions.accept(Wire(messages, Vec::new()), "eve"));
        let Poll::Ready(Ok(mut socket)) = accepts.as_mut().poll(context) else {
            return;
        };
        for number in 0..4 {
            let _ = socket.handle().try_send(number.to_string());
        }
        while let Poll::Ready(Some(Ok(message))) = Pin::new(&mut socket).poll_next(context) {
            assert!(message.len() <= 100);
        }
        // Each once, in order.
        let numbers = &socket.get_ref().1;
        assert!(numbers.iter().copied().eq(1..=numbers.len() as u64));
    }
    let counts = sessions.counts();
    assert_eq!(counts.attached, 0);
    assert!(counts.bytes <= 1_000 + 1_024);
});
