//! Does a browser draw every kind of chart, wide and narrow, light and dark, and show its values?

#[path = "browser/mod.rs"]
mod browser;

use becalm_report::{
    Band, BarChart, Cell, Colour, Grid, LineChart, MapChart, Page, RangeChart, RangeRow, Rule,
    Scale, Series, Table, format,
};
use browser::{Browser, View};
use serde_json::Value;

const VIEWS: [(&str, View); 5] = [
    ("wide-light", view(1280, 900, false)),
    ("wide-dark", view(1280, 900, true)),
    ("narrow-light", view(360, 740, false)),
    ("narrow-dark", view(360, 740, true)),
    ("least", view(320, 640, false)),
];

const fn view(width: u32, height: u32, dark: bool) -> View {
    View {
        width,
        height,
        dark,
    }
}

/// A name that would break out of an attribute, a script or a list of values.
const HOSTILE: &str = "</script></title><img src=x onerror=\"boom()\">' 1~2 ]]>";

/// A load that a storm keeps up, or a calm one: figures of no run, but of their shape.
fn course(storm: bool) -> Vec<(f64, f64)> {
    (0..900)
        .map(|at| {
            let time = f64::from(at) / 20.0;
            let wave = (time * 2.7).sin() * 22.0 + (time * 11.3).sin() * 15.0;
            let level = match time {
                ..10.0 => 260.0,
                10.0..13.0 => 260.0 + (time - 10.0) * 250.0,
                _ if storm => 980.0,
                _ => 280.0 + 600.0 * (-(time - 13.0) / 2.0).exp(),
            };
            (time, level + wave)
        })
        .collect()
}

fn lines() -> LineChart {
    LineChart::new(
        "Arrivals under each policy, which is a title too long for the screen of a phone",
    )
    .x_label("seconds")
    .y_label("attempts per second")
    .band(Band::new(10.0, 13.0, "the service hangs"))
    .band(Band::new(13.2, 15.0, "clients come back"))
    .rule(Rule::new(400.0, "capacity 400/s"))
    .rule(Rule::new(412.0, "hidden capacity 412/s"))
    .series(Series::line("full jitter", Colour::Red, course(true)).filled())
    .series(Series::steps("a 10 % budget", Colour::Green, course(false)))
    .series(Series::line(HOSTILE, Colour::Blue, vec![(0.0, 100.0), (45.0, 150.0)]).dashed())
    .with_size(940.0, 340.0)
}

fn recovery() -> LineChart {
    let samples = |scale: f64| -> Vec<f64> {
        (1..=60)
            .map(|at| {
                if at > 50 {
                    f64::INFINITY
                } else {
                    scale * f64::from(at * at)
                }
            })
            .collect()
    };
    LineChart::new("Time to recover")
        .x_label("seconds")
        .y_label("% of runs")
        .x_scale(Scale::Log)
        .y_reaches(100.0)
        .series(Series::distribution(
            "full jitter",
            Colour::Red,
            &samples(0.2),
        ))
        .series(Series::distribution(
            "a 10 % budget",
            Colour::Green,
            &samples(0.01),
        ))
}

fn map() -> MapChart {
    let columns: Vec<_> = (0..14).map(|at| 0.5 + f64::from(at) * 0.05).collect();
    let rows: Vec<_> = (1..=9).map(|at| f64::from(at) * 0.5).collect();
    let mut cells: Vec<_> = rows
        .iter()
        .flat_map(|y| {
            columns
                .iter()
                .map(move |x| (x * 1.6 + y * 0.35 - 1.7).clamp(0.0, 1.0))
        })
        .collect();
    cells[4] = f64::NAN;
    MapChart::new("Which load and which outage it survives", columns, rows)
        .labels(
            "load / capacity",
            "outage in seconds",
            "share of runs that stay down",
        )
        .range(0.0, 1.0)
        .cells(cells)
        .mark(6, 3, "what was asked")
}

fn bars() -> BarChart {
    BarChart::new("Amplification")
        .value_label("attempts / first tries")
        .bar("no jitter", Colour::Red, 4.0)
        .bar("full jitter", Colour::Orange, 3.62)
        .bar("becalm's default", Colour::Green, 1.08)
        .bar(
            "a policy with a long name that says a lot",
            Colour::Blue,
            0.0,
        )
        .rule(Rule::new(1.25, "harmless up to 1.25"))
}

fn ranges() -> RangeChart {
    let row = |label: &str, low, mean, high| RangeRow {
        label: label.into(),
        low,
        mean,
        high,
        ceiling: Some(high),
    };
    RangeChart::new("Delay before each retry")
        .value_format(format::seconds)
        .row(row("retry 1", 0.0, 0.05, 0.1))
        .row(row("retry 2", 0.0, 0.1, 0.2))
        .row(row("retry 3", 0.0, 0.2, 0.4))
}

fn grid() -> Grid<LineChart> {
    let chart = |name: &str, colour, storm| {
        LineChart::new(name)
            .x_label("seconds")
            .y_label("requests per 10 ms")
            .y_reaches(1_100.0)
            .without_legend()
            .band(Band::new(10.0, 13.0, "the service hangs"))
            .rule(Rule::new(400.0, "capacity 400"))
            .series(Series::bars("each 10 ms", colour, course(storm)))
            .series(Series::line("mean", colour, course(storm)))
            .with_size(470.0, 260.0)
    };
    Grid::new("The same calls twice; only the retries differ", 2)
        .figure(chart("full jitter", Colour::Red, true))
        .figure(chart("a 10 % budget", Colour::Green, false))
}

/// A page with every kind of chart and of element.
fn page() -> Page {
    let table = ["full jitter", "becalm's default (full jitter, 10 % budget)"]
        .into_iter()
        .fold(
            Table::new([
                "policy",
                "verdict",
                "amplification",
                "peak /10 ms",
                "recovery p50",
                "recovery p99",
                "client success",
            ]),
            |table, name| {
                let word = Cell::new("metastable").colour(Colour::Red);
                let rest = ["3.62", "412", "-", "-", "17 %"].map(Cell::from);
                table.row([Cell::new(name), word].into_iter().chain(rest))
            },
        );
    Page::new("A service hangs for 3 s: which retries make it a storm?")
        .conclusion(Colour::Red, "With full jitter alone the service never comes back; with a budget it is back after 1.8 s.")
        .badges([
            (Colour::Red, "metastable", "full jitter"),
            (Colour::Orange, "vulnerable", "equal jitter"),
            (Colour::Green, "stable", "a 10 % budget"),
        ])
        .contents()
        .heading("Arrivals")
        .figure(&lines(), "Attempts that arrive at the service. Above the dashed line they are more than it can serve.")
        .figure(&grid(), "The same, each on its own.")
        .heading("What it survives")
        .figure(&map(), "Each cell is 20 runs.")
        .heading("Amplification")
        .figure(&bars(), "Attempts for each first try.")
        .figure(&ranges(), "The ranges that delays are drawn from.")
        .heading("Recovery")
        .figure(&recovery(), "The share of runs that have recovered by then.")
        .heading("The figures")
        .table(&table)
        .definitions([("amplification", "Attempts that clients send / first tries."), ("peak", "The most requests that reached the service within 10 ms.")])
        .details("How to reproduce it", |part| {
            part.code("becalm storm metastable --seed 1 --compare full,default --clients 10000 --outage 3s")
        })
}

/// Of each picture that is seen: its box, and whether all of its drawing lies within it.
const PICTURES: &str = "[...document.querySelectorAll('svg')].map(svg => {
    const box = svg.getBoundingClientRect();
    const shapes = [...svg.querySelectorAll('path,rect:not(.bc-hit),text')].map(it => it.getBoundingClientRect());
    return { shown: box.width > 0, width: box.width, height: box.height, left: box.left, right: box.right,
        shapes: shapes.length, drawn: shapes.filter(it => it.width > 0 || it.height > 0).length,
        outside: shapes.filter(it => it.left < box.left - 1 || it.right > box.right + 1
            || it.top < box.top - 1 || it.bottom > box.bottom + 1).length }
}).filter(it => it.shown)";

/// How many pairs of words that are seen cover each other.
const COLLISIONS: &str = "[...document.querySelectorAll('svg')].flatMap(svg => {
    const words = [...svg.querySelectorAll('text')].filter(it => it.getBoundingClientRect().width > 0);
    const boxes = words.map(it => [it.textContent, it.getBoundingClientRect()]);
    return boxes.flatMap(([a, x], at) => boxes.slice(at + 1).filter(([, y]) =>
        Math.min(x.right, y.right) - Math.max(x.left, y.left) > 1 &&
        Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top) > 4).map(([b]) => a + ' | ' + b))
})";

const BOX: &str = "(() => { const it = document.querySelector('.bc-box'); const r = it.getBoundingClientRect();
    return { hidden: it.hidden, text: it.innerText, left: r.left, right: r.right, top: r.top } })()";

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Scrolls to what a selector finds among what is seen, and gives the middle of its box.
fn middle_of(browser: &mut Browser, selector: &str, at: usize) -> (f64, f64) {
    let place = browser.evaluate(&format!(
        "new Promise(done => {{ const it = [...document.querySelectorAll('{selector}')]\
         .filter(it => it.getBoundingClientRect().width > 0)[{at}]; \
         it.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
         requestAnimationFrame(() => requestAnimationFrame(() => {{ const r = it.getBoundingClientRect(); \
         done([r.left + r.width / 2, r.top + r.height / 2]) }})) }})"
    ));
    (number(&place[0]), number(&place[1]))
}

/// Waits until something holds in the page, for input reaches it a frame or more later.
fn wait_until(browser: &mut Browser, condition: &str) {
    let held = browser.evaluate(&format!(
        "new Promise(done => {{ let left = 500; const look = () => \
         ({condition}) ? done(true) : --left < 0 ? done(false) : setTimeout(look, 20); look() }})"
    ));
    let seen = browser.evaluate(BOX);
    assert_eq!(held, true, "{condition}: {seen}");
}

/// What the box shows, once a part of it is seen.
fn shown(browser: &mut Browser, part: &str) -> Value {
    let condition = format!(
        "(it => !it.hidden && it.innerText.includes({part:?}))(document.querySelector('.bc-box'))"
    );
    wait_until(browser, &condition);
    browser.evaluate(BOX)
}

#[test]
fn every_chart_is_drawn_in_every_view_and_nothing_complains() {
    let html = page().to_html();
    let mut browser = Browser::start();
    for (name, view) in VIEWS {
        browser.open(&html, view);
        browser.screenshot(&format!("{name}.png"), true);
        let pictures = browser.evaluate(PICTURES);
        let pictures = pictures.as_array().expect("a list");
        assert_eq!(pictures.len(), 6, "{name}");
        let width = f64::from(view.width);
        for picture in pictures {
            let is_inside = number(&picture["left"]) >= 0.0 && number(&picture["right"]) <= width;
            assert!(
                is_inside && number(&picture["width"]) > 240.0,
                "{name}: {picture}"
            );
            assert!(number(&picture["height"]) > 100.0, "{name}: {picture}");
            assert!(number(&picture["drawn"]) > 10.0, "{name}: {picture}");
            assert_eq!(picture["outside"], 0, "{name}: {picture}");
        }
        let collisions = browser.evaluate(COLLISIONS);
        assert_eq!(collisions, serde_json::json!([]), "{name}");
        let overflow = browser.evaluate("document.documentElement.scrollWidth");
        assert!(number(&overflow) <= width, "{name}: {overflow}");
        let ground = browser.evaluate("getComputedStyle(document.body).backgroundColor");
        let expected = if view.dark {
            "rgb(21, 24, 28)"
        } else {
            "rgb(255, 255, 255)"
        };
        assert_eq!(ground, expected, "{name}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn values_are_shown_at_the_pointer_at_a_finger_and_by_keys() {
    let html = page().to_html();
    let mut browser = Browser::start();
    browser.open(&html, VIEWS[0].1);
    let (x, y) = middle_of(&mut browser, ".bc-live .bc-hit", 0);
    browser.move_mouse(x, y);
    let lines = shown(&mut browser, "a 10 % budget");
    // The middle of 45 s; every series has a value there, and names are text.
    let text = lines["text"].as_str().expect("text");
    assert!(text.starts_with("seconds\n22.5"), "{text}");
    assert!(
        text.contains("full jitter") && text.contains("</script>"),
        "{text}"
    );
    assert_eq!(
        browser.evaluate("document.querySelectorAll('img').length"),
        0
    );
    let marks = "document.querySelectorAll('.bc-cursor circle').length";
    assert_eq!(browser.evaluate(marks), 3);
    browser.screenshot("hover-lines.png", false);
    for (selector, at, part) in [
        (".bc-live .bc-hit", 1, "each 10 ms"),
        (".bc-tips .bc-tip rect", 20, "share of runs that stay down"),
        (
            ".bc-tips:not([data-columns=\"14\"]) .bc-tip rect",
            0,
            "no jitter",
        ),
        (".bc-live .bc-hit", 3, "full jitter"),
    ] {
        let (x, y) = middle_of(&mut browser, selector, at);
        browser.move_mouse(x, y);
        shown(&mut browser, part);
    }
    browser.screenshot("hover-recovery.png", false);
    // The first stop after the links is the first chart.
    browser.evaluate("scrollTo(0, 0), document.querySelectorAll('h2 a')[0].focus()");
    browser.press("Tab");
    browser.press("End");
    shown(&mut browser, "seconds\n45");
    browser.press("ArrowLeft");
    shown(&mut browser, "a 10 % budget");
    // A mouse shows its own values, and takes only its own away: also when a page scrolls on under one at rest.
    let (x, y) = middle_of(&mut browser, ".bc-live .bc-hit", 0);
    browser.move_mouse(x, y);
    shown(&mut browser, "seconds\n22.5");
    browser.press("End");
    shown(&mut browser, "seconds\n45");
    browser.evaluate("addEventListener('pointermove', event => { window.moved = event.clientX })");
    browser.move_mouse(2.0, 2.0);
    wait_until(&mut browser, "window.moved === 2");
    shown(&mut browser, "seconds\n45");
    browser.press("Escape");
    wait_until(&mut browser, "document.querySelector('.bc-box').hidden");
    browser.move_mouse(x, y);
    shown(&mut browser, "seconds\n22.5");
    browser.move_mouse(2.0, 2.0);
    wait_until(&mut browser, "document.querySelector('.bc-box').hidden");

    browser.open(&html, VIEWS[3].1);
    for (selector, part) in [
        (".bc-live .bc-hit", "a 10 % budget"),
        (".bc-tip rect", "outage in seconds"),
    ] {
        let (x, y) = middle_of(&mut browser, selector, 0);
        browser.tap(x, y);
        let shown = shown(&mut browser, part);
        let is_inside = number(&shown["left"]) >= 0.0 && number(&shown["right"]) <= 360.0;
        assert!(is_inside && number(&shown["top"]) >= 0.0, "{shown}");
        browser.screenshot(&format!("tap-{}.png", part.len()), false);
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_foreign_script_does_not_run_and_the_browser_says_so() {
    let html = page()
        .to_html()
        .replace("</main>", "<script>window.ran = 1</script></main>");
    let mut browser = Browser::start();
    browser.open(&html, VIEWS[0].1);
    assert_eq!(browser.evaluate("window.ran === undefined"), true);
    let complaints = browser.complaints().join("\n");
    assert!(
        complaints.contains("Content Security Policy"),
        "{complaints}"
    );
}
