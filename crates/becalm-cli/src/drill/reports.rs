//! Which reports does a drill leave, and where?

use std::path::Path;

use becalm_report::Figure;

use super::outcome::Outcome;
use super::{Flags, arrivals, document, page, picture};
use crate::output::Output;
use crate::stream::Stream;

/// The reports of one drill.
#[derive(Debug)]
pub struct Reports {
    html: Option<Output>,
    json: Option<Output>,
    json_to_stdout: bool,
    svg: Option<Output>,
    arrivals: Option<Output>,
}

impl Reports {
    /// Finds out whether all of them can be written.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn open(args: &Flags) -> Result<Self, String> {
        let json_to_stdout = args.json.as_deref() == Some(Path::new("-"));
        let json = args.json.as_deref().filter(|_| !json_to_stdout);
        let open = |path: Option<&Path>| path.map(Output::open).transpose();
        Ok(Self {
            html: open((!args.no_html).then_some(&args.html))?,
            json: open(json)?,
            json_to_stdout,
            svg: open(args.svg.as_deref())?,
            arrivals: open(args.arrivals.as_deref())?,
        })
    }

    /// Writes all of them, and tells where they are.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn write(self, outcome: &Outcome, stream: Stream) -> Result<(), String> {
        let document = document::document(outcome)
            .map_err(|error| format!("the figures cannot be written as JSON: {error}"))?;
        if self.json_to_stdout {
            Stream::Stdout.write(&document);
        }
        let files = [
            ("report", self.html, page::page(outcome).to_html()),
            ("figures", self.json, document),
            ("picture", self.svg, picture::side_by_side(outcome).to_svg()),
            ("arrivals", self.arrivals, arrivals::csv(&outcome.began)),
        ];
        for (name, output, text) in files {
            if let Some(output) = output {
                let path = output.write(&text)?;
                stream.write(&format!("{name}: {}\n", path.display()));
            }
        }
        stream.write(&format!("again:  {}\n", outcome.command));
        Ok(())
    }
}
