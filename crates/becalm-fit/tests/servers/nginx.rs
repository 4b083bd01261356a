//! Lines of nginx.

use becalm_fit::log::{ADVICE, Format, Reader, Said};

use super::process::Server;
use super::visits::{Upstream, VISITS, compare, different, now, read};

fn configuration(upstream: u16) -> String {
    format!(
        r#"daemon off; worker_processes 1; pid nginx.pid; user root; error_log error.log;
        events {{ worker_connections 512; }}
        http {{
            {ADVICE}
            log_format timed '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
                             '"$http_referer" "$http_user_agent" $request_time';
            log_format own escape=json '{{"at":"$time_iso8601","agent":"$http_user_agent","took":$request_time,'
                                       '"asked":"$request","said":$status,"pool":"$upstream_addr"}}';
            log_format members escape=json '{{"msec":$msec,"request_time":$request_time,"status":$status,'
                                           '"request":"$request","http_x_request_id":"$http_x_request_id"}}';
            access_log becalm.log becalm;
            access_log timed.log timed;
            access_log own.log own;
            access_log members.log members;
            access_log combined.log;
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            # The first one is not there: the second is tried.
            upstream shop {{ server 127.0.0.1:1 max_fails=0; server 127.0.0.1:{upstream} max_fails=0; }}
            server {{ listen 127.0.0.1:HERE; location / {{ proxy_pass http://shop; }} }}
        }}"#
    )
}

#[test]
fn what_nginx_writes_is_read_in_each_of_its_formats() {
    let upstream = Upstream::start();
    let files = [("nginx.conf", configuration(upstream.port))];
    let arguments = ["-p", ".", "-c", "nginx.conf", "-e", "error.log"];
    let Some(nginx) = Server::start("nginx", "Debian's package nginx-light", &arguments, &files)
    else {
        return;
    };
    let since = now();
    upstream.visit(nginx.port);

    let text = nginx.lines("becalm.log", "", VISITS);
    let (requests, tally) = read(&text, &Said::Nothing);
    assert_eq!(tally.format, "nginx, as becalm asks for");
    compare(&requests, since, 2_000);
    assert!(tally.retried_by_proxy > 0 && tally.unread == 0, "{tally:?}");
    assert_eq!(different(&requests, |it| it.upstream), 1, "{text}");
    assert_eq!(different(&requests, |it| it.id), 5 + 1 + 1);
    assert_eq!(different(&requests, |it| it.client), 1);

    let own = r#"{"at":"$time_iso8601","agent":"$http_user_agent","took":$request_time,"asked":"$request","said":$status,"pool":"$upstream_addr"}"#;
    let own = Said::Format(Format::written(own).expect("a format"));
    for (file, format, said, step) in [
        (
            "timed.log",
            "nginx, combined and $request_time",
            &Said::Nothing,
            1_002_000,
        ),
        ("own.log", "as --log-format says", &own, 1_002_000),
        ("members.log", "JSON", &Said::Nothing, 2_000),
    ] {
        let (requests, tally) = read(&nginx.lines(file, "", VISITS), said);
        assert_eq!((tally.format, tally.unread), (format, 0));
        compare(&requests, since, step);
        assert_eq!(different(&requests, |it| it.target), 3, "{file}");
    }

    let combined = nginx.lines("combined.log", "", VISITS);
    let refusal = Reader::open("access.log", combined.as_bytes(), &Said::Nothing).unwrap_err();
    assert!(refusal.to_string().contains(ADVICE), "{refusal}");
}
