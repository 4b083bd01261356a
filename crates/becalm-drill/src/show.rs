//! Where do people read what a drill shows while it runs, and what it tells when it is over?

use std::fmt::Debug;

use becalm_report::Table;
use becalm_report::terminal::{FIRST_LINES, Painter, fold, wrap};

/// Where people read. It is handed in: the library asks no terminal for its size.
pub trait Console: Debug {
    /// Writes the text.
    fn write(&self, text: &str);

    /// Writes a note, which is none of the figures.
    fn note(&self, note: &str) {
        eprintln!("note: {note}");
    }

    /// Whether the cursor can be moved, so that a picture can be redrawn.
    fn is_screen(&self) -> bool {
        false
    }

    /// Columns and rows.
    fn size(&self) -> (usize, usize) {
        (80, 24)
    }

    /// Lines that were written above and stay there: none where they are redrawn.
    fn lines_above(&self) -> usize {
        0
    }

    /// Colours, where they are seen and wanted.
    fn painter(&self) -> Painter {
        Painter::Plain
    }

    /// Columns to write in: the screen's, as far as lines are read with ease; 80 elsewhere.
    fn columns(&self) -> usize {
        if self.is_screen() {
            self.size().0.clamp(40, 100)
        } else {
            80
        }
    }

    /// The text in lines that fit a screen; as it is, elsewhere.
    fn wrapped(&self, text: &str) -> String {
        if self.is_screen() {
            wrap(text, self.columns()).join("\n")
        } else {
            text.into()
        }
    }
}

/// Standard output as lines of plain text.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

impl Console for Plain {
    fn write(&self, text: &str) {
        print!("{text}");
    }
}

/// What is shown, and where.
#[derive(Debug, Clone, Copy)]
pub struct Show<'a> {
    /// Where people read.
    pub console: &'a dyn Console,
    /// Whether nothing is shown while a drill runs.
    pub quiet: bool,
    /// Policies that are shown one after the other, where nothing is redrawn: together they have the lines of one.
    pub policies: u32,
}

impl<'a> Show<'a> {
    /// Shows while a drill runs, and tells when it is over.
    pub fn on(console: &'a dyn Console) -> Self {
        Self {
            console,
            quiet: false,
            policies: 1,
        }
    }

    /// Shows what is of interest while the drill runs.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            self.console.write(text);
        }
    }

    /// The figures, what they say, and what their words mean: below the fold, if more follows.
    pub(crate) fn tell(&self, sections: Vec<Section>) {
        let (columns, painter) = (self.console.columns(), self.console.painter());
        for section in sections {
            let table = section.table.to_terminal(painter);
            let legend = wrap(section.legend, columns).join("\n");
            let whole = wrap(&section.conclusion, columns).join("\n");
            let text = match section.more {
                "" => format!("{table}\n{whole}\n\n{legend}\n\n"),
                more => {
                    let above = self.console.lines_above() + table.lines().count() + 1;
                    let room = FIRST_LINES.saturating_sub(above).clamp(LEAST_SAID, SAID);
                    let first = begun(&section.conclusion, |it| wrap(it, columns).len() <= room);
                    let first = cut(first, columns, room);
                    let rest = if first == whole {
                        String::new()
                    } else {
                        whole + "\n\n"
                    };
                    let fold = fold(more, columns, painter);
                    format!("{table}\n{first}\n{fold}\n{rest}{legend}\n\n")
                }
            };
            self.console.write(&text);
        }
    }
}

/// Lines of a conclusion above the fold, at most and in any case; a longer one is told below it.
const SAID: usize = 9;
const LEAST_SAID: usize = 3;

/// The text in at most `room` lines. A longer sentence is cut.
fn cut(text: &str, columns: usize, room: usize) -> String {
    let lines = wrap(text, columns);
    if lines.len() <= room {
        return lines.join("\n");
    }
    let narrow = wrap(text, columns - CUT.len());
    let first: Vec<_> = narrow.into_iter().take(room).collect();
    first.join("\n") + CUT
}

const CUT: &str = " ...";

/// As many of the first sentences as have room, and one at least.
pub(crate) fn begun(text: &str, has_room: impl Fn(&str) -> bool) -> &str {
    let ends = text.match_indices(". ").map(|it| it.0 + 1);
    let starts: Vec<&str> = ends.chain([text.len()]).map(|end| &text[..end]).collect();
    let fitting = starts.iter().rev().find(|it| has_room(it));
    fitting.or(starts.first()).copied().unwrap_or_default()
}

/// Figures side by side.
#[derive(Debug, Clone)]
pub struct Section {
    /// The figures.
    pub table: Table,
    /// What the words over the table mean.
    pub legend: &'static str,
    /// What the figures say.
    pub conclusion: String,
    /// What follows below the fold, of what is read first; empty for what is below it.
    pub more: &'static str,
}

impl Section {
    /// Of these figures with their legend.
    pub fn new((table, legend): (Table, &'static str), conclusion: &str) -> Self {
        Self {
            table,
            legend,
            conclusion: conclusion.to_owned(),
            more: "",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use becalm_report::Cell;
    use becalm_report::terminal::is_fold;

    use super::*;

    #[derive(Debug, Default)]
    struct Kept(Mutex<String>, usize);

    impl Console for Kept {
        fn lines_above(&self) -> usize {
            self.1
        }

        fn write(&self, text: &str) {
            self.0.lock().unwrap().push_str(text);
        }
    }

    fn told(conclusion: &str, more: &'static str) -> String {
        told_below(0, conclusion, more)
    }

    fn told_below(lines: usize, conclusion: &str, more: &'static str) -> String {
        let kept = Kept(Mutex::default(), lines);
        let section = Section {
            table: Table::new(["policy"]).row([Cell::new("default")]),
            legend: "what the words mean",
            conclusion: conclusion.into(),
            more,
        };
        Show::on(&kept).tell(vec![section]);
        kept.0.into_inner().unwrap()
    }

    #[test]
    fn s5_a_long_conclusion_begins_above_the_fold_and_is_whole_below_it() {
        let long = "The service was back after a while. ".repeat(40);
        let long = long.trim_end().to_owned();
        for (conclusion, is_long) in [(&*long, true), ("It was back.", false)] {
            let text = told(conclusion, "the rest");
            let lines: Vec<&str> = text.lines().collect();
            let fold = lines.iter().position(|it| is_fold(it)).expect("a fold");
            assert!(fold <= 3 + SAID, "{text}");
            let flat = |lines: &[&str]| lines.join(" ");
            let (above, below) = (flat(&lines[..fold]), flat(&lines[fold..]));
            let whole = if is_long { &below } else { &above };
            assert!(whole.contains(conclusion.trim()), "{text}");
            assert!(above.trim_end().ends_with('.'), "whole sentences: {text}");
            assert!(lines.iter().all(|it| it.chars().count() <= 80), "{text}");
        }
        let one = "It was back and ".repeat(60) + "well.";
        let text = told(&one, "the rest");
        let fold = text.lines().position(is_fold).expect("a fold");
        assert!(fold <= 3 + SAID && text.contains(" ...\n"), "{text}");
        assert!(!told("It was back.", "").lines().any(is_fold));
        // What was said while it ran is read first, too.
        for lines in [0, 12, 18, 60] {
            let text = told_below(lines, &long, "the rest");
            let fold = text.lines().position(is_fold).expect("a fold");
            assert!(lines > 40 || lines + fold <= FIRST_LINES, "{lines}: {text}");
        }
    }
}
