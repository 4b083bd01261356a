//! Access logs: any bytes are requests, something else or counted as neither; each line is looked at once; and what is read is the
//! same however the bytes come. The first line may be a format that somebody wrote down.
#![no_main]

use std::io::{self, Read};

use becalm_fit::log::{Format, Kind, Log, Reader, Refusal, Said};
use becalm_fit::{Ended, Request};
use libfuzzer_sys::fuzz_target;

/// Gives one byte at a time.
struct Drip<'a>(&'a [u8]);

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(1);
        self.0.read(&mut buffer[..length])
    }
}

type Told = Result<Vec<(i64, u64, Ended, u32)>, String>;

fn read<R: Read>(input: R, said: &Said, lines: usize) -> Told {
    let reader = Reader::open("a.log", input, said).map_err(told)?;
    let mut log = Log::new([reader]);
    let mut requests = Vec::new();
    while let Some(request) = log.read().map_err(told)? {
        let Request {
            start,
            duration,
            ended,
            upstream,
            ..
        } = request;
        requests.push((start, duration, ended, upstream));
    }
    for tally in log.tallies() {
        assert_eq!(tally.lines as usize, lines);
        assert_eq!(tally.requests as usize, requests.len());
        assert!(tally.requests + tally.unread <= tally.lines);
    }
    Ok(requests)
}

fn told(refusal: Refusal) -> String {
    let sentence = refusal.to_string();
    assert!(!sentence.is_empty());
    sentence
}

fuzz_target!(|input: &[u8]| {
    let first = input
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let (said, input) = match std::str::from_utf8(first).map(Format::written) {
        Ok(Ok(format)) => (
            Said::Format(format),
            input.get(first.len() + 1..).unwrap_or_default(),
        ),
        _ => match std::str::from_utf8(first).map(str::parse::<Kind>) {
            Ok(Ok(kind)) => (
                Said::Kind(kind),
                input.get(first.len() + 1..).unwrap_or_default(),
            ),
            _ => (Said::Nothing, input),
        },
    };
    let ends = input.iter().filter(|byte| **byte == b'\n').count();
    let lines = ends + usize::from(!input.is_empty() && !input.ends_with(b"\n"));
    let at_once = read(input, &said, lines);
    assert_eq!(at_once, read(Drip(input), &said, lines));
});
