//! What do codes and field values of other protocols mean?

use std::time::{Duration, SystemTime};

use becalm::classify::{http_status, websocket};
use becalm::hint;
use becalm::{Failure, time::UnixTime};
use serde_json::{Value, json};

use super::dice::Dice;
use super::{layers, nanos};

/// A code or a field value, and what it means.
pub fn word(dice: &mut Dice) -> Value {
    match dice.below(8) {
        0 => close(dice),
        1 => {
            let status = u16::try_from(dice.below(700)).expect("it is below 700");
            json!({
                "kind": "status",
                "status": status,
                "then": super::failure(&http_status::classify(status)),
            })
        }
        2 => pushback(dice),
        3 => layers::scope(dice),
        4 => layers::told(dice),
        _ => field(dice),
    }
}

type Dialect = (&'static str, fn(u16) -> Failure);

const DIALECTS: [Dialect; 5] = [
    ("rfc6455", websocket::classify_close),
    ("centrifugo", websocket::classify_centrifugo),
    ("pusher", websocket::classify_pusher),
    ("discord", websocket::classify_discord),
    ("graphql-ws", websocket::classify_graphql_ws),
];

fn close(dice: &mut Dice) -> Value {
    let (dialect, classify) = dice.pick(&DIALECTS);
    let start = *dice.pick(&[
        1000, 1000, 3000, 3100, 3400, 3500, 4000, 4100, 4200, 4400, 4500,
    ]);
    let code = start + u16::try_from(dice.below(20)).expect("it is below 20");
    json!({ "kind": "close", "dialect": dialect, "code": code, "then": super::failure(&classify(code)) })
}

fn pushback(dice: &mut Dice) -> Value {
    let value = |dice: &mut Dice| match dice.below(4) {
        0 => (*dice.pick(&["-1", "", "soon", "1.5", "2147483648", "+5"])).to_owned(),
        _ => dice.below(100_000).to_string(),
    };
    let several = *dice.pick(&[0, 1, 1, 1, 1, 2]);
    let values: Vec<_> = (0..several).map(|_| value(dice)).collect();
    json!({ "kind": "pushback", "values": values, "then": super::hint(hint::pushback(&values)) })
}

/// A field value that names a delay, or garbage. Dates are counted from `now`, in seconds since 1970.
fn field(dice: &mut Dice) -> Value {
    let seconds = 1_700_000_000 + dice.below(100_000_000);
    let now = UnixTime::from_epoch(Duration::from_secs(seconds));
    let name = *dice.pick(&[
        "retry-after",
        "retry-after",
        "retry-after-ms",
        "x-amz-retry-after",
        "x-ratelimit-reset",
        "x-ratelimit-reset-after",
    ]);
    let text = match name {
        "retry-after" if dice.below(2) == 0 => date(dice, seconds),
        "x-ratelimit-reset" if dice.below(2) == 0 => moment(dice, seconds),
        _ => number(dice),
    };
    let delay = match name {
        "retry-after" => hint::retry_after(&text, now),
        "retry-after-ms" => hint::retry_after_ms(&text),
        "x-amz-retry-after" => hint::amz_retry_after(&text),
        "x-ratelimit-reset" => hint::rate_limit_reset(&text, now),
        _ => hint::rate_limit_reset_after(&text),
    };
    json!({ "kind": "field", "name": name, "text": text, "now": seconds, "then": delay.map(nanos) })
}

fn number(dice: &mut Dice) -> String {
    let most = *dice.pick(&[3, 100, 100_000]);
    let whole = dice.below(most);
    match dice.below(8) {
        0 => format!("{whole}.{}", dice.below(1000)),
        1 => format!("{whole}.{:09}{}", dice.below(1_000_000_000), dice.below(30)),
        2 => format!(" {whole}\t"),
        3 => {
            let garbage = [
                "", "soon", "-1", "+5", "1e3", "5s", "5, 10", ".5", "5.", "0x10", "1,5",
            ];
            (*dice.pick(&garbage)).to_owned()
        }
        4 => format!(
            "{}{whole:05}",
            *dice.pick(&["99999999999999999999", "0", "00"])
        ),
        _ => whole.to_string(),
    }
}

/// A date of HTTP around `now`, now and then with a fault.
fn date(dice: &mut Dice, now: u64) -> String {
    let at = now + dice.below(200) - *dice.pick(&[0, 0, 300]);
    let mut text = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(at));
    if dice.one_in(8) {
        text.truncate(text.len() - 1);
    }
    text
}

/// A moment around `now`, in seconds or milliseconds since 1970.
fn moment(dice: &mut Dice, now: u64) -> String {
    let at = now + dice.below(200) - *dice.pick(&[0, 0, 300]);
    match dice.below(3) {
        0 => at.to_string(),
        1 => format!("{at}.{:03}", dice.below(1000)),
        _ => (at * 1000 + dice.below(1000)).to_string(),
    }
}
