//! Do the recipes of docs/commands.md work? Each is read from the page and run, against real servers.

#[path = "../run_support/namespaces.rs"]
mod namespaces;
mod place;
mod registry;
#[allow(dead_code)] // the programs of examples/ use more of it
#[path = "../../../../examples/tests/programs/servers/mod.rs"]
mod servers;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use namespaces::{CONTAINER, unshare};
use place::{Place, finish};
use registry::{Registry, Stub};
use servers::postgres::Postgres;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn page() -> String {
    read("docs/commands.md")
}

/// The recipes for a shell in this chapter of the page.
fn recipes(chapter: &str) -> Vec<String> {
    let page = page();
    let mut chapters = page.split("\n## ");
    let chapter = chapters.find(|text| text.lines().next() == Some(chapter));
    blocks(chapter.expect("the chapter"))
}

/// The recipe of the front page, a build, and the two of the page of features: a pipeline, a wait.
fn front_pages() -> [String; 3] {
    let build = blocks(&read("README.md"));
    let others = blocks(&read("docs/features.md"));
    match (&build[..], &others[..]) {
        ([build], [pipeline, wait]) => [build, pipeline, wait].map(String::clone),
        _ => panic!("one recipe and two: {build:?}, {others:?}"),
    }
}

fn blocks(text: &str) -> Vec<String> {
    let blocks = text.split("```sh\n").skip(1);
    let block = |text: &str| text.split("```").next().unwrap_or_default().to_owned();
    blocks.map(block).collect()
}

/// Passes on the beginning of the first dump, holds the rest until the test says so, and is gzip.
const SLOW_GZIP: &str = "#!/bin/sh
[ -e begun ] && exec GZIP \"$@\"
{ head -c 10000; : > begun; until [ -e go-on ]; do sleep 0.01; done; cat; } | GZIP \"$@\"
";

#[test]
fn d2_a_dump_outlasts_a_restart_of_its_database_and_is_whole() {
    let mut server = Postgres::start();
    let mut place = Place::new();
    place.set_database(&server);
    let gzip = place.run("command -v gzip");
    place.program("gzip", &SLOW_GZIP.replace("GZIP", gzip.trim()));
    place.run("until pg_isready -q; do sleep 0.05; done; createdb shop; createdb restored");
    // More than a pipe holds, so that the dump is still in the middle when its server ends.
    place.run(
        "psql -qd shop -c \"CREATE TABLE orders AS SELECT n AS id, md5(n::text) || repeat('x', 99) \
         AS item FROM generate_series(1, 50000) n\"",
    );
    let [_, front, _] = front_pages();
    let mut recipes = recipes("A pipeline in cron");
    recipes.push(front);
    assert_eq!(recipes.len(), 3);
    for recipe in recipes {
        let dump = place.path("shop.sql.gz");
        fs::write(&dump, "yesterday's").expect("a file");
        for flag in ["begun", "go-on"] {
            let _ = fs::remove_file(place.path(flag));
        }
        let running = place.start(&recipe);
        place.await_file("begun");
        server.stop_at_once();
        server.start_again();
        place.run("until pg_isready -q; do sleep 0.05; done");
        assert_eq!(fs::read(&dump).expect("a file"), b"yesterday's");
        fs::write(place.path("go-on"), "").expect("a file");
        assert_eq!(finish(running, &recipe), "");

        let text = place.run("gunzip < shop.sql.gz");
        for mark in [
            "-- PostgreSQL database dump\n",
            "-- PostgreSQL database dump complete\n",
        ] {
            assert_eq!(text.matches(mark).count(), 1, "{mark}");
        }
        let digest = "SELECT count(*), md5(string_agg(item, ',' ORDER BY id)) FROM orders";
        let of = |database| place.run(&format!("psql -tAd {database} -c \"{digest}\""));
        place.run("gunzip < shop.sql.gz | psql -qd restored -v ON_ERROR_STOP=1 > /dev/null");
        assert_eq!(of("restored"), of("shop"));
        assert!(of("shop").starts_with("50000|"), "{}", of("shop"));
        place.run("psql -qd restored -c 'DROP TABLE orders'");
    }
}

/// The crontab of the page, read as cron(8) does: settings, then a line with five fields of time.
fn crontab() -> (String, String) {
    let page = page();
    let text = page.split("```crontab\n").nth(1).expect("a crontab");
    let mut lines = text.lines();
    let path = lines.next().and_then(|line| line.strip_prefix("PATH="));
    let line = lines.next().expect("the dump's line");
    let fields = line.split_whitespace().skip(5).collect::<Vec<_>>();
    (path.expect("the path").to_owned(), fields.join(" "))
}

#[test]
fn d2_the_dump_runs_in_the_bare_environment_of_cron() {
    let place = Place::new();
    let dump = recipes("A pipeline in cron").swap_remove(0);
    place.program("dump-shop", &dump);
    // Half of a dump, and then a whole one.
    let pg_dump = "#!/bin/sh\necho half\n[ -e failed ] || { : > failed; exit 1; }\necho whole\n";
    place.program("pg_dump", pg_dump);
    let (path, line) = crontab();
    let folder = place.path("").display().to_string();
    let here = |text: &str| text.replace("/usr/local/bin", &format!("{folder}bin"));
    let line = here(&line).replace("/var/backups", &folder);
    let bare = format!(
        "exec env -i HOME={folder} LOGNAME=shop SHELL=/bin/sh PATH={} /bin/sh -c '{line}' 2>&1",
        here(&path)
    );
    assert_eq!(place.run(&bare), "", "what cron would mail");
    assert_eq!(place.run("gunzip < shop.sql.gz"), "half\nwhole\n");
}

/// A folder with an application that needs one package of this registry.
fn application(script: Vec<Registry>) -> (Place, Stub) {
    let mut place = Place::new();
    for (name, value) in [
        ("audit", "false"),
        ("fund", "false"),
        ("update_notifier", "false"),
    ] {
        place.set(&format!("npm_config_{name}"), value);
    }
    place.set(
        "npm_config_cache",
        place.path("cache").display().to_string(),
    );
    let package = r#"{"name": "lamp", "version": "1.0.0"}"#;
    fs::create_dir(place.path("lamp")).expect("a folder");
    fs::write(place.path("lamp/package.json"), package).expect("a file");
    let packed = place.run("npm pack --json --cache its-own ./lamp");
    let packed: serde_json::Value = serde_json::from_str(&packed).expect("JSON");
    let integrity = packed.pointer("/0/integrity").and_then(|it| it.as_str());
    let bytes = fs::read(place.path("lamp-1.0.0.tgz")).expect("a package");
    let registry = Stub::start(bytes, script);
    let needs =
        serde_json::json!({"name": "shop", "version": "1.0.0", "dependencies": {"lamp": "1.0.0"}});
    let url = format!("http://127.0.0.1:{}/lamp/-/lamp-1.0.0.tgz", registry.port);
    let lock = serde_json::json!({
        "name": "shop", "version": "1.0.0", "lockfileVersion": 3, "requires": true,
        "packages": {
            "": needs,
            "node_modules/lamp": {"version": "1.0.0", "resolved": url, "integrity": integrity},
        },
    });
    fs::write(place.path("package.json"), needs.to_string()).expect("a file");
    fs::write(place.path("package-lock.json"), lock.to_string()).expect("a file");
    (place, registry)
}

fn npm_recipe() -> String {
    recipes("A build that downloads").swap_remove(0)
}

#[test]
fn d2_npm_installs_from_a_registry_that_fails_twice() {
    let [front, ..] = front_pages();
    for recipe in [npm_recipe(), front] {
        let (place, registry) = application(vec![Registry::Answers(503), Registry::HangsUp]);
        let running = place.start(&recipe);
        let done = running.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{told}");
        // Not npm's own retries.
        let retries = told.matches("failed (exit 1); retry in").count();
        assert_eq!(retries, 2, "{told}");
        assert!(place.path("node_modules/lamp/package.json").exists());
        assert_eq!(registry.requests(), 3);
    }
}

#[test]
fn d2_npm_asks_once_for_a_package_that_does_not_exist() {
    let (place, registry) = application(vec![Registry::Answers(404)]);
    let done = place
        .start(&npm_recipe())
        .wait_with_output()
        .expect("it ends");
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert_eq!(registry.requests(), 1);
}

/// Starts it while the database is down, and the database once it has failed twice.
fn waits(place: &Place, server: &mut Postgres, script: &str) -> String {
    server.stop_at_once();
    let mut running = place.start(script);
    let told = BufReader::new(running.stderr.take().expect("a pipe"));
    let mut told = told.lines().map_while(Result::ok);
    let is_second = |line: String| line.contains("attempt 2 failed (exit 2)");
    assert!(told.any(is_second), "{script}");
    assert!(running.try_wait().expect("it is a child").is_none());
    server.start_again();
    drop(told.last()); // lest the pipe fill up
    finish(running, script)
}

#[test]
fn d2_a_start_waits_for_its_database() {
    let mut server = Postgres::start();
    let mut place = Place::new();
    place.set_database(&server);
    let [.., front] = front_pages();
    assert_eq!(waits(&place, &mut server, &front), "");
    // The page's own says nothing that could be waited for.
    let quiet = recipes("Waiting for a service").swap_remove(0);
    assert_eq!(place.run(&quiet), "");
}

#[test]
fn d2_an_entry_point_waits_for_its_database_and_then_becomes_the_program() {
    let mut server = Postgres::start();
    let mut place = Place::new();
    place.set_database(&server);
    let entry_point = recipes("An entry point of a container").swap_remove(0);
    place.program("entrypoint", &entry_point);
    let unshare = unshare(CONTAINER);
    let script = format!("exec {unshare} entrypoint sh -c 'set -- /proc/[0-9]*; echo $$ of $#'");
    let printed = waits(&place, &mut server, &script);
    // Nothing but the program is left of the wait.
    assert_eq!(printed, "1 of 1\n");
}

/// The lines of a page's blocks that run becalm, each as one line for a shell, with another command.
fn runs(page: &str) -> Vec<String> {
    let joined = page.replace("\\\n", " ");
    let blocks = joined.split("```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines).filter_map(|line| {
        // YAML and Dockerfiles have lists of words.
        let is_list = line.contains("[becalm") || line.contains("[\"becalm");
        let line = if is_list {
            line.replace(['[', ']', '"', ','], "")
        } else {
            line.to_owned()
        };
        let flags = line.split("becalm run ").nth(1)?.to_owned();
        let (flags, command) = match flags.strip_prefix("-- ") {
            Some(command) => ("", command),
            None => flags.split_once(" -- ")?,
        };
        assert!(!command.trim().is_empty(), "{line}");
        // Not a file of this machine.
        let flags = flags.replace("/run/lock/", "");
        Some(format!("becalm run {flags} -- true"))
    });
    lines.collect()
}

#[test]
fn d2_every_run_of_the_help_is_understood() {
    let place = Place::new();
    for help in ["becalm --help", "becalm run --help"] {
        let runs = runs(&format!("```{}```", place.run(help)));
        assert!(!runs.is_empty(), "{help}");
        for run in runs {
            place.run(&run);
        }
    }
}

#[test]
fn d2_every_run_of_the_pages_is_understood() {
    for (path, least) in [
        ("docs/commands.md", 14),
        ("README.md", 1),
        ("docs/features.md", 2),
        ("docs/guide.md", 2),
    ] {
        let place = Place::new();
        let page = read(path);
        let runs = runs(&page);
        let written = page.matches("becalm run ").count();
        assert!((least..=written).contains(&runs.len()), "{path}: {runs:?}");
        for run in runs {
            place.run(&run);
        }
    }
}

/// The text of the page, without its line ends.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn d2_the_figures_of_the_page_are_the_programs() {
    let place = Place::new();
    let page = flat(&page());
    let plan = |flags: &str| -> serde_json::Value {
        let plan = place.run(&format!("becalm plan --preset command --json {flags}"));
        serde_json::from_str(&plan).expect("JSON")
    };
    let seconds = |plan: &serde_json::Value, key: &str| {
        let waits = plan["waits"][key].as_u64().expect("milliseconds");
        waits.div_ceil(1000)
    };
    let [given, eight] = ["", "--attempts 8"].map(plan);
    let told = format!(
        "Without flags it makes up to {} attempts and waits for {} to {} seconds in all; with \
         `--attempts 8`, for {} to {}.",
        given["retries"].as_array().expect("retries").len() + 1,
        seconds(&given, "min_ms"),
        seconds(&given, "max_ms"),
        seconds(&eight, "min_ms"),
        seconds(&eight, "max_ms"),
    );
    assert!(page.contains(&told), "{told}");
    let help = flat(&place.run("becalm run --help"));
    let kill_after = help
        .split("--kill-after <DURATION>")
        .nth(1)
        .expect("the flag");
    let (_, after) = kill_after.split_once("[default: ").expect("a default");
    let default = after.split(']').next().expect("a value").replace('s', " s");
    let told = format!("kills what still runs {default} later (`--kill-after`)");
    assert!(page.contains(&told), "{told}");
}

#[test]
fn d2_the_table_of_exit_codes_is_what_happens() {
    let page = page();
    let section = page.split("## Exit codes").nth(1).expect("a section");
    let table = section.split("\n## ").next().expect("a table");
    let codes: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .skip(1)
        .collect();
    assert_eq!(
        codes,
        ["0", "its own", "124", "125", "126", "127", "128 + n"]
    );
    let place = Place::new();
    for (code, run) in [
        (0, "-- true"),
        (7, "-- sh -c 'exit 7'"),
        (7, "--stop-on 7 -- sh -c 'exit 7'"),
        (124, "--deadline 100ms -- sleep 99"),
        (124, "--attempt-timeout 100ms -- sleep 99"),
        (125, "--bogus -- true"),
        (126, "-- ./bin"),
        (127, "-- no-such-program"),
        (137, "-- sh -c 'kill -KILL $$'"),
    ] {
        let line = format!("becalm run --attempts 1 {run}; echo $?");
        assert_eq!(place.run(&line), format!("{code}\n"), "{run}");
    }
}
