//! Is the report of a study drawn by a browser, wide and narrow, light and dark, without a complaint?

#[expect(dead_code, reason = "pointers and keys are tested with the charts")]
#[path = "../../becalm-report/tests/browser/mod.rs"]
mod browser;
mod storm_support;

use browser::{Browser, View};
use storm_support::told;

const VIEWS: [View; 4] = [
    view(1400, false),
    view(1280, true),
    view(400, true),
    view(320, false),
];

const fn view(width: u32, dark: bool) -> View {
    View {
        width,
        height: 900,
        dark,
    }
}

/// Of each picture that is seen: how many of its shapes are drawn.
const DRAWN: &str = "[...document.querySelectorAll('svg')]
    .filter(svg => svg.getBoundingClientRect().width > 0)
    .map(svg => [...svg.querySelectorAll('path,rect,text')].map(it => it.getBoundingClientRect())
        .filter(it => it.width > 0 || it.height > 0).length)";

/// Columns of tables that lie beyond what is seen without scrolling.
const CLIPPED: &str = "[...document.querySelectorAll('.bc-scroll')]
    .filter(it => it.getBoundingClientRect().width > 0 && it.scrollWidth > it.clientWidth + 1).length";

/// Policies in what decides: one, three, five.
const POLICIES: [&str; 3] = [
    "own",
    "own,full;budget=none,none",
    "own,full;budget=none,none,full;attempts=8;budget=ratio:0.2,equal;attempts=3",
];

#[test]
fn s6_no_column_is_clipped_with_one_three_or_five_policies() {
    let folder = tempfile::tempdir().expect("a directory");
    let own = folder.path().join("orders.toml");
    std::fs::write(&own, SERVICE).expect("the file is written");
    let own = own.to_str().expect("UTF-8");
    let page = folder.path().join("report.html");
    let page = page.to_str().expect("UTF-8");
    let mut browser = Browser::start();
    for (policies, count) in POLICIES.iter().zip([1, 3, 5]) {
        let asked = [own, "--compare", policies, "--runs", "2", "--quick"];
        told(&[&asked[..], &["--report", page]].concat());
        let html = std::fs::read_to_string(page).expect("the page is written");
        for view in VIEWS {
            browser.open(&html, view);
            browser.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)");
            browser.screenshot(&format!("storm-{count}-policies-{}.png", view.width), true);
            let clipped = browser.evaluate(CLIPPED);
            assert_eq!(clipped.as_u64(), Some(0), "{count} policies, {view:?}");
            let rows = browser.evaluate("document.querySelector('table tbody').children.length");
            assert_eq!(rows.as_u64(), Some(6), "the verdict and five figures");
        }
    }
}

#[test]
fn every_chart_of_a_report_is_drawn_and_nothing_complains() {
    let folder = tempfile::tempdir().expect("a directory");
    let own = folder.path().join("orders.toml");
    std::fs::write(&own, SERVICE).expect("the file is written");
    let own = own.to_str().expect("UTF-8");
    let sweep = "attempts=1|4,budget=none|ratio:0.1,burst:10";
    let studies = [
        ("herd", &["herd", "--clients", "1000"][..]),
        (
            "own",
            &[
                own,
                "--compare",
                "own,full;budget=none",
                "--runs",
                "2",
                "--quick",
            ],
        ),
        ("sweep", &[own, "--sweep", sweep, "--runs", "2"]),
    ];
    let mut browser = Browser::start();
    for (name, arguments) in studies {
        let page = folder.path().join(format!("{name}.html"));
        let page = page.to_str().expect("UTF-8");
        told(&[arguments, &["--report", page]].concat());
        let html = std::fs::read_to_string(page).expect("the page is written");
        for view in VIEWS {
            browser.open(&html, view);
            browser.screenshot(&format!("storm-{name}-{}.png", view.width), true);
            let drawn = browser.evaluate(DRAWN);
            let drawn = drawn.as_array().expect("a list");
            assert!(!drawn.is_empty(), "{name}: no picture");
            for shapes in drawn {
                assert!(
                    shapes.as_u64().is_some_and(|it| it > 10),
                    "{name}: {drawn:?}"
                );
            }
            let overflow = browser.evaluate("document.documentElement.scrollWidth");
            let overflow = overflow.as_u64().expect("a number");
            assert!(
                overflow <= view.width.into(),
                "{name}, {view:?}: {overflow} wide"
            );
        }
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

const SERVICE: &str = r#"
name = "orders"
horizon = "30s"

[[service]]
name = "orders"
time = "exponential:10ms"
queue = 100

[[population]]
name = "users"
target = "orders"
arrivals = "poisson:60"
timeout = "200ms"

[[trigger]]
from = "10s"
length = "3s"
effect = "hang"
service = "orders"
"#;
