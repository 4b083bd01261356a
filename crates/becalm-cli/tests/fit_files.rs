//! Which files does `becalm fit` read, what of them does it leave out, and what does it leave alone?

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn place(files: &[(&str, &str)]) -> TempDir {
    let place = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        fs::write(place.path().join(name), text).expect("a file");
    }
    place
}

/// What becalm does in this place, with this file on its standard input.
fn becalm(place: &Path, input: Option<&str>, arguments: &[&str]) -> Output {
    let input = input.map_or_else(Stdio::null, |it| {
        File::open(place.join(it)).expect("it is there").into()
    });
    Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(arguments)
        .current_dir(place)
        .stdin(input)
        .output()
        .expect("the binary starts")
}

fn refused(place: &TempDir, input: Option<&str>, arguments: &[&str]) -> String {
    let output = becalm(place.path(), input, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

fn document(place: &TempDir, arguments: &[&str]) -> Value {
    let output = becalm(place.path(), None, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn codes(document: &Value) -> Vec<&str> {
    let warnings = document["fits"][0]["warnings"].as_array();
    let codes = warnings.expect("warnings").iter();
    codes.filter_map(|it| it["code"].as_str()).collect()
}

const BEGIN: u32 = 1_795_431_751;

/// The ends and times of requests of a service that was never filled: twenty a second, from 20 to 29 ms each; in milliseconds.
fn requests(count: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..count).map(|at| (at * 50 + at * 13 % 17, 20 + at * 7 % 10))
}

fn advised(count: u32) -> Vec<String> {
    let line = |(end, time): (u32, u32)| {
        let end = f64::from(BEGIN) + f64::from(end) / 1e3;
        format!("{end:.3},0.{time:03},200,10.0.0.1,-,10.0.0.2:80,0.{time:03}\n")
    };
    requests(count).map(line).collect()
}

const COMBINED: &str =
    "10.0.0.1 - - [23/Nov/2026:11:02:31 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"curl\"\n";

#[test]
fn no_log_is_written_over() {
    let log = advised(500).concat();
    let place = place(&[("a.log", &log)]);
    fs::hard_link(place.path().join("a.log"), place.path().join("link")).expect("a link");
    for (input, arguments) in [
        (None, &["fit", "a.log", "--out", "a.log"][..]),
        (None, &["fit", "a.log", "--report", "./a.log"]),
        (None, &["fit", "a.log", "--report", "link"]),
        (Some("a.log"), &["fit", "-", "--out", "a.log"]),
    ] {
        let refusal = refused(&place, input, arguments);
        assert!(refusal.contains("would be written over"), "{refusal}");
        let kept = fs::read_to_string(place.path().join("a.log")).expect("it is there");
        assert_eq!(kept, log, "{arguments:?}");
    }
}

#[test]
fn no_log_is_read_twice() {
    let log = advised(500).concat();
    let place = place(&[("a.log", &log), ("copy.log", &log)]);
    for (input, arguments, part) in [
        (None, &["fit", "-", "-"][..], "- is named twice"),
        (None, &["fit", "a.log", "./a.log"], "./a.log is named twice"),
        (Some("a.log"), &["fit", "a.log", "-"], "- is named twice"),
        (
            None,
            &["fit", "a.log", "copy.log"],
            "copy.log: its requests are in another of these files",
        ),
        (
            Some("copy.log"),
            &["fit", "a.log", "-"],
            "standard input: its requests are in another",
        ),
    ] {
        let refusal = refused(&place, input, arguments);
        assert!(refusal.contains(part), "{refusal}");
    }
}

#[test]
fn from_one_unread_line_in_a_hundred_on_nothing_is_counted() {
    let every = |nth: usize, other: &str| {
        let mut log = String::new();
        for (at, line) in advised(4_000).iter().enumerate() {
            let line = if at % nth == 1 { other } else { line };
            log.push_str(line);
        }
        log
    };
    let websocket = format!("{BEGIN}.5,60.0,101,10.0.0.1,-,10.0.0.2:80,60.0\n");
    let place = place(&[
        ("many.log", &every(50, COMBINED)),
        ("few.log", &every(150, COMBINED)),
        ("others.log", &every(20, &websocket)),
        ("remarks.log", &every(20, "# a remark\n")),
    ]);
    for (log, knee, is_told) in [
        ("many.log", "refused", true),
        ("few.log", "open", false),
        ("others.log", "open", false),
        ("remarks.log", "open", false),
    ] {
        let document = document(&place, &["fit", log]);
        assert_eq!(document["fits"][0]["knee"], knee, "{log}: {document}");
        assert_eq!(codes(&document).contains(&"unread-lines"), is_told, "{log}");
    }
    let alone = document(&place, &["fit", "many.log", "--pool", "1"]);
    assert!(codes(&alone).contains(&"unread-lines"), "{alone}");
}

#[test]
fn lines_before_the_format_was_changed_are_left_out() {
    let (later, long) = (advised(1_000).concat(), COMBINED.repeat(20_000));
    let short = COMBINED.repeat(500);
    let place = place(&[
        ("short.log", &format!("{short}{later}")),
        ("long.log", &format!("{long}{later}")),
        ("never.log", &long),
    ]);
    let advice = "$msec,$request_time,$status,$remote_addr,$http_x_request_id,$upstream_addr,$upstream_response_time";
    for (log, left_out) in [("short.log", 500), ("long.log", 20_000)] {
        for more in [&["fit", log][..], &["fit", log, "--log-format", advice]] {
            let document = document(&place, more);
            let file = &document["files"][0];
            assert_eq!(
                (&file["left_out"], &file["requests"], &file["unread"]),
                (&left_out.into(), &1_000.into(), &0.into()),
                "{log}"
            );
            assert_eq!(file["lines"], left_out + 1_000);
            assert_eq!(document["fits"][0]["knee"], "open", "{log}");
        }
    }
    let told = becalm(place.path(), None, &["fit", "short.log"]);
    let told = String::from_utf8(told.stdout).expect("UTF-8");
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("its first 500 lines"), "{told}");
    let refusal = refused(&place, None, &["fit", "never.log"]);
    assert!(refusal.contains("does not say how long"), "{refusal}");
}

#[test]
fn a_format_may_be_the_directive_and_a_wrong_one_is_blamed_itself() {
    let mut log = String::new();
    for (end, time) in requests(1_000) {
        let end = f64::from(BEGIN) + f64::from(end) / 1e3;
        let _ = writeln!(log, r#"{{"t":"{end:.3}","d":"0.{time:03}","s":200}}"#);
    }
    let place = place(&[("a.log", &log)]);
    let text = r#"{"t":"$msec","d":"$request_time","s":$status}"#;
    let (front, behind) = text.split_at(20);
    for written in [
        text,
        &format!("log_format mine escape=json '{front}'\n  '{behind}';"),
        &format!("escape=json '{text}'"),
    ] {
        let document = document(&place, &["fit", "a.log", "--log-format", written]);
        assert_eq!(document["files"][0]["requests"], 1_000, "{written}");
    }
    let wrong = refused(
        &place,
        None,
        &[
            "fit",
            "a.log",
            "--log-format",
            "$msec $request_time $status",
        ],
    );
    assert!(
        wrong.contains("lines are not of its format (as --log-format says); line 1")
            && wrong.contains("letter by letter"),
        "{wrong}"
    );
}

/// By the recipe of docs/fit.md.
#[test]
fn a_fine_moment_of_gunicorn_counts_beside_its_whole_second() {
    let mut log = String::new();
    for (end, time) in requests(1_000) {
        let (second, rest) = (BEGIN + end / 1_000, end % 1_000);
        let clock = 11 * 3_600 + 2 * 60 + 31 + end / 1_000;
        let (hours, minutes, seconds) = (clock / 3_600, clock / 60 % 60, clock % 60);
        let _ = writeln!(
            log,
            "{second}.{rest:03}000 10.0.0.1 - - [23/Nov/2026:{hours}:{minutes:02}:{seconds:02} +0000] \"GET / HTTP/1.1\" \
             200 5 \"-\" \"curl\" 0.{time:03}000"
        );
    }
    let place = place(&[("a.log", &log)]);
    let format =
        r#"%(created).6f %(h)s %(l)s %(u)s %(t)s "%(r)s" %(s)s %(b)s "%(f)s" "%(a)s" %(L)s"#;
    let document = document(&place, &["fit", "a.log", "--log-format", format]);
    assert_eq!(document["files"][0]["requests"], 1_000);
    assert!(!codes(&document).contains(&"coarse-stamps"), "{document}");
}

#[test]
fn durations_that_may_be_milliseconds_are_asked_about() {
    let mut log = "start,duration,status\n".to_owned();
    for (end, time) in requests(1_000) {
        let _ = writeln!(log, "{BEGIN}.{:06},{time},200", end % 1_000_000);
    }
    let place = place(&[
        ("a.csv", &log),
        ("b.csv", &log.replace("duration", "duration_ms")),
    ]);
    for (log, is_asked) in [("a.csv", true), ("b.csv", false)] {
        let told = becalm(place.path(), None, &["fit", log]);
        let told = String::from_utf8(told.stdout).expect("UTF-8");
        assert_eq!(told.contains("duration_ms"), is_asked, "{told}");
    }
}

#[test]
fn a_moment_of_no_unit_and_an_end_before_its_start_are_named() {
    let line = |number: u64| {
        let start = 1_795_431_751_000_000 + number * 10_000;
        let end = start + 5_000;
        format!(
            r#"{{"since":{},"took":5,"a":{start},"b":{end},"code":200}}"#,
            number * 10
        )
    };
    let lines: Vec<_> = (0..200).map(line).collect();
    let place = place(&[("a.log", &lines.join("\n"))]);
    for (flag, part) in [
        (
            "end=since,duration=took:ms,status=code",
            "line 1 has no moment at end=since: RFC 3339, the common log format, or a number since 1970 (with :s, :ms, :us or :ns)",
        ),
        (
            "start=b:us,end=a:us,status=code",
            "line 1 does not end behind its beginning, by start=b and end=a",
        ),
    ] {
        let told = refused(&place, None, &["fit", "a.log", "--json-fields", flag]);
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn where_nothing_was_answered_well_that_is_the_reason() {
    for statuses in [[500, 500], [500, 503], [503, 503]] {
        let lines = requests(2_000).zip(statuses.into_iter().cycle());
        let lines = lines.map(|((end, time), status)| {
            let end = f64::from(BEGIN) + f64::from(end) / 1e3;
            format!("{end:.3},0.{time:03},{status}\n")
        });
        let log = format!("end,duration,status\n{}", lines.collect::<String>());
        let document = document(&place(&[("a.csv", &log)]), &["fit", "a.csv"]);
        let codes = codes(&document);
        assert!(codes.contains(&"none-served"), "{statuses:?}: {codes:?}");
        assert!(!codes.contains(&"coarse-stamps"), "{statuses:?}: {codes:?}");
    }
}

#[test]
fn one_request_is_one_wherever_it_is_counted() {
    let log = format!("start,duration,status\n{BEGIN}.011443,0.003389,200\n");
    let output = becalm(place(&[("a.csv", &log)]).path(), None, &["fit", "a.csv"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("a.csv: 1 request in 2 lines"), "{text}");
    assert!(text.contains("1 request says nothing"), "{text}");
    assert!(!text.contains("1 requests"), "{text}");
}
