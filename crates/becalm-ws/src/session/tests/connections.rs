//! What does one connection of a session say and hear, and how does it end?

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::time::FakeSleeper;
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Message;

use super::line::{Flag, Line, settings};
use super::network::{Cut, Pipe, Task};
use crate::Refused;
use crate::session::envelope::{Envelope, Hello};
use crate::session::{Began, Cold, Lost, SessionSocket};

#[test]
fn a_later_connection_takes_over_and_the_first_gives_nothing_more() {
    let sessions = settings(&FakeSleeper::new()).open();
    let (mut first, known) = Line::fresh(&sessions, "ada");
    assert_eq!(first.sends(1), Some("1".into()));
    let flag = Arc::<Flag>::default();
    let waker = Waker::from(Arc::clone(&flag));
    assert!(first.task.poll_with(&waker).is_none());
    // Read by nobody yet.
    let late = Envelope::Data {
        number: 2,
        received: 0,
        message: "2".into(),
    };
    first.pipe.lock().at_server.push_back(late.write());
    let hello = Hello {
        sent: 2,
        ..known.again(2)
    };
    let mut second = Line::new(&sessions, "ada", hello);
    assert_eq!(second.began(), Began::Resumed);
    assert!(flag.0.load(Ordering::SeqCst), "the first was woken");
    assert!(matches!(
        second.hear(),
        Some(Envelope::Resumed { received: 1, .. })
    ));
    assert!(matches!(
        first.task.poll(),
        Some(Err(Some(Lost::TakenOver)))
    ));
    assert!(matches!(
        first.pipe.lock().down.back(),
        Some(Message::Close(Some(_)))
    ));
    drop(first);
    assert_eq!(second.sends(2), Some("2".into()));
    assert!(second.handle().is_attached());
}

#[test]
fn who_sends_too_much_waits_and_is_woken() {
    let sessions = settings(&FakeSleeper::new())
        .window(1_000)
        .bytes(1_200)
        .open();
    let (mut line, _) = Line::fresh(&sessions, "ada");
    let _ = (line.task.poll(), line.pipe.lock().down.clear());
    let handle = line.handle();
    handle.try_send("x".repeat(800)).unwrap();
    assert_eq!(handle.try_send("more"), Ok(()));
    let full = "x".repeat(200);
    assert!(matches!(
        handle.try_send(full.clone()),
        Err(Refused::Full(_))
    ));
    assert!(matches!(
        handle.try_send("x".repeat(1_000)),
        Err(Refused::TooLong(_))
    ));

    // There is no room in the window, and the client makes some.
    let flag = Arc::<Flag>::default();
    let waker = Waker::from(Arc::clone(&flag));
    let context = &mut Context::from_waker(&waker);
    let mut sends = Box::pin(handle.send(full.clone()));
    assert!(sends.as_mut().poll(context).is_pending());
    let _ = line.task.poll();
    assert!(!flag.0.load(Ordering::SeqCst));
    assert!(line.say(&Envelope::Ack(1)).is_none());
    assert!(flag.0.swap(false, Ordering::SeqCst));
    assert_eq!(sends.as_mut().poll(context), Poll::Ready(Ok(())));

    // There is none among all, and another client makes some.
    let (other, _) = Line::fresh(&sessions, "bob");
    other.handle().try_send("x".repeat(700)).unwrap();
    let other = other.handle();
    let mut sends = Box::pin(other.send("x".repeat(100)));
    assert!(sends.as_mut().poll(context).is_pending());
    let _ = line.task.poll();
    assert!(line.say(&Envelope::Ack(3)).is_none());
    assert!(flag.0.swap(false, Ordering::SeqCst));
    assert_eq!(sends.as_mut().poll(context), Poll::Ready(Ok(())));
    assert_eq!(sessions.counts().bytes, 764 + 164);
}

#[test]
fn who_waits_for_room_hears_what_lies_behind_messages() {
    let sessions = settings(&FakeSleeper::new()).window(1_000).open();
    let (mut line, _) = Line::fresh(&sessions, "ada");
    let handle = line.handle();
    handle.try_send("x".repeat(900)).unwrap();
    let _ = line.task.poll();
    for number in 1..4 {
        let message = number.to_string().into();
        let data = Envelope::Data {
            number,
            received: 0,
            message,
        };
        line.pipe.lock().at_server.push_back(data.write());
    }
    line.pipe
        .lock()
        .at_server
        .push_back(Envelope::Ack(1).write());
    let Task::Serves(socket) = &mut line.task else {
        panic!("it serves");
    };
    let context = &mut Context::from_waker(Waker::noop());
    let mut socket = Pin::new(&mut **socket);
    assert!(socket.as_mut().poll_ready(context).is_ready());
    socket.as_mut().start_send("x".repeat(900).into()).unwrap();
    assert!(socket.as_mut().poll_ready(context).is_ready());
    for number in 1..4 {
        let given = line.task.poll().and_then(Result::ok);
        assert_eq!(given, Some(number.to_string().into()));
    }
}

#[test]
fn an_end_by_either_side_is_the_end() {
    let sessions = settings(&FakeSleeper::new()).open();
    let (mut line, known) = Line::fresh(&sessions, "ada");
    assert!(line.sends(1).is_some());
    assert!(matches!(line.say(&Envelope::End), Some(Err(None))));
    assert_eq!(line.hear(), Some(Envelope::Ack(1)));
    assert!(!sessions.holds(known.id));

    let (mut line, known) = Line::fresh(&sessions, "ada");
    line.handle().end();
    assert!(matches!(
        line.task.poll(),
        Some(Err(Some(Lost::Over(Cold::Ended))))
    ));
    assert_eq!(line.hear(), Some(Envelope::End));
    assert_eq!(line.closed_with(), Some(1000));
    let again = Line::new(&sessions, "ada", known.again(2));
    assert_eq!(again.began(), Began::Cold(Cold::Ended));
}

#[test]
fn who_says_nothing_is_not_waited_for() {
    let clock = FakeSleeper::new();
    let sessions = settings(&clock).open();
    let pipe = Pipe::default();
    let mut task = Task::new(&sessions, &pipe, "ada");
    assert!(task.poll().is_none());
    clock.advance(Duration::from_secs(10));
    assert!(matches!(task.poll(), Some(Err(Some(Lost::NoHello)))));
}

#[test]
fn a_connection_that_is_being_closed_is_read_to_its_end() {
    let sessions = settings(&FakeSleeper::new()).open();
    let (mut line, known) = Line::fresh(&sessions, "ada");
    line.pipe.lock().is_deaf = true;
    line.handle().try_send("for the next connection").unwrap();
    for number in 1..3 {
        assert_eq!(line.sends(number), Some(number.to_string().into()));
    }
    line.ends();
    let hello = Hello {
        sent: 2,
        ..known.again(2)
    };
    let mut line = Line::new(&sessions, "ada", hello);
    let resumed = line.hear();
    assert!(
        matches!(resumed, Some(Envelope::Resumed { received: 2, .. })),
        "{resumed:?}"
    );
    assert!(line.task.poll().is_none());
    assert!(matches!(
        line.hear(),
        Some(Envelope::Data { number: 1, .. })
    ));
}

#[test]
fn who_takes_and_never_confirms_is_left() {
    let clock = FakeSleeper::new();
    let sessions = settings(&clock).open();
    let (mut line, known) = Line::fresh(&sessions, "ada");
    let handle = line.handle();
    for text in ["one", "two"] {
        handle.try_send(text).unwrap();
    }
    assert!(line.task.poll().is_none());
    clock.advance(Duration::from_secs(100));
    assert!(line.say(&Envelope::Ack(1)).is_none());
    // That it is there and sends says nothing of what it takes.
    for number in 1..12 {
        clock.advance(Duration::from_secs(10));
        let message = number.to_string().into();
        let data = Envelope::Data {
            number,
            received: 1,
            message,
        };
        assert!(matches!(line.say(&data), Some(Ok(_))));
        assert!(line.task.poll().is_none());
    }
    line.pipe.lock().down.clear();
    clock.advance(Duration::from_secs(10));
    assert!(matches!(
        line.task.poll(),
        Some(Err(Some(Lost::Unconfirmed)))
    ));
    let Some(Message::Close(Some(close))) = line.pipe.lock().down.pop_back() else {
        panic!("no close");
    };
    assert_eq!(u16::from(close.code), 1001);
    assert!(!handle.is_attached() && handle.over().is_none());
    // It is one of those that make room, and may come back.
    assert_eq!(sessions.counts().detached, 1);
    let hello = Hello {
        sent: 11,
        received: 1,
        confirmed: 0,
        ..known.again(2)
    };
    let mut line = Line::new(&sessions, "ada", hello);
    assert_eq!(line.began(), Began::Resumed);
    // With nothing to confirm nobody is left.
    assert!(line.say(&Envelope::Ack(1)).is_none());
    assert!(line.say(&Envelope::Ack(2)).is_none());
    clock.advance(Duration::from_secs(10_000));
    assert!(line.task.poll().is_none());
}

/// The sink of a connection with a full window, which was given one more message.
fn fed(line: &mut Line) -> Pin<&mut SessionSocket<super::network::Wire>> {
    line.handle().try_send("x".repeat(900)).unwrap();
    let context = &mut Context::from_waker(Waker::noop());
    let Task::Serves(socket) = &mut line.task else {
        panic!("it serves");
    };
    let mut socket = Pin::new(&mut **socket);
    assert!(socket.as_mut().poll_ready(context).is_ready());
    socket.as_mut().start_send("one more".into()).unwrap();
    socket
}

#[test]
fn a_message_that_was_fed_to_a_full_window_is_never_dropped_in_silence() {
    let sessions = settings(&FakeSleeper::new()).window(1_000).open();
    let context = &mut Context::from_waker(Waker::noop());
    let is_given_back = |closed: Poll<Result<(), Lost<Cut>>>| {
        let Poll::Ready(Err(Lost::Refused(Refused::Closed(message)))) = closed else {
            panic!("{closed:?}");
        };
        assert_eq!(message, "one more".into());
    };
    // It is closed.
    let (mut line, _) = Line::fresh(&sessions, "ada");
    is_given_back(fed(&mut line).poll_close(context));
    // It is lost.
    let (mut line, _) = Line::fresh(&sessions, "ada");
    let pipe = line.pipe.clone();
    let mut socket = fed(&mut line);
    assert!(socket.as_mut().poll_flush(context).is_pending());
    pipe.lock().is_over = true;
    is_given_back(socket.poll_flush(context));
    // There is room when it is closed.
    let (mut line, _) = Line::fresh(&sessions, "ada");
    let (handle, pipe) = (line.handle(), line.pipe.clone());
    let mut socket = fed(&mut line);
    assert!(socket.as_mut().poll_flush(context).is_pending());
    pipe.lock().at_server.push_back(Envelope::Ack(1).write());
    {
        use futures_core::Stream;
        assert!(socket.as_mut().poll_next(context).is_pending());
    }
    assert_eq!(
        socket.poll_close(context).map(Result::ok),
        Poll::Ready(Some(()))
    );
    assert_eq!(handle.unconfirmed_bytes(), 64 + "one more".len());
}

#[test]
fn a_close_comes_behind_the_last_confirmation() {
    let sessions = settings(&FakeSleeper::new()).open();
    let context = &mut Context::from_waker(Waker::noop());
    for by_frame in [true, false] {
        let (mut line, _) = Line::fresh(&sessions, "ada");
        assert!(line.sends(1).is_some() && line.sends(2).is_some());
        let Task::Serves(socket) = &mut line.task else {
            panic!("it serves");
        };
        let socket = Pin::new(&mut **socket);
        if by_frame {
            socket.start_send(Message::Close(None)).unwrap();
        } else {
            assert!(socket.poll_close(context).is_ready());
        }
        assert_eq!(line.hear(), Some(Envelope::Ack(2)), "{by_frame}");
    }
}
