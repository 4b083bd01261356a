//! Does a queue of RabbitMQ survive an outage of what ships its orders?

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use becalm::{Breaker, Cancel, Failure, Jitter, Policy};
use becalm_examples::rabbitmq_orders::{declare, run};
use becalm_fleet::consumer::Consume;
use futures_util::StreamExt;
use lapin::options::{BasicConsumeOptions, BasicPublishOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::servers::rabbitmq::{RabbitMq, is_there};

const POISON: usize = 5;
const ORDERS: usize = 30 * POISON;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn consume() -> Consume {
    let policy = Policy::exponential(millis(200))
        .jitter(Jitter::Equal)
        .attempts(5);
    let pause = Breaker::consecutive(3)
        .open(millis(200))
        .open_max(millis(1_000));
    Consume::new(policy.deadline(Duration::from_secs(6))).pause(pause.successes(1))
}

#[derive(Clone, Default)]
struct Shipper {
    is_down: Arc<AtomicBool>,
    shipped: Arc<Mutex<HashMap<usize, usize>>>,
    /// Good ones that were tried in vain.
    failed: Arc<Mutex<usize>>,
}

impl Shipper {
    fn ship(&self, order: &[u8]) -> Result<(), Failure> {
        let order: usize = std::str::from_utf8(order)
            .expect("text")
            .parse()
            .expect("a number");
        if order % 30 == 17 {
            return Err(Failure::transient());
        }
        if self.is_down.load(Ordering::SeqCst) {
            *self.failed.lock().expect("unpoisoned") += 1;
            return Err(Failure::transient());
        }
        *self
            .shipped
            .lock()
            .expect("unpoisoned")
            .entry(order)
            .or_default() += 1;
        Ok(())
    }
}

async fn publish(channel: &Channel, order: usize) {
    let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
    let order = order.to_string();
    let published = channel.basic_publish(
        "".into(),
        "orders".into(),
        options,
        order.as_bytes(),
        properties,
    );
    published.await.expect("it is published");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_kills_no_good_order_and_a_consumer_that_goes_loses_none() {
    if !is_there() {
        return;
    }
    let rabbitmq = RabbitMq::started().await;
    let url = rabbitmq.url();
    let connect = || Connection::connect(&url, ConnectionProperties::default());
    let connection = connect().await.expect("it is ready");
    let channel = connection.create_channel().await.expect("a channel");
    declare(&channel).await.expect("queues");
    let (shipper, stop) = (Shipper::default(), Cancel::new());
    let mut running = JoinSet::new();
    for _ in 0..3 {
        let (connection, shipper) = (connect().await.expect("it is ready"), shipper.clone());
        let stop = stop.clone();
        running.spawn(async move {
            let ship = |order: Vec<u8>| std::future::ready(shipper.ship(&order));
            run(&connection, consume(), stop, ship).await
        });
    }
    // It takes one, and its connection breaks in the middle.
    let lost = connect().await.expect("it is ready");
    let (taken, never) = (Arc::new(AtomicBool::new(false)), Cancel::new());
    let says = Arc::clone(&taken);
    let dies = tokio::spawn(async move {
        let hangs = |_| {
            says.store(true, Ordering::SeqCst);
            std::future::pending()
        };
        run(&lost, consume(), never, hangs).await
    });
    let mut began = Instant::now();
    for order in 0..ORDERS {
        publish(&channel, order).await;
        if order == 30 {
            while !taken.load(Ordering::SeqCst) {
                sleep(millis(5)).await;
            }
            dies.abort();
            shipper.is_down.store(true, Ordering::SeqCst);
            began = Instant::now();
        }
        sleep(millis(10)).await;
    }
    shipper.is_down.store(false, Ordering::SeqCst);
    let outage = began.elapsed().as_millis() as usize;
    let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
    let dead = channel
        .basic_consume("orders.dead".into(), "".into(), options, none)
        .await;
    let mut dead = dead.expect("a queue").take(POISON);
    while let Some(letter) = dead.next().await {
        let letter = letter.expect("a letter");
        let order: usize = std::str::from_utf8(&letter.data)
            .expect("text")
            .parse()
            .expect("a number");
        assert_eq!(order % 30, 17, "{order} was good");
        let headers = letter.properties.headers().clone().expect("its history");
        let reason = headers.inner().get("becalm-reason").cloned();
        let is = |name: &str| reason == Some(AMQPValue::LongString(name.into()));
        assert!(
            is("attempts_exhausted") || is("deadline_exceeded"),
            "{reason:?}"
        );
    }
    let handled = || shipper.shipped.lock().expect("unpoisoned").len();
    while handled() < ORDERS - POISON {
        sleep(millis(10)).await;
    }
    stop.cancel();
    while let Some(ended) = running.join_next().await {
        ended.expect("no panic").expect("it ends well");
    }
    // Three in a row each, and a probe after each pause of 100, 200, 400, 500 ms or longer.
    let failed = *shipper.failed.lock().expect("unpoisoned");
    assert!(
        failed <= 3 * (3 + 3 + outage / 400),
        "{failed} in {outage} ms"
    );
}
