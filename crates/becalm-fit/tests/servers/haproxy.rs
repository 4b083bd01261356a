//! Lines of HAProxy.

use becalm_fit::log::Said;

use super::process::Server;
use super::visits::{Upstream, VISITS, compare, different, now, read};

fn configuration(upstream: u16) -> String {
    format!(
        "global
            log stdout format raw local0
        defaults
            mode http
            log global
            option httplog
            timeout connect 5s
            timeout client 30s
            timeout server 30s
            option abortonclose
        frontend web
            bind 127.0.0.1:HERE
            default_backend shop
        backend shop
            server one 127.0.0.1:{upstream}\n"
    )
}

#[test]
fn what_haproxy_writes_is_read() {
    let upstream = Upstream::start();
    let files = [("haproxy.cfg", configuration(upstream.port))];
    let arguments = ["-db", "-f", "haproxy.cfg"];
    let Some(haproxy) = Server::start("haproxy", "Debian's package haproxy", &arguments, &files)
    else {
        return;
    };
    let since = now();
    upstream.visit(haproxy.port);

    let text = haproxy.lines("stdout.log", "shop/one", VISITS);
    let (requests, tally) = read(&text, &Said::Nothing);
    assert_eq!(
        (tally.format, tally.unread),
        ("HAProxy, httplog", 0),
        "{text}"
    );
    compare(&requests, since, 2_000);
    assert_eq!(different(&requests, |it| it.target), 3, "{text}");
    assert_eq!(different(&requests, |it| it.upstream), 1, "{text}");
    assert!(tally.most_at_a_server <= 1, "{text}");
}
