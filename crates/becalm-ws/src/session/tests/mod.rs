//! Do both halves keep their word, whatever the network, the clock, the server and a hostile peer do? In virtual time.

mod client;
mod connections;
#[cfg(target_pointer_width = "64")]
mod held;
mod hostile;
mod line;
mod model;
mod network;
mod store;

use super::{Cold, Envelope, Hello, SessionId};

#[test]
fn the_page_tells_of_every_envelope_as_it_is() {
    // Read when the test runs: no page is in the package.
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/websocket-sessions.md"
    );
    let page = std::fs::read_to_string(path).unwrap();
    let message = |text: &str| text.into();
    let (number, received) = (1, 1);
    let id = SessionId::from_u128(1).unwrap();
    for (name, envelope) in [
        ("client | hello", Envelope::Hello(Hello::new(1, 1))),
        (
            "server | resumed",
            Envelope::Resumed {
                longest: 1,
                window: 1,
                received,
            },
        ),
        (
            "server | cold",
            Envelope::Cold {
                why: Cold::New,
                longest: 1,
                window: 1,
                id,
                epoch: 1,
            },
        ),
        (
            "both | text",
            Envelope::Data {
                number,
                received,
                message: message(""),
            },
        ),
        (
            "both | binary",
            Envelope::Data {
                number,
                received,
                message: Vec::new().into(),
            },
        ),
        ("both | ack", Envelope::Ack(received)),
        ("both | end", Envelope::End),
    ] {
        let written = envelope.write().into_data();
        let begin = format!("| {} | {name} |", written[0]);
        let row = page.lines().find(|line| line.starts_with(&begin));
        let row = row.unwrap_or_else(|| panic!("no row {begin}"));
        let length = format!("({} in all)", written.len());
        let in_bytes = format!("({} bytes in all)", written.len());
        // A payload begins behind the head.
        let begins = format!("; {}: the ", written.len());
        let is_told = [length, in_bytes, begins]
            .iter()
            .any(|words| row.contains(words));
        assert!(is_told, "{row}: {}", written.len());
    }
    for code in 0..=10 {
        let why = format!("{:?}", Cold::from_code(code)).to_lowercase();
        let why = why.replace("wronguser", "wrong user");
        assert!(
            page.replace('\n', " ").contains(&format!("{code} {why}")),
            "{code} {why}"
        );
    }
}
