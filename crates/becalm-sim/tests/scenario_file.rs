//! Is a scenario read from a file as it was written?

use std::io;
use std::time::Duration;

use becalm::{Jitter, Policy, preset::Preset, throttle::Priority};
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{Arrivals, Downstream, Effect, Scenario, Service, Stale, file};
use proptest::prelude::*;

mod scenario_file_any;

use scenario_file_any::{any_distribution, any_scenario};

fn no_files(name: &str) -> io::Result<String> {
    Err(io::Error::new(io::ErrorKind::NotFound, name.to_owned()))
}

fn read(text: &str) -> Scenario {
    file::read(text, &no_files).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"))
}

/// A service and a population, whose keys a test adds to.
const SMALL: &str = r#"
name = "small"
horizon = "10s"
[[service]]
name = "orders"
[[population]]
name = "users"
target = "orders"
arrivals = "poisson:50"
"#;

#[test]
fn what_is_left_out_has_its_default() {
    let scenario = read(SMALL);
    assert_eq!(scenario.bucket, Duration::from_millis(100));
    assert_eq!(scenario.network, becalm_sim::scenario::Network::default());
    let [service] = &scenario.services[..] else {
        panic!("one service");
    };
    let time = Distribution::Constant(Duration::from_millis(10));
    assert_eq!(
        *service,
        becalm_sim::scenario::Service::new("orders", 1, time)
    );
    let [population] = &scenario.populations[..] else {
        panic!("one population");
    };
    assert_eq!(population.clients, 1);
    assert_eq!(population.variants[0].policy, Policy::default());
    assert_eq!(
        file::write(&scenario).as_deref().map(str::trim),
        Ok(
            "name = \"small\"\nhorizon = \"10s\"\n\n[[service]]\nname = \"orders\"\n\n\
         [[population]]\nname = \"users\"\ntarget = \"orders\"\narrivals = \"poisson:50\""
        )
    );
}

#[test]
fn policies_arrivals_and_times_come_from_other_files() {
    let text = format!(
        "{SMALL}policy = \"deployed.toml\"\n[[service]]\nname = \"database\"\n\
         time = {{ csv = \"times.csv\" }}\n[[population]]\nname = \"recorded\"\n\
         target = \"database\"\narrivals = {{ trace = \"arrivals.csv\" }}\n"
    );
    let scenario = file::read(&text, &|name| match name {
        "deployed.toml" => Ok("preset = \"grpc\"\nattempts = 3".into()),
        "times.csv" => Ok("# measured\n9ms\n3ms\n".into()),
        "arrivals.csv" => Ok("first_try_s\n0.000000001\n0.5\n2s\n".into()),
        name => no_files(name),
    });
    let scenario = scenario.unwrap_or_else(|refusal| panic!("{refusal}"));
    let grpc = Preset::by_name("grpc").map(Preset::policy).unwrap();
    assert_eq!(scenario.populations[0].variants[0].policy, grpc.attempts(3));
    let ms = Duration::from_millis;
    let times = Distribution::Empirical(vec![ms(9), ms(3)]);
    assert_eq!(scenario.services[1].time, times);
    let arrivals = [Duration::from_nanos(1), ms(500), ms(2_000)];
    assert_eq!(
        scenario.populations[1].arrivals,
        Arrivals::Trace(arrivals.into())
    );
}

#[test]
fn names_of_files_are_relative_to_the_scenario() {
    let folder = std::env::temp_dir().join(format!("becalm-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("own.toml");
    let text = SMALL.replace("\"poisson:50\"", "{ trace = \"own.csv\" }");
    std::fs::write(&path, text).unwrap();
    let missing = file::load(&path).unwrap_err();
    std::fs::write(folder.join("own.csv"), "0\n1\n").unwrap();
    let scenario = file::load(&path);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        missing.to_string().contains("cannot read own.csv"),
        "{missing}"
    );
    let seconds = [0, 1].map(Duration::from_secs);
    let arrivals = scenario.map(|it| it.populations[0].arrivals.clone());
    assert_eq!(arrivals, Ok(Arrivals::Trace(seconds.into())));
    let nowhere = file::load(&path).unwrap_err().to_string();
    assert!(
        nowhere.starts_with("the file cannot be read: "),
        "{nowhere}"
    );
}

const PAGE: &str = include_str!("../../../docs/scenario-files.md");

/// The example of the documentation.
/// Every preset, and policies with a table each.
fn policies() -> Vec<Policy> {
    let tables = [
        "[retry_on]\nstatuses = [\"5xx\", 429]\nmethods = \"any\"",
        "[retry_on]\ncodes = [\"unavailable\"]\nfailures = [\"connect\", \"reset\"]",
        "[hedge]\np = 95\ncopies = 2",
        "[breaker]\nshare = 0.5\nwithin = \"10s\"",
        "[bulkhead]\ncalls = 50\nwaiting = 10",
        "[throttle]\naccepts = 2\nmax = 0.8",
        "[rate]\nmax_wait = \"5s\"",
        "[budget]\nratio = 0.2\nburst = 3",
    ];
    let all = tables.iter().copied().map(str::to_owned);
    let all = all.chain([[tables[0], tables[2], tables[3]].join("\n")]);
    let of_text = |it: String| toml::from_str(&it).unwrap_or_else(|error| panic!("{error}: {it}"));
    all.map(of_text)
        .chain(Preset::all().map(Preset::policy))
        .collect()
}

#[test]
fn each_policy_is_read_back_from_its_line_and_from_its_section() {
    for policy in policies() {
        let line = file::policy_line(&policy).expect("a line");
        assert_eq!(line.lines().count(), 1, "{line}");
        let read = toml::from_str::<toml::Table>(&line);
        let read = read.unwrap_or_else(|error| panic!("{error}: {line}"));
        let read = read["policy"].clone().try_into::<Policy>();
        assert_eq!(read.as_ref(), Ok(&policy), "{line}");

        let mut scenario = self::read(SMALL);
        // Else a policy without a delay and without a bound never ends.
        scenario.network.delay = Distribution::Constant(Duration::from_millis(1));
        let call = Downstream::new("orders", policy.clone());
        let caller = Service::new("caller", 1, Distribution::Constant(Duration::ZERO));
        scenario = scenario.service(caller.calls(call)).under(&policy);
        let written = file::write(&scenario).expect("a text");
        assert_eq!(self::read(&written), scenario, "{written}");
    }
}

fn example() -> &'static str {
    let (_, rest) = PAGE.split_once("```toml\n").expect("an example");
    rest.split_once("```").expect("its end").0
}

#[test]
fn the_example_says_what_its_comments_say() {
    let scenario = read(example());
    assert_eq!(read(&file::write(&scenario).unwrap()), scenario);
    let [orders, database] = &scenario.services[..] else {
        panic!("two services");
    };
    assert_eq!((orders.instances, orders.workers), (3, 16));
    assert_eq!(orders.calls[0].policy.attempts, 1);
    assert_eq!(database.stale, Stale::PastDeadline);
    let [users, reports] = &scenario.populations[..] else {
        panic!("two populations");
    };
    let shares: Vec<_> = users.variants.iter().map(|variant| variant.share).collect();
    assert_eq!(shares, [0.9, 0.1]);
    assert_eq!(users.variants[1].policy.jitter, Jitter::None);
    assert_eq!(reports.priority, Priority::Sheddable);
    let hang = Effect::Hang {
        service: "database".into(),
    };
    assert_eq!(scenario.triggers[0].effect, hang);
}

#[test]
fn the_example_fits_the_services() {
    let scenario = read(example());
    let capacity = scenario.services[0].capacity();
    assert!(capacity > 1500.0, "orders serves {capacity} a second");
    let misses = 0.1 * 1500.0;
    let capacity = scenario.services[1].capacity();
    assert!(capacity > misses, "the database serves {capacity} a second");
}

#[test]
fn the_documented_forms_of_times_and_arrivals_are_read() {
    let (mut forms, mut section) = (0, "");
    for line in PAGE.lines() {
        if line.starts_with('#') {
            section = line.trim_start_matches(['#', ' ']);
        }
        let form = line
            .strip_prefix("| `")
            .and_then(|rest| rest.split_once("` |"));
        let Some((form, _)) = form else { continue };
        let text = match section {
            "Times" => SMALL.replace("[[population]]", &format!("time = {form}\n[[population]]")),
            "Arrivals" => SMALL.replace("\"poisson:50\"", form),
            _ => continue,
        };
        let scenario = file::read(&text, &|_| Ok("0\n0.25\n".into()));
        assert!(scenario.is_ok(), "{form}: {scenario:?}");
        forms += 1;
    }
    assert_eq!(
        forms, 13,
        "a form is documented in a way that this test does not find"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_written_is_read_back_as_the_same(scenario in any_scenario()) {
        let text = file::write(&scenario).unwrap();
        let read = file::read(&text, &no_files);
        prop_assert_eq!(read.as_ref(), Ok(&scenario), "{}", text);
    }

    #[test]
    fn a_distribution_is_read_back_from_its_text(distribution in any_distribution()) {
        prop_assert_eq!(distribution.to_string().parse(), Ok(distribution));
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = file::read(&text, &|_| Ok(text.clone()));
    }

    #[test]
    fn no_change_of_a_file_panics(at in 0..2_000_usize, length in 0..20_usize, put in "[a-z0-9\\[\\]{}\"=.,:\n-]{0,6}") {
        let mut text: Vec<_> = example().chars().collect();
        let from = at.min(text.len());
        let to = (from + length).min(text.len());
        text.splice(from..to, put.chars());
        let text: String = text.into_iter().collect();
        match file::read(&text, &no_files) {
            Ok(scenario) => {
                let written = file::write(&scenario).unwrap();
                prop_assert_eq!(file::read(&written, &no_files), Ok(scenario));
            }
            Err(refusal) => prop_assert!(!refusal.sentence.is_empty()),
        }
    }
}

/// Connections are refused, or packets vanish: the page says which of the two words means what.
#[test]
fn s7_a_failover_has_a_word_of_its_own_and_a_page_that_tells_it_from_a_hang() {
    const PAGE: &str = include_str!("../../../docs/scenario-files.md");
    let keys = "from = \"1s\"\nlength = \"1s\"\nservice = \"orders\"\neffect = \"failover\"";
    let scenario = read(&format!("{SMALL}[[trigger]]\n{keys}"));
    let service = "orders".to_owned();
    assert_eq!(scenario.triggers[0].effect, Effect::Down { service });
    let row = PAGE
        .lines()
        .find(|line| line.starts_with("| `\"failover\"`"));
    let row = row.expect("a row of the page");
    for part in ["another name of `\"down\"`", "write `\"hang\"`"] {
        assert!(row.contains(part), "{row}");
    }
}
