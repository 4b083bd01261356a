//! How long does it take to fit ten million lines, on one core? `scripts/prove fit-speed` runs this in a release build.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use becalm_fit::log::{Log, Reader, Said};
use becalm_fit::{Fit, Options, Request};

const LINES: u64 = 10_000_000;
/// The bar, in seconds.
const BAR: f64 = 15.0;

fn main() -> ExitCode {
    let mut is_met = true;
    for (name, header, line) in [
        (
            "nginx",
            "",
            nginx as fn(&mut BufWriter<File>, &Line) -> io::Result<()>,
        ),
        ("CSV", "start,duration,status,client,id\n", csv),
    ] {
        let file = tempfile::NamedTempFile::new().expect("a file");
        write(file.path(), header, line).expect("it is written");
        let path = file.path();
        let begun = Instant::now();
        each(name, path, |_| {});
        let read = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let mut fit = Fit::new(Options::default());
        each(name, path, |request| fit.push(request));
        let fitted = fit.finish();
        let seconds = begun.elapsed().as_secs_f64();
        let (requests, workers) = (fitted.requests, fitted.workers.value);
        println!(
            "{name}: {requests} lines read and fitted in {seconds:.1} s, read alone in {read:.1} s; {workers} workers"
        );
        is_met &= seconds <= BAR;
    }
    if is_met {
        println!("at most {BAR} s: kept");
        ExitCode::SUCCESS
    } else {
        println!("at most {BAR} s: not kept");
        ExitCode::FAILURE
    }
}

/// Reads the file.
fn each(name: &str, path: &Path, mut take: impl FnMut(Request)) {
    let file = File::open(path).expect("it is there");
    let reader = Reader::open(name, file, &Said::Nothing);
    let mut log = Log::new([reader.expect("it is known")]);
    while let Some(request) = log.read().expect("it is sound") {
        take(request);
    }
}

/// A request, in seconds.
struct Line {
    end: f64,
    duration: f64,
    number: u64,
}

fn nginx(file: &mut BufWriter<File>, line: &Line) -> io::Result<()> {
    let Line {
        end,
        duration,
        number,
    } = line;
    let (client, id) = (number % 250, number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    writeln!(
        file,
        "{end:.3},{duration:.3},200,192.168.7.{client},{id:016x}{id:016x},10.0.0.1:8080,{duration:.3}"
    )
}

fn csv(file: &mut BufWriter<File>, line: &Line) -> io::Result<()> {
    let Line {
        end,
        duration,
        number,
    } = line;
    let (client, id) = (number % 250, number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    writeln!(
        file,
        "{:.6},{duration:.6},200,192.168.7.{client},{id:016x}",
        end - duration
    )
}

/// Requests to 12 workers that take 20 ms, at 80 % of what they can do, in the order of their ends.
fn write(
    path: &Path,
    header: &str,
    line: fn(&mut BufWriter<File>, &Line) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(header.as_bytes())?;
    let mut state = 1_u64;
    let mut exponential = |mean: f64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        #[expect(clippy::cast_precision_loss)] // 53 bits
        let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
        -mean * (1.0 - uniform).ln()
    };
    let mut free = [0.0_f64; 12];
    let mut ended: Vec<Line> = Vec::new();
    let mut now = 0.0;
    for number in 0..LINES {
        now += exponential(1.0 / 480.0);
        free.sort_by(f64::total_cmp);
        let end = now.max(free[0]) + exponential(0.02);
        free[0] = end;
        let at = ended.partition_point(|it| it.end > end);
        ended.insert(
            at,
            Line {
                end,
                duration: end - now,
                number,
            },
        );
        while ended.last().is_some_and(|it| it.end <= now) {
            let mut told = ended.pop().expect("there is one");
            told.end += 1_795_431_751.0;
            line(&mut file, &told)?;
        }
    }
    for mut told in ended.into_iter().rev() {
        told.end += 1_795_431_751.0;
        line(&mut file, &told)?;
    }
    file.flush()
}
