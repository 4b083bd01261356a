//! Which reports does a drill of processes leave, and where?

use std::path::Path;

use becalm_report::Page;

use crate::output::Output;
use crate::stream::Stream;

/// The reports of one drill.
#[derive(Debug)]
pub struct Reports {
    html: Option<Output>,
    json: Option<Output>,
    json_to_stdout: bool,
}

impl Reports {
    /// Finds out whether all of them can be written: the figures to stdout, where their file is "-".
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn open(html: Option<&Path>, json: Option<&Path>) -> Result<Self, String> {
        let json_to_stdout = json == Some(Path::new("-"));
        let json = json.filter(|_| !json_to_stdout);
        Ok(Self {
            html: html.map(Output::open).transpose()?,
            json: json.map(Output::open).transpose()?,
            json_to_stdout,
        })
    }

    /// Where people read.
    pub fn stream(&self) -> Stream {
        if self.json_to_stdout {
            Stream::Stderr
        } else {
            Stream::Stdout
        }
    }

    /// Writes all of them, and tells where they are.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn write(self, page: &Page, document: String, command: &str) -> Result<(), String> {
        let stream = self.stream();
        if self.json_to_stdout {
            Stream::Stdout.write(&document);
        }
        let files = [
            ("report", self.html, page.to_html()),
            ("figures", self.json, document),
        ];
        for (name, output, text) in files {
            if let Some(output) = output {
                let path = output.write(&text)?;
                stream.write(&format!("{name}: {}\n", path.display()));
            }
        }
        stream.write(&format!("again:  {command}\n"));
        Ok(())
    }
}
