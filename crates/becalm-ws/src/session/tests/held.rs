//! Is what sessions keep counted by what it holds? Measured by the allocator.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};

use allocation_counter::measure;
use becalm::time::FakeSleeper;
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::line::{Line, settings};
use super::network::Task;
use crate::session::{Envelope, Sessions};

const SESSIONS: u64 = 50;

/// A piece of the buffer of a connection, beside a filler or a ping.
fn piece(bytes: &[u8]) -> Bytes {
    let mut buffer = vec![7; 64 << 10];
    buffer[..bytes.len()].copy_from_slice(bytes);
    Bytes::from(buffer).slice(..bytes.len())
}

/// What sessions that wait for a connection hold after this, and what they count.
fn held(user: &'static str, then: impl Fn(&mut Line)) -> (i64, usize) {
    let mut kept = None;
    let clock = FakeSleeper::new();
    let measured = measure(|| {
        let sessions: Sessions = settings(&clock).per_user(1000).open();
        for _ in 0..SESSIONS {
            let (mut line, _) = Line::fresh(&sessions, user);
            then(&mut line);
            line.ends();
        }
        kept = Some(sessions);
    });
    let sessions = kept.expect("sessions");
    assert_eq!(sessions.counts().detached as u64, SESSIONS);
    (measured.bytes_current, sessions.counts().bytes)
}

/// What the client has sent, as a piece of its connection's buffer.
fn arrives(line: &mut Line, number: u64, message: &str) -> Message {
    let message = message.into();
    let data = Envelope::Data {
        number,
        received: 0,
        message,
    };
    let data = Message::Binary(piece(&data.write().into_data()));
    line.pipe.lock().at_server.push_back(data);
    line.task.poll().expect("a message").expect("no loss")
}

fn assert_counted(what: &str, (held, counted): (i64, usize)) {
    println!("{what}: {held} bytes held, {counted} counted");
    let counted = i64::try_from(counted).expect("few");
    assert!(
        held <= 2 * counted,
        "{what}: {held} held, {counted} counted"
    );
}

#[test]
fn sessions_hold_at_most_twice_what_they_count() {
    let nothing = held("ada", |_| ());
    assert_counted("nothing", nothing);
    let long: &'static str = "a".repeat(100_000).leak();
    // Each session of a user that comes back has its name once.
    assert_counted("a long name", held(long, |_| ()));
    assert_counted("many short messages", {
        held("ada", |line| {
            let handle = line.handle();
            for _ in 0..100 {
                handle.try_send(Message::Binary(piece(b"1"))).expect("room");
            }
        })
    });
    assert_counted("what came goes back", {
        held("ada", |line| {
            for number in 1..=20 {
                let came = arrives(line, number, "twenty characters...");
                line.handle().try_send(came).expect("room");
            }
        })
    });
    assert_counted("all but one is confirmed", {
        held("ada", |line| {
            let handle = line.handle();
            for _ in 0..120 {
                handle.try_send("1").expect("room");
            }
            for _ in 0..120 {
                let _ = (line.task.poll(), line.pipe.lock().down.clear());
            }
            assert!(line.say(&Envelope::Ack(119)).is_none());
        })
    });
}

#[test]
fn what_an_application_has_got_keeps_no_buffer_of_its_connection() {
    let clock = FakeSleeper::new();
    let sessions = settings(&clock).open();
    let (mut line, _) = Line::fresh(&sessions, "ada");
    let mut got = Vec::new();
    let measured = measure(|| {
        for number in 1..=100 {
            got.push(arrives(&mut line, number, "twenty characters..."));
        }
    });
    assert!(
        measured.bytes_current <= 100 * 200,
        "{}",
        measured.bytes_current
    );
}

const MESSAGES: u64 = 40;

/// The client sends so many messages, and the application, which waits for room, reads ahead.
fn reads_ahead(line: &mut Line) {
    for number in 1..=MESSAGES {
        let message = "y".repeat(200).into();
        let data = Envelope::Data {
            number,
            received: 0,
            message,
        };
        line.pipe.lock().at_server.push_back(data.write());
    }
    let Task::Serves(socket) = &mut line.task else {
        panic!("it serves");
    };
    let context = &mut Context::from_waker(Waker::noop());
    let mut socket = Pin::new(&mut **socket);
    while socket.as_mut().poll_ready(context).is_ready() {
        socket
            .as_mut()
            .start_send("x".repeat(900).into())
            .expect("no loss");
    }
}

#[test]
fn what_is_read_ahead_is_bounded_for_all_sessions() {
    let clock = FakeSleeper::new();
    // Half of the sessions keep and read ahead as much as they may; then all together have no more for what is ahead.
    let sessions = settings(&clock).window(10_000).bytes(535_000).open();
    let (mut lines, mut ahead) = (Vec::new(), 0);
    for _ in 0..SESSIONS {
        let (mut line, _) = Line::fresh(&sessions, "ada");
        reads_ahead(&mut line);
        ahead += 264 * (MESSAGES - line.pipe.lock().at_server.len() as u64);
        lines.push(line);
    }
    println!("{ahead} bytes are read ahead");
    assert!((200_000..300_000).contains(&ahead), "{ahead}");
    // All of it comes, when the application takes it.
    for line in &mut lines {
        for _ in 0..MESSAGES {
            assert!(matches!(line.task.poll(), Some(Ok(_))));
        }
    }
    for line in lines {
        line.ends();
    }
}

#[test]
fn what_was_read_ahead_of_a_connection_that_is_gone_is_forgotten() {
    let clock = FakeSleeper::new();
    let sessions = settings(&clock)
        .window(10_000)
        .bytes(10_000_000)
        .per_user(1000)
        .open();
    let ahead = || sessions.shared.ahead.load(Ordering::SeqCst);
    for _ in 0..SESSIONS {
        let (mut line, _) = Line::fresh(&sessions, "ada");
        reads_ahead(&mut line);
        assert!(ahead() > 0);
        drop(line);
        assert_eq!(ahead(), 0);
    }
    assert_eq!(sessions.counts().detached as u64, SESSIONS);
}
