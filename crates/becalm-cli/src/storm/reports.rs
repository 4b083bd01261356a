//! Which files does a study leave, and where?

use std::fs;
use std::path::{Path, PathBuf};

use becalm_sim::study::{Chart, Study};

use super::flags::RunFlags;
use super::picture::Drawing;
use super::told::Told;
use super::{page, rows};
use crate::output::Output;

/// The files of one study.
#[derive(Debug)]
pub struct Reports {
    page: Option<Output>,
    pictures: Option<PathBuf>,
    tables: Option<PathBuf>,
}

impl Reports {
    /// Finds out whether all of them can be written.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn open(flags: &RunFlags) -> Result<Self, String> {
        for directory in [&flags.svg, &flags.csv].into_iter().flatten() {
            fs::create_dir_all(directory).map_err(|error| {
                let directory = directory.display();
                format!("cannot write into {directory}: {error}; name another directory")
            })?;
        }
        Ok(Self {
            page: flags.report.as_deref().map(Output::open).transpose()?,
            pictures: flags.svg.clone(),
            tables: flags.csv.clone(),
        })
    }

    /// Writes all of them; the files.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn write(self, told: &Told) -> Result<Vec<PathBuf>, String> {
        let mut written = Vec::new();
        if let Some(page) = self.page {
            written.push(page.write(&page::page(told).to_html())?);
        }
        let drawings = charts(&told.study).into_iter();
        let drawings: Vec<_> = drawings
            .filter_map(|(name, chart)| Some((name, Drawing::of(chart, &told.study.contenders)?)))
            .collect();
        if let Some(directory) = &self.pictures {
            for (name, drawing) in &drawings {
                let file = directory.join(format!("{name}.svg"));
                written.push(write(&file, &drawing.to_svg())?);
            }
        }
        if let Some(directory) = &self.tables {
            let figures = directory.join("figures.csv");
            written.push(write(&figures, &rows::figures(&told.study))?);
            for (name, drawing) in &drawings {
                let file = directory.join(format!("{name}.csv"));
                written.push(write(&file, &drawing.to_csv())?);
            }
        }
        Ok(written)
    }
}

fn write(file: &Path, text: &str) -> Result<PathBuf, String> {
    Output::open(file)?.write(text)
}

/// All charts with the names of their files: those of one policy carry its number and name, those of
/// one service its number.
fn charts(study: &Study) -> Vec<(String, &Chart)> {
    let of_all = study.charts.iter().chain(&study.services);
    let of_all = of_all.map(|chart| (plain(&chart.id), chart));
    let of_one = (1..)
        .zip(&study.contenders)
        .flat_map(|(number, contender)| {
            let name = format!("{number}-{}", plain(&contender.name));
            let charts = contender.charts.iter();
            charts.map(move |chart| (format!("{name}-{}", plain(&chart.id)), chart))
        });
    of_all.chain(of_one).collect()
}

/// The text as a part of a file's name, wherever it comes from.
fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    text.chars().take(40).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use becalm_sim::study::Contender;

    use super::*;

    #[test]
    fn no_name_leaves_the_directory_and_no_two_are_the_same() {
        let chart = |id: &str| {
            let mut chart = Chart::default();
            chart.id = id.into();
            chart
        };
        let contender = |name: &str| {
            let mut contender = Contender::default();
            contender.name = name.into();
            contender.charts = vec![chart("queue")];
            contender
        };
        let mut study = Study::default();
        study.charts = vec![chart("arrivals"), chart("../../etc")];
        study.services = vec![chart("arrivals-3")];
        study.contenders = vec![contender("./a.toml"), contender("../a.toml")];
        let names: Vec<_> = charts(&study).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "arrivals",
                "------etc",
                "arrivals-3",
                "1---a-toml-queue",
                "2----a-toml-queue"
            ]
        );
    }
}
