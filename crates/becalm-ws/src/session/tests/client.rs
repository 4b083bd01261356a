//! Does the client's half say and hear what the envelope asks for?

use becalm::time::Instant;
use tokio_tungstenite::tungstenite::{Message, protocol::WebSocketConfig};

use crate::session::envelope::{Envelope, HEAD, Hello};
use crate::session::{Cold, ProtocolError, Resume, Resuming, SessionId, Taken};

const NOW: Instant = Instant::ZERO;

fn cold(why: Cold, id: u128) -> Message {
    let id = SessionId::from_u128(id).unwrap();
    Envelope::Cold {
        why,
        longest: 100,
        window: 1_000,
        id,
        epoch: 5,
    }
    .write()
}

fn said(session: &mut Resuming) -> Envelope {
    Envelope::read(&session.next(NOW).expect("something to say")).unwrap()
}

/// A session with one message that is sent and not confirmed.
fn open() -> Resuming {
    let limits = WebSocketConfig::default().max_message_size(Some(1_000 + HEAD));
    let mut session = Resuming::new(Resume::default(), &limits);
    assert!(matches!(
        said(&mut session),
        Envelope::Hello(Hello { id: None, .. })
    ));
    let taken = session.take(&cold(Cold::New, 1));
    let is_first = |taken| {
        matches!(
            taken,
            Ok(Taken::Cold {
                why: Cold::New,
                is_first: true,
                ..
            })
        )
    };
    assert!(is_first(taken));
    assert_eq!(said(&mut session), Envelope::Ack(0));
    session.push("one".into());
    assert!(matches!(
        said(&mut session),
        Envelope::Data { number: 1, .. }
    ));
    session
}

#[test]
fn it_names_its_session_counts_its_dials_and_sends_again_what_is_lacking() {
    let mut session = open();
    for dial in 2..4 {
        session.connected();
        let hello = said(&mut session);
        let Envelope::Hello(hello) = hello else {
            panic!("{hello:?}")
        };
        assert_eq!(
            (hello.dial, hello.epoch, hello.sent, hello.confirmed),
            (dial, 5, 1, 0)
        );
        assert_eq!(hello.id, SessionId::from_u128(1));
        // Nothing is sent before the answer.
        assert_eq!(
            (session.next(NOW), session.has_room(&"two".into())),
            (None, false)
        );
    }
    let resumed = Envelope::Resumed {
        longest: 9,
        window: 9,
        received: 0,
    }
    .write();
    assert_eq!(session.take(&resumed), Ok(Taken::Resumed));
    assert_eq!(said(&mut session), Envelope::Ack(0));
    assert!(matches!(
        said(&mut session),
        Envelope::Data { number: 1, .. }
    ));
    assert_eq!(session.next(NOW), None);
    assert!(session.is_accepted(&"nine byte".into()) && !session.is_accepted(&"ten bytes.".into()));
}

#[test]
fn a_cold_start_tells_what_was_not_confirmed_and_sends_none_of_it() {
    let mut session = open();
    session.push("two".into());
    session.connected();
    let _ = said(&mut session);
    let expected = Taken::Cold {
        why: Cold::Epoch,
        is_first: false,
        unconfirmed: vec!["one".into()],
        unsent: vec!["two".into()],
    };
    assert_eq!(session.take(&cold(Cold::Epoch, 2)), Ok(expected));
    assert_eq!(said(&mut session), Envelope::Ack(0));
    assert_eq!(
        (session.next(NOW), session.id()),
        (None, SessionId::from_u128(2))
    );
}

#[test]
fn whoever_breaks_the_rules_gets_no_second_chance() {
    let resumed = |received| {
        Envelope::Resumed {
            longest: 9,
            window: 9,
            received,
        }
        .write()
    };
    let data = |number, received| {
        Envelope::Data {
            number,
            received,
            message: "x".into(),
        }
        .write()
    };
    let confirms = ProtocolError::Confirms { sent: 1, came: 2 };
    let number = |came| ProtocolError::Number { expected: 1, came };
    for (message, error) in [
        (data(1, 2), confirms),
        (data(2, 0), number(2)),
        (data(0, 0), number(0)),
        (Envelope::Ack(2).write(), confirms),
        (resumed(0), ProtocolError::OutOfPlace),
        (cold(Cold::New, 3), ProtocolError::OutOfPlace),
        ("text".into(), ProtocolError::NoEnvelope),
        (
            Envelope::Data {
                number: 1,
                received: 0,
                message: "x".repeat(1_001).into(),
            }
            .write(),
            ProtocolError::TooLong {
                length: 1_001,
                longest: 1_000,
            },
        ),
    ] {
        let mut session = open();
        assert_eq!(session.take(&message), Err(error));
        assert_eq!((session.id(), session.next(NOW)), (None, None));
        session.connected();
        assert!(matches!(
            said(&mut session),
            Envelope::Hello(Hello { id: None, .. })
        ));
        let taken = session.take(&cold(Cold::New, 4));
        assert!(
            matches!(
                taken,
                Ok(Taken::Cold {
                    why: Cold::Protocol,
                    ..
                })
            ),
            "{taken:?}"
        );
    }
    let mut session = open();
    session.connected();
    let _ = said(&mut session);
    assert_eq!(session.take(&resumed(2)), Err(confirms));
}

#[test]
fn an_end_is_the_last_word() {
    let mut session = open();
    session.push("two".into());
    let last = session.end();
    let last: Vec<_> = last
        .iter()
        .map(|message| Envelope::read(message).unwrap())
        .collect();
    assert!(
        matches!(last[..], [Envelope::Data { number: 2, .. }, Envelope::End]),
        "{last:?}"
    );
    assert_eq!(
        session.take(&Envelope::Ack(2).write()),
        Ok(Taken::Confirmed)
    );
    assert_eq!(
        (session.take_kept(), session.id()),
        ((vec![], vec![]), None)
    );
    // What the application was given is confirmed before.
    let mut session = open();
    let data = Envelope::Data {
        number: 1,
        received: 1,
        message: "x".into(),
    };
    assert_eq!(session.take(&data.write()), Ok(Taken::Arrived));
    assert!(session.hand_over(NOW).is_some());
    assert_eq!(
        session.end(),
        [Envelope::Ack(1).write(), Envelope::End.write()]
    );
    let mut session = open();
    assert_eq!(session.take(&Envelope::End.write()), Ok(Taken::Ended));
    assert_eq!(
        (session.take_kept().0, session.id()),
        (vec!["one".into()], None)
    );
}

#[test]
fn what_was_not_fetched_before_a_cut_comes_again() {
    let mut session = open();
    let data = Envelope::Data {
        number: 1,
        received: 0,
        message: "x".into(),
    };
    let resumed = Envelope::Resumed {
        longest: 9,
        window: 9,
        received: 1,
    };
    assert_eq!(session.take(&data.write()), Ok(Taken::Arrived));
    session.disconnected();
    // It is nobody's while it is not known how the next connection begins.
    assert!(!session.has_arrived());
    session.connected();
    let hello = said(&mut session);
    assert!(matches!(hello, Envelope::Hello(Hello { received: 0, .. })));
    assert_eq!(session.take(&resumed.write()), Ok(Taken::Resumed));
    assert_eq!(session.take(&data.write()), Ok(Taken::Arrived));
    assert_eq!(session.hand_over(NOW), Some("x".into()));
}
