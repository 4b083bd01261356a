//! Orders from RabbitMQ, through outages of what ships them.
//!
//! What `becalm_fleet::consumer` decides, with queues: one for each rung of the delays, whose messages go back to the orders when their time to live
//! is over. A time to live of each message would not do: RabbitMQ ends it only at the head of a queue. A message is published to its rung, with
//! its history in the headers, before it is acknowledged: a crash in between makes two of it, and loses none.

use std::time::{Duration, SystemTime};

use becalm::policy::InvalidPolicy;
use becalm::rng::Seed;
use becalm::time::Instant;
use becalm::{Cancel, Failure};
use becalm_fleet::consumer::{Consume, Consumer, Delivery, Settle, Take};
use futures_util::StreamExt;
use lapin::message::Delivery as Delivered;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection};
use tokio::time::{self, sleep};

/// The delays, in milliseconds: a message waits in the first that is not shorter than its own.
const RUNGS: [u32; 9] = [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000];

/// Makes the queues: `orders`, `orders.dead` and a rung for each delay.
pub async fn declare(channel: &Channel) -> lapin::Result<()> {
    for queue in ["orders", "orders.dead"] {
        let options = QueueDeclareOptions::durable();
        channel
            .queue_declare(queue.into(), options, FieldTable::default())
            .await?;
    }
    for rung in RUNGS {
        let mut arguments = FieldTable::default();
        arguments.insert("x-message-ttl".into(), AMQPValue::LongLongInt(rung.into()));
        arguments.insert("x-dead-letter-exchange".into(), text(""));
        arguments.insert("x-dead-letter-routing-key".into(), text("orders"));
        let queue = format!("orders.later.{rung}");
        let options = QueueDeclareOptions::durable();
        channel
            .queue_declare(queue.into(), options, arguments)
            .await?;
    }
    Ok(())
}

/// Hands each order to `ship`, one at a time, until it is stopped. Run several for more at once.
pub async fn run<F>(
    connection: &Connection,
    consume: Consume,
    stop: Cancel,
    ship: impl Fn(Vec<u8>) -> F,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
where
    F: Future<Output = Result<(), Failure>>,
{
    let mut consumer = Consumer::new(consume).map_err(|error: InvalidPolicy| error.to_string())?;
    let (seed, began) = (Seed::entropy(), time::Instant::now());
    let now = || Instant::ZERO.after(began.elapsed());
    let channel = connection.create_channel().await?;
    channel
        .confirm_select(ConfirmSelectOptions::default())
        .await?;
    // What a consumer that pauses holds, nobody else gets: one.
    channel.basic_qos(1, BasicQosOptions::default()).await?;
    let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
    let mut orders = channel
        .basic_consume("orders".into(), "".into(), options, none)
        .await?;
    loop {
        let order = tokio::select! {
            () = stop.cancelled() => break,
            order = orders.next() => order.ok_or("the channel was closed")??,
        };
        let history = History::of(&order);
        while let Take::NotBefore(until) = consumer.next(now()) {
            tokio::select! {
                // Unacknowledged, it goes to another.
                () = stop.cancelled() => return Ok(channel.close(200, "".into()).await?),
                () = sleep(until.since(now())) => {}
            }
        }
        let Some(running) = consumer.begin(history.delivery(), now()) else {
            continue;
        };
        let settle = match ship(order.data.clone()).await {
            Ok(()) => consumer.succeeded(running, now()),
            Err(failure) => consumer.failed(running, now(), &failure, &mut seed.stream()),
        };
        match settle {
            Settle::Later { delay, charged } => {
                publish(&channel, &rung(delay), &order, history.failed(charged), "").await?;
            }
            Settle::Pause { delay, .. } => {
                publish(&channel, &rung(delay), &order, history.failed(false), "").await?;
            }
            Settle::Dead { reason } => {
                let history = history.failed(false);
                publish(&channel, "orders.dead", &order, history, reason.as_str()).await?;
            }
            _ => {}
        }
        order.ack(BasicAckOptions::default()).await?;
    }
    Ok(channel.close(200, "".into()).await?)
}

/// In headers. Times are of the wall clock, in milliseconds: those of all consumers must agree.
#[derive(Clone, Copy)]
struct History {
    failed: i64,
    charged: i64,
    seen: i64,
    failed_at: i64,
}

impl History {
    fn of(order: &Delivered) -> Self {
        let headers = order.properties.headers().as_ref();
        let number = |name| match headers.and_then(|headers| headers.inner().get(name)) {
            Some(AMQPValue::LongLongInt(number)) => *number,
            _ => 0,
        };
        let seen = number("becalm-seen");
        Self {
            failed: number("becalm-failed"),
            charged: number("becalm-charged"),
            seen: if seen > 0 { seen } else { wall() },
            failed_at: number("becalm-failed-at"),
        }
    }

    fn delivery(self) -> Delivery {
        let since = |then: i64| {
            Duration::from_millis(u64::try_from(wall().saturating_sub(then)).unwrap_or(0))
        };
        let has_failed = self.failed_at > 0;
        Delivery::default()
            .failed(count(self.failed))
            .charged(count(self.charged))
            .age(since(self.seen))
            .since_failed(has_failed.then(|| since(self.failed_at)))
    }

    fn failed(self, charged: bool) -> Self {
        Self {
            failed: self.failed.saturating_add(1),
            charged: self.charged + i64::from(charged),
            failed_at: wall(),
            ..self
        }
    }
}

/// Comes back when RabbitMQ has it.
async fn publish(
    channel: &Channel,
    queue: &str,
    order: &Delivered,
    history: History,
    reason: &str,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut headers = FieldTable::default();
    for (name, number) in [
        ("becalm-failed", history.failed),
        ("becalm-charged", history.charged),
        ("becalm-seen", history.seen),
        ("becalm-failed-at", history.failed_at),
    ] {
        headers.insert(name.into(), AMQPValue::LongLongInt(number));
    }
    headers.insert("becalm-reason".into(), text(reason));
    let properties = BasicProperties::default()
        .with_headers(headers)
        .with_delivery_mode(2);
    let options = BasicPublishOptions::default();
    let published =
        channel.basic_publish("".into(), queue.into(), options, &order.data, properties);
    let confirmed = published.await?.await?;
    confirmed
        .is_ack()
        .then_some(())
        .ok_or("RabbitMQ could not store a message".into())
}

fn rung(delay: Duration) -> String {
    let rung = RUNGS
        .iter()
        .find(|rung| Duration::from_millis((**rung).into()) >= delay);
    format!("orders.later.{}", rung.unwrap_or(&RUNGS[RUNGS.len() - 1]))
}

fn text(text: &str) -> AMQPValue {
    AMQPValue::LongString(text.into())
}

fn wall() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

fn count(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
