//! Lines of gunicorn, whose own moments are whole seconds, and of a formatter of Python that says more.

use becalm_fit::Ended;
use becalm_fit::log::{Format, Reader, Said};

use super::process::Server;
use super::visits::{ask, now, read};

/// Where `scripts/test` puts it.
pub const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../target/pypi/bin/gunicorn"
);

const APPLICATION: &str = r#"
def app(environ, start_response):
    status = "503 Busy" if environ["PATH_INFO"] == "/busy" else "200 OK"
    start_response(status, [("Content-Length", "2")])
    return [b"hi"]
"#;

/// The moment before each line, by the standard library's words.
const LOGGING: &str = "
[loggers]
keys=root, gunicorn.error, gunicorn.access
[handlers]
keys=access
[formatters]
keys=exact
[logger_root]
level=ERROR
handlers=access
[logger_gunicorn.error]
level=ERROR
handlers=access
propagate=0
qualname=gunicorn.error
[logger_gunicorn.access]
level=INFO
handlers=access
propagate=0
qualname=gunicorn.access
[handler_access]
class=FileHandler
formatter=exact
args=('exact.log',)
[formatter_exact]
format=%(created).6f %(message)s
";

#[test]
fn what_gunicorn_writes_is_read_with_a_moment_that_says_more_than_a_second() {
    let files = [
        ("shop.py", APPLICATION.into()),
        ("logging.ini", LOGGING.into()),
    ];
    let format = r#"%(h)s %(l)s "%(r)s" %(s)s %(L)s"#;
    let arguments = [
        "shop:app",
        "--bind",
        "127.0.0.1:HERE",
        "--log-config",
        "logging.ini",
    ];
    let arguments = [
        &arguments[..],
        &["--no-control-socket", "--access-logformat", format],
    ]
    .concat();
    let from = "PyPI's package gunicorn into target/pypi, as scripts/test does";
    let Some(gunicorn) = Server::start(PROGRAM, from, &arguments, &files) else {
        return;
    };
    let since = now();
    for path in ["/ok", "/busy", "/ok"] {
        ask(gunicorn.port, path, "x");
    }
    let text = gunicorn.lines("exact.log", "HTTP/1.1", 3);
    let written = Format::written(&format!("%(created).6f {format}")).expect("a format");
    let (requests, tally) = read(&text, &Said::Format(written));
    let ends: Vec<_> = requests.iter().map(|it| it.ended).collect();
    assert_eq!(ends, [200, 503, 200].map(Ended::Answered), "{text}");
    assert_eq!(tally.unread, 0, "{text}");
    assert!(
        requests
            .iter()
            .all(|it| since <= it.start && it.start <= now()),
        "{text}"
    );
    let unsaid = Reader::open("exact.log", text.as_bytes(), &Said::Nothing).unwrap_err();
    assert!(unsaid.to_string().contains("gunicorn"), "{unsaid}");
}
