//! Does a client of this crate live through a drain with one dial?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use becalm_admission::TicketKeys;
use becalm_ws::Event;
use becalm_ws::server::Drain;
use futures_util::{SinkExt, StreamExt};

use crate::servers::{KINDS, Running, open};
use crate::within;

#[tokio::test]
async fn a_client_is_back_at_the_successor_with_one_dial_and_its_ticket() {
    for kind in KINDS {
        let keys = TicketKeys::new(1, &[7; 32]).unwrap();
        let server = open().tickets(keys.clone()).server().unwrap();
        // Open across the restart, as a hand-over keeps it.
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = server.listen_on(socket.try_clone().unwrap()).unwrap();
        let before = Running::on(kind, server, listener);
        let dials = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&dials);
        let client = before.client().observer(move |event| {
            if let Event::Dials(_) = event {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        let mut client = client.open().unwrap();
        within(client.send("one".into())).await.unwrap();
        assert_eq!(
            within(client.next()).await.unwrap().unwrap().to_string(),
            "one"
        );

        let successor = open().tickets(keys).server().unwrap();
        let listener = successor.listen_on(socket).unwrap();
        let lives = tokio::spawn(async move {
            while dials.load(Ordering::SeqCst) < 2 {
                let polled = tokio::time::timeout(Duration::from_millis(10), client.next()).await;
                assert!(polled.is_err(), "{polled:?}");
            }
            (client, dials)
        });
        let drained = within(before.server.drain(Drain::per_second(100))).await;
        assert_eq!((drained.ended, drained.left), (1, 0));
        let after = Running::on(kind, successor, listener);
        let (mut client, dials) = within(lives).await.unwrap();
        within(client.send("two".into())).await.unwrap();
        assert_eq!(
            within(client.next()).await.unwrap().unwrap().to_string(),
            "two"
        );
        assert_eq!(dials.load(Ordering::SeqCst), 2, "{kind:?}");
        assert_eq!(after.server.metrics().admission.ticket, 1, "{kind:?}");
    }
}
