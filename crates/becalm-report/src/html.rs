//! How does a report travel as one file?

use std::fmt::Write as _;

use crate::colour::Colour;
use crate::escape::markup;
use crate::svg::{self, Figure};
use crate::table::Table;

/// A self-contained HTML page: no script, no outside resource, readable on light and dark ground,
/// on paper and on a narrow screen. All text is escaped.
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    body: String,
}

impl Page {
    /// A page with this title as its first heading.
    pub fn new(title: impl Into<String>) -> Self {
        let title = title.into();
        let body = format!("<h1>{}</h1>", markup(&title));
        Self { title, body }
    }

    /// Adds a heading.
    #[must_use]
    pub fn heading(self, text: &str) -> Self {
        self.element("h2", text)
    }

    /// Adds a paragraph.
    #[must_use]
    pub fn paragraph(self, text: &str) -> Self {
        self.element("p", text)
    }

    /// Adds a command line or other text that is copied as it stands.
    #[must_use]
    pub fn code(self, text: &str) -> Self {
        self.element("pre", text)
    }

    /// Adds a conclusion that is seen first, marked with a colour.
    #[must_use]
    pub fn conclusion(mut self, colour: Colour, text: &str) -> Self {
        let _ = write!(
            self.body,
            "<p class=\"bc-conclusion\" style=\"border-color:var({})\">{}</p>",
            colour.property(),
            markup(text)
        );
        self
    }

    /// Adds a picture with a caption.
    #[must_use]
    pub fn figure(mut self, figure: &impl Figure, caption: &str) -> Self {
        let _ = write!(
            self.body,
            "<figure>{}<figcaption>{}</figcaption></figure>",
            figure.to_inline_svg(),
            markup(caption)
        );
        self
    }

    /// Adds a table.
    #[must_use]
    pub fn table(mut self, table: &Table) -> Self {
        self.body.push_str(&table.to_html());
        self
    }

    /// Adds terms with what they mean.
    #[must_use]
    pub fn definitions<T: AsRef<str>, D: AsRef<str>>(
        mut self,
        entries: impl IntoIterator<Item = (T, D)>,
    ) -> Self {
        self.body.push_str("<dl>");
        for (term, meaning) in entries {
            let _ = write!(
                self.body,
                "<dt>{}</dt><dd>{}</dd>",
                markup(term.as_ref()),
                markup(meaning.as_ref())
            );
        }
        self.body.push_str("</dl>");
        self
    }

    /// The page as text, to be written to a file in UTF-8.
    pub fn to_html(&self) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <title>{}</title><style>{}{LAYOUT}</style></head><body><main>{}</main></body></html>\n",
            markup(&self.title),
            svg::styles(),
            self.body
        )
    }

    fn element(mut self, tag: &str, text: &str) -> Self {
        let _ = write!(self.body, "<{tag}>{}</{tag}>", markup(text));
        self
    }
}

const LAYOUT: &str = "\
body{margin:0;background:var(--bc-ground);color:var(--bc-ink);\
font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\
main{max-width:60rem;margin:0 auto;padding:2rem 1.25rem 4rem}\
h1{font-size:1.7rem;line-height:1.2;margin:0 0 1rem}h2{font-size:1.2rem;margin:2.2rem 0 .6rem}\
p{margin:.6rem 0;max-width:46rem}\
.bc-conclusion{border-left:5px solid;padding:.4rem 0 .4rem 1rem;font-size:1.12rem}\
figure{margin:1rem 0 1.6rem}figure svg{max-width:100%;height:auto}\
figcaption{color:var(--bc-muted);font-size:.9rem;max-width:46rem}\
.bc-scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.35rem .75rem;white-space:nowrap;text-align:right;border-bottom:1px solid var(--bc-line)}\
thead th{color:var(--bc-muted);font-weight:500;font-size:.85rem;vertical-align:bottom}\
th:first-child,td:first-child{text-align:left;padding-left:0}tbody th{font-weight:600}\
pre{border:1px solid var(--bc-line);border-radius:6px;padding:.7rem 1rem;\
white-space:pre-wrap;overflow-wrap:anywhere;font-size:.88rem}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.25rem;font-size:.93rem}\
dt{color:var(--bc-muted)}dd{margin:0}\
@media print{main{padding:0}figure{break-inside:avoid}}";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LineChart, Series};

    fn page() -> Page {
        let hostile = "<img src=x onerror=alert(1)>";
        Page::new(hostile)
            .heading(hostile)
            .paragraph(hostile)
            .conclusion(Colour::Green, hostile)
            .code(hostile)
            .definitions([(hostile, hostile)])
            .figure(
                &LineChart::new(hostile).series(Series::line("s", Colour::Ink, vec![])),
                hostile,
            )
            .table(&Table::new([hostile]).row([hostile.into()]))
    }

    #[test]
    fn no_text_becomes_markup() {
        assert!(!page().to_html().contains("<img"));
    }

    #[test]
    fn nothing_is_fetched_and_nothing_runs() {
        let html = page().to_html().replace("http://www.w3.org/2000/svg", "");
        for outside in [
            "http:", "https:", "url(", "@import", "<link", "<script", " src=",
        ] {
            let escaped_only = html.matches(outside).count();
            let expected = if outside == " src=" {
                html.matches("&lt;img src=").count()
            } else {
                0
            };
            assert_eq!(escaped_only, expected, "{outside}");
        }
    }

    #[test]
    fn elements_are_closed_in_order() {
        let html = page().to_html();
        let mut open = Vec::new();
        for tag in html.split('<').skip(1) {
            let name: String = tag
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '/')
                .collect();
            let void = tag.starts_with('!')
                || name == "meta"
                || tag.split('>').next().unwrap().ends_with('/');
            if let Some(closed) = name.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(closed));
            } else if !void {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }
}
