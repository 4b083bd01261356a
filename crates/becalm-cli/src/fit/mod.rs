//! `becalm fit`: what does an access log say about the service that wrote it?

mod args;
mod asked;
mod document;
mod http;
mod input;
mod page;
mod picture;
mod range;
mod reading;
mod text;
mod values;

use std::path::Path;
use std::process::ExitCode;

use becalm_fit::Knee;

pub use args::Args;
use reading::Read;

use crate::given::Given;
use crate::output::Output;
use crate::stream::Stream;
use crate::usage;

/// `becalm fit`
pub fn execute(args: &Args) -> ExitCode {
    run(args).unwrap_or_else(|sentence| usage::refuse(&sentence))
}

fn run(args: &Args) -> Result<ExitCode, String> {
    if args.range.show_query {
        return Ok(usage::print([range::shown_query(&args.range)?]));
    }
    let mut given = Given::default();
    for log in &args.logs {
        if !given.add(log) {
            let log = log.display();
            return Err(format!("{log} is named twice; name each log once"));
        }
    }
    let file = args
        .range
        .prometheus
        .as_deref()
        .filter(|it| !it.contains("://"));
    if let Some(file) = file {
        given.add(Path::new(file));
    }
    for output in args.out.iter().chain(&args.report) {
        given.spare(output)?;
    }
    let scenario = args.out.as_deref().map(Output::open).transpose()?;
    let report = args.report.as_deref().map(Output::open).transpose()?;
    let read = match &args.range.prometheus {
        Some(source) => range::read(args, source)?,
        None => Read::of(args)?,
    };
    let mut written = Vec::new();
    if let Some(file) = scenario {
        written.push(file.write(&read.scenario)?);
    }
    if let Some(file) = report {
        written.push(file.write(&page::page(&read).to_html())?);
    }
    let printed = if args.json {
        usage::print([document::document(&read)?])
    } else {
        usage::print([text::text(&read, args, &written, Stream::Stdout)])
    };
    let fails = args.strict && read.fits().any(|fitted| fitted.knee != Knee::Seen);
    Ok(if fails { ExitCode::FAILURE } else { printed })
}
