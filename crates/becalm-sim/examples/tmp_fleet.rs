use becalm::Policy;
use becalm::lone::Lone;
use becalm_sim::leases::*;
use std::time::{Duration, Instant};
fn s(x: f64) -> Duration {
    Duration::from_secs_f64(x)
}
fn main() {
    let lone = Lone::new(
        Policy::exponential(Duration::from_millis(100)),
        Duration::ZERO,
    )
    .unwrap();
    let base = || Processes::of(1000, 20_000.0);
    let seed = 1;
    let show = |name: &str, p: &Processes| {
        let t = Instant::now();
        let [f, i, o] = [Budgeting::Fleet, Budgeting::Ideal, Budgeting::Own]
            .map(|b| run(p, b, &lone, seed).unwrap());
        let from = p.fails_from;
        let g = |r: &Retries| r.granted_between(from, p.horizon);
        let share = f.share_of(0.1, s(1.1));
        println!(
            "{name:28} fill {:6.2}% own {:6.2}% | excess f {:7.0} i {:6.0} o {:7.0} bound {:6.0} | 10s {:.3} {:.3} {:.3} | ex/s max {:6.0} mean {:6.0} alone {} | {:.1}s {} ev",
            100.0 * g(&f) / g(&i),
            100.0 * g(&o) / g(&i),
            f.excess(0.1),
            i.excess(0.1),
            o.excess(0.1),
            1000.0 + 1000.0 + share,
            f.worst_ten_seconds(),
            i.worst_ten_seconds(),
            o.worst_ten_seconds(),
            (0..59)
                .map(|x| f.exchanges_per_second(s(x as f64), s(x as f64 + 1.0)))
                .fold(0.0, f64::max),
            f.exchanges_per_second(s(5.0), s(60.0)),
            f.alone,
            t.elapsed().as_secs_f64(),
            f.events + i.events + o.events
        );
        if p.trouble == Trouble::Turned {
            for x in 27..36 {
                let (a, b) = (s(x as f64), s(x as f64 + 1.0));
                print!(
                    " {x}:{:.2}",
                    f.granted_between(a, b) / i.granted_between(a, b)
                );
            }
            println!();
        }
    };
    let tenth = || {
        let mut p = base();
        p.failing = 0.1;
        p.failures = 0.6;
        p
    };
    let all = |f: f64| {
        let mut p = base();
        p.failing = 1.0;
        p.failures = f;
        p
    };
    show("tenth", &tenth());
    let mut p = tenth();
    p.trouble = Trouble::Turned;
    p.during.0 = s(30.0);
    show("tenth turned", &p);
    let mut p = tenth();
    p.round_trip = s(0.2);
    show("tenth 200ms", &p);
    let mut p = tenth();
    p.round_trip = s(0.8);
    show("tenth 800ms", &p);
    for f in [1.0, 0.5] {
        println!("all fail {f}");
        show("up", &all(f));
        for t in [
            Trouble::Down,
            Trouble::Half,
            Trouble::Flushed,
            Trouble::Crashes,
        ] {
            let mut p = all(f);
            p.trouble = t;
            show(&format!("{t:?}"), &p);
        }
        let mut p = all(f);
        p.trouble = Trouble::Down;
        p.during = (s(0.0), s(60.0));
        show("down before", &p);
        let mut p = all(f);
        p.round_trip = s(0.2);
        show("200ms", &p);
        let mut p = all(f);
        p.round_trip = s(0.8);
        show("800ms", &p);
    }
}
