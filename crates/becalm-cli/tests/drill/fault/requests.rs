//! What does each fault do to requests of HTTP?

use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::json;

use super::service::Service;
use super::{Client, Gunicorn, PATIENCE, Proxy};

#[test]
fn what_is_not_broken_passes_as_it_is() {
    let service = Service::start();
    let mut proxy = Proxy::start("hold", service.address, "Http");
    let mut client = proxy.connect();
    for number in 0..3 {
        client.get(&number.to_string());
        let head = client.head();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("X-Case: Kept\r\n"), "{head}");
        assert!(!head.to_ascii_lowercase().contains("date:"), "{head}");
    }
    assert_eq!(service.ids(), ["0", "1", "2"]);
    assert_eq!(service.connections(), 1, "kept as the client keeps its own");
    // More than any buffer on the way, so that it has to stream.
    let body: Vec<u8> = (0..8_000_000_u32).map(|it| it.to_le_bytes()[1]).collect();
    let mut sends = Client(std::io::BufReader::new(
        client.0.get_ref().try_clone().unwrap(),
    ));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            sends.write(format!(
                "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: {}\r\n\r\n",
                body.len()
            ));
            sends.write(&body);
        });
        assert!(client.answer() == (200, body.clone()), "the same bytes");
    });
    let counts = &proxy.seen()["counts"];
    for (name, count) in [
        ("connections", 1),
        ("requests", 4),
        ("forwarded", 4),
        ("answered", 4),
        ("left", 0),
        ("open", 1),
    ] {
        assert_eq!(counts[name], count, "{name}: {counts}");
    }
}

#[test]
fn a_held_request_goes_when_its_client_goes() {
    let service = Service::start();
    let mut proxy = Proxy::start("hold", service.address, "Http");
    proxy.begin();
    let (mut stays, mut goes, mut sends) = (proxy.connect(), proxy.connect(), proxy.connect());
    stays.get("stays");
    goes.get("goes");
    sends.write(
        "POST / HTTP/1.1\r\nHost: here\r\nX-Request-Id: sends\r\nContent-Length: 4\r\n\r\nbody",
    );
    proxy.await_count("held", 3);
    drop((goes, sends));
    proxy.await_count("left", 2);
    assert_eq!(service.connections(), 0);
    proxy.lift();
    assert_eq!(stays.answer().0, 200);
    assert_eq!(proxy.status("later"), 200);
    assert_eq!(
        service.ids(),
        ["stays", "later"],
        "nothing that was stored is poured in"
    );
}

#[test]
fn a_held_body_reaches_the_service_whole() {
    let service = Service::start();
    let mut proxy = Proxy::start("hold", service.address, "Http");
    proxy.begin();
    let body: Vec<u8> = (0..3_000_000_u32).map(|it| it.to_le_bytes()[0]).collect();
    let mut client = proxy.connect();
    client.write(format!(
        "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: {}\r\n\r\n",
        body.len()
    ));
    let mut sends = Client(std::io::BufReader::new(
        client.0.get_ref().try_clone().unwrap(),
    ));
    std::thread::scope(|scope| {
        scope.spawn(|| sends.write(&body));
        proxy.await_count("held", 1);
        proxy.lift();
        assert!(client.answer() == (200, body.clone()), "the same bytes");
    });
}

#[test]
fn a_naive_proxy_pours_in_what_nobody_waits_for() {
    let service = Service::start();
    let mut proxy = Proxy::start("hold:forward", service.address, "Http");
    proxy.begin();
    let (mut stays, mut goes) = (proxy.connect(), proxy.connect());
    stays.get("stays");
    goes.get("goes");
    proxy.await_count("held", 2);
    drop(goes);
    proxy.await_count("left", 1);
    assert_eq!(service.connections(), 0);
    proxy.await_count("pouring", 2);
    proxy.lift();
    assert_eq!(stays.answer().0, 200);
    super::until("both reach the service", || service.ids().len() == 2);
    proxy.await_count("pouring", 0);
}

#[test]
fn answers_are_late_and_no_longer_when_the_delay_is_lifted() {
    let service = Service::start();
    let mut proxy = Proxy::start("delay:300ms", service.address, "Http");
    assert_eq!(proxy.status("before"), 200);
    proxy.begin();
    let asked = Instant::now();
    assert_eq!(proxy.status("late"), 200);
    assert!(asked.elapsed() >= Duration::from_millis(300));

    let mut proxy = Proxy::start("delay:1h", service.address, "Http");
    proxy.begin();
    let mut client = proxy.connect();
    client.get("an hour");
    super::until("the service has done its work", || service.ids().len() == 3);
    proxy.lift();
    assert_eq!(client.answer().0, 200);
}

#[test]
fn requests_are_reset_and_answers_on_the_way_are_not() {
    let service = Service::start();
    let mut proxy = Proxy::start("reset", service.address, "Http");
    let mut kept = proxy.connect();
    kept.get("before");
    assert_eq!(kept.answer().0, 200);
    proxy.begin();
    kept.get("reset");
    assert!(kept.is_reset());
    let mut fresh = proxy.connect();
    fresh.get("reset too");
    assert!(fresh.is_reset());
    proxy.lift();
    assert_eq!(proxy.status("after"), 200);
    assert_eq!(service.ids(), ["before", "after"]);
    assert_eq!(proxy.seen()["counts"]["broken"], 2);
}

#[test]
fn a_status_is_answered_and_the_connection_is_kept() {
    let service = Service::start();
    let mut proxy = Proxy::start("status:503", service.address, "Http");
    proxy.begin();
    let mut client = proxy.connect();
    client.get("one");
    assert_eq!(client.answer(), (503, vec![]));
    client.get("two");
    assert_eq!(client.answer(), (503, vec![]));
    proxy.lift();
    client.get("three");
    assert_eq!(client.answer().0, 200);
    assert_eq!(service.ids(), ["three"]);
}

#[test]
fn a_status_is_answered_to_a_long_request_and_the_connection_is_kept() {
    let service = Service::start();
    let mut proxy = Proxy::start("status:503", service.address, "Http");
    proxy.begin();
    let mut client = proxy.connect();
    for _ in 0..2 {
        client.write("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n\r\n");
        client.write(vec![b'x'; 1_000_000]);
        assert_eq!(client.answer(), (503, vec![]));
    }
}

#[test]
fn many_headers_pass_both_ways() {
    let many = "x-many: 1\r\n".repeat(200);
    let head = format!("GET / HTTP/1.1\r\nhost: here\r\n{many}\r\n");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = Proxy::start("hold", listener.local_addr().unwrap(), "Http");
    let answer = format!("HTTP/1.1 204 No Content\r\n{many}\r\n");
    let mut client = proxy.connect();
    client.write(&head);
    let said = answer.clone();
    let service = std::thread::spawn(move || {
        let mut service = Client(std::io::BufReader::new(listener.accept().unwrap().0));
        let head = service.head();
        service.write(said);
        // Open until the answer was heard: of a connection that the service closes, the client is told so.
        (head, service)
    });
    assert_eq!(client.head(), answer);
    assert_eq!(service.join().unwrap().0, head);
}

#[test]
fn a_share_of_the_requests_is_lost_for_good() {
    let service = Service::start();
    let mut proxy = Proxy::start("loss:0.3", service.address, "Http");
    proxy.begin();
    let clients = (0..200).map(|number| {
        let mut client = proxy.connect();
        client.get(&number.to_string());
        client
    });
    let mut clients: Vec<_> = clients.collect();
    super::until("all are answered or lost", || {
        let counts = &proxy.seen()["counts"];
        counts["answered"].as_u64().unwrap() + counts["broken"].as_u64().unwrap() == 200
    });
    let lost = proxy.seen()["counts"]["broken"].as_u64().unwrap();
    assert!((30..90).contains(&lost), "{lost} of 200");
    assert_eq!(service.ids().len() as u64, 200 - lost);
    drop(clients.drain(..100));
    proxy.lift();
    // The lost are not answered late: their connections end.
    for mut client in clients {
        let mut rest = Vec::new();
        let get = client.0.get_ref().shutdown(std::net::Shutdown::Write);
        get.unwrap();
        client.0.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 200"));
    }
    assert_eq!(service.ids().len() as u64, 200 - lost);
}

#[test]
fn answers_trickle_each_or_all_together() {
    let service = Service::start();
    let post = format!(
        "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 400\r\n\r\n{}",
        "x".repeat(400)
    );
    for (fault, clients, at_least) in [("slow:2k", 2, 200), ("bandwidth:2k", 2, 400)] {
        let mut proxy = Proxy::start(fault, service.address, "Http");
        proxy.begin();
        let asked = Instant::now();
        let clients = (0..clients).map(|_| {
            let mut client = proxy.connect();
            client.write(&post);
            client
        });
        for mut client in clients.collect::<Vec<_>>() {
            assert_eq!(client.answer().1.len(), 400);
        }
        // The head is sent, too; the last piece is not waited for.
        assert!(
            asked.elapsed() >= Duration::from_millis(at_least),
            "{fault}: {:?}",
            asked.elapsed()
        );
    }
    let mut proxy = Proxy::start("slow:1", service.address, "Http");
    proxy.begin();
    let mut client = proxy.connect();
    client.write(&post);
    assert_eq!(client.0.read(&mut [0]).unwrap(), 1);
    proxy.lift();
    let asked = Instant::now();
    client.0.read_exact(&mut [0; 400]).unwrap();
    assert!(asked.elapsed() < PATIENCE, "seven minutes at that rate");
}

#[test]
fn a_fault_that_nobody_lifts_is_lifted_in_time() {
    let service = Service::start();
    let mut proxy = Proxy::with("hold", service.address, "Http", Duration::from_millis(200));
    proxy.begin();
    let asked = Instant::now();
    assert_eq!(proxy.status("held"), 200);
    assert!(asked.elapsed() < PATIENCE);
    proxy.begin();
    proxy.lift();
    proxy.begin();
    assert_eq!(proxy.status("held again"), 200);
}

#[test]
fn a_service_that_is_not_there_is_no_answer() {
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let mut proxy = Proxy::start("hold", closed, "Http");
    let mut client = proxy.connect();
    client.get("one");
    assert!(client.is_reset());
    assert_eq!(proxy.seen()["counts"]["unreachable"], 1);
}

#[test]
fn a_port_that_is_taken_and_a_brief_that_is_none_are_refused_with_a_sentence() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let brief = json!({
        "fault": "hold", "listen": address, "upstream": {"addresses": [address], "speaks": "Http"},
        "at_most": {"secs": 1, "nanos": 0}, "seed": 7,
    });
    for (brief, words) in [
        (brief, "cannot listen on 127.0.0.1"),
        (json!({}), "missing field"),
    ] {
        let mut helper = super::Helper::start("becalm-drill-proxy", &brief);
        let told = helper.first["Refused"].as_str().unwrap().to_string();
        assert!(told.contains(words), "{told}");
        super::until("it has ended", || helper.ended());
    }
}

#[test]
fn attempts_are_counted_by_the_ids_of_a_users_own_client() {
    let service = Service::start();
    let mut proxy = Proxy::start("status:503", service.address, "Http");
    proxy.begin();
    for _ in 0..3 {
        assert_eq!(proxy.status("one"), 503);
    }
    proxy.lift();
    assert_eq!(proxy.status("one"), 200);
    assert_eq!(proxy.status("other"), 200);
    let seen = proxy.seen();
    assert_eq!(seen["calls_by_attempts"], json!([1, 0, 0, 1]));
    assert_eq!(seen["identified"], json!([5, 0, 0]));
    let sum = |name: &str| {
        let buckets = seen["buckets"].as_array().unwrap();
        buckets
            .iter()
            .map(|it| it[name].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(
        ["calls", "good", "attempts", "answers"].map(sum),
        [2, 2, 5, 2]
    );
}

#[test]
fn each_fault_breaks_gunicorn_and_none_once_it_is_lifted() {
    let Some(gunicorn) = Gunicorn::start(4, "0.010", None) else {
        return;
    };
    for fault in [
        "hold",
        "hold:forward",
        "delay:200ms",
        "reset",
        "status:503",
        "loss:1",
        "slow:500",
        "bandwidth:500",
    ] {
        let mut proxy = Proxy::start(fault, gunicorn.address(), "Http");
        for round in 0..2 {
            assert_eq!(proxy.status("well"), 200, "{fault}, {round}");
            proxy.begin();
            let mut client = proxy.connect();
            let asked = Instant::now();
            client.get("broken");
            match fault {
                "reset" => assert!(client.is_reset()),
                "status:503" => assert_eq!(client.answer().0, 503),
                "loss:1" => proxy.await_count("broken", round + 1),
                "hold" | "hold:forward" => proxy.await_count("held", round + 1),
                _ => {
                    assert_eq!(client.answer(), (200, b"ok".to_vec()));
                    assert!(asked.elapsed() >= Duration::from_millis(200), "{fault}");
                }
            }
            proxy.lift();
            match fault {
                "loss:1" => assert_eq!(client.end().unwrap(), 0),
                "hold" | "hold:forward" => assert_eq!(client.answer().0, 200, "{fault}"),
                _ => {}
            }
        }
        assert_eq!(proxy.status("well"), 200, "{fault}");
    }
}
