//! Do both halves keep their word, whatever the network, the clock, the server and a hostile peer do? In virtual time.

mod client;
mod connections;
mod hostile;
mod line;
mod model;
mod network;
mod store;

#[test]
fn the_page_has_the_table_of_the_module() {
    let page = include_str!("../../../../../docs/websocket-sessions.md");
    let rows = include_str!("../mod.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//! | "));
    let kinds = rows.filter(|row| row.starts_with(|byte: char| byte.is_ascii_digit()));
    assert_eq!(
        kinds
            .inspect(|row| assert!(page.contains(row), "{row}"))
            .count(),
        7
    );
}
