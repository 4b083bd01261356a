//! How do a few figures stand side by side, on a page and in a terminal?

use std::fmt::Write as _;

use crate::colour::Colour;
use crate::csv;
use crate::escape::markup;
use crate::terminal::{self, Painter};

/// One cell: text with a colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    colour: Colour,
}

impl Cell {
    /// A cell in the colour of text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            colour: Colour::Ink,
        }
    }

    /// Sets the colour.
    #[must_use]
    pub fn colour(mut self, colour: Colour) -> Self {
        self.colour = colour;
        self
    }

    /// The text, with what stands in brackets at its end on a line of its own: an interval is as wide as
    /// its value twice, and three policies have room side by side.
    fn html(&self) -> String {
        match self.text.split_once(" (") {
            Some((value, aside)) if aside.ends_with(')') => {
                let (value, aside) = (markup(value), markup(aside));
                format!("{value} <span class=\"bc-aside\">({aside}</span>")
            }
            _ => markup(&self.text),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// Rows under a header: the first column names the row, the others are aligned to the right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new<T: Into<String>>(header: impl IntoIterator<Item = T>) -> Self {
        Self {
            header: header.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells beyond the header are left out, missing ones are empty.
    #[must_use]
    pub fn row(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        let mut row: Vec<_> = cells.into_iter().take(self.header.len()).collect();
        row.resize_with(self.header.len(), || Cell::new(""));
        self.rows.push(row);
        self
    }

    /// The table for a terminal, each line ended.
    pub fn to_terminal(&self, painter: Painter) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| &row[column].text);
            cells
                .chain([&self.header[column]])
                .map(|text| terminal::width(text))
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.header.len()).map(width).collect();
        let line = |cells: &[(&str, Colour)]| {
            let mut line = String::new();
            for (column, ((text, colour), width)) in cells.iter().zip(&widths).enumerate() {
                if column == 0 {
                    line.push_str(&painter.paint(*colour, &terminal::fit(text, *width)));
                } else {
                    let padding = width.saturating_sub(terminal::width(text));
                    let _ = write!(line, "  {:padding$}{}", "", painter.paint(*colour, text));
                }
            }
            format!("{}\n", line.trim_end())
        };
        let header: Vec<_> = self
            .header
            .iter()
            .map(|text| (&**text, Colour::Muted))
            .collect();
        let mut text = line(&header);
        for row in &self.rows {
            let cells: Vec<_> = row.iter().map(|cell| (&*cell.text, cell.colour)).collect();
            text.push_str(&line(&cells));
        }
        text
    }

    /// The table as RFC 4180, header first.
    pub fn to_csv(&self) -> String {
        let rows = self
            .rows
            .iter()
            .map(|row| csv::record(row.iter().map(|cell| &cell.text)));
        std::iter::once(csv::record(&self.header))
            .chain(rows)
            .collect()
    }

    /// The table as HTML. On a narrow screen one of many columns has a block for each row, in which
    /// every cell names its column: columns beyond the edge are not read.
    pub(crate) fn to_html(&self) -> String {
        let class = if self.header.len() > 2 {
            " class=\"bc-many\""
        } else {
            ""
        };
        let mut html = format!("<div class=\"bc-scroll\"><table{class}><thead><tr>");
        for name in &self.header {
            // The names of policies are long, and have no spaces.
            let parts = name.split_inclusive([';', ',', '=']).map(markup);
            let name = parts.collect::<Vec<_>>().join("<wbr>");
            let _ = write!(html, "<th scope=\"col\">{name}</th>");
        }
        html.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            html.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let tag = if column == 0 {
                    "th scope=\"row\"".to_owned()
                } else {
                    format!("td data-of=\"{}\"", markup(&self.header[column]))
                };
                let close = if column == 0 { "th" } else { "td" };
                let _ = write!(
                    html,
                    "<{tag} style=\"color:var({})\">{}</{close}>",
                    cell.colour.property(),
                    if column == 0 {
                        markup(&cell.text)
                    } else {
                        cell.html()
                    }
                );
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table></div>");
        html
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_stands_below_its_value_and_the_name_of_a_row_is_left_whole() {
        let row = ["full jitter (no budget)", "2s (1.5s to <3s)", "a (b) c"].map(Cell::new);
        let html = Table::new(["", "own", "other"]).row(row).to_html();
        for part in [
            ">full jitter (no budget)</th>",
            ">2s <span class=\"bc-aside\">(1.5s to &lt;3s)</span></td>",
            ">a (b) c</td>",
        ] {
            assert!(html.contains(part), "{html}");
        }
    }

    #[test]
    fn columns_line_up_and_numbers_end_together() {
        let table = Table::new(["policy", "goodput", "x"])
            .row(["none".into(), "12".into(), "4.0".into()])
            .row(["full jitter".into(), "260".into()])
            .row(["a".into(), "1".into(), "2".into(), "beyond".into()]);
        let text = table.to_terminal(Painter::Plain);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "policy       goodput    x");
        assert_eq!(lines[1], "none              12  4.0");
        assert_eq!(lines[2], "full jitter      260");
        assert!(!text.contains("beyond"));
    }

    #[test]
    fn cells_are_escaped_on_a_page() {
        let html = Table::new(["<b>"])
            .row([Cell::new("<i>").colour(Colour::Red)])
            .to_html();
        assert!(!html.contains("<b>") && !html.contains("<i>"), "{html}");
    }

    #[test]
    fn a_table_without_columns_is_an_empty_line() {
        assert_eq!(
            Table::new([""; 0]).row([]).to_terminal(Painter::Plain),
            "\n\n"
        );
    }
}
