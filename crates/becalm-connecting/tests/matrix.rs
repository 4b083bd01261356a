//! Do all clients come out alike, whatever goes wrong while they connect?

use std::fmt::Write;
use std::sync::Arc;

use becalm_connecting::{ATTEMPTS, Authority, Client, Fault, RETRY_AFTER, Seen, cell};
use tokio_rustls::rustls::crypto::ring;

/// What a cell shows, and whether that is what is expected of it.
fn judged(client: Client, fault: Fault, seen: Option<&Seen>) -> (String, bool) {
    let Some(seen) = seen else {
        return ("-".to_owned(), true);
    };
    let is_kept = client.sees(fault);
    let expected = if is_kept { fault.expected() } else { ATTEMPTS };
    let is_dialled = seen.dials.is_none_or(|dials| dials == expected);
    let mut is_right = seen.attempts == expected && is_dialled;
    let mut shown = seen.dials.unwrap_or(seen.attempts).to_string();
    if !is_kept {
        shown.push_str(", hidden");
    } else if fault.asks_for_wait() {
        let has_waited = seen.shortest_wait.is_some_and(|wait| wait >= RETRY_AFTER);
        is_right &= has_waited;
        shown.push_str(if has_waited { ", waited" } else { ", at once" });
    }
    (shown, is_right)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_clients_come_out_alike_whatever_goes_wrong_while_they_connect() {
    let _ = ring::default_provider().install_default();
    let authority = Arc::new(Authority::new("the shop"));
    let rows: Vec<_> = Fault::all()
        .map(|fault| {
            let cells = Client::ALL.map(|client| {
                let authority = Arc::clone(&authority);
                tokio::spawn(async move { cell(client, fault, &authority).await })
            });
            (fault, cells)
        })
        .collect();
    let columns = Client::ALL.map(|client| client.to_string()).join(" | ");
    let mut table = format!(
        "| | expected | {columns} |\n|---|--:|{}\n",
        "--:|".repeat(Client::ALL.len())
    );
    let mut wrong = Vec::new();
    for (fault, cells) in rows {
        write!(table, "| {fault} | {} |", fault.expected()).expect("a String takes all");
        for (client, cell) in Client::ALL.into_iter().zip(cells) {
            let seen = cell.await.expect("it ends");
            let (shown, is_right) = judged(client, fault, seen.as_ref());
            write!(table, " {shown} |").expect("a String takes all");
            if !is_right {
                wrong.push(format!("{client}, {fault}: {seen:?}"));
            }
        }
        table.push('\n');
    }
    println!("{table}");
    assert!(
        wrong.is_empty(),
        "{} cells are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let page = include_str!("../../../docs/while-connecting.md");
    assert!(
        page.contains(&table),
        "docs/while-connecting.md has another table"
    );
}
