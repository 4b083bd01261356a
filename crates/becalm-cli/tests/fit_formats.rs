//! Is a log of each program read right, without a flag or with one, or refused with its true reason and the line to add?
//!
//! The truth is a service of four workers that take 20 ms each on average: 200 requests a second, called 150 times a second.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const BEGIN: u64 = 1_795_431_751_000_000;

/// A request: start and duration in microseconds, and its number.
type Request = (u64, u64, u64);

/// Makes a line of a request.
type Lines<'a> = &'a dyn Fn(u64, u64, u64) -> String;

fn requests() -> Vec<Request> {
    let mut state = 7_u64;
    let mut exponential = move |mean: f64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        #[expect(clippy::cast_precision_loss)] // 53 bits
        let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
        -mean * (1.0 - uniform).ln()
    };
    let mut free = [0.0_f64; 4];
    let mut now = 0.0;
    let mut requests = Vec::new();
    for number in 0..8_000 {
        now += exponential(1e6 / 150.0);
        free.sort_by(f64::total_cmp);
        let end = now.max(free[0]) + exponential(20_000.0);
        free[0] = end;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // microseconds of a minute
        let (start, duration) = (now as u64, (end - now) as u64);
        requests.push((start, duration, number));
    }
    // A server writes a line when the request is over.
    requests.sort_by_key(|(start, duration, _)| start + duration);
    requests
}

/// The moment as RFC 3339 has it, in this zone of whole hours.
fn iso(micros: u64, hours: u64) -> String {
    let (clock, fraction) = clock(micros + hours * 3_600_000_000);
    let zone = if hours == 0 {
        "Z".into()
    } else {
        format!("+{hours:02}:00")
    };
    format!("2026-11-23T{clock}.{fraction:06}{zone}")
}

fn common(micros: u64) -> String {
    format!("23/Nov/2026:{} +0000", clock(micros).0)
}

/// Of the day on which the log begins, at 11:02:31.
fn clock(micros: u64) -> (String, u64) {
    let seconds = micros / 1_000_000 - BEGIN / 1_000_000 + 11 * 3_600 + 2 * 60 + 31;
    let clock = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    );
    (clock, micros % 1_000_000)
}

/// What becalm says of a log of such lines.
fn fit(line: impl Fn(u64, u64, u64) -> String, flags: &[&str]) -> Output {
    let place = TempDir::new().expect("a directory");
    let mut text = String::new();
    for (start, duration, number) in requests() {
        let _ = writeln!(text, "{}", line(BEGIN + start, duration, number));
    }
    fs::write(place.path().join("a.log"), text).expect("a file");
    Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(["fit", "a.log", "--one-pool"])
        .args(flags)
        .current_dir(place.path())
        .output()
        .expect("the binary starts")
}

/// The fit of a log of such lines: all of them requests, 150 a second.
fn fitted(name: &str, line: impl Fn(u64, u64, u64) -> String, flags: &[&str]) -> Value {
    let output = fit(line, &[flags, &["--json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {stderr}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let file = &document["files"][0];
    assert_eq!(
        (&file["requests"], &file["unread"]),
        (&8_000.into(), &0.into()),
        "{name}: {file}"
    );
    let rate = value(&document, "first_tries");
    assert!((140.0..170.0).contains(&rate), "{name}: {rate}/s");
    document
}

fn value(document: &Value, id: &str) -> f64 {
    let values = document["fits"][0]["values"].as_array().expect("values");
    let found = values.iter().find(|it| it["id"] == id).expect(id);
    found["value"].as_f64().expect("a number")
}

/// Its capacity is that of the truth, from above and from below.
fn is_right(name: &str, line: impl Fn(u64, u64, u64) -> String, flags: &[&str]) {
    let document = fitted(name, line, flags);
    let capacity = value(&document, "capacity");
    assert!(
        (180.0..210.0).contains(&capacity),
        "{name}: {capacity}/s of 200"
    );
    assert_eq!(document["fits"][0]["knee"], "seen", "{name}");
}

fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[test]
fn json_of_programs_is_read_without_a_flag() {
    is_right(
        "Caddy",
        |start, took, number| {
            let (end, took) = (seconds(start + took), seconds(took));
            format!(
                r#"{{"level":"info","ts":{end},"logger":"http.log.access.log0","msg":"handled request","request":{{"remote_ip":"10.0.0.{}","method":"GET","uri":"/{number}","headers":{{"User-Agent":["curl"]}}}},"duration":{took},"size":5,"status":200}}"#,
                number % 200
            )
        },
        &[],
    );
    is_right(
        "Traefik",
        |start, took, number| {
            let (begin, end) = (iso(start, 0), iso(start + took, 0));
            format!(
                r#"{{"ClientHost":"10.0.0.9","DownstreamStatus":200,"Duration":{},"OriginDuration":{},"OriginStatus":200,"RequestMethod":"GET","RequestPath":"/{number}","RetryAttempts":0,"StartLocal":"{begin}","StartUTC":"{begin}","level":"info","msg":"","time":"{end}"}}"#,
                took * 1_000 + 123,
                took * 1_000
            )
        },
        &[],
    );
    is_right(
        "Google's load balancer, in another zone",
        |start, took, number| {
            format!(
                r#"{{"httpRequest":{{"requestMethod":"GET","requestUrl":"https://a/{number}","status":200,"latency":"{}s","remoteIp":"10.0.0.9"}},"resource":{{"type":"http_load_balancer","labels":{{}}}},"timestamp":"{}"}}"#,
                seconds(took),
                iso(start, 5)
            )
        },
        &[],
    );
    is_right(
        "Kong",
        |start, took, number| {
            format!(
                r#"{{"started_at":{},"latencies":{{"request":{},"kong":1}},"request":{{"uri":"/{number}","method":"GET"}},"response":{{"status":200}},"client_ip":"10.0.0.9","tries":[{{"ip":"10.1.0.1","port":80}}]}}"#,
                start / 1_000,
                took / 1_000
            )
        },
        &[],
    );
    is_right(
        "pino",
        |start, took, number| {
            format!(
                r#"{{"level":30,"time":{},"pid":1,"hostname":"h","req":{{"id":{number},"method":"GET","url":"/a"}},"res":{{"statusCode":200}},"responseTime":{},"msg":"request completed"}}"#,
                (start + took) / 1_000,
                took / 1_000
            )
        },
        &[],
    );
    is_right(
        "an application that becalm told what to write",
        |start, took, _| {
            format!(
                r#"{{"end":"{}","duration_ms":{}.{:03},"status":200}}"#,
                iso(start + took, 0),
                took / 1_000,
                took % 1_000
            )
        },
        &[],
    );
}

#[test]
fn json_and_pairs_of_others_are_read_by_the_names_that_somebody_says() {
    for (name, unit, factor) in [("zap", "s", 0), ("bunyan", "us", 1), ("ECS", "ns", 1_000)] {
        let fields = format!("end=@timestamp,duration=event.took:{unit},status=http.code");
        is_right(
            name,
            |start, took, _| {
                let span = if factor == 0 {
                    let took = u32::try_from(took).expect("a second");
                    Value::from(f64::from(took) / 1e6).to_string()
                } else {
                    format!("\"{}\"", took * factor)
                };
                format!(
                    r#"{{"@timestamp":"{}","event":{{"took":{span}}},"http.code":"200"}}"#,
                    iso(start + took, 1)
                )
            },
            &["--json-fields", &fields],
        );
    }
    is_right(
        "nanoseconds since 1970",
        |start, took, _| format!(r#"{{"t":{start}000,"d":{took},"s":200}}"#),
        &["--json-fields", "start=t:ns,duration=d:us,status=s"],
    );
    is_right(
        "logfmt among other remarks",
        |start, took, number| {
            let end = iso(start + took, 0);
            let request =
                format!("time={end} level=info msg=\"request done\" code=200 took={took}µs");
            if number % 10 == 0 {
                format!("time={end} level=info msg=\"a remark\"\n{request}")
            } else {
                request
            }
        },
        &["--json-fields", "end=time,duration=took,status=code"],
    );
    is_right(
        "LTSV",
        |start, took, _| {
            format!(
                "time:{}\tstatus:200\treqtime_microsec:{took}",
                iso(start + took, 0)
            )
        },
        &[
            "--json-fields",
            "end=time,duration=reqtime_microsec:us,status=status",
        ],
    );
}

#[test]
fn lines_of_others_are_read_with_the_text_of_their_server() {
    is_right(
        "Apache, with microseconds in its moment",
        |start, took, number| {
            let (clock, fraction) = clock(start);
            format!(
                r#"10.0.0.9 - - [23/Nov/2026:{clock}.{fraction:06} +0000] "GET /{number} HTTP/1.1" 200 5 "-" "curl" {took}"#
            )
        },
        &["--format", "apache"],
    );
    is_right(
        "Apache, as becalm asks for",
        |start, took, _| {
            format!("start_us={start} duration_us={took} status=200 client=10.0.0.9 id=-")
        },
        &[],
    );
    is_right(
        "gunicorn, as becalm asks for",
        |start, took, _| {
            let end = seconds(start + took);
            format!("end={end} duration_us={took} status=200 client=10.0.0.9 id=-")
        },
        &[],
    );
    is_right(
        "Tomcat, whose moments are milliseconds",
        |start, took, _| format!("{} {} 200", start / 1_000, took / 1_000),
        &["--log-format", "%{begin:msec}t %{ms}T %s"],
    );
    is_right(
        "AWS's Classic Load Balancer",
        |start, took, number| {
            format!(
                r#"{} my-lb 10.0.0.9:2817 10.1.0.1:80 0.000000 {} 0.000000 200 200 0 29 "GET http://a:80/{number} HTTP/1.1" "curl/7.38.0" - -"#,
                iso(start, 0),
                seconds(took)
            )
        },
        &[],
    );
    is_right(
        "Docker, around nginx",
        |start, took, _| {
            let end = start + took;
            format!(
                r#"{{"log":"{}.{:03},{}.{:03},200,10.0.0.9,-,10.1.0.1:80,-\n","stream":"stdout","time":"{}"}}"#,
                end / 1_000_000,
                end / 1_000 % 1_000,
                took / 1_000_000,
                took / 1_000 % 1_000,
                iso(end, 0)
            )
        },
        &[],
    );
    is_right(
        "LTSV of nginx",
        |start, took, _| {
            let (end, took) = (seconds(start + took), seconds(took));
            format!("time:{end}\tstatus:200\treqtime:{took}")
        },
        &[
            "--log-format",
            r"time:$msec\tstatus:$status\treqtime:$request_time",
        ],
    );
}

/// Where moments are whole seconds, the rate and the times are right, no capacity is told, and the line that helps is.
#[test]
fn whole_seconds_give_rates_alone_and_the_line_that_says_more() {
    let behind = |start: u64, more: &str| {
        format!(
            r#"10.0.0.9 - - [{}] "GET /a HTTP/1.1" 200 5 "-" "curl" {more}"#,
            common(start)
        )
    };
    let apache: Lines<'_> = &|start, took, _| behind(start, &took.to_string());
    let traefik: Lines<'_> = &|start, took, number| {
        let took = took / 1_000;
        behind(
            start,
            &format!(r#"{number} "router@docker" "http://10.1.0.1:80" {took}ms"#),
        )
    };
    let ingress: Lines<'_> = &|start, took, _| {
        let took = format!("{}.{:03}", took / 1_000_000, took / 1_000 % 1_000);
        behind(
            start + 20_000,
            &format!("312 {took} [default-a-80] [] 10.1.0.1:8080 5 {took} 200 abc"),
        )
    };
    let journal: Lines<'_> = &|start, took, number| {
        let took = format!("{}.{:03}", took / 1_000_000, took / 1_000 % 1_000);
        format!(
            "Nov 23 11:02:31 web{} nginx[7]: {}",
            number % 3,
            behind(start, &took)
        )
    };
    let iis: Lines<'_> = &|start, took, number| {
        let header = "#Software: Microsoft Internet Information Services 10.0\n#Fields: date time s-ip cs-method cs-uri-stem c-ip sc-status sc-win32-status time-taken\n";
        let header = if number == 0 { header } else { "" };
        let (clock, took) = (clock(start + took).0, took / 1_000);
        format!("{header}2026-11-23 {clock} 10.1.0.1 GET /a 10.0.0.9 200 0 {took}")
    };
    for (name, line, flags, advice) in [
        ("IIS", iis, &[][..], "moments are told in steps of 1s"),
        (
            "Apache",
            apache,
            &["--format", "apache"][..],
            "LogFormat \"start_us=%{usec}t",
        ),
        ("Traefik", traefik, &[], "accessLog: {format: json}"),
        (
            "ingress-nginx",
            ingress,
            &[],
            "log-format-upstream: '$msec,",
        ),
        ("nginx by syslog", journal, &[], "log_format becalm"),
    ] {
        let document = fitted(name, line, flags);
        assert_eq!(document["fits"][0]["knee"], "refused", "{name}");
        assert!(value(&document, "capacity") < 205.0, "{name}");
        let output = fit(line, flags);
        let told = String::from_utf8(output.stdout).expect("UTF-8");
        let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(advice), "{name}: {told}");
    }
}

#[test]
fn what_says_too_little_is_refused_with_the_reason_and_the_line_to_add() {
    let combined = |start: u64, more: &str| {
        format!(
            r#"10.0.0.9 - - [{}] "GET /a HTTP/1.1" 200 5 "-" "curl"{more}"#,
            common(start)
        )
    };
    let plain: Lines<'_> = &|start, _, _| combined(start, "");
    let apache: Lines<'_> = &|start, took, _| combined(start, &format!(" {took}"));
    let tomcat: Lines<'_> = &|start, took, _| {
        format!(
            r#"10.0.0.9 - - [{}] "GET /a HTTP/1.1" 200 5 {}"#,
            common(start),
            took / 1_000
        )
    };
    let kong: Lines<'_> = &|start, _, _| combined(start, " kong_request_id: \"a\"");
    let uvicorn: Lines<'_> =
        &|_, _, _| r#"INFO:     10.0.0.9:41290 - "GET /a HTTP/1.1" 200 OK"#.into();
    let morgan: Lines<'_> = &|_, took, _| format!("GET /a 200 {}.123 ms - 512", took / 1_000);
    let lograge: Lines<'_> = &|_, took, _| {
        format!(
            "method=GET path=/a controller=A action=b status=200 duration={}.12 view=1.0",
            took / 1_000
        )
    };
    let zap: Lines<'_> = &|start, took, _| {
        let (end, took) = (seconds(start + took), seconds(took));
        format!(r#"{{"level":"info","ts":{end},"msg":"request","status":200,"latency":{took}}}"#)
    };
    for (line, flags, parts) in [
        (
            plain,
            &[][..],
            &[
                "does not say how long",
                "log-format-upstream: '$msec",
                "--access-logformat '",
                "LogFormat \"start_us",
            ][..],
        ),
        (apache, &[], &["becalm does not guess", "--format apache"]),
        (tomcat, &[], &["becalm does not guess", "%{ms}T"]),
        (
            kong,
            &[],
            &["has no duration in its lines", "KONG_NGINX_HTTP_LOG_FORMAT"],
        ),
        (
            uvicorn,
            &[],
            &["neither a moment nor a duration", "no option makes it"],
        ),
        (
            morgan,
            &[],
            &[
                "has no moment in its lines",
                "duration_ms: it['total-time']",
            ],
        ),
        (
            lograge,
            &[],
            &[
                "has no moment in its lines",
                "config.lograge.custom_options",
            ],
        ),
        (
            zap,
            &[],
            &["--json-fields end=ts,duration=latency:UNIT,status=status"],
        ),
        (
            zap,
            &["--json-fields", "end=ts,duration=latency,status=status"],
            &["line 1 has a number at duration=latency, and nothing says its unit"],
        ),
        (
            zap,
            &["--json-fields", "end=ts,duration=took:s,status=status"],
            &["line 1 has nothing at duration=took"],
        ),
        (
            zap,
            &["--json-fields", "end=ts,status=status"],
            &["--json-fields: it does not name a duration"],
        ),
    ] {
        let output = fit(line, flags);
        let told = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{told}");
        for part in parts {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}
