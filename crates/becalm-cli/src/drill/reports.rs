//! Which reports does a drill leave, and where?

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use becalm_report::Page;

use crate::output::Output;
use crate::stream::Stream;
use crate::usage;

/// The heading of its flags.
pub const REPORTS: &str = "Display and reports";

/// The flags of the reports that every drill leaves.
#[derive(Debug, clap::Args)]
pub struct ReportFlags {
    /// Where the report goes: one HTML file that needs no other
    #[arg(long, value_name = "FILE", default_value = "becalm-drill.html", help_heading = REPORTS)]
    html: PathBuf,

    /// Writes no HTML report
    #[arg(long, conflicts_with = "html", help_heading = REPORTS)]
    no_html: bool,

    /// Also writes the figures as JSON; "-", or no file, is stdout, and the rest then goes to stderr
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        default_missing_value = "-",
        help_heading = REPORTS
    )]
    json: Option<PathBuf>,

    /// Shows nothing while the drill runs
    #[arg(long, short, help_heading = REPORTS)]
    pub quiet: bool,
}

impl ReportFlags {
    /// Where people read.
    pub fn stream(&self) -> Stream {
        if self.json_to_stdout() {
            Stream::Stderr
        } else {
            Stream::Stdout
        }
    }

    fn json_to_stdout(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }
}

/// The reports of one drill.
#[derive(Debug)]
pub struct Reports {
    html: Option<Output>,
    json: Option<Output>,
    stream: Stream,
}

impl Reports {
    /// Finds out whether all of them can be written.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn open(flags: &ReportFlags) -> Result<Self, String> {
        let json = flags.json.as_deref().filter(|_| !flags.json_to_stdout());
        let html = (!flags.no_html).then_some(&*flags.html);
        Ok(Self {
            html: html.map(Output::open).transpose()?,
            json: json.map(Output::open).transpose()?,
            stream: flags.stream(),
        })
    }

    /// Writes all of them, and tells where they are.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn write(self, page: &Page, document: &str) -> Result<(), String> {
        let printed = if self.stream == Stream::Stderr {
            print(document)
        } else {
            Ok(())
        };
        put("report", self.html, &page.to_html(), self.stream)?;
        put("figures", self.json, document, self.stream)?;
        printed
    }
}

/// A reader that has gone is no reason to fail; a full disk is.
fn print(document: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    let written = out
        .write_all(document.as_bytes())
        .and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write the figures: {error}"))
        }
        _ => Ok(()),
    }
}

/// Writes one file, if it is asked for, and tells where it is.
///
/// # Errors
///
/// A sentence that names the file.
pub fn put(name: &str, output: Option<Output>, text: &str, stream: Stream) -> Result<(), String> {
    if let Some(output) = output {
        let path = output.write(text)?;
        stream.write(&usage::shown(&format!("{name}: {}\n", path.display())));
    }
    Ok(())
}
